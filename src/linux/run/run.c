/* SPDX-License-Identifier: MIT */
/*
 * ap_run: one command from its name to its counts.  There are three ways: counted by a session of
 * our own, counted by the engine that we run in ourselves (nested), and native.
 */
#include "linux/run/run.h"

#include <errno.h>
#include <limits.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/boot.h"
#include "inject/task.h"
#include "linux/host/host.h"
#include "linux/run/run_internal.h"
#include "linux/session/blob_image.h"
#include "linux/session/result.h"
#include "linux/task/now.h"
#include "linux/task/program.h"
#include "linux/task/refusal.h"
#include "print/print.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

#define DEFAULT_CACHE (64ULL << 20)
#define NOFILE_MOST   1048576	    /* fs.nr_open, as it is nearly everywhere */
#define SETTLE_NS     100000000ULL  /* for tasks in their exit when the command has ended */
#define HANDOVER_NS   2000000000ULL /* for tasks in their exec then */

int ap_run_complain(struct ap_run_state *run, int status, const char *fmt, ...)
{
	va_list ap;

	fputs("anyperf: ", run->opts->err);
	va_start(ap, fmt);
	ap_vprint(run->opts->err, fmt, ap);
	va_end(ap);
	fputc('\n', run->opts->err);
	return status;
}

const char *ap_run_remedy(int err)
{
	switch (err) {
	case EFBIG:
		return " (RLIMIT_FSIZE: raise ulimit -f)";
	case EMFILE:
		return " (raise ulimit -n)";
	case EAGAIN:
		return " (raise ulimit -u, or the container's limit of tasks)";
	default:
		return "";
	}
}

/* --- finding the program */

int ap_run_find(const char *name, char *path, size_t size)
{
	return ap_program_find(name, secure_getenv("PATH"), path, size);
}

static int find_program(struct ap_run_state *run)
{
	const char *name = run->opts->argv[0];
	int ret = ap_run_find(name, run->path, sizeof(run->path));

	if (!ret)
		return 0;
	return ap_run_complain(run, ret == -EACCES ? AP_EXIT_NOT_EXEC : AP_EXIT_NOT_FOUND,
			       "%s: %s%s", *name ? name : "''", strerror(-ret),
			       strchr(name, '/') ? ap_program_remedy(name, ret) : "");
}

int ap_run_explain_failure(struct ap_run_state *run)
{
	int err;

	switch (ap_launch_failure(&run->launch, &err)) {
	case AP_LAUNCH_READY:
		return 0;
	case AP_LAUNCH_LAYOUT:
		return ap_run_complain(
			run, AP_EXIT_OURS,
			"--deterministic: personality() is refused here (%s), so addresses "
			"cannot be fixed",
			strerror(-err));
	case AP_LAUNCH_SESSION:
		return ap_run_complain(run, AP_EXIT_OURS,
				       "no descriptor left for the session: %s%s", strerror(-err),
				       ap_run_remedy(-err));
	default:
		return ap_run_complain(run, err == -ENOENT ? AP_EXIT_NOT_FOUND : AP_EXIT_NOT_EXEC,
				       "%s: %s%s", run->opts->argv[0], strerror(-err),
				       ap_program_remedy(run->path, err));
	}
}

/* --- launching */

int ap_run_fork(struct ap_run_state *run, int session_fd, u32 nested_root)
{
	int ret;

	run->launch = (struct ap_launch){ .path = run->path,
					  .argv = run->opts->argv,
					  .deterministic = run->opts->deterministic,
					  .env = run->opts->env,
					  .nenv = run->opts->nenv,
					  .session_fd = session_fd,
					  .head_fd = run->sv.ses.head_fd,
					  .nested_root = nested_root,
					  .nofile = run->has_more_fds ? &run->nofile : NULL,
					  .mask = &run->signals.mask,
					  .restore_signals = ap_signals_for_command,
					  .restore_arg = &run->signals,
					  .sock = -1 };
	ret = ap_launch_fork(&run->launch);
	if (ret)
		return ap_run_complain(run, AP_EXIT_OURS, "cannot start the command: %s%s",
				       strerror(-ret), ap_run_remedy(-ret));
	run->sv.command = run->launch.pid;
	if (run->sv.ses.head)
		run->sv.ses.head->command = (u32)run->launch.pid;
	return 0;
}

