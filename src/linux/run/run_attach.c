/* SPDX-License-Identifier: MIT */
/*
 * A run about processes that run already: brought into a session, or, where nothing needs the
 * engine, only watched.  A command may stand beside them.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/proc.h"
#include "linux/host/host.h"
#include "linux/run/run_internal.h"
#include "linux/task/now.h"

pid_t ap_run_target_process(const struct ap_run_target *target)
{
	char text[4096];
	const char *tgid;

	if (target->pid)
		return target->pid;
	if (ap_proc_read(target->tid, "status", text, sizeof(text)) <= 0)
		return target->tid;
	tgid = ap_status_find(text, "Tgid");
	return tgid ? (pid_t)ap_text_u64(&tgid, 10) : target->tid;
}

static bool is_attached(const struct ap_run_state *run, pid_t pid)
{
	for (u32 i = 0; i < run->nattached; i++)
		if (run->attached[i].pid == pid)
			return true;
	return false;
}

int ap_run_attach(struct ap_run_state *run)
{
	const struct ap_run_options *opts = run->opts;
	char why[AP_ATTACH_WHY];

	run->attached = calloc(opts->ntargets, sizeof(*run->attached));
	if (!run->attached)
		return ap_run_complain(run, AP_EXIT_OURS, "out of memory");
	for (u32 i = 0; i < opts->ntargets; i++) {
		pid_t pid = ap_run_target_process(&opts->targets[i]);

		if (is_attached(run, pid))
			continue;
		if (ap_attach(&run->sv, pid, &run->attached[run->nattached], why))
			return ap_run_complain(run, AP_EXIT_OURS, "cannot attach to %d: %s",
					       (int)pid, why);
		run->nattached++;
	}
	run->sv.attached = run->attached;
	run->sv.nattached = run->nattached;
	ap_tracks_update(&run->sv);
	return 0;
}

int ap_run_watch_targets(struct ap_run_state *run)
{
	const struct ap_run_options *opts = run->opts;

	run->pidfds = calloc(opts->ntargets, sizeof(*run->pidfds));
	if (!run->pidfds)
		return ap_run_complain(run, AP_EXIT_OURS, "out of memory");
	for (u32 i = 0; i < opts->ntargets; i++) {
		pid_t pid = ap_run_target_process(&opts->targets[i]);
		int fd = (int)syscall(SYS_pidfd_open, pid, 0), ret;

		if (fd < 0)
			return ap_run_complain(run, AP_EXIT_OURS, "cannot count %d: %s", (int)pid,
					       strerror(errno));
		run->pidfds[run->npidfds++] = (struct pollfd){ .fd = fd, .events = POLLIN };
		/* once is enough: the loop looks for itself then */
		ret = ap_supervisor_watch(&run->sv, fd, AP_SV_TAG_WAKE, EPOLLIN | EPOLLONESHOT);
		if (ret)
			return ap_run_complain(run, AP_EXIT_OURS, "cannot wait for %d: %s",
					       (int)pid, strerror(-ret));
	}
	return 0;
}

/* Once all have ended, each is readable. */
static bool are_gone(const struct ap_run_state *run)
{
	return poll(run->pidfds, run->npidfds, 0) == (int)run->npidfds;
}

static bool has_ended(struct ap_supervisor *sv)
{
	const struct ap_run_state *run = ap_run_of(sv);

	if (sv->is_interrupted || sv->is_stopped)
		return true;
	return run->npidfds ? are_gone(run) : !ap_tracks_running(sv);
}

void ap_run_serve_attached(struct ap_run_state *run)
{
	u64 ms = run->opts->timeout_ms;

	ap_run_client_begin(run);
	/* what has no descriptor in the loop is looked at by the clock */
	ap_supervisor_serve(&run->sv, has_ended, ms ? run->start_ns + ms * 1000000ULL : 0);
	run->sv.end_ns = ap_now_ns();
}

void ap_run_detach(struct ap_run_state *run)
{
	for (u32 i = 0; i < run->nattached; i++) {
		struct ap_attached *a = &run->attached[i];
		int ret;

		if (run->sv.host)
			ap_host_quiet(run->sv.host, a->pid);
		ret = ap_detach(&run->sv, a);

		if (ret && ret != -ESRCH)
			ap_run_complain(run, 0,
					"cannot leave process %d, which runs on in the session: %s",
					(int)a->pid, strerror(-ret));
	}
	for (u32 i = 0; i < run->npidfds; i++)
		close(run->pidfds[i].fd);
	run->sv.attached = NULL;
	run->sv.nattached = 0;
	free(run->attached);
	free(run->pidfds);
	run->attached = NULL;
	run->pidfds = NULL;
	run->nattached = run->npidfds = 0;
}
