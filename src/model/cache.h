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

/* A way to fill, but for LRU without a clock: a free one, else the victim. */
unsigned ap_cache_victim(struct ap_cache *c, u32 set);
void ap_plru_use(struct ap_cache *c, u32 set, unsigned way);

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
	return c->tag + (size_t)set * c->ways;
}

/* The way that has the line, or -1. */
static inline int ap_cache_find(struct ap_cache *c, u32 set, u64 address)
{
	const u64 *tag = ap_cache_tags(c, set);
	u64 key = (address & c->line_mask) | AP_LINE_VALID;

	const u64 other = AP_LINE_FLAGS & ~AP_LINE_VALID;
	unsigned i = 0, n = c->ways;

	/* what may differ are the other flags; no line is so short that an address has these bits */
	key |= other;
	for (; i + 4 <= n; i += 4) {
		if ((tag[i] | other) == key)
			return (int)i;
		if ((tag[i + 1] | other) == key)
			return (int)i + 1;
		if ((tag[i + 2] | other) == key)
			return (int)i + 2;
		if ((tag[i + 3] | other) == key)
			return (int)i + 3;
	}
	for (; i < n; i++)
		if ((tag[i] | other) == key)
			return (int)i;
	return -1;
}

/* It was used; gives its tag, which may have moved. */
static inline u64 *ap_cache_use(struct ap_cache *c, u32 set, unsigned way)
{
	u64 *tag = ap_cache_tags(c, set);
	u64 key;

	if (c->clock) {
		c->order[(size_t)set * c->ways + way] = ++*c->clock;
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
		ap_plru_use(c, set, way);
		break;
	case AP_POLICY_RRIP:
		c->order[set] &= ~(3ULL << 2 * way);
		break;
	}
	return tag + way;
}

/* Fills a way, which it is then used last of all. */
static inline void ap_cache_put(struct ap_cache *c, u32 set, unsigned way, u64 key)
{
	ap_cache_tags(c, set)[way] = key;
	if (c->policy == AP_POLICY_RRIP)
		c->order[set] = (c->order[set] & ~(3ULL << 2 * way)) | 2ULL << 2 * way;
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
}

#endif
