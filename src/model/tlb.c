/* SPDX-License-Identifier: MIT */
/* Translation buffers: see tlb.h. */
#include "model/tlb.h"
#include "base/mem.h"

static u64 *set_of(struct ap_tlb *t, u64 key, u64 **stamp)
{
	size_t first = (size_t)(key >> 1 & t->set_mask) * t->ways;

	*stamp = t->stamp + first;
	return t->page + first;
}

static u16 *hint_of(struct ap_tlb *t, u64 key)
{
	return &t->hint[(key >> 1) % AP_TLB_HINTS];
}

size_t ap_tlb_init(struct ap_tlb *t, void *memory, u32 entries, u32 ways, u32 latency)
{
	size_t bytes = (size_t)entries * sizeof(u64);

	if (memory && entries) {
		t->page = memory;
		t->stamp = (u64 *)((char *)memory + bytes);
		t->ways = ways;
		t->set_mask = entries / ways - 1;
		t->latency = latency;
	}
	return AP_ALIGN_UP(2 * bytes, 64);
}

bool ap_tlb_use(struct ap_tlb *t, u64 key)
{
	u16 *hint = hint_of(t, key);
	u64 *stamp, *page;

	if (t->page[*hint] == key) {
		t->stamp[*hint] = ++t->tick;
		return true;
	}
	page = set_of(t, key, &stamp);
	for (unsigned i = 0; i < t->ways; i++) {
		if (page[i] != key)
			continue;
		stamp[i] = ++t->tick;
		*hint = (u16)(page + i - t->page);
		return true;
	}
	return false;
}

void ap_tlb_insert(struct ap_tlb *t, u64 key)
{
	u64 *stamp, *page = set_of(t, key, &stamp);
	unsigned way = 0;

	/* a free entry has never been stamped */
	for (unsigned i = 1; i < t->ways; i++)
		if (stamp[i] < stamp[way])
			way = i;
	page[way] = key;
	stamp[way] = ++t->tick;
	*hint_of(t, key) = (u16)(page + way - t->page);
}
