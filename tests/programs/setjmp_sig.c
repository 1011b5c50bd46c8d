// SPDX-License-Identifier: MIT
/* FLAGS: -static */
/*
 * siglongjmp out of handlers: of a fault, of a signal sent to oneself, from a nested handler, and
 * from an alternate stack; with the mask restored or not. And plain longjmp through deep calls.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf fault_env, outer_env;
static jmp_buf deep_env;
static volatile int nested;

static void fail(const char *what)
{
	printf("wrong: %s\n", what);
	exit(1);
}

static void on_fault(int sig)
{
	siglongjmp(fault_env, sig);
}

static void on_usr2(int sig)
{
	(void)sig;
	nested++;
	siglongjmp(outer_env, 2);
}

static void on_usr1(int sig)
{
	(void)sig;
	raise(SIGUSR2);
	fail("a nested handler came back");
}

static void catch (int sig, void (*handler)(int), int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sa.sa_flags = flags;
	if (sigaction(sig, &sa, NULL) != 0)
		fail("sigaction");
}

static int is_blocked(int sig)
{
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, sig);
}

static void from_faults(void)
{
	volatile int *unmapped = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile int faults = 0, sum = 0;

	for (volatile int i = 0; i < 100; i++) {
		if (sigsetjmp(fault_env, 1) == 0) {
			sum += i;
			sum += *unmapped;
			sum = -1;
		} else {
			faults++;
		}
	}
	if (faults != 100 || sum != 99 * 100 / 2 || is_blocked(SIGSEGV))
		fail("faults");
	if (sigsetjmp(fault_env, 0) == 0)
		*unmapped = 1;
	if (!is_blocked(SIGSEGV))
		fail("the mask was restored unasked");
}

static void from_nested(void)
{
	volatile int rounds = 0;

	while (rounds < 50) {
		if (sigsetjmp(outer_env, 1) == 0)
			raise(SIGUSR1);
		rounds++;
	}
	if (nested != 50 || is_blocked(SIGUSR1) || is_blocked(SIGUSR2))
		fail("nested handlers");
}

static int __attribute__((noinline)) descend(int depth)
{
	volatile char pad[64];

	pad[0] = (char)depth;
	if (depth == 0)
		longjmp(deep_env, 7);
	if (depth < 0)
		return 0;
	return descend(depth - 1) + pad[0];
}

static void from_deep(void)
{
	volatile int rounds = 0;

	for (; rounds < 20; rounds++) {
		if (setjmp(deep_env) == 0) {
			descend(100);
			fail("descend came back");
		}
	}
}

int main(void)
{
	static char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };

	if (sigaltstack(&alternate, NULL) != 0)
		fail("sigaltstack");
	catch (SIGSEGV, on_fault, SA_ONSTACK);
	catch (SIGUSR1, on_usr1, 0);
	catch (SIGUSR2, on_usr2, SA_ONSTACK);
	from_faults();
	from_nested();
	from_deep();
	printf("setjmp_sig: ok\n");
	return 0;
}
