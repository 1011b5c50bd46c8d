/* SPDX-License-Identifier: MIT */
/*
 * The branches of a way, as the predictors see them.  Most ways have only branches that never or always
 * are taken and that the BTB knows: these change nothing and are predicted right.  What else there is on a way is
 * remembered with the predictors' version, which changes with all that could make a branch another one.
 */
#include "base/mem.h"
#include "model/feed.h"

#define LAST_VERSION 0xf0000000U /* no log has as many changes as are left */

static void miss(struct ap_feed *f, bool wrong, u32 penalty, bool by_flags)
{
	if (!wrong)
		return;
	ap_pipe_mispredict(&f->pipe, penalty, by_flags);
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

/* Calls, and the branch at the end. */
static bool remember_other(struct ap_feed_memo *m, const struct ap_feed_branch *b)
{
	if (b->what == AP_FEED_CALL || b->what == AP_FEED_CALL_INDIRECT) {
		if (m->ncalls == AP_FEED_CALLS)
			return false;
		m->returns[m->ncalls++] = b->pc + b->len;
	}
	if (b->what == AP_FEED_JUMP || b->what == AP_FEED_CALL)
		m->ntaken++;
	else
		m->last = b->what;
	return true;
}

static bool remember(const struct ap_bp *bp, struct ap_feed_memo *m, const struct ap_feed_branch *b)
{
	bool taken = b->what == AP_FEED_TAKEN;

	if (!taken && b->what != AP_FEED_NOT_TAKEN)
		return remember_other(m, b);
	m->ntaken += taken;
	if (ap_bp_state(bp, b->pc) != AP_BIAS_BOTH)
		return true;
	if (m->nvarying == AP_FEED_VARYING)
		return false;
	m->varying[m->nvarying++] = ap_bp_slot(bp, b->pc) << 1 | taken;
	return true;
}

static struct ap_feed_memo *memo_of(const struct ap_feed *f, u32 id)
{
	return &f->memos[id >> 2 & (AP_FEED_MEMOS - 1)]; /* a description has four units and more */
}
_Static_assert(offsetof(struct ap_feed_way, delta) >= 4 * AP_FEED_ALIGN, "neighbours");

/* Branch by branch; what it comes to is remembered if nothing about them is new. */
static void learn(struct ap_feed *f, const struct ap_feed_way *way, u32 id)
{
	struct ap_feed_memo m = { .id = id, .way = way, .last = AP_FEED_NOTHING };
	u32 version = f->bp->version;
	bool fits = true;

	for (u32 k = 0; k < way->nbranches; k++)
		branch(f, &way->branches[k]);
	if (f->bp->version != version)
		return;
	for (u32 k = 0; k < way->nbranches && fits; k++)
		fits = remember(f->bp, &m, &way->branches[k]);
	m.version = version;
	if (!f->bp->btb_ways)
		m.ntaken = 0;
	if (fits)
		*memo_of(f, id) = m;
}

static inline bool knows(const struct ap_feed *f, const struct ap_feed_memo *m, u32 id)
{
	return ap_likely(m->id == id && m->version == f->bp->version);
}

static inline void run_memo(struct ap_feed *f, const struct ap_feed_memo *m)
{
	f->count[AP_MODEL_BTB_LOOKUP] += m->ntaken;
	for (u32 k = 0; k < m->nvarying; k++)
		miss(f, ap_bp_dynamic(f->bp, m->varying[k] >> 1, m->varying[k] & 1),
		     f->machine->bp.penalty, true);
	for (u32 k = 0; k < m->ncalls; k++)
		ap_bp_push(f->bp, m->returns[k]);
	if (m->last != AP_FEED_NOTHING) {
		f->pending = m->last;
		f->pending_at = m->way->branches[m->way->nbranches - 1].pc;
	}
}

void ap_feed_branches(struct ap_feed *f, const struct ap_feed_way *way, u32 id)
{
	const struct ap_feed_memo *m = memo_of(f, id);

	if (knows(f, m, id))
		run_memo(f, m);
	else
		learn(f, way, id);
}

/* Before a log: so that no version comes twice. */
void ap_feed_renew(struct ap_feed *f)
{
	if (ap_likely(f->bp->version <= LAST_VERSION))
		return;
	memset(f->memos, 0, AP_FEED_MEMO_BYTES);
	f->bp->version = 1;
}

void ap_feed_run_branches(struct ap_feed *f, const u64 *from, const u64 *to, u8 *const *chunks)
{
	while (from < to) {
		u32 id = (u32)*from;
		const struct ap_feed_memo *m = memo_of(f, id);
		const struct ap_feed_way *way;

		if (knows(f, m, id)) {
			if (ap_unlikely(f->pending != AP_FEED_NOTHING))
				ap_feed_arrive(f, m->way->pc);
			run_memo(f, m);
			from += 1 + m->way->nwords;
			continue;
		}
		way = ap_feed_way(chunks, id);
		ap_feed_arrive(f, way->pc);
		learn(f, way, id);
		from += 1 + way->nwords;
	}
}

void ap_feed_forget_ways(struct ap_feed *f)
{
	ap_pipe_forget(&f->pipe);
	f->bp->version++;
}

static u64 wrong(const struct ap_feed *f)
{
	return f->count[AP_MODEL_COND_MISS] + f->count[AP_MODEL_INDIRECT_MISS] +
	       f->count[AP_MODEL_RETURN_MISS];
}

bool ap_feed_branch(struct ap_feed *f, const struct ap_feed_branch *b)
{
	u64 before = wrong(f);

	branch(f, b);
	return wrong(f) != before;
}
