/* SPDX-License-Identifier: MIT */
/*
 * A cgroup's descriptor as pid: the argument is a directory of cgroup2 that this program is in.  One event per CPU;
 * what they count together of more and of less work differs by that work.
 */
#include <fcntl.h>

#include "../tests/programs/perf_run.h"
#include "../tests/programs/task_test.h"

#define CPUS_MAX 1024

static int fds[CPUS_MAX];
static long ncpus;

static uint64_t counted(uint64_t work)
{
	uint64_t sum = 0;

	for (long i = 0; i < ncpus; i++)
		sum -= perf_run_read(fds[i]);
	perf_run_work(work);
	for (long i = 0; i < ncpus; i++)
		sum += perf_run_read(fds[i]);
	return sum;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	int dir = argc == 2 ? open(argv[1], O_RDONLY) : -1, bad = 0;
	uint64_t less;

	ncpus = sysconf(_SC_NPROCESSORS_CONF);
	if (dir < 0 || ncpus > CPUS_MAX)
		return 2;
	for (long i = 0; i < ncpus; i++) {
		fds[i] = (int)syscall(SYS_perf_event_open, &attr, dir, (int)i, -1,
				      PERF_FLAG_PID_CGROUP);
		bad += fds[i] < 0;
	}
	CHECK(!bad, "an event per CPU");
	CHECK(syscall(SYS_perf_event_open, &attr, dir, -1, -1, PERF_FLAG_PID_CGROUP) == -1 &&
		      errno == EINVAL,
	      "none on all CPUs");
	CHECK(syscall(SYS_perf_event_open, &attr, 1, 0, -1, PERF_FLAG_PID_CGROUP) == -1 &&
		      errno == EBADF,
	      "none on another file");
	counted(1000);
	less = counted(1000);
	CHECK(counted(31000) - less == 2 * 30000ULL, "its work is counted");
	return task_failed;
}
