/* SPDX-License-Identifier: MIT */
/*
 * Per-thread state.  %gs:0 is the start of this structure in every counted thread, so field
 * offsets are part of translated code and of gate.S (checked by _Static_asserts in thread.c).
 *
 * A thread area is one reservation, laid out from low to high:
 *   struct ap_thread (one page) | slot: its page, counters, tracepoints (session file, shared) |
 *   struct ap_lanes | dispositions of its own | calls that are to return | open regions | guard page | engine stack | guard page | alternate signal stack
 * Counters are therefore at a constant distance from %gs:0, which translated code relies on.
 *
 * Rules: only the thread itself writes its struct, except `next`/`prev` (process lock).
 * regs holds the program's registers whenever the thread is in the engine, rip included.
 */
#ifndef AP_ENGINE_THREAD_H
#define AP_ENGINE_THREAD_H

#include "abi/boot.h"
#include "abi/session.h"
#include "base/types.h"
#include "engine/ptrace/traced.h"
#include "x86/access.h"

#define AP_T_SLOT_OFF	4096ULL /* struct ap_slot */
#define AP_T_COUNTS_OFF (AP_T_SLOT_OFF + AP_SLOT_COUNTS_OFF)
#define AP_T_LANES_OFF	(AP_T_SLOT_OFF + AP_SLOT_SIZE)
#define AP_T_LANES_SIZE 4096ULL
/* the table that t->actions points to where the thread shares none */
#define AP_T_ACTIONS_OFF  (AP_T_LANES_OFF + AP_T_LANES_SIZE)
#define AP_T_ACTIONS_SIZE 4096ULL
#define AP_T_RETURNS_OFF  (AP_T_ACTIONS_OFF + AP_T_ACTIONS_SIZE) /* returns.c */
#define AP_T_RETURNS_SIZE 4096ULL
#define AP_T_REGIONS_OFF  (AP_T_RETURNS_OFF + AP_T_RETURNS_SIZE) /* region.c */
#define AP_T_REGIONS_SIZE 8192ULL
#define AP_T_GUARD1_OFF	  (AP_T_REGIONS_OFF + AP_T_REGIONS_SIZE)
#define AP_T_STACK_OFF	  (AP_T_GUARD1_OFF + 4096)
#define AP_T_STACK_SIZE	  (32ULL << 10)
#define AP_T_GUARD2_OFF	  (AP_T_STACK_OFF + AP_T_STACK_SIZE)
#define AP_T_ALT_OFF	  (AP_T_GUARD2_OFF + 4096)
#define AP_T_ALT_SIZE	  (32ULL << 10)
#define AP_T_AREA_SIZE	  (AP_T_ALT_OFF + AP_T_ALT_SIZE)

/* Why a thread left the code cache; t->exit_kind. */
enum ap_exit_kind {
	AP_EXIT_DIRECT,	 /* t->exit_id says the exit whose target is wanted */
	AP_EXIT_IBL,	 /* indirect branch missed; t->regs.rip is the target already */
	AP_EXIT_SYSCALL, /* block ended at a syscall instruction; rip of it in the exit's target */
	AP_EXIT_SPECIAL, /* instruction that the engine must treat itself (the exit's special) */
	AP_EXIT_NONE,	 /* t->regs is complete: dispatch to regs.rip */
	AP_EXIT_DATA,	 /* a check (data.h) whose place t->exit_id says: its instruction may hit */
	AP_EXIT_LANE, /* in the middle of a block, all of which is counted: a budget is used up */
	AP_EXIT_ABANDONED /* a signal waits: t->entry was not entered */
};

/* As the kernel's sigaltstack. */
struct ap_altstack {
	u64 sp;
	u32 flags; /* SS_DISABLE 2, SS_AUTODISARM 1<<31 */
	u64 size;
};

struct ap_sigaction;
struct ap_block;
struct ap_filter;
struct ap_thread_feed;

/* data.c: an instruction on its way, and what it touches of what is watched. */
struct ap_data_note {
	u64 pc;
	u32 hits;      /* watches, as bits */
	u32 more_hits; /* of an instruction that was executed behind it at once */
	bool is_due;   /* the note is valid */
	bool is_rep;   /* by its iterations: what follows */
	bool is_ecx;
	u8 nstrings;
	u64 rcx; /* before it */
	struct ap_access_string strings[2];
};

