/* SPDX-License-Identifier: MIT */
/*
 * The fields of a line that are lists by themselves: branches, and what an access of memory met.
 */
#include <stdio.h>
#include <string.h>

#include "profile/script_internal.h"

/* perf's names of the kinds of branches (PERF_BR_*), 0: not told. */
static const char *const kinds[] = { "",	 "COND", "UNCOND",  "IND",    "CALL",
				     "IND_CALL", "RET",	 "SYSCALL", "SYSRET", "COND_CALL",
				     "COND_RET", "ERET", "IRQ",	    "SERROR", "NO_TX" };

static void flags(struct ap_text *t, u64 v)
{
	u32 kind = (u32)(v >> 20 & 15);
	char how = '-';

	if (v & 2)
		how = 'P';
	else if (v & 1)
		how = 'M';
	ap_text_printf(t, "/%c/%c/%c/%u/%s ", how, v & 4 ? 'X' : '-', v & 8 ? 'A' : '-',
		       (unsigned int)(v >> 4 & 0xffff),
		       kind < AP_ARRAY_SIZE(kinds) ? kinds[kind] : "");
}

static void resolve(struct ap_script *c, struct ap_thread *th, u64 ip, struct ap_place *p)
{
	ap_session_resolve(c->s, th, AP_PERF_RECORD_MISC_USER, ip, p);
	if (!p->dso)
		ap_session_resolve(c->s, th, AP_PERF_RECORD_MISC_KERNEL, ip, p);
}

static void end(struct ap_script *c, struct ap_thread *th, u64 ip, u32 fields)
{
	struct ap_text *t = &c->text;
	struct ap_place p;

	if (fields & (AP_FIELD_BRSTACKSYM | AP_FIELD_DSO))
		resolve(c, th, ip, &p);
	if (!(fields & AP_FIELD_BRSTACKSYM)) {
		ap_text_str(t, "0x");
		ap_text_hex(t, ip, 0);
	} else if (p.sym) {
		ap_text_str(t, p.sym->name);
		ap_text_str(t, "+0x");
		ap_text_hex(t, p.addr - p.sym->start, 0);
	} else {
		ap_text_str(t, "[unknown]");
	}
	if (fields & AP_FIELD_DSO) {
		ap_text_char(t, '(');
		ap_text_str(t, p.dso ? p.dso->path : "[unknown]");
		ap_text_char(t, ')');
	}
}

void ap_script_branches(struct ap_script *c, struct ap_thread *th, const struct ap_sample *s,
			u32 fields)
{
	u64 i;

	if (fields & AP_FIELD_BRSTACK) /* one form at a time */
		fields &= ~AP_FIELD_BRSTACKSYM;
	for (i = 0; i < s->nbranches; i++) {
		const u8 *b = s->branches + 24 * i;

		if (!(fields & AP_FIELD_BRSTACKSYM))
			ap_text_char(&c->text, ' ');
		end(c, th, ap_get64(b), fields);
		ap_text_char(&c->text, '/');
		end(c, th, ap_get64(b + 8), fields);
		flags(&c->text, ap_get64(b + 16));
	}
}

/* --- where data came from */

struct words {
	char text[128];
	size_t n;
};

static void say(struct words *w, const char *text)
{
	size_t len = strlen(text);

	if (w->n + len < sizeof(w->text)) {
		memcpy(w->text + w->n, text, len + 1);
		w->n += len;
	}
}

/* The names of the bits that are set, from bit first on, with "or" between. */
static u32 bits(struct words *w, u64 mask, const char *const *name, u32 n)
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

static void operation(struct words *w, u64 op)
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

static void hit_or_miss(struct words *w, u64 mask)
{
	if (mask & 2)
		say(w, " hit");
	if (mask & 4)
		say(w, " miss");
}

static void level(struct words *w, u64 v)
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

static void snoop(struct words *w, u64 v)
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

static void tlb(struct words *w, u64 mask)
{
	static const char *const names[] = { "N/A", NULL, NULL, "L1", "L2", "Walker", "Fault" };

	if (!bits(w, mask, names, AP_ARRAY_SIZE(names)))
		say(w, "N/A");
	hit_or_miss(w, mask);
}

void ap_script_data_source(struct ap_script *c, u64 v)
{
	u64 lock = v >> 24 & 3, blocked = v >> 40 & 7;
	struct words w = { "", 0 };
	char text[160];
	int n;

	say(&w, "|OP ");
	operation(&w, v & 31);
	say(&w, "|LVL ");
	level(&w, v);
	say(&w, "|SNP ");
	snoop(&w, v);
	say(&w, "|TLB ");
	tlb(&w, v >> 26 & 0x7f);
	say(&w, lock & 1 ? "|LCK N/A" : lock & 2 ? "|LCK Yes" : "|LCK No");
	say(&w, "|BLK ");
	if (!blocked || (blocked & 1))
		say(&w, " N/A");
	if (blocked & 2)
		say(&w, " Data");
	if (blocked & 4)
		say(&w, " Addr");
	/* as wide as the widest so far */
	n = snprintf(text, sizeof(text), "%16llx %s", (unsigned long long)v, w.text);
	if (n > c->source_width)
		c->source_width = n;
	ap_text_printf(&c->text, "%-*s", c->source_width, text);
}
