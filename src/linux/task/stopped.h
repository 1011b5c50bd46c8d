/* SPDX-License-Identifier: MIT */
/*
 * A whole process under ptrace: all of its threads are seized and stopped, with all signals blocked
 * and what they had of registers and masks on the side.
 */
#ifndef AP_LINUX_STOPPED_H
#define AP_LINUX_STOPPED_H

#include <sys/types.h>

#include "inject/task.h"

struct ap_stopped_task {
	pid_t tid;
	struct user_regs_struct
		regs; /* a system call that the stop interrupted is undone in them */
	u64 mask;
	s64 restart; /* why it would have been restarted, 0 when there was none */
	u64 rseq;    /* its rseq area, 0 none; unregistered by ap_stopped_take_rseq */
	u32 rseq_size, rseq_sig;
	bool is_rseq_off;
	bool is_gone; /* it died, or was let go */
};

struct ap_stopped {
	pid_t pid;
	u64 vdso;
	struct ap_stopped_task *tasks;
	u32 n, cap;
};

/* 0, or -errno with *why; then whoever was stopped goes on as before. */
AP_MUST_CHECK int ap_stopped_take(struct ap_stopped *s, pid_t pid, const char **why);
/* The same for one more thread of s->pid; it is the last of s->tasks then. */
AP_MUST_CHECK int ap_stopped_take_task(struct ap_stopped *s, pid_t tid);
/* A stopped one runs with these registers, signals blocked, for a moment; it stops anywhere. */
AP_MUST_CHECK int ap_stopped_run(struct ap_stopped *s, struct ap_stopped_task *t,
				 const struct user_regs_struct *regs);
/* Each thread of s->pid that is alive and not in s->tasks; fn returns 0 to go on. */
AP_MUST_CHECK int ap_stopped_others(struct ap_stopped *s,
				    int (*fn)(struct ap_stopped *s, pid_t tid));
/* Has one of them PR_SET_SYSCALL_USER_DISPATCH on, as far as the kernel says? */
bool ap_stopped_is_dispatched(const struct ap_stopped *s);
/*
 * The kernel judges the task's calls from then on (ap_boot_thread.dispatch); before 6.4 it cannot
 * be told.
 */
void ap_stopped_dispatch(pid_t tid, const u64 config[4]);
/* No critical section of rseq is under way any more, and the kernel knows of none. */
AP_MUST_CHECK int ap_stopped_take_rseq(struct ap_stopped *s, const char **why);
/* All that were not let go yet run on natively. */
void ap_stopped_release(struct ap_stopped *s);
/* One of them goes on with these registers; blocked: its signals stay blocked. */
void ap_stopped_let_go(struct ap_stopped_task *t, const struct user_regs_struct *regs,
		       bool blocked);
void ap_stopped_fini(struct ap_stopped *s);

#endif
