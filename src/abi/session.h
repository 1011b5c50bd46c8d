/* SPDX-License-Identifier: MIT */
/*
 * The session's memory: sparse memfds that every counted process maps parts of.  It is the only thing that engine
 * and supervisor share, so its layout is an ABI between two programs that may crash independently of each other.
 * There are two kinds of files, docs/design/trust.md says why: the head, which the supervisor alone writes, and a
 * party's file, which its tasks write.  Each offset is used in one of them.
 *
 *   - a process writes only its own segment (one per address space); whoever is killed leaves a
 *     segment that the supervisor can still read;
 *   - every multi-step update is committed by one aligned store (see seg.fold, slot.state);
 *   - what all may write (board, notes) is hints: whatever stands there, nobody waits for long, and
 *     nobody's counts are lost;
 *   - offsets only ever grow: a dead segment's memory is punched out, its offset never reused.
 *
 *   0                  head    struct ap_session
 *   AP_FILTERS_OFF     head    struct ap_trace_filter[AP_TRACE_FILTERS]
 *   AP_FORMS_OFF       head    struct ap_probe_form[AP_PROBE_FORMS]
 *   AP_ERRORS_OFF      head    by root, what errors of estimates come of (linux/session/errors.c)
 *   AP_BOARD_OFF       party   struct ap_board: what tasks write for all to see
 *   AP_NOTE_OFF        party   struct ap_note[AP_NOTE_MAX]
 *   AP_PUB_OFF         head    struct ap_pub[AP_PUB_MAX]
 *   AP_TREE_OFF        head    struct ap_tree (abi/tree.h)
 *   AP_SAMPLER_OFF     head    struct ap_sampler[AP_SAMPLER_MAX]
 *   AP_IMAGE_OFF       head    the engine's code, which processes map (inject/inject.c)
 *   AP_SAMPLING_OFF    party   struct ap_sampling[AP_SAMPLER_MAX] (abi/sampler.h)
 *   AP_COMMON_OFF      party   struct ap_shared (model/shared.h)
 *   AP_REGIONS_OFF     party   struct ap_regions (abi/region.h)
 *   AP_STORE_OFF       party   struct ap_store (engine/cache/store.h): translated code
 *   AP_SEG_OFF(i)      party   struct ap_seg, then shapes (u64[AP_SHAPE_MAX]), then slots
 *   AP_SEG_OFF(max_segs)  party  pages that events are mapped to, handed out by the supervisor
 *   AP_PROFILE_OFF(i)  party   of exact profiles: what each segment's process counts (abi/profile.h)
 *
 * docs/design/session.md has the protocols.
 */
#ifndef AP_ABI_SESSION_H
#define AP_ABI_SESSION_H

#include "abi/cpuid.h"
#include "abi/perfctr.h"
#include "abi/probe.h"
#include "abi/region.h"
#include "abi/sampler.h"
#include "abi/trace.h"
#include "abi/vec.h"
#include "base/types.h"

#define AP_SESSION_MAGIC 0x3130667265706e61ULL /* "anperf01" */
#define AP_SHAPE_MAX	 8192
#define AP_SEG_SIZE	 (64ULL << 20)

/* A segment's number: its party, and which of that party's segments it is. */
#define AP_PARTY_MAX	  64U
#define AP_PARTY_SHIFT	  20
#define AP_SEGS_MAX	  ((1U << AP_PARTY_SHIFT) - 1) /* of a party */
#define AP_PARTY_OF(seg)  ((u32)(seg) >> AP_PARTY_SHIFT)
#define AP_SEG_LOCAL(seg) ((u32)(seg) & ((1U << AP_PARTY_SHIFT) - 1))

