/* SPDX-License-Identifier: MIT */
/*
 * What the service needs of the engine that it lives in, which defines these functions
 * (engine/syscall/service_hooks.c; a fake in tests/unit/service).  All act for the calling thread.
 */
#ifndef AP_SERVICE_HOOKS_H
#define AP_SERVICE_HOOKS_H

#include "abi/session.h"
#include "abi/slot_sum.h"
#include "base/types.h"

/* Where the calling thread counts, and asks. */
struct ap_hook_place {
	struct ap_seg *seg;
	struct ap_slot *slot;
	struct ap_slot_view counts; /* what it has counted */
	u64 direct;		    /* kinds that shapes do not count any more, */
	const u64 *direct_sums;	    /* by kind: of what they had counted before */
	u32 seg_index, slot_index;  /* in the session, in the segment */
};

const struct ap_session *ap_hook_session(void);
/* These kinds are read often: they may be counted so that reading is cheap. */
void ap_hook_count_directly(u64 kinds);
/* A page of an event is not where it was: what was said to rdpmc holds no more. */
void ap_hook_pmc_changed(void);
void ap_hook_place(struct ap_hook_place *place);

/* A system call of the engine's own. */
s64 ap_hook_sys(u64 nr, const u64 a[6]);
/* The program's break; an error: its filter of system calls would not let us ask. */
s64 ap_hook_break(void);
/* From and to the program's memory: 0 or -EFAULT; both may be the service's own. */
AP_MUST_CHECK int ap_hook_get(void *dst, u64 src, u64 n);
AP_MUST_CHECK int ap_hook_put(u64 dst, const void *src, u64 n);
/*
 * Holds all signals off.  False: one is waiting already, and the call is to be answered by
 * AP_HOOK_AGAIN with nothing done: the program executes it again when the signal was handled.
 */
#define AP_HOOK_AGAIN (-100001)
AP_MUST_CHECK bool ap_hook_hold(u64 *mask);
void ap_hook_release(u64 mask);

/* Zeroed memory that the program does not see; NULL when there is none. */
void *ap_hook_map(u64 size);
void ap_hook_unmap(void *p, u64 size); /* what ap_hook_map gave */
/* Pages of the session's head for reading, which the program does not see either; or NULL. */
const void *ap_hook_map_head(u64 off, u64 size);
/* The same for writing: rings. */
void *ap_hook_map_shared(u64 off, u64 size);
/* All samplers: what is constant to be read, the rest to be written (abi/sampler.h). */
void *ap_hook_map_samplers(void);
/*
 * The first part of [pos, end) that is none of the engine's mappings; false: there is none.  The kernel shows its
 * mappings as the program has made them.
 */
bool ap_hook_next_part(u64 pos, u64 end, u64 *lo, u64 *hi);
/* The same of all shared memory from there on. */
void ap_hook_shared_as_is(u64 start);
/* Is the calling thread's descriptor table the one of its process' other threads? */
bool ap_hook_shares_files(void);
/* The descriptor of its party's file, and which party that is. */
s32 ap_hook_session_fd(void);
u32 ap_hook_party(void);
/*
 * Sampling: from within ap_service_arm and ap_service_overflow only.  Signals need not be held off
 * there: one that comes waits until the engine is left, unless it kills or stops.
 *
 * What the calling thread has counted of a lane's kinds, exactly, as the supervisor computes it from the
 * slot; ~0 while the process' code does not take this lane down yet.
 */
u64 ap_hook_lane_raw(u32 lane);
/*
 * ap_service_overflow is to be called at the instruction on which the lane has counted so many more (0:
 * as soon as can be); AP_HOOK_NEVER: not.  With AP_HOOK_NOTE_ADDR the instruction's memory operands are
 * computed before it runs.  Holds until it is reached or armed anew.
 */
