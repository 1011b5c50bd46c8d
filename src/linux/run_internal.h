/* SPDX-License-Identifier: MIT */
/*
 * One run in the making: what run.c, native.c and nested.c share.
 */
#ifndef AP_LINUX_RUN_INTERNAL_H
#define AP_LINUX_RUN_INTERNAL_H

#include <limits.h>
#include <signal.h>

#include "linux/attach.h"
#include "linux/launch.h"
#include "linux/run.h"
#include "linux/supervisor.h"

#define AP_EXIT_OURS	  125
#define AP_EXIT_NOT_EXEC  126
#define AP_EXIT_NOT_FOUND 127

struct ap_saved_signals {
	sigset_t mask;
	struct sigaction on_chld;
	u64 on_setxid
		[4]; /* the kernel's struct of signal 33, which the C library takes for itself */
};

struct ap_run_state {
	const struct ap_run_options *opts;
	struct ap_run_result *res;
	char path[PATH_MAX];
	struct ap_saved_signals signals;
	struct ap_launch launch;
	struct ap_counters counters;
	struct ap_supervisor sv;
	struct ap_attached attached;
	u64 start_ns;
};

/* One line on opts->err; returns status. */
int ap_run_complain(struct ap_run_state *run, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* signals.c: the command's dispositions and mask are its own, ours are held while it runs. */
void ap_signals_take(struct ap_saved_signals *saved);
void ap_signals_give_back(const struct ap_saved_signals *saved);
/* In the child: what the command is to inherit. */
void ap_signals_for_command(const void *saved);

/* Forks the child that will exec; session_fd -1 is a native one. */
AP_MUST_CHECK int ap_run_fork(struct ap_run_state *run, int session_fd, u32 nested_root);
/* Opens counters on it and lets it exec. */
void ap_run_let_go(struct ap_run_state *run, bool as_native);
/* 0 when the child did exec (or was killed), else a line was said; the exit status. */
AP_MUST_CHECK int ap_run_explain_failure(struct ap_run_state *run);
void ap_run_take_times(struct ap_run_state *run);
bool ap_run_command_has_ended(struct ap_supervisor *sv);

/* run_attach.c: opts->attach.  A line was said where it fails; the exit status. */
AP_MUST_CHECK int ap_run_attach(struct ap_run_state *run);
/* Until it ends, somebody tells us to, or the time is over. */
void ap_run_serve_attached(struct ap_run_state *run);
void ap_run_detach(struct ap_run_state *run);

/* native.c */
/* Runs the command without an engine of ours; in a session around us it counts for nested_root. */
AP_MUST_CHECK int ap_run_native(struct ap_run_state *run, u32 nested_root);

/* nested.c */
/* The session that counts us, or -1: take part in it instead of making one. */
int ap_nested_session_fd(void);
AP_MUST_CHECK int ap_run_nested(struct ap_run_state *run, int session_fd);

#endif
