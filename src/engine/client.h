/* SPDX-License-Identifier: MIT */
/*
 * Clients: features that hook into the engine (docs/design/engine-clients.md).  The engine's middle names none of them: it calls
 * the hooks of this table, of all that are on, in the order of the list in clients.c.
 *
 * A client fills in its hooks at its registration, once in each image, and may turn itself on then or later.  It stays on.  Hooks
 * that are marked "always" are called whether it is on or not: all of them are on slow paths.  Linked code calls none.
 *
 * What a hook may do:
 *	lock	The process lock is held.  The hook does not drop it, and waits for nobody.
 *	free	It is not held.  The hook may take it.
 *	async	In the signal handler, or where one may come at any point: no lock, no allocation, no system call that waits.
 * Where it is not "async" a hook runs on the thread's engine stack; a signal that comes meanwhile is kept until the dispatcher
 * delivers it.  t->regs are the program's registers.
 */
#ifndef AP_ENGINE_CLIENT_H
#define AP_ENGINE_CLIENT_H

#include "base/types.h"
#include "engine/cache/cache.h"
#include "engine/runtime/proc.h"

struct ap_call;
struct ap_siginfo;
struct ap_ucontext;
struct ap_where;
struct ap_emit;
struct ap_sb;
struct ap_sb_insn;
struct ap_thread;
struct ap_unit;

/* How a thread has come out of translated code. */
enum ap_left {
	AP_LEFT_AFTER,	/* the instruction before t->regs.rip has been executed */
	AP_LEFT_BEFORE, /* the one at t->regs.rip has not: it faults */
	AP_LEFT_EITHER, /* only t->regs.rip tells, as for a signal */
};

enum ap_visit {
	AP_VISIT_RUN,	/* the instruction is executed next, alone */
	AP_VISIT_RETRY, /* the code is read again: the instruction may be another one now */
};

/* By what a thread has left its block; both NULL: in its middle, or by a way that says nothing. */
struct ap_way_out {
	const struct ap_exit *x;
	const u8 *branch;   /* an indirect one, in the block's code */
	bool is_to_nowhere; /* it leads to what is no address */
};

/* Where the thread is to go on. */
struct ap_entry {
	bool by_ibl;	/* an indirect branch led there */
	bool by_middle; /* AP_EXIT_LANE did */
	bool was_plain; /* ap_thread.plain, before the hooks */
};

enum ap_verdict {
	AP_ENTRY_GOES_ON,
	AP_ENTRY_RETRY,	    /* the hook has dropped the lock: all is looked at once more */
	AP_ENTRY_STEP,	    /* it has dropped the lock: one instruction is executed alone */
	AP_ENTRY_NO_MEMORY, /* the lock is held still */
	AP_ENTRY_USE,	    /* choose_block() has found one */
};

/* What the kernel has called the handler for. */
struct ap_signal_at {
	u32 sig;
	const struct ap_siginfo *info;
	struct ap_ucontext *uc;
	u64 pc;
	bool is_fault; /* of the instruction at pc, as far as the signal can tell */
};

enum ap_signal_verdict {
	AP_SIGNAL_OTHERS,   /* it is not this client's */
	AP_SIGNAL_DONE,	    /* the thread goes on where it was */
	AP_SIGNAL_COME_OUT, /* and comes to the dispatcher soon, if it is in translated code */
};

struct ap_client {
	/* lock, always.  The session wants other things than this process has: take them over, and say so in the segment. */
	void (*take_over)(void);
	/* free, always.  CPUID is about to be forbidden: ask for all that is wanted of the CPU. */
	void (*ask_cpu)(void);
	/* free, always.  A call by which the kernel may have been asked to change the program's text was made. */
	void (*text_changed)(const struct ap_call *c, s64 ret);

	/* lock.  Is the instruction executed alone, by way of visit()?  Its kind of exit, or AP_SPECIAL_NONE.  May mark *in. */
	enum ap_special (*plan_insn)(struct ap_sb_insn *in);
	/* lock, always.  There is an int3 at pc: true, visit() is to find out whose it is. */
	bool (*is_unknown_int3)(u64 pc);
	/* lock, always.  The first byte at pc, an int3, is to be read as what it stands for. */
	void (*read_int3)(u64 pc, u8 *code);
	/* lock.  So many instructions of what was read may be in one block, as far as the client goes. */
	u32 (*limit_insns)(const struct ap_sb *sb);
	/* lock.  A block is written: before its first instruction; before each one that was marked; its ways out, behind all else. */
	void (*emit_begin)(void);
	void (*emit_before)(struct ap_emit *e, const struct ap_sb_insn *in);
	void (*emit_end)(struct ap_emit *e, const struct ap_unit *u);
	/* lock.  Source bytes in [start, end) may be others. */
	void (*drop)(u64 start, u64 end);
	/* lock.  Code that can be executed goes: blocks are dropped, or all of them are. */
	void (*code_goes)(void);
	/* lock, always.  Nobody is in code that was retired: its memory is about to be used again. */
	void (*release_code)(void);
	/* lock.  ap_low_maps() is elsewhere, and empty. */
	void (*low_maps_moved)(void);

