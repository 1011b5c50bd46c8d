/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * Events of threads, parents, children and the dead: whose work is counted, who may switch it, and what is left when a task, a
 * descriptor or a leader is gone.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <time.h>

#include "../tests/programs/abi.h"

enum { INSTRUCTIONS, CLOCK };

/* c->b: instructions, or the clock that a kernel without a PMU has; what is a lot of each */
static struct perf_event_attr attr_of(const struct abi_case *c)
{
	return c->b == CLOCK ? abi_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK)
			     : abi_instructions();
}

#define ROUNDS 3000000 /* 6 million instructions */

/* Counts nothing while the caller works: not at once, as another thread may be on its way to where it waits. */
static int is_still(long fd)
{
	uint64_t from;

	for (int i = 0; i < 1000; i++) {
		from = abi_count(fd);
		abi_work(ROUNDS);
		if (abi_count(fd) == from)
			return 1;
	}
	return 0;
}

static int counts(long fd)
{
	uint64_t from = abi_count(fd);

	abi_work(ROUNDS);
	return abi_count(fd) > from;
}

/* --- a thread that waits, works once and waits again */

struct helper {
	pthread_t t;
	atomic_int tid;
	int go[2], done[2];
};

static void *help(void *arg)
{
	struct helper *h = arg;
	char byte;

	h->tid = (int)syscall(SYS_gettid);
	while (read(h->go[0], &byte, 1) == 1 && byte == 'w') {
		abi_work(ROUNDS);
		if (write(h->done[1], "", 1) != 1)
			break;
	}
	return NULL;
}

static void begin(struct helper *h)
{
	h->tid = 0;
	if (pipe(h->go) || pipe(h->done) || pthread_create(&h->t, NULL, help, h))
		_exit(1);
	while (!h->tid)
		sched_yield();
}

static void let_work(struct helper *h)
{
	char byte;

	if (write(h->go[1], "w", 1) != 1 || read(h->done[0], &byte, 1) != 1)
		_exit(1);
}

static void end(struct helper *h)
{
	if (write(h->go[1], "e", 1) != 1)
		_exit(1);
	pthread_join(h->t, NULL);
}

/* A thread's event counts it alone; its count stays when it has ended. */
static long of_a_thread(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c);
	struct helper h;
	uint64_t was;
	long fd;

	begin(&h);
	fd = abi_call(&attr, h.tid, -1, -1, 0);
	if (fd < 0)
		return fd;
	HOLDS(is_still(fd));
	was = abi_count(fd);
	let_work(&h);
	HOLDS(abi_count(fd) > was);
	end(&h);
	was = abi_count(fd);
	HOLDS(was && is_still(fd));
	return 0;
}

/* A leader's event does not count the other threads. */
static long of_the_leader(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_instructions();
	struct helper h;
	uint64_t from;
	long fd = abi_open(&attr, -1);

	(void)c;
	begin(&h);
	from = abi_count(fd);
	let_work(&h);
	end(&h);
	return abi_count(fd) - from < 2 * ROUNDS;
}

/* Grandchildren, of children that were made by vfork as well; a: inherit */
static long of_grandchildren(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c);
	uint64_t from;
	long fd;
	pid_t pid;

	attr.inherit = !!c->a;
	fd = abi_open(&attr, -1);
	from = abi_count(fd);
	pid = fork();
	if (!pid) {
		pid = fork();
		if (!pid) {
			pid = fork();
			if (!pid)
				abi_work(ROUNDS);
			else
				waitpid(pid, NULL, 0);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return abi_count(fd) - from >= 2 * ROUNDS;
}

/* --- who switches */

/* A child has the descriptor: what it does with it is done to the parent's event.  a: ioctl */
static long by_the_child(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c);
	long fd;
	pid_t pid;
	int status;

	attr.disabled = c->a == PERF_EVENT_IOC_ENABLE;
	fd = abi_open(&attr, -1);
	pid = fork();
	if (!pid)
		_exit(abi_ioctl(fd, (unsigned long)c->a, NULL) ? 1 : 0);
	waitpid(pid, &status, 0);
	HOLDS(!status);
	return counts(fd);
}

/* The prctl of a child is of what the child has opened. */
static long prctl_of_a_child(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c);
	long fd = abi_open(&attr, -1);
	pid_t pid = fork();

	if (!pid)
		_exit(prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0));
	waitpid(pid, NULL, 0);
	return counts(fd);
}

