/* SPDX-License-Identifier: MIT */
/*
 * The policies that need more than the order of tags: a word per set.  PLRU: bit n is node n of a
 * heap-shaped tree (the root is 1), set where the right half is to go next.  RRIP: two bits per
 * way.  Random: the state of a generator of the set's own, so that sets do not depend on each
 * other's traffic, nor a shared cache on a common word.
 *
 * With a clock, LRU and PLRU keep a time of use per line instead, and look for the victim when one
 * is wanted: a use is one store.  Of a tree the node points away from the half that was used last,
 * so times say all.
 */
#include "model/cache.h"

static u32 log2_of(u32 n)
{
	u32 bits = 0;

	while (n >> 1 >> bits)
		bits++;
	return bits;
}

static bool has_stamps(u32 policy)
{
	return policy == AP_POLICY_LRU || policy == AP_POLICY_PLRU;
}

/* Of each way: the nodes above it, and of them those that point right, away from it. */
static void note_paths(struct ap_cache *c)
{
	for (u32 way = 0; way < c->ways; way++)
		for (u32 node = way + c->ways; node > 1; node >>= 1) {
			c->path[way] |= 1U << (node >> 1);
			c->away[way] |= (u32) !(node & 1) << (node >> 1);
		}
}

size_t ap_cache_init(struct ap_cache *c, void *memory, const struct ap_cache_spec *spec, u32 line,
		     u64 *clock)
{
	u32 slices = spec->slices ? spec->slices : 1, ways = spec->ways;
	size_t sets = spec->size ? spec->size / ((u64)line * ways * slices) : 0;
	u32 parts = !sets || (spec->policy == AP_POLICY_LRU && !clock) ? 0 : (ways + 7) / 8;
	bool is_timed = clock && has_stamps(spec->policy);
	u32 heads = parts + (parts && !is_timed);
	/* all that is asked of a large set that is nearly empty is in one line of the CPU's */
	u32 words = ways > 8 && heads ? AP_ALIGN_UP(heads + ways, 8) : heads + ways;
	size_t bytes = sets * slices * (words + is_timed * ways) * sizeof(u64);

	if (!memory)
		return AP_ALIGN_UP(bytes, 64);
	*c = (struct ap_cache){
		.tag = (u64 *)memory + heads,
		.stamp = (u64 *)memory + sets * slices * words,
		.head = memory,
		.words = words,
		.parts = parts,
		.last_part = parts ? AP_PART_ONES << 7 >> 8 * (8 * parts - ways) : 0,
		.clock = is_timed ? clock : NULL,
		.line_mask = ~(u64)(line - 1),
		.set_mask = sets ? (u32)sets - 1 : 0,
		.set_bits = log2_of((u32)sets),
		.slices = slices,
		.ways = spec->size ? ways : 0,
		.latency = spec->latency,
		.shift = log2_of(line),
		.policy = spec->policy,
		.write_through = !!spec->write_through,
		.no_allocate = !!spec->no_allocate,
		.inclusion = spec->inclusion,
		.prefetch = spec->prefetch,
		.degree = spec->degree ? spec->degree : 1,
	};
	if (spec->policy == AP_POLICY_PLRU)
		note_paths(c);
	return AP_ALIGN_UP(bytes, 64);
}

static unsigned plru_victim(const struct ap_cache *c, u32 set)
{
	u64 order = *ap_cache_order(c, set);
	unsigned node = 1;

	while (node < c->ways)
		node = node << 1 | (order >> node & 1);
	return node - c->ways;
}

static unsigned rrip_victim(struct ap_cache *c, u32 set)
{
	const u64 low = 0x5555555555555555ULL;
	u64 all = c->ways == 32 ? ~0ULL : (1ULL << 2 * c->ways) - 1;
	u64 order = *ap_cache_order(c, set), oldest;

	for (;;) {
		oldest = order & order >> 1 & low & all;
		if (oldest)
			break;
		order += low & all;
	}
	*ap_cache_order(c, set) = order;
	return __builtin_ctzll(oldest) / 2;
}

static unsigned random_victim(struct ap_cache *c, u32 set)
{
	u64 *order = ap_cache_order(c, set);
	u64 x = *order ? *order : (set + 1) * 0x9e3779b97f4a7c15ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*order = x;
	return (x >> 32) * c->ways >> 32;
}

/* The time and the way in one word: the CPU has nothing to guess. */
static unsigned oldest(const u64 *stamp, unsigned n)
{
	u64 least = stamp[0] * AP_WAYS;

	if (n == 8)
		return ap_cache_oldest_of_8(stamp);
	for (unsigned i = 1; i < n; i++)
		least = ap_cache_earlier(least, stamp[i] * AP_WAYS | i);
	return least % AP_WAYS;
}

/* The half that was not used last, and of it the same; at first all are as old. */
static unsigned plru_oldest(const u64 *stamp, unsigned n)
{
	unsigned from = 0;
	u64 left, right;

	while (n > 1) {
		n /= 2;
		left = right = 0;
		for (unsigned i = from; i < from + n; i++) {
			left = stamp[i] > left ? stamp[i] : left;
			right = stamp[i + n] > right ? stamp[i + n] : right;
		}
		from += left > right ? n : 0;
	}
	return from;
}

/* The first way that has no line, or as many as there are. */
static unsigned free_way(const struct ap_cache *c, u32 set)
{
	const u64 *part = ap_cache_parts(c, set), *last = part + c->parts - 1;
	u64 none;

	for (unsigned from = 0; part <= last; part++, from += 8) {
		none = ~*part & (part < last ? AP_PART_ONES << 7 : c->last_part);
		if (ap_unlikely(none))
			return from + (unsigned)__builtin_ctzll(none) / 8;
	}
	return c->ways;
}

unsigned ap_cache_victim(struct ap_cache *c, u32 set)
{
	unsigned way = free_way(c, set);

	if (way < c->ways)
		return way;
	if (c->clock && c->policy == AP_POLICY_LRU)
		return oldest(ap_cache_stamps(c, set), c->ways);
	if (c->clock)
		return plru_oldest(ap_cache_stamps(c, set), c->ways);
	if (c->policy == AP_POLICY_PLRU)
		return plru_victim(c, set);
	if (c->policy == AP_POLICY_RRIP)
		return rrip_victim(c, set);
	return random_victim(c, set);
}

unsigned ap_cache_victim_hint(const struct ap_cache *c, u32 set)
{
	return c->policy == AP_POLICY_PLRU && !c->clock ? plru_victim(c, set) : c->ways - 1;
}
