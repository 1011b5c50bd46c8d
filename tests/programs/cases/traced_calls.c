/* SPDX-License-Identifier: MIT */
/*
 * What a tracer sees of its child's system calls (PTRACE_SYSCALL, as strace, rr and "catch syscall" of gdb use it): the
 * program's own, each at its entry and at its exit, through an exec to the end of the new image; no other call and no other
 * stop.  The entry says -ENOSYS in rax, the number in orig_rax; what the tracer makes of number and result holds.
 * With an argument the tracer has a sampling event on the child: the same.
 */
/* CASE: counted -- */
/* CASE: session -- sampled */
#include <sys/ptrace.h>
#include <sys/user.h>

#include "check.h"

#define STOP	(W_STOPCODE(SIGTRAP | 0x80))
#define EXECED	(W_STOPCODE(SIGTRAP) | PTRACE_EVENT_EXEC << 16)
#define MINE	4242
#define UNKNOWN 9999

static void child(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	for (int i = 0; i < 3; i++)
		syscall(SYS_getppid);
	/* the tracer makes getppid of this, and another result of the next */
	if (syscall(UNKNOWN) != getppid() || syscall(SYS_getppid) != MINE)
		_exit(8);
	execl("/bin/true", "true", (char *)0);
	_exit(9);
}

static void put(pid_t pid, u64 orig, int turn, int is_entry)
{
	struct user_regs_struct r;

	ptrace(PTRACE_GETREGS, pid, 0, &r);
	if (orig == UNKNOWN && is_entry)
		r.orig_rax = SYS_getppid;
	else if (turn == 6 && !is_entry)
		r.rax = MINE;
	else
		return;
	ptrace(PTRACE_SETREGS, pid, 0, &r);
}

static void follow(pid_t pid)
{
	struct user_regs_struct r;
	int st, is_entry = 0, turn = 0;

	for (;;) {
		ptrace(PTRACE_SYSCALL, pid, 0, 0);
		if (waitpid(pid, &st, 0) != pid || !WIFSTOPPED(st))
			break;
		if (st == EXECED) {
			printf("the exec's stop\n");
			continue;
		}
		CHECK(st == STOP, "a call's stop");
		is_entry = !is_entry;
		turn += is_entry;
		ptrace(PTRACE_GETREGS, pid, 0, &r);
		/* rseq may be refused */
		printf("%s %llu%s\n", is_entry ? "entry" : "exit", r.orig_rax,
		       is_entry == (r.rax == (u64)-ENOSYS) || r.orig_rax == SYS_rseq
			       ? ""
			       : ", rax is wrong");
		put(pid, r.orig_rax, turn, is_entry);
	}
	printf("end %x\n", st);
	CHECK(WIFEXITED(st) && !WEXITSTATUS(st), "and its end");
}

int main(int argc, char **argv)
{
	struct perf_event_attr a = HWI;
	pid_t pid = fork();
	int st;

	(void)argv;
	if (!pid)
		child();
	waitpid(pid, &st, 0);
	CHECK(st == W_STOPCODE(SIGSTOP), "it stops where it asks for that");
	a.disabled = 0;
	a.sample_period = 847559;
	if (argc > 1)
		xo(&a, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC);
	follow(pid);
	return done();
}
