/* SPDX-License-Identifier: MIT */
/*
 * No SIGTRAP of an event comes once it is closed, off or gone with its mapping: who takes the handler away right behind
 * that must not die of one that is still under way (_perf_event_disable() and perf_release() wait for the event's
 * overflows; sigtrap's is sent before the task returns to user mode).  The last overflow is placed at every distance from
 * the call.
 */
/* CASE: session -- */
/* CASE: session --stress requests -- */
#include "check.h"

#define PERIOD 1000

static volatile int hits;

static void on_trap(int sig)
{
	(void)sig;
	hits++;
}

enum way { CLOSES, DISABLES, CLOSES_RANGE, REPLACES, WAYS };

static void end(enum way way, int fd)
{
	switch (way) {
	case CLOSES:
		close(fd);
		break;
	case DISABLES:
		DIS(fd);
		break;
	case CLOSES_RANGE:
		syscall(436, fd, fd, 0); /* close_range */
		break;
	default:
		dup2(2, fd);
		break;
	}
}

/* How many came behind the end, of so many rounds; each begins its last period one instruction later. */
static int late(enum way way, int rounds, int *all)
{
	struct perf_event_attr a = HWI;
	int n = 0;

	a.sample_period = PERIOD;
	a.remove_on_exec = a.sigtrap = 1;
	*all = 0;
	for (int i = 0; i < rounds; i++) {
		int fd = xo(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC), before;

		hits = 0;
		EN(fd);
		spin(2 * PERIOD + (u64)i / 2);
		if (i & 1)
			__asm__ volatile("nop");
		end(way, fd);
		before = hits;
		spin(3 * PERIOD);
		n += hits - before;
		*all += before;
		if (way == DISABLES)
			close(fd);
	}
	return n;
}

/* With a child that has a copy the event lives on, and the signals are its task's. */
static void with_a_copy(void)
{
	struct perf_event_attr a = HWI;
	int fd, gate[2], before;
	char c = 0;
	pid_t pid;

	a.sample_period = PERIOD;
	a.remove_on_exec = a.sigtrap = 1;
	fd = xo(&a, 0, -1, -1, 0);
	if (pipe(gate))
		exit(3);
	pid = fork();
	if (!pid)
		_exit(read(gate[0], &c, 1) != 1);
	EN(fd);
	close(fd);
	before = hits;
	spin(3 * PERIOD);
	CHECK(hits > before, "a child has a copy: %d signals", hits - before);
	if (write(gate[1], &c, 1) != 1)
		exit(3);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	static const char *const name[WAYS] = { "close", "disable", "close_range", "dup2" };
	struct sigaction sa = { .sa_handler = on_trap, .sa_flags = SA_NODEFER };
	int n, all;

	sigaction(SIGTRAP, &sa, NULL);
	for (int way = 0; way < WAYS; way++) {
		n = late((enum way)way, way ? 250 : 1000, &all);
		CHECK(!n && all, "%s: %d signals behind it, %d before", name[way], n, all);
	}
	with_a_copy();
	return done();
}
