/* SPDX-License-Identifier: MIT */
/*
 * A tracer counts its stopped child and lets it run.  The kernel's rule: counting is invisible to it, whatever is counted.
 * The next stop of the child is one that the child or its tracer has asked for, here its end: neither an overflow nor the
 * PMU's own work makes a signal-delivery-stop.  (Cycles and misses are modelled from a log, whose end is found by a fault.)
 */
/* CASE: session -- */
#include <sys/ptrace.h>

#include "check.h"

static u64 count(const char *name, struct perf_event_attr a, u64 turns)
{
	int st, fd;
	u64 n;
	pid_t pid = fork();

	if (!pid) {
		static volatile int v[4096];

		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGTRAP);
		for (int r = 0; r < 100; r++)
			for (int i = 0; i < 4096; i++)
				v[i] += i ^ r;
		spin(turns);
		_exit(7);
	}
	waitpid(pid, &st, 0);
	CHECK(st == W_STOPCODE(SIGTRAP), "%s: it stops where it asks for that", name);
	fd = xo(&a, pid, -1, -1, 0);
	EN(fd);
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &st, 0);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 7, "%s: the next stop is its end (%x)", name, st);
	n = rd(fd);
	close(fd);
	return n;
}

int main(void)
{
	u64 a = count("instructions", HWI, 1000), b = count("instructions", HWI, 3000);
	struct perf_event_attr sampled = HWI;

	CHECK(b - a == 4000, "2000 turns more are 4000 instructions (%lld)", (long long)(b - a));
	sampled.sample_period = 10007;
	CHECK(count("sampled", sampled, 1000) == a, "sampled: the same count");
	CHECK(count("cycles", A(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES), 1000),
	      "cycles: counted");
	CHECK(count("misses", A(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES), 1000),
	      "misses: counted");
	return done();
}