/*
 * What rdpmc of a counter reads while the event's publication is as it was: the word at cell (from
 * %gs:0), what the carry has, if it is carried, and a constant.
 */
struct ap_pmc {
	u32 counter;
	u32 seq;
	const u32 *seq_at;
	u32 cell;
	u32 is_carried;
	u64 plus;
};
#define AP_PMCS 8 /* by the low bits; 0x40000000, of counters that are fixed, is 4 */

static inline u32 ap_pmc_place(u32 counter)
{
	return (counter + (counter >> 28)) % AP_PMCS;
}

/* A counter that is never looked for at this place: that of an entry of none. */
static inline u32 ap_pmc_elsewhere(u32 place)
{
	return !place;
}

/* The engine's own state where it faulted, for the report. */
struct ap_fault {
	u32 sig;
	u64 addr; /* that it touched */
	struct ap_regs regs;
	u64 stack[24]; /* words from its rsp up */
	u32 nstack;
};

/* user_dispatch.c: calls from [offset, offset + len) are made, others where the selector's byte says so. */
struct ap_user_dispatch {
	u64 selector, offset, len;
	bool is_on,
		is_inclusive; /* inclusive: as the program asked for it, the range is what it did not name */
};

enum ap_trial {
	AP_TRIAL_NONE,
	AP_TRIAL_UNKNOWN, /* is that an instruction? */
	AP_TRIAL_PROBED,  /* the kernel has a breakpoint in its place: probed.c */
	AP_TRIAL_FETCH	  /* it cannot be read: can it be executed? */
};

struct ap_thread {
	struct ap_thread *self; /* 0x00 */
	u64 spill_rcx;		/* 0x08 */
	u64 spill_rdx;		/* 0x10 */
	u64 spill_a; /* 0x18: scratch of mangled sequences; the engine's %rsp during a system call */
	u64 spill_b;	     /* 0x20 */
	u64 entry;	     /* 0x28: cache address that the gate enters */
	u64 engine_sp;	     /* 0x30: top of the engine stack */
	u32 exit_id;	     /* 0x38: (unit << 20 | offset of the stub), set by stubs */
	u32 exit_kind;	     /* 0x3c: enum ap_exit_kind */
	u32 pending;	     /* 0x40: a signal waits in pend_* */
	u32 branch_id;	     /* 0x44: place of the last indirect branch, as in exit_id */
	struct ap_regs regs; /* 0x48: gpr[16], rip, rflags */
	u64 app_gs_base;     /* 0xd8: the program's %gs base */
	u64 rep_rcx;	     /* 0xe0: rcx before the rep instruction that is executed */

	struct ap_pmc pmc[AP_PMCS]; /* 0xe8 */
	u32 in_call;		    /* 0x1e8: the kernel has it, in a call of the program's */
	u64 feed_pos;		    /* 0x1f0: where its next record goes; feed.c */
	u64 feed_spill;		    /* 0x1f8 */
	u64 pmc_flags;		    /* 0x200: flags behind rdpmc, while it is done */

	/* Below here offsets are free. */
	struct ap_thread *next; /* proc->threads */
	u64 app_fs_base;	/* without FSGSBASE: ap_thread_fs_base() */
	u32 epoch;		/* proc->epoch when the cache was last entered */
	u32 slot_index;		/* beyond AP_SLOT_MAX: in a further segment of this process */
	u32 tid, pid;		/* as the thread sees itself */
	u32 is_vfork_child;	/* shares the address space of another process, on its own slot */
	u32 lock_id;		/* its name in locks: the tid, or ap_lock_name */
	u32 forks_unlocked;	/* it is in a fork, and does not hold the process lock: fork.c */
	u32 foreign;		/* may be of another pid namespace than others here */
	u64 image_random;	/* of a vfork child: ap_random_of_image; 0 not drawn yet */
	u64 process;		/* serial of the first thread of its process */

