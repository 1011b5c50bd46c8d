/* SPDX-License-Identifier: MIT */
/*
 * What rt_sigaction and rt_sigprocmask answer, and what its flags do: nesting and masks of
 * handlers, SA_NODEFER, SA_RESETHAND, SA_RESTART, handlers without SA_SIGINFO, SIG_IGN.
 */
#include "sig_test.h"

struct kernel_action {
	unsigned long handler, flags, restorer, mask;
};

static long rt_sigaction(int sig, const void *set, void *old, size_t size)
{
	return syscall(SYS_rt_sigaction, sig, set, old, size);
}

static void ignore_it(int sig)
{
	(void)sig;
}

static void answers(void)
{
	struct kernel_action a = { (unsigned long)ignore_it, 0x04000004UL | 0x400 | 0x12, 0x1234,
				   ~0UL };
	struct kernel_action old;

	CHECK(rt_sigaction(SIGUSR1, &a, NULL, 8) == 0);
	CHECK(rt_sigaction(SIGUSR1, NULL, &old, 8) == 0);
	CHECK_EQ(old.handler, ignore_it);
	CHECK_EQ(old.flags, 0x04000006);
	CHECK_EQ(old.restorer, 0x1234);
	CHECK_EQ(old.mask, ~(1UL << (SIGKILL - 1) | 1UL << (SIGSTOP - 1)));
	CHECK(rt_sigaction(SIGUSR1, &a, NULL, 4) == -1 && errno == EINVAL);
	CHECK(rt_sigaction(0, &a, NULL, 8) == -1 && errno == EINVAL);
	CHECK(rt_sigaction(65, &a, NULL, 8) == -1 && errno == EINVAL);
	CHECK(rt_sigaction(SIGKILL, &a, NULL, 8) == -1 && errno == EINVAL);
	CHECK(rt_sigaction(SIGSTOP, &a, NULL, 8) == -1 && errno == EINVAL);
	CHECK(rt_sigaction(SIGKILL, NULL, &old, 8) == 0);
	CHECK_EQ(old.handler, SIG_DFL);
	CHECK(rt_sigaction(SIGUSR1, (void *)8, NULL, 8) == -1 && errno == EFAULT);
	a.handler = (unsigned long)SIG_DFL;
	CHECK(rt_sigaction(SIGUSR1, &a, (void *)8, 8) == -1 && errno == EFAULT);
	CHECK(rt_sigaction(SIGUSR1, NULL, &old, 8) == 0);
	CHECK_EQ(old.handler, SIG_DFL); /* changed all the same */
	for (int sig = 1; sig <= 64; sig++) {
		CHECK(rt_sigaction(sig, NULL, &old, 8) == 0);
		CHECK(sig == SIGUSR1 || old.handler <= 1);
	}
	done("rt_sigaction");
}

static void mask_answers(void)
{
	unsigned long all = ~0UL, none = 0, old = 0;

	CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8) == 0);
	CHECK(syscall(SYS_rt_sigprocmask, 99, NULL, &old, 8) == 0);
	CHECK_EQ(old, ~(1UL << (SIGKILL - 1) | 1UL << (SIGSTOP - 1)));
	none = 1UL << (SIGSEGV - 1) | 1UL << (SIGUSR1 - 1);
	CHECK(syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &none, NULL, 8) == 0);
	CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &old, 8) == 0);
	CHECK_EQ(old, ~(1UL << (SIGKILL - 1) | 1UL << (SIGSTOP - 1) | none));
	CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &none, NULL, 8) == 0);
	CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &old, 8) == 0);
	CHECK_EQ(old, ~(1UL << (SIGKILL - 1) | 1UL << (SIGSTOP - 1)));
	CHECK(syscall(SYS_rt_sigprocmask, 99, &none, NULL, 8) == -1 && errno == EINVAL);
	CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &none, NULL, 4) == -1 && errno == EINVAL);
	CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, (void *)8, NULL, 8) == -1 && errno == EFAULT);
	none = 0;
	CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, &old, 8) == 0);
	CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, &old, 8) == 0);
	CHECK_EQ(old, 0);
	done("rt_sigprocmask");
}

static volatile int depth, deepest, runs;
static volatile unsigned long mask_in_handler, mask_in_frame;

static void on_nest(int sig, siginfo_t *info, void *context)
{
	(void)info;
	runs++;
	depth++;
	if (depth > deepest)
		deepest = depth;
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, (void *)&mask_in_handler, 8);
	mask_in_frame = ((ucontext_t *)context)->uc_sigmask.__val[0];
	if (runs < 4)
		raise(sig);
	depth--;
}