int ap_run_let_go(struct ap_run_state *run, bool as_native)
{
	int ret = ap_run_client_start(run);

	if (ret) {
		ap_launch_abort(&run->launch);
		return ret;
	}
	ap_run_client_begin(run);
	if (run->opts->timeout_ms)
		run->sv.deadline_ns = run->start_ns + run->opts->timeout_ms * 1000000ULL;
	/* a child that was killed meanwhile is seen by its wait status */
	(void)!ap_launch_go(&run->launch, as_native);
	return 0;
}

/* Of the engine, which is about to be copied. */
static void bring_image_in(void)
{
	(void)madvise((void *)(uintptr_t)ap_blob_start, (size_t)(ap_blob_end - ap_blob_start),
		      MADV_POPULATE_READ);
}

static void tell_cpuid(struct ap_session *head)
{
	u32 n = ap_cpuid_list(ap_cpu_ask, head->cpuid);

	__atomic_store_n(&head->ncpuid, n, __ATOMIC_RELEASE);
}

/* Waits for the exec stop of a seized child: 0, or -ESRCH with its end in sv. */
static int await_exec(struct ap_run_state *run)
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

bool ap_run_command_has_ended(struct ap_supervisor *sv)
{
	return sv->command_ended || sv->is_given_up;
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
	return sv->is_interrupted || (is_settled(sv) && !ap_tracks_running(sv));
}

void ap_run_take_times(struct ap_run_state *run)
{
	struct ap_run_result *res = run->res;

	res->is_timed_out = run->sv.is_timed_out;
	res->end_sig = run->sv.end_sig;
	if (run->sv.is_given_up && !run->sv.command_ended) {
		res->is_given_up = true;
		res->wait_status =
			ap_run_complain(run, AP_EXIT_OURS << 8, "told twice to end: %s runs on",
					run->opts->argv[0]);
	} else {
		res->wait_status = run->sv.wait_status;
	}
	res->wall_ns = run->sv.end_ns - run->start_ns;
	ap_account_read(&run->sv.account, &run->sv.rusage, &res->account);
}

static int finish_session(struct ap_run_state *run)
{
	struct ap_supervisor *sv = &run->sv;
	int ret;

	ap_tracks_update(sv);
	if (run->opts->wait_all) {
		ap_supervisor_serve(sv, all_have_ended, 0);
		/* what was waited for is measured: a clock that went on belongs to the time that did */
		sv->end_ns = ap_now_ns();
	}
	ap_supervisor_serve(sv, is_settled, ap_now_ns() + SETTLE_NS);
	ap_supervisor_serve(sv, is_untraced, ap_now_ns() + HANDOVER_NS);
	ap_run_take_times(run);
	run->res->tasks_running = ap_tracks_running(sv);
	ap_run_client_end(run);
	ret = ap_result_take(run->res, &sv->ses, 0);
	if (ret)
		return ap_run_complain(run, AP_EXIT_OURS, "out of memory for notes: %s",
				       strerror(-ret));
	if (run->res->tasks_running && ap_background_start(sv))
		ap_run_complain(run, 0, "no supervisor for the tasks that run on: %s",
				strerror(errno));
	return 0;
}

/* --- the three ways */

static u32 session_flags(const struct ap_run_options *opts)
{
	return (opts->count ? AP_F_COUNT : 0) | (opts->no_inherit ? AP_F_NO_INHERIT : 0) |
	       (opts->deterministic ? AP_F_DETERMINISTIC : 0) |
	       (opts->fixed_tsc ? AP_F_FIXED_TSC : 0) |
	       (opts->model_thread ? AP_F_MODEL_THREAD : 0) | (opts->shares_code ? AP_F_STORE : 0) |
	       (opts->client_requests ? AP_F_REQUESTS : 0) | (opts->profiles ? AP_F_PROFILE : 0) |
	       (opts->perf.is_served ? AP_F_SERVE : 0);
}

/* A supervisor has descriptors of each process and each event; the command has the limit that we were given. */
static void raise_limit(struct ap_run_state *run)
{
	struct rlimit more;

	if (getrlimit(RLIMIT_NOFILE, &run->nofile))
		return;
	/* as many as there can be, where that is permitted */
	more.rlim_cur = more.rlim_max = NOFILE_MOST;
	run->has_more_fds = run->nofile.rlim_max < NOFILE_MOST && !setrlimit(RLIMIT_NOFILE, &more);
	if (run->has_more_fds)
		return;
	more = run->nofile;
	more.rlim_cur = more.rlim_max;
	run->has_more_fds = !setrlimit(RLIMIT_NOFILE, &more);
}

