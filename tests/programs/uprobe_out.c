/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -no-pie -static -D_GNU_SOURCE */
/*
 * Calls f_out() 1000 times, which somebody outside may have a uprobe on.  Before it does what makes its file unfindable: "chroot DIR"
 * leaves /proc and itself outside, "unlink" removes its own name, "other DIR" does both.  "traced": it is done
 * by a child that is traced; no more than its one stop is to be told.
 */
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline, aligned(16))) int f_out(int n);
__attribute__((noinline, aligned(16))) int f_out(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

/* Returns in the child: 0, it is traced.  The tracer exits as the child does. */
static int trace(void)
{
	int status, stops = 0;
	pid_t pid = fork();

	if (!pid)
		return ptrace(PTRACE_TRACEME, 0, 0, 0) || raise(SIGSTOP);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		stops++;
		ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status));
	}
	_exit(WIFEXITED(status) && stops == 1 ? WEXITSTATUS(status) : 3);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	long sum = 0;

	if ((!strcmp(how, "unlink") || !strcmp(how, "other")) && unlink(argv[0]))
		return 2;
	if (!strcmp(how, "traced") && trace())
		return 2;
	if (argc > 2 && (chroot(argv[2]) || chdir("/")))
		return 2;
	for (int i = 0; i < 1000; i++)
		sum += f_out(i);
	return sum != 500500;
}