static void nest(int flags, int want_deepest)
{
	runs = depth = deepest = 0;
	catch_with(SIGUSR1, on_nest, flags);
	raise(SIGUSR1);
	CHECK_EQ(runs, 4);
	CHECK_EQ(deepest, want_deepest);
}

static void nesting(void)
{
	struct sigaction sa = { .sa_sigaction = on_nest, .sa_flags = SA_SIGINFO };
	unsigned long now;

	nest(0, 1);
	CHECK_EQ(mask_in_handler, 1UL << (SIGUSR1 - 1));
	CHECK_EQ(mask_in_frame, 0);
	nest(SA_NODEFER, 4);
	CHECK_EQ(mask_in_handler, 0);
	sigfillset(&sa.sa_mask);
	sigaction(SIGUSR2, &sa, NULL);
	runs = 9;
	raise(SIGUSR2);
	CHECK_EQ(mask_in_handler & ~(3UL << 31),
		 ~(1UL << (SIGKILL - 1) | 1UL << (SIGSTOP - 1)) & ~(3UL << 31));
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, 8);
	CHECK_EQ(now, 0);
	done("nesting and SA_NODEFER");
}

static void on_reset(int sig, siginfo_t *info, void *context)
{
	struct sigaction now;

	(void)info;
	(void)context;
	runs++;
	sigaction(sig, NULL, &now);
	CHECK_EQ(now.sa_handler, SIG_DFL);
	CHECK(now.sa_flags & SA_RESETHAND);
}

static void resethand(void)
{
	pid_t pid;
	int status;

	fflush(stdout);
	runs = 0;
	catch_with(SIGURG, on_reset, SA_RESETHAND);
	raise(SIGURG);
	raise(SIGURG);
	CHECK_EQ(runs, 1);
	pid = fork();
	if (pid == 0) {
		catch_with(SIGTERM, on_reset, SA_RESETHAND);
		raise(SIGTERM);
		raise(SIGTERM);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	done("SA_RESETHAND");
}

static volatile siginfo_t *plain_info;
static volatile void *plain_context;
static volatile int plain_sig;

/* The kernel sets all three argument registers whatever the flags. */
static void on_plain(int sig, siginfo_t *info, void *context)
{
	plain_sig = sig;
	plain_info = info;
	plain_context = context;
}

static void without_siginfo(void)
{
	struct sigaction sa = { .sa_handler = (void (*)(int))(void *)on_plain };

	sigemptyset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	CHECK_EQ(plain_sig, SIGUSR1);
	CHECK_EQ((const char *)plain_info - (const char *)plain_context, 304);
	done("without SA_SIGINFO");
}

static void ignoring(void)
{
	sigset_t usr1 = set_of(SIGUSR1), pending;

	set_disposition(SIGUSR1, SIG_IGN);
	set_disposition(SIGSEGV, SIG_IGN);
	set_disposition(SIGTRAP, SIG_IGN);
	raise(SIGUSR1);
	raise(SIGSEGV);
	kill(getpid(), SIGTRAP);
	runs = 9;
	catch_with(SIGUSR1, on_nest, 0);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	raise(SIGUSR1);
	sigpending(&pending);
	CHECK(sigismember(&pending, SIGUSR1));
	set_disposition(SIGUSR1, SIG_IGN); /* throws away what is pending */
	sigpending(&pending);
	CHECK(!sigismember(&pending, SIGUSR1));
	catch_with(SIGUSR1, on_nest, 0);
	sigprocmask(SIG_UNBLOCK, &usr1, NULL);
	CHECK_EQ(runs, 9);
	done("SIG_IGN");
}

static void sent_faults(void)
{
	sigset_t segv = set_of(SIGSEGV), pending;

	runs = 9;
	catch_with(SIGSEGV, on_nest, 0);
	kill(getpid(), SIGSEGV);
	CHECK_EQ(runs, 10);
	sigprocmask(SIG_BLOCK, &segv, NULL);
	raise(SIGSEGV);
	kill(getpid(), SIGSEGV);
	CHECK_EQ(runs, 10);
	sigpending(&pending);
	CHECK(sigismember(&pending, SIGSEGV));
	sigprocmask(SIG_UNBLOCK, &segv, NULL);
	CHECK(runs == 11 || runs == 12);
	done("faults that are sent");
}

int main(void)
{
	answers();
	mask_answers();
	nesting();
	resethand();
	without_siginfo();
	ignoring();
	sent_faults();
	return verdict();
}
