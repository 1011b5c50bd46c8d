/* SPDX-License-Identifier: MIT */
/*
 * One translation buffer: see struct ap_tlb.
 */
#ifndef AP_MODEL_TLB_H
#define AP_MODEL_TLB_H

#include "model/mem.h"

#define AP_TLB_HUGE (1ULL << 63)

size_t ap_tlb_init(struct ap_tlb *t, void *memory, u32 entries, u32 ways, u32 latency);
/* A page that is not there. */
void ap_tlb_insert(struct ap_tlb *t, u64 key);

#endif
