/* SPDX-License-Identifier: MIT */
/*
 * An event whose descriptor has O_ASYNC signals its own overflows and wakeups, and nothing else: not that a ring is mapped
 * or goes, that its task has ended, that a descriptor of several is closed, or that somebody else has written into its ring
 * (kernel/events/core.c: kill_fasync() comes from perf_event_wakeup() alone, and only where pending_kill was set, by
 * an overflow or by perf_output_wakeup(); perf_mmap_close() and perf_event_exit_event() only wake who polls).
 */
/* CASE: session -- */
#include "check.h"

static volatile int signals, code;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	signals++;
	code = info->si_code;
}

__attribute__((noinline)) static void target(void)
{
	__asm__ volatile("");
}

static void make_async(int fd)
{
	fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK | O_ASYNC);
	fcntl(fd, F_SETSIG, SIGIO);
	fcntl(fd, F_SETOWN, getpid());
	signals = 0;
}

static struct perf_event_attr sampled(void)
{
	struct perf_event_attr a = BPX(target);

	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_IP;
	a.wakeup_events = 1;
	return a;
}

static void unmap(struct ring *r)
{
	munmap(r->pg, r->size + 4096);
}

static void unmapped(struct perf_event_attr a, bool enables, bool disables, const char *what)
{
	struct ring r = { 0 };
	int fd = xo(&a, 0, -1, -1, 0);

	rmap(&r, fd, 8, RW);
	make_async(fd);
	if (enables)
		EN(fd);
	if (disables)
		DIS(fd);
	unmap(&r);
	close(fd);
	CHECK(!signals, "%s: %d signals when its ring goes", what, signals);
}

static void overflows(void)
{
	struct perf_event_attr a = sampled();
	struct ring r = { 0 };
	int fd = xo(&a, 0, -1, -1, 0), poll_says;

	make_async(fd); /* before there is a ring */
	rmap(&r, fd, 8, RW);
	EN(fd);
	target();
	target();
	CHECK(signals == 2 && code == POLL_IN, "2 overflows: %d signals", signals);
	poll_says = pollfd(fd);
	CHECK(poll_says == POLLIN, "poll: %#x", poll_says);
	target();
	DIS(fd);
	CHECK(signals == 3, "one more: %d signals", signals);
	unmap(&r);
	CHECK(signals == 3, "the ring goes: %d signals", signals);
	EN(fd);
	target();
	DIS(fd);
	CHECK(signals == 4, "an overflow without a ring: %d signals", signals);
	close(fd);
}

static void duplicates(void)
{
	struct perf_event_attr a = sampled();
	int fd = xo(&a, 0, -1, -1, 0), other;

	make_async(fd);
	other = dup(fd);
	close(other);
	CHECK(!signals, "a copy is closed: %d signals", signals);
	other = dup(fd);
	close(fd);
	CHECK(!signals, "the original is closed: %d signals", signals);
	EN(other);
	target();
	DIS(other);
	CHECK(signals == 1, "an overflow: %d signals", signals);
	close(other);
}

/* b writes into a's ring. */
static void redirected(void)
{
	struct perf_event_attr a = sampled(), b = sampled();
	struct ring r = { 0 };
	int fd, to;

	a.bp_addr = (u64)on_signal; /* which it never overflows by, here */
	to = xo(&a, 0, -1, -1, 0);
	fd = xo(&b, 0, -1, -1, 0);
	rmap(&r, to, 8, RW);
	make_async(to);
	CHECK(!ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, to), "SET_OUTPUT");
	EN(fd);
	target();
	DIS(fd);
	CHECK(!signals && pollfd(to) == POLLIN, "another's overflow: %d signals", signals);
	ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1L);
	make_async(fd);
	ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, to);
	ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1L);
	CHECK(!signals && pollfd(fd) == POLLHUP, "its output goes: %d signals", signals);
	ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, to);
	unmap(&r);
	CHECK(!signals && pollfd(fd) == POLLHUP, "and the ring: %d signals", signals);
	close(fd);
	close(to);
}

/* Records that are no samples. */
static void sideband(void)
{
	struct perf_event_attr a = SWD;
	struct ring r = { 0 };
	int fd, poll_says;

	a.comm = a.watermark = 1;
	a.wakeup_watermark = 1;
	fd = xo(&a, 0, -1, -1, 0);
	rmap(&r, fd, 8, RW);
	make_async(fd);
	EN(fd);
	prctl(PR_SET_NAME, "another");
	DIS(fd);
	poll_says = pollfd(fd);
	CHECK(signals == 1 && poll_says == POLLIN, "COMM: %d signals, poll %#x", signals,
	      poll_says);
	unmap(&r);
	close(fd);
}

static void of_a_child(void)
{
	struct perf_event_attr a = SWD;
	struct ring r = { 0 };
	int fd, gate[2], poll_says;
	char c = 0;
	pid_t pid;

	if (pipe(gate))
		exit(3);
	pid = fork();
	if (!pid)
		_exit(read(gate[0], &c, 1) != 1);
	fd = xo(&a, pid, -1, -1, 0);
	rmap(&r, fd, 8, RW);
	make_async(fd);
	EN(fd);
	poll_says = pollfd(fd);
	CHECK(!poll_says, "a child lives: poll %#x", poll_says);
	if (write(gate[1], &c, 1) != 1)
		exit(3);
	waitpid(pid, NULL, 0);
	poll_says = pollfd(fd);
	CHECK(!signals && poll_says == POLLHUP, "it has ended: %d signals, poll %#x", signals,
	      poll_says);
	unmap(&r);
	close(fd);
	CHECK(!signals, "and the ring: %d signals", signals);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	sigaction(SIGIO, &sa, NULL);
	unmapped(SWD, true, false, "dummy, enabled");
	unmapped(SWD, true, true, "dummy, enabled and disabled");
	unmapped(SWD, false, false, "dummy, never enabled");
	unmapped(sampled(), true, true, "a breakpoint, enabled and disabled");
	overflows();
	duplicates();
	redirected();
	sideband();
	of_a_child();
	return done();
}
