/* SPDX-License-Identifier: MIT */
/*
 * Lanes: the thread's half of sampling.  docs/design/sampling.md.
 *
 * raw: what the thread has counted of the lane's kinds, in its slot.  mark: the raw count at which the
 * service wants to be called.  budget (in the slot, taken down by translated code): mark - raw - margin,
 * where margin is more than a block counts.  So raw is zero - budget, and a budget below 0 says that the
 * mark is near: then the thread walks (walk.c).  It is all in its first word, or spread over all of them
 * (lane_words.c).  Where samples may be taken behind their instruction (behind.c) the margin is one count: a
 * budget below 0 says that the mark has been reached in the block that was left.
 */
#ifndef AP_ENGINE_LANE_H
#define AP_ENGINE_LANE_H

#include "engine/count/lane.h"
#include "engine/runtime/engine.h"
#include "service/hooks.h"
#include "service/service.h"

struct ap_lane {
	u64 kinds;
	u64 zero;
	u64 mark; /* of the service, while armed */
	u64 soon; /* of a clock's sample, while is_soon */
	u64 turn; /* without samples: the thread comes to the dispatcher at it or behind it, while has_turn */
	u32 margin;
	bool armed, is_soon, has_turn, notes;
	bool may_be_behind, behind; /* by its samplers; and by all that counts here */
	bool spread;
	u64 given[AP_LANE_WORDS]; /* when it was spread */
	u64 used[AP_LANE_WORDS];  /* of late */
};

/* prompt.c: where the thread was when the kernel told it of an event. */
struct ap_prompt {
	u64 pc;	  /* of the program; 0: in the engine */
	u64 addr; /* of a page fault */
	u32 kind; /* enum ap_prompt_kind */
};
#define AP_PROMPTS 16

#define AP_LANE_HEADS 6

/* behind.c: the instructions of the block that was left, in order, when lane 0 had counted .raw. */
struct ap_passed {
	u64 raw;
	u64 bp, sp, next; /* registers behind it, and where it led */
	u32 frame;	  /* of the block */
	u32 n;
	u64 pc[AP_BLOCK_INSNS + 1];
};

struct ap_lanes {
	struct ap_lane lane[AP_LANE_MAX];
	struct ap_service_point point; /* the instruction that a walked block ends with */
	struct ap_service_trap trap;   /* to be raised where ap_thread.lane_trap is set */
	u32 random;
	u32 gen; /* ap_proc.lane_gen as of ap_lanes_begin() */
	struct ap_hook_branch branch[AP_HOOK_BRANCHES]; /* a ring: branches.c */
	u32 branch_next, nbranches;
	u64 branches_until; /* 1 + the outcomes up to what is sampled of the models; else 0 */
	struct ap_prompt prompts[AP_PROMPTS]; /* ap_thread.nprompts of them */
	/* resume.c */
	const struct ap_block *walk; /* the block that it walks, or has walked last */
	u64 head[AP_LANE_HEADS];     /* a ring: where blocks may begin that it could go on in */
	u32 nheads;
	struct ap_passed passed;
};
_Static_assert(sizeof(struct ap_lanes) <= AP_T_LANES_SIZE, "a page of its own");

static inline struct ap_lanes *ap_thread_lanes(struct ap_thread *t)
{
	return (struct ap_lanes *)((char *)t + AP_T_LANES_OFF);
}

/* sample_client.c: from now on the dispatcher asks.  Async-safe. */
void ap_sample_on(void);

static inline s64 ap_lane_budget(struct ap_thread *t, u32 lane)
{
	const u64 *words = ap_thread_slot(t)->budget[lane];
	s64 sum = ap_budget_value(__atomic_load_n(&words[0], __ATOMIC_RELAXED));

	for (u32 j = 1; ap_thread_lanes(t)->lane[lane].spread && j < AP_LANE_WORDS; j++)
		sum += ap_budget_value(__atomic_load_n(&words[j], __ATOMIC_RELAXED));
	return sum;
}

/* lane_words.c: all in the first word.  Only then can it be below 0 where code is entered. */
void ap_lane_gather(struct ap_thread *t, u32 lane);
void ap_lane_place(struct ap_thread *t, u32 lane, s64 budget);
void ap_lane_spread(struct ap_thread *t, u32 lane);
/*
 * The carry's lane, before a block is entered in its middle: n are taken off that the block will count once
 * more, and hidden from readers until it is left; below 0: it will not count so many that it should.
 */
void ap_lane_hide(struct ap_thread *t, u32 lane, s64 n);
/* Before linked code is entered.  False: the supervisor wants to be looked at first. */
bool ap_lanes_spread(struct ap_thread *t);
/* False where a mark is near or the supervisor wants to be looked at; else linked code may go on. */
bool ap_lanes_share(struct ap_thread *t);

/* Gathered if it is spread and a word is used up. */
static inline bool ap_lane_is_spread(struct ap_thread *t, u32 lane)
{
	const u64 *words = ap_thread_slot(t)->budget[lane];
	u64 signs = 0;

	if (!ap_thread_lanes(t)->lane[lane].spread)
		return false;
	for (u32 j = 0; j < AP_LANE_WORDS; j++)
		signs |= __atomic_load_n(&words[j], __ATOMIC_RELAXED);
	if ((s64)signs >= 0)
		return true;
	ap_lane_gather(t, lane);
	return false;
}

/* Has its mark been reached in what was left just now, to be sampled from behind? */
static inline bool ap_lanes_passed(struct ap_thread *t)
{
	return ap_unlikely(t->nlanes) && ap_thread_lanes(t)->lane[0].behind &&
	       ap_lane_budget(t, 0) < 0;
}

