/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread -g */
/*
 * Dies with a core while other threads wait in system calls, each in a function of its own.  How it dies: abort or
 * fault.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define N 5

static int pipe_fd[2];
static volatile int tid[N];
static sem_t nobody;

static void i_am(int k)
{
	tid[k] = (int)syscall(SYS_gettid);
}

static void *in_pause(void *arg)
{
	i_am(0);
	for (;;)
		pause();
	return arg;
}

static void *in_poll(void *arg)
{
	i_am(1);
	poll(NULL, 0, -1);
	return arg;
}

static void *in_read(void *arg)
{
	char c;

	i_am(2);
	return read(pipe_fd[0], &c, 1) ? arg : NULL;
}

static void *in_nanosleep(void *arg)
{
	const struct timespec age = { .tv_sec = 1000000 };

	i_am(3);
	nanosleep(&age, NULL);
	return arg;
}

static void *in_semaphore(void *arg)
{
	i_am(4);
	sem_wait(&nobody);
	return arg;
}

static int is_in_call(int k)
{
	static const int calls[N] = { SYS_pause, SYS_poll, SYS_read, SYS_clock_nanosleep,
				      SYS_futex };
	char name[64];
	int nr = -1;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/self/task/%d/syscall", tid[k]);
	f = fopen(name, "r");
	if (!f || fscanf(f, "%d", &nr) != 1)
		nr = -1;
	if (f)
		fclose(f);
	return nr == calls[k];
}

int main(int argc, char **argv)
{
	void *(*const fn[N])(void *) = { in_pause, in_poll, in_read, in_nanosleep, in_semaphore };
	const char *how = argc > 1 ? argv[1] : "abort";
	volatile int *volatile nowhere = (volatile int *)16;
	pthread_t t;

	if (pipe(pipe_fd) || sem_init(&nobody, 0, 0))
		return 1;
	for (int k = 0; k < N; k++)
		pthread_create(&t, NULL, fn[k], NULL);
	for (int k = 0; k < N; k++)
		while (!tid[k] || !is_in_call(k))
			sched_yield();
	if (!strcmp(how, "fault"))
		*nowhere = 1;
	abort();
}
