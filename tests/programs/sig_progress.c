/* SPDX-License-Identifier: MIT */
/*
 * A fixed amount of work under two timers of 100 microseconds: however slow it is made, some of it
 * must be done between two signals.  Loops, indirect calls, system calls.
 */
#include "sig_test.h"

#define ROUNDS 300

static volatile int signals;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	signals += sig == SIGALRM ? 1 : 2;
}

static unsigned multiply(unsigned x)
{
	return x * 2654435761u + 7;
}

static unsigned mix(unsigned x)
{
	return x ^ x >> 15;
}

static void start_timers(void)
{
	struct itimerval every = { { 0, 100 }, { 0, 100 } };
	struct itimerspec too = { { 0, 100000 }, { 0, 100000 } };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;

	catch_with(SIGALRM, on_signal, SA_RESTART);
	catch_with(SIGUSR1, on_signal, SA_RESTART);
	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0);
	CHECK(timer_settime(timer, 0, &too, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
}

int main(void)
{
	unsigned (*volatile steps[])(unsigned) = { multiply, mix };
	pid_t self = getpid();
	unsigned x = 1;

	start_timers();
	for (int i = 0; i < ROUNDS; i++) {
		x = steps[i % 2](x);
		CHECK(getppid() != self);
	}
	CHECK_EQ(x, 947538335u);
	while (!signals) /* natively the work may take less than that */
		getppid();
	return verdict();
}
