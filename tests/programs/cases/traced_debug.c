/* SPDX-License-Identifier: MIT */
/*
 * What a debugger does to its child: it reads and writes registers, puts a breakpoint into the code and takes it out again,
 * goes on by single steps, looks at signals before the child does, keeps some of them from it and changes others, attaches
 * and detaches.  All of it is as the kernel does it for a task that runs natively.
 */
/* CASE: counted -- */
/* CASE: session -- */
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "check.h"

static volatile u64 calls, sum;
static volatile int usr1;

__attribute__((noinline, noclone)) static u64 f(u64 x)
{
	calls++;
	return x * 3;
}

/* Three instructions whose lengths are known. */
__attribute__((naked)) static u64 three(void)
{
	__asm__("mov $1, %eax\n\tadd $2, %eax\n\tret");
}

static void on_usr1(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)uc;
	usr1 = usr1 * 100 + si->si_value.sival_int;
}

static void child(void)
{
	const struct sigaction sa = { .sa_sigaction = on_usr1, .sa_flags = SA_SIGINFO };
	union sigval v = { .sival_int = 1 };

	ptrace(PTRACE_TRACEME, 0, 0, 0);
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGSTOP);
	for (u64 i = 0; i < 5; i++)
		sum += f(i);
	raise(SIGSTOP);
	sigqueue(getpid(), SIGUSR1, v);
	v.sival_int = 2;
	sigqueue(getpid(), SIGUSR1, v);
	__asm__ volatile("movl $1, (%0)" : : "a"(16UL) : "memory");
	raise(SIGSTOP);
	if (usr1 != 7)
		_exit(1);
	_exit(three() == 3 && calls == 5 ? (int)sum : 2);
}

static struct user_regs_struct regs(pid_t pid)
{
	struct user_regs_struct r;

	memset(&r, 0, sizeof(r));
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	return r;
}

static int go(pid_t pid, int how, int sig)
{
	int st = -1;

	if (ptrace(how, pid, 0, sig))
		printf("FAIL ptrace %d: %s\n", how, strerror(errno));
	waitpid(pid, &st, 0);
	return st;
}

static void breakpoints(pid_t pid)
{
	struct user_regs_struct r;
	long was = ptrace(PTRACE_PEEKTEXT, pid, f, 0);
	int st;

	for (u64 i = 0; i < 5; i++) {
		ptrace(PTRACE_POKETEXT, pid, f, (was & ~0xffL) | 0xcc);
		st = go(pid, PTRACE_CONT, 0);
		r = regs(pid);
		CHECK(st == W_STOPCODE(SIGTRAP) && r.rip == (u64)f + 1 && r.rdi == i,
		      "call %d: the breakpoint is behind its instruction, rdi is %llu", (int)i,
		      r.rdi);
		r.rip--;
		r.rdi += 10;
		ptrace(PTRACE_SETREGS, pid, 0, &r);
		ptrace(PTRACE_POKETEXT, pid, f, was);
		st = go(pid, PTRACE_SINGLESTEP, 0);
		r = regs(pid);
		CHECK(st == W_STOPCODE(SIGTRAP) && r.rip > (u64)f && r.rip < (u64)f + 16,
		      "call %d: a step goes on behind it", (int)i);
	}
}

