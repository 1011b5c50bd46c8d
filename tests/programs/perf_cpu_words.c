/* SPDX-License-Identifier: MIT */
/* FLAGS: -no-pie */
/* LIBS: -lpthread */
/*
 * Tracepoints and breakpoints of CPUs: each CPU has what tasks that stay there did, and all CPUs
 * together have everything, of tasks that end, are killed, exec, and were there before.
 */
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "../tests/programs/perf_run.h"
#include "../tests/programs/task_test.h"

enum { GETPPID, ENDS, FORKS, SENT, EXECUTED, WRITTEN, NEVENTS };

static volatile uint64_t word;
static int cpus[2], fds[2][NEVENTS], gate[2];
static const char *self_path;

__attribute__((noinline, noclone)) static void hit(void)
{
	__asm__ volatile("" ::: "memory");
}

static void open_all(int cpu, int *fd)
{
	static const uint64_t ids[] = { 62464 + SYS_getppid * 2, 61447, 61445, 61443 };

	for (int i = 0; i < NEVENTS; i++) {
		struct perf_event_attr attr = { .size = sizeof(attr) };

		if (i < EXECUTED) {
			attr.type = PERF_TYPE_TRACEPOINT;
			attr.config = ids[i];
		} else {
			attr.type = PERF_TYPE_BREAKPOINT;
			attr.bp_type = i == EXECUTED ? HW_BREAKPOINT_X : HW_BREAKPOINT_W;
			attr.bp_addr = i == EXECUTED ? (uintptr_t)hit : (uintptr_t)&word;
			attr.bp_len = 8;
			attr.exclude_kernel = 1;
		}
		fd[i] = perf_run_open(&attr, -1, cpu, -1);
		if (fd[i] < 0) {
			fprintf(stderr, "event %d on CPU %d: %s\n", i, cpu, strerror(errno));
			exit(2);
		}
	}
}

static void work(int n)
{
	for (int i = 0; i < n; i++) {
		syscall(SYS_getppid);
		hit();
		hit();
		word = 1;
		word = 2;
		word = 3;
	}
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	sched_yield();
}

