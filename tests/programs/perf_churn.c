/* SPDX-License-Identifier: MIT */
/*
 * Four threads open, read, replace, inherit and close events of their own under a timer's signals, so
 * that each descriptor number means an event at one moment and a file at the next.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS	200

extern char **environ;

static int wrong;

static void expect(int ok, const char *what)
{
	if (ok)
		return;
	__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
}

static int perf_open(unsigned int inherit)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_HW_INSTRUCTIONS,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.inherit = inherit };

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int exit_of(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void spawn(void)
{
	char *argv[] = { "/bin/true", NULL };
	pid_t pid;

	expect(!posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) && !exit_of(pid), "spawn");
}

static void fork_reader(int fd)
{
	unsigned long v;
	pid_t pid = fork();

	if (!pid)
		_exit(read(fd, &v, 8) == 8 ? 0 : 1);
	expect(!exit_of(pid), "read in a child");
}

static void one_round(unsigned int dice)
{
	int fd = perf_open(dice >> 8 & 1), null;
	unsigned long a = 0, b = 0;
	char c;

	expect(fd >= 0, "open");
	expect(read(fd, &a, 8) == 8 && read(fd, &b, 8) == 8 && a < b, "read");
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	expect(read(null, &c, 1) == 0, "read of a file");
	switch (dice % 16) {
	case 0:
		fork_reader(fd);
		break;
	case 1:
		spawn();
		break;
	case 2 ... 6:
		expect(dup2(null, fd) == fd && read(fd, &c, 1) == 0, "a file in its place");
		break;
	case 7 ... 11:
		expect(dup2(fd, null) == null && read(null, &a, 8) == 8 && a > b,
		       "a second number");
		break;
	}
	close(null);
	close(fd);
}

static void *run(void *arg)
{
	unsigned int dice = (unsigned int)(unsigned long)arg;

	for (int i = 0; i < ROUNDS; i++) {
		dice = dice * 1103515245 + 12345;
		one_round(dice >> 16);
	}
	return NULL;
}

static void on_alarm(int sig)
{
	(void)sig;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 700 }, { 0, 700 } };
	pthread_t threads[THREADS];

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (unsigned long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("wrong: %d\n", wrong);
	return wrong != 0;
}
