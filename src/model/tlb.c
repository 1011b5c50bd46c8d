/* SPDX-License-Identifier: MIT */
/* Translation buffers: see struct ap_tlb. */
#include "model/tlb.h"
#include "base/mem.h"

static u32 buckets_for(u32 entries)
{
	u32 n = 1;

	while (n < entries)
		n <<= 1;
	return n;
}

static u16 *take(char **at, u32 n)
{
	u16 *p = (u16 *)*at;

	*at += n * sizeof(u16);
	return p;
}

size_t ap_tlb_init(struct ap_tlb *t, void *memory, u32 entries, u32 ways, u32 latency, u64 *clock)
{
	u32 buckets = buckets_for(entries), sets = entries ? entries / ways : 0;
	char *at = (char *)memory + 2 * (entries + 1) * sizeof(u64);

	if (!entries)
		return 0;
	if (memory) {
		t->page = memory;
		t->stamp = t->page + entries + 1;
		t->chain = take(&at, entries + 1);
		t->bucket = take(&at, buckets);
		t->used = take(&at, sets);
		t->bucket_mask = buckets - 1;
		t->set_mask = sets - 1;
		t->ways = ways;
		t->latency = latency;
		t->clock = clock;
	}
	return AP_ALIGN_UP((entries + 1) * (2 * sizeof(u64) + sizeof(u16)) +
				   (buckets + sets) * sizeof(u16),
			   64);
}

/* The oldest leaves its bucket. */
static u16 evict(struct ap_tlb *t, u32 set)
{
	u32 entry = set * t->ways + 1, last = entry + t->ways;
	u64 oldest = t->stamp[entry];
	u16 *link;

	for (u32 i = entry + 1; i < last; i++)
		if (t->stamp[i] < oldest) {
			oldest = t->stamp[i];
			entry = i;
		}
	link = &t->bucket[t->page[entry] >> 1 & t->bucket_mask];
	while (*link != entry)
		link = &t->chain[*link];
	*link = t->chain[entry];
	return entry;
}

u32 ap_tlb_insert(struct ap_tlb *t, u64 key, u64 *old)
{
	u32 set = key >> 1 & t->set_mask;
	u16 entry, *bucket;

	*old = 0;
	if (t->used[set] < t->ways) {
		entry = (u16)(set * t->ways + ++t->used[set]);
	} else {
		entry = evict(t, set);
		*old = t->page[entry];
	}
	bucket = &t->bucket[key >> 1 & t->bucket_mask];
	t->page[entry] = key;
	t->stamp[entry] = ++*t->clock;
	t->chain[entry] = *bucket;
	*bucket = entry;
	return entry;
}
