/* SPDX-License-Identifier: MIT */
/*
 * Sampling as the dispatcher meets it: a thread whose mark is near walks, block by block (walk.c); one that has passed a mark, or has
 * used up a word of its budget, comes here to be looked at.  It is on where there are lanes, or samplers without one.
 */
#include "engine/cache/unit.h"
#include "engine/client.h"
#include "engine/runtime/engine.h"
#include "engine/sample/lane.h"
#include "engine/signal/signal.h"
#include "engine/translate/sb.h"

static const struct ap_client *self;

void ap_sample_on(void)
{
	if (self)
		ap_client_on(self);
}

/* The session may have lanes now. */
static void kinds_changed(void)
{
	if (ap_proc.nlanes)
		ap_sample_on();
}

static void asked(struct ap_thread *t)
{
	(void)t;
	ap_sample_on();
}

/* --- out of code */

/*
 * Left linked code because a word of a lane is used up, with no mark near: shares the budget out anew and
 * goes on as if it had not left.  In the middle of a block more has been counted than t->regs say; those are made good
 * where the gate does not let it in.
 */
static void go_on(struct ap_thread *t)
{
	const u8 *stub = ap_unit_place(t->exit_id);
	bool middle;
	const u8 *to = ap_stub_way_on(stub, &middle);
	struct ap_exit *x = ap_stub_exit(stub);

	if (t->alone || t->walked || t->stop || t->nprompts || t->feed_near || t->feed_hits ||
	    ap_proc.data || !to)
		return;
	if (!middle && ap_lanes_passed(t)) {
		t->regs.rip = x->target;
		ap_behind_note_exit(t, x);
		ap_lanes_look(t);
	}
	if (!ap_lanes_share(t))
		return;
	ap_clients_after_exit(t, AP_LEFT_AFTER);
	t->entry = (u64)to;
	t->went_on = x;
	ap_gate_enter(t);
}

/* The gate was not passed, since a signal waits; x: by which the thread had left, if it was to go on there. */
static void abandon_entry(struct ap_thread *t, const struct ap_exit *x)
{
	if (x)
		t->regs.rip = x->kind == AP_EXIT_LANE ? ap_cache_leave_middle(t, x) : x->target;
	if (t->resume)
		ap_resume_undo(t);
	t->exit_kind = AP_EXIT_NONE;
}

static void back(struct ap_thread *t)
{
	const struct ap_exit *went_on = t->went_on;

	t->went_on = NULL;
	if (ap_unlikely(t->exit_kind == AP_EXIT_ABANDONED))
		abandon_entry(t, went_on);
	t->resume = NULL;
	if (t->nlanes && t->exit_kind == AP_EXIT_DIRECT)
		go_on(t);
}

/* By an exit that is no middle one, or an indirect branch. */
static void note_passed(struct ap_thread *t, const struct ap_way_out *way)
{
	struct ap_where w;

	if (ap_likely(!ap_lanes_passed(t)))
		return;
	if (way->x && way->x->kind != AP_EXIT_LANE)
		ap_behind_note_exit(t, way->x);
	else if (way->branch && ap_cache_locate((u64)way->branch, &w))
		ap_behind_note_branch(t, w.block, way->branch);
}

static void left_by(struct ap_thread *t, const struct ap_way_out *way)
{
	const u8 *branch = way->is_to_nowhere ? NULL : way->branch;

	note_passed(t, way);
	if (ap_likely(!t->walked))
		return;
	if (way->x || branch)
		ap_branches_note(t, t->walked, way->x, branch);
	else
		ap_branches_forget(t);
	t->walked = NULL;
}

static void left_middle(struct ap_thread *t, const struct ap_exit *x)
{
	if (ap_thread_lanes(t)->lane[0].behind)
		ap_behind_go_on(t, x);
}

static void after_exit(struct ap_thread *t, enum ap_left how)
{
	if (how == AP_LEFT_BEFORE)
		ap_behind_take_back(t);
}

static void counted_partly(struct ap_thread *t, const struct ap_where *w)
{
	if (ap_lanes_passed(t))
		ap_behind_note_middle(t, w);
}

/* --- in again */

/* Nothing that was to be entered is kept: where it was outdated, it may be gone with the next flush. */
static void arrive_here(struct ap_thread *t)
{
	t->resume = NULL;
	t->walked = NULL;
	if (ap_unlikely(ap_lanes_want(t)))
		ap_lanes_look(t);
}

static void left_block(struct ap_thread *t, bool is_alone)
{
	if (t->nlanes && !is_alone && ap_thread_lanes(t)->walk && !ap_lanes_near(t))
		ap_resume_prepare(t);
	if (t->nlanes)
		ap_thread_lanes(t)->walk = NULL;
	ap_stop_end(t);
}