	/* lock, always.  ap_proc.kinds is another set, for all code that is translated from here on. */
	void (*kinds_changed)(void);
	/*
	 * lock.  The thread walks: what the models say of each branch is wanted from now on; is_data: and of the reference that the next
	 * instruction makes.
	 */
	void (*follow)(struct ap_thread *t, bool is_data);
	/* free, always.  The supervisor has changed what it wants of this thread (ap_slot.sampler_gen). */
	void (*asked)(struct ap_thread *t);

	/*
	 * A thread comes out of translated code, and goes on.  Until after_exit() it counts as inside: the blocks that it has left are
	 * there, the lock is not held and may not be taken.
	 *
	 * t->exit_kind says how it came; AP_EXIT_ABANDONED: it was not entered, which the hook may make good.  May enter code again at
	 * once, and not return then.
	 */
	void (*back)(struct ap_thread *t);
	/* The way out, before t->regs.rip says where a direct one leads. */
	void (*left_by)(struct ap_thread *t, const struct ap_way_out *way);
	/* Is an exit in the middle of a block the client's own, so that the thread goes on as by any other? */
	bool (*owns_exit)(const struct ap_thread *t, const struct ap_exit *x);
	/* By one in the middle that is nobody's; may enter it again, as back(). */
	void (*left_middle)(struct ap_thread *t, const struct ap_exit *x);
	/* free.  It is out of the middle of the block that begins at pc. */
	void (*out_of_middle)(struct ap_thread *t, u64 pc);
	/* free.  Somebody is about to read the thread's counts: all that it has done is to be in them. */
	void (*settle)(struct ap_thread *t);
	/* free.  The thread goes on at t->regs.rip: what it has done is to be known; then what is due there is done.  A signal may be left pending. */
	void (*catch_up)(struct ap_thread *t);
	void (*arrive)(struct ap_thread *t);
	/* lock.  What was made for the last run alone goes.  is_alone: one instruction is to be executed alone next. */
	void (*left_block)(struct ap_thread *t, bool is_alone);
	/* lock.  May it go on in linked code?  Then the block to enter: AP_ENTRY_USE with *b, or AP_ENTRY_GOES_ON for that of t->regs.rip. */
	enum ap_verdict (*before_entry)(struct ap_thread *t, const struct ap_entry *e);
	enum ap_verdict (*choose_block)(struct ap_thread *t, const struct ap_entry *e,
					struct ap_block **b);
	/* lock.  Now it enters b, at t->entry. */
	void (*enter)(struct ap_thread *t, struct ap_block *b);
	/* One instruction is about to be executed alone.  free; then lock, false: no memory. */
	void (*arrive_alone)(struct ap_thread *t);
	bool (*before_entry_alone)(struct ap_thread *t);

	/* free.  The thread stands at an instruction that plan_insn() said this kind of exit for.  May not return (AP_TRIAL_PROBED). */
	enum ap_visit (*visit)(struct ap_thread *t, u64 pc, enum ap_special special);
	/* free.  The instruction at pc is about to run, alone or by the dispatcher. */
	void (*before_alone)(struct ap_thread *t, u64 pc);
	/* free.  The thread is out of translated code. */
	void (*after_exit)(struct ap_thread *t, enum ap_left how);
	/* free.  What was to run next does not: a signal goes first, or the code is older than what the session wants. */
	void (*not_run)(struct ap_thread *t);
	/* free, always.  May code at pc be executed and not read, so that no page of it is worth bringing in? */
	bool (*is_unreadable)(u64 pc);
	/* free, always.  Was it what cannot be read that led from `from` to `to`?  Then the thread goes on there. */
	bool (*led_to)(u64 from, u64 to);
	/* async, always.  The CPU has executed what AP_TRIAL_PROBED was for, as far as t->regs say. */
	void (*trial_done)(struct ap_thread *t);

