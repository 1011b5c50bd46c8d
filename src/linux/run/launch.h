/* SPDX-License-Identifier: MIT */
/*
 * Starting the command: fork, hold, exec.  The child waits for a word of the parent before it
 * execs, so that it can be seized and given counters first.
 */
#ifndef AP_LINUX_LAUNCH_H
#define AP_LINUX_LAUNCH_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/types.h"

struct ap_launch {
	const char *path; /* what execve gets */
	char *const *argv;
	bool deterministic;
	int session_fd;		/* the party's file; -1: native */
	int head_fd;		/* the session's head */
	u32 nested_root;	/* not 0: ask the engine around us for this root */
	const char *const *env; /* NAME=VALUE, set in the child alone */
	size_t nenv;
	const struct rlimit *nofile;	       /* the command's own, NULL: as ours */
	const sigset_t *mask;		       /* the command's own signal mask */
	void (*restore_signals)(const void *); /* undoes what the parent changed */
	const void *restore_arg;

	const char *
		*envp; /* the command's, and how a shell would be called: made by ap_launch_fork */
	const char **shell_argv;
	pid_t pid;    /* out */
	int sock;     /* out: to the child until it execs */
	s32 child_fd; /* out, after ap_launch_go: the descriptors in the child */
	s32 child_head;
	u32 nofile_share; /* out: see struct ap_boot */
};

enum ap_launch_step {
	AP_LAUNCH_READY,   /* about to exec */
	AP_LAUNCH_LAYOUT,  /* personality() refused a fixed layout */
	AP_LAUNCH_SESSION, /* no descriptor for the session */
	AP_LAUNCH_EXEC	   /* execve failed */
};

AP_MUST_CHECK int ap_launch_fork(struct ap_launch *l);
/* Lets the child exec; as_native: it was not seized, so it drops the session first. */
AP_MUST_CHECK int ap_launch_go(struct ap_launch *l, bool as_native);
/* After the child ended without exec: which step failed, -errno in *err.  READY: none. */
enum ap_launch_step ap_launch_failure(struct ap_launch *l, int *err);
void ap_launch_fini(struct ap_launch *l);
/* Kills and reaps a child that has not been let go. */
void ap_launch_abort(struct ap_launch *l);

/*
 * Places fd at the top of the descriptor range; what RLIMIT_NOFILE was raised by is added to
 * *share.
 */
AP_MUST_CHECK int ap_fd_to_top(int fd, u32 *share);

#endif
