/* SPDX-License-Identifier: MIT */
/*
 * A task under ptrace: seizing, stopping, letting go, its registers and its memory, and system
 * calls made in its name.  Used on tasks that are stopped and stay stopped between calls.
 */
#ifndef AP_LINUX_PTRACE_TASK_H
#define AP_LINUX_PTRACE_TASK_H

#include <sys/types.h>
#include <sys/user.h>

#include "base/types.h"

/* attach.c */

/* Seizes without stopping; exec and system call stops will be told apart from signals. */
AP_MUST_CHECK int ap_task_seize(pid_t tid);
/* Makes a seized task stop, as soon as it can: in a vfork that is when the child lets it. */
AP_MUST_CHECK int ap_task_interrupt(pid_t tid);
/*
 * Waits for the next stop.  -ESRCH when the task ended instead; its status is left for whoever
 * reaps tasks, and may want to know it.
 */
AP_MUST_CHECK int ap_task_wait(pid_t tid, int *status);
/* Likewise, but looks for the stop for a moment before it sleeps: of a task that stops at once, on another CPU. */
AP_MUST_CHECK int ap_task_await(pid_t tid, int *status);
/* Likewise, and -EAGAIN where it has not stopped yet. */
AP_MUST_CHECK int ap_task_poll(pid_t tid, int *status);
int ap_task_detach(pid_t tid, int sig);
/*
 * Decides how a stopped task goes on: signals are passed on, group stops last, anything else
 * continues.
 */
int ap_task_resume(pid_t tid, int status);
/* PTRACE_GETEVENTMSG of the event that the task stopped for. */
int ap_task_event_msg(pid_t tid, unsigned long *msg);
static inline unsigned int ap_wait_event(int status)
{
	return (unsigned int)status >> 16;
}

AP_MUST_CHECK int ap_task_get_regs(pid_t tid, struct user_regs_struct *regs);
AP_MUST_CHECK int ap_task_set_regs(pid_t tid, const struct user_regs_struct *regs);
/* -ENOEXEC when the task runs a 32-bit program, 0 when it is one of ours. */
AP_MUST_CHECK int ap_task_check_64bit(pid_t tid);
AP_MUST_CHECK int ap_task_get_sigmask(pid_t tid, u64 *mask);
AP_MUST_CHECK int ap_task_set_sigmask(pid_t tid, u64 mask);

/* mem.c: all bytes or an error.  Writing reaches pages that the task itself may not write. */
AP_MUST_CHECK int ap_task_read(pid_t tid, u64 addr, void *buf, u64 size);
AP_MUST_CHECK int ap_task_write(pid_t tid, u64 addr, const void *buf, u64 size);

/* remote.c: system calls in the name of a stopped task. */
struct ap_remote {
	pid_t tid;
	struct user_regs_struct saved; /* the program's, put back at the end */
	u64 mask;		       /* likewise */
	u64 insn;		       /* address of a syscall instruction in the task */
	u64 patched;		       /* what stood at insn if it had to be made, see is_patched */
	bool is_patched;
	bool had_stop; /* a SIGSTOP came in between; to be sent again */
	bool had_trap; /* likewise a SIGTRAP */
	bool is_new;   /* begun in an exec stop: no signal has a handler */
	bool can_step; /* set by whoever knows that SIGTRAP is not ignored, either: one stop a call */
	bool is_apart; /* a hint: it runs on another CPU than we do */
};

/*
 * Begins from any ptrace stop, also from inside execve (PTRACE_EVENT_EXEC).  vdso is the address
 * of the task's vdso or 0; r->is_apart is set before.  regs at begin are in r->saved and may be changed before the end.
 */
AP_MUST_CHECK int ap_remote_begin(struct ap_remote *r, pid_t tid, u64 vdso);
/* 0 and the call's result in *ret, or an error of ptrace itself. */
AP_MUST_CHECK int ap_remote_call(struct ap_remote *r, long nr, const u64 args[6], s64 *ret);
/* Puts registers (and a patched instruction) back; the task stays stopped. */
int ap_remote_end(struct ap_remote *r);

#endif
