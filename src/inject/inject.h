/* SPDX-License-Identifier: MIT */
/*
 * Puts the engine into a stopped task.  docs/design/injection.md has the steps.
 */
#ifndef AP_LINUX_PTRACE_INJECT_H
#define AP_LINUX_PTRACE_INJECT_H

#include <sys/types.h>

#include "base/types.h"

struct ap_remote;

struct ap_proc_stat;

struct ap_inject {
	pid_t tid;	/* stopped under ptrace, at PTRACE_EVENT_EXEC or later */
	pid_t proc_pid; /* its name in /proc, of another pid namespace perhaps; 0: tid */
	const u8 *blob; /* image with struct ap_blob_header first */
	u64 blob_bytes; /* as long as it is here */
	s32 session_fd; /* the party's descriptor in the task, */
	s32 head_fd;	/* and the head's */
	u64 image_bytes; /* ap_session.image_bytes: its code is in the head, and the same as in blob; 0 not */
	u32 seg;	  /* its segment, state INIT */
	u32 flags;	  /* AP_F_* */
	u32 host_pid;	  /* the task in the supervisor's pid namespace, 0 unknown */
	u32 nofile_share; /* what was added to its RLIMIT_NOFILE */
	u32 limit_shares; /* ap_slot.exec_limits */
	u32 helper_pid;	  /* tracer that the task forked, as the task sees it; 0 none */
	u32 ptracer;	  /* ap_slot.exec_ptracer */
	u32 cwd;	  /* ap_slot.exec_cwd */
	u64 random;	  /* ap_slot.exec_random */
	u64 store_key[2]; /* ap_boot.store_key */
	u64 sigmask;	  /* the program's mask */
	bool has_sigmask; /* false: the mask that the task has now is the program's */
	const char *
		refused; /* why it gets no engine, and only loses the descriptors; NULL: it gets it */
	/* A running process: */
	u64 extra;    /* bytes to map behind the image */
	u32 nthreads; /* struct ap_boot_thread[] is at extra's start */
	/* Called once the image is mapped, at base; may set the session's descriptor, fills extra. */
	int (*prepare)(struct ap_inject *in, struct ap_remote *remote, u64 base, u64 extra_at);
	u64 boot_at;			 /* out: the task's struct ap_boot */
	const struct ap_proc_stat *stat; /* of the task as it is stopped; NULL: to be read */
	bool is_watched; /* a tracer of the program's is told of this stop: no signal is to come in between */
	bool had_stop; /* out: a SIGSTOP was held back; ap_inject_release sends it */
	bool had_trap; /* out: likewise a SIGTRAP */
};

/*
 * 0, and the task starts in the engine once it is let go; else -errno, *why a constant text, and
 * the task's registers and memory are as they were (a mapping of ours may be left).
 */
AP_MUST_CHECK int ap_inject(struct ap_inject *in, const char **why);
/* Lets the task go, whether it was injected or not. */
int ap_inject_release(const struct ap_inject *in);

#endif