	/*
	 * async, all of these: in the handler, with all signals blocked.
	 *
	 * always.  A signal that may be the client's own: the kernel may tell of an event before the thread has looked at its samplers.
	 */
	enum ap_signal_verdict (*on_signal)(struct ap_thread *t, const struct ap_signal_at *at);
	/* A block was left at *w, and what was executed of it is counted.  Also in the dispatcher. */
	void (*counted_partly)(struct ap_thread *t, const struct ap_where *w);
	/* May translated code of this thread store a word there?  It is memory of the client's. */
	bool (*owns_word)(const struct ap_thread *t, u64 at);
	/* Is that code of the client's, beside the cache and the engine's image? */
	bool (*owns_code)(u64 pc);
	/* The instruction at *w, a store into code, is executed alone, and not in the block that it was met in. */
	void (*stores_into_code)(struct ap_thread *t, const struct ap_where *w);
	/* A signal waits in the kernel, blocked.  Must the thread come out?  is_in_code: it is in the cache. */
	bool (*is_held_up)(struct ap_thread *t, bool is_in_code);

	/* free.  A call that changes mappings was made. */
	void (*mapped)(const struct ap_call *c, s64 ret);
	/* free, always; while ap_tracepoints_are_on().  A tracepoint is passed n times; below 0: taken back. */
	void (*tracepoint)(struct ap_thread *t, enum ap_trace_id id, s64 n);
	/* Likewise: a system call begins; has been made, also where it will be made again, with what it returns. */
	void (*call_begins)(struct ap_thread *t, u64 nr);
	void (*call_ends)(struct ap_thread *t, u64 nr, u64 ret);
	/* rt_sigreturn ends, by whose end nobody knows its number. */
	void (*return_ends)(struct ap_thread *t, u64 ret);
	/* free, always.  The call that has begun is not made after all. */
	void (*call_untouched)(struct ap_thread *t);
	/*
	 * Threads and processes, all of these always.
	 *
	 * settle_last: free; settle(), and nothing more will come: the thread ends, or its image.  read_last: lock; likewise, of a thread that
	 * is not in code.  thread_ends: lock; what the client keeps for it goes.
	 */
	void (*settle_last)(struct ap_thread *t);
	void (*read_last)(struct ap_thread *t);
	void (*thread_ends)(struct ap_thread *t);
	/* lock.  A filter of the program's comes, behind which there may be no more memory: for all threads, and n to come. */
	void (*reserve)(u32 n);
	/* lock.  In the parent; random: where the child's numbers begin.  In the child, where it is alone. */
	void (*before_fork)(struct ap_thread *t, u64 random);
	void (*in_child)(struct ap_thread *t);
	/* lock.  The process has another party: false, its file cannot be mapped; then its segment is another one, for all threads. */
	bool (*move_shared)(void);
	void (*renew_all)(void);
	/* lock.  All that the client has mapped of the party's file. */
	void (*each_shared)(void (*fn)(void *at, u64 size));
	/*
	 * Tasks of the client's own beside the program's.  end_tasks: lock; all of them.  hold_tasks: free; they end, and there are none
	 * until let_tasks(), which is called where it said true.  make_way: free; the program may have no more tasks: true, some are gone.
	 * before_call: free; of a call that may meet them.
	 */
	void (*end_tasks)(void);
	bool (*hold_tasks)(void);
	void (*let_tasks)(void);
	bool (*make_way)(void);
	void (*before_call)(const struct ap_call *c);

	/* free.  The instruction at pc is counted, and its system call has not begun. */
	void (*call_counted)(struct ap_thread *t, u64 pc);
	/* free.  The system call is over.  A handler is about to be entered, at t->regs.rip. */
	void (*after_call)(struct ap_thread *t);
	void (*enter_handler)(struct ap_thread *t);
	/* free.  The child goes on with its parent's stack. */
	void (*inherit_stack)(struct ap_thread *child, const struct ap_thread *parent);
};

/* The registration that the list in clients.c names; *c is zeroed. */
#define AP_CLIENT(name)                                                                            \
	void name(struct ap_client *c);                                                            \
	void name(struct ap_client *c)

/* Does anybody want to know of tracepoints? */
static inline bool ap_tracepoints_are_on(void)
{
	return ap_unlikely(__atomic_load_n(&ap_proc.session->trace_on, __ATOMIC_RELAXED));
}

/* clients.c: all of them, before anything is translated.  The session is there. */
void ap_clients_init(void);
/* By a client's list entry, once: where its hooks go. */
struct ap_client *ap_client_add(void);
/* From now on its hooks are called; lock held, or at its registration. */
void ap_client_on(const struct ap_client *c);

