/* SPDX-License-Identifier: MIT */
/*
 * Feeding the models (docs/design/feed.md): feed_plan.c decides at translation what a record has,
 * feed_emit.c writes the code that logs it, feed.c owns each thread's log and models.
 */
#ifndef AP_ENGINE_FEED_H
#define AP_ENGINE_FEED_H

#include "engine/emit/emit.h"
#include "engine/runtime/engine.h"
#include "engine/signal/signal.h"
#include "engine/translate/sb.h"
#include "model/calls.h"
#include "model/feed.h"

/* Registers whose values belong into a record and are not there yet. */
struct ap_feed_group {
	u32 n;
	u8 reg[16], word[16];
};

/* A way out in the making: all but its code. */
struct ap_feed_exit {
	struct ap_feed_group pending;
	struct ap_feed_way way;
	u32 id; /* 0: no description, so no words either */
};

/*
 * feed_plan.c, for one block at a time; lock held.  For each instruction: _before, whose group, where it
 * has any, is stored before it; at a side exit _side; _after.  A piece ends with _close: whatever comes next,
 * if anything, is another piece of the block, at pc.
 */
void ap_feed_plan_begin(u64 pc);
bool ap_feed_plan_before(const struct ap_sb_insn *in, struct ap_feed_group *store);
/* Is there no room for another instruction in this piece? */
bool ap_feed_plan_is_full(void);
void ap_feed_plan_side(const struct ap_sb_insn *in);
void ap_feed_plan_after(const struct ap_sb_insn *in);
const struct ap_feed_exit *ap_feed_plan_close(u8 last, const struct ap_sb_insn *in, u64 next);
/* The side exits of the block, in order; complete when their piece is closed. */
const struct ap_feed_exit *ap_feed_plan_exit(u32 side);
/* What a transfer at the end is to the models. */
u8 ap_feed_last(const struct ap_sb_insn *in);

/* feed_emit.c: all registers and flags stay as they are. */
void ap_feed_emit_store(struct ap_emit *e, const struct ap_feed_group *g);
void ap_feed_emit_exit(struct ap_emit *e, const struct ap_feed_exit *x);

/* feed.c: memory for a way, and the number of it, or for what it points to; NULL: none.  Lock held. */
void *ap_feed_alloc(u64 size, u32 *id);
void *ap_feed_room(u64 size);

/* The machine that is modelled. */
const struct ap_machine *ap_feed_machine(void);

/* Of all threads, when code goes: descriptions are freed.  Lock held. */
void ap_feed_forget(void);
/* Code is written for ways that were read often; by the thread itself, lock held. */
void ap_feed_write_code(struct ap_thread *t);
/* What is in the log is counted; by the thread itself or where it is not in code, lock held. */
void ap_feed_read(struct ap_thread *t);
/* The same, and nothing more will come: the thread ends, or its image. */
void ap_feed_read_last(struct ap_thread *t);
/* As ap_feed_read(), where there may be no room for what a block logs. */
void ap_feed_make_room(struct ap_thread *t);
/* Async-safe.  True: the fault was the log's, and the thread goes on. */
struct ap_sigcontext;
bool ap_feed_fault(struct ap_thread *t, u64 addr, struct ap_sigcontext *mc);
/* May the thread store a word there?  It is in its log, in front of the page that nobody may write to. */
bool ap_feed_is_log(const struct ap_thread *t, u64 at);
/*
 * Samples (feed_mark.h).  wants_out: the thread shall come to the dispatcher; it enters a block that leads back there,
 * or not; take_hits writes the samples that are due, not in code, lock not held.
 */
bool ap_feed_wants_out(struct ap_thread *t);
void ap_feed_enter_alone(struct ap_thread *t, bool alone);
void ap_feed_take_hits(struct ap_thread *t);
/*
 * feed_gap.c, lock held: shall the thread go on in code that logs, or in code that does not?  stopped: it left the latter in the
 * middle of a block.  True: samples are due where it stands.
 */
bool ap_feed_gap_look(struct ap_thread *t, bool stopped);
/* What lies between touches pages of the engine's for the first time, which are none of the program's. */
u64 ap_feed_own_begin(const struct ap_thread *t);
void ap_feed_own_end(struct ap_thread *t, u64 faults);
/* It may be about to read its own counts. */
void ap_feed_gap_guess(struct ap_thread *t);
/* Of a thread without models: true while it needs none. */
bool ap_feed_gap_waits(struct ap_thread *t, bool stopped);
/*
 * Branch stacks.  follow, lock held: from now on what the predictors say of each branch is kept, until feed_follows is
 * taken back; look_here: the log is read up to where the thread goes on, not in code, lock not held; tell: what was said
 * of the last branches, n of them, the last one first.  Gives how many there are.
 */
