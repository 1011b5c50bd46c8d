/* SPDX-License-Identifier: MIT */
/*
 * Counts a child that has put itself under a filter: kinds that its code counts already, and others
 * and breakpoints, which it cannot begin to count.  Never a zero that nobody counted.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/hw_breakpoint.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../tests/programs/perf_run.h"
#include "../tests/programs/task_test.h"

#define N 100000

static void filtered(int ready, int go)
{
	static const struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog prog = { 1, (struct sock_filter *)code };
	char c;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) || write(ready, "", 1) != 1 ||
	    read(go, &c, 1) != 1)
		_exit(9);
	perf_run_work(N);
	_exit(0);
}

/* Our own number for loads is the same on every CPU: docs/counting.md. */
#define LOADS 9

static int open_on(pid_t pid, uint64_t config, uint64_t own)
{
	struct perf_event_attr attr = perf_run_attr(config);

	attr.type = own ? PERF_TYPE_RAW : PERF_TYPE_HARDWARE;
	attr.config1 = own;
	return perf_run_open(&attr, pid, -1, -1);
}

static volatile uint64_t word;

static int watch(pid_t pid, const volatile void *at, uint32_t type)
{
	struct perf_event_attr attr = perf_run_attr(0);

	attr.type = PERF_TYPE_BREAKPOINT;
	attr.bp_type = type;
	attr.bp_addr = (uintptr_t)at;
	attr.bp_len = 8;
	return perf_run_open(&attr, pid, -1, -1);
}

static void breakpoints(pid_t filtered_child)
{
	int fd;

	errno = 0;
	fd = watch(filtered_child, &word, HW_BREAKPOINT_W);
	CHECK(fd < 0 && errno == EPERM, "nor a data breakpoint");
	errno = 0;
	fd = watch(filtered_child, (const void *)(uintptr_t)filtered, HW_BREAKPOINT_X);
	CHECK(fd < 0 && errno == EPERM, "nor one on code");
	fd = watch(0, &word, HW_BREAKPOINT_W);
	word = 1;
	word = 2;
	CHECK(fd >= 0 && perf_run_read(fd) == 2, "but here");
}

int main(void)
{
	int ready[2], go[2], fd, loads, status;
	uint64_t v;
	pid_t pid;
	char c;

	if (pipe(ready) || pipe(go))
		return 2;
	pid = fork();
	if (!pid)
		filtered(ready[1], go[0]);
	if (read(ready[0], &c, 1) != 1)
		return 2;
	fd = open_on(pid, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0);
	CHECK(fd >= 0, "branches are counted already");
	errno = 0;
	loads = open_on(pid, 0, LOADS);
	CHECK(loads < 0 && errno == EPERM, "loads cannot begin");
	loads = open_on(0, 0, LOADS);
	CHECK(loads >= 0, "but here");
	breakpoints(pid);
	if (write(go[1], "", 1) != 1)
		return 2;
	waitpid(pid, &status, 0);
	CHECK(status == 0, "the child ends well");
	v = perf_run_read(fd);
	CHECK(v > N && v < N + 1000, "and its branches were counted");
	return task_failed;
}
