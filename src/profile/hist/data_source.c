/* SPDX-License-Identifier: MIT */
/*
 * Words for what a sample says of a reference to memory (union perf_mem_data_src of
 * <linux/perf_event.h>), the same wherever they are shown; they are perf's.
 */
#include "profile/hist/data_source.h"

#include <stdio.h>
#include <string.h>

#define BLOCKED_SHIFT 40

struct source_words {
	char text[128];
	size_t n;
};

static void say(struct source_words *w, const char *text)
{
	size_t len = strlen(text);

	if (w->n + len < sizeof(w->text)) {
		memcpy(w->text + w->n, text, len + 1);
		w->n += len;
	}
}

/* The names of the bits that are set, from bit first on, with "or" between. */
static u32 bits(struct source_words *w, u64 mask, const char *const *name, u32 n)
{
	u32 i, said = 0;

	for (i = 0; i < n; i++) {
		if (!(mask >> i & 1) || !name[i])
			continue;
		if (said++)
			say(w, " or ");
		say(w, name[i]);
	}
	return said;
}

static void operation(struct source_words *w, u64 op)
{
	static const char *const names[] = { "N/A", "LOAD", "STORE", "PFETCH", "EXEC" };
	u32 i;

	for (i = 0; i < AP_ARRAY_SIZE(names); i++) {
		if (op >> i & 1) {
			say(w, names[i]);
			return;
		}
	}
	say(w, "No");
}

static void hit_or_miss(struct source_words *w, u64 mask)
{
	if (mask & 2)
		say(w, " hit");
	if (mask & 4)
		say(w, " miss");
}

static void level(struct source_words *w, u64 v)
{
	static const char *const names[] = { "N/A",
					     NULL,
					     NULL,
					     "L1",
					     "LFB",
					     "L2",
					     "L3",
					     "Local RAM",
					     "Remote RAM (1 hop)",
					     "Remote RAM (2 hops)",
					     "Remote Cache (1 hop)",
					     "Remote Cache (2 hops)",
					     "I/O",
					     "Uncached" };
	static const char *const numbers[16] = {
		[9] = "CXL",  [10] = "I/O",  [11] = "Any cache", [12] = "LFB",
		[13] = "RAM", [14] = "PMEM", [15] = "N/A"
	};
	u64 mask = v >> 5 & 0x3fff, number = v >> 33 & 15;
	char other[8];
	size_t before;
	u32 said;

	if (v >> 37 & 1)
		say(w, "Remote ");
	before = w->n;
	said = bits(w, mask, names, AP_ARRAY_SIZE(names));
	if (number) {
		snprintf(other, sizeof(other), "L%u", (unsigned int)number);
		if (said)
			say(w, " or ");
		say(w, numbers[number] ? numbers[number] : other);
	}
	if (w->n == before)
		say(w, "N/A");
	hit_or_miss(w, mask);
}

static void snoop(struct source_words *w, u64 v)
{
	static const char *const names[] = { "N/A", "None", "Hit", "Miss", "HitM" };
	static const char *const more[] = { "Fwd", "Peer" };
	u64 mask = v >> 19 & 31, extra = v >> 38 & 3;
	u32 said = bits(w, mask, names, AP_ARRAY_SIZE(names));

	if (extra) {
		if (said)
			say(w, " or ");
		bits(w, extra, more, AP_ARRAY_SIZE(more));
	}
	if (!mask && !extra)
		say(w, "N/A");
}

static void tlb(struct source_words *w, u64 mask)
{
	static const char *const names[] = { "N/A", NULL, NULL, "L1", "L2", "Walker", "Fault" };

	if (!bits(w, mask, names, AP_ARRAY_SIZE(names)))
		say(w, "N/A");
	hit_or_miss(w, mask);
}

/* What has been said, into a text of the caller's. */
static const char *give(const struct source_words *w, char *text, size_t size)
{
	snprintf(text, size, "%s", w->text);
	return text;
}

const char *ap_source_level(u64 v, char *text, size_t size)
{
	struct source_words w = { "", 0 };

	level(&w, v);
	return give(&w, text, size);
}

const char *ap_source_snoop(u64 v, char *text, size_t size)
{
	struct source_words w = { "", 0 };

	snoop(&w, v);
	return give(&w, text, size);
}

const char *ap_source_tlb(u64 v, char *text, size_t size)
{
	struct source_words w = { "", 0 };

	tlb(&w, AP_SOURCE_TLB(v));
	return give(&w, text, size);
}

const char *ap_source_lock(u64 v)
{
	return AP_SOURCE_LOCK(v) & 1 ? "N/A" : AP_SOURCE_LOCK(v) & 2 ? "Yes" : "No";
}

const char *ap_source_blocked(u64 v)
{
	static const char *const names[] = { " N/A",  " N/A",	   " Data",	 " N/A Data",
					     " Addr", " N/A Addr", " Data Addr", " N/A Data Addr" };

	return names[v >> BLOCKED_SHIFT & 7];
}

int ap_source_line(u64 v, char *text, size_t size)
{
	struct source_words w = { "", 0 };

	say(&w, "|OP ");
	operation(&w, v & 31);
	say(&w, "|LVL ");
	level(&w, v);
	say(&w, "|SNP ");
	snoop(&w, v);
	say(&w, "|TLB ");
	tlb(&w, AP_SOURCE_TLB(v));
	say(&w, "|LCK ");
	say(&w, ap_source_lock(v));
	say(&w, "|BLK ");
	say(&w, ap_source_blocked(v));
	return snprintf(text, size, "%16llx %s", (unsigned long long)v, w.text);
}

const char *ap_page_text(u64 bytes, char *text, size_t size)
{
	static const char units[] = "BKMGTPE";
	u32 i = 0;

	if (!bytes)
		return "N/A";
	for (; bytes > 1024 && !(bytes % 1024); i++)
		bytes /= 1024;
	snprintf(text, size, "%llu%c", (unsigned long long)bytes, units[i]);
	return text;
}