	/* Signals: owned by signal*.c */
	struct ap_altstack altstack; /* the program's */
	u64 pend_mask;		     /* program's mask when the pending signal arrived */
	u32 pend_sig;
	u32 stepping; /* TF is set by the engine: going to the next clean boundary */
	u8 pend_info[128];
	u32 pend_temp; /* it ended a sigsuspend-like call: syscall_mask is the mask still */
	u32 pend_sync; /* raised by the program: AP_PEND_RAISED by the instruction at regs.rip, or _FORCED */
	u64 sig_outer; /* mask around the outermost section */
	u32 sig_depth; /* of ap_sig_block_all sections */
	u32 sig_dirty; /* a synchronous signal was sent meanwhile and is blocked in the kernel */
	u32 delivered; /* to handlers, so many; wraps */
	u32 held_trap; /* a SIGTRAP that was sent while stepping waits in held_info */
	u8 held_info[128];
	u64 resent;    /* signals that look like faults but were sent again by the engine */
	u64 virt_mask; /* the synchronous signals of the program's mask; the kernel's lacks them */
	u64 fault_err, fault_trapno, fault_cr2; /* of the last fault, as frames show them */
	struct ap_sigaction *actions;		/* NULL: ap_proc.sigactions */
	u64 syscall_mask; /* temporary mask of a sigsuspend-like call, valid with has_syscall_mask */
	u32 has_syscall_mask;
	u32 in_handler_depth; /* faults of the engine itself */
	u32 parked;	      /* native.c: 1 out of the cache for good, 2 and natively on its way */
	u64 native_pc;	      /* engine jumped here natively to raise a fault; 0 otherwise */
	u8 probed[3][16];     /* probed.c: code that is executed with AP_TRIAL_PROBED */
	u32 probed_hits
		[2]; /* watched data that what may follow it accesses: behind it, and where it branches to */
	u64 tsc_seen; /* emulate.c: retired when it last asked for the time stamp counter */
	u32 on_trial; /* with native_pc: enum ap_trial, why the CPU executes what is there */

	/* System calls: owned by syscall*.c / task*.c */
	u64 serial;	 /* never the same again: areas are reused */
	u64 start_mask;	 /* the program's signal mask when it was cloned */
	u64 start_flags; /* CLONE_* */
	u64 tid_at;	 /* where the kernel writes its number for the program; 0 nowhere */
	u32 told_tid;	 /* its number from its parent, where it may not ask for it */
	const struct ap_filter *filters;
	u32 own_fd;   /* the party's descriptor + 1 where descriptors are not shared, else 0; */
	u32 own_head; /* likewise of the head's */
	struct ap_user_dispatch dispatch;
	u32 own_limits; /* limits.c: the next two are this vfork child's own */
	u32 limit_shares, nofile_share;
	u32 ptracer;	      /* ap_proc.ptracer of a vfork child, which is another process */
	u32 exec_was_stopped; /* by a signal, after its tracer was ready */
	u64 rseq; /* sys_misc.c: the area that the program believes to be registered, 0 none */
	u32 rseq_size, rseq_sig;
	u32 is_still;  /* still.c: it waits, and uses no slot */
	bool has_left; /* party.c, of a vfork child: its next image is of another party */
	bool changes; /* party.c: it is in a call that changes its credentials, or decides what to do before */
	u32 next_root; /* AP_PRCTL_SET_ROOT + 1, 0 none */

	struct ap_traced traced; /* traced.c, and the engine of its tracer */

	/* Sampling: lane.h has the rest.  nlanes are kept, of ap_proc.lanes. */
	u32 nlanes;
	u32 sampler_gen; /* of the slot, when the service was told last */
	union {		 /* of the call whose tracepoints are passed: */
		u64 call_passed; /* from its entry on, the session's filters that this has passed, as bits; */
		u64 call_value; /* of a tracepoint at its ends: its number, then what it returns */
	};
	u32 sources;   /* ap_hook_sources */
	u32 lane_trap; /* a SIGTRAP is to be raised */
	u32 watched;   /* data watches that were hit and may have samplers, as bits */
	u32 nprompts;  /* prompt.c: noted and not taken yet */
	const struct ap_exit *went_on; /* entered behind it, if the cache was entered */
	const struct ap_block *walked; /* it runs, and its branches are wanted */
	struct ap_block *resume;       /* resume.c: entered at resume_at; NULL: at its beginning */
	u32 resume_at;
	u32 pmc_reads;	      /* by the dispatcher */
	struct ap_stop *stop; /* stop.c: of the kept walked block that runs; else NULL */

