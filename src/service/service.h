/* SPDX-License-Identifier: MIT */
/*
 * The service's entrances: what the engine calls for the system calls of a session that serves
 * perf events (AP_F_SERVE), and for tasks that the core watches.  docs/design/service.md.
 */
#ifndef AP_SERVICE_SERVICE_H
#define AP_SERVICE_SERVICE_H

#include "abi/session.h"
#include "base/types.h"

#define AP_SERVICE_NR_OPEN 298 /* perf_event_open */

/* A system call of the program on its way. */
struct ap_service_call {
	u64 nr;
	u64 a[6]; /* ap_service_before may change them: the kernel gets these */
	s64 ret;
	u32 after; /* the service has more to do when the kernel has answered; 0 nothing */
	s32 fd;	   /* the service's own from here on */
	u64 inode;
	u32 tree;  /* like after, of the generated tree */
	u32 tells; /* likewise: some event records what the call does, */
	u32 goes;  /* what it takes away */
};

/* Calls that take a path or change where paths begin: bits of their numbers. */
static inline bool ap_service_is_of_paths(u64 nr)
{
	static const u64 bits[7] = {
		[0] = 1ULL << 2 | 1ULL << 4 | 1ULL << 6 |
		      1ULL << 21, /* open, stat, lstat, access */
		[1] = 1ULL << (79 - 64) | 1ULL << (80 - 64) | 1ULL << (81 - 64) |
		      1ULL << (89 - 64),			  /* chdir, readlink */
		[2] = 1ULL << (137 - 128) | 1ULL << (161 - 128) | /* statfs, chroot, *xattr */
		      1ULL << (191 - 128),
		[3] = 1ULL << (192 - 192) | 1ULL << (194 - 192) | 1ULL << (195 - 192),
		[4] = 1ULL << (257 - 256) | 1ULL << (262 - 256) | /* *at, unshare, setns */
		      1ULL << (267 - 256) | 1ULL << (269 - 256) | 1ULL << (272 - 256) |
		      1ULL << (308 - 256),
		[5] = 1ULL << (332 - 320),			 /* statx */
		[6] = 1ULL << (437 - 384) | 1ULL << (439 - 384), /* openat2, faccessat2 */
	};

	return nr < 448 && bits[nr >> 6] >> (nr & 63) & 1;
}

/*
 * Calls that side-band records tell of: mmap, mprotect, brk, mkdir, prctl, mkdirat, unshare, setns,
 * pkey_mprotect.
 */
static inline bool ap_service_is_of_records(u64 nr)
{
	return nr == 9 || nr == 10 || nr == 12 || nr == 83 || nr == 157 || nr == 258 || nr == 272 ||
	       nr == 308 || nr == 329;
}

/*
 * Are descriptors looked at?  Once they are they always are, since what is known of them would be wrong otherwise.
 * ap_service_used: this process knows, whether or not there is a supervisor to say so.
 */
extern bool ap_service_used;
static inline bool ap_service_is_used(const struct ap_session *session)
{
	return session->perf_used || ap_service_used;
}

/*
 * Need the calls be shown at all?  One test while the session has never had an event; where only its owner
 * has some, nothing but what is recorded.
 */
static inline bool ap_service_wants(const struct ap_session *session, u64 nr)
{
	if (!(session->flags & AP_F_SERVE))
		return ap_service_is_used(session) && ap_service_is_of_records(nr);
	return ap_service_is_used(session) || nr == AP_SERVICE_NR_OPEN ||
	       ap_service_is_of_paths(nr);
}

/* True: c->ret is the answer (AP_HOOK_AGAIN included).  False: the kernel's turn. */
AP_MUST_CHECK bool ap_service_before(struct ap_service_call *c);
/* c->ret is the kernel's answer, and may change.  Only where c->after, tree, tells or goes is set. */
void ap_service_after(struct ap_service_call *c);

/*
 * The program has opened this for writing, has written to a descriptor: some files say what a task is
 * called, and where it is.
 */
void ap_service_opened(const char *path, u64 len);
void ap_service_wrote(s32 fd);

/*
 * Of tasks, with all signals blocked: told to the supervisor where it watches them.  forks before the
 * child exists, and true where a failure has to be told; exits before the counts are folded; buries
 * for a vfork child, before its slot goes: it was killed, or goes on in an image of its own.
 */
/* Who traces a task has put the engine into its new image, segment seg (UINT32_MAX: has not), in place of former. */
void ap_service_traced_exec(u32 pid, u32 seg, u32 former);
AP_MUST_CHECK bool ap_service_forks(u32 seg, u32 slot, bool is_thread);
void ap_service_fork_failed(u32 seg, u32 slot, bool is_thread);
void ap_service_exits(bool whole_process);
/* A task's first: it has its names, and runs nothing of the program's yet. */
void ap_service_begins(void);
void ap_service_buries(const struct ap_slot *other, u32 seg, u32 slot);

