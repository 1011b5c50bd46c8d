/* SPDX-License-Identifier: MIT */
/*
 * What poll says of a perf descriptor, and its signals: by the pipe that it is.  An event that has
 * a buffer has a writer, which is us; POLLIN is a byte in the pipe, POLLHUP its close, and a
 * descriptor with O_ASYNC has its signal from the kernel when we write; its receiver and its kind
 * are those of fcntl(2).  POLLERR no pipe's reader has: it is POLLHUP here, and the task puts it
 * right (service/poll.c).
 *
 * Only an overflow is a signal.  All else that the kernel would send one for is done while the file
 * has nobody to send it to.
 *
 * Natively poll takes POLLIN with it; the task tells of it (AP_SVC_POLLED), and the byte is taken
 * out.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "linux/host/host_internal.h"

#define POLL_IN_BIT  0x01U
#define POLL_ERR_BIT 0x08U
#define POLL_HUP_BIT 0x10U

#ifndef F_GETOWNER_UIDS
#define F_GETOWNER_UIDS 17
#endif

int ap_host_file_end(struct ap_host *host, struct ap_host_file *f, int how)
{
	int ref = ap_host_file_ref(host, f), fd, err;
	char name[16];

	if (ref < 0)
		return -1;
	if (host->self_fds <= 0)
		host->self_fds = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(name, sizeof(name), "%d", ref);
	fd = openat(host->self_fds, name, how | O_NONBLOCK | O_CLOEXEC);
	if (ref == f->ref)
		return fd;
	err = errno;
	close(ref);
	errno = err;
	return fd;
}

static void drain(struct ap_host *host, struct ap_host_file *f)
{
	int fd = ap_host_file_end(host, f, O_RDONLY);
	char buf[4096];

	f->is_readable = false;
	if (fd < 0)
		return;
	while (read(fd, buf, sizeof(buf)) == sizeof(buf))
		;
	close(fd);
}

/* The last reader may close at any time: its SIGPIPE is for nobody. */
static ssize_t write_quietly(int fd)
{
	const struct timespec now = { 0 };
	sigset_t pipe, old;
	ssize_t ret;
	int err;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &old);
	ret = write(fd, "", 1);
	err = errno;
	if (ret < 0 && err == EPIPE)
		(void)sigtimedwait(&pipe, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = err;
	return ret;
}

/* A pipe that nobody reads is full some time. */
static void put_byte(struct ap_host *host, struct ap_host_file *f)
{
	if (write_quietly(f->writer) >= 0 || errno != EAGAIN)
		return;
	drain(host, f);
	(void)write_quietly(f->writer);
}

/* --- without a signal */

struct quiet {
	int fd; /* of the program's file; -1: its signals are as they were */
	struct f_owner_ex owner;
};

/*
 * Who sets an owner gives it rights to send: they must be those that it had.  A kernel that does
 * not tell them has them changed by no task that may do more than the program.
 */
static bool may_set_owner(int fd)
{
	uid_t uids[2];

	if (fcntl(fd, F_GETOWNER_UIDS, uids))
		return geteuid() != 0;
	return uids[0] == getuid() && uids[1] == geteuid();
}

static void quiet_begin(struct ap_host *host, struct ap_host_file *f, struct quiet *q)
{
	q->fd = f->is_async ? ap_host_file_borrow(host, f) : -1;
	if (q->fd < 0)
		return;
	if (!fcntl(q->fd, F_GETOWN_EX, &q->owner) && q->owner.pid && may_set_owner(q->fd) &&
	    !fcntl(q->fd, F_SETOWN, 0))
		return;
	close(q->fd);
	q->fd = -1;
}

static void quiet_end(const struct quiet *q)
{
	if (q->fd < 0)
		return;
	(void)fcntl(q->fd, F_SETOWN_EX, &q->owner);
	close(q->fd);
}

/* --- poll */

void ap_host_file_polls(struct ap_host *host, struct ap_host_file *f)
{
	u32 polls = f->event ? ap_core_would_poll(host->core, f->event) : POLL_HUP_BIT;
	bool wanted = !(polls & (POLL_HUP_BIT | POLL_ERR_BIT));
	bool readable = wanted && polls & POLL_IN_BIT;
	struct quiet q;

	if (wanted && f->writer < 0)
		f->writer = ap_host_file_end(host, f, O_WRONLY);
	if (readable == f->is_readable && (wanted || f->writer < 0))
		return;
	quiet_begin(host, f, &q);
	if (!wanted && f->writer >= 0) {
		close(f->writer);
		f->writer = -1;
	}
	if (!readable) {
		drain(host, f);
	} else if (f->writer >= 0 && !f->is_readable) {
		put_byte(host, f);
		f->is_readable = true;
	}
	quiet_end(&q);
}

/*
 * The kernel sends it for every byte, and when the last writer closes: so without a buffer, where
 * there is no writer, one comes for a moment and writes nothing.
 */
void ap_host_file_signal(struct ap_host *host, struct ap_host_file *f)
{
	int fd;

	if (!f->is_async)
		return;
	if (f->writer < 0) {
		fd = ap_host_file_end(host, f, O_WRONLY);
		if (fd >= 0)
			close(fd);
		return;
	}
	put_byte(host, f);
	/* it was for the signal: poll says what it would have said */
	f->is_readable = true;
	ap_host_file_polls(host, f);
}

/* Natively the answer is the buffer's, whoever polls. */
u32 ap_host_file_polled(struct ap_host *host, struct ap_host_file *f)
{
	return f->event ? ap_core_poll(host->core, f->event) : POLL_HUP_BIT;
}

/* --- as the core has it */

void ap_host_wake(void *world, struct ap_event *event, u32 what)
{
	struct ap_host *host = world;
	struct ap_host_file *f = ap_event_host(event);

	if (!f)
		return;
	if (what & AP_WAKE_POLL)
		ap_host_file_polls(host, f);
	if (what & (AP_WAKE_IN | AP_WAKE_HUP))
		ap_host_file_signal(host, f);
}

void ap_host_wakes_look(struct ap_host *host)
{
	const struct ap_session_file *f;
	u32 wakes[AP_PARTY_MAX], *seen;
	bool any = false;

	for (u32 p = 0; (f = ap_session_next_party(host->ses, &p));) {
		/* pairs with the increment of the writer that made a wakeup due */
		wakes[f->party] = __atomic_load_n(&ap_board_of(f->head)->wakes, __ATOMIC_ACQUIRE);
		any |= wakes[f->party] != host->wakes[f->party];
	}
	if (!any)
		return;
	ap_host_carry_all(host);
	ap_core_rings_woken(host->core);
	for (u32 p = 0; (f = ap_session_next_party(host->ses, &p));) {
		seen = &host->ses->head->wakes_seen[f->party];
		host->wakes[f->party] = wakes[f->party];
		__atomic_store_n(seen, wakes[f->party], __ATOMIC_RELEASE);
	}
}
