/* SPDX-License-Identifier: MIT */
/*
 * ap_run: one command from its name to its counts.  There are three ways: counted by a session of
 * our own, counted by the engine that we run in ourselves (nested), and native.
 */
#include "linux/run.h"

#include <errno.h>
#include <limits.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/launch.h"
#include "linux/program.h"
#include "linux/ptrace/task.h"
#include "linux/refusal.h"
#include "linux/result.h"
#include "linux/supervisor.h"

#define EXIT_OURS      125
#define EXIT_NOT_EXEC  126
#define EXIT_NOT_FOUND 127

#define DEFAULT_CACHE (64ULL << 20)
#define SETTLE_NS     100000000ULL  /* for tasks in their exit when the command has ended */
#define HANDOVER_NS   2000000000ULL /* for tasks in their exec then */
#define NESTED_NS     200000000ULL  /* for the outer supervisor to fold what ended */

struct saved_signals {
	sigset_t mask;
	struct sigaction on_int, on_quit, on_chld;
};

struct run {
	const struct ap_run_options *opts;
	struct ap_run_result *res;
	char path[PATH_MAX];
	struct saved_signals signals;
	struct ap_launch launch;
	struct ap_counters counters;
	struct ap_supervisor sv;
	u64 start_ns;
};

static int complain(struct run *run, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int complain(struct run *run, int status, const char *fmt, ...)
{
	va_list ap;

	fputs("anyperf: ", run->opts->err);
	va_start(ap, fmt);
	vfprintf(run->opts->err, fmt, ap);
	va_end(ap);
	fputc('\n', run->opts->err);
	return status;
}

/* --- signals: the command's are its own, ours are held while it runs */

static void take_signals(struct saved_signals *saved)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, dfl = { .sa_handler = SIG_DFL };
	sigset_t set;

	ap_supervisor_sigset(&set);
	sigprocmask(SIG_BLOCK, &set, &saved->mask);
	sigaction(SIGINT, &ignore, &saved->on_int);
	sigaction(SIGQUIT, &ignore, &saved->on_quit);
	/* an inherited SIG_IGN would reap our children for us */
	sigaction(SIGCHLD, &dfl, &saved->on_chld);
}

static void restore_dispositions(const void *arg)
{
	const struct saved_signals *saved = arg;

	sigaction(SIGINT, &saved->on_int, NULL);
	sigaction(SIGQUIT, &saved->on_quit, NULL);
	sigaction(SIGCHLD, &saved->on_chld, NULL);
}

static void give_back_signals(const struct saved_signals *saved)
{
	const struct timespec now = { 0 };
	sigset_t chld;

	/* SIGCHLDs of tasks that we have reaped are nobody's business */
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	if (!sigismember(&saved->mask, SIGCHLD))
		while (sigtimedwait(&chld, NULL, &now) > 0)
			;
	restore_dispositions(saved);
	sigprocmask(SIG_SETMASK, &saved->mask, NULL);
}

/* --- finding the program */

static int find_program(struct run *run)
{
	const char *name = run->opts->argv[0];
	int ret = ap_program_find(name, getenv("PATH"), run->path, sizeof(run->path));

	if (!ret)
		return 0;
	return complain(run, ret == -EACCES ? EXIT_NOT_EXEC : EXIT_NOT_FOUND, "%s: %s", name,
			strerror(-ret));
}

static int explain_failure(struct run *run)
{
	int err;

	switch (ap_launch_failure(&run->launch, &err)) {
	case AP_LAUNCH_READY:
		return 0;
	case AP_LAUNCH_LAYOUT:
		return complain(run, EXIT_OURS,
				"--deterministic: personality() is refused here (%s), so addresses "
				"cannot be fixed",
				strerror(-err));
	case AP_LAUNCH_SESSION:
		return complain(run, EXIT_OURS, "no descriptor left for the session: %s",
				strerror(-err));
	default:
		return complain(run, err == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXEC, "%s: %s",
				run->opts->argv[0], strerror(-err));
	}
}

/* --- launching */

