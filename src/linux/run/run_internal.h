/* SPDX-License-Identifier: MIT */
/*
 * One run in the making: what run.c, native.c and nested.c share.
 */
#ifndef AP_LINUX_RUN_INTERNAL_H
#define AP_LINUX_RUN_INTERNAL_H

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

#include "linux/run/attach.h"
#include "linux/run/launch.h"
#include "linux/run/run.h"
#include "linux/run/supervisor.h"

#define AP_EXIT_OURS	  125
#define AP_EXIT_NOT_EXEC  126
#define AP_EXIT_NOT_FOUND 127

struct ap_saved_signals {
	sigset_t mask;
	struct sigaction on[NSIG]; /* of ap_supervisor_sigset's */
	u64 on_setxid
		[4]; /* the kernel's struct of signal 33, which the C library takes for itself */
};

struct ap_run_state {
	const struct ap_run_options *opts;
	struct ap_run_result *res;
	char path[PATH_MAX];
	struct ap_saved_signals signals;
	struct rlimit nofile; /* as we found it: the command's own */
	bool has_more_fds;
	struct ap_launch launch;
	struct ap_supervisor sv;
	struct ap_attached *attached; /* of opts->targets: processes that are in the session */
	u32 nattached;
	struct pollfd *pidfds; /* or that are only watched */
	u32 npidfds;
	u64 start_ns;
	bool is_served_around;	  /* by a session around us */
	struct ap_nested *nested; /* the session around us: nested.c; NULL none */
};

static inline const struct ap_run_state *ap_run_of(const struct ap_supervisor *sv)
{
	return (const struct ap_run_state *)((const char *)sv - offsetof(struct ap_run_state, sv));
}

/* One line on opts->err; returns status. */
int ap_run_complain(struct ap_run_state *run, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* signals.c: the command's dispositions and mask are its own, ours are held while it runs. */
void ap_signals_take(struct ap_run_state *run);
/* What has come since the supervisor looked is told to nobody but the result: end_sig. */
void ap_signals_give_back(struct ap_run_state *run);
/* In the child: what the command is to inherit. */
void ap_signals_for_command(const void *saved);

/* Forks the child that will exec; session_fd -1 is a native one. */
AP_MUST_CHECK int ap_run_fork(struct ap_run_state *run, int session_fd, u32 nested_root);
/*
 * Has events opened on it, and lets it exec.  Not 0: a line was said, it is gone; the exit status.
 */
AP_MUST_CHECK int ap_run_let_go(struct ap_run_state *run, bool as_native);
/* 0 when the child did exec (or was killed), else a line was said; the exit status. */
AP_MUST_CHECK int ap_run_explain_failure(struct ap_run_state *run);
/* Lets a child go that nobody brings in, and waits for its end. */
AP_MUST_CHECK int ap_run_beside(struct ap_run_state *run);
void ap_run_take_times(struct ap_run_state *run);
bool ap_run_command_has_ended(struct ap_supervisor *sv);

/* run_client.c: opts->client; nothing happens where there is none. */
AP_MUST_CHECK int ap_run_client_new(struct ap_run_state *run); /* -ENOMEM */
/* The exit status, after a line was said. */
AP_MUST_CHECK int ap_run_client_start(struct ap_run_state *run);
void ap_run_client_begin(struct ap_run_state *run); /* sets start_ns */
void ap_run_client_end(struct ap_run_state *run);
void ap_run_client_free(struct ap_run_state *run);

/* run_attach.c: opts->targets.  A line was said where it fails; the exit status. */
AP_MUST_CHECK int ap_run_attach(struct ap_run_state *run);
AP_MUST_CHECK int ap_run_watch_targets(struct ap_run_state *run);
pid_t ap_run_target_process(const struct ap_run_target *target);
/* Until it ends, somebody tells us to, or the time is over. */
void ap_run_serve_attached(struct ap_run_state *run);
void ap_run_detach(struct ap_run_state *run);

/* native.c */
/*
 * Runs the command, or watches targets, without an engine of ours; in a session around us the
 * command counts for nested_root.
 */
AP_MUST_CHECK int ap_run_native(struct ap_run_state *run, u32 nested_root);

/* nested.c */
/* Its tasks that end by themselves have ended. */
void ap_nested_settle(struct ap_run_state *run);
/* The session that counts us, or -1: take part in it instead of making one. */
/* False: there is no session around us, or none that counts what we start. */
bool ap_nested_join(struct ap_session_file *around);
/* Closes it. */
AP_MUST_CHECK int ap_run_nested(struct ap_run_state *run, struct ap_session_file *around);

#endif
