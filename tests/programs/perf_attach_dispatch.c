/* SPDX-License-Identifier: MIT */
/*
 * System call user dispatch that is turned on while a session counts the process, and is to be on when that has left.  Each
 * byte on the standard input is a step, and so is each line of the output: two threads turn it on, then each makes a
 * call that is to be taken.  Status 0 if both are, 3 where the kernel has no such thing or no tracer may set it (before 6.4).
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define SUD	   59
#define GET_CONFIG 0x4211
#define ANSWER	   4242

static __thread volatile char selector;
static int to_thread[2], to_main[2];

static void on_sys(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	selector = 0;
	uc->uc_mcontext.gregs[REG_RAX] = ANSWER;
}

static long call(long nr)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr) : "rcx", "r11", "memory");
	return ret;
}

static int turn_on(void)
{
	return prctl(SUD, 1, 0, 0, &selector);
}

static int is_taken(void)
{
	long ret;

	selector = 1;
	ret = call(SYS_getppid);
	selector = 0;
	return ret == ANSWER;
}

static void *thread(void *arg)
{
	char c;

	if (read(to_thread[0], &c, 1) != 1)
		return NULL;
	c = (char)!turn_on();
	if (write(to_main[1], &c, 1) != 1 || read(to_thread[0], &c, 1) != 1)
		return NULL;
	c = (char)is_taken();
	if (write(to_main[1], &c, 1) != 1)
		return NULL;
	return arg;
}

/* The thread's step; what comes of it. */
static char step(void)
{
	char c = 0;

	if (write(to_thread[1], &c, 1) != 1 || read(to_main[0], &c, 1) != 1)
		return 0;
	return c;
}

static int can_be_set(void)
{
	uint64_t config[4];
	pid_t pid = fork();
	long ret;

	if (!pid)
		for (;;)
			pause();
	ret = ptrace(PTRACE_ATTACH, pid, 0, 0);
	waitpid(pid, NULL, __WALL);
	ret = ret ? ret : ptrace(GET_CONFIG, pid, sizeof(config), config);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	return !ret;
}

int main(void)
{
	struct sigaction sys = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };
	int ok;
	pthread_t t;
	char c;

	setvbuf(stdout, NULL, _IONBF, 0);
	sigaction(SIGSYS, &sys, NULL);
	if (turn_on() || prctl(SUD, 0, 0, 0, 0) || !can_be_set()) {
		puts("none");
		return 3;
	}
	if (pipe(to_thread) || pipe(to_main) || pthread_create(&t, NULL, thread, NULL))
		return 2;
	puts("ready");
	ok = read(0, &c, 1) == 1 && !turn_on() && step();
	puts("on");
	ok &= read(0, &c, 1) == 1 && is_taken();
	ok &= step();
	pthread_join(t, NULL);
	return !ok;
}