static void lower_limit(struct ap_run_state *run)
{
	if (run->has_more_fds)
		(void)setrlimit(RLIMIT_NOFILE, &run->nofile);
	run->has_more_fds = false;
}

/* Without programs to serve it is the client's alone. */
static int open_host(struct ap_run_state *run)
{
	const struct ap_run_perf *perf = &run->opts->perf;
	const struct ap_host_config cfg = { .paranoid = perf->paranoid,
					    .is_paranoid_given = perf->is_paranoid_given,
					    .counters = perf->counters,
					    .max_sample_rate = perf->max_sample_rate,
					    .user_only = perf->user_only,
					    .perfctr_cpu = perf->perfctr_cpu };

	if (!perf->is_served && !perf->is_wanted)
		return 0;
	return ap_host_new(&run->sv.host, &run->sv, &cfg);
}

static int open_session(struct ap_run_state *run)
{
	const struct ap_run_options *opts = run->opts;
	const char *refused = ap_refused_call();
	const struct ap_session_config cfg = {
		.flags = session_flags(opts),
		/* branches from the start: a task under a filter could not begin to count them */
		.kinds = opts->kinds | (opts->perf.is_served ? AP_KINDS_TRANSFERS : 0),
		.image = (const struct ap_blob_header *)ap_blob_start,
		.model_sample = opts->model_sample,
		.switches = &opts->switches,
		.machine = opts->machine ? opts->machine : ap_machine_default(),
		.cpu = ap_host_cpu(),
		.cpu_id = ap_host_cpu_id(),
		.nregion_events = opts->nregion_events,
		.region_kinds = opts->region_kinds,
		.cache_limit = opts->cache_limit ? opts->cache_limit : DEFAULT_CACHE
	};
	int ret;

	if (refused)
		return ap_run_complain(
			run, AP_EXIT_OURS,
			"cannot count: a seccomp filter refuses %s; let it through%s", refused,
			strcmp(refused, "clone3") ? "" : ", or answer ENOSYS");
	ret = ap_session_new(&run->sv.ses, &cfg);
	if (ret)
		return ap_run_complain(run, AP_EXIT_OURS, "cannot make the session file: %s%s",
				       strerror(-ret), ap_run_remedy(-ret));
	ap_signals_take(run);
	ret = ap_supervisor_init(&run->sv);
	if (!ret)
		ret = open_host(run);
	if (!ret)
		ret = ap_run_client_new(run);
	if (!ret)
		return 0;
	ap_host_free(run->sv.host);
	ap_supervisor_fini(&run->sv);
	ap_signals_give_back(run);
	ap_session_close(&run->sv.ses);
	return ap_run_complain(run, AP_EXIT_OURS, "cannot start the supervisor: %s%s",
			       strerror(-ret), ap_run_remedy(-ret));
}

static bool has_died(pid_t pid)
{
	siginfo_t si = { 0 };

	return !waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) && si.si_pid;
}

/* The child is seized, or the reason why nothing can be counted here is said. */
static int seize_child(struct ap_run_state *run, const char **why)
{
	int ret = ap_task_seize(run->launch.pid);
	char text[240];

	*why = NULL;
	if (!ret || has_died(run->launch.pid))
		return 0;
	if (ap_tracer_of(run->launch.pid)) {
		*why = "another program traces it";
		return 0;
	}
	ap_refusal_text(ret, text, sizeof(text));
	return ap_run_complain(run, AP_EXIT_OURS, "cannot count: %s", text);
}

static int supervise(struct ap_run_state *run)
{
	struct ap_seized first = { 0 };
	const char *why;
	int ret = seize_child(run, &why);

	if (ret) {
		ap_launch_abort(&run->launch);
		return ret;
	}
	ret = ap_run_let_go(run, why != NULL);
	if (ret)
		return ret;
	/* while the child is on its way to its exec */
	bring_image_in();
	tell_cpuid(run->sv.ses.head);
	if (!why && await_exec(run) == -ESRCH)
		return ap_run_explain_failure(run);
	ret = ap_run_explain_failure(run);
	if (ret)
		return ret;
	if (why) {
		ap_result_not_counted(run->res, (u32)run->launch.pid, run->path, why);
	} else {
		first.tid = run->launch.pid;
		first.fd = run->launch.child_fd;
		first.head_fd = run->launch.child_head;
		first.nofile_share = run->launch.nofile_share;
		memcpy(&first.sigmask, &run->signals.mask, sizeof(first.sigmask));
		(void)ap_handover_inject(&run->sv, run->launch.pid, &first, 0);
	}
	ap_supervisor_serve(&run->sv, ap_run_command_has_ended, 0);
	return 0;
}

