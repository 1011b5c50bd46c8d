/* SPDX-License-Identifier: MIT */
/* LIBS: -lpthread */
/*
 * Threads around a filter that refuses arch_prctl: without FSGSBASE the engine has no other way to give a thread its %gs,
 * and leaves the process to itself.  What this prints is the same natively and counted.
 *
 *	seccomp_gs later	threads and a child that begin under it
 *	seccomp_gs born		one that has just begun when it comes, and is the last task; counted
 *	seccomp_gs born-all	the same, for all threads
 *	seccomp_gs handlers	for all threads, and none may change handlers
 *	seccomp_gs bases	for all threads, one of which uses %gs
 */
#include <asm/prctl.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "seccomp.h"

#define TSYNC SECCOMP_FILTER_FLAG_TSYNC

static const int changes[] = { SYS_arch_prctl, SYS_rt_sigaction, -1 };
static const int tasks[] = { SYS_arch_prctl, SYS_gettid, SYS_fork, SYS_vfork,
			     SYS_clone,	     SYS_clone3, -1 };
static volatile sig_atomic_t got;
static volatile int began, stops;
static long words[2] = { 42, 43 };

/* calls: which, by number, -1 behind the last. */
static void refuse(const int *calls, unsigned int flags)
{
	struct sock_filter insns[SECCOMP_CODE];
	struct sock_fprog prog = {
		seccomp_code(insns, calls, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW), insns
	};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	printf("filter %ld\n", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog));
	fflush(stdout);
}

static void *count(void *n)
{
	for (int i = 0; i < 100000; i++)
		++*(volatile long *)n;
	return NULL;
}

static void later(void)
{
	char *argv[] = { "true", NULL };
	pthread_t thread[4];
	long n[4] = { 0 };
	int status = -1;
	pid_t pid;

	refuse(changes, 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, count, &n[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	printf("counted %ld\n", n[0] + n[1] + n[2] + n[3]);
	pid = fork();
	if (!pid)
		_exit(7);
	waitpid(pid, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
	printf("spawn %d\n", posix_spawnp(&pid, argv[0], NULL, NULL, argv, NULL));
	wait(NULL); /* its libc wants arch_prctl */
}

static void born(unsigned int flags)
{
	pthread_t thread;
	long n = 0;

	pthread_create(&thread, NULL, count, &n);
	refuse(tasks, flags);
	pthread_join(thread, NULL);
	printf("counted %ld\n", n);
}

static void handle(int sig)
{
	(void)sig;
	got = got + 1;
}

static long gs_word(void)
{
	long word;

	__asm__ volatile("mov %%gs:8, %0" : "=r"(word));
	return word;
}

static void *spin(void *with_gs)
{
	if (with_gs)
		syscall(SYS_arch_prctl, ARCH_SET_GS, words);
	began = 1;
	while (!stops)
		;
	if (with_gs)
		printf("gs %ld\n", gs_word());
	return NULL;
}

static void beside(void *with_gs)
{
	pthread_t thread;

	signal(SIGUSR1, handle);
	pthread_create(&thread, NULL, spin, with_gs);
	while (!began)
		;
	refuse(changes, TSYNC);
	raise(SIGUSR1);
	pthread_kill(thread, SIGUSR1);
	while (got < 2)
		;
	puts("two signals");
	stops = 1;
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc == 2 ? argv[1] : "";

	if (!strcmp(mode, "later"))
		later();
	else if (!strcmp(mode, "born"))
		born(0);
	else if (!strcmp(mode, "born-all"))
		born(TSYNC);
	else if (!strcmp(mode, "handlers"))
		beside(NULL);
	else if (!strcmp(mode, "bases"))
		beside(words);
	else
		return 2;
	return 0;
}
