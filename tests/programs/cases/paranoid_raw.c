/* SPDX-License-Identifier: MIT */
/*
 * Levels of perf_event_paranoid below 1: at 0 events of CPUs are allowed, but not what tracepoints record as RAW, which
 * is -1's: perf_trace_event_perm() gives EPERM to who may not trace.  Of a task's own events the records of system calls
 * are nobody's secret; of other tracepoints they are, there as well.
 */
/* CASE: nobody session --paranoid 0 -- 0 */
/* CASE: nobody session --paranoid -1 -- -1 */
/* CASE: nobody session --paranoid 1 -- 1 */
/* CASE: nobody session --paranoid 2 -- 2 */
#include "check.h"
static int level;
static u64 fork_id;

/* The errno of an open; 0: it works. */
static int error_of(struct perf_event_attr *a, bool is_cpu, u64 sample_type)
{
	int fd;

	a->sample_type = sample_type;
	/* forks can be counted alone, and what would be recorded is asked nevertheless */
	a->sample_period = a->config != fork_id;
	errno = 0;
	fd = peo(a, is_cpu ? -1 : 0, is_cpu ? 0 : -1, -1, 0);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? errno : 0;
}

static void want(const char *name, int got, int error)
{
	CHECK(got == error, "at %d, %s: %s, want %s", level, name, got ? strerror(got) : "opened",
	      error ? strerror(error) : "opened");
}

int main(int argc, char **argv)
{
	struct perf_event_attr raw =
		A(PERF_TYPE_TRACEPOINT, (u64)tracepoint_id("raw_syscalls/sys_enter"));
	struct perf_event_attr call =
		A(PERF_TYPE_TRACEPOINT, (u64)tracepoint_id("syscalls/sys_exit_write"));
	struct perf_event_attr task =
		A(PERF_TYPE_TRACEPOINT, fork_id = (u64)tracepoint_id("sched/sched_process_fork"));
	struct perf_event_attr kernel = SWD, user = HWI;
	int of_cpu;

	level = argc > 1 ? atoi(argv[1]) : 2;
	of_cpu = level > 0 ? EACCES : 0;
	raw.exclude_kernel = task.exclude_kernel = level > 1;
	want("a CPU's instructions", error_of(&user, true, PERF_SAMPLE_IP), of_cpu);
	want("a CPU's system calls", error_of(&raw, true, PERF_SAMPLE_TID), of_cpu);
	/* the driver comes before the CPU */
	want("their records", error_of(&raw, true, PERF_SAMPLE_RAW), level < 0 ? 0 : EPERM);
	want("those of one call", error_of(&call, true, PERF_SAMPLE_RAW), level < 0 ? 0 : EPERM);
	want("a CPU's forks", error_of(&task, true, PERF_SAMPLE_TID), of_cpu);
	want("their records", error_of(&task, true, PERF_SAMPLE_RAW), level < 0 ? 0 : EPERM);
	want("its own system calls' records", error_of(&raw, false, PERF_SAMPLE_RAW), 0);
	want("those of one call", error_of(&call, false, PERF_SAMPLE_RAW), 0);
	want("its own forks", error_of(&task, false, PERF_SAMPLE_TID), 0);
	want("their records", error_of(&task, false, PERF_SAMPLE_RAW), level < 0 ? 0 : EPERM);
	kernel.exclude_kernel = 0;
	want("with the kernel", error_of(&kernel, false, PERF_SAMPLE_IP), level > 1 ? EACCES : 0);
	return done();
}
