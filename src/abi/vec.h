/* SPDX-License-Identifier: MIT */
/*
 * The count vector: how many instructions and branches of each class one way through a
 * superblock retires.  Eight small fields in one u64, so that vectors add and compare as
 * integers.  A thread counts how often each distinct vector ("shape") was executed; an event's
 * value is the sum over shapes of executions x field.  docs/design/engine.md, "Counting".
 */
#ifndef AP_ABI_VEC_H
#define AP_ABI_VEC_H

#include "base/types.h"

enum ap_vec_field {
	AP_VEC_INSTR,  /* retired user instructions */
	AP_VEC_COND,   /* jcc, jrcxz family, loop family */
	AP_VEC_TAKEN,  /* branches of any class that transferred */
	AP_VEC_CALL,   /* near call, direct and indirect */
	AP_VEC_RET,    /* near ret */
	AP_VEC_IND,    /* indirect near jmp and call (not ret) */
	AP_VEC_BRANCH, /* every near branch */
	AP_VEC_N = 8   /* one field is spare */
};

#define AP_VEC_ONE(f) (1ULL << ((f)*8))
/* No field may pass this in one superblock; one extra instruction always fits in a u8. */
#define AP_VEC_FIELD_MAX 254

static inline u32 ap_vec_get(u64 vec, enum ap_vec_field f)
{
	return (u32)(vec >> (f * 8)) & 0xff;
}

#endif
