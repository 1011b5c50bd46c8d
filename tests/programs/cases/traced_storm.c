/* SPDX-License-Identifier: MIT */
/*
 * Each queued signal that others send to a traced task comes to its handler, whatever the task is stopped for meanwhile:
 * two kinds, so that one comes while the other waits to be told.  The tracer wants calls, too, and gives all signals on.
 */
/* CASE: counted -- */
/* CASE: session -- */
#include <sys/ptrace.h>

#include "check.h"

#define SIGNALS 100

static volatile int got[2];

static void on(int sig)
{
	got[sig - SIGRTMIN]++;
}

static void send_all(pid_t pid)
{
	const union sigval v = { 0 };

	for (int i = 0; i < SIGNALS; i++) {
		while (sigqueue(pid, SIGRTMIN, v))
			sched_yield();
		while (sigqueue(pid, SIGRTMIN + 1, v))
			sched_yield();
	}
	_exit(0);
}

static void child(void)
{
	pid_t me = getpid(), sender;
	volatile long x = 0;
	int st;

	signal(SIGRTMIN, on);
	signal(SIGRTMIN + 1, on);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	sender = fork();
	if (!sender)
		send_all(me);
	do {
		for (int i = 0; i < 2000; i++)
			x += i;
	} while (!waitpid(sender, &st, WNOHANG));
	/* what was sent before its end has been delivered by the next calls */
	for (int i = 0; i < 8; i++)
		syscall(SYS_getppid);
	printf("%d %d signals\n", got[0], got[1]);
	fflush(stdout);
	_exit(got[0] != SIGNALS || got[1] != SIGNALS);
}

int main(void)
{
	pid_t pid = fork();
	int st, sig = 0, told = 0;

	if (!pid)
		child();
	waitpid(pid, &st, 0);
	CHECK(st == W_STOPCODE(SIGSTOP), "it stops where it asks for that");
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD);
	for (;;) {
		ptrace(PTRACE_SYSCALL, pid, 0, sig);
		if (waitpid(pid, &st, 0) != pid || !WIFSTOPPED(st))
			break;
		sig = st == W_STOPCODE(SIGTRAP | 0x80) ? 0 : WSTOPSIG(st);
		told += sig >= SIGRTMIN;
	}
	printf("%d told, end %x\n", told, st);
	CHECK(told == 2 * SIGNALS, "the tracer hears of each");
	CHECK(WIFEXITED(st) && !WEXITSTATUS(st), "and the task has each");
	return done();
}
