/* SPDX-License-Identifier: MIT */
/* FLAGS: -static */
/*
 * Filters of tracepoints: a child that makes calls with known arguments, and what of them passes.  Natively, as
 * root, the kernel is the judge of what is wanted: perf_trace_filter kernel.  Without the argument ids are those
 * of a session.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../tests/programs/perf_run.h"

#define NULL_FD 77 /* /dev/null */

static const struct {
	const char *name, *file;
	uint64_t id; /* in a session */
} points[] = {
	{ "enter", "raw_syscalls/sys_enter", 61441 },
	{ "exit", "raw_syscalls/sys_exit", 61442 },
#define CALL(name)                                                                                 \
	{ ">" #name, "syscalls/sys_enter_" #name, 62464 + SYS_##name * 2 },                        \
	{                                                                                          \
		"<" #name, "syscalls/sys_exit_" #name, 62465 + SYS_##name * 2                      \
	}
	CALL(write),
	CALL(close),
	CALL(fork),
	CALL(execve),
	CALL(pause),
	CALL(getppid),
};

static bool by_kernel;
static const char *self_path;
static int gates[2][2], failed;

static long call(long nr, long a, long b, long c)
{
	long ret = nr;

	__asm__ volatile("syscall" : "+a"(ret) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return ret;
}

static uint64_t id_of(const char *name)
{
	unsigned long long id = 0;
	char path[256];
	size_t i = 0;
	FILE *f;

	while (strcmp(points[i].name, name) != 0)
		i++;
	if (!by_kernel)
		return points[i].id;
	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", points[i].file);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%llu", &id) != 1)
		exit(77);
	fclose(f);
	return id;
}

static int open_point(const char *name, pid_t pid)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };
	int fd;

	attr.config = id_of(name);
	attr.inherit = 1;
	fd = perf_run_open(&attr, pid, -1, -1);
	if (fd < 0 && by_kernel)
		exit(77);
	return fd;
}

static int set_filter(int fd, const char *filter)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) ? errno : 0;
}

/* --- what the child does */

static void wait_at(int gate)
{
	char c;

	if (call(SYS_read, gates[gate][0], (long)&c, 1) != 1)
		_exit(1);
}

static void writes(void)
{
	for (int n = 1; n <= 10; n++)
		call(SYS_write, NULL_FD, (long)"1234567890", n);
}

static void child(pid_t parent, volatile int *ready)
{
	static char *const argv[] = { "perf_trace_filter", "again", NULL };
	static char *const envp[] = { NULL };

	/* it holds both ends of its gates: nobody else would end it */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	*ready = 1;
	wait_at(0);
	writes();
	for (int i = 0; i < 5; i++)
		call(SYS_getppid, 0, 0, 0);
	for (int i = 0; i < 3; i++)
		call(SYS_close, 1000, 0, 0);
	if (!call(SYS_fork, 0, 0, 0)) {
		call(SYS_write, NULL_FD, (long)"1234567", 7);
		call(SYS_exit_group, 0, 0, 0);
	}
	call(SYS_wait4, -1, 0, 0);
	wait_at(1);
	writes();
	call(SYS_execve, (long)"/nowhere", (long)argv, (long)envp);
	call(SYS_execve, (long)self_path, (long)argv, (long)envp);
	call(SYS_exit_group, 1, 0, 0);
}

static pid_t start(void)
{
	volatile int *ready;
	pid_t pid, self = getpid();

	/* no call says so, as calls are what is counted */
	ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ready == MAP_FAILED)
		exit(1);
	if (pipe(gates[0]) || pipe(gates[1]))
		exit(1);
	pid = fork();
	if (!pid) {
		child(self, ready);
		_exit(1);
	}
	while (pid > 0 && !*ready)
		sched_yield();
	munmap((void *)ready, 4096);
	return pid;
}

static void pass(int gate)
{
	if (write(gates[gate][1], "", 1) != 1)
		abort();
}

/* Until it waits at the second gate. */
static void await(pid_t pid)
{
	char path[64], line[128], want[32];
	bool there = false;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	snprintf(want, sizeof(want), "0 0x%x ", (unsigned int)gates[1][0]);
	while (!there) {
		FILE *f = fopen(path, "r");

		there = f && fgets(line, sizeof(line), f) && !strncmp(line, want, strlen(want));
		if (f)
			fclose(f);
		usleep(500);
	}
}

static void end(pid_t pid)
{
	int status;

	waitpid(pid, &status, 0);
	if (status) {
		printf("the child: FAILED\n");
		failed = 1;
	}
	for (int i = 0; i < 4; i++)
		close(gates[i / 2][i % 2]);
}

/* --- what passes */

static void is(const char *point, const char *filter, const char *what, uint64_t got, uint64_t want)
{
	printf("%s %s: %s %llu%s\n", point, filter, what, (unsigned long long)got,
	       got == want ? "" : " FAILED");
	failed |= got != want;
}

