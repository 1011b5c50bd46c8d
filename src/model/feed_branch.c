/* SPDX-License-Identifier: MIT */
/*
 * The branches of a way, as the predictors see them.  Most ways have only branches that never or
 * always are taken and that the BTB knows: these change nothing and are predicted right.  What else
 * there is on a way is remembered with the predictors' version, which changes with all that could
 * make a branch another one.
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

/* --- what is remembered */

/*
 * Two ways never share a memo.  With pointers of 32 bits they may, and one has to be learnt again.
 */
_Static_assert(sizeof(void *) < 8 || offsetof(struct ap_feed_way, delta) >= 8 * AP_FEED_ALIGN,
	       "neighbours");

static bool remember_varying(struct ap_feed_memo *m, struct ap_feed_more *more, u32 varying)
{
	if (m->nvarying == AP_FEED_VARYING)
		return false;
	if (m->nvarying < AP_FEED_FEW)
		m->few[m->nvarying] = varying;
	else
		more->varying[m->nvarying - AP_FEED_FEW] = varying;
	m->nvarying++;
	return true;
}

static bool remember(const struct ap_bp *bp, struct ap_feed_memo *m, struct ap_feed_more *more,
		     const struct ap_feed_branch *b)
{
	u32 slot;

	switch (b->what) {
	case AP_FEED_NOT_TAKEN:
	case AP_FEED_TAKEN:
		m->ntaken += b->what == AP_FEED_TAKEN;
		slot = ap_bp_slot(bp, b->pc);
		if (ap_bp_state(bp, slot, b->pc) != AP_BIAS_BOTH)
			return true;
		return remember_varying(m, more, slot << 1 | (b->what == AP_FEED_TAKEN));
	case AP_FEED_JUMP:
		m->ntaken++;
		return true;
	case AP_FEED_CALL:
		m->ntaken++;
		break;
	default:
		more->last = b->what;
		more->last_at = b->pc;
		if (b->what != AP_FEED_CALL_INDIRECT)
			return true;
	}
	if (more->ncalls == AP_FEED_CALLS)
		return false;
	more->returns[more->ncalls++] = b->pc + b->len;
	return true;
}

static inline u64 key_of(const struct ap_feed *f, u32 id)
{
	return (u64)f->bp->version << 32 | id;
}

/* Branch by branch; what it comes to is remembered if nothing about them is new. */
static void learn(struct ap_feed *f, const struct ap_feed_way *way, u32 id)
{
	struct ap_feed_memo m = { .pc = way->pc };
	struct ap_feed_more more = { .last = AP_FEED_NOTHING };
	u32 version = f->bp->version;
	bool fits = true;

	for (u32 k = 0; k < way->nbranches; k++)
		branch(f, &way->branches[k]);
	if (f->bp->version != version)
		return;
	for (u32 k = 0; k < way->nbranches && fits; k++)
		fits = remember(f->bp, &m, &more, &way->branches[k]);
	for (u32 k = 0; k < way->nbranches; k++)
		more.signature |= ap_bp_signature(f->bp, way->branches[k].pc);
	if (!fits || (!f->mem && way->nwords))
		return;
	m.key = key_of(f, id);
	if (!f->bp->btb_ways)
		m.ntaken = 0;
	m.is_more = more.ncalls || more.last != AP_FEED_NOTHING || m.nvarying > AP_FEED_FEW;
	*ap_feed_memo(f, id) = m;
	*ap_feed_more(f, id) = more;
}

static inline void run_calls(struct ap_feed *f, const struct ap_feed_more *more)
{
	for (u32 k = 0; k < more->ncalls; k++)
		ap_bp_push(f->bp, more->returns[k]);
	f->pending = more->last;
	f->pending_at = more->last_at;
}

/* Of another version: is it known all the same? */
static bool still_knows(struct ap_feed *f, u32 id)
{
	struct ap_feed_memo *m = ap_feed_memo(f, id);

	if ((u32)m->key != id || !(m->key >> 32) ||
	    ap_bp_changed(f->bp, (u32)(m->key >> 32), ap_feed_more(f, id)->signature))
		return false;
	m->key = key_of(f, id);
	return true;
}