/* Does the process have other lanes than the thread keeps? */
static enum ap_verdict before_entry(struct ap_thread *t, const struct ap_entry *e)
{
	(void)e;
	if (ap_likely(t->nlanes == ap_proc.nlanes &&
		      (!t->nlanes || ap_thread_lanes(t)->gen == ap_proc.lane_gen)))
		return AP_ENTRY_GOES_ON;
	ap_lock_drop(&ap_proc.lock);
	ap_lanes_begin(t);
	return AP_ENTRY_RETRY;
}

static struct ap_block *walk_next(struct ap_thread *t)
{
	struct ap_block *b = ap_walk_get(t, t->regs.rip);

	if (ap_branches_are_noted()) {
		t->walked = b;
		ap_clients_follow(t, false);
	}
	if (ap_thread_lanes(t)->point.has_mem)
		ap_clients_follow(t, true);
	ap_thread_lanes(t)->walk = b;
	t->feed_last_pc = b ? b->last_pc : 0;
	return b;
}

/*
 * Out of the middle of a block: what was taken off again may have made the budget good for the same exit.  Linked code goes on
 * mostly at a block's beginning.
 */
static enum ap_verdict choose_block(struct ap_thread *t, const struct ap_entry *e,
				    struct ap_block **b)
{
	bool is_near = ap_lanes_near(t) || t->feed_near;

	if ((t->nlanes || t->feed) && !is_near) {
		ap_branches_forget(t);
		t->feed_follows = false;
	}
	if (is_near || (t->nlanes && e->by_middle && !e->was_plain)) {
		*b = walk_next(t);
		return AP_ENTRY_USE;
	}
	if (t->nlanes && !ap_lanes_spread(t)) {
		ap_lock_drop(&ap_proc.lock);
		return AP_ENTRY_RETRY;
	}
	if (!t->nlanes || e->by_ibl)
		return AP_ENTRY_GOES_ON;
	*b = ap_resume_find(t, t->regs.rip);
	return *b ? AP_ENTRY_USE : AP_ENTRY_GOES_ON;
}

static void enter_block(struct ap_thread *t, struct ap_block *b)
{
	if (t->nlanes && b == t->alone && ap_branches_are_noted())
		t->walked = b;
	if (ap_unlikely(t->resume))
		ap_resume_enter(t);
}

/* By what ran before it a mark may have been reached. */
static void arrive_alone(struct ap_thread *t)
{
	if (ap_lanes_passed(t))
		ap_lanes_look(t);
}

static bool before_entry_alone(struct ap_thread *t)
{
	if (t->nlanes)
		ap_walk_alone(t, t->regs.rip);
	return true;
}

/*
 * What the kernel tells of is noted with the pc at which it was; the sample is taken where the registers are
 * the program's, which mostly is right here; else the thread steps there.  Of the engine's own page faults nobody wants to know.
 */
static enum ap_signal_verdict on_prompt(struct ap_thread *t, const struct ap_signal_at *at)
{
	struct ap_where w;
	bool is_code;
	u32 kind;

	if (ap_likely(!ap_prompt_is(at->sig, at->info)))
		return AP_SIGNAL_OTHERS;
	kind = (u32)ap_sig_perf_data(at->info) - (u32)AP_PROMPT_DATA(0);
	is_code = ap_cache_locate(at->pc, &w);
	if (!is_code && kind != AP_PROMPT_CLOCK)
		return AP_SIGNAL_DONE;
	ap_prompt_note(t, kind, is_code && !w.in_stub ? w.app_pc : 0, at->info->addr);
	return AP_SIGNAL_COME_OUT;
}

static void stores_into_code(struct ap_thread *t, const struct ap_where *w)
{
	if (t->walked)
		ap_branches_note_before(t, w);
}

static void call_counted(struct ap_thread *t, u64 pc)
{
	if (ap_unlikely(ap_lanes_want(t)))
		ap_lanes_look_at(t, pc);
}

static void reserve_blocks(u32 n)
{
	if (n && ap_proc.nlanes)
		ap_walk_reserve();
}

AP_CLIENT(ap_sample_client)
{
	self = c;
	c->kinds_changed = kinds_changed;
	c->limit_insns = ap_lane_shorten;
	c->code_goes = ap_walk_forget;
	c->call_counted = call_counted;
	c->reserve = reserve_blocks;
	c->asked = asked;
	c->back = back;
	c->left_by = left_by;
	c->owns_exit = ap_stop_is;
	c->left_middle = left_middle;
	c->counted_partly = counted_partly;
	c->after_exit = after_exit;
	c->arrive = arrive_here;
	c->left_block = left_block;
	c->before_entry = before_entry;
	c->choose_block = choose_block;
	c->enter = enter_block;
	c->arrive_alone = arrive_alone;
	c->before_entry_alone = before_entry_alone;
	c->on_signal = on_prompt;
	c->stores_into_code = stores_into_code;
	kinds_changed();
}
