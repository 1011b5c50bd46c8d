/* SPDX-License-Identifier: MIT */
/*
 * For the sig_*.c programs: checks that print what failed and let the rest go on, and one line
 * for each case, the same in every run.
 */
#ifndef PROGRAMS_SIG_TEST_H
#define PROGRAMS_SIG_TEST_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static int failures;

static inline int fail(void)
{
	return failures++ < 20;
}

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond) && fail())                                                             \
			printf("FAIL %s:%d: %s\n", __FILE__, __LINE__, #cond);                     \
	} while (0)

#define CHECK_EQ(got, want)                                                                        \
	do {                                                                                       \
		unsigned long got_ = (unsigned long)(got), want_ = (unsigned long)(want);          \
		if (got_ != want_ && fail())                                                       \
			printf("FAIL %s:%d: %s is %#lx, not %#lx\n", __FILE__, __LINE__, #got,     \
			       got_, want_);                                                       \
	} while (0)

static inline void done(const char *name)
{
	printf("%s: %s\n", name, failures ? "FAILED" : "ok");
	fflush(stdout);
}

static inline int verdict(void)
{
	printf("%s\n", failures ? "failed" : "all ok");
	return failures != 0;
}

/* A handler with SA_SIGINFO and more flags; nothing else blocked. */
static inline void catch_with(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags };

	sigemptyset(&sa.sa_mask);
	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static inline void set_disposition(int sig, void (*handler)(int))
{
	CHECK(signal(sig, handler) != SIG_ERR);
}

static inline sigset_t set_of(int sig)
{
	sigset_t s;

	sigemptyset(&s);
	if (sig)
		sigaddset(&s, sig);
	return s;
}

#endif
