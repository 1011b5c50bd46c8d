/* SPDX-License-Identifier: MIT */
/*
 * Signals and threads: faults in all of them at once, alternate stacks of their own, a storm of
 * signals among them, timers while they come and go, and a fork from a handler.
 */
/* LIBS: -pthread */
#include "sig_test.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 4
#define FAULTS	300

static __thread char *my_stack;
static __thread int my_faults;
static char *bad_page;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	char here;

	(void)sig;
	CHECK(&here >= my_stack && &here < my_stack + 65536);
	CHECK_EQ(info->si_addr, bad_page + uc->uc_mcontext.gregs[REG_RDI] % 4096);
	uc->uc_mcontext.gregs[REG_RIP] += 3;
	my_faults++;
}

static void *faulting(void *arg)
{
	stack_t ss = { .ss_size = 65536 };
	unsigned long seed = (unsigned long)arg;

	ss.ss_sp = my_stack = malloc(65536);
	CHECK(sigaltstack(&ss, NULL) == 0);
	for (int i = 0; i < FAULTS; i++) {
		char *at = bad_page + (seed = seed * 1103515245 + 12345) % 4096;
		unsigned long rax = seed;

		__asm__ volatile("mov %%rax, (%%rdi)" : "+a"(rax) : "D"(at) : "memory");
		CHECK_EQ(rax, seed);
	}
	CHECK_EQ(my_faults, FAULTS);
	ss.ss_flags = SS_DISABLE;
	sigaltstack(&ss, NULL);
	free(my_stack);
	return NULL;
}

static void faults(void)
{
	pthread_t th[THREADS];

	bad_page = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	catch_with(SIGSEGV, on_fault, SA_ONSTACK);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&th[i], NULL, faulting, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	done("faults in all threads");
}

static atomic_int got;
static atomic_ulong ticks;
static pthread_t storm[THREADS];
static atomic_int up;

static void on_usr1(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	got++;
}

static unsigned long compute(unsigned long n)
{
	unsigned long h = 1;

	for (unsigned long i = 0; i < n; i++)
		h = (h ^ i) * 0x100000001b3UL + (h >> 7);
	return h;
}

/* Each signal is queued, so each arrives. */
static void *storming(void *arg)
{
	int me = (int)(long)arg;
	unsigned long want = compute(3000);

	up++;
	while (up < THREADS)
		sched_yield();
	for (int i = 0; i < 200; i++) {
		while (pthread_sigqueue(storm[(me + 1 + i % (THREADS - 1)) % THREADS], SIGRTMIN + 1,
					(union sigval){ .sival_int = i }) == EAGAIN)
			sched_yield();
		CHECK_EQ(compute(3000), want);
	}
	up++;
	while (up < 2 * THREADS) /* until nobody signals us any more */
		sched_yield();
	return NULL;
}

static void storms(void)
{
	catch_with(SIGRTMIN + 1, on_usr1, SA_RESTART);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&storm[i], NULL, storming, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(storm[i], NULL);
	CHECK_EQ(got, 200 * THREADS);
	done("storm among threads");
}

static void on_tick(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	ticks++;
}

static void *brief(void *arg)
{
	return (void *)compute((unsigned long)arg);
}

static void coming_and_going(void)
{
	struct itimerval tick = { { 0, 200 }, { 0, 200 } }, off = { 0 };
	unsigned long want = compute(500);

	catch_with(SIGALRM, on_tick, SA_RESTART);
	setitimer(ITIMER_REAL, &tick, NULL);
	for (int i = 0; i < 200; i++) {
		pthread_t th[2];
		void *r;

		for (int k = 0; k < 2; k++)
			CHECK(pthread_create(&th[k], NULL, brief, (void *)500UL) == 0);
		for (int k = 0; k < 2; k++) {
			pthread_join(th[k], &r);
			CHECK_EQ((unsigned long)r, want);
		}
	}
	for (int i = 0; i < 50; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(compute(500) == want ? 7 : 8);
		while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
			;
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	}
	setitimer(ITIMER_REAL, &off, NULL);
	CHECK(ticks > 0);
	done("timers while threads and forks come and go");
}

static volatile int child_status;

static void on_fork(int sig, siginfo_t *info, void *context)
{
	int status = 0;
	pid_t pid = fork();

	(void)sig;
	(void)info;
	(void)context;
	if (pid == 0)
		return; /* the child too goes on from the frame */
	waitpid(pid, &status, 0);
	child_status = status;
}

static void fork_in_handler(void)
{
	pid_t self = getpid();

	fflush(stdout);
	catch_with(SIGUSR2, on_fork, 0);
	raise(SIGUSR2);
	if (getpid() != self)
		_exit(5);
	CHECK(WIFEXITED(child_status) && WEXITSTATUS(child_status) == 5);
	done("fork in a handler");
}

int main(void)
{
	faults();
	storms();
	coming_and_going();
	fork_in_handler();
	return verdict();
}
