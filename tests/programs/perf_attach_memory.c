/* SPDX-License-Identifier: MIT */
/*
 * Sets a limit on its memory, and with an argument makes another process in its own memory, when it is
 * told to by a byte on standard input; says "ready" before it waits and "done" behind it.  At the
 * next byte it prints what its limit is and how the other process has ended.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT (10UL << 30)

static char stack[65536];
static volatile int has_ended;
static volatile unsigned long turns;

static int computes(void *arg)
{
	(void)arg;
	while (!has_ended)
		turns++;
	return 7;
}

static int next(const char *said)
{
	char c;

	fprintf(stderr, "%s\n", said);
	return read(0, &c, 1) != 1;
}

int main(int argc, char **argv)
{
	struct rlimit lim = { LIMIT, LIMIT };
	int pid = 0, status = 0;

	(void)argv;
	if (next("ready") || setrlimit(RLIMIT_AS, &lim))
		return 1;
	if (argc > 1)
		pid = clone(computes, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	if (pid < 0 || next("done"))
		return 1;
	has_ended = 1;
	if (pid)
		waitpid(pid, &status, 0);
	getrlimit(RLIMIT_AS, &lim);
	if (pid)
		printf("status %d\n", WEXITSTATUS(status));
	else
		printf("limit %lu\n", (unsigned long)lim.rlim_cur);
	return 0;
}