#define AP_PUB_OFF	   (1ULL << 20) /* struct ap_pub[AP_PUB_MAX] (abi/service.h) */
#define AP_SAMPLER_OFF	   (4ULL << 20)
#define AP_SAMPLING_OFF	   (AP_SAMPLER_OFF + AP_SAMPLERS_READ)
#define AP_COMMON_OFF	   (8ULL << 20)
#define AP_COMMON_SIZE	   (AP_REGIONS_OFF - AP_COMMON_OFF)
#define AP_REGIONS_OFF	   (AP_STORE_OFF - (1ULL << 20))
#define AP_STORE_OFF	   (64ULL << 20)
#define AP_STORE_SIZE	   (AP_SEG_BASE - AP_STORE_OFF)
#define AP_SEG_BASE	   (128ULL << 20)
#define AP_IMAGE_OFF	   (48ULL << 20)
#define AP_SEG_OFF(i)	   (AP_SEG_BASE + (u64)AP_SEG_LOCAL(i) * AP_SEG_SIZE)
#define AP_SHAPES_OFF	   4096ULL /* from the segment's start */
#define AP_SLOTS_OFF	   (AP_SHAPES_OFF + AP_SHAPE_MAX * 8)
#define AP_SLOT_SIZE	   (AP_SLOT_LOG_OFF + 4096)
#define AP_SLOT_MAX	   810
#define AP_SLOT_OFF(i)	   (AP_SLOTS_OFF + (u64)(i)*AP_SLOT_SIZE)
#define AP_SLOT_COUNTS_OFF 4096ULL /* u64[AP_SHAPE_MAX], from the slot's start */
#define AP_SLOT_TRACE_OFF  (AP_SLOT_COUNTS_OFF + AP_SHAPE_MAX * 8) /* u64[AP_TRACE_N] */
#define AP_SLOT_LOG_OFF	   (AP_SLOT_TRACE_OFF + AP_TRACE_N * 8)	   /* abi/service.h */

#define AP_FILTERS_OFF	   8192ULL
#define AP_FORMS_OFF	   (AP_FILTERS_OFF + AP_TRACE_FILTERS * 1024)
#define AP_ERRORS_OFF	   (AP_FORMS_OFF + AP_PROBE_FORMS_SIZE)
#define AP_ERRORS_SIZE	   (40ULL << 10)
#define AP_BOARD_OFF	   (AP_ERRORS_OFF + AP_ERRORS_SIZE)
#define AP_NOTE_OFF	   (AP_BOARD_OFF + 4096)
#define AP_NOTE_MAX	   512
#define AP_BOARD_SIZE	   (4096 + AP_NOTE_MAX * sizeof(struct ap_note)) /* with the notes */
#define AP_ROOT_MAX	   16
#define AP_ASKING_N	   16
#define AP_WATCH_MAX	   32
#define AP_LANE_WORDS	   2
#define AP_SEG_ERRORS	   280 /* words */
#define AP_CARRY_TRIES	   100000
#define AP_CACHE_LIMIT_MIN (64ULL << 10)

/*
 * si_code of a SIGTRAP, with the magic as its value, that the supervisor sends to a thread which is to
 * leave translated code for a moment.
 */
#define AP_NUDGE_CODE (-0x4150)

/*
 * A prompt: the SIGTRAP (si_code AP_PROMPT_CODE) of an event of the kernel's that the supervisor has opened
 * on a thread, to have it sampled where it is.  si_perf_data says what it is about.
 */
#define AP_PROMPT_CODE 6 /* TRAP_PERF */
enum ap_prompt_kind { AP_PROMPT_CLOCK, AP_PROMPT_FAULT, AP_PROMPT_MIN, AP_PROMPT_MAJ, AP_PROMPT_N };
#define AP_PROMPT_DATA(kind) (AP_SESSION_MAGIC + 1 + (kind))

/* What the translated code has to count; ap_session.flags and ap_boot.flags. */
#define AP_F_COUNT	   (1u << 0) /* exit counters on; off is translation only */
#define AP_F_NO_INHERIT	   (1u << 1) /* -i: children run natively, uncounted */
#define AP_F_DETERMINISTIC (1u << 2) /* fixed random bytes */
#define AP_F_SERVE	   (1u << 4) /* perf calls are the session's, not the kernel's */
#define AP_F_MODEL_THREAD  (1u << 5) /* --model-thread: logs of the models may be read by helpers */
#define AP_F_FIXED_TSC	   (1u << 6) /* --deterministic=time: rdtsc tells instructions */
#define AP_F_STORE	   (1u << 7) /* --code-cache=session: processes share what they translate */
#define AP_F_REQUESTS	   (1u << 8) /* --client-requests: valgrind's are answered */
#define AP_F_PROFILE	   (1u << 9) /* each way out of a block is counted by itself (abi/profile.h) */

/* Raw counters of a slot, segment or root: by kind. */
#define AP_RAW_SYSCALL AP_KIND_SYSCALL
#define AP_RAW_N       AP_KIND_N

enum ap_slot_state {
	AP_SLOT_FREE = 0,
	AP_SLOT_LIVE = 1,  /* a thread counts here */
	AP_SLOT_FINAL = 2, /* thread gone; final[] holds its totals, counts[] is to be ignored */
};

