/* SPDX-License-Identifier: MIT */
/*
 * A far return, which the engine does not follow: from there on the program runs natively, and
 * finds its handlers, its mask, its alternate stack and its %gs as it left them.
 */
#include "sig_test.h"

#include <asm/prctl.h>

static char stack[65536];
static unsigned long base[2] = { 0x1234, 0x5678 };
static volatile int caught, on_stack;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	caught++;
	on_stack = (char *)context > stack && (char *)context < stack + sizeof(stack);
}

static void far_return(void)
{
	__asm__ volatile("sub $128, %%rsp\nmov %%cs, %%eax\npush %%rax\nlea 1f(%%rip), %%rax\n"
			 "push %%rax\nlretq\n1: add $128, %%rsp"
			 :
			 :
			 : "rax", "memory", "cc");
}

int main(void)
{
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) }, now;
	sigset_t mask = set_of(SIGUSR2), old;
	struct sigaction sa;
	unsigned long gs;
	double third = 1.0 / 3 * failures;

	sigaddset(&mask, SIGSEGV);
	CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, base) == 0);
	CHECK(sigaltstack(&ss, NULL) == 0);
	catch_with(SIGUSR1, on_signal, SA_ONSTACK);
	catch_with(SIGUSR2, on_signal, SA_ONSTACK);
	catch_with(SIGSEGV, on_signal, SA_ONSTACK);
	set_disposition(SIGTRAP, SIG_IGN);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	raise(SIGUSR2);
	raise(SIGSEGV);
	third += 1.0 / 3;
	far_return();
	CHECK(third == 1.0 / 3);
	raise(SIGUSR1);
	raise(SIGTRAP);
	CHECK_EQ(caught, 1);
	CHECK(on_stack);
	CHECK(sigaltstack(NULL, &now) == 0);
	CHECK_EQ(now.ss_sp, stack);
	CHECK(sigaction(SIGUSR1, NULL, &sa) == 0);
	CHECK_EQ(sa.sa_sigaction, on_signal);
	CHECK(sigaction(SIGQUIT, NULL, &sa) == 0);
	CHECK_EQ(sa.sa_handler, SIG_DFL);
	CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &gs) == 0);
	CHECK_EQ(gs, base);
	__asm__("mov %%gs:8, %0" : "=r"(gs));
	CHECK_EQ(gs, 0x5678);
	sigprocmask(SIG_BLOCK, NULL, &old);
	CHECK(sigismember(&old, SIGUSR2) && sigismember(&old, SIGSEGV));
	CHECK(!sigismember(&old, SIGUSR1));
	sigprocmask(SIG_UNBLOCK, &mask, NULL);
	CHECK_EQ(caught, 3);
	done("native");
	return verdict();
}
