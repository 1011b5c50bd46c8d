/* SPDX-License-Identifier: MIT */
/* CASE: counted -- */
/* CASE: counted --deterministic=time -- */
/*
 * prctl(PR_SET_TSC, PR_TSC_SIGSEGV) has rdtsc and rdtscp raise SIGSEGV in the thread, and in threads and processes that
 * it makes.  That is so whoever answers these instructions.
 */
#include "check.h"
#include <setjmp.h>

static sigjmp_buf back;

static void handler(int sig)
{
	siglongjmp(back, sig);
}

static int rdtsc(void)
{
	int sig = sigsetjmp(back, 1);

	if (!sig)
		__asm__ volatile("rdtsc" : : : "rax", "rdx");
	return sig;
}

static int rdtscp(void)
{
	int sig = sigsetjmp(back, 1);

	if (!sig)
		__asm__ volatile("rdtscp" : : : "rax", "rcx", "rdx");
	return sig;
}

static void look(const char *who, int want)
{
	CHECK(rdtsc() == want, "%s: rdtsc, signal %d", who, want);
	CHECK(rdtscp() == want, "%s: rdtscp, signal %d", who, want);
}

static void *thread(void *arg)
{
	(void)arg;
	look("thread", SIGSEGV);
	return NULL;
}

int main(void)
{
	pthread_t t;
	int status;

	signal(SIGSEGV, handler);
	look("at first", 0);
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	look("forbidden", SIGSEGV);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	if (!fork()) {
		look("child", SIGSEGV);
		_exit(failed);
	}
	wait(&status);
	CHECK(!status, "child's status");
	prctl(PR_SET_TSC, PR_TSC_ENABLE);
	look("allowed again", 0);
	return done();
}
