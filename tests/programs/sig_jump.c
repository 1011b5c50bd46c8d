/* SPDX-License-Identifier: MIT */
/*
 * Leaving handlers without returning: siglongjmp after faults and after timers, and coroutines that
 * a timer switches in the middle of their handlers.
 */
#include "sig_test.h"

static sigjmp_buf env;
static volatile int jumps;
static char *volatile nowhere = (char *)16;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	CHECK_EQ(sig, SIGSEGV);
	CHECK_EQ(info->si_addr, 16);
	siglongjmp(env, ++jumps);
}

static void from_faults(void)
{
	catch_with(SIGSEGV, on_fault, 0);
	for (volatile int i = 0; i < 1000; i++)
		if (sigsetjmp(env, 1) == 0)
			*nowhere = 1;
	CHECK_EQ(jumps, 1000);
	done("siglongjmp out of faults");
}

static void on_timer(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	siglongjmp(env, 1);
}

static volatile unsigned long work;

static void from_timers(void)
{
	struct itimerval soon = { .it_value = { .tv_usec = 200 } };
	volatile int n = 0;

	catch_with(SIGALRM, on_timer, 0);
	while (n < 300) {
		if (sigsetjmp(env, 1) == 0) {
			setitimer(ITIMER_REAL, &soon, NULL);
			for (;;)
				work = work * 3 + 1;
		}
		n++;
	}
	done("siglongjmp out of timers");
}

#define ROUTINES 3
static ucontext_t routine[ROUTINES], home;
static char stacks[ROUTINES][65536];
static volatile int current, switches, finished;
static volatile unsigned long sums[ROUTINES];

/* The handler itself switches: each routine is suspended inside of its own handler. */
static void on_switch(int sig, siginfo_t *info, void *context)
{
	int was = current;

	(void)sig;
	(void)info;
	(void)context;
	if (finished)
		return;
	switches++;
	current = (was + 1) % ROUTINES;
	swapcontext(&routine[was], &routine[current]);
}

static void compute(int id)
{
	const sigset_t alrm = set_of(SIGALRM);
	unsigned long sum;

	sigprocmask(SIG_UNBLOCK, &alrm, NULL);
	while (switches < 60) {
		sum = 0;
		for (unsigned long i = 0; i < 20000; i++)
			sum = sum * 31 + (i ^ (unsigned long)id);
		sums[id] = sum;
	}
	finished = 1;
	setcontext(&home);
}

static void coroutines(void)
{
	struct itimerval tick = { { 0, 500 }, { 0, 500 } }, off = { 0 };

	catch_with(SIGALRM, on_switch, 0);
	for (int i = 0; i < ROUTINES; i++) {
		getcontext(&routine[i]);
		/* swapcontext takes the mask first: no signal may come before the stack */
		sigaddset(&routine[i].uc_sigmask, SIGALRM);
		routine[i].uc_stack.ss_sp = stacks[i];
		routine[i].uc_stack.ss_size = sizeof(stacks[i]);
		makecontext(&routine[i], (void (*)(void))(void *)compute, 1, i);
	}
	setitimer(ITIMER_REAL, &tick, NULL);
	swapcontext(&home, &routine[0]);
	setitimer(ITIMER_REAL, &off, NULL);
	for (int id = 0; id < ROUTINES; id++) {
		unsigned long sum = 0;

		for (unsigned long i = 0; i < 20000; i++)
			sum = sum * 31 + (i ^ (unsigned long)id);
		CHECK(sums[id] == sum || sums[id] == 0);
	}
	CHECK(sums[0] || sums[1] || sums[2]);
	done("coroutines switched by a timer");
}

int main(void)
{
	from_faults();
	from_timers();
	coroutines();
	return verdict();
}
