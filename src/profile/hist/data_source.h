/* SPDX-License-Identifier: MIT */
/* What a sample says of a reference to memory, in words. */
#ifndef AP_PROFILE_DATA_SOURCE_H
#define AP_PROFILE_DATA_SOURCE_H

#include <stddef.h>

#include "base/types.h"

/* Fields of union perf_mem_data_src. */
#define AP_SOURCE_OP(v)	   ((v)&0x1f)
#define AP_SOURCE_LEVEL(v) ((v) >> 5 & 0x3fff)
#define AP_SOURCE_SNOOP(v) ((v) >> 19 & 0x1f)
#define AP_SOURCE_LOCK(v)  ((v) >> 24 & 3)
#define AP_SOURCE_TLB(v)   ((v) >> 26 & 0x7f)
#define AP_SOURCE_BLOCK(v) ((v) >> 40 & 7)

#define AP_SOURCE_LOAD	2U    /* of OP */
#define AP_SOURCE_STORE 4U    /* of OP */
#define AP_SOURCE_HITM	0x10U /* of SNOOP */

/* Each gives text. */
#define AP_SOURCE_TEXT 128
const char *ap_source_level(u64 v, char *text, size_t size);
const char *ap_source_snoop(u64 v, char *text, size_t size);
const char *ap_source_tlb(u64 v, char *text, size_t size);
const char *ap_source_lock(u64 v);
const char *ap_source_blocked(u64 v);

/* The word and all of it; how long that is. */
#define AP_SOURCE_LINE 160
int ap_source_line(u64 v, char *text, size_t size);

/*
 * A page's size, which may be any number, in the largest unit of which it is several: 4K, 2M,
 * 1024M.
 */
#define AP_PAGE_TEXT 32
const char *ap_page_text(u64 bytes, char *text, size_t size);

#endif
