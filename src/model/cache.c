/* SPDX-License-Identifier: MIT */
/*
 * The policies that need more than the order of tags: a word per set.  PLRU: bit n is node n of a
 * heap-shaped tree (the root is 1), set where the right half is to go next.  RRIP: two bits per
 * way.  Random: the state of a generator of the set's own, so that sets do not depend on each
 * other's traffic, nor a shared cache on a common word.
 *
 * With a clock, LRU and PLRU keep a time of use per line instead, and look for the victim when one is wanted: a
 * use is one store.  Of a tree the node points away from the half that was used last, so times say all.
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

size_t ap_cache_init(struct ap_cache *c, void *memory, const struct ap_cache_spec *spec, u32 line,
		     u64 *clock)
{
	u32 slices = spec->slices ? spec->slices : 1;
	u32 sets = spec->size ? (u32)(spec->size / ((u64)line * spec->ways * slices)) : 0;
	size_t tags = (size_t)sets * slices * spec->ways * sizeof(u64);
	size_t orders = spec->policy == AP_POLICY_LRU ? 0 : (size_t)sets * slices * sizeof(u64);

	if (clock && has_stamps(spec->policy))
		orders = tags;
	if (!memory)
		return AP_ALIGN_UP(tags + orders, 64);
	*c = (struct ap_cache){
		.tag = memory,
		.order = (u64 *)((char *)memory + tags),
		.clock = has_stamps(spec->policy) ? clock : NULL,
		.line_mask = ~(u64)(line - 1),
		.set_mask = sets ? sets - 1 : 0,
		.set_bits = log2_of(sets),
		.slices = slices,
		.ways = spec->size ? spec->ways : 0,
		.latency = spec->latency,
		.shift = log2_of(line),
		.policy = spec->policy,
		.write_through = !!spec->write_through,
		.no_allocate = !!spec->no_allocate,
		.inclusion = spec->inclusion,
		.prefetch = spec->prefetch,
		.degree = spec->degree ? spec->degree : 1,
	};
	return AP_ALIGN_UP(tags + orders, 64);
}

void ap_plru_use(struct ap_cache *c, u32 set, unsigned way)
{
	u64 tree = c->order[set];
	unsigned node = way + c->ways;

	for (; node > 1; node >>= 1) {
		if (node & 1)
			tree &= ~(1ULL << (node >> 1));
		else
			tree |= 1ULL << (node >> 1);
	}
	c->order[set] = tree;
}

static unsigned plru_victim(const struct ap_cache *c, u32 set)
{
	unsigned node = 1;

	while (node < c->ways)
		node = node << 1 | (c->order[set] >> node & 1);
	return node - c->ways;
}

static unsigned rrip_victim(struct ap_cache *c, u32 set)
{
	const u64 low = 0x5555555555555555ULL;
	u64 all = c->ways == 32 ? ~0ULL : (1ULL << 2 * c->ways) - 1;
	u64 order = c->order[set], oldest;

	for (;;) {
		oldest = order & order >> 1 & low & all;
		if (oldest)
			break;
		order += low & all;
	}
	c->order[set] = order;
	return __builtin_ctzll(oldest) / 2;
}

static unsigned random_victim(struct ap_cache *c, u32 set)
{
	u64 x = c->order[set] ? c->order[set] : (set + 1) * 0x9e3779b97f4a7c15ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	c->order[set] = x;
	return (x >> 32) * c->ways >> 32;
}

static unsigned oldest(const u64 *stamp, unsigned n)
{
	unsigned at = 0;

	for (unsigned i = 1; i < n; i++)
		if (stamp[i] < stamp[at])
			at = i;
	return at;
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
		if (left > right)
			from += n;
	}
	return from;
}

unsigned ap_cache_victim(struct ap_cache *c, u32 set)
{
	const u64 *tag = ap_cache_tags(c, set);

	for (unsigned i = 0; i < c->ways; i++)
		if (!tag[i])
			return i;
	if (c->clock && c->policy == AP_POLICY_LRU)
		return oldest(c->order + (size_t)set * c->ways, c->ways);
	if (c->clock)
		return plru_oldest(c->order + (size_t)set * c->ways, c->ways);
	if (c->policy == AP_POLICY_PLRU)
		return plru_victim(c, set);
	if (c->policy == AP_POLICY_RRIP)
		return rrip_victim(c, set);
	return random_victim(c, set);
}