static void move_anywhere(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpus[0], &set);
	CPU_SET(cpus[1], &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* What each has since the last time. */
static void take(int event, uint64_t got[2])
{
	static uint64_t last[2][NEVENTS];
	uint64_t now;

	for (int i = 0; i < 2; i++) {
		now = perf_run_read(fds[i][event]);
		got[i] = now - last[i][event];
		last[i][event] = now;
	}
}

static void take_all(void)
{
	uint64_t got[2];

	for (int i = 0; i < NEVENTS; i++)
		take(i, got);
}

static bool are(int event, uint64_t first, uint64_t second)
{
	uint64_t got[2];

	take(event, got);
	if (got[0] != first || got[1] != second)
		fprintf(stderr, "event %d: %llu and %llu\n", event, (unsigned long long)got[0],
			(unsigned long long)got[1]);
	return got[0] == first && got[1] == second;
}

static bool work_is(uint64_t first, uint64_t second)
{
	bool ok = are(GETPPID, first, second);

	ok &= are(EXECUTED, 2 * first, 2 * second);
	return are(WRITTEN, 3 * first, 3 * second) && ok;
}

static bool sum_is(int event, uint64_t want)
{
	uint64_t got[2];

	take(event, got);
	if (got[0] + got[1] != want)
		fprintf(stderr, "event %d: %llu in all\n", event,
			(unsigned long long)(got[0] + got[1]));
	return got[0] + got[1] == want;
}

static bool sums_are(uint64_t n)
{
	bool ok = sum_is(GETPPID, n);

	ok &= sum_is(EXECUTED, 2 * n);
	return sum_is(WRITTEN, 3 * n) && ok;
}

static void *thread(void *arg)
{
	work(*(int *)arg);
	return NULL;
}

static void run_thread(int n)
{
	pthread_t t;

	if (pthread_create(&t, NULL, thread, &n))
		abort();
	pthread_join(t, NULL);
}

static void run_child(int n, int sig, bool execs)
{
	pid_t pid = fork();

	if (!pid) {
		work(n);
		if (execs)
			execl(self_path, self_path, "image", NULL);
		if (sig)
			raise(sig);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Before the events are there, and while they are. */
static pid_t start_old(void)
{
	pid_t pid = fork();
	char c;

	if (pid)
		return pid;
	stay_on(cpus[1]);
	work(1000);
	if (read(gate[0], &c, 1) != 1)
		_exit(1);
	work(7);
	_exit(0);
}

/* What a task did since it was looked at belongs to where it was then. */
static void be_seen_on(int cpu)
{
	stay_on(cpu);
	work(1);
	take_all();
}

static void on_one_cpu(void)
{
	stay_on(cpus[1]);
	work(10);
	CHECK(work_is(0, 10), "oneself on the second CPU");
	run_child(20, 0, false);
	CHECK(work_is(0, 20), "a child there");
	run_thread(30);
	CHECK(work_is(0, 30), "a thread there");
	run_child(40, SIGKILL, false);
	CHECK(work_is(0, 40), "one that is killed");
	run_child(5, 0, true);
	CHECK(are(GETPPID, 0, 8), "one that becomes another image");
	CHECK(are(EXECUTED, 0, 10) && are(WRITTEN, 0, 15), "its former one");
	CHECK(are(ENDS, 0, 4), "ends");
	CHECK(are(FORKS, 0, 4), "forks");
	CHECK(are(SENT, 0, 1), "signals");
	be_seen_on(cpus[0]);
	work(11);
	CHECK(work_is(11, 0), "oneself on the first CPU");
	run_child(21, 0, false);
	CHECK(work_is(21, 0), "a child there");
	CHECK(are(ENDS, 1, 0), "its end");
}

static void all_over(void)
{
	take_all();
	move_anywhere();
	for (int i = 1; i <= 30; i++) {
		run_child(i, i % 3 ? 0 : SIGKILL, false);
		if (!(i % 5))
			run_thread(i);
	}
	CHECK(sums_are(465 + 105), "many on any CPU");
	CHECK(sum_is(ENDS, 36), "their ends");
	CHECK(sum_is(SENT, 10), "their signals");
}

int main(int argc, char **argv)
{
	cpu_set_t set;
	int n = 0;
	pid_t old;

	if (argc > 1) {
		/* another image may lie elsewhere: only its calls are the same */
		for (int i = 0; i < 3; i++)
			syscall(SYS_getppid);
		return 0;
	}
	self_path = argv[0];
	sched_getaffinity(0, sizeof(set), &set);
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &set))
			cpus[n++] = i;
	if (n < 2)
		return 77;
	if (pipe(gate))
		return 2;
	old = start_old();
	usleep(50000);
	stay_on(cpus[0]);
	for (int i = 0; i < 2; i++)
		open_all(cpus[i], fds[i]);
	if (write(gate[1], "", 1) != 1)
		return 2;
	waitpid(old, NULL, 0);
	CHECK(work_is(0, 7), "one that was there before");
	CHECK(are(ENDS, 0, 1), "its end");
	on_one_cpu();
	all_over();
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < NEVENTS; k++)
			close(fds[i][k]);
	open_all(cpus[0], fds[0]);
	be_seen_on(cpus[0]);
	for (int i = 0; i < NEVENTS; i++)
		ioctl(fds[0][i], PERF_EVENT_IOC_RESET, 0);
	work(4);
	CHECK(perf_run_read(fds[0][GETPPID]) == 4, "opened again: calls");
	CHECK(perf_run_read(fds[0][EXECUTED]) == 8, "instructions");
	CHECK(perf_run_read(fds[0][WRITTEN]) == 12, "writes");
	return task_failed;
}
