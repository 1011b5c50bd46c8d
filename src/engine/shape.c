/* SPDX-License-Identifier: MIT */
/*
 * Shapes: distinct count vectors, numbered per address space in the segment's shape table, which
 * the supervisor reads.  A vector gets its number at translation; numbers are never reused, so
 * counters outlive evicted code.
 *
 * The first numbers are single bits of single fields.  When the table is full a new vector is
 * counted as the sum of those: slower, never wrong.
 */
#include "engine/engine.h"
#include "engine/sb.h"

#define HASH 16384 /* power of two, at least twice AP_SHAPE_MAX */
#define BITS (AP_VEC_N * 8)

static u16 hash[HASH]; /* shape id + 1; 0 empty */

static u32 intern(u64 vec)
{
	u32 h = (u32)((vec * 0x9e3779b97f4a7c15ULL) >> 50) & (HASH - 1);
	u32 id;

	while (hash[h] && ap_proc.shapes[hash[h] - 1] != vec)
		h = (h + 1) & (HASH - 1);
	if (hash[h])
		return hash[h] - 1U;
	id = ap_proc.seg->nshapes;
	if (id >= AP_SHAPE_MAX)
		return AP_SHAPE_MAX;
	ap_proc.shapes[id] = vec;
	__atomic_store_n(&ap_proc.seg->nshapes, id + 1, __ATOMIC_RELEASE);
	hash[h] = (u16)(id + 1);
	return id;
}

void ap_shape_init(void)
{
	for (u32 bit = 0; bit < BITS; bit++)
		intern(1ULL << bit);
}

u32 ap_shape_disps(u64 vec, u32 disps[AP_SHAPE_PARTS])
{
	u32 id = intern(vec), n = 0;

	if (id < AP_SHAPE_MAX) {
		disps[0] = (u32)(AP_T_COUNTS_OFF + id * 8ULL);
		return 1;
	}
	for (u32 bit = 0; bit < BITS; bit++)
		if (vec >> bit & 1)
			disps[n++] = (u32)(AP_T_COUNTS_OFF + intern(1ULL << bit) * 8ULL);
	return n;
}