static int fork_child(struct run *run, int session_fd, u32 nested_root)
{
	int ret;

	run->launch = (struct ap_launch){ .path = run->path,
					  .argv = run->opts->argv,
					  .deterministic = run->opts->deterministic,
					  .session_fd = session_fd,
					  .nested_root = nested_root,
					  .mask = &run->signals.mask,
					  .restore_signals = restore_dispositions,
					  .restore_arg = &run->signals,
					  .sock = -1 };
	ret = ap_launch_fork(&run->launch);
	if (ret)
		return complain(run, EXIT_OURS, "cannot fork: %s", strerror(-ret));
	run->sv.command = run->launch.pid;
	return 0;
}

static void let_go(struct run *run, bool as_native)
{
	ap_counters_open(&run->counters, run->launch.pid, run->opts->sw_events,
			 !run->opts->no_inherit);
	run->sv.counters = &run->counters;
	run->start_ns = ap_now_ns();
	if (run->opts->timeout_ms)
		run->sv.deadline_ns = run->start_ns + run->opts->timeout_ms * 1000000ULL;
	/* a child that was killed meanwhile is seen by its wait status */
	(void)!ap_launch_go(&run->launch, as_native);
}

/* Waits for the exec stop of a seized child: 0, or -ESRCH with its end in sv. */
static int await_exec(struct run *run)
{
	struct rusage ru;
	int status;

	for (;;) {
		if (wait4(run->launch.pid, &status, __WALL, &ru) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (!WIFSTOPPED(status)) {
			run->sv.command_ended = true;
			run->sv.wait_status = status;
			run->sv.rusage = ru;
			run->sv.end_ns = ap_now_ns();
			return -ESRCH;
		}
		if (ap_wait_event(status) == PTRACE_EVENT_EXEC)
			return 0;
		(void)ap_task_resume(run->launch.pid, status);
	}
}

/* --- after the command */

static bool command_has_ended(struct ap_supervisor *sv)
{
	return sv->command_ended;
}

static bool is_settled(struct ap_supervisor *sv)
{
	return !sv->ntraced && !ap_tracks_unsettled(sv);
}

static bool is_untraced(struct ap_supervisor *sv)
{
	return !sv->ntraced;
}

static bool all_have_ended(struct ap_supervisor *sv)
{
	return is_settled(sv) && !ap_tracks_running(sv);
}

static void take_times(struct run *run)
{
	struct ap_run_result *res = run->res;

	res->wait_status = run->sv.wait_status;
	res->wall_ns = run->sv.end_ns - run->start_ns;
	ap_counters_read(&run->counters, &run->sv.rusage, res);
}

static int finish_session(struct run *run)
{
	struct ap_supervisor *sv = &run->sv;
	int ret;

	ap_tracks_update(sv);
	if (run->opts->wait_all)
		ap_supervisor_serve(sv, all_have_ended, 0);
	ap_supervisor_serve(sv, is_settled, ap_now_ns() + SETTLE_NS);
	ap_supervisor_serve(sv, is_untraced, ap_now_ns() + HANDOVER_NS);
	take_times(run);
	run->res->tasks_running = ap_tracks_running(sv);
	ret = ap_result_take(run->res, &sv->ses, 0);
	if (ret)
		return complain(run, EXIT_OURS, "cannot read the counts: %s", strerror(-ret));
	if (run->res->tasks_running && ap_background_start(sv))
		complain(run, 0, "no supervisor for the tasks that run on: %s", strerror(errno));
	return 0;
}

/* --- the three ways */

static int run_native(struct run *run, const char *why)
{
	int ret;

	run->sv.ses.fd = -1;
	take_signals(&run->signals);
	if (ap_supervisor_init(&run->sv)) {
		give_back_signals(&run->signals);
		return complain(run, EXIT_OURS, "cannot wait for events: %s", strerror(errno));
	}
	ret = fork_child(run, -1, 0);
	if (ret)
		goto out;
	let_go(run, true);
	ret = explain_failure(run);
	ap_supervisor_serve(&run->sv, command_has_ended, 0);
	ap_launch_fini(&run->launch);
	if (!ret) {
		take_times(run);
		if (why)
			ap_result_not_counted(run->res, (u32)run->launch.pid, run->path, why);
	}
	ap_counters_close(&run->counters);
out:
	ap_supervisor_fini(&run->sv);
	give_back_signals(&run->signals);
	return ret;
}

static u32 session_flags(const struct ap_run_options *opts)
{
	return (opts->count ? AP_F_COUNT : 0) | (opts->no_inherit ? AP_F_NO_INHERIT : 0) |
	       (opts->deterministic ? AP_F_DETERMINISTIC : 0) |
	       (getenv("ANYPERF_DEBUG") ? AP_F_DEBUG : 0);
}

static int open_session(struct run *run)
{
	const struct ap_run_options *opts = run->opts;
	const struct ap_session_config cfg = { .flags = session_flags(opts),
					       .stress = opts->stress,
					       .cache_limit = opts->cache_limit ? opts->cache_limit
										: DEFAULT_CACHE,
					       .range_lo = opts->range_lo,
					       .range_hi = opts->range_hi };
	int ret = ap_session_new(&run->sv.ses, &cfg);

	if (ret)
		return complain(run, EXIT_OURS, "cannot make the session file: %s%s",
				strerror(-ret), ret == -EFBIG ? " (RLIMIT_FSIZE)" : "");
	take_signals(&run->signals);
	ret = ap_supervisor_init(&run->sv);
	if (!ret)
		return 0;
	give_back_signals(&run->signals);
	ap_session_close(&run->sv.ses);
	return complain(run, EXIT_OURS, "cannot start the supervisor: %s", strerror(-ret));
}

/* The child is seized, or the reason why nothing can be counted here is said. */
static int seize_child(struct run *run, const char **why)
{
	int ret = ap_task_seize(run->launch.pid);
	char text[240];

	*why = NULL;
	if (!ret)
		return 0;
	if (ap_tracer_of(run->launch.pid)) {
		*why = "another program traces it";
		return 0;
	}
	ap_refusal_text(ret, text, sizeof(text));
	return complain(run, EXIT_OURS, "cannot count: %s", text);
}

static int supervise(struct run *run)
{
	struct ap_traced first = { 0 };
	const char *why;
	int ret = seize_child(run, &why);

	if (ret) {
		ap_launch_abort(&run->launch);
		return ret;
	}
	let_go(run, why != NULL);
	if (!why && await_exec(run) == -ESRCH)
		return explain_failure(run);
	ret = explain_failure(run);
	if (ret)
		return ret;
	if (why) {
		ap_result_not_counted(run->res, (u32)run->launch.pid, run->path, why);
	} else {
		first.fd = run->launch.child_fd;
		first.nofile_share = run->launch.nofile_share;
		memcpy(&first.sigmask, &run->signals.mask, sizeof(first.sigmask));
		run->res->counted = ap_handover_inject(&run->sv, run->launch.pid, &first, 0);
	}
	ap_supervisor_serve(&run->sv, command_has_ended, 0);
	return 0;
}

static int run_counted(struct run *run)
{
	int ret = open_session(run);

	if (ret)
		return ret;
	ret = fork_child(run, run->sv.ses.fd, 0);
	if (!ret) {
		ret = supervise(run);
		ap_launch_fini(&run->launch);
		if (!ret)
			ret = finish_session(run);
		ap_counters_close(&run->counters);
	}
	ap_supervisor_fini(&run->sv);
	ap_session_close(&run->sv.ses);
	give_back_signals(&run->signals);
	return ret;
}

int ap_run(const struct ap_run_options *opts, struct ap_run_result *res)
{
	struct run run = { .opts = opts, .res = res };
	const char *why;
	int ret;

	memset(res, 0, sizeof(*res));
	for (unsigned int i = 0; i < AP_SW_N; i++)
		run.counters.fd[i] = -1;
	ret = find_program(&run);
	if (ret)
		return ret;
	if (opts->no_engine)
		return run_native(&run, NULL);
	why = ap_program_why_not(run.path);
	if (why)
		return run_native(&run, why);
	return run_counted(&run);
}
