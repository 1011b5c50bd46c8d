/* SPDX-License-Identifier: MIT */
/* LIBS: -pthread */
/*
 * A process with a thread in each kind of wait, and one that computes.  Says "ready" on standard
 * error when all have begun; a byte on standard input lets them end.  What it prints then is the
 * same whatever was done to it meanwhile.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NTHREADS 9

static pthread_barrier_t all;
static int pipes[4][2]; /* read, epoll, poll, poll with a time limit that does not pass */
static sem_t sem;
static volatile int has_ended;
static volatile sig_atomic_t usr1, on_stack, in_handler, leave_handler;
static char answers[NTHREADS + 1][80];
static char stack[65536];

#define ANSWER(n, ...) snprintf(answers[n], sizeof(answers[n]), __VA_ARGS__)

static void begin(void)
{
	pthread_barrier_wait(&all);
}

static void on_usr1(int sig)
{
	char here;

	(void)sig;
	usr1++;
	if (&here >= stack && &here < stack + sizeof(stack))
		on_stack++;
}

static void on_usr2(int sig)
{
	(void)sig;
	in_handler = 1;
	while (!leave_handler)
		;
}

static void *computes(void *arg)
{
	unsigned long x = 1;
	double d = 1;

	(void)arg;
	begin();
	while (!has_ended)
		for (int i = 0; i < 1000; i++) {
			x = x * 6364136223846793005UL + 1442695040888963407UL;
			d = d * 0.5 + 1;
		}
	ANSWER(0, "computes: %.3f%s", d, x ? "" : " and 0");
	return NULL;
}

static void *sleeps(void *arg)
{
	const struct timespec ts = { .tv_sec = 1 };
	int ret;

	(void)arg;
	begin();
	ret = nanosleep(&ts, NULL);
	ANSWER(1, "nanosleep: %d %s", ret, ret ? strerror(errno) : "");
	return NULL;
}

static void *reads(void *arg)
{
	char c = 0;
	ssize_t got;

	(void)arg;
	begin();
	got = read(pipes[0][0], &c, 1);
	ANSWER(2, "read: %zd %c", got, c);
	return NULL;
}

static void *waits(void *arg)
{
	int ret;

	(void)arg;
	begin();
	ret = sem_wait(&sem);
	ANSWER(3, "futex: %d", ret);
	return NULL;
}

static void *epolls(void *arg)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = 77 }, got = { 0 };
	int fd = epoll_create1(0), ret;

	(void)arg;
	epoll_ctl(fd, EPOLL_CTL_ADD, pipes[1][0], &ev);
	begin();
	ret = epoll_wait(fd, &got, 1, -1);
	ANSWER(4, "epoll_wait: %d %u", ret, got.data.u32);
	return NULL;
}

static void *polls(void *arg)
{
	struct pollfd fds[2] = { { .fd = pipes[2][0], .events = POLLIN },
				 { .fd = pipes[3][0], .events = POLLIN } };
	int ret;

	(void)arg;
	begin();
	ret = poll(&fds[0], 1, -1);
	ANSWER(5, "poll: %d %x", ret, fds[0].revents);
	ret = poll(&fds[1], 1, 100000);
	ANSWER(6, "poll with a limit: %d %x", ret, fds[1].revents);
	return NULL;
}

static void *suspends(void *arg)
{
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	stack_t now;
	sigset_t none;
	int ret, err;

	(void)arg;
	sigaltstack(&ss, NULL);
	sigemptyset(&none);
	begin();
	ret = sigsuspend(&none);
	err = errno;
	sigaltstack(NULL, &now);
	ANSWER(7, "sigsuspend: %d %s, handler %d, on its stack %d, stack %s", ret, strerror(err),
	       (int)usr1, (int)on_stack, now.ss_sp == stack ? "kept" : "lost");
	return NULL;
}

static void *handles(void *arg)
{
	sigset_t set;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	begin();
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(SIGUSR2);
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	ANSWER(8, "handler: left, USR1 %s", sigismember(&set, SIGUSR1) ? "blocked" : "open");
	return NULL;
}

static void *is_new(void *arg)
{
	(void)arg;
	return (void *)42UL;
}

/* What only works where the process is whole: a new thread, a child, a program. */
static void tries(void)
{
	pthread_t thread;
	void *got = NULL;
	int status = 0;
	pid_t pid;

	if (pthread_create(&thread, NULL, is_new, NULL) || pthread_join(thread, &got))
		perror("pthread_create");
	printf("new thread: %lu\n", (unsigned long)got);
	pid = fork();
	if (!pid)
		_exit(5);
	waitpid(pid, &status, 0);
	printf("child: %d\n", WEXITSTATUS(status));
	fflush(stdout);
	printf("program: %d\n", WEXITSTATUS(system("exit 6")));
}

int main(void)
{
	static void *(*const kinds[NTHREADS - 1])(void *) = { computes, sleeps, reads,	  waits,
							      epolls,	polls,	suspends, handles };
	pthread_t threads[NTHREADS - 1];
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_ONSTACK };
	sigset_t set;
	char c;

	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_handler = on_usr2;
	sigaction(SIGUSR2, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sem_init(&sem, 0, 0);
	pthread_barrier_init(&all, NULL, NTHREADS);
	for (int i = 0; i < 4; i++)
		if (pipe(pipes[i]))
			return 2;
	for (int i = 0; i < NTHREADS - 1; i++)
		if (pthread_create(&threads[i], NULL, kinds[i], NULL))
			return 2;
	begin();
	while (!in_handler)
		sched_yield();
	fputs("ready\n", stderr);
	if (read(0, &c, 1) != 1)
		return 2;
	for (int i = 0; i < 3; i++)
		if (write(pipes[i][1], "x", 1) != 1)
			return 2;
	if (write(pipes[3][1], "y", 1) != 1)
		return 2;
	sem_post(&sem);
	leave_handler = 1;
	pthread_kill(threads[6], SIGUSR1);
	has_ended = 1;
	for (int i = 0; i < NTHREADS - 1; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < NTHREADS; i++)
		puts(answers[i]);
	tries();
	return 9;
}