/* The thread begins to keep the lanes of the process; not in code. */
void ap_lanes_begin(struct ap_thread *t);
/* The supervisor has changed its samplers. */
void ap_lanes_arm(struct ap_thread *t);
/*
 * Turns, of the carry's lane: what it has counted; to come to the dispatcher after so many more, 0: no more.  A turn does
 * not go with a mark: does any lane have one?
 */
u64 ap_lane_raw(struct ap_thread *t, u32 lane);
void ap_lane_take_turn(struct ap_thread *t, u32 lane, u64 counts);
bool ap_lanes_have_marks(struct ap_thread *t);
/* Is there anything to do before the thread goes on? */
static inline bool ap_lanes_want(struct ap_thread *t)
{
	const struct ap_slot *slot = ap_thread_slot(t);

	if (__atomic_load_n(&slot->sampler_gen, __ATOMIC_ACQUIRE) != t->sampler_gen ||
	    t->lane_trap || t->watched || t->nprompts || t->feed_hits)
		return true;
	for (u32 k = 0; k < t->nlanes; k++)
		if (!ap_lane_is_spread(t, k) &&
		    ap_lane_budget(t, k) <= -(s64)ap_thread_lanes(t)->lane[k].margin)
			return true;
	return false;
}
/* Does it: arms, samples; may leave a SIGTRAP pending.  t->regs are complete. */
void ap_lanes_look(struct ap_thread *t);
/* Before the system call at pc, which is counted already; a SIGTRAP comes after it. */
void ap_lanes_look_at(struct ap_thread *t, u64 pc);
/* The service is told of the lanes' point. */
void ap_lane_call(struct ap_thread *t, u32 source, u32 which);
/* Of AP_SAMPLE_WATCH, AP_SAMPLE_TRACE: counted just now. */
void ap_lanes_counted(struct ap_thread *t, u32 source, u32 which, u64 pc);

static inline bool ap_lanes_near(struct ap_thread *t)
{
	for (u32 k = 0; k < t->nlanes; k++)
		if (!ap_lane_is_spread(t, k) && ap_lane_budget(t, k) < 0)
			return true;
	return false;
}

/*
 * prompt.c: SIGTRAPs of the kernel's events.  is and note in the signal handler; take where t->regs are
 * complete.
 */
struct ap_siginfo;
bool ap_prompt_is(u32 sig, const struct ap_siginfo *info);
void ap_prompt_note(struct ap_thread *t, u32 kind, u64 pc, u64 addr);
void ap_prompts_take(struct ap_thread *t);

/* branches.c: the walked block was left. */
static inline bool ap_branches_are_noted(void)
{
	return ap_unlikely(__atomic_load_n(&ap_proc.session->branches, __ATOMIC_RELAXED) &
			   AP_BRANCHES_LAST);
}
u32 ap_branches_margin(u64 kinds);
void ap_branches_forget(struct ap_thread *t);
void ap_branches_note(struct ap_thread *t, const struct ap_block *b, const struct ap_exit *x,
		      const u8 *last);
/* Or it was left by a fault of the instruction at *w, which is executed elsewhere. */
struct ap_where;
void ap_branches_note_before(struct ap_thread *t, const struct ap_where *w);

/*
 * behind.c, while ap_lanes_passed(): what was left, by an exit, by the indirect branch at `last` in its code, or at *w.
 * Then where the thread has left the middle of a block by x, and nothing is counted of what it has not run: samples, and
 * enters it there, if it can.
 */
void ap_behind_note_exit(struct ap_thread *t, const struct ap_exit *x);
void ap_behind_note_branch(struct ap_thread *t, const struct ap_block *b, const u8 *last);
void ap_behind_note_middle(struct ap_thread *t, const struct ap_where *w);
void ap_behind_take_back(struct ap_thread *t); /* the last one has not run, after all */
void ap_behind_go_on(struct ap_thread *t, const struct ap_exit *x);

/* stop.c: a walked block that is kept, and can be made to end behind any of its instructions.  Lock held. */
struct ap_stop *ap_stop_new(struct ap_block *b); /* NULL: no memory */
/*
 * The thread is to run it up to instruction n, 0 all of it; *last_pc is that of the last one.  False:
 * others are in it, who are to leave it elsewhere.
 */
bool ap_stop_begin(struct ap_thread *t, struct ap_stop *s, u32 n, u64 *last_pc);
void ap_stop_end(struct ap_thread *t);
/* Is it the exit of a stop, by which the thread has left? */
bool ap_stop_is(const struct ap_thread *t, const struct ap_exit *x);

/* walk.c; lock held.  The block to run next while a mark is near. */
struct ap_block *ap_walk_get(struct ap_thread *t, u64 pc);
void ap_walk_forget(void);  /* code has changed, or all of it goes */
void ap_walk_reserve(void); /* a filter comes, behind which there is no more memory */
/*
 * resume.c; lock held.  prepare: the thread has walked, and does not any more.  find: the block to go on in at pc,
 * noted in t->resume and resume_at, or NULL.  enter: when t->entry is its code.
 */
void ap_resume_prepare(struct ap_thread *t);
struct ap_block *ap_resume_find(struct ap_thread *t, u64 pc);
void ap_resume_enter(struct ap_thread *t);
void ap_resume_undo(struct ap_thread *t); /* it was not entered; without the lock */

/* An instruction that is executed alone, not by a walked block. */
void ap_walk_alone(struct ap_thread *t, u64 pc);

#endif
