/* SPDX-License-Identifier: MIT */
/*
 * Shapes: distinct count vectors, numbered per address space in the segment's shape table, which
 * the supervisor reads.  A vector gets its number at translation; numbers are never reused, so
 * counters outlive evicted code.
 *
 * When the table is nearly full a new vector is counted in two parts, its instructions and its
 * branches, of which there are far fewer kinds; and when even that has no room, field by field: of
 * single fields there are so few that room for all of them is kept.  Slower, never wrong, and never
 * more than AP_VEC_N counters, so that a block's record of them has room.
 */
#include "engine/engine.h"
#include "engine/sb.h"

#define HASH	   32768		       /* power of two, at least twice AP_SHAPE_MAX */
#define FIELDS	   (AP_VEC_N * AP_BLOCK_INSNS) /* vectors of one field only */
#define RESERVED   1536			       /* numbers kept for parts and fields */
#define INSTR_MASK 0xffULL

/* Numbers from the limit on are not for whole vectors, not for parts of two. */
static u32 whole_limit(void)
{
	return ap_proc.stress & AP_STRESS_SHAPES ? 16 : AP_SHAPE_MAX - RESERVED;
}

static u32 part_limit(void)
{
	return ap_proc.stress & AP_STRESS_SHAPES ? 32 : AP_SHAPE_MAX - FIELDS;
}

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

static u32 disp(u32 id)
{
	return (u32)(AP_T_COUNTS_OFF + id * 8ULL);
}

static u32 in_fields(u64 vec, u32 *disps)
{
	u32 n = 0;

	for (u32 f = 0; f < AP_VEC_N; f++)
		if (ap_vec_get(vec, f))
			disps[n++] = disp(intern(vec & 0xffULL << f * 8, AP_SHAPE_MAX));
	return n;
}

u32 ap_shape_disps(u64 vec, u32 disps[AP_SHAPE_PARTS])
{
	u32 id = intern(vec, whole_limit());
	u32 n = 0;

	if (id < AP_SHAPE_MAX) {
		disps[0] = disp(id);
		return 1;
	}
	for (u32 part = 0; part < 2; part++) {
		u64 v = part ? vec & ~INSTR_MASK : vec & INSTR_MASK;

		if (v == 0)
			continue;
		id = intern(v, part_limit());
		if (id < AP_SHAPE_MAX)
			disps[n++] = disp(id);
		else
			n += in_fields(v, disps + n);
	}
	return n;
}
