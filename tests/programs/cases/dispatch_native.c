/* SPDX-License-Identifier: MIT */
/* CASE: session -- */
/*
 * Of a program that meets what the engine cannot follow nothing is lost but counts: its threads' system call user
 * dispatch goes on, by the kernel's hand.  Here that is an unknown instruction with a gs prefix, which the CPU does not know either.
 */
#include "check.h"
#include <ucontext.h>

#define SUD	  59
#define EXCLUSIVE 1
#define INCLUSIVE 2
#define INSN_LEN  3

static __thread volatile char selector;
static __thread volatile int taken;
static volatile int steps;

static void on_sys(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	selector = 0;
	taken += info->si_code == 2; /* SYS_USER_DISPATCH */
	uc->uc_mcontext.gregs[REG_RAX] = 4242;
}

static void on_ill(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	uc->uc_mcontext.gregs[REG_RIP] += INSN_LEN;
}

static long call(long nr)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr) : "rcx", "r11", "memory");
	return ret;
}

/* All registers but rax, and flags, are as before. */
static void unknown(void)
{
	u64 sum = 0;

	__asm__ volatile(
		"mov $1, %%rbx\n\tmov $2, %%r10\n\tmov $4, %%r8\n\tmov $8, %%rdi\n\tmov $16, %%rsi\n\tmov $32, %%rdx\n\t"
		"mov $64, %%rcx\n\tmov $128, %%r11\n\tstc\n\t"
		".byte 0x65, 0x0f, 0x04\n\t"
		"lea (%%rbx, %%r10), %0\n\tlea (%0, %%r8), %0\n\tlea (%0, %%rdi), %0\n\tlea (%0, %%rsi), %0\n\t"
		"lea (%0, %%rdx), %0\n\tlea (%0, %%rcx), %0\n\tlea (%0, %%r11), %0\n\tadc $0, %0"
		: "=&a"(sum)
		:
		: "rbx", "r10", "r8", "rdi", "rsi", "rdx", "rcx", "r11", "cc");
	CHECK(sum == 256, "registers as before: %lu", sum);
}

static void is_taken(const char *who)
{
	long ret;

	taken = 0;
	selector = 1;
	ret = call(SYS_getppid);
	selector = 0;
	CHECK(taken == 1 && ret == 4242, "%s: taken %d, %ld", who, taken, ret);
}

static void *thread(void *arg)
{
	CHECK(!prctl(SUD, EXCLUSIVE, 0, 0, &selector), "thread: on");
	is_taken("thread, first");
	steps = 1;
	while (steps != 2)
		sched_yield();
	is_taken("thread, natively");
	return arg;
}

int main(void)
{
	struct sigaction sys = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };
	struct sigaction ill = { .sa_sigaction = on_ill, .sa_flags = SA_SIGINFO };
	u64 here = (u64)call & ~0xfffUL;
	pthread_t t;

	sigaction(SIGSYS, &sys, NULL);
	sigaction(SIGILL, &ill, NULL);
	if (prctl(SUD, EXCLUSIVE, 0, 0, &selector) < 0) {
		printf("no user dispatch\n");
		return 0;
	}
	pthread_create(&t, NULL, thread, NULL);
	while (steps != 1)
		sched_yield();
	/* only of a range, where the kernel knows that: what it takes now it takes then */
	if (!prctl(SUD, INCLUSIVE, here, 0x2000, &selector))
		printf("inclusive\n");
	is_taken("first");
	unknown();
	is_taken("natively");
	steps = 2;
	pthread_join(t, NULL);
	return done();
}
