/* SPDX-License-Identifier: MIT */
/*
 * Count vectors: how many instructions of each class one way through a superblock retires.  Small
 * fields in one u64, so that vectors add and compare as integers.  A thread counts how often each
 * distinct vector ("shape") was executed; a kind's count is the sum over shapes of executions x
 * field.  docs/design/engine.md, "Counting".
 *
 * The kinds that every session counts are one group of fields, and the others a few more, which
 * code counts beside it only where somebody wants a kind of theirs.  In the table of shapes the
 * last byte tells the group.
 */
#ifndef AP_ABI_VEC_H
#define AP_ABI_VEC_H

#include "abi/raw.h"
#include "base/types.h"

enum ap_vec_group {
	AP_VEC_BASE,  /* 0: always */
	AP_VEC_MEM,   /* accesses to memory */
	AP_VEC_FP,    /* arithmetic on scalars, 128 and 256 bits */
	AP_VEC_FP512, /* on 512 bits */
	AP_VEC_GROUPS
};

/* Fields of the base group. */
enum ap_vec_field {
	AP_VEC_INSTR,  /* retired user instructions */
	AP_VEC_COND,   /* jcc, jrcxz family, loop family */
	AP_VEC_TAKEN,  /* branches of any class that transferred */
	AP_VEC_CALL,   /* near call, direct and indirect */
	AP_VEC_RET,    /* near ret */
	AP_VEC_IND,    /* indirect near jmp and call (not ret) */
	AP_VEC_BRANCH, /* every near branch */
	AP_VEC_FIELDS  /* of any group, at most: the last byte is the tag */
};

#define AP_VEC_TAG_SHIFT     56
#define AP_VEC_ONE(f)	     (1ULL << ((f)*8))
#define AP_VEC_FIELD_MASK(f) (0xffULL << ((f)*8))
/* No field may pass this in one superblock; one extra instruction always fits in a u8. */
#define AP_VEC_FIELD_MAX 254

static inline u32 ap_vec_get(u64 vec, u32 f)
{
	return (u32)(vec >> (f * 8)) & 0xff;
}

/* The kind that a field counts; AP_KIND_N where the group has no such field. */
static inline u32 ap_vec_kind(u32 group, u32 field)
{
	static const u8 kinds[AP_VEC_GROUPS][AP_VEC_FIELDS] = {
		{ AP_KIND_INSTR, AP_KIND_COND, AP_KIND_TAKEN, AP_KIND_CALL, AP_KIND_RET,
		  AP_KIND_IND, AP_KIND_BRANCH },
		{ AP_KIND_LOAD, AP_KIND_STORE, AP_KIND_MEM, AP_KIND_N, AP_KIND_N, AP_KIND_N,
		  AP_KIND_N },
		{ AP_KIND_FP_SCALAR_DOUBLE, AP_KIND_FP_SCALAR_SINGLE, AP_KIND_FP_128_DOUBLE,
		  AP_KIND_FP_128_SINGLE, AP_KIND_FP_256_DOUBLE, AP_KIND_FP_256_SINGLE, AP_KIND_N },
		{ AP_KIND_FP_512_DOUBLE, AP_KIND_FP_512_SINGLE, AP_KIND_N, AP_KIND_N, AP_KIND_N,
		  AP_KIND_N, AP_KIND_N },
	};

	return kinds[group][field];
}

/* Elements of the vectors that a field counts operations on; 0: of none. */
static inline u32 ap_vec_elements(u32 group, u32 field)
{
	static const u8 elements[2][AP_VEC_FIELDS] = { { 1, 1, 2, 4, 4, 8 }, { 8, 16 } };

	return group < AP_VEC_FP ? 0 : elements[group - AP_VEC_FP][field];
}

/* The kinds that come with a group. */
static inline u64 ap_vec_group_kinds(u32 group)
{
	u64 kinds = 0;

	for (u32 f = 0; f < AP_VEC_FIELDS; f++)
		if (ap_vec_kind(group, f) < AP_KIND_N)
			kinds |= AP_KIND_BIT(ap_vec_kind(group, f));
	return kinds;
}

/*
 * Of the models: branch prediction alone, caches and TLBs alone, which are shared by what is
 * fetched and accessed, both, or all, as cycles come of everything.  What stalls wait for is told
 * apart only where somebody asks.
 */
static inline u64 ap_model_kinds_with(u64 kinds)
{
	u64 branches = kinds & AP_KINDS_BRANCHES ? AP_KINDS_BRANCHES : 0;

	if (kinds & AP_KINDS_CYCLES)
		return AP_KINDS_MODEL & ~(kinds & AP_KINDS_LEVELS ? 0 : AP_KINDS_LEVELS);
	if (kinds & AP_KINDS_MODEL & ~AP_KINDS_BRANCHES)
		return branches | (AP_KINDS_MODEL & ~(AP_KINDS_CYCLES | AP_KINDS_BRANCHES));
	return branches;
}

/* What code that is asked to count these kinds counts: whole groups, and the base ones always. */
static inline u64 ap_kinds_with(u64 kinds)
{
	u64 all = AP_KINDS_BASE | (kinds & AP_KIND_BIT(AP_KIND_REP_ITER)) |
		  ap_model_kinds_with(kinds);

	if (kinds & AP_KIND_BIT(AP_KIND_FLOPS))
		all |= AP_KINDS_OF_FLOPS;
	for (u32 group = AP_VEC_BASE + 1; group < AP_VEC_GROUPS; group++)
		if (kinds & ap_vec_group_kinds(group))
			all |= ap_vec_group_kinds(group);
	return all;
}

/*
 * The least that it counts where they are sampled: the branches of the base ones only where they
 * are wanted.
 */
static inline u64 ap_kinds_least(u64 kinds)
{
	return ap_kinds_with(kinds) & ~(kinds & AP_KINDS_TRANSFERS ? 0 : AP_KINDS_TRANSFERS);
}

/*
 * Of an entry of the table of shapes, executed so many times (a count modulo 2^64, so that it can
 * be taken off again), to the sums by kind.
 */
static inline void ap_shape_add(u64 shape, u64 count, u64 sums[AP_KIND_N])
{
	u32 group = (u32)(shape >> AP_VEC_TAG_SHIFT);

	if (group >= AP_VEC_GROUPS)
		return;
	for (u32 f = 0; f < AP_VEC_FIELDS; f++) {
		u64 n = count * ap_vec_get(shape, f);
		u32 kind = ap_vec_kind(group, f);

		/* a program may have written anything there */
		if (!n || kind == AP_KIND_N)
			continue;
		sums[kind] += n;
		sums[AP_KIND_FLOPS] += n * ap_vec_elements(group, f);
	}
}

/* What one execution adds to the sum of some kinds. */
static inline u64 ap_shape_of(u64 shape, u64 kinds)
{
	u32 group = (u32)(shape >> AP_VEC_TAG_SHIFT);
	u64 sum = 0;

	if (group >= AP_VEC_GROUPS)
		return 0;
	for (u32 f = 0; f < AP_VEC_FIELDS; f++) {
		u32 n = ap_vec_get(shape, f), kind = ap_vec_kind(group, f);

		if (kind < AP_KIND_N && kinds & AP_KIND_BIT(kind))
			sum += n;
		if (kinds & AP_KIND_BIT(AP_KIND_FLOPS))
			sum += n * ap_vec_elements(group, f);
	}
	return sum;
}

#endif