enum ap_req {
	AP_REQ_NONE = 0,
	AP_REQ_EXEC = 1,       /* task asks: seize me, I am about to exec */
	AP_REQ_EXEC_ACK = 2,   /* tracer: seized, go ahead */
	AP_REQ_EXEC_NAK = 3,   /* tracer: cannot; find another or run uncounted */
	AP_REQ_CANCEL = 4,     /* task: the exec failed, let me go */
	AP_REQ_CANCEL_ACK = 5, /* tracer: detached */
	AP_REQ_EXEC_TAKEN =
		6,	   /* supervisor: about to seize; its answer holds only if this stands */
	AP_REQ_HELPER = 7, /* task to its own helper: no supervisor's business any more */
	AP_REQ_MOVE = 8,   /* task asks: exec_fd is to be my party; taken as AP_REQ_EXEC is */
	AP_REQ_MOVE_DONE =
		9 /* supervisor: you are in .moved from now on, whether or not you wait for the ACK */
};

/* First page of a slot.  Written by its thread only, except req. */
struct ap_slot {
	u32 state; /* enum ap_slot_state, committed last */
	u32 tid;   /* as the thread sees itself (its own pid namespace) */
	u32 pid;
	u32 req;	     /* enum ap_req; futex word of the exec hand-over */
	u32 in_code;	     /* 1 while the thread is inside translated code */
	u32 gen;	     /* incremented at each reuse */
	s64 extra[AP_RAW_N]; /* partial blocks and directly counted events; added to the shapes */
	u64 final[AP_RAW_N]; /* valid in AP_SLOT_FINAL */
	u32 orders;	     /* AP_ORDER_*: abi/service.h; written by the supervisor */
	u32 parent_slot;     /* of parent_seg, where the thread was cloned; for the host */
	/* What the next image needs to know; stored before AP_REQ_EXEC, checked by the tracer. */
	u64 exec_random;  /* becomes ap_boot.random */
	u64 exec_sigmask; /* the program's mask; the task itself has all signals blocked */
	s32 exec_fd;	  /* the party's descriptor in the task, close-on-exec off by then, */
	s32 exec_head;	  /* and the head's */
	u32 exec_party;	  /* 1: exec_fd is an empty memfd, which is to be a new party's */
	u32 moved;	 /* AP_REQ_MOVE's answer: the segment in the new party; by the supervisor */
	u32 exec_root;	 /* root of the new image's segment (AP_PRCTL_SET_ROOT) */
	u32 exec_nofile; /* becomes ap_boot.nofile_share */
	u32 exec_limits; /* becomes ap_boot.limit_shares */
	u32 exec_ptracer;  /* becomes ap_boot.ptracer */
	u32 exec_cwd;	   /* becomes ap_boot.cwd */
	u32 exec_secluded; /* 1: its next image is to have no translated code of others either */
	u32 cwd;      /* service/tree_cwd.c: of a task whose place is its own; 0 its process' */
	u32 has_copy; /* a fork's child in the middle of the call: the parent's memory is copied */
	u32 native;   /* 1: it executes what is not followed, and is not counted if that succeeds */
	u32 reserved;
	u64 watch[AP_WATCH_MAX]; /* how often it executed or accessed ap_session.watch */
	u64 faults[AP_FAULT_N];	 /* page faults that it was prompted of */
	u64 own_faults; /* that ended in signals of the engine's: the kernel counts them, the program has none */
	u64 call; /* while tracepoints count: number + 1 of the system call that it is in, else 0 */
	/*
	 * Sampling (abi/sampler.h).  samplers, sampler_gen: the supervisor's.  sampler_ack: the generation
	 * that the thread has armed its lanes by.  sampler_lock: 0, or the name of the thread that changes samplers.
	 */
	u32 samplers; /* index + 1 of the first; 0 none */
	u32 sampler_gen;
	u32 sampler_ack;
	u32 sampler_lock;
	/*
	 * Of each lane: what the thread may count until it has to look, below 0 now, shared out to words so
	 * that the code's subtractions do not wait for each other.  Its own, taken down by its code without a
	 * lock; others may ap_budget_kick() them.
	 */
	u64 budget[AP_LANE_MAX][AP_LANE_WORDS];
	/*
	 * What the words of lane ap_seg.carry - 1 have counted is carry_base less their sum; while carry_seq is
	 * odd they are being changed, and it is carry_was.  See abi/slot_sum.h.
	 */
	u64 carry_base, carry_was;
	/*
	 * A block was entered in its middle, and the instructions in front of the place were taken off, since it
	 * counts them once more.  It is still in there while the words' sum is carry_hidden_at.
	 */
	u64 carry_hidden, carry_hidden_at;
	u32 carry_seq;
	u32 unseen; /* 1 while the models have seen nothing of the thread, which they were to */
	u64 cgroup; /* its id, where a sampler asks for it; the supervisor's */
	struct ap_pmcs pmcs; /* perfctr's, for rdpmc; the supervisor's */
	u64 at; /* where the slot lies in its process' memory: what the supervisor asks the kernel about */
};

