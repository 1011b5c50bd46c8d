/* SPDX-License-Identifier: MIT */
/*
 * A tracer ends while its tracee is stopped, for a signal or at the entry to a call.  The kernel lets them go: they run on as if nobody
 * had traced them, to their own end, also through an exec.
 */
/* CASE: counted -- */
#include <sys/ptrace.h>

#include "check.h"

enum { STOPPED, IN_A_CALL, N_WAYS };

static void traced(int in)
{
	char c;

	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	/* until the tracer is gone */
	if (read(in, &c, 1) != 0)
		_exit(1);
	for (int i = 0; i < 10; i++)
		syscall(SYS_getppid);
	execl("/bin/sh", "sh", "-c", "exit 6", (char *)0);
	_exit(9);
}

static void tracer(int way)
{
	int st, p[2];
	pid_t pid;

	if (pipe(p))
		_exit(2);
	pid = fork();
	if (!pid) {
		close(p[1]);
		traced(p[0]);
	}
	waitpid(pid, &st, 0);
	if (way == IN_A_CALL) {
		ptrace(PTRACE_SYSCALL, pid, 0, 0);
		waitpid(pid, &st, 0);
	}
	_exit(0);
}

int main(void)
{
	int st;
	pid_t pid;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	for (int way = 0; way < N_WAYS; way++) {
		pid = fork();
		if (!pid)
			tracer(way);
		waitpid(pid, &st, 0);
		CHECK(!st, "way %d: the tracer has ended", way);
		pid = waitpid(-1, &st, 0);
		CHECK(pid > 0 && WIFEXITED(st) && WEXITSTATUS(st) == 6,
		      "way %d: its tracee comes to its own end (%x)", way, st);
	}
	return done();
}