void ap_feed_follow(struct ap_thread *t);
/* The same of references: what became of that of the instruction at pc, which ran alone; false: nobody knows. */
void ap_feed_follow_data(struct ap_thread *t);
struct ap_service_point;
bool ap_feed_tell_data(struct ap_thread *t, struct ap_service_point *p);
void ap_feed_look_here(struct ap_thread *t);
struct ap_hook_branch;
u32 ap_feed_tell(struct ap_thread *t, struct ap_hook_branch *b, u32 n);
/*
 * The calls that have not returned, lock held; and that a handler is about to be entered, lock not held.
 */
u32 ap_feed_calls(struct ap_thread *t, struct ap_open_call *to, u32 max);
void ap_feed_enter_handler(struct ap_thread *t);
/* A block was left in its middle, so the log has no record that says where it begins; lock not held. */
void ap_feed_begin_calls(struct ap_thread *t, u64 pc);
/*
 * While a SIGSEGV that was sent waits in the kernel, which blocks it, no fault may come: the kernel would end
 * the process.  So the thread goes on by single instructions and its log is read after each; the log has room for
 * what is left until it is out of code.  Async-safe.
 */
void ap_feed_open(struct ap_thread *t);
static inline bool ap_feed_must_step(const struct ap_thread *t)
{
	return ap_unlikely(t->resent & AP_SIG_BIT(AP_SIGSEGV)) && t->feed;
}
/* Lock held.  Before the thread enters code that logs; false: no memory. */
bool ap_feed_lacks(const struct ap_thread *t);
AP_MUST_CHECK bool ap_feed_begin(struct ap_thread *t);
/* The same for all threads, and n to come, as far as there is memory: soon none can be had. */
void ap_feed_reserve(u32 n);
void ap_feed_end(struct ap_thread *t);
/* In the parent, lock held; random: where the child's numbers begin. */
void ap_feed_before_fork(struct ap_thread *t, u64 random);
void ap_feed_fork_child(struct ap_thread *t);
/* The process' segment is another one from now on; what is in logs still is not read. */
void ap_feed_renew_all(void);
/* feed_names.c: what is shared with other processes may be something else since the last time; lock held. */
void ap_feed_names_make(void);
bool ap_feed_names_are_old(void);
void ap_feed_names_each(void (*fn)(void *at, u64 size));
/* The table behind the names is another party's: with nothing in it yet. */
AP_MUST_CHECK bool ap_feed_names_move(void);

/* The same, not in code, lock not held. */
static inline void ap_feed_look(struct ap_thread *t)
{
	if (ap_unlikely(t->waits.is_on))
		ap_feed_gap_guess(t);
	if (ap_likely(!t->feed))
		return;
	ap_lock_take(&ap_proc.lock);
	ap_feed_read(t);
	ap_feed_write_code(t);
	ap_lock_drop(&ap_proc.lock);
}

static inline void ap_feed_look_last(struct ap_thread *t)
{
	if (ap_likely(!t->feed && !t->waits.is_on))
		return;
	ap_lock_take(&ap_proc.lock);
	ap_feed_read_last(t);
	ap_lock_drop(&ap_proc.lock);
}

/* Behind a call, not in code, lock not held. */
static inline void ap_feed_look_at_names(struct ap_thread *t)
{
	if (ap_likely(!t->feed || !ap_feed_names_are_old()))
		return;
	ap_lock_take(&ap_proc.lock);
	ap_feed_names_make();
	ap_lock_drop(&ap_proc.lock);
}

static inline bool ap_feed_has_data(void)
{
	return ap_proc.kinds & AP_KINDS_MODEL & ~AP_KINDS_BRANCHES;
}

static inline bool ap_feed_has_cycles(void)
{
	return ap_proc.kinds & AP_KINDS_CYCLES;
}

static inline bool ap_feed_has_levels(void)
{
	return ap_proc.kinds & AP_KINDS_LEVELS;
}

static inline bool ap_feed_has_branches(void)
{
	return ap_proc.kinds & AP_KINDS_BRANCHES;
}

#endif