/*
 * A thread takes its words down by load and store, so a kick can be lost: it is repeated until
 * sampler_ack follows.  It is never mistaken for the budget: every word is at most 2^54 and above -2^32, and
 * a kick sets the bits from 2^55 up, which only a negative one has; code that takes such a word down
 * leaves the uppermost byte as it is, by which it knows it.  The generation is incremented before the kick.
 */
#define AP_BUDGET_KICK_BIT 55
#define AP_BUDGET_KICK	   (0x1ffULL << AP_BUDGET_KICK_BIT)
#define AP_BUDGET_MAX	   (1ULL << 54)

static inline void ap_budget_kick(u64 *word)
{
	__atomic_fetch_or(word, AP_BUDGET_KICK, __ATOMIC_SEQ_CST);
}

/* Was it kicked? */
static inline bool ap_budget_is_kicked(u64 word)
{
	return (s64)word < -(1LL << 40);
}

static inline s64 ap_budget_value(u64 word)
{
	return (s64)(ap_budget_is_kicked(word) ? word - AP_BUDGET_KICK : word);
}

enum ap_seg_state {
	AP_SEG_FREE = 0,
	AP_SEG_INIT = 1,   /* allocated; its process does not count yet */
	AP_SEG_LIVE = 2,   /* a process runs here */
	AP_SEG_EXECED = 3, /* the process replaced its image: counts are complete */
	AP_SEG_EXITED = 4, /* exit_group was called: counts are complete */
	AP_SEG_NATIVE = 5, /* engine gave up, program goes on uncounted */
	AP_SEG_FOLDED = 6  /* nobody needs it any more; the supervisor has punched the segment */
};

/* dead, fold: totals of threads that are gone, by the rules of abi/slot_sum.h. */
struct ap_seg {
	u32 state;  /* enum ap_seg_state */
	u32 pid;    /* in the supervisor's pid namespace where known, else 0 */
	u32 ns_pid; /* as the process sees itself */
	u32 root;   /* index into ap_board.roots that its counts belong to */
	u32 nslots; /* slots ever used: 0..AP_SLOT_MAX */
	u32 nshapes;
	u32 parent_seg;
	u32 short_tasks; /* sibling tasks that exit_group or exec cut off inside translated code */
	u64 start_time;	 /* field 22 of /proc/PID/stat, guards against pid reuse; 0 unknown */
	u64 pidns;	 /* inode of /proc/self/ns/pid, 0 unknown */
	u64 fold;
	u64 dead[2][AP_RAW_N];
	u64 asking[(AP_SLOT_MAX + 63) / 64]; /* slots whose request waits (abi/service.h) */
	u64 kinds_ack; /* what all its code counts by now: ap_kinds_with(ap_session.kinds), or less */
	u32 counters; /* bits: watches whose counter (AP_WATCH_COUNTER) is to be raised here; the supervisor's */
	u32 mute; /* 1: it has a seccomp filter and makes no call of ours: look for its requests */
	u32 child_pid; /* what the parent calls it where pid may not be told; 0 once it runs, or not told */
	char comm[64];	  /* path or name for reports, NUL terminated */
	u32 leave;	  /* enum ap_leaving; the supervisor's */
	u32 lanes_ack;	  /* so many of ap_session.lanes all its code takes down by now, */
	u32 lane_gen_ack; /* as of this lane_gen */
	u32 watch_ack;	  /* ap_session.watch_gen as all its code minds it by now */
	u32 data_ack;	  /* likewise .data_gen */
	u32 carry; /* lane + 1 whose words alone count instructions in all its slots; 0 none yet */
	u32 taken; /* 1: it is somebody's (ap_segs_first()) */
	u32 estimates; /* 1 once the models passed something over */
	u64 smc_at; /* in its memory: which pages the engine has write-protected (engine/cache/smc.c) */
	u64 errors[AP_SEG_ERRORS]; /* struct ap_thin_errors (model/thin.h) of its windows */
};

enum ap_note_kind {
	AP_NOTE_NOT_COUNTED = 1, /* a program that runs natively, with the reason */
	AP_NOTE_ENGINE = 2,	 /* the engine gave a task up */
	AP_NOTE_INFO = 3
};

enum ap_note_state { AP_NOTE_FREE = 0, AP_NOTE_READY = 1, AP_NOTE_CLAIMED = 2 };

