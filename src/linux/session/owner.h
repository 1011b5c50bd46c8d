/* SPDX-License-Identifier: MIT */
/*
 * Whose a segment is, by what the kernel says and not by what stands in it (owner.c has the rule).  All that the
 * supervisor does to a task (signals, ptrace, its files in /proc, its descriptors, its rights) it does to one that
 * was named here.
 */
#ifndef AP_LINUX_OWNER_H
#define AP_LINUX_OWNER_H

#include <signal.h>

#include "linux/session/state.h"

#define AP_OWNER_DEPTH 64 /* parents that are looked at */

enum ap_owned {
	AP_OWNED_NOT,	 /* the process has nothing to do with it */
	AP_OWNED_EMPTY,	 /* it has no memory: it is about to end, or the kernel's own */
	AP_OWNED_UNSEEN, /* /proc does not show it */
	AP_OWNED_UNBORN, /* it has not run yet, and may be the child that will count there, or the parent */
	AP_OWNED_IMAGE, /* it is about to, after an exec */
	AP_OWNED
};

/* The supervisor has rights that programs do not have: only then claims are worth a look at /proc. */
bool ap_owner_may_more(struct ap_supervisor *sv);
/* Looks anew.  head: a copy. */
enum ap_owned ap_owner_look(struct ap_supervisor *sv, u32 seg, const struct ap_seg *head,
			    pid_t pid);
/* The process that counts there, as far as is known already; else 0. */
pid_t ap_owner_of(struct ap_supervisor *sv, u32 seg);
/* The process counts there, now. */
bool ap_owner_is(struct ap_supervisor *sv, u32 seg, pid_t pid);
/* The same, or it will once it runs. */
bool ap_owner_is_child(struct ap_supervisor *sv, u32 seg, pid_t pid);
/* The supervisor has given it to that process itself. */
void ap_owner_set(struct ap_supervisor *sv, u32 seg, pid_t pid);
/* It has the files of the session that a segment of that number's party needs open by those numbers. */
bool ap_owner_holds_session(const struct ap_supervisor *sv, u32 seg, pid_t tid, s32 fd,
			    s32 head_fd);
bool ap_owner_has_thread(pid_t pid, pid_t tid);
/*
 * Sends it to a thread of the process that counts there; false: it was not sent.  Its number cannot be another's meanwhile, where the kernel
 * has descriptors of threads (6.9).
 */
bool ap_owner_signal(struct ap_supervisor *sv, u32 seg, pid_t pid, pid_t tid, siginfo_t *info);

/* Our name for a process that one of that segment calls so; 0 or less: it is not there.  It is nobody's yet. */
pid_t ap_owner_outer(struct ap_supervisor *sv, u32 seg, const struct ap_seg *head, u32 inner);
/* Of a thread that is said to count in the segment: our names, of a process that does; -ESRCH none does. */
AP_MUST_CHECK int ap_owner_names(struct ap_supervisor *sv, u32 seg, u32 inner_pid, u32 inner_tid,
				 pid_t *pid, pid_t *tid);

#endif
