/* SPDX-License-Identifier: MIT */
/*
 * The branches of a way, as the predictors see them.
 */
#include "model/feed.h"

static void miss(struct ap_feed *f, bool wrong, u32 penalty, bool by_flags)
{
	if (!wrong)
		return;
	ap_pipe_flush(&f->pipe, penalty, by_flags);
	f->stall_front += (u64)penalty << 8;
}

/* An indirect branch whose target is known by now. */
void ap_feed_arrive(struct ap_feed *f, u64 target)
{
	bool wrong;

	if (f->pending == AP_FEED_NOTHING)
		return;
	if (f->pending == AP_FEED_RETURN)
		wrong = ap_bp_ret(f->bp, target);
	else
		wrong = ap_bp_indirect(f->bp, f->pending_at, target);
	miss(f, wrong, f->machine->bp.penalty, false);
	f->pending = AP_FEED_NOTHING;
}

static void branch(struct ap_feed *f, const struct ap_feed_branch *b)
{
	u64 behind = b->pc + b->len;

	switch (b->what) {
	case AP_FEED_NOT_TAKEN:
	case AP_FEED_TAKEN:
		miss(f, ap_bp_cond(f->bp, b->pc, b->what == AP_FEED_TAKEN), f->machine->bp.penalty,
		     true);
		break;
	case AP_FEED_JUMP:
		miss(f, ap_bp_jump(f->bp, b->pc), f->machine->bp.btb_penalty, false);
		break;
	case AP_FEED_CALL:
		miss(f, ap_bp_call(f->bp, b->pc, behind), f->machine->bp.btb_penalty, false);
		break;
	default:
		f->pending = b->what;
		f->pending_at = b->pc;
		if (b->what == AP_FEED_CALL_INDIRECT)
			ap_bp_push(f->bp, behind);
		break;
	}
}

void ap_feed_branches(struct ap_feed *f, const struct ap_feed_way *way)
{
	for (u32 k = 0; k < way->nbranches; k++)
		branch(f, &way->branches[k]);
}