	struct ap_thread_feed *feed; /* feed.c: its log and models; NULL: none */
	u32 plain;		     /* feed_gap.c: it runs code without a log; 0 or 1 */
	struct ap_feed_wait {
		u64 since,
			from; /* instructions when that began, and those that were accounted for */
		bool is_on;   /* it has no models, and is in a gap */
	} waits;
	u32 feed_hits;	  /* samples of modelled events are due, */
	u32 feed_near;	  /* or may be behind each block: it walks */
	u32 feed_follows; /* what is said of each branch is kept: a walk wants its branches */
	u64 feed_last_pc; /* the last instruction of the block it walks */

	u32 watch_hit; /* watch.c: counted at watch_pc, not executed yet: bits of ap_session.watch; else 0 */
	u64 watch_pc;
	u32 nreturns;	   /* returns.c: calls that are to return */
	u32 return_is_new; /* returns.c: the last of them began at watch_pc, and is not executed yet */
	u64 request_pc;	   /* request.c: the last instruction of one runs, or has: */
	bool request_due;
	bool has_dumped;    /* region.c: the frame behind the open ones is there */
	u32 nregions;	    /* open ones */
	u32 regions_beyond; /* for which there was no place */
	u64 region_markers; /* instructions of markers so far */
	struct ap_data_note data;
	struct ap_block *alone; /* entered for one run, to be taken back then; else NULL */

	u64 direct_known;		 /* kinds whose sum over the shapes is in direct_sums */
	u64 direct_sums[AP_KIND_CYCLES]; /* kinds.c; they do not change any more */

	struct ap_fault fault; /* of the engine */
	u32 last_block_n;      /* ring of the last dispatched pcs, for reports */
	u64 last_pc[16];
};

static inline struct ap_slot *ap_thread_slot(struct ap_thread *t)
{
	return (struct ap_slot *)((char *)t + AP_T_SLOT_OFF);
}

static inline u64 *ap_thread_counts(struct ap_thread *t)
{
	return (u64 *)((char *)t + AP_T_COUNTS_OFF);
}

static inline u64 *ap_thread_trace(struct ap_thread *t)
{
	return (u64 *)((char *)t + AP_T_SLOT_OFF + AP_SLOT_TRACE_OFF);
}

/* The calling thread; valid from the moment the thread's gs base is set. */
static inline struct ap_thread *ap_self(void)
{
	struct ap_thread *t;

	__asm__("mov %%gs:0, %0" : "=r"(t));
	return t;
}

/* thread.c: areas, slots, gs.  All return 0/-errno. */
AP_MUST_CHECK int ap_thread_new(struct ap_thread **out); /* area mapped, slot taken, not linked */
void ap_thread_link(struct ap_thread *t);		 /* into proc->threads; lock held */
void ap_thread_unlink(struct ap_thread *t);		 /* lock held */
/* Idle areas for at least n threads, as far as there is memory.  Lock held. */
void ap_thread_reserve(u32 n);
void ap_thread_free(struct ap_thread *t);      /* unmap the area of a thread that is gone */
void ap_thread_fini_slot(struct ap_thread *t); /* totals to final[], state FINAL, fold */
/* slot.c: a new shape is to be known in all segments of this process; lock held. */
void ap_slot_add_shape(u32 id, u64 vec);
void ap_thread_bury_dead(void); /* processes in this address space that were killed; lock held */
void ap_thread_mend(void);	/* counts again what is linked; lock held */
void ap_thread_set_gs(struct ap_thread *t);
/*
 * The program's %fs base, t's, which is the calling thread; a caller that cannot read it by an instruction has asked the kernel.
 * note: it may be another now.
 */
u64 ap_thread_fs_base(const struct ap_thread *t);
void ap_thread_note_fs(struct ap_thread *t);
/* Kernel state that a new thread of ours needs: alternate stack; signals stay as they are. */
void ap_thread_init_kernel(struct ap_thread *t);

#endif
