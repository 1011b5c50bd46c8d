/* SPDX-License-Identifier: MIT */
/*
 * Inside the system call layer: the groups that ap_syscall hands calls to, and what they share.
 *
 * A handler returns what the program shall find in rax, or AP_SYSCALL_INTERRUPTED or
 * AP_SYSCALL_UNTOUCHED where the program has to execute the instruction again.  A handler that
 * changes more registers than the kernel's contract says does so in t->regs.
 */
#ifndef AP_ENGINE_TASK_H
#define AP_ENGINE_TASK_H

#include "base/types.h"
#include "engine/runtime/engine.h"
#include "sys/nr.h"

struct ap_call {
	u64 nr;
	u64 a[6];
	u64 pc; /* of the instruction */
};

#define AP_CALL_OVER(ret) ((ret) == AP_SYSCALL_INTERRUPTED || (ret) == AP_SYSCALL_UNTOUCHED)

/* syscall.c */
/* The call as it stands, with signals let in. */
s64 ap_call_pass(struct ap_thread *t, struct ap_call *c);
/*
 * Blocks all signals for a call that must not meet one.  False: one is waiting already; the handler
 * returns AP_SYSCALL_UNTOUCHED and it is delivered first.  Else *mask is the program's.
 */
AP_MUST_CHECK bool ap_call_block(struct ap_thread *t, u64 *mask);
/* What the call's arguments point to may be written to; done by ap_call_pass. */
void ap_call_give_back(const struct ap_call *c);
/* A string of the program's: its length, or -EFAULT, or -ENAMETOOLONG. */
s64 ap_call_str(char *dst, u64 src, u64 cap);

/* sys_mem.c */
s64 ap_call_memory(struct ap_thread *t, struct ap_call *c);
s64 ap_call_membarrier(struct ap_thread *t, struct ap_call *c);
s64 ap_call_write(struct ap_thread *t, struct ap_call *c);
s64 ap_call_process_madvise(struct ap_thread *t, struct ap_call *c);
/* ours.c: as on a hole, where it is on memory of ours. */
bool ap_call_is_on_ours(u64 start, u64 len);
s64 ap_call_on_hole(const struct ap_call *c);
s64 ap_call_range(struct ap_thread *t, struct ap_call *c);
s64 ap_call_advise_parts(struct ap_thread *t, struct ap_call *c);
s64 ap_call_uffd(struct ap_thread *t, struct ap_call *c);
s64 ap_call_poke(struct ap_thread *t, struct ap_call *c);
/*
 * The first part of [pos, end) that is none of the engine's: false when there is none.
 * Start with pos and go on with *hi.
 */
AP_MUST_CHECK bool ap_gap_next(u64 pos, u64 end, u64 *lo, u64 *hi);

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
typedef s64 (*ap_call_fn)(struct ap_thread *t, struct ap_call *c);
s64 ap_call_mlock(struct ap_thread *t, struct ap_call *c);
/* mlock.c: MCL_* of what the program maps from now on, 0 not locked; and a call of sys_mem.c's that makes what is locked then. */
extern u32 ap_mlock_future;
s64 ap_mlock_memory(struct ap_thread *t, struct ap_call *c, ap_call_fn make);
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

/* fdguard.c: the session's descriptor, which the program must neither meet nor lose */
s32 ap_fd(const struct ap_thread *t);
s32 ap_head_fd(const struct ap_thread *t);
/* The party's is another one from now on, and the former one closed. */
void ap_fd_replace(struct ap_thread *t, s32 fd);
void ap_fd_forget(struct ap_thread *t);
/* Another process is about to have these descriptors too; and a child that has been made has its own. */
void ap_fd_share(const struct ap_thread *t);
void ap_fd_unshare(void);
bool ap_fd_is_shared(void);
/* Shared, and not the party's any more, or about to be that no more: nothing is to be mapped of it. */
bool ap_fd_is_lost(const struct ap_thread *t);
/* Whether an exec closes both. */
void ap_fd_set_cloexec(const struct ap_thread *t, bool on);
/* Moves a descriptor to where ours are, if it can; its number. */
s64 ap_fd_beside(const struct ap_thread *t, s32 fd);
/* True where the call's outcome is EBADF because it names our descriptor. */
bool ap_fd_is_hidden(const struct ap_thread *t, const struct ap_call *c);
s64 ap_call_fd(struct ap_thread *t, struct ap_call *c);
s64 ap_call_unshare(struct ap_thread *t, struct ap_call *c);
s64 ap_call_getdents(struct ap_thread *t, struct ap_call *c);
/* RLIMIT_NOFILE is about to become cur: the descriptor goes above it if it can. */
void ap_fd_limit(struct ap_thread *t, u64 cur);

/* limits.c */
s64 ap_call_rlimit(struct ap_thread *t, struct ap_call *c);
/* For the next image: ap_slot.exec_limits, exec_nofile. */
u32 ap_limits_shares(struct ap_thread *t);
u32 ap_limits_nofile(struct ap_thread *t);
/* The program's soft limits of AS and DATA, UINT64_MAX none; false: it has set none of them. */
bool ap_limits_memory(struct ap_thread *t, u64 *as, u64 *data);
/* vm_limit.c: would what the call maps be more than those let it have? */
bool ap_vm_limit_refuses(struct ap_thread *t, const struct ap_call *c);
/* Around making a file of so many bytes for the program; false: it cannot be. */
AP_MUST_CHECK bool ap_limits_file_begin(u64 size, u64 old[2]);
void ap_limits_file_end(const u64 old[2]);
/* What was a vfork child's own is that of the process which it has forked. */
void ap_limits_fork_child(struct ap_thread *t);
/* The kernel's are the program's again; is_gone: the engine's memory is about to go, too. */
void ap_limits_give_back(struct ap_thread *t, bool is_gone);