void ap_feed_branches(struct ap_feed *f, const struct ap_feed_way *way, u32 id)
{
	const struct ap_feed_memo *m = ap_feed_memo(f, id);
	const struct ap_feed_more *more = ap_feed_more(f, id);

	if (ap_unlikely(m->key != key_of(f, id)) && !still_knows(f, id)) {
		learn(f, way, id);
		return;
	}
	f->count[AP_MODEL_BTB_LOOKUP] += m->ntaken;
	for (u32 k = 0; k < m->nvarying; k++) {
		u32 b = k < AP_FEED_FEW ? m->few[k] : more->varying[k - AP_FEED_FEW];

		miss(f, ap_bp_dynamic(f->bp, b >> 1, b & 1), f->machine->bp.penalty, true);
	}
	if (m->is_more)
		run_calls(f, more);
}

/* --- branches alone */

/*
 * Outcomes on their way to the predictors of outcomes, which nobody else waits for: gathered here,
 * they are predicted many at a time.
 */
#define GATHER	   512
#define GATHER_MAX (AP_FEED_VARYING + 2)

/* Where an indirect branch or a return went; gives where the next outcome goes. */
static u32 *gather_arrival(struct ap_feed *f, u32 *to, u64 target)
{
	u32 bits = ap_bp_bits(target);
	bool has_bits = false;

	if (f->pending == AP_FEED_RETURN)
		f->count[AP_MODEL_RETURN_MISS] += ap_bp_pop(f->bp, target);
	else
		(void)ap_bp_target(f->bp, f->pending_at, target, &has_bits);
	if (has_bits) {
		*to++ = AP_BP_PUSH(f->bp, bits >> 1);
		*to++ = AP_BP_PUSH(f->bp, bits & 1);
	}
	f->pending = AP_FEED_NOTHING;
	return to;
}

/* The rest of a way that is known, which most have not. */
static void gather_more(struct ap_feed *f, u32 *to, const struct ap_feed_memo *m, u32 id)
{
	const struct ap_feed_more *more = ap_feed_more(f, id);

	if (m->nvarying > AP_FEED_FEW)
		__builtin_memcpy(to - (m->nvarying - AP_FEED_FEW), more->varying,
				 sizeof(more->varying));
	run_calls(f, more);
}

static u32 *predict(struct ap_feed *f, u32 *from, const u32 *to)
{
	ap_bp_run(f->bp, from, to);
	return from;
}

void ap_feed_run_branches(struct ap_feed *f, const u64 *from, const u64 *end, u8 *const *chunks)
{
	u32 gathered[GATHER + GATHER_MAX], *to = gathered;
	u64 version = key_of(f, 0), taken = 0;

	while (from < end) {
		u32 id = (u32)*from;
		const struct ap_feed_memo *m = ap_feed_memo(f, id);

		if (ap_unlikely(m->key != (version | id)) && !still_knows(f, id)) {
			const struct ap_feed_way *way = ap_feed_way(chunks, id);

			to = predict(f, gathered, to);
			ap_feed_arrive(f, way->pc);
			learn(f, way, id);
			version = key_of(f, 0);
			from += 1 + way->nwords;
			continue;
		}
		if (ap_unlikely(f->pending != AP_FEED_NOTHING))
			to = gather_arrival(f, to, m->pc);
		__builtin_memcpy(to, m->few, sizeof(m->few));
		to += m->nvarying;
		taken += m->ntaken;
		from++;
		if (m->is_more)
			gather_more(f, to, m, id);
		if (ap_unlikely(to >= gathered + GATHER))
			to = predict(f, gathered, to);
	}
	(void)predict(f, gathered, to);
	f->count[AP_MODEL_BTB_LOOKUP] += taken;
}

/* Before a log: so that no version comes twice. */
void ap_feed_renew(struct ap_feed *f)
{
	if (ap_likely(f->bp->version <= LAST_VERSION))
		return;
	memset(f->memos, 0, AP_FEED_MEMO_BYTES);
	f->bp->version = 1;
}

void ap_feed_forget_ways(struct ap_feed *f)
{
	ap_pipe_forget(&f->pipe);
	f->bp->version += AP_BP_CHANGES + 1; /* nobody can tell what has changed */
	f->nwarm = 0;
	memset(f->fwd.watched, 0, sizeof(f->fwd.watched));
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
