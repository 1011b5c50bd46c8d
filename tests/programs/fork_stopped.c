/* SPDX-License-Identifier: MIT */
/*
 * A fork whose parent is stopped inside of the call, by a tracer, while its child goes on; under a filter that does not let
 * the child have memory.
 *
 *	fork_stopped forks		says its number, waits for a byte; then how its child waited
 *	fork_stopped trace PID		that one: sends the byte to its output, and stops it until its child has ended
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "seccomp.h"

static void forks(void)
{
	static const int calls[] = { SYS_write,	     SYS_fork,	       SYS_wait4, SYS_futex,
				     SYS_exit_group, SYS_rt_sigreturn, -1 };
	struct rusage used = { 0 };
	int status = 0;
	char byte;
	long pid;

	say_number("", (uint64_t)getpid());
	if (read(0, &byte, 1) != 1)
		_exit(2);
	if (seccomp_allow(calls, SECCOMP_RET_KILL_PROCESS, 0))
		_exit(3);
	pid = syscall(SYS_fork);
	if (!pid)
		syscall(SYS_exit_group, 7);
	if (syscall(SYS_wait4, pid, &status, 0, &used) != pid)
		syscall(SYS_exit_group, 4);
	say_number("status ", (uint64_t)WEXITSTATUS(status));
	say(used.ru_nvcsw >= 100 ? "it slept\n" : "it did not sleep\n");
	syscall(SYS_exit_group, 0);
}

/* It is a child of the other's: not waited for here, but known to be a zombie. */
static void wait_for_end(pid_t pid)
{
	char path[64], line[256];
	int is_over = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	while (!is_over) {
		f = fopen(path, "r");
		is_over = !f || !fgets(line, sizeof(line), f) || strstr(line, ") Z ");
		if (f)
			fclose(f);
		usleep(10000);
	}
}

static int trace(pid_t pid)
{
	unsigned long child;
	int status;

	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEFORK))
		return 77;
	if (write(1, "x", 1) != 1)
		return 2;
	do
		if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
			return 3;
	while (status >> 8 != (SIGTRAP | PTRACE_EVENT_FORK << 8) &&
	       !ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status)));
	if (ptrace(PTRACE_GETEVENTMSG, pid, 0, &child) ||
	    waitpid((pid_t)child, &status, __WALL) != (pid_t)child ||
	    ptrace(PTRACE_DETACH, (pid_t)child, 0, 0))
		return 4;
	wait_for_end((pid_t)child);
	return ptrace(PTRACE_DETACH, pid, 0, 0) ? 5 : 0;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return trace(atoi(argv[2]));
	forks();
	return 0;
}