/* The command is not counted, and only says when the run is over. */
int ap_run_beside(struct ap_run_state *run)
{
	int ret = ap_run_let_go(run, true);

	if (ret)
		return ret;
	ret = ap_run_explain_failure(run);
	/* one that did not exec is waited for as well */
	ap_supervisor_serve(&run->sv, ap_run_command_has_ended, 0);
	return ret;
}

static int run_command(struct ap_run_state *run)
{
	int ret = ap_run_fork(run, run->opts->is_beside ? -1 : run->sv.ses.fd, 0);

	if (ret)
		return ret;
	ret = run->opts->is_beside ? ap_run_beside(run) : supervise(run);
	ap_launch_fini(&run->launch);
	return ret;
}

static int run_targets(struct ap_run_state *run)
{
	int ret = ap_run_attach(run);

	if (!ret && run->opts->argv)
		return run_command(run);
	if (!ret)
		ret = ap_run_client_start(run);
	if (!ret)
		ap_run_serve_attached(run);
	return ret;
}

static int run_counted(struct ap_run_state *run)
{
	int ret;

	if (!ap_proc_is_ours())
		return ap_run_complain(run, AP_EXIT_OURS,
				       "cannot count: /proc does not show this pid namespace "
				       "(unshare --mount-proc, or mount -t proc proc /proc)");
	ret = open_session(run);
	if (ret)
		return ret;
	raise_limit(run);
	ret = run->opts->ntargets ? run_targets(run) : run_command(run);
	if (!ret && run->opts->ntargets)
		ap_run_client_end(run);
	ap_run_detach(run);
	if (!ret)
		ret = finish_session(run);
	ap_run_client_free(run);
	ap_host_free(run->sv.host);
	ap_supervisor_fini(&run->sv);
	ap_session_close(&run->sv.ses);
	ap_signals_give_back(run);
	lower_limit(run);
	return ret;
}

/* In a session around us its tasks are there already, for programs that can open events on them. */
static int run_about_targets(struct ap_run_state *run)
{
	const struct ap_run_options *opts = run->opts;
	const char *why = opts->argv && !opts->is_beside ? ap_program_why_not(run->path) : NULL;
	struct ap_session_file around;

	if (why)
		return ap_run_complain(run, AP_EXIT_OURS, "%s cannot be in a session: %s",
				       run->path, why);
	if (!ap_nested_join(&around))
		return run_counted(run);
	if (opts->client && !opts->client_requests)
		return ap_run_nested(run, &around);
	ap_session_close(&around);
	return ap_run_complain(run, AP_EXIT_OURS,
			       "cannot attach to %d: we are in a session ourselves",
			       (int)opts->targets[0].pid);
}

int ap_run(const struct ap_run_options *opts, struct ap_run_result *res)
{
	struct ap_run_state run = { .opts = opts, .res = res };
	struct ap_session_file around;
	const char *why;
	int ret;

	memset(res, 0, sizeof(*res));
	ret = opts->argv ? find_program(&run) : 0;
	if (ret)
		return ret;
	if (opts->no_engine)
		return ap_run_native(&run, 0);
	if (opts->ntargets)
		return run_about_targets(&run);
	why = ap_program_why_not(run.path);
	if (why) {
		ret = ap_run_native(&run, 0);
		if (!ret)
			ap_result_not_counted(res, (u32)run.launch.pid, run.path, why);
		return ret;
	}
	if (!ap_nested_join(&around))
		return run_counted(&run);
	if (!opts->client_requests && !opts->profiles)
		return ap_run_nested(&run, &around);
	ap_session_close(&around);
	return ap_run_complain(
		&run, AP_EXIT_OURS, "%s",
		opts->profiles
			? "no exact profile inside of a session of anyperf: profile the command around us"
			: "cannot answer client requests: we are in a session ourselves; "
			  "give --client-requests or --regions to the outer anyperf");
}