struct ap_note {
	u32 ready; /* enum ap_note_state: claimed by a compare and exchange, AP_NOTE_READY stored last */
	u32 kind;
	u32 pid;
	u32 root;
	char text[240]; /* "not counted: /usr/bin/sudo: set-uid", NUL terminated */
};

struct ap_root {
	u32 used;   /* enum ap_root_state; the supervisor merges and frees what was given back */
	u32 parent; /* root that this one is within; root 0 has itself */
	u64 short_tasks; /* of folded segments: tasks that were cut off inside translated code */
};

/* Of ap_session.branches: the last taken ones are noted; the calls that have not returned are kept. */
#define AP_BRANCHES_LAST  (1u << 0)
#define AP_BRANCHES_CALLS (1u << 1)

/*
 * What tests have the engine do.  It has a place in every build, so that there is one layout; abi/switches.h says
 * in which builds anything looks at it.
 */
struct ap_switches {
	u32 stress; /* AP_STRESS_*: injected trouble */
	u32 fault;  /* AP_STRESS_FAULT: at this dispatch of a thread */
	u64 period; /* AP_STRESS_SAMPLE */
	u64 lane;   /* of these kinds */
	u64 lo, hi; /* only the code at these addresses is translated by blocks; 0, 0: all of it */
	u32 log;    /* what is noted is written to this descriptor of the process */
	u32 has_log;
	u32 has_branches; /* AP_STRESS_SAMPLE notes the last taken branches */
};

/* Written by the supervisor alone. */
struct ap_session {
	u64 magic;
	u32 flags;	/* AP_F_* */
	u32 supervisor; /* its pid; 0 once it is gone on purpose */
	u32 command;	/* the pid of what it started; 0 none */
	u32 limits_set; /* 1: a task has set one of perf's limits, which is the session's and not the machine's */
	u64 pidns;	 /* supervisor's pid namespace inode */
	u64 cache_limit; /* bytes of translated code per process */
	u32 max_segs;	 /* the file has room for so many */
	u32 counters;	 /* of the cpu PMU, per task; 0 unlimited: what CPUID says */
	u64 kinds;	 /* AP_KIND_BIT: raw counters wanted; written by the supervisor */
	u32 asleep;	 /* the supervisor waits at the doorbell: ring it with a wake */
	u32 perf_used; /* 1 once any task asked for a perf event: only then are descriptors looked at */
	u32 watch_gen;	/* incremented when code has to mind more of the next; by the supervisor */
	u32 watch_used; /* bit n: watch[n] is a breakpoint of some task */
	u64 watch[AP_WATCH_MAX];
	u32 trace_on;	   /* 1: tracepoints are counted; written by the supervisor */
	u32 trace_filters; /* so many of the next are not 0: only then are they looked at */
	u32 trace_filter[AP_TRACE_FILTERS]; /* the tracepoint that each is of; 0: there is none */
	u32 cpu;   /* while the supervisor looks for requests: its CPU + 1; else 0 */
	u32 serve; /* AP_SERVE_REFUSED: what ap_board.serve asks for cannot be */
	/*
	 * Time in records: ns = clock_zero + (tsc * clock_mult >> clock_shift); clock_mult 0: ask the
	 * kernel.  clock_mult is stored last, once, by the supervisor.
	 */
	u32 clock_mult, clock_shift;
	u64 clock_zero;
	u32 wakes_seen[AP_PARTY_MAX]; /* ap_board.wakes: poll's answers are as of these */
	u32 prompts; /* 1 once any thread may be prompted: a process that cannot bear it any more must say so */
	/*
	 * Lanes: sets of kinds that are sampled, each stored before nlanes counts it, by the supervisor.
	 * Its kinds are wanted (.kinds) before it is one.  Where all are taken one that nobody samples gets
	 * another set, and then lane_gen is incremented.
	 */
	u32 nlanes;
	u32 lane_gen;
	u32 branches; /* AP_BRANCHES_*: what samples show */
	u64 lanes[AP_LANE_MAX];
	u32 model_sample; /* of so many parts of the session's run the models see one; 0 or 1 all */
	u32 model_estimates; /* 1 once a segment that is folded had some; by the supervisor */
	u32 data_gen;	     /* incremented when a data watch joins or leaves; by the supervisor */
	u32 watch_how[AP_WATCH_MAX]; /* AP_WATCH_*: type and length */
	/* Of AP_WATCH_FILE: watch[n] is an offset in this file, as /proc/PID/maps tells of it (major << 20 | minor). */
	u64 watch_dev[AP_WATCH_MAX], watch_ino[AP_WATCH_MAX];
	u64 watch_counter[AP_WATCH_MAX]; /* likewise an offset, of AP_WATCH_COUNTER */
	u64 model_seed; /* where windows are is drawn from it (engine/access/feed_session.c) */
	u32 codes;	/* enum ap_cpu: whose raw codes are taken */
	u32 known_segs
		[AP_PARTY_MAX]; /* so many of a party have been seen to be taken: the next are behind them */
	struct ap_cpu_id cpu_id; /* the CPU that CPUID and /proc/cpuinfo describe */
	u64 image_bytes; /* of the engine's code at AP_IMAGE_OFF; 0: there is none, or the head is not sealed */
	u32 ncpuid; /* so many of the next, stored when they are there: ap_cpuid_list() */
	struct ap_cpuid_row cpuid[AP_CPUID_ROWS];
	u32 nregion_events; /* with AP_F_REQUESTS: regions are counted, by so many of the next: the kinds of each */
	u32 unused;
	u64 region_kinds[AP_REGION_EVENTS];
	u64 machine[128]; /* struct ap_machine of the models, stored before any task runs */
	struct ap_switches
		switches; /* read and written in builds for tests alone: abi/switches.h */
};

