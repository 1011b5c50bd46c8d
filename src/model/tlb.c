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
	char *at = (char *)memory + 3 * (entries + 1) * sizeof(u64);

	if (!entries)
		return 0;
	if (memory) {
		t->page = memory;
		t->stamp = t->page + entries + 1;
		t->lines = t->stamp + entries + 1;
		t->chain = take(&at, entries + 1);
		t->bucket = take(&at, buckets);
		t->used = take(&at, sets);
		t->bucket_mask = buckets - 1;
		t->set_mask = sets - 1;
		t->ways = ways;
		t->latency = latency;
		t->clock = clock;
	}
	return AP_ALIGN_UP((entries + 1) * (3 * sizeof(u64) + sizeof(u16)) +
				   (buckets + sets) * sizeof(u16),
			   64);
}

/* Keeps the oldest ones; they stand from the youngest to the oldest. */
static void note_old(struct ap_tlb *t, u16 entry)
{
	u64 stamp = t->stamp[entry];
	u32 at = 0;

	if (t->nold == AP_TLB_OLD) {
		if (stamp > t->old_stamp[0])
			return;
		for (; at + 1 < AP_TLB_OLD && t->old_stamp[at + 1] > stamp; at++) {
			t->old_stamp[at] = t->old_stamp[at + 1];
			t->old[at] = t->old[at + 1];
		}
	} else {
		for (at = t->nold++; at && t->old_stamp[at - 1] < stamp; at--) {
			t->old_stamp[at] = t->old_stamp[at - 1];
			t->old[at] = t->old[at - 1];
		}
	}
	t->old_stamp[at] = stamp;
	t->old[at] = entry;
}

/* Of one set that has all entries. */
static u32 oldest_of_all(struct ap_tlb *t)
{
	for (;;) {
		while (t->nold) {
			t->nold--;
			if (t->stamp[t->old[t->nold]] == t->old_stamp[t->nold])
				return t->old[t->nold];
		}
		for (u32 i = 1; i <= t->ways; i++)
			note_old(t, (u16)i);
	}
}

static u32 oldest_of_set(const struct ap_tlb *t, u32 set)
{
	u32 entry = set * t->ways + 1, last = entry + t->ways;
	u64 oldest = t->stamp[entry];

	for (u32 i = entry + 1; i < last; i++)
		if (t->stamp[i] < oldest) {
			oldest = t->stamp[i];
			entry = i;
		}
	return entry;
}

/* The oldest leaves its bucket. */
static u16 evict(struct ap_tlb *t, u32 set)
{
	bool is_full = !t->set_mask && t->ways > AP_TLB_OLD;
	u32 entry = is_full ? oldest_of_all(t) : oldest_of_set(t, set);
	u16 *link = &t->bucket[t->page[entry] >> 1 & t->bucket_mask];

	while (*link != entry)
		link = &t->chain[*link];
	*link = t->chain[entry];
	return (u16)entry;
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
