/* SPDX-License-Identifier: MIT */
/*
 * Children that make requests without end are killed at any instant; who is left counts exactly.
 * With an argument: what a program meets whose supervisor was killed.
 */
#include <signal.h>
#include <sys/wait.h>

#include "../tests/programs/perf_run.h"
#include "../tests/programs/task_test.h"

#define ROUNDS	 40
#define CHILDREN 4

static void ask_for_ever(void)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);

	attr.inherit = 1;
	for (;;) {
		int fd = perf_run_open(&attr, 0, -1, -1);
		pid_t pid;

		ioctl(fd, PERF_EVENT_IOC_RESET, 0);
		perf_run_read(fd);
		pid = fork();
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
		close(fd);
	}
}

static uint64_t own(int fd, uint64_t n)
{
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	perf_run_work(n);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	return perf_run_read(fd);
}

static void damage(void)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	int bad = 0, fd;

	attr.disabled = 1;
	fd = perf_run_open(&attr, 0, -1, -1);
	own(fd, 10);
	for (int round = 0; round < ROUNDS; round++) {
		pid_t pids[CHILDREN];

		for (int i = 0; i < CHILDREN; i++) {
			pids[i] = fork();
			if (!pids[i])
				ask_for_ever();
		}
		usleep(3000 + 700 * (unsigned int)round);
		for (int i = 0; i < CHILDREN; i++)
			kill(pids[i], SIGKILL);
		bad += own(fd, 5000) - own(fd, 1000) != 8000;
		for (int i = 0; i < CHILDREN; i++)
			waitpid(pids[i], NULL, 0);
	}
	CHECK(!bad, "counts beside the killed");
	close(fd);
}

static void orphaned(void)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = perf_run_open(&attr, 0, -1, -1);
	char c;

	puts("up");
	fflush(stdout);
	while (read(0, &c, 1) < 0)
		;
	errno = 0;
	CHECK(fd >= 0 && perf_run_open(&attr, 0, -1, -1) == -1 && errno == ENODEV, "open");
	errno = 0;
	CHECK(ioctl(fd, PERF_EVENT_IOC_PERIOD, &(uint64_t){ 1000 }) == -1 && errno == ENODEV,
	      "ioctl");
	CHECK(!close(fd), "close");
	CHECK(fork() > 0 || (_exit(0), 0), "fork");
	wait(NULL);
	puts("end");
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		orphaned();
	else
		damage();
	return task_failed;
}
