/* SPDX-License-Identifier: MIT */
/*
 * A signal that a call of the task's own raises (kill, a write to a broken pipe, an unblocking) is told behind the exit of
 * that call, as the kernel delivers it on the way out; a call that a signal cuts short has its exit, with -ERESTART*, before it, too.
 */
/* CASE: counted -- */
/* CASE: session -- */
#include <sys/ptrace.h>
#include <sys/user.h>

#include "check.h"

static void on(int sig)
{
	(void)sig;
}

static void child(void)
{
	sigset_t set, none;
	int p[2], st;

	signal(SIGUSR1, on);
	signal(SIGUSR2, on);
	signal(SIGPIPE, on);
	signal(SIGCHLD, on);
	pipe(p);
	close(p[0]);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	for (int i = 0; i < 3; i++)
		syscall(SYS_kill, syscall(SYS_getpid), SIGUSR1);
	syscall(SYS_write, p[1], "x", 1);
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	syscall(SYS_kill, getpid(), SIGUSR1);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!syscall(SYS_fork))
		_exit(3);
	wait(&st);
	/* the tracer sends signals while the task stands at entries and exits of these */
	syscall(SYS_getppid);
	syscall(SYS_getuid);
	_exit(st != 0x300);
}

/* What the kernel has begun it also ends before it tells of a signal. */
static void follow(pid_t pid)
{
	struct user_regs_struct r;
	int st, in = 0, sig = 0, signals = 0, calls = 0, sent = 0;

	for (;;) {
		ptrace(PTRACE_SYSCALL, pid, 0, sig);
		sig = 0;
		if (waitpid(pid, &st, 0) != pid || !WIFSTOPPED(st))
			break;
		if (st == W_STOPCODE(SIGTRAP | 0x80)) {
			in = !in;
			calls += in;
			ptrace(PTRACE_GETREGS, pid, 0, &r);
			if (sent < 2 && r.orig_rax == (sent ? SYS_getuid : SYS_getppid) &&
			    in == sent)
				sent += !kill(pid, SIGUSR2);
			continue;
		}
		sig = WSTOPSIG(st);
		signals++;
		printf("signal %d\n", sig);
		CHECK(!in, "the signal is told behind the call's exit");
	}
	printf("end %x, %d signals\n", st, signals);
	CHECK(signals == 9 && sent == 2 && calls > 20, "all of them");
	CHECK(WIFEXITED(st) && !WEXITSTATUS(st), "and its end");
}

int main(void)
{
	pid_t pid = fork();
	int st;

	if (!pid)
		child();
	waitpid(pid, &st, 0);
	CHECK(st == W_STOPCODE(SIGSTOP), "it stops where it asks for that");
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD);
	follow(pid);
	return done();
}
