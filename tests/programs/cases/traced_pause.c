/* SPDX-License-Identifier: MIT */
/*
 * A signal that comes while a task stands at the entry of pause ends that call: its exit is told with ERESTARTNOHAND, then the
 * signal, and the handler returns behind it.  A signal that the tracer takes away does not: it waits on.
 */
/* CASE: counted -- */
/* CASE: session -- */
#include <sys/ptrace.h>
#include <sys/user.h>

#include "check.h"

enum { PAUSE = 34, ERESTARTNOHAND = 514 };

static volatile int handled;

static void on(int sig)
{
	handled += sig;
}

static void child(void)
{
	int ret, err;

	signal(SIGUSR1, on);
	signal(SIGUSR2, on);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	ret = (int)syscall(PAUSE);
	err = errno;
	_exit(ret != -1 || err != EINTR || handled != SIGUSR1);
}

int main(void)
{
	int st, in = 0, sig = 0, sent = 0, exits = 0;
	struct user_regs_struct r;
	pid_t pid = fork();

	if (!pid)
		child();
	waitpid(pid, &st, 0);
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD);
	for (;;) {
		ptrace(PTRACE_SYSCALL, pid, 0, sig);
		sig = 0;
		if (waitpid(pid, &st, 0) != pid || !WIFSTOPPED(st))
			break;
		if (st != W_STOPCODE(SIGTRAP | 0x80)) {
			printf("signal %d\n", WSTOPSIG(st));
			/* the first is taken away */
			sig = WSTOPSIG(st) == SIGUSR2 ? 0 : WSTOPSIG(st);
			continue;
		}
		in = !in;
		ptrace(PTRACE_GETREGS, pid, 0, &r);
		if (r.orig_rax != PAUSE)
			continue;
		printf("pause: %s %lld\n", in ? "entry" : "exit", in ? 0 : (long long)r.rax);
		exits += !in && (long long)r.rax == -ERESTARTNOHAND;
		if (in && sent < 2)
			kill(pid, sent++ ? SIGUSR1 : SIGUSR2);
	}
	CHECK(exits == 2, "both exits are those of a pause that is cut short");
	CHECK(WIFEXITED(st) && !WEXITSTATUS(st), "the handler returns behind the pause");
	return done();
}
