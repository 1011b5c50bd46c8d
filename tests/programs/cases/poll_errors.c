/* SPDX-License-Identifier: MIT */
/*
 * A pinned event that does not get its counter is in the error state: poll, select and epoll say POLLERR, and nothing
 * else, with a ring or without; who waits is woken (kernel/events/core.c: perf_poll()).  It ends with the next enable
 * for which there is room.  Members of such a group are not in the error state themselves, and what was left by a task
 * that has ended is POLLHUP.
 */
/* CASE: session --counters 1 -- */
#include "check.h"

static int pinned(int disabled)
{
	struct perf_event_attr a = HWI;

	a.pinned = 1;
	a.disabled = disabled;
	a.sample_period = 1000000;
	return xo(&a, 0, -1, -1, 0);
}

/* Which of its sets select puts it into: 1 read, 2 write, 4 exceptional. */
static int selects(int fd, int given, int *n)
{
	struct timeval none = { 0, 0 };
	fd_set set[3];
	int got = 0;

	for (int i = 0; i < 3; i++) {
		FD_ZERO(&set[i]);
		FD_SET(fd, &set[i]);
	}
	*n = select(fd + 1, given & 1 ? &set[0] : NULL, given & 2 ? &set[1] : NULL,
		    given & 4 ? &set[2] : NULL, &none);
	for (int i = 0; i < 3; i++)
		got |= given >> i & 1 && FD_ISSET(fd, &set[i]) ? 1 << i : 0;
	return got;
}

static u32 epolls(int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 42 };
	int ep = epoll_create1(0);

	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	ev.events = 0;
	epoll_wait(ep, &ev, 1, 0);
	close(ep);
	return ev.events;
}

static void says(int fd, int want, int sets, const char *what)
{
	int n, all, p = pollfd(fd), write_only;

	CHECK(p == want, "%s: poll %#x", what, p);
	CHECK(epolls(fd) == (u32)want, "%s: epoll %#x", what, epolls(fd));
	all = selects(fd, 7, &n);
	CHECK(all == sets && n == __builtin_popcount((u32)sets), "%s: select %d, %d", what, all, n);
	write_only = selects(fd, 2, &n);
	CHECK(write_only == (sets & 2) && n == !!(sets & 2), "%s: select to write %d, %d", what,
	      write_only, n);
}

static void *waits(void *fd)
{
	struct pollfd p = { *(int *)fd, POLLIN, 0 };

	poll(&p, 1, -1);
	return (void *)(long)p.revents;
}

int main(void)
{
	struct ring r = { 0 }, second = { 0 };
	int first = pinned(0), plain = pinned(0), mapped = pinned(0), late = pinned(1), member,
	    child;
	struct perf_event_attr sw = SWT;
	pthread_t thread;
	u64 v[3];
	void *said;
	pid_t pid;

	rmap(&r, mapped, 1, RW);
	spin(1000);
	CHECK(!read(plain, v, 24) && !read(mapped, v, 24), "both are in the error state");
	says(plain, POLLERR, 3, "without a ring");
	says(mapped, POLLERR, 3, "with a ring");
	says(first, POLLHUP, 1, "who has the counter");
	member = xo(&sw, 0, -1, plain, 0);
	says(member, POLLHUP, 1, "a member");
	EN(mapped);
	says(mapped, POLLERR, 3, "enabled again");
	DIS(first);
	EN(mapped);
	says(mapped, 0, 0, "enabled with room");
	rmap(&second, late, 1, RW);
	says(late, 0, 0, "one that is off");
	pthread_create(&thread, NULL, waits, &late);
	EN(late);
	pthread_join(thread, &said);
	CHECK(said == (void *)POLLERR, "who waits: %#lx", (long)said);
	pid = fork();
	while (!pid)
		pause();
	sw.pinned = 1;
	child = xo(&sw, pid, -1, -1, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	says(child, POLLHUP, 1, "of a child that has ended");
	return done();
}
