/* SPDX-License-Identifier: MIT */
/*
 * Code that changes while signals arrive and where faults must not be noticed: pages that are
 * written and executed in turn with a timer running, with SIGSEGV blocked and with a handler for
 * it; frames on a stack that holds code.
 */
#include "sig_test.h"

#include <linux/sched.h>

static volatile unsigned long ticks, faults;

static void on_tick(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	ticks++;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	faults++;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static unsigned char *page;

/* mov $value, %eax; ret */
static void write_code(unsigned char *at, unsigned value)
{
	at[0] = 0xb8;
	memcpy(at + 1, &value, 4);
	at[5] = 0xc3;
}

static unsigned call(const unsigned char *at)
{
	return ((unsigned (*)(void))(void *)at)();
}

static void rewriting(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		unsigned char *at = page + (i % 50) * 64;

		write_code(at, (unsigned)i);
		CHECK_EQ(call(at), i);
		memcpy(at + 1, &(unsigned){ (unsigned)i + 7 }, 4);
		CHECK_EQ(call(at), i + 7);
		page[4000] = (unsigned char)i; /* data beside code */
	}
}

static void with_timer(void)
{
	struct itimerval tick = { { 0, 300 }, { 0, 300 } }, off = { 0 };
	sigset_t segv = set_of(SIGSEGV), all;

	catch_with(SIGALRM, on_tick, SA_RESTART);
	setitimer(ITIMER_REAL, &tick, NULL);
	rewriting(1500);
	done("rewriting under a timer");
	sigprocmask(SIG_BLOCK, &segv, NULL);
	rewriting(500);
	sigfillset(&all);
	sigdelset(&all, SIGALRM);
	sigprocmask(SIG_SETMASK, &all, NULL);
	rewriting(500);
	done("with SIGSEGV blocked");
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	catch_with(SIGSEGV, on_fault, 0);
	rewriting(500);
	setitimer(ITIMER_REAL, &off, NULL);
	CHECK_EQ(faults, 0);
	done("with a handler for SIGSEGV");
}

/* A true write fault in the page, once the program has taken its permission away itself. */
static void own_protection(void)
{
	write_code(page, 1);
	CHECK_EQ(call(page), 1);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	faults = 0;
	__asm__ volatile("mov %%al, (%0)" : : "D"(page), "a"(2) : "memory");
	CHECK_EQ(faults, 1);
	CHECK_EQ(call(page), 1);
	mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	rewriting(50);
	CHECK_EQ(faults, 1);
	done("protected by the program");
}

static volatile int on_code_stack;

static void on_stack_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	on_code_stack += (unsigned char *)context > page && (unsigned char *)context < page + 65536;
}

static void code_on_stack(void)
{
	stack_t ss = { .ss_sp = page, .ss_size = 65536 };

	CHECK(sigaltstack(&ss, NULL) == 0);
	catch_with(SIGUSR1, on_stack_signal, SA_ONSTACK);
	for (int i = 0; i < 50; i++) {
		/* code in the pages that the frame is going to cover */
		unsigned char *at = page + 65536 - 4096 * (i % 3 + 1) + 100;

		write_code(at, (unsigned)i);
		CHECK_EQ(call(at), i);
		raise(SIGUSR1);
		write_code(at, (unsigned)i + 1);
		CHECK_EQ(call(at), i + 1);
	}
	CHECK_EQ(on_code_stack, 50);
	done("frames among code");
}

static void clear_sighand(void)
{
	struct clone_args args = { .flags = CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD };
	struct sigaction sa;
	int status;
	pid_t pid;

	set_disposition(SIGHUP, SIG_IGN);
	fflush(stdout);
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		sigaction(SIGUSR1, NULL, &sa);
		CHECK_EQ(sa.sa_handler, SIG_DFL);
		sigaction(SIGHUP, NULL, &sa);
		CHECK_EQ(sa.sa_handler, SIG_IGN);
		if (failures)
			_exit(1);
		syscall(SYS_kill, syscall(SYS_getpid), SIGUSR1);
		_exit(2);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
	raise(SIGUSR1);
	CHECK_EQ(on_code_stack, 51);
	done("CLONE_CLEAR_SIGHAND");
}

int main(void)
{
	page = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	with_timer();
	own_protection();
	code_on_stack();
	clear_sighand();
	return verdict();
}