#define AP_HOOK_NEVER	  (~0ULL)
#define AP_HOOK_NOTE_ADDR (1u << 0)
/* The call may come later, where the code that the instruction is in is left. */
#define AP_HOOK_BEHIND (1u << 1)
void ap_hook_lane_arm(u32 lane, u64 counts, u32 flags);
/* In a call that has come so: the instruction on which the lane had `ago` counts less than it has now. */
struct ap_hook_passed {
	u64 pc;
	u64 bp;	  /* its frame pointer, as far as that can be told */
	u64 next; /* where it led, if it was a branch */
};
AP_MUST_CHECK bool ap_hook_passed(u64 ago, struct ap_hook_passed *at);
/* One call with AP_SAMPLE_CLOCK at 0 to 63 counts of the lane from here, each time another number. */
void ap_hook_clock_due(u32 lane);
/*
 * The same of what is modelled: the count of these kinds, in a call of ap_service_overflow for them as it was with the thing
 * that reached the mark; ~0 while nothing is modelled.  All marks anew: begin, one for each, end.  Behind a mark the next
 * is `period` away until they are armed again.
 */
u64 ap_hook_model_count(u64 kinds);
void ap_hook_models_begin(void);
void ap_hook_model_arm(u64 kinds, u64 counts, u64 period);
void ap_hook_models_end(void);
/* Bits 1 << enum ap_sampler_source: which the thread has of AP_SAMPLE_WATCH and AP_SAMPLE_TRACE. */
void ap_hook_sources(u32 mask);

/* The program's registers, as perf orders them: PERF_REG_X86_*. */
enum ap_hook_reg {
	AP_HOOK_AX,
	AP_HOOK_BX,
	AP_HOOK_CX,
	AP_HOOK_DX,
	AP_HOOK_SI,
	AP_HOOK_DI,
	AP_HOOK_BP,
	AP_HOOK_SP,
	AP_HOOK_IP,
	AP_HOOK_FLAGS,
	AP_HOOK_CS,
	AP_HOOK_SS,
	AP_HOOK_DS,
	AP_HOOK_ES,
	AP_HOOK_FS,
	AP_HOOK_GS,
	AP_HOOK_R8,
	AP_HOOK_R15 = AP_HOOK_R8 + 7,
	AP_HOOK_REGS
};
void ap_hook_regs(u64 regs[AP_HOOK_REGS]);

/* The taken branches before this point, the last one first; 0 where the session has none noted. */
enum ap_hook_branch_type {
	AP_HOOK_BR_UNKNOWN,
	AP_HOOK_BR_COND,
	AP_HOOK_BR_JMP,
	AP_HOOK_BR_JMP_IND,
	AP_HOOK_BR_CALL,
	AP_HOOK_BR_CALL_IND,
	AP_HOOK_BR_RET,
	AP_HOOK_BR_SYSCALL
};
/* Of the predictors, where they are modelled. */
enum ap_hook_branch_said { AP_HOOK_BR_NOT_SAID, AP_HOOK_BR_RIGHT, AP_HOOK_BR_WRONG };
#define AP_HOOK_BRANCHES 32
struct ap_hook_branch {
	u64 from, to;
	u32 type; /* enum ap_hook_branch_type */
	u32 said; /* enum ap_hook_branch_said */
};
u32 ap_hook_branches(struct ap_hook_branch *b, u32 max);
/* The same of the calls that have not returned, where the session has them kept. */
u32 ap_hook_calls(struct ap_hook_branch *b, u32 max);

/* Around making a file of so many bytes for the program, which may have limited that; false: it cannot be made. */
bool ap_hook_file_begin(u64 size, u64 limit[2]);
void ap_hook_file_end(const u64 limit[2]);

/* Until a signal that was sent to the thread has come; not where it is blocked or ignored, and never for long. */
void ap_hook_await_signal(u32 sig);

/* Looks whether the supervisor, after so many waits for it. */
bool ap_hook_supervisor_lives(u32 waits);

#endif
