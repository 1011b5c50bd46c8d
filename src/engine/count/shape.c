/* SPDX-License-Identifier: MIT */
/*
 * Shapes: distinct count vectors, numbered per address space in the segment's shape table, which
 * the supervisor reads.  A vector gets its number at translation; numbers are never reused, so
 * counters outlive evicted code.
 *
 * When the table is nearly full a new base vector is counted in two parts, its instructions and its
 * branches, of which there are far fewer kinds.  When even that has no room, and for the other groups at
 * once, it is counted field by field: by adding the field's value to the number of a one, and room
 * for all those ones is kept.  Slower, never wrong.
 */
#include "abi/switches.h"
#include "base/mem.h"
#include "engine/runtime/engine.h"
#include "engine/translate/sb.h"

#define HASH_MIN   1024
#define HASH_MAX   16384 /* power of two, at least twice AP_SHAPE_MAX */
#define RESERVED   1536	 /* numbers kept for parts and fields */
#define INSTR_MASK 0xffULL

/* Numbers from the limit on are not for whole vectors, not for parts of two. */
static u32 whole_limit(void)
{
	return ap_is_stressed(ap_proc.session, AP_STRESS_SHAPES) ? 16 : AP_SHAPE_MAX - RESERVED;
}

static u32 part_limit(void)
{
	return ap_is_stressed(ap_proc.session, AP_STRESS_SHAPES) ? 32 : AP_SHAPE_MAX - AP_ADDS_MAX;
}

static AP_ROOMY u16 hash[HASH_MAX]; /* shape id + 1; 0 empty */
static u32 hash_size;		    /* so many are in use; 0 before the first */

static u16 *place_of(u64 vec)
{
	u32 h = (u32)((vec * 0x9e3779b97f4a7c15ULL) >> 49) & (hash_size - 1);

	while (hash[h] && ap_proc.shapes[hash[h] - 1] != vec)
		h = (h + 1) & (hash_size - 1);
	return &hash[h];
}

/* Few programs have many shapes.  A thread that is killed in between leaves some that are given another number, no more. */
static void make_room(u32 n)
{
	if (n < hash_size / 2 || hash_size == HASH_MAX)
		return;
	memset(hash, 0, hash_size * sizeof(*hash));
	hash_size = hash_size ? hash_size * 4 : HASH_MIN;
	for (u32 id = 0; id < n && id < AP_SHAPE_MAX; id++)
		*place_of(ap_proc.shapes[id]) = (u16)(id + 1);
}

/* The vector's number; limit: where there is none and numbers from there on are not to be used. */
static u32 intern(u64 vec, u32 limit)
{
	u32 id = ap_proc.seg->nshapes;
	u16 *place;

	make_room(id);
	place = place_of(vec);
	if (*place)
		return *place - 1U;
	if (id >= limit)
		return AP_SHAPE_MAX;
	ap_proc.shapes[id] = vec;
	__atomic_store_n(&ap_proc.seg->nshapes, id + 1, __ATOMIC_RELEASE);
	ap_slot_add_shape(id, vec);
	*place = (u16)(id + 1);
	return id;
}

static void add(struct ap_adds *adds, u32 id, u32 by)
{
	adds->add[adds->n].disp = (u32)(AP_T_COUNTS_OFF + id * 8ULL);
	adds->add[adds->n++].by = by;
}

static bool add_whole(struct ap_adds *adds, u64 vec, u64 tag, u32 limit)
{
	u32 id = intern(vec | tag, limit);

	if (id == AP_SHAPE_MAX)
		return false;
	add(adds, id, 1);
	return true;
}

static void add_fields(struct ap_adds *adds, u64 vec, u64 tag)
{
	for (u32 f = 0; f < AP_VEC_FIELDS; f++)
		if (ap_vec_get(vec, f))
			add(adds, intern(AP_VEC_ONE(f) | tag, AP_SHAPE_MAX), ap_vec_get(vec, f));
}

static void add_group(struct ap_adds *adds, u64 vec, u32 group)
{
	u64 tag = (u64)group << AP_VEC_TAG_SHIFT;

	if (!vec || add_whole(adds, vec, tag, whole_limit()))
		return;
	if (group != AP_VEC_BASE) {
		add_fields(adds, vec, tag);
		return;
	}
	for (u32 part = 0; part < 2; part++) {
		u64 v = part ? vec & ~INSTR_MASK : vec & INSTR_MASK;

		if (v && !add_whole(adds, v, tag, part_limit()))
			add_fields(adds, v, tag);
	}
}

/* What is counted directly leaves the vector.  Operations on elements are counted so with all that they are of. */
static u64 add_direct(struct ap_adds *adds, u64 vec, u32 group)
{
	const u64 extra = AP_T_SLOT_OFF + offsetof(struct ap_slot, extra);
	u32 flops = 0;

	for (u32 f = 0; f < AP_VEC_FIELDS; f++) {
		u32 kind = ap_vec_kind(group, f), by = ap_vec_get(vec, f);

		if (!by || !(ap_proc.direct & AP_KIND_BIT(kind)))
			continue;
		flops += by * ap_vec_elements(group, f);
		adds->add[adds->n].disp = (u32)(extra + kind * 8ULL);
		adds->add[adds->n++].by = by;
		vec &= ~(0xffULL << f * 8);
	}
	if (flops) {
		adds->add[adds->n].disp = (u32)(extra + AP_KIND_FLOPS * 8ULL);
		adds->add[adds->n++].by = flops;
	}
	return vec;
}

bool ap_counts_branches(void)
{
	return ap_proc.kinds & AP_KINDS_TRANSFERS;
}

/* What a lane counts is not counted here. */
static u64 without_carried(u64 vec)
{
	return ap_counts_branches() ? vec & ~INSTR_MASK : 0;
}

void ap_shape_adds(const struct ap_vec *vec, struct ap_adds *adds)
{
	adds->n = 0;
	for (u32 group = 0; group < AP_VEC_GROUPS; group++) {
		u64 rest = vec->g[group];

		if (ap_unlikely(ap_proc.carry) && group == AP_VEC_BASE)
			rest = without_carried(rest);
		if (ap_unlikely(ap_proc.direct))
			rest = add_direct(adds, rest, group);
		add_group(adds, rest, group);
	}
}