/* procfs.c */
s64 ap_call_open(struct ap_thread *t, struct ap_call *c);
s64 ap_call_read(struct ap_thread *t, struct ap_call *c);
/* Makes a copy of our maps anew, which the call may be about to read without reading. */
void ap_procfs_before_copy(const struct ap_thread *t, struct ap_call *c);
void ap_procfs_closes(void); /* before and after a call that closes a descriptor */
void ap_procfs_files_shared(void);
/* Was /proc/PID/mem ever opened?  Is it behind this descriptor? */
bool ap_procfs_any_mem(void);
bool ap_procfs_is_mem(s32 fd);

/* random.c: the same random bytes in each run, where the session wants that */
s64 ap_call_getrandom(struct ap_thread *t, struct ap_call *c);
void ap_random_opened(const char *path);
void ap_random_read(const struct ap_call *c, s64 ret); /* after a read that gave so many bytes */
u64 ap_random_next(void); /* of the process' numbers; also where those of a child begin */
/*
 * Where an image's begin: the same however often a signal has the exec made again.  A vfork child's is drawn, for its
 * parent's numbers go on behind it, to others.
 */
u64 ap_random_of_image(struct ap_thread *t);

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
/* The next segment, mapped until the next call; NULL when there is none.  Lock held. */
struct ap_seg *ap_task_new_segment(u32 *index);
s64 ap_task_fork(struct ap_thread *t, struct ap_clone *k);
u64 ap_task_pidns(void); /* inode of the pid namespace, 0 where /proc does not say */

/* exec.c */
s64 ap_call_exec(struct ap_thread *t, struct ap_call *c);
void ap_note_exec(const char *path, const char *why); /* "not counted: path: why" */
void ap_supervisor_wake(void);			      /* to look at all slots */
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

/* thread.c */
/* The area of a thread that goes on running until it has exited. */
void ap_thread_retire(struct ap_thread *t);
/* Forgets, in a fork's only thread, all others; its slot is slot 0 of the new segment. */
AP_MUST_CHECK int ap_thread_fork_child(struct ap_thread *t);
/* All areas' slots are in another segment, of the same numbers.  All threads but the caller are still. */
AP_MUST_CHECK int ap_thread_renew_all(void);
void ap_thread_move(struct ap_thread *t, struct ap_thread *to);
void ap_thread_guard(struct ap_thread *t);
/* The last of a linked thread that is gone without having said so.  Lock held. */
void ap_thread_bury(struct ap_thread *t);
/* Is the thread that was given this serial still linked?  Lock held. */
struct ap_thread *ap_thread_by_serial(u64 serial);
/* Frees the area of a retired thread that is gone.  Lock held. */
void ap_thread_reap(u64 serial);

/* What is mapped of the party's file, for forsake.c; lock held. */
typedef void (*ap_range_fn)(void *at, u64 size);
void ap_task_window_each(ap_range_fn fn);
void ap_slot_each_seg(ap_range_fn fn);
void ap_thread_each_slot(ap_range_fn fn);

/* slot.c.  Lock held. */
AP_MUST_CHECK s64 ap_slot_map_file(void *at, u64 size, u64 off);
/* Maps a slot that nobody had yet at an address; ap_thread.slot_index in *slot. */
AP_MUST_CHECK int ap_slot_take(void *at, u32 *slot);
void ap_slot_init(struct ap_slot *slot, u32 gen);
AP_MUST_CHECK int ap_slot_fork_child(struct ap_thread *t);
/* Is there another segment than the process' own? */
bool ap_slot_has_more(void);
/* An area's slot in the segment that is the process' by now, which has counted nothing; renew: a linked thread's. */
AP_MUST_CHECK int ap_slot_map_anew(struct ap_thread *t, u32 index);
AP_MUST_CHECK int ap_slot_renew(struct ap_thread *t);
/* The same where the segment and the slot are mapped already. */
void ap_slot_begin_child(struct ap_thread *t);
/* An area with a slot where nothing can be mapped any more (cradle.h). */
AP_MUST_CHECK int ap_slot_take_cradle(struct ap_thread **out);
/* The segment that a thread's slot lies in; *seg and *slot are indices for the supervisor. */
struct ap_seg *ap_slot_place(const struct ap_thread *t, u32 *seg, u32 *slot);
void ap_slot_set_mute(bool mute); /* of all segments of the process */
/* ap_seg.kinds_ack, lanes_ack, of all segments; lock held */
void ap_slot_acknowledge(u64 kinds, u32 nlanes);
void ap_slot_set_carry(u32 carry);			 /* ap_seg.carry, likewise */
void ap_slot_acknowledge_watches(u32 gen, u32 data_gen); /* likewise watch_ack, data_ack */
void ap_slot_set_state(u32 state); /* enum ap_seg_state, of all segments of the process */

#endif
