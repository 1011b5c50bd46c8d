/* SPDX-License-Identifier: MIT */
/*
 * Lanes, as far as they are counters: which the process has, what of a vector they count, and what is counted apart from translated
 * code.  When a lane's budget is used up, and what is done then, is sampling's (sample/lane.c).
 */
#include "engine/count/lane.h"
#include "engine/count/profile.h"

#include "abi/slot_sum.h"
#include "engine/cache/lookup.h"
#include "engine/count/slot.h"

#define CAP_ALL	   AP_BLOCK_INSNS /* as many as there are: no block is cut */
#define CAP_SPARSE 8		  /* for what not every instruction counts: walks are shorter */

u32 ap_lane_count(const struct ap_vec *vec, u64 kinds)
{
	u64 sum = 0;

	if (kinds == AP_KIND_BIT(AP_KIND_INSTR)) /* what is sampled most */
		return ap_vec_get(vec->g[AP_VEC_BASE], AP_VEC_INSTR);
	for (u32 group = 0; group < AP_VEC_GROUPS; group++)
		if (vec->g[group])
			sum += ap_shape_of(vec->g[group] | (u64)group << AP_VEC_TAG_SHIFT, kinds);
	return (u32)sum;
}

u32 ap_lane_cap(u64 kinds)
{
	return kinds & AP_KIND_BIT(AP_KIND_INSTR) ? CAP_ALL : CAP_SPARSE;
}

#define FLOPS_MOST 32U /* of 16 elements, fused ones twice */

/* An instruction counts at most this much. */
static u32 most_of_insn(u64 kinds)
{
	u32 n = kinds & AP_KINDS_FP ? 3 : 0;

	n += kinds & AP_KIND_BIT(AP_KIND_FLOPS) ? FLOPS_MOST : 0;
	for (kinds &= ~AP_KINDS_OF_FLOPS; kinds; kinds &= kinds - 1)
		n++;
	return n;
}

static void take_lane_over(u32 k, u64 kinds)
{
	ap_proc.lanes[k] = kinds;
	ap_proc.lane_margin[k] = ap_lane_cap(kinds) + most_of_insn(kinds);
	if (kinds == AP_LANE_CARRIED && !(ap_proc.direct & AP_LANE_CARRIED) && !ap_proc.carry)
		ap_slot_set_carry(k + 1);
}

void ap_lanes_take_over(u32 n, u32 gen)
{
	ap_proc.lanes_more = false;
	for (u32 k = 0; k < n; k++) {
		u64 kinds = __atomic_load_n(&ap_proc.session->lanes[k], __ATOMIC_RELAXED);

		if (k >= ap_proc.nlanes || kinds != ap_proc.lanes[k])
			take_lane_over(k, kinds);
		ap_proc.lanes_more |= (kinds & ~AP_KINDS_BASE) != 0;
	}
	ap_proc.nlanes = n;
	ap_proc.lane_gen = gen;
	if (n)
		ap_ibl_fill_front();
}

/* In the first word, whether the budget is spread or not. */
static void take_down(struct ap_thread *t, u32 k, s64 n)
{
	u64 *word = &ap_thread_slot(t)->budget[k][0];
	s64 was = ap_budget_value(__atomic_load_n(word, __ATOMIC_RELAXED));

	__atomic_store_n(word, (u64)(was - n), __ATOMIC_RELAXED);
}

u64 ap_lane_sum(struct ap_thread *t, u64 kinds)
{
	const struct ap_slot_view view = ap_thread_view(t);

	return ap_slot_sum_of(&view, kinds, ~0ULL);
}

void ap_lanes_add(struct ap_thread *t, const struct ap_vec *vec, u64 times)
{
	for (u32 k = 0; k < t->nlanes; k++)
		take_down(t, k, (s64)(times * ap_lane_count(vec, ap_proc.lanes[k])));
}

void ap_count_kind(struct ap_thread *t, u32 kind, s64 n)
{
	if (kind != AP_KIND_INSTR || !ap_lanes_carry(t))
		ap_thread_slot(t)->extra[kind] += n;
	for (u32 k = 0; k < t->nlanes; k++)
		if (ap_proc.lanes[k] & AP_KIND_BIT(kind))
			take_down(t, k, n);
}

void ap_count_insn(struct ap_thread *t, u64 pc, s64 n)
{
	ap_count_kind(t, AP_KIND_INSTR, n);
	ap_profile_add(pc, n);
}