/* ap_session.watch_how: HW_BREAKPOINT_W, _RW or _X, and the bytes of data. */
#define AP_WATCH_HOW(type, len) ((type) | (len) << 8)
#define AP_WATCH_TYPE(how)	((how)&0xff)
#define AP_WATCH_LEN(how)	((how) >> 8 & 0xff)
#define AP_WATCH_FILE		(1u << 16) /* of code, wherever the file is mapped: a probe */
#define AP_WATCH_LOCKED		(1u << 17) /* no address: instructions that lock what they access */
/* With AP_WATCH_FILE: returns of the function that begins there; and nothing is counted, the probe's reference counter is raised. */
#define AP_WATCH_RETURN	 (1u << 18)
#define AP_WATCH_COUNTER (1u << 19)

_Static_assert(AP_SAMPLER_OFF + AP_SAMPLERS_SIZE <= AP_COMMON_OFF, "the common table follows");
_Static_assert(sizeof(struct ap_session) <= AP_FILTERS_OFF, "the filters follow");
_Static_assert(AP_REGIONS_OFF + sizeof(struct ap_regions) <= AP_STORE_OFF, "the store follows");
_Static_assert(AP_FILTERS_OFF + AP_TRACE_FILTERS * sizeof(struct ap_trace_filter) <= AP_BOARD_OFF,
	       "the board follows");

/*
 * Written by any task for all to see, in a page of its own.  A program may scribble over it: each word is no more than
 * a hint, which is looked at anew, bounded, or said again by the one that waits.
 */
/* A signal that somebody sent: when it was heard (CLOCK_MONOTONIC), and its sender. */
#define AP_HEARD_N 16	  /* up to SIGTERM */
#define AP_HEARD   0x4007 /* of HUP, INT, QUIT and TERM, which are passed on: signal n is bit n - 1 */
struct ap_heard {
	u64 ns;
	u32 from, unused;
};

/* A file of which a part was taken away: entry n of all, when .n is n + 1. */
#define AP_TAKEN_N    16
#define AP_EXECUTED_N 128
struct ap_taken {
	u64 ino;
	u32 n, unused;
};

/*
 * What the models' windows have in common (engine/access/feed_session.c).  Sums are of threads that windows have seen, each times the
 * number of others like it that none has.
 */
#define AP_WINDOWS_N (AP_KIND_N - AP_KIND_CYCLES)
struct ap_windows {
	u64 read;  /* words that were read whole at the session's beginning */
	u64 insns; /* the sum of instructions, and of each modelled count */
	u64 count[AP_WINDOWS_N];
	u32 gaps; /* between windows, by all processes */
	u32 unused;
};

/* Where a task has changed code that is not its own; start 0: not written yet. */
#define AP_POKED_N 16
struct ap_poked {
	u64 start, end;
};