/* A child opens an event on its parent; it goes with the child's descriptor. */
static long on_the_parent(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c);
	int said[2], go[2], status;
	char byte;
	pid_t pid, parent = getpid();

	HOLDS(!pipe(said) && !pipe(go));
	pid = fork();
	if (!pid) {
		long fd = abi_call(&attr, parent, -1, -1, 0);
		uint64_t from;

		if (fd < 0)
			_exit((int)-fd);
		from = abi_count(fd);
		if (write(said[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(1);
		_exit(abi_count(fd) > from ? 0 : 2);
	}
	close(said[1]);
	if (read(said[0], &byte, 1) == 1) {
		abi_work(ROUNDS);
		HOLDS(write(go[1], "", 1) == 1);
	}
	waitpid(pid, &status, 0);
	return -WEXITSTATUS(status);
}

/* A descriptor that a child closes is the parent's still. */
static long closed_by_a_child(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c);
	long fd = abi_open(&attr, -1);
	pid_t pid = fork();

	if (!pid)
		_exit(close((int)fd));
	waitpid(pid, NULL, 0);
	return counts(fd);
}

/* enable_on_exec: on from the exec on; a: with the bit.  The child counts itself and tells after its exec. */
static long at_exec(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c);
	int go[2];
	pid_t pid;
	char byte;
	long fd;

	attr.disabled = 1;
	attr.enable_on_exec = !!c->a;
	HOLDS(!pipe(go));
	pid = fork();
	if (!pid) {
		if (read(go[0], &byte, 1) == 1)
			execl("/bin/true", "true", NULL);
		_exit(1);
	}
	fd = abi_call(&attr, pid, -1, -1, 0);
	HOLDS(fd >= 0 && !abi_count(fd));
	HOLDS(write(go[1], "", 1) == 1 && waitpid(pid, NULL, 0) == pid);
	return abi_count(fd) > 0;
}

/* --- what is gone */

/* The leader is closed: members are leaders of their own.  a: what is asked: 1 it counts, 2 how many a group read has */
static long without_leader(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c);
	uint64_t v[8];
	long leader, member;

	attr.read_format = PERF_FORMAT_GROUP;
	leader = abi_open(&attr, -1);
	member = abi_open(&attr, leader);
	HOLDS(!close((int)leader));
	abi_work(ROUNDS);
	HOLDS(read((int)member, v, sizeof(v)) >= 16);
	if (c->a == 2)
		return (long)v[0];
	leader = (long)v[1];
	abi_work(ROUNDS);
	HOLDS(read((int)member, v, sizeof(v)) >= 16);
	return (long)v[1] > leader;
}

/* And take members again. */
static long new_leader(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c);
	long leader = abi_open(&attr, -1), member = abi_open(&attr, leader);

	HOLDS(!close((int)leader));
	return abi_try(&attr, 0, -1, member, 0);
}

/* A task that has ended: its ring says POLLHUP, its count is kept, and it takes no more members. */
enum { HANGS_UP, MEMBERS, SWITCHES };

static long of_the_dead(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c);
	struct pollfd p = { .events = POLLIN };
	int go[2];
	char byte;
	pid_t pid;
	long fd;

	HOLDS(!pipe(go));
	pid = fork();
	if (!pid)
		_exit(read(go[0], &byte, 1) != 1);
	fd = abi_call(&attr, pid, -1, -1, 0);
	HOLDS(fd >= 0);
	HOLDS(mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0) != MAP_FAILED);
	HOLDS(write(go[1], "", 1) == 1 && waitpid(pid, NULL, 0) == pid);
	HOLDS(abi_count(fd) && is_still(fd));
	if (c->a == SWITCHES)
		return abi_ioctl(fd, PERF_EVENT_IOC_DISABLE, NULL);
	p.fd = (int)fd;
	return poll(&p, 1, 0) == 1 ? p.revents : 0;
}

/* Closed, an event is gone: of as many as one likes there is room again. */
static long again_and_again(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c);

	for (int i = 0; i < 2000; i++) {
		long fd = abi_open(&attr, -1);

		if (fd < 0)
			return fd;
		close((int)fd);
	}
	return 0;
}

#define BOTH(id, what, fn, want, a)                                                                \
	{ id, what, fn, S, want, a, INSTRUCTIONS },                                                \
	{                                                                                          \
		id, what ", of a clock", fn, N | S, want, a, CLOCK                                 \
	}

static const struct abi_case cases[] = {
	BOTH("Z-020", "a thread's event counts it alone", of_a_thread, 0, 0),
	{ "Z-020", "a leader's does not count the others", of_the_leader, S, 1, 0, 0 },
	{ "Z-021", "grandchildren's children", of_grandchildren, S, 1, 1, INSTRUCTIONS },
	{ "Z-021", "not without inherit", of_grandchildren, S, 0, 0, INSTRUCTIONS },
	BOTH("Z-022", "a child disables its parent's event", by_the_child, 0,
	     PERF_EVENT_IOC_DISABLE),
	BOTH("Z-022", "and enables it", by_the_child, 1, PERF_EVENT_IOC_ENABLE),
	BOTH("Z-022", "its prctl does not", prctl_of_a_child, 1, 0),
	BOTH("Z-022", "nor does its close", closed_by_a_child, 1, 0),
	BOTH("Z-023", "a child counts its parent", on_the_parent, 0, 0),
	BOTH("Z-024", "enable_on_exec", at_exec, 1, 1),
	BOTH("Z-024", "disabled without", at_exec, 0, 0),
	BOTH("Z-025", "a member whose leader is closed goes on", without_leader, 1, 1),
	BOTH("Z-025", "as a group of one", without_leader, 1, 2),
	BOTH("Z-025", "to which others come", new_leader, 0, 0),
	BOTH("Z-026", "POLLHUP of a task that has ended", of_the_dead, POLLHUP, HANGS_UP),
	BOTH("Z-026", "its event may be switched", of_the_dead, 0, SWITCHES),
	BOTH("Z-027", "2000 events, one after the other", again_and_again, 0, 0),
	{ 0 },
};

int main(int argc, char **argv)
{
	return abi_main(cases, "", argc, argv);
}
