/* SPDX-License-Identifier: MIT */
/*
 * A breakpoint in a task that has other credentials than its tracer: put there before they change, or after, it stops the task.  The
 * instruction is one that the kernel would have to emulate for a probe of its own.
 */
/* CASE: counted -- */
/* CASE: session -- */
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "check.h"

#define NOBODY 65534
#define INT3   0xccL

int flags_of(int i);
__asm__(".text\nflags_of: pushfq; pop %rax; lea 1(%rdi),%eax; ret\n");

static void child(void)
{
	int sum = 0;

	ptrace(PTRACE_TRACEME, 0, 0, 0);
	sum += flags_of(0); /* it is known by then */
	raise(SIGSTOP);
	if (!getuid()) /* others cannot, and stay */
		syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	raise(SIGSTOP);
	for (int i = 0; i < 10; i++)
		sum += flags_of(i);
	_exit(sum);
}

/* How often it stops at the breakpoint, which is taken away then. */
static int run(bool before)
{
	struct user_regs_struct r;
	int st, stops = 0, traps = 0;
	long word = 0;
	pid_t pid = fork();

	if (!pid)
		child();
	while (waitpid(pid, &st, 0) == pid && WIFSTOPPED(st)) {
		if (WSTOPSIG(st) == SIGTRAP) {
			traps++;
			ptrace(PTRACE_GETREGS, pid, 0, &r);
			r.rip = (unsigned long)flags_of;
			ptrace(PTRACE_SETREGS, pid, 0, &r);
			ptrace(PTRACE_POKETEXT, pid, flags_of, word);
		} else if (++stops == (before ? 1 : 2)) {
			word = ptrace(PTRACE_PEEKTEXT, pid, flags_of, 0);
			CHECK(!ptrace(PTRACE_POKETEXT, pid, flags_of, (word & ~0xffL) | INT3),
			      "the breakpoint is put there");
		}
		ptrace(PTRACE_CONT, pid, 0, 0);
	}
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 56, "the task does what it does");
	return traps;
}

int main(void)
{
	CHECK(run(true) == 1, "a breakpoint from before the credentials change");
	CHECK(run(false) == 1, "a breakpoint from behind that");
	return done();
}
