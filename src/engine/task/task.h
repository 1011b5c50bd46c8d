/* SPDX-License-Identifier: MIT */
/*
 * Inside the system call layer: the groups that ap_syscall hands calls to (transparency/call.h says what a handler is), and how tasks
 * begin and end.
 */
#ifndef AP_ENGINE_TASK_H
#define AP_ENGINE_TASK_H

#include "engine/thread/area.h"
#include "engine/transparency/transparency.h"

/* sys_mem.c */
s64 ap_call_memory(struct ap_thread *t, struct ap_call *c);
s64 ap_call_membarrier(struct ap_thread *t, struct ap_call *c);
s64 ap_call_write(struct ap_thread *t, struct ap_call *c);
s64 ap_call_process_madvise(struct ap_thread *t, struct ap_call *c);
s64 ap_call_poke(struct ap_thread *t, struct ap_call *c);
/* peek.c: ptrace has answered */
void ap_peek_registers(const struct ap_call *c);

/* routes.c: to the handler of its number. */
s64 ap_call_route(struct ap_thread *t, struct ap_call *c);

/* taken.c: calls that take a part of a file away */
s64 ap_call_truncate(struct ap_thread *t, struct ap_call *c);
s64 ap_call_open_by_handle(struct ap_thread *t, struct ap_call *c);
s64 ap_call_ioctl(struct ap_thread *t, struct ap_call *c);

/* send.c: calls that send signals */
s64 ap_call_send(struct ap_thread *t, struct ap_call *c);

/* sys_wait.c: calls that wait with a signal mask of their own */
s64 ap_call_masked(struct ap_thread *t, struct ap_call *c);

/* sys_misc.c */
u32 *ap_ptracer(struct ap_thread *t);	      /* the process that may trace it */
void ap_ptracer_restore(struct ap_thread *t); /* after one of ours was allowed */
/* filter_install.c */
s64 ap_call_seccomp(struct ap_thread *t, struct ap_call *c);
/* sys_misc.c: prctl, arch_prctl, set_robust_list, get_robust_list */
s64 ap_call_prctl(struct ap_thread *t, struct ap_call *c);
s64 ap_call_seclude(struct ap_thread *t, struct ap_call *c);
s64 ap_call_arch_prctl(struct ap_thread *t, struct ap_call *c);
s64 ap_call_rseq(struct ap_thread *t, struct ap_call *c);
/* around.c: prctl(AP_PRCTL, ...) */
s64 ap_call_around(struct ap_thread *t, const struct ap_call *c);
s64 ap_call_user_dispatch(struct ap_thread *t, struct ap_call *c);
/* ap_boot_thread.dispatch; false: it is off. */
bool ap_user_dispatch_config(const struct ap_thread *t, u64 config[4]);
/* Into the registers for ap_gate_native_call, by which the kernel judges from then on; false: not to be done. */
bool ap_user_dispatch_hand_over(const struct ap_thread *t, struct ap_regs *r);
/* Is the call at pc not made, but told of by SIGSYS, which waits then? */
bool ap_user_dispatch_takes(struct ap_thread *t, u64 pc);
s64 ap_call_robust(struct ap_thread *t, struct ap_call *c);

/* exec.c: the segment in the party that exec_fd has become; UINT32_MAX: it has not. */
u32 ap_supervisor_moves(struct ap_slot *slot);
/* The party is to be given up before this returns, as this process keeps what it has mapped of it. */
void ap_supervisor_gives_up(void);
/* fork.c: lock held, signals off, the only thread: it goes on in that segment of the file.  -errno: nowhere. */
AP_MUST_CHECK int ap_task_move(struct ap_thread *t, s32 file, u32 seg);

/* task.c: clone, clone3, fork, vfork, and the end of threads */
s64 ap_call_clone(struct ap_thread *t, struct ap_call *c);
AP_NORETURN void ap_call_exit(struct ap_thread *t, struct ap_call *c);

/* What clone, clone3, fork and vfork have in common. */
struct ap_clone {
	u64 flags;    /* CLONE_*, without the exit signal */
	u64 sp;	      /* the child's stack pointer; 0 is the parent's */
	u64 tid_at;   /* where the kernel writes the child's number; 0 nowhere */
	u64 nr;	      /* the program's: its filter may know no other */
	u64 raw[6];   /* arguments for the kernel; the stack is filled in late */
	u64 args[16]; /* struct clone_args, where clone3 finds it */
	u64 *random; /* where a child's numbers begin, however often the call is made; 0: not drawn yet */
};

/* task.c; task_gate.S: the call, with the stack in raw[1] (clone3: args), whose child starts at ap_task_child(child) on the new stack */
s64 ap_task_clone(u64 nr, const u64 *raw, struct ap_thread *child);
AP_NORETURN void ap_task_child(struct ap_thread *child);
bool ap_task_is_told_tid(const struct ap_thread *t);
u32 ap_task_tid(struct ap_thread *t);	    /* of the calling task, which has none yet */
u32 ap_task_pid(const struct ap_thread *t); /* after its tid */

/* fork.c */
s64 ap_task_fork(struct ap_thread *t, struct ap_clone *k);
u64 ap_task_pidns(void); /* inode of the pid namespace, 0 where /proc does not say */

/* exec.c */
s64 ap_call_exec(struct ap_thread *t, struct ap_call *c);
void ap_note_exec(const char *path, const char *why); /* "not counted: path: why" */
/* Looks for it, after so many waits of 50 ms: one that cannot be seen gets two seconds. */
bool ap_supervisor_lives(u32 slices);

/* service_hooks.c: a call that may concern perf descriptors; route is what answers all others. */
s64 ap_call_serve(struct ap_thread *t, struct ap_call *c,
		  s64 (*route)(struct ap_thread *t, struct ap_call *c));

/*
 * exec_helper.c: a tracer of our own; its pid, or 0 with *why.  All signals blocked.  was_hidden
 * is handed to the cancel, which is for an exec that failed.
 */
bool ap_task_children_are_near(void); /* in the pid namespace of this task, for certain */
s64 ap_exec_helper_start(struct ap_thread *t, bool *was_hidden, const char **why);
void ap_exec_helper_cancel(s64 pid, bool was_hidden);
void ap_exec_helper_end(s64 pid); /* reaps it */

#endif
