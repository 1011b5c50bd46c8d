/* SPDX-License-Identifier: MIT */
/*
 * Signals across exec, fork and vfork: what is pending, blocked and ignored stays, handlers go;
 * a fork's child has none of the parent's pending ones; a vfork's child changes its own table only.
 */
#include "sig_test.h"

#include <spawn.h>
#include <sys/types.h>

extern char **environ;

static volatile int caught;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	caught++;
}

static int is_pending(int sig)
{
	sigset_t s;

	sigpending(&s);
	return sigismember(&s, sig);
}

static void *handler_of(int sig)
{
	struct sigaction sa;

	sigaction(sig, NULL, &sa);
	return (void *)sa.sa_handler;
}

/* The image after the exec. */
static int second(void)
{
	sigset_t mask;
	stack_t ss;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int sig = 1; sig <= 64; sig++) {
		int want = sig == SIGUSR1 || sig == SIGSEGV || sig == SIGRTMIN + 3;

		if (sig != 32 && sig != 33)
			CHECK_EQ(sigismember(&mask, sig), want);
		CHECK_EQ(is_pending(sig), sig == SIGUSR1 || sig == SIGRTMIN + 3);
	}
	done("mask and pending signals after exec");
	CHECK_EQ(handler_of(SIGUSR2), SIG_DFL);
	CHECK_EQ(handler_of(SIGUSR1), SIG_DFL);
	CHECK_EQ(handler_of(SIGTERM), SIG_IGN);
	CHECK_EQ(handler_of(SIGFPE), SIG_IGN);
	CHECK_EQ(handler_of(SIGQUIT), SIG_IGN);
	CHECK_EQ(handler_of(SIGTRAP), SIG_IGN);
	CHECK_EQ(handler_of(SIGBUS), SIG_DFL);
	raise(SIGTERM);
	raise(SIGFPE);
	raise(SIGQUIT);
	raise(SIGTRAP);
	done("dispositions after exec");
	CHECK(sigaltstack(NULL, &ss) == 0);
	CHECK_EQ(ss.ss_size, 0);
	catch_with(SIGUSR1, on_signal, 0);
	catch_with(SIGRTMIN + 3, on_signal, 0);
	sigemptyset(&mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	CHECK_EQ(caught, 3);
	done("delivered after exec");
	return verdict();
}

static void forks(void)
{
	sigset_t usr1 = set_of(SIGUSR1);
	int status;
	pid_t pid;

	catch_with(SIGUSR1, on_signal, 0);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	raise(SIGUSR1);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		failures = 0;
		CHECK(!is_pending(SIGUSR1));
		raise(SIGUSR1);
		sigprocmask(SIG_UNBLOCK, &usr1, NULL);
		CHECK_EQ(caught, 1);
		_exit(failures);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	CHECK(is_pending(SIGUSR1));
	sigprocmask(SIG_UNBLOCK, &usr1, NULL);
	CHECK_EQ(caught, 1);
	done("fork");
}

static void *volatile seen_by_child;

static void vforks(void)
{
	int status;
	pid_t pid;

	catch_with(SIGUSR2, on_signal, 0);
	pid = vfork();
	if (pid == 0) {
		seen_by_child = handler_of(SIGUSR2);
		signal(SIGUSR2, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(seen_by_child, on_signal);
	CHECK_EQ(handler_of(SIGUSR2), on_signal);
	CHECK_EQ(handler_of(SIGHUP), SIG_DFL);
	caught = 0;
	raise(SIGUSR2);
	CHECK_EQ(caught, 1);
	done("vfork");
}

/* posix_spawn resets the handlers in a child that shares our memory. */
static void spawns(void)
{
	char *argv[] = { "true", NULL };
	posix_spawnattr_t attr;
	sigset_t usr1 = set_of(SIGUSR1);
	int status;
	pid_t pid;

	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &usr1);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	for (int i = 0; i < 5; i++) {
		CHECK(posix_spawn(&pid, "/bin/true", NULL, &attr, argv, environ) == 0);
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK_EQ(status, 0);
	}
	CHECK_EQ(handler_of(SIGUSR1), on_signal);
	caught = 0;
	raise(SIGUSR1);
	CHECK_EQ(caught, 1);
	done("posix_spawn");
}

static void failed_exec(char *self)
{
	char *argv[] = { self, NULL };

	set_disposition(SIGFPE, SIG_IGN);
	CHECK(execv("/nonexistent/program", argv) == -1 && errno == ENOENT);
	CHECK(execv("/", argv) == -1 && errno == EACCES);
	caught = 0;
	raise(SIGUSR1);
	raise(SIGFPE);
	CHECK_EQ(caught, 1);
	done("exec that fails");
}

int main(int argc, char **argv)
{
	char *again[] = { argv[0], "second", NULL };
	static char stack[16384];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	sigset_t mask = set_of(SIGUSR1);

	if (argc > 1)
		return second();
	forks();
	vforks();
	spawns();
	failed_exec(argv[0]);
	sigaltstack(&ss, NULL);
	sigaddset(&mask, SIGSEGV);
	sigaddset(&mask, SIGRTMIN + 3);
	set_disposition(SIGTERM, SIG_IGN);
	set_disposition(SIGQUIT, SIG_IGN);
	set_disposition(SIGTRAP, SIG_IGN);
	catch_with(SIGBUS, on_signal, 0);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	raise(SIGUSR1);
	sigqueue(getpid(), SIGRTMIN + 3, (union sigval){ .sival_int = 1 });
	sigqueue(getpid(), SIGRTMIN + 3, (union sigval){ .sival_int = 2 });
	if (failures)
		return 1;
	execv("/proc/self/exe", again);
	return 2;
}