struct ap_board {
	u32 doorbell;		 /* futex: incremented and woken by whoever wants the supervisor */
	u32 nsegs;		 /* where to look for a segment that nobody has: ap_segs_next() */
	u32 nnotes;		 /* likewise of notes; may pass AP_NOTE_MAX */
	u32 gone;		 /* the pid of a supervisor that was found dead */
	u64 asking[AP_ASKING_N]; /* bit (segment modulo its bits): a request waits there */
	u32 looks; /* incremented before the doorbell by a task that wants more than an answer */
	/* requests of AP_ORDER_WATCHED that were taken back: the supervisor looks for itself */
	u32 untold;
	u32 wakes; /* incremented before the doorbell by a writer that has made a wakeup due (struct ap_ring) */
	u32 mute;     /* 1 once any process may not ring the doorbell (ap_seg.mute) */
	u32 code_gen; /* incremented where a task has changed code that is not its own */
	u32 ntaken;   /* entries of taken, which is a ring */
	struct ap_heard heard[AP_HEARD_N]; /* of the command itself, by number */
	struct ap_taken taken[AP_TAKEN_N];
	u64 executed[AP_EXECUTED_N]; /* bits for inodes that some task has mapped to be executed */
	struct ap_windows windows;
	/* What an anyperf inside wants, by the calls of enum ap_prctl_op. */
	u64 kinds;	/* AP_KIND_BIT: to be counted, and never given up */
	u32 serve;	/* AP_SERVE_*: it wants AP_F_SERVE, which is the answer */
	u32 serve_rate; /* perf_event_max_sample_rate for it; 0 none given */
	/* 1 once a process that shares its descriptors with another has closed the party's: it is in nobody's table that may be shared */
	u32 files_left;
	/* 1 once a process that can unmap none of it is about to change its credentials: it waits for gone */
	u32 is_open;
	u32 unused;
	u32 npoked; /* entries of poked, may pass AP_POKED_N: then others were changed as well */
	struct ap_poked poked[AP_POKED_N];
	struct ap_root roots[AP_ROOT_MAX]; /* root 0 is the session's */
};

_Static_assert(AP_BOARD_OFF + sizeof(struct ap_board) <= AP_NOTE_OFF, "the notes follow");

static inline struct ap_board *ap_board_of(const struct ap_session *session)
{
	return (struct ap_board *)((char *)(unsigned long)session + AP_BOARD_OFF);
}

enum ap_root_state { AP_ROOT_FREE, AP_ROOT_USED, AP_ROOT_RELEASED };

