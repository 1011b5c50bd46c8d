/* SPDX-License-Identifier: MIT */
/*
 * One translation buffer: LRU, exactly, by stamps.
 */
#ifndef AP_MODEL_TLB_H
#define AP_MODEL_TLB_H

#include "model/mem.h"

#define AP_TLB_HUGE (1ULL << 63)

size_t ap_tlb_init(struct ap_tlb *t, void *memory, u32 entries, u32 ways, u32 latency);
/* True, and used, where it has the page. */
bool ap_tlb_use(struct ap_tlb *t, u64 key);
void ap_tlb_insert(struct ap_tlb *t, u64 key);

#endif
