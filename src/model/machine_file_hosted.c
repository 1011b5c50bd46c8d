/* SPDX-License-Identifier: MIT */
/*
 * Machines as text: "key = value" lines, # comments.  One table names each field and how it is
 * written; reading and writing use the same.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/plant.h"
#include "model/machine.h"

enum key_kind { NUMBER, BYTES, CHOICE, SWITCHES };

struct key_field {
	const char *key;
	unsigned offset;
	enum key_kind kind;
	const char *words; /* of a choice in order of value; of switches in order of bits */
};

#define POLICIES   "lru plru random rrip"
#define INCLUSIONS "non-inclusive inclusive exclusive"
#define YES_NO	   "no yes"
#define AT(m)	   offsetof(struct ap_machine, m)

/* clang-format off */
/* Of each level what means something there. */
#define CACHE(c)                                                                                   \
	{ #c ".size", AT(c.size), BYTES, NULL }, { #c ".ways", AT(c.ways), NUMBER, NULL },         \
	{ #c ".latency", AT(c.latency), NUMBER, NULL },                                            \
	{ #c ".policy", AT(c.policy), CHOICE, POLICIES }
#define INCLUSION(c)   { #c ".inclusion", AT(c.inclusion), CHOICE, INCLUSIONS }
#define NO_ALLOCATE(c) { #c ".no-allocate", AT(c.no_allocate), CHOICE, YES_NO }
#define PREFETCH(c)                                                                                \
	{ #c ".prefetch", AT(c.prefetch), SWITCHES, "next stride" },                               \
	{ #c ".degree", AT(c.degree), NUMBER, NULL }
#define TLB(name, t)                                                                               \
	{ name ".entries", AT(t.entries), NUMBER, NULL }, { name ".ways", AT(t.ways), NUMBER, NULL }
#define SECOND_TLB(name, t) TLB(name, t), { name ".latency", AT(t.latency), NUMBER, NULL }
#define BP(name, f)   { "branch." name, AT(bp.f), NUMBER, NULL }
#define PIPE(name, f) { "pipe." name, AT(pipe.f), NUMBER, NULL }

static const struct key_field fields[] = {
	{ "line", AT(line), BYTES, NULL },
	{ "mhz", AT(mhz), NUMBER, NULL },
	{ "ref-mhz", AT(ref_mhz), NUMBER, NULL },
	{ "bus-mhz", AT(bus_mhz), NUMBER, NULL },
	{ "vendor", AT(vendor), CHOICE, "intel amd" },
	{ "counters", AT(counters), NUMBER, NULL },
	{ "fixed-counters", AT(fixed), NUMBER, NULL },
	{ "counter-bits", AT(counter_bits), NUMBER, NULL },
	{ "nodes", AT(nodes), NUMBER, NULL },
	{ "memory.latency", AT(memory), NUMBER, NULL },
	{ "remote.latency", AT(remote), NUMBER, NULL },
	{ "snoop.latency", AT(snoop), NUMBER, NULL },
	{ "whole-split", AT(whole_split), CHOICE, YES_NO },
	CACHE(l1i), { "l1i.prefetch", AT(l1i.prefetch), SWITCHES, "next" },
	CACHE(l1d), { "l1d.write-through", AT(l1d.write_through), CHOICE, YES_NO },
	NO_ALLOCATE(l1d), PREFETCH(l1d),
	CACHE(l2), NO_ALLOCATE(l2), INCLUSION(l2), PREFETCH(l2),
	CACHE(llc), { "llc.slices", AT(llc.slices), NUMBER, NULL }, NO_ALLOCATE(llc), INCLUSION(llc),
	TLB("itlb", itlb), TLB("itlb-2m", itlb_2m), TLB("dtlb", dtlb), TLB("dtlb-2m", dtlb_2m),
	TLB("dtlb-store", dtlb_store), SECOND_TLB("stlb", stlb),
	SECOND_TLB("istlb", istlb),
	{ "walk.pde", AT(walk_pde), NUMBER, NULL },
	{ "walk.pdpte", AT(walk_pdpte), NUMBER, NULL },
	{ "walk.pml4e", AT(walk_pml4e), NUMBER, NULL },
	{ "walk.step", AT(walk_step), NUMBER, NULL },
	{ "branch.kind", AT(bp.kind), CHOICE, "bimodal gshare tage" },
	BP("base-bits", base_bits), BP("history", history), BP("tables", tables),
	BP("table-bits", table_bits), BP("tag-bits", tag_bits), BP("min-history", min_history),
	BP("max-history", max_history), BP("bias-bits", bias_bits), BP("loops", loops),
	BP("btb-entries", btb_entries), BP("btb-ways", btb_ways), BP("target-bits", target_bits),
	BP("target-tables", target_tables), BP("target-table-bits", target_table_bits),
	BP("returns", returns), BP("penalty", penalty), BP("btb-penalty", btb_penalty),
	PIPE("issue", issue), PIPE("retire", retire), PIPE("rob", rob),
	PIPE("load-buffer", load_buffer), PIPE("store-buffer", store_buffer),
	PIPE("fill-buffers", fill_buffers), PIPE("forward", forward),
	PIPE("forward-block", forward_block), PIPE("split", split), PIPE("page-split", page_split),
	PIPE("rename-memory", rename_memory), PIPE("string", string),
};

/* Of numbers that ap_machine_check() leaves alone; here, so that a message has its line. */
static const struct range {
	const char *key; /* as in fields */
	u32 min, max;
} ranges[] = {
	{ "mhz", 1, 100000 }, { "ref-mhz", 1, 100000 }, { "bus-mhz", 1, 100000 },
	{ "walk.step", 0, 60000 },
	{ "branch.penalty", 0, 60000 }, { "branch.btb-penalty", 0, 60000 },
	{ "pipe.issue", 1, 64 }, { "pipe.retire", 1, 64 },
	{ "pipe.rob", 1, 65536 }, { "pipe.load-buffer", 0, 65536 },
	{ "pipe.store-buffer", 0, 128 }, { "pipe.fill-buffers", 0, 65536 },
	{ "pipe.forward", 0, 60000 }, { "pipe.forward-block", 0, 60000 },
	{ "pipe.split", 0, 60000 }, { "pipe.page-split", 0, 60000 },
	{ "pipe.rename-memory", 0, 1 }, { "pipe.string", 0, 65536 },
};
/* clang-format on */

static u32 *value_of(const struct ap_machine *m, const struct key_field *f)
{
	return (u32 *)((char *)m + f->offset);
}

static bool is_space(char c)
{
	return isspace((unsigned char)c);
}

/* The n-th word, into 16 bytes; false after the last. */
static bool word_at(const char *words, unsigned n, char word[16])
{
	size_t length;

	for (; words && n && (words = strchr(words, ' ')); n--)
		words++;
	if (!words)
		return false;
	length = strcspn(words, " ");
	memcpy(word, words, length);
	word[length] = '\0';
	return true;
}

static bool word_find(const char *words, const char *word, unsigned *n)
{
	char candidate[16];

	for (*n = 0; word_at(words, *n, candidate); (*n)++)
		if (!strcmp(candidate, word))
			return true;
	return false;
}

static bool parse_number(const char *text, bool bytes, u32 *value)
{
	unsigned long long n, unit = 1;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (bytes && (*end == 'K' || *end == 'M'))
		unit = *end++ == 'K' ? 1024 : 1024 * 1024;
	if (*end || errno || n > UINT32_MAX / unit)
		return false;
	*value = n * unit;
	return true;
}

static bool parse_switches(const char *words, char *text, u32 *value)
{
	char *next, *rest = text;
	unsigned n;

	*value = 0;
	if (!strcmp(text, "none"))
		return true;
	while ((next = strtok_r(rest, " \t", &rest))) {
		if (!word_find(words, next, &n))
			return false;
		*value |= 1U << n;
	}
	return *value;
}

static bool parse_value(const struct key_field *f, char *text, u32 *value)
{
	switch (f->kind) {
	case NUMBER:
	case BYTES:
		return parse_number(text, f->kind == BYTES, value);
	case CHOICE:
		return word_find(f->words, text, value);
	case SWITCHES:
		return parse_switches(f->words, text, value);
	}
	return false;
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && is_space(end[-1]))
		*--end = '\0';
	while (is_space(*text))
		text++;
	return text;
}

static int set_name(struct ap_machine *m, const char *name, char *error, size_t size)
{
	if (!*name || strlen(name) >= sizeof(m->name)) {
		snprintf(error, size, "a name has 1 to %zu characters", sizeof(m->name) - 1);
		return -EINVAL;
	}
	memset(m->name, 0, sizeof(m->name));
	memcpy(m->name, name, strlen(name));
	return 0;
}

static int set_base(struct ap_machine *m, const char *name, char *error, size_t size)
{
	const struct ap_machine *base = ap_machine_find(name);
	char own[sizeof(m->name)];

	if (!base) {
		snprintf(error, size, "base: no machine \"%s\"", name);
		return -EINVAL;
	}
	memcpy(own, m->name, sizeof(own));
	*m = *base;
	if (*own)
		memcpy(m->name, own, sizeof(own));
	return 0;
}

static int check_range(const char *key, u32 value, char *error, size_t size)
{
	for (unsigned i = 0; i < AP_ARRAY_SIZE(ranges); i++) {
		const struct range *r = &ranges[i];

		if (strcmp(r->key, key) || (value >= r->min && value <= r->max))
			continue;
		snprintf(error, size, "%s: not from %u to %u", key, r->min, r->max);
		return -EINVAL;
	}
	return 0;
}

/* What came before. */
struct read_before {
	unsigned settings; /* "base" forgets them, so it must be the first */
	bool name;
	bool field[AP_ARRAY_SIZE(fields)];
};

static int once(bool *was, const char *key, char *error, size_t size)
{
	if (*was) {
		snprintf(error, size, "%s: given twice", key);
		return -EINVAL;
	}
	*was = true;
	return 0;
}

static int set(struct ap_machine *m, const char *key, char *value, struct read_before *before,
	       char *error, size_t size)
{
	if (!strcmp(key, "name"))
		return once(&before->name, key, error, size) ? -EINVAL
							     : set_name(m, value, error, size);
	if (!strcmp(key, "base")) {
		if (!before->settings)
			return set_base(m, value, error, size);
		snprintf(error, size, "base must stand before all other settings");
		return -EINVAL;
	}
	for (unsigned i = 0; i < AP_ARRAY_SIZE(fields); i++) {
		const struct key_field *f = &fields[i];

		if (strcmp(f->key, key))
			continue;
		if (once(&before->field[i], key, error, size))
			return -EINVAL;
		if (parse_value(f, value, value_of(m, f)))
			return check_range(key, *value_of(m, f), error, size);
		if (f->words)
			snprintf(error, size, "%s: not one of: %s%s", key, f->words,
				 f->kind == SWITCHES ? " none" : "");
		else
			snprintf(error, size, "%s: not a number%s", key,
				 f->kind == BYTES ? " (K and M may follow)" : "");
		return -EINVAL;
	}
	snprintf(error, size, "unknown key \"%.40s\"", key);
	return -EINVAL;
}

static int parse_line(struct ap_machine *m, char *line, struct read_before *before, char *error,
		      size_t size)
{
	char *comment = strchr(line, '#'), *value, *key;
	int err;

	if (comment)
		*comment = '\0';
	key = trim(line);
	if (!*key)
		return 0;
	value = strchr(key, '=');
	if (!value) {
		snprintf(error, size, "want \"key = value\"");
		return -EINVAL;
	}
	*value++ = '\0';
	key = trim(key);
	err = set(m, key, trim(value), before, error, size);
	before->settings += !!strcmp(key, "name");
	return err;
}

int ap_machine_parse(struct ap_machine *m, const char *text, char *error, size_t size)
{
	struct read_before before = { 0 };
	unsigned number = 0;
	char line[256], what[128];
	const char *wrong;
	size_t length;

	memset(m, 0, sizeof(*m));
	for (; *text; text += length + (text[length] == '\n')) {
		number++;
		length = strcspn(text, "\n");
		if (length >= sizeof(line)) {
			snprintf(error, size, "line %u: too long", number);
			return -EINVAL;
		}
		memcpy(line, text, length);
		line[length] = '\0';
		if (parse_line(m, line, &before, what, sizeof(what))) {
			snprintf(error, size, "line %u: %s", number, what);
			return -EINVAL;
		}
	}
	if (!*m->name)
		set_name(m, "file", what, sizeof(what));
	wrong = ap_machine_check(m);
	AP_PLANT("machine", !wrong && m->pipe.issue == 7);
	if (!wrong)
		return 0;
	snprintf(error, size, "%s", wrong);
	return -EINVAL;
}

bool ap_machine_key(const struct ap_machine *m, unsigned n, char *text, size_t size)
{
	const struct key_field *f;
	char word[16], *at = text;
	u32 value;

	if (n >= AP_ARRAY_SIZE(fields))
		return false;
	f = &fields[n];
	value = *value_of(m, f);
	at += snprintf(text, size, "%s = ", f->key);
	if ((size_t)(at - text) >= size)
		return true;
	size -= at - text;
	if (f->kind == CHOICE && word_at(f->words, value, word))
		snprintf(at, size, "%s", word);
	else if (f->kind == SWITCHES)
		snprintf(at, size, "%s",
			 value == 3   ? "next stride"
			 : value == 2 ? "stride"
			 : value      ? "next"
				      : "none");
	else if (f->kind == BYTES && value && !(value % (1024 * 1024)))
		snprintf(at, size, "%uM", value / (1024 * 1024));
	else if (f->kind == BYTES && value && !(value % 1024))
		snprintf(at, size, "%uK", value / 1024);
	else
		snprintf(at, size, "%u", value);
	return true;
}
