/* SPDX-License-Identifier: MIT */
/*
 * One set-associative array and its replacement policies.  It knows lines and ways; what levels
 * do with each other is mem.c's.  Callers hold the lock where the array is shared.
 */
#ifndef AP_MODEL_CACHE_H
#define AP_MODEL_CACHE_H

#include "base/types.h"
#include "model/mem.h"

/* Lays the array out in zeroed memory; gives how many bytes it takes.  memory null: just those. */
size_t ap_cache_init(struct ap_cache *c, void *memory, const struct ap_cache_spec *spec, u32 line,
		     u64 *clock);

/* PLRU without times: the victim, if all ways are full; else any. */
unsigned ap_cache_victim_hint(const struct ap_cache *c, u32 set);
/* A way to fill, but for LRU without a clock: a free one, else the victim. */
unsigned ap_cache_victim(struct ap_cache *c, u32 set);

static inline u64 ap_cache_mix(u64 x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

static inline u32 ap_cache_set(const struct ap_cache *c, u64 address)
{
	u64 line = address >> c->shift;
	u32 set = line & c->set_mask, slice;

	if (c->slices == 1)
		return set;
	slice = (ap_cache_mix(line) >> 32) * c->slices >> 32;
	return slice << c->set_bits | set;
}

static inline u32 ap_cache_sets(const struct ap_cache *c)
{
	return c->slices << c->set_bits;
}

static inline u64 *ap_cache_tags(struct ap_cache *c, u32 set)
{
	return c->tag + (size_t)set * c->words;
}

/*
 * Partial tags: a byte for each way, eight of a set in a word, so that a search is some arithmetic
 * and seldom a guess of the CPU's that is wrong.  A hash of the line with bit 7 set; 0 where there
 * is none.
 */
#define AP_PART_ONES 0x0101010101010101ULL

static inline u64 ap_cache_part(u64 line)
{
	return line * 0x9e3779b97f4a7c15ULL >> 57 | 0x80;
}

static inline u64 *ap_cache_parts(const struct ap_cache *c, u32 set)
{
	return c->head + (size_t)set * c->words;
}

/* What a policy that has no times knows of a set; behind the bytes. */
static inline u64 *ap_cache_order(const struct ap_cache *c, u32 set)
{
	return ap_cache_parts(c, set) + c->parts;
}

static inline u64 *ap_cache_stamps(const struct ap_cache *c, u32 set)
{
	return c->stamp + (size_t)set * c->ways;
}

static inline void ap_cache_note_part(struct ap_cache *c, u32 set, unsigned way, u64 part)
{
	u64 *word = ap_cache_parts(c, set) + way / 8;
	u32 at = way % 8 * 8;

	/* the whole word: a byte that was just stored would hold up a load of the word */
	*word = (*word & ~(0xffULL << at)) | part << at;
}

/*
 * What may differ of a tag are the other flags; no line is so short that an address has these bits.
 */
#define AP_LINE_OTHER (AP_LINE_FLAGS & ~AP_LINE_VALID)

static inline int ap_cache_find_in_order(struct ap_cache *c, u32 set, u64 line)
{
	const u64 *tag = ap_cache_tags(c, set);

	for (unsigned i = 0; i < c->ways; i++)
		if ((tag[i] | AP_LINE_OTHER) == (line | AP_LINE_FLAGS))
			return (int)i;
	return -1;
}

/* Of eight ways, the first of them `from`; like: ap_cache_part() in all bytes */
static inline int ap_cache_find_of_8(const u64 *tag, unsigned from, u64 part, u64 line, u64 like)
{
	u64 other = part ^ like;
	/* bytes that are 0, and some behind the first of these */
	u64 same = (other - AP_PART_ONES) & ~other & AP_PART_ONES << 7;

	for (; same; same &= same - 1) {
		unsigned way = from + (unsigned)__builtin_ctzll(same) / 8;

		if (ap_likely((tag[way] | AP_LINE_OTHER) == (line | AP_LINE_FLAGS)))
			return (int)way;
	}
	return -1;
}

static inline int ap_cache_find_part(struct ap_cache *c, u32 set, u64 line, u64 like)
{
	const u64 *tag = ap_cache_tags(c, set), *part = ap_cache_parts(c, set);
	int way = ap_cache_find_of_8(tag, 0, *part, line, like);

	for (unsigned n = 1; ap_unlikely(n < c->parts) && way < 0; n++)
		way = ap_cache_find_of_8(tag, 8 * n, part[n], line, like);
	return way;
}

/* The CPU that runs the model is to fetch what it asks of a set. */
static inline void ap_cache_expect(const struct ap_cache *c, u32 set)
{
	const char *at = (const char *)ap_cache_parts(c, set);

	for (u32 from = 0; from < c->words * sizeof(u64); from += 64)
		__builtin_prefetch(at + from, 1);
}

/* The way that has the line, or -1. */
static inline int ap_cache_find(struct ap_cache *c, u32 set, u64 address)
{
	u64 line = address & c->line_mask;

	if (ap_unlikely(!c->parts))
		return ap_cache_find_in_order(c, set, line);
	return ap_cache_find_part(c, set, line, ap_cache_part(line) * AP_PART_ONES);
}

static inline u64 ap_cache_earlier(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* The way of eight, by their times. */
static inline unsigned ap_cache_oldest_of_8(const u64 *stamp)
{
	u64 a = ap_cache_earlier(stamp[0] * 8, stamp[1] * 8 + 1);
	u64 b = ap_cache_earlier(stamp[2] * 8 + 2, stamp[3] * 8 + 3);
	u64 c = ap_cache_earlier(stamp[4] * 8 + 4, stamp[5] * 8 + 5);
	u64 d = ap_cache_earlier(stamp[6] * 8 + 6, stamp[7] * 8 + 7);

	return ap_cache_earlier(ap_cache_earlier(a, b), ap_cache_earlier(c, d)) % 8;
}

/* It was used; gives its tag, which may have moved. */
static inline u64 *ap_cache_use(struct ap_cache *c, u32 set, unsigned way)
{
	u64 *tag = ap_cache_tags(c, set), *order;
	u64 key;

	if (c->clock) {
		ap_cache_stamps(c, set)[way] = ++*c->clock;
		return tag + way;
	}
	switch (c->policy) {
	case AP_POLICY_LRU:
		key = tag[way];
		for (; way; way--)
			tag[way] = tag[way - 1];
		tag[0] = key;
		break;
	case AP_POLICY_PLRU:
		order = ap_cache_order(c, set);
		*order = (*order & ~(u64)c->path[way]) | c->away[way];
		break;
	case AP_POLICY_RRIP:
		*ap_cache_order(c, set) &= ~(3ULL << 2 * way);
		break;
	}
	return tag + way;
}

/* Fills a way, which it is then used last of all. */
static inline void ap_cache_put(struct ap_cache *c, u32 set, unsigned way, u64 key)
{
	u64 *order = ap_cache_order(c, set);

	ap_cache_tags(c, set)[way] = key;
	if (c->parts)
		ap_cache_note_part(c, set, way, ap_cache_part(key & c->line_mask));
	if (c->policy == AP_POLICY_RRIP)
		*order = (*order & ~(3ULL << 2 * way)) | 2ULL << 2 * way;
	else
		ap_cache_use(c, set, way);
}

/* A line that is not there is put in; gives the key that it replaced, 0 for none. */
static inline u64 ap_cache_insert(struct ap_cache *c, u32 set, u64 key)
{
	bool is_ordered = c->policy == AP_POLICY_LRU && !c->clock;
	unsigned way = is_ordered ? c->ways - 1 : ap_cache_victim(c, set);
	u64 old = ap_cache_tags(c, set)[way];

	ap_cache_put(c, set, way, key);
	return old;
}

/* Free ways of an LRU set in order of use stand last. */
static inline void ap_cache_remove(struct ap_cache *c, u32 set, unsigned way)
{
	u64 *tag = ap_cache_tags(c, set);

	if (c->policy == AP_POLICY_LRU && !c->clock)
		for (; way + 1 < c->ways; way++)
			tag[way] = tag[way + 1];
	tag[way] = 0;
	if (c->parts)
		ap_cache_note_part(c, set, way, 0);
}

#endif
