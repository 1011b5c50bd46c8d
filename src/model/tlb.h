/* SPDX-License-Identifier: MIT */
/*
 * One translation buffer: see struct ap_tlb.
 */
#ifndef AP_MODEL_TLB_H
#define AP_MODEL_TLB_H

#include "model/mem.h"

#define AP_TLB_HUGE (1ULL << 63)

size_t ap_tlb_init(struct ap_tlb *t, void *memory, u32 entries, u32 ways, u32 latency, u64 *clock);
/* A page that is not there: its entry, and the key of the page that was there before, or 0. */
u32 ap_tlb_insert(struct ap_tlb *t, u64 key, u64 *old);

/* Of a page that is not there: nothing has left its set so far. */
static inline bool ap_tlb_has_room(const struct ap_tlb *t, u64 key)
{
	return t->used[key >> 1 & t->set_mask] < t->ways;
}

/* The entry of a page, or 0. */
static inline u32 ap_tlb_find(const struct ap_tlb *t, u64 key)
{
	u32 entry = t->bucket[key >> 1 & t->bucket_mask];

	while (t->page[entry] != key) {
		if (!entry)
			return 0;
		entry = t->chain[entry];
	}
	return entry;
}

/* The same, and it is used. */
static inline u32 ap_tlb_use(struct ap_tlb *t, u64 key)
{
	u32 entry = ap_tlb_find(t, key);

	if (entry)
		t->stamp[entry] = ++*t->clock;
	return entry;
}

#endif
