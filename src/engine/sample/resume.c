/* SPDX-License-Identifier: MIT */
/*
 * Going on behind a sample: inside a block that is there, at the instruction that comes next.  A block of its own
 * for each instruction that was sampled takes ten times as long to make, is linked to nothing at first, and
 * runs once as a rule.
 *
 * Which block has that instruction inside is found by the way that the walk went: one that begins where it or one of its
 * branches led.  The block counts all of its instructions when it is left, so those in front of the place are
 * taken off when it is entered.  Nobody is to see a count go down: until the block is left readers add them
 * (ap_slot.carry_hidden).  So this is for instructions that are counted by one lane alone, which is how most
 * programs are sampled.
 */
#include "engine/cache/cache.h"
#include "engine/cache/lookup.h"
#include "engine/runtime/engine.h"
#include "engine/sample/lane.h"

static bool is_branch(u8 cls)
{
	return cls == AP_REC_JCC_NT || ap_rec_jumps(cls);
}

/* Instructions alone are counted, by their lane; no models, and no data is watched. */
static bool may_resume(const struct ap_thread *t)
{
	return t->nlanes == 1 && ap_lanes_carry(t) && !ap_feed_is_on() && !ap_proc.data;
}

void ap_resume_prepare(struct ap_thread *t)
{
	struct ap_lanes *l = ap_thread_lanes(t);
	const struct ap_block *b = l->walk;
	bool branched = true; /* to b itself */
	struct ap_rec_at i;

	l->nheads = 0;
	if (t->epoch != ap_proc.epoch || !may_resume(t))
		return;
	for (i = ap_rec_begin(b); ap_rec_read(&i); ap_rec_next(&i)) {
		if (i.rec > b->recs && i.pc == t->regs.rip)
			return;
		if (branched)
			l->head[l->nheads++ % AP_LANE_HEADS] = i.pc;
		branched = is_branch(i.cls);
	}
	if (branched && i.pc != t->regs.rip)
		l->head[l->nheads++ % AP_LANE_HEADS] = i.pc;
}

/* Where in b the instruction at pc begins, with all registers the program's; 0 nowhere. */
static u32 place_in(const struct ap_block *b, u64 pc)
{
	bool after_inc = false;
	struct ap_rec_at i;

	for (i = ap_rec_begin(b); ap_rec_read(&i); ap_rec_next(&i)) {
		/* an elided jump has no code */
		if (i.pc == pc && i.size && !after_inc && i.cls != AP_REC_REP_DONE)
			return i.at;
		after_inc = i.cls == AP_REC_INC;
	}
	return 0;
}

/* What the block will have counted too much when it is left. */
static s64 too_much(struct ap_block *b, u32 at)
{
	struct ap_where w;

	ap_block_locate(b, at, &w);
	return (s64)ap_vec_get(w.prefix.g[AP_VEC_BASE], AP_VEC_INSTR) -
	       (w.inc_done ? (s64)ap_vec_get(b->final_vec, AP_VEC_INSTR) : 0);
}

struct ap_block *ap_resume_find(struct ap_thread *t, u64 pc)
{
	struct ap_lanes *l = ap_thread_lanes(t);
	u32 n = l->nheads, most = n < AP_LANE_HEADS ? n : AP_LANE_HEADS;

	l->nheads = 0;
	/* what the block has counted ahead is taken from the first word, which must not get below 0 by it */
	if (!n || !may_resume(t) ||
	    ap_thread_slot(t)->budget[0][0] - AP_BLOCK_INSNS > AP_BUDGET_MAX ||
	    ap_lookup_find(pc, false))
		return NULL;
	for (u32 k = 1; k <= most; k++) {
		struct ap_block *b = ap_lookup_find(l->head[(n - k) % AP_LANE_HEADS], false);
		u32 at = b && b->lean && !b->more ? place_in(b, pc) : 0;

		if (!at)
			continue;
		t->resume = b;
		t->resume_at = at;
		return b;
	}
	return NULL;
}

void ap_resume_enter(struct ap_thread *t)
{
	t->entry += t->resume_at;
	ap_lane_hide(t, 0, too_much(t->resume, t->resume_at));
}

void ap_resume_undo(struct ap_thread *t)
{
	struct ap_where w;

	ap_block_locate(t->resume, t->resume_at, &w);
	ap_cache_count_partial(t, &w);
}