/*
 * What rdpmc reads of a counter of the calling thread; false where none is there that a mapping names.
 * The instruction is counted already, and does not count itself.
 */
struct ap_service_pmc {
	u64 value;
	u64 kinds;	   /* it grows by what the thread counts of them; 0: ask each time */
	const u32 *seq_at; /* while this is seq */
	u32 seq;
};
AP_MUST_CHECK bool ap_service_pmc(u32 counter, struct ap_service_pmc *pmc);
/* What the calling thread has counted of n sets of kinds, as a read of an event of each has it. */
void ap_service_readings(const u64 *kinds, u32 n, u64 *counts);

/* Nobody prompts the process any more (AP_PROMPT_CODE): it could not bear it. */
void ap_service_quiet(void);

/* Where the process is, for its next image; 0 where the kernel knows (service/tree_cwd.c). */
u32 ap_service_cwd(void);
void ap_service_begins_in(u32 where);

/* In a fork's child: it has the descriptors and not the mappings. */
void ap_service_in_child(void);
/* May the process go on in another party's file?  Not where the program has mapped pages of this one. */
bool ap_service_may_move(void);
/* It does: nothing is mapped of the former one any more. */
AP_MUST_CHECK bool ap_service_moves(void);
/* All that is mapped of the party's file, for the program or not. */
void ap_service_each_shared(void (*fn)(void *at, u64 size));
/*
 * The end of a line of /proc/self/maps, from the device on, with the name at name_at: true where a
 * perf event is mapped at start.
 */
bool ap_service_names_map(u64 start, u64 name_at, char *tail, u64 cap);

/*
 * Sampling (docs/design/sampling.md); the engine's half is in hooks.h.
 *
 * arm: the supervisor has changed the thread's samplers (ap_slot.sampler_gen), the thread or its image is
 * new, or its code takes down more lanes than before; before the program goes on.  It arms each lane, or leaves it as it is, and stores sampler_ack.
 */
void ap_service_arm(void);

/* Where a count has been reached: a clean boundary, all registers the program's. */
struct ap_service_point {
	u32 source;    /* enum ap_sampler_source */
	u32 which;     /* lane, watch, or id of the tracepoint; of AP_SAMPLE_CLOCK the lane */
	bool prompted; /* of AP_SAMPLE_CLOCK: its time has come by the kernel's clock */
	bool known;    /* what follows is: not where a count was passed before it was armed */
	u64 value; /* of a tracepoint at a call's entry its number, at its exit what it returns; of a model: the count */
	u64 kinds; /* of AP_SAMPLE_MODEL */
	/* The instruction: it has run, and the program's pc is where it led; of a watch, it is about to. */
	u64 pc;
	bool is_behind; /* .pc is none: each overflow has an instruction of its own (ap_hook_passed) */
	bool is_late; /* .pc is where the thread stands, which is not where the count was passed, or is by an estimate */
	u64 bp, next; /* of it, then; the registers are of somewhere behind it */
	/* Of AP_SAMPLE_MODEL: the registers are of behind last_pc, in the same function, or of somewhere else. */
	u64 last_pc;
	bool has_no_regs;
	bool has_result; /* what became of the reference to mem[0]: the next two */
	u64 data_src;	 /* union perf_mem_data_src, without its operation */
	u64 latency;	 /* cycles, all of it in sequence */
	/* The rest only with has_mem: AP_HOOK_NOTE_ADDR was given, and the registers before it were seen. */
	bool has_mem;
	u8 len, nmem; /* bytes in code, elements of mem */
	u8 code[16];
	struct {
		u64 addr;
		u32 size;
		bool read, write;
	} mem[2];
};

/*
 * The session's filters of that tracepoint which it passes here and now, as bits; value as ap_service_point's.
 * Only while there are some (ap_session.trace_filters).
 */
u64 ap_service_filters(u32 id, u64 value);

/* For the SIGTRAP of an event with sigtrap; all 0 where the siginfo has it so. */
struct ap_service_trap {
	u64 addr; /* si_addr */
	u64 data; /* si_perf_data */
	u32 type; /* si_perf_type */
};

/*
 * The lane's budget is used up, or something that ap_hook_sources names was counted.  True: the engine
 * raises the SIGTRAP that *trap says, here.  A lane that is to go on is armed anew by this call.
 */
AP_MUST_CHECK bool ap_service_overflow(const struct ap_service_point *p,
				       struct ap_service_trap *trap);
/* A signal is about to be shown to the program: the 128 bytes of its siginfo, to be put right. */
void ap_service_patch_siginfo(u32 sig, void *info);

/* The process shares descriptors with one whose calls are not seen, from now on. */
void ap_service_files_shared(void);

#endif
