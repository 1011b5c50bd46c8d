/* SPDX-License-Identifier: MIT */
/*
 * Lanes as counters: lane.c, and the code that takes them down.
 */
#ifndef AP_ENGINE_COUNT_LANE_H
#define AP_ENGINE_COUNT_LANE_H

#include "engine/emit/emit.h"
#include "engine/runtime/engine.h"

#define AP_LANE_CARRIED                                                                            \
	AP_KIND_BIT(AP_KIND_INSTR) /* by the lane of just this, in the place of shapes */

/* Are the thread's instructions counted in a lane, and nowhere else? */
static inline bool ap_lanes_carry(const struct ap_thread *t)
{
	return ap_unlikely(ap_proc.carry) && ap_proc.carry <= t->nlanes;
}

/* The process has so many from now on, and code takes them down; lock held. */
void ap_lanes_take_over(u32 n, u32 gen);
/* What is counted apart from translated code, of one kind. */
void ap_count_kind(struct ap_thread *t, u32 kind, s64 n);
void ap_count_insn(struct ap_thread *t, u64 pc, s64 n); /* that at pc, so many times */
/* Of the kinds a vector's count. */
u32 ap_lane_count(const struct ap_vec *vec, u64 kinds);
/* A block counts less than this of the lane before its last instruction. */
u32 ap_lane_cap(u64 kinds);

/* What the slot's counters say of these kinds, as the supervisor adds them up. */
u64 ap_lane_sum(struct ap_thread *t, u64 kinds);
/* Counts that are made apart from translated code: in extra[], and here. */
void ap_lanes_add(struct ap_thread *t, const struct ap_vec *vec, u64 times);

#define AP_LANE_FUSED 2 /* so many fit beside an indirect transfer */
/* lane_emit.c: jumps that are taken where a budget is used up. */
struct ap_lane_jumps {
	u32 n;
	u8 *site[AP_LANE_MAX]; /* rel32 */
	u8 lane[AP_LANE_MAX];  /* whose it is: those behind it are not taken down yet */
	bool wants_near;       /* the way out is written close by, for the last lane's */
	u8 *near;	       /* rel8 of that, or NULL */
	bool in_rdx; /* no jump: rdx is all ones where the last lane's is used up, else 0 */
};
/* The word that the code written from here on takes down: another each time, 0 where it tests nothing. */
u32 ap_lane_next_word(bool tests);
void ap_lane_use_word(u32 word);
/*
 * Each takes all lanes down by a vector; jumps NULL: no test.  _flags, _rcx, _rdx say what they may
 * change, which _rdx has as it was where it jumps.
 */
void ap_lane_emit_flags(struct ap_emit *e, const struct ap_vec *vec, struct ap_lane_jumps *jumps);
void ap_lane_emit_rcx(struct ap_emit *e, const struct ap_vec *vec, struct ap_lane_jumps *jumps);
void ap_lane_emit_rdx(struct ap_emit *e, const struct ap_vec *vec, struct ap_lane_jumps *jumps);
/* The way out that is near begins here. */
void ap_lane_patch_near(struct ap_emit *e, const struct ap_lane_jumps *jumps);
void ap_lane_emit_reg(struct ap_emit *e, const struct ap_vec *vec, u8 reg);
/* What a lane's jump has left out: the lanes behind it, with the flags free or through a register. */
bool ap_lane_has_rest(const struct ap_vec *vec, u32 lane);
void ap_lane_emit_rest_flags(struct ap_emit *e, const struct ap_vec *vec, u32 lane);
void ap_lane_emit_rest_reg(struct ap_emit *e, const struct ap_vec *vec, u32 lane, u8 reg);

#endif
