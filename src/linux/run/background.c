/* SPDX-License-Identifier: MIT */
/*
 * Life after the command: tasks of the session run on, and somebody must serve their execs.  The
 * foreground process prints its table and leaves; a copy of it, of its own session and without
 * any of its descriptors, stays until the last task has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/host/host.h"
#include "linux/run/supervisor.h"

#define SESSION_FD 3

static bool all_ended(struct ap_supervisor *sv)
{
	/* TERM ends us: execs then find a tracer by themselves */
	return sv->is_interrupted ||
	       (!sv->ntraced && !ap_tracks_running(sv) && !ap_tracks_unsettled(sv));
}

struct kept {
	unsigned int *fds;
	u32 n, cap;
};

static void keep(void *arg, int fd)
{
	struct kept *kept = arg;

	if (kept->n < kept->cap)
		kept->fds[kept->n] = (unsigned int)fd;
	kept->n++;
}

static void each_fd(struct ap_supervisor *sv, struct kept *kept)
{
	const struct ap_session_file *f;

	for (u32 p = 1; (f = ap_session_next_party(&sv->ses, &p));)
		keep(kept, f->fd);
	if (sv->host)
		ap_host_each_fd(sv->host, keep, kept);
}

static int by_number(const void *a, const void *b)
{
	const unsigned int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* All descriptors from first on, but for what the host has of perf events. */
static int close_others(struct ap_supervisor *sv, unsigned int first)
{
	struct kept kept = { 0 };

	each_fd(sv, &kept);
	kept.cap = kept.n;
	kept.fds = kept.n ? calloc(kept.n, sizeof(*kept.fds)) : NULL;
	if (kept.n && !kept.fds)
		return -ENOMEM;
	kept.n = 0;
	each_fd(sv, &kept);
	qsort(kept.fds, kept.n, sizeof(*kept.fds), by_number);
	for (u32 i = 0; i < kept.n; i++) {
		if (kept.fds[i] > first && close_range(first, kept.fds[i] - 1, 0))
			return -errno;
		first = kept.fds[i] + 1;
	}
	free(kept.fds);
	return close_range(first, ~0U, 0) ? -errno : 0;
}

/* Nothing that somebody else may wait for stays open: pipes, terminals, locks. */
static int keep_session_only(struct ap_supervisor *sv)
{
	int null, ret;

	if (sv->ses.fd != SESSION_FD && dup2(sv->ses.fd, SESSION_FD) < 0)
		return -errno;
	sv->ses.fd = SESSION_FD;
	sv->ses.head_fd = -1; /* closed with the others: it is mapped */
	ret = close_others(sv, SESSION_FD + 1);
	if (ret)
		return ret;
	null = open("/dev/null", O_RDWR);
	if (null < 0)
		return -errno;
	for (int fd = 0; fd < SESSION_FD; fd++)
		dup2(null, fd);
	if (null > SESSION_FD)
		close(null);
	return fcntl(SESSION_FD, F_SETFD, FD_CLOEXEC) ? -errno : 0;
}

static void AP_NORETURN background_main(struct ap_supervisor *sv)
{
	const struct ap_session_file *f;

	setsid();
	(void)!chdir("/");
	if (keep_session_only(sv))
		_exit(1);
	/* of the loop's descriptors only the numbers are left, of its thread nothing */
	for (u32 i = 0; i < sv->ntracks; i++) {
		sv->tracks[i]->pidfd = -1;
		sv->tracks[i]->is_named = false;
	}
	ap_handover_forget(sv);
	sv->command = 0;
	sv->is_interrupted = false;
	sv->command_ended = true;
	__atomic_store_n(&sv->ses.head->supervisor, (u32)getpid(), __ATOMIC_RELEASE);
	if (ap_supervisor_init(sv))
		_exit(1);
	for (u32 p = 1; (f = ap_session_next_party(&sv->ses, &p));)
		ap_doorbell_join(&sv->bell, f);
	sv->is_stale = true;
	ap_tracks_update(sv);
	ap_supervisor_serve(sv, all_ended, 0);
	__atomic_store_n(&sv->ses.head->supervisor, 0, __ATOMIC_RELEASE);
	_exit(0);
}

int ap_background_start(struct ap_supervisor *sv)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (!pid) {
		/* init reaps the supervisor, whatever becomes of our caller */
		if (!fork())
			background_main(sv);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return 0;
}