/* client.c: the hooks of all. */
void ap_clients_take_over(void);
void ap_clients_ask_cpu(void);
void ap_clients_text_changed(const struct ap_call *c, s64 ret);
enum ap_special ap_clients_plan_insn(struct ap_sb_insn *in);
bool ap_clients_is_unknown_int3(u64 pc);
void ap_clients_read_int3(u64 pc, u8 *code);
bool ap_clients_change_code(void);		    /* some of them may */
u32 ap_clients_limit_insns(const struct ap_sb *sb); /* all that it has where nobody minds */
void ap_clients_emit_begin(void);
void ap_clients_emit_before(struct ap_emit *e, const struct ap_sb_insn *in);
void ap_clients_emit_end(struct ap_emit *e, const struct ap_unit *u);
void ap_clients_drop(u64 start, u64 end);
void ap_clients_code_goes(void);
void ap_clients_release_code(void);
void ap_clients_low_maps_moved(void);
void ap_clients_kinds_changed(void);
void ap_clients_follow(struct ap_thread *t, bool is_data);
void ap_clients_asked(struct ap_thread *t);
void ap_clients_back(struct ap_thread *t);
void ap_clients_left_by(struct ap_thread *t, const struct ap_way_out *way);
bool ap_clients_own_exit(const struct ap_thread *t, const struct ap_exit *x);
void ap_clients_left_middle(struct ap_thread *t, const struct ap_exit *x);
void ap_clients_out_of_middle(struct ap_thread *t, u64 pc);
void ap_clients_settle(struct ap_thread *t);
void ap_clients_arrive(struct ap_thread *t);
void ap_clients_left_block(struct ap_thread *t, bool is_alone);
enum ap_verdict ap_clients_before_entry(struct ap_thread *t, const struct ap_entry *e);
enum ap_verdict ap_clients_choose_block(struct ap_thread *t, const struct ap_entry *e,
					struct ap_block **b);
void ap_clients_enter(struct ap_thread *t, struct ap_block *b);
void ap_clients_arrive_alone(struct ap_thread *t);
bool ap_clients_before_entry_alone(struct ap_thread *t);
enum ap_visit ap_clients_visit(struct ap_thread *t, u64 pc, enum ap_special special);
void ap_clients_before_alone(struct ap_thread *t, u64 pc);
void ap_clients_after_exit(struct ap_thread *t, enum ap_left how);
void ap_clients_not_run(struct ap_thread *t);
bool ap_clients_is_unreadable(u64 pc);
bool ap_clients_led_to(u64 from, u64 to);
void ap_clients_trial_done(struct ap_thread *t);
enum ap_signal_verdict ap_clients_on_signal(struct ap_thread *t, const struct ap_signal_at *at);
void ap_clients_counted_partly(struct ap_thread *t, const struct ap_where *w);
bool ap_clients_own_word(const struct ap_thread *t, u64 at);
bool ap_clients_own_code(u64 pc);
void ap_clients_stores_into_code(struct ap_thread *t, const struct ap_where *w);
bool ap_clients_are_held_up(struct ap_thread *t, bool is_in_code);
void ap_clients_mapped(const struct ap_call *c, s64 ret);
void ap_clients_tracepoint(struct ap_thread *t, enum ap_trace_id id, s64 n);
void ap_clients_call_begins(struct ap_thread *t, u64 nr);
void ap_clients_call_ends(struct ap_thread *t, u64 nr, u64 ret);
void ap_clients_return_ends(struct ap_thread *t, u64 ret);
void ap_clients_call_untouched(struct ap_thread *t);
void ap_clients_settle_last(struct ap_thread *t);
void ap_clients_read_last(struct ap_thread *t);
void ap_clients_thread_ends(struct ap_thread *t);
void ap_clients_reserve(u32 n);
void ap_clients_before_fork(struct ap_thread *t, u64 random);
void ap_clients_in_child(struct ap_thread *t);
AP_MUST_CHECK bool ap_clients_move_shared(void);
void ap_clients_renew_all(void);
void ap_clients_each_shared(void (*fn)(void *at, u64 size));
void ap_clients_end_tasks(void);
AP_MUST_CHECK bool ap_clients_hold_tasks(void);
void ap_clients_let_tasks(void);
AP_MUST_CHECK bool ap_clients_make_way(void);
void ap_clients_before_call(const struct ap_call *c);
void ap_clients_call_counted(struct ap_thread *t, u64 pc);
void ap_clients_after_call(struct ap_thread *t);
void ap_clients_enter_handler(struct ap_thread *t);
void ap_clients_inherit_stack(struct ap_thread *child, const struct ap_thread *parent);

#endif