static void signals(pid_t pid)
{
	struct user_regs_struct r;
	siginfo_t si;
	int st = go(pid, PTRACE_CONT, 0);

	ptrace(PTRACE_GETSIGINFO, pid, 0, &si);
	CHECK(st == W_STOPCODE(SIGUSR1) && si.si_code == SI_QUEUE && si.si_value.sival_int == 1,
	      "the first signal, which is kept from it");
	st = go(pid, PTRACE_CONT, 0);
	ptrace(PTRACE_GETSIGINFO, pid, 0, &si);
	CHECK(st == W_STOPCODE(SIGUSR1) && si.si_value.sival_int == 2,
	      "the second, which is changed");
	si.si_value.sival_int = 7;
	ptrace(PTRACE_SETSIGINFO, pid, 0, &si);
	st = go(pid, PTRACE_CONT, SIGUSR1);
	ptrace(PTRACE_GETSIGINFO, pid, 0, &si);
	CHECK(st == W_STOPCODE(SIGSEGV) && si.si_addr == (void *)16 && si.si_code == SEGV_MAPERR,
	      "a fault, with its address");
	r = regs(pid);
	CHECK(ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, regs.rip), 0) == (long)r.rip,
	      "PTRACE_PEEKUSER says the same");
	/* movl $1, (%rax) */
	CHECK((ptrace(PTRACE_PEEKTEXT, pid, r.rip, 0) & 0xffff) == 0x00c7,
	      "it stands at the store");
	r.rip += 6;
	ptrace(PTRACE_SETREGS, pid, 0, &r);
	st = go(pid, PTRACE_CONT, 0);
	CHECK(st == W_STOPCODE(SIGSTOP), "it goes on behind it");
}

static void steps(pid_t pid)
{
	long was = ptrace(PTRACE_PEEKTEXT, pid, three, 0);
	struct user_regs_struct r;

	ptrace(PTRACE_POKETEXT, pid, three, (was & ~0xffL) | 0xcc);
	CHECK(go(pid, PTRACE_CONT, 0) == W_STOPCODE(SIGTRAP), "the breakpoint before the steps");
	ptrace(PTRACE_POKETEXT, pid, three, was);
	r = regs(pid);
	r.rip--;
	ptrace(PTRACE_SETREGS, pid, 0, &r);
	for (int i = 0; i < 2; i++) {
		static const int at[] = { 5, 8 }, rax[] = { 1, 3 };

		go(pid, PTRACE_SINGLESTEP, 0);
		r = regs(pid);
		CHECK(r.rip == (u64)three + at[i] && r.rax == (u64)rax[i],
		      "step %d: where it is and what it did", i + 1);
	}
}

static volatile u32 *shared;

static void worker(void)
{
	while (!shared[0])
		shared[1]++;
	_exit(5);
}

static int is_in(u64 rip, void *at)
{
	return rip >= (u64)at && rip < (u64)at + 64;
}

/* In the middle of code, again and again. */
static void attach(void)
{
	struct user_regs_struct r;
	int st, good = 0;
	pid_t pid;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid)
		worker();
	while (!shared[1])
		;
	for (int i = 0; i < 20; i++) {
		u32 was;

		ptrace(i & 1 ? PTRACE_SEIZE : PTRACE_ATTACH, pid, 0, 0);
		if (i & 1)
			ptrace(PTRACE_INTERRUPT, pid, 0, 0);
		waitpid(pid, &st, 0);
		r = regs(pid);
		good += is_in(r.rip, worker) &&
			st == (i & 1 ? W_STOPCODE(SIGTRAP) | 128 << 16 : W_STOPCODE(SIGSTOP));
		was = shared[1];
		ptrace(PTRACE_DETACH, pid, 0, 0);
		while (shared[1] == was)
			;
	}
	CHECK(good == 20, "attached in the middle of code, it stands in the program's");
	shared[0] = 1;
	waitpid(pid, &st, 0);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 5, "and it goes on to its end");
}

int main(void)
{
	pid_t pid = fork();
	int st;

	if (!pid)
		child();
	waitpid(pid, &st, 0);
	CHECK(st == W_STOPCODE(SIGSTOP), "it stops where it asks for that");
	breakpoints(pid);
	CHECK(go(pid, PTRACE_CONT, 0) == W_STOPCODE(SIGSTOP), "no breakpoint any more");
	signals(pid);
	steps(pid);
	st = go(pid, PTRACE_CONT, 0);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 180, "its end: 3 * (60) (%x)", st);
	attach();
	return done();
}
