/* SPDX-License-Identifier: MIT */
/*
 * The access log as the dispatcher meets it: a thread has a log before it enters code that writes to one, and what is in it is
 * read where somebody wants to know.
 */
#include "engine/access/feed.h"
#include "engine/access/feed_code.h"
#include "engine/access/feed_helper.h"
#include "engine/client.h"
#include "engine/runtime/engine.h"
#include "engine/signal/signal.h"
#include "engine/transparency/call.h"

static const struct ap_client *self;

/* What code counts has changed, or is about to. */
static void kinds_changed(void)
{
	if (ap_feed_is_on())
		ap_client_on(self);
}

static void out_of_middle(struct ap_thread *t, u64 pc)
{
	ap_feed_begin_calls(t, pc);
}

static void settle(struct ap_thread *t)
{
	ap_feed_look(t);
}

static void catch_up(struct ap_thread *t)
{
	if (ap_unlikely(t->feed_near || t->feed_follows))
		ap_feed_look_here(t);
}

static bool must_begin(struct ap_thread *t, bool stopped)
{
	if (ap_likely(!ap_feed_is_on() && !t->waits.is_on))
		return false;
	if (!ap_feed_lacks(t) || (!t->feed && ap_feed_gap_waits(t, stopped)))
		return false;
	return ap_feed_is_on();
}

static enum ap_verdict drop(enum ap_verdict verdict)
{
	ap_lock_drop(&ap_proc.lock);
	return verdict;
}

static enum ap_verdict before_entry(struct ap_thread *t, const struct ap_entry *e)
{
	/* once more from the beginning, so that samplers are armed before anything is fed */
	if (must_begin(t, e->by_middle))
		return ap_feed_begin(t) ? drop(AP_ENTRY_RETRY) : AP_ENTRY_NO_MEMORY;
	if (ap_unlikely(t->feed) && ap_feed_gap_look(t, e->by_middle))
		return drop(AP_ENTRY_RETRY); /* which takes the samples, here */
	if (ap_unlikely(ap_feed_is_watched()))
		ap_feed_make_room(t);
	if (ap_feed_must_step(t)) {
		ap_feed_read(t);
		return drop(AP_ENTRY_STEP);
	}
	if (ap_unlikely(t->feed))
		ap_feed_enter_alone(t, t->feed_near);
	return AP_ENTRY_GOES_ON;
}

static bool before_entry_alone(struct ap_thread *t)
{
	return !must_begin(t, false) || ap_feed_begin(t);
}

static void follow(struct ap_thread *t, bool is_data)
{
	if (is_data)
		ap_feed_follow_data(t);
	else
		ap_feed_follow(t);
}

/* The log is full: the thread goes on in it. */
static enum ap_signal_verdict on_full_log(struct ap_thread *t, const struct ap_signal_at *at)
{
	if (ap_likely(!t->feed) || at->sig != AP_SIGSEGV || !at->is_fault ||
	    !ap_cache_contains(at->pc) || !ap_feed_fault(t, at->info->addr, &at->uc->mc))
		return AP_SIGNAL_OTHERS;
	return ap_feed_wants_out(t) ? AP_SIGNAL_COME_OUT : AP_SIGNAL_DONE;
}

static bool is_held_up(struct ap_thread *t, bool is_in_code)
{
	if (!ap_feed_must_step(t))
		return false;
	if (is_in_code)
		ap_feed_open(t);
	return true;
}

static void reserve_logs(u32 n)
{
	if (ap_feed_is_on())
		ap_feed_reserve(n);
}

static bool hold_tasks(void)
{
	if (ap_likely(!ap_helpers_any))
		return false;
	ap_lock_take(&ap_proc.lock);
	ap_helpers_hold();
	ap_lock_drop(&ap_proc.lock);
	return true;
}

static void let_tasks(void)
{
	ap_lock_take(&ap_proc.lock);
	ap_helpers_let();
	ap_lock_drop(&ap_proc.lock);
}

/* Also before there is one: a wait that begins now may last until there is. */
static void before_call(const struct ap_call *c)
{
	ap_helpers_before_call(c->nr, c->a[0], c->a[2], c->a[3]);
}

static void after_call(struct ap_thread *t)
{
	ap_feed_look_at_names(t);
	if (ap_feed_must_step(t))
		ap_sig_look_for_segv(t);
}

AP_CLIENT(ap_access_client)
{
	self = c;
	c->kinds_changed = kinds_changed;
	c->out_of_middle = out_of_middle;
	c->settle = settle;
	c->catch_up = catch_up;
	c->before_entry = before_entry;
	c->before_entry_alone = before_entry_alone;
	c->follow = follow;
	c->on_signal = on_full_log;
	c->owns_code = ap_feed_code_contains;
	c->is_held_up = is_held_up;
	c->release_code = ap_feed_forget;
	c->settle_last = ap_feed_look_last;
	c->read_last = ap_feed_read_last;
	c->thread_ends = ap_feed_end;
	c->reserve = reserve_logs;
	c->before_fork = ap_feed_before_fork;
	c->in_child = ap_feed_fork_child;
	c->move_shared = ap_feed_names_move;
	c->renew_all = ap_feed_renew_all;
	c->each_shared = ap_feed_names_each;
	c->end_tasks = ap_helpers_end;
	c->hold_tasks = hold_tasks;
	c->let_tasks = let_tasks;
	c->make_way = ap_helpers_make_way;
	c->before_call = before_call;
	c->after_call = after_call;
	c->enter_handler = ap_feed_enter_handler;
	c->owns_word = ap_feed_is_log;
	kinds_changed();
}