/* Of all that the child does, and its child, and its next image: two writes of 5 and 6. */
static const struct {
	const char *point, *filter;
	uint64_t want;
} counts[] = {
	{ ">write", "count > 5", 12 },
	{ ">write", "count==3||count == 4", 4 },
	{ ">write", "!(count & 1)", 11 },
	{ ">write", "!count & 1", 11 },
	{ ">write", "count & 1", 12 },
	{ ">write", "fd == 77 && count >= 0xa", 2 },
	{ ">write", "fd == 77 && (count == 1 || count > 8) && count != 9", 4 },
	{ ">write", "__syscall_nr == 1", 23 },
	{ ">write", "__syscall_nr < 0", 0 },
	{ ">write", "common_type == 0", 0 },
	{ ">write", "common_flags == 255", 0 },
	{ "<write", "ret > 8", 4 },
	{ "<write", "ret == 07", 3 },
	{ "<close", "ret == -9", 3 },
	{ "<close", "ret >= 0", 0 },
	{ "enter", "id == 110", 5 },
	{ "enter", "id == 110 || id == 57", 6 },
	{ "exit", "id == 3 && ret < 0", 3 },
	{ "exit", "id == 57 && ret == 0", 1 },
	{ "exit", "id == 57 && ret > 0", 1 },
	{ "<fork", "ret == 0", 1 },
	{ "<execve", "ret == 0", 1 },
	{ "<execve", "ret == -2", 1 },
	{ "exit", "id == 59 && ret >= 0", 1 },
	{ ">getppid", "common_pid > 0", 5 },
	{ ">getppid", "common_pid <= 0", 0 },
};
#define NCOUNTS (sizeof(counts) / sizeof(counts[0]))

static void they_count(void)
{
	pid_t pid = start();
	int fds[NCOUNTS];

	for (size_t i = 0; i < NCOUNTS; i++) {
		fds[i] = open_point(counts[i].point, pid);
		if (fds[i] < 0 || set_filter(fds[i], counts[i].filter)) {
			printf("%s %s: FAILED: %m\n", counts[i].point, counts[i].filter);
			failed = 1;
		}
	}
	pass(0);
	pass(1);
	end(pid);
	for (size_t i = 0; i < NCOUNTS; i++) {
		is(counts[i].point, counts[i].filter, "counts", perf_run_read(fds[i]),
		   counts[i].want);
		close(fds[i]);
	}
}

/* Set while it counts; and of one's task alone. */
static void from_now_on(void)
{
	char own[64];
	pid_t pid = start();
	int fd = open_point(">write", pid), of_task = open_point(">write", pid);

	snprintf(own, sizeof(own), "common_pid == %d", (int)pid);
	is(">write", "common_pid", "refuses", (uint64_t)set_filter(of_task, own), 0);
	pass(0);
	await(pid);
	is(">write", "none yet", "counts", perf_run_read(fd), 11);
	is(">write", "count > 5", "refuses", (uint64_t)set_filter(fd, "count > 5"), 0);
	is(">write", "count > 5", "counts", perf_run_read(fd), 11);
	pass(1);
	end(pid);
	is(">write", "then", "counts", perf_run_read(fd), 17);
	is(">write", "common_pid", "counts", perf_run_read(of_task), 22);
	close(fd);
	close(of_task);
}

static void wrong_ones_are_refused(void)
{
	static const char *const wrong[] = {
		"none == 1",  "count",	  "count = 1", "count == ",
		"count == x", "buf == 1", "count ~ 1", "count == -1",
	};
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_SW_DUMMY);
	int fd, other;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		fd = open_point(">write", 0);
		is(">write", wrong[i], "refuses", (uint64_t)set_filter(fd, wrong[i]), EINVAL);
		close(fd);
	}
	fd = open_point(">write", 0);
	is(">write", "NULL", "refuses", (uint64_t)set_filter(fd, NULL), EFAULT);
	is(">write", "a good one", "refuses", (uint64_t)set_filter(fd, "count == 1"), 0);
	is(">write", "a second one", "refuses", (uint64_t)set_filter(fd, "count == 1"), EEXIST);
	close(fd);
	attr.type = PERF_TYPE_SOFTWARE;
	other = perf_run_open(&attr, 0, -1, -1);
	is("dummy", "count == 1", "refuses", (uint64_t)set_filter(other, "count == 1"), EINVAL);
	close(other);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "again")) {
		call(SYS_write, NULL_FD, (long)"12345", 5);
		call(SYS_write, NULL_FD, (long)"123456", 6);
		call(SYS_exit_group, 0, 0, 0);
	}
	by_kernel = argc > 1;
	self_path = argv[0];
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (dup2(open("/dev/null", O_WRONLY), NULL_FD) != NULL_FD)
		return 1;
	they_count();
	from_now_on();
	wrong_ones_are_refused();
	return failed;
}
