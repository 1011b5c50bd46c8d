/* SPDX-License-Identifier: MIT */
/*
 * Shapes: distinct count vectors, numbered per address space in the segment's shape table, which
 * the supervisor reads.  A vector gets its number at translation; numbers are never reused, so
 * counters outlive evicted code.
 *
 * When the table is nearly full a new vector is counted in two parts, its instructions and its
 * branches, of which there are far fewer kinds; and when even that has no room, as the sum of the
 * single bits that have the first numbers.  Slower, never wrong.
 */
#include "engine/engine.h"
#include "engine/sb.h"

#define HASH	   32768 /* power of two, at least twice AP_SHAPE_MAX */
#define BITS	   (AP_VEC_N * 8)
#define RESERVED   1536 /* numbers kept for parts */
#define INSTR_MASK 0xffULL

static u16 hash[HASH]; /* shape id + 1; 0 empty */

/* The vector's number; limit: where there is none and numbers from there on are not to be used. */
static u32 intern(u64 vec, u32 limit)
{
	u32 h = (u32)((vec * 0x9e3779b97f4a7c15ULL) >> 49) & (HASH - 1);
	u32 id;

	while (hash[h] && ap_proc.shapes[hash[h] - 1] != vec)
		h = (h + 1) & (HASH - 1);
	if (hash[h])
		return hash[h] - 1U;
	id = ap_proc.seg->nshapes;
	if (id >= limit)
		return AP_SHAPE_MAX;
	ap_proc.shapes[id] = vec;
	__atomic_store_n(&ap_proc.seg->nshapes, id + 1, __ATOMIC_RELEASE);
	ap_slot_add_shape(id, vec);
	hash[h] = (u16)(id + 1);
	return id;
}

void ap_shape_init(void)
{
	for (u32 bit = 0; bit < BITS; bit++)
		intern(1ULL << bit, AP_SHAPE_MAX);
}

static u32 disp(u32 id)
{
	return (u32)(AP_T_COUNTS_OFF + id * 8ULL);
}

static u32 in_bits(u64 vec, u32 *disps)
{
	u32 n = 0;

	for (u32 bit = 0; bit < BITS; bit++)
		if (vec >> bit & 1)
			disps[n++] = disp(intern(1ULL << bit, 0));
	return n;
}

u32 ap_shape_disps(u64 vec, u32 disps[AP_SHAPE_PARTS])
{
	u32 id = intern(vec, AP_SHAPE_MAX - RESERVED);
	u32 n = 0;

	if (id < AP_SHAPE_MAX) {
		disps[0] = disp(id);
		return 1;
	}
	for (u32 part = 0; part < 2; part++) {
		u64 v = part ? vec & ~INSTR_MASK : vec & INSTR_MASK;

		if (v == 0)
			continue;
		id = intern(v, AP_SHAPE_MAX);
		if (id < AP_SHAPE_MAX)
			disps[n++] = disp(id);
		else
			n += in_bits(v, disps + n);
	}
	return n;
}
