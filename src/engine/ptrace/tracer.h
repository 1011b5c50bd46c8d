/* SPDX-License-Identifier: MIT */
/*
 * Inside the tracing side (tracer*.c): what a process that traces others knows of each.  docs/design/traced.md.
 */
#ifndef AP_ENGINE_TRACER_H
#define AP_ENGINE_TRACER_H

#include "engine/emit/offsets.h"
#include "engine/ptrace/traced.h"
#include "engine/runtime/engine.h"
#include "engine/signal/signal.h"
#include "engine/task/task.h"
#include "inject/task.h"

#define AP_TRACEES_MAX 256 /* of one process; what is beyond is shown as the kernel has it */

/* What the registers of a stopped task mean. */
enum ap_tracee_kind {
	AP_TRACEE_OTHER, /* natively there: it has no engine, or the table is full */
	AP_TRACEE_RAW,	 /* stopped by the kernel, in the engine: t->regs are the program's */
	AP_TRACEE_MARK,	 /* at the engine's trap instruction */
	AP_TRACEE_NEW	 /* of a new image, whose engine has not begun: the boot page has them */
};

#define AP_KEPT_MAX 64 /* one of each number: what does not queue always has room */

/* A stop that is told when the task has come to where its registers are the program's. */
struct ap_kept {
	int status;
	bool has_info;
	struct ap_siginfo info;
};

/* Written by the thread that traces it alone. */
struct ap_tracee {
	u32 tid; /* 0: free */
	u32 opts;
	u32 kind;   /* enum ap_tracee_kind */
	u64 thread; /* its struct ap_thread; 0 unknown */
	u64 boot;   /* AP_TRACEE_NEW: its struct ap_boot */
	u64 nr;	    /* of the call that replaced its image */
	int status; /* as wait() says of the stop that it is in; 0 runs */
	u32 nkept;
	u32 code_gen; /* ap_board.code_gen, as it has been told to mind */
	u32 given;    /* the signal that it was let go with last */
	bool is_seized, knows_opts, has_info, has_msg;
	bool awaits_call; /* it is on its way from the entry's stop to the call, and meets there what is kept */
	bool restarts; /* the kernel makes the call again, if the program takes the signal away */
	bool is_cut;   /* the exit of a call is told in place of the signal that cut it short */
	u32 nqueued;
	struct ap_kept kept[AP_KEPT_MAX]; /* the oldest first */
	struct ap_siginfo
		queued[AP_KEPT_MAX]; /* as they were: sent anew, they look like the tracer's */
	struct ap_siginfo info, cut;
	unsigned long msg;
	struct ap_traced traced; /* as read at the stop */
};

/* tracer.c */
struct ap_tracee *ap_tracee_find(u32 tid);
struct ap_tracee *ap_tracee_get(u32 tid); /* makes one; NULL: the table is full */
void ap_tracee_drop(u32 tid);
void ap_tracee_send_anew(struct ap_tracee *e, const struct ap_siginfo *info);

/* tracer_regs.c: as the program has them */
s64 ap_tracee_regs(const struct ap_tracee *e, struct user_regs_struct *r);
s64 ap_tracee_set_regs(struct ap_tracee *e, const struct user_regs_struct *r);
s64 ap_tracee_call_info(const struct ap_tracee *e,
			void *out); /* PTRACE_GET_SYSCALL_INFO; its size */

/* tracer_exec.c: the task stands in its new image; at_trap: behind the exec, by the SIGTRAP that it raises */
/* False: it has not said that it would be followed. */
bool ap_tracee_put_in(struct ap_tracee *e, bool at_trap);

static inline u64 ap_tracee_field(const struct ap_tracee *e, u64 offset)
{
	return e->thread + offset;
}

#endif