/* A root below parent; 0: all are taken. */
static inline u32 ap_root_new(struct ap_board *board, u32 parent)
{
	for (u32 r = 1; r < AP_ROOT_MAX; r++) {
		u32 none = AP_ROOT_FREE;

		if (!__atomic_compare_exchange_n(&board->roots[r].used, &none, AP_ROOT_USED, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		board->roots[r].parent = parent < AP_ROOT_MAX ? parent : 0;
		return r;
	}
	return 0;
}

/* Its owner wants nothing more of it; its parent tells what it had to tell. */
static inline void ap_root_release(struct ap_board *board, u32 root)
{
	if (root && root < AP_ROOT_MAX)
		__atomic_store_n(&board->roots[root].used, AP_ROOT_RELEASED, __ATOMIC_RELEASE);
}

static inline struct ap_trace_filter *ap_trace_filter_of(const struct ap_session *session, u64 n)
{
	return (struct ap_trace_filter *)((char *)(unsigned long)session + AP_FILTERS_OFF) + n;
}

/* From 1 on; another number is the first one's. */
static inline struct ap_probe_form *ap_probe_form_of(const struct ap_session *session, u32 number)
{
	struct ap_probe_form *first =
		(struct ap_probe_form *)((char *)(unsigned long)session + AP_FORMS_OFF);

	return number - 1 < AP_PROBE_FORMS ? first + (number - 1) : first;
}

/* The tracepoint behind an id that may be a filter's. */
static inline u32 ap_trace_unfiltered(const struct ap_session *session, u32 id)
{
	u64 n = ap_trace_filter_number(id);

	return n < AP_TRACE_FILTERS ? __atomic_load_n(&session->trace_filter[n], __ATOMIC_RELAXED)
				    : id;
}

static inline struct ap_note *ap_notes_of(const struct ap_session *session)
{
	return (struct ap_note *)((char *)(unsigned long)session + AP_NOTE_OFF);
}

/* One that nobody has, to be filled and made ready; NULL where there is none, which nnotes tells by how much. */
static inline struct ap_note *ap_note_new(const struct ap_session *session)
{
	u32 at = __atomic_fetch_add(&ap_board_of(session)->nnotes, 1, __ATOMIC_ACQ_REL);
	struct ap_note *notes = ap_notes_of(session);

	for (u32 i = 0; i < AP_NOTE_MAX; i++) {
		struct ap_note *note = &notes[(at + i) % AP_NOTE_MAX];
		u32 none = AP_NOTE_FREE;

		if (__atomic_compare_exchange_n(&note->ready, &none, AP_NOTE_CLAIMED, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return note;
	}
	return NULL;
}

/* Nobody serves it any more. */
static inline bool ap_session_is_left(const struct ap_session *session)
{
	u32 pid = __atomic_load_n(&session->supervisor, __ATOMIC_RELAXED);

	return !pid || __atomic_load_n(&ap_board_of(session)->gone, __ATOMIC_RELAXED) == pid;
}

/*
 * Segments are taken by ap_seg.taken, from 0 to 1 by a compare and exchange; which one to try is what nsegs
 * is for.  A number that is nowhere near those that are known to be taken is not believed.
 */
#define AP_SEGS_AHEAD 4096U

static inline u32 ap_segs_known(const struct ap_session *s, u32 party)
{
	return __atomic_load_n(&s->known_segs[party % AP_PARTY_MAX], __ATOMIC_ACQUIRE);
}

static inline bool ap_segs_is_next(const struct ap_session *s, u32 party, u32 local)
{
	u32 known = ap_segs_known(s, party);

	return local >= known && local - known < AP_SEGS_AHEAD && local < s->max_segs;
}

/* Can there be a segment of this number? */
static inline bool ap_segs_has(const struct ap_session *s, u32 seg)
{
	return AP_SEG_LOCAL(seg) < s->max_segs;
}

/* The first to try, then the next of one that was another's; not ap_segs_has(): there is none. */
static inline u32 ap_segs_first(const struct ap_session *s, u32 party)
{
	u32 local = __atomic_fetch_add(&ap_board_of(s)->nsegs, 1, __ATOMIC_ACQ_REL);

	return party << AP_PARTY_SHIFT |
	       (ap_segs_is_next(s, party, local) ? local : ap_segs_known(s, party));
}

static inline u32 ap_segs_after(const struct ap_session *s, u32 seg)
{
	u32 party = AP_PARTY_OF(seg), local = AP_SEG_LOCAL(seg), n;
	u32 known = ap_segs_known(s, party);

	local = local + 1 < known ? known : local + 1;
	n = __atomic_load_n(&ap_board_of(s)->nsegs, __ATOMIC_RELAXED);
	if (!ap_segs_is_next(s, party, n) || n <= local)
		__atomic_store_n(&ap_board_of(s)->nsegs, local + 1, __ATOMIC_RELEASE);
	return party << AP_PARTY_SHIFT | local;
}

/* All of a party that are taken are below, as far as nsegs can be believed. */
static inline u32 ap_segs_end(const struct ap_session *s, u32 party)
{
	u32 n = __atomic_load_n(&ap_board_of(s)->nsegs, __ATOMIC_ACQUIRE);

	return party << AP_PARTY_SHIFT |
	       (n && ap_segs_is_next(s, party, n - 1) ? n : ap_segs_known(s, party));
}

/* ap_board.serve: stored once, with the options of the one that wants it. */
#define AP_SERVE_WANTED	     (1u << 0)
#define AP_SERVE_REFUSED     (1u << 1) /* ap_session.serve */
#define AP_SERVE_USER_ONLY   (1u << 2)
#define AP_SERVE_PARANOID    (1u << 3) /* given */
#define AP_SERVE_LEVEL(w)    ((s32)((w) >> 4 & 7) - 1)
#define AP_SERVE_COUNTERS(w) ((w) >> 8 & 0xff)
#define AP_SERVE_WORD(level, counters, bits)                                                       \
	((u32)((level) + 1) << 4 | (u32)(counters) << 8 | (bits) | AP_SERVE_WANTED)

/*
 * Calls on the session from inside a counted program: prctl(AP_PRCTL, op, arg).  Without an
 * engine the kernel answers EINVAL, so a nested anyperf knows whether it is inside a session.
 */
#define AP_PRCTL 0x41505246
enum ap_prctl_op {
	/* A new descriptor of the party's file, and of the head, close-on-exec and for reading alone. */
	AP_PRCTL_SESSION_FD = 1,
	AP_PRCTL_HEAD_FD = 2,
	AP_PRCTL_SET_ROOT = 3, /* counts of this process from its next exec on go to root arg */
	/* On the board, which a nested anyperf only reads itself: */
	AP_PRCTL_ROOT_NEW = 4,	   /* returns a root below arg, or -ENOSPC */
	AP_PRCTL_ROOT_RELEASE = 5, /* gives root arg back */
	AP_PRCTL_KINDS = 6,	   /* arg is counted from now on, too: wait for ap_session.kinds */
	AP_PRCTL_SERVE = 7 /* arg AP_SERVE_*, the next one serve_rate: wait for AP_F_SERVE */
};

#endif
