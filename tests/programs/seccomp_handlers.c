/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * Handlers of signals under filters that allow what they need natively and nothing else: kill and
 * rt_sigreturn.  What this prints, and how its children end, is the same natively and counted.
 *
 *	seccomp_handlers sent | fault | strict | ends | threads
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/ucontext.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seccomp.h"

static long pid;
static char order[64];
static volatile unsigned int norder;

static void allow(const int *calls, unsigned int other, unsigned int flags)
{
	if (seccomp_allow(calls, other, flags))
		_exit(8);
}

static const int narrow[] = { SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_kill, -1 };

static void note(char c)
{
	order[norder++] = c;
}

static void catch (int sig, void (*fn)(int, siginfo_t *, void *), int flags, int blocked)
{
	struct sigaction sa = { .sa_sigaction = fn, .sa_flags = flags | SA_SIGINFO };

	sigemptyset(&sa.sa_mask);
	if (blocked)
		sigaddset(&sa.sa_mask, blocked);
	sigaction(sig, &sa, NULL);
}

/* --- signals that are sent: masks hold, registers come back */

/* USR1 blocks itself and USR2: both come when it returns, once. */
static void on_usr1(int sig, siginfo_t *info, void *context)
{
	static int depth;

	(void)sig, (void)info, (void)context;
	note('1');
	if (depth++)
		return;
	note('(');
	syscall(SYS_kill, pid, SIGUSR1);
	syscall(SYS_kill, pid, SIGUSR1);
	syscall(SYS_kill, pid, SIGUSR2);
	note(')');
}

/* USR2 may be nested, and changes the mask that it returns to. */
static void on_usr2(int sig, siginfo_t *info, void *context)
{
	static int depth;

	(void)sig, (void)info;
	note('2');
	if (depth++ == 1) {
		note('[');
		syscall(SYS_kill, pid, SIGUSR2);
		note(']');
		sigaddset(&((ucontext_t *)context)->uc_sigmask, SIGHUP);
	}
}

static void on_hup(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	note('h');
}

static double mixed(double a, double b)
{
	double sum = 0;

	for (int i = 0; i < 100; i++) {
		sum = sum * a + b;
		if (i % 10 == 0)
			syscall(SYS_kill, pid, SIGHUP);
		b = b * a + sum;
	}
	return sum;
}

static void sent(void)
{
	double before, after;

	catch (SIGHUP, on_hup, 0, 0);
	catch (SIGUSR1, on_usr1, 0, SIGUSR2);
	catch (SIGUSR2, on_usr2, SA_NODEFER, 0);
	before = mixed(0.5, 3);
	norder = 0;
	allow(narrow, SECCOMP_RET_KILL_PROCESS, 0);
	after = mixed(0.5, 3);
	say(before == after ? "equal\n" : "not equal\n");
	syscall(SYS_kill, pid, SIGUSR1);
	syscall(SYS_kill, pid, SIGUSR2);
	note(';');
	syscall(SYS_kill, pid, SIGHUP); /* the last USR2 but one has blocked it */
	note(';');
	syscall(SYS_kill, pid, SIGUSR1);
	say(order);
	say("\n");
	_exit(3);
}

/* --- faults that a handler repairs */

static void on_fault(int sig, siginfo_t *info, void *context)
{
	greg_t *greg = ((ucontext_t *)context)->uc_mcontext.gregs;

	say_number("signal ", (uint64_t)sig);
	say_number("code ", (uint64_t)info->si_code);
	greg[REG_RIP] += sig == SIGSEGV ? 3 : 2; /* mov (%rax), %rax; ud2 */
	greg[REG_RAX] = 77;
}

static void faults(void)
{
	uint64_t v = 16;

	for (int i = 0; i < 3; i++) {
		__asm__ volatile("movq (%0), %0" : "+a"(v) : : "memory");
		say_number("loaded ", v);
		__asm__ volatile("ud2" : "+a"(v) : : "memory");
		v = 16;
	}
}

static void fault(void)
{
	catch (SIGSEGV, on_fault, 0, 0);
	catch (SIGILL, on_fault, 0, SIGSEGV);
	allow(narrow, SECCOMP_RET_KILL_PROCESS, 0);
	faults();
	_exit(3);
}

/* --- strict mode knows rt_sigreturn, too */

static volatile sig_atomic_t alarms;

static void on_alarm(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	alarms++;
}

static void strict(void)
{
	const struct itimerval every = { .it_interval.tv_usec = 1000, .it_value.tv_usec = 1000 };

	catch (SIGALRM, on_alarm, 0, 0);
	catch (SIGSEGV, on_fault, 0, 0);
	catch (SIGILL, on_fault, 0, 0);
	setitimer(ITIMER_REAL, &every, NULL);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	while (alarms < 20)
		;
	say("20 alarms\n");
	faults();
	while (alarms < 40)
		;
	say("40 alarms\n");
	syscall(SYS_exit, 5);
}

/* --- ends that need no handler */

static void by_address(void)
{
	*(volatile int *)(volatile uintptr_t){ 16 } = 1;
}

static void by_jump(void)
{
	((void (*)(void))(uintptr_t)0x1234)();
}

static void by_instruction(void)
{
	__asm__ volatile("ud2");
}

static void by_division(void)
{
	__asm__ volatile("xor %%ecx, %%ecx; div %%ecx" : : : "eax", "ecx", "edx", "cc");
}

static void by_bus(void)
{
	FILE *f = tmpfile();
	char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(f), 0);

	allow(narrow, SECCOMP_RET_KILL_PROCESS, 0);
	*(volatile char *)p;
}

static void by_trap(void)
{
	allow(narrow, SECCOMP_RET_TRAP, 0);
	syscall(SYS_getppid);
}

static void by_filter(void)
{
	syscall(SYS_getppid);
}

static void ends(void)
{
	static const struct {
		void (*fn)(void);
		int own_filter;
	} how[] = { { by_address, 0 }, { by_jump, 0 }, { by_instruction, 0 }, { by_division, 0 },
		    { by_bus, 1 },     { by_trap, 1 }, { by_filter, 0 } };
	int status;

	for (unsigned int i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		pid_t child = fork();

		if (!child) {
			if (!how[i].own_filter)
				allow(narrow, SECCOMP_RET_KILL_PROCESS, 0);
			how[i].fn();
			_exit(6);
		}
		waitpid(child, &status, 0);
		say_number("status ", (uint64_t)(status & ~0x80));
	}
}

/* --- a filter on all threads at once, each of which has handled signals before and does so behind */

static volatile int is_filtered;
static int hits[4], failed;

static void on_rt(int sig, siginfo_t *info, void *context)
{
	(void)info, (void)context;
	hits[sig - SIGRTMIN]++;
}

static void *works(void *arg)
{
	const long nr = SIGRTMIN + (long)arg, tid = syscall(SYS_gettid);
	unsigned int behind = 0;
	uint64_t sum = 1;

	for (int i = 0; behind < 200; i++) {
		behind += is_filtered;
		if (syscall(SYS_tgkill, pid, tid, nr))
			__atomic_store_n(&failed, 1, __ATOMIC_RELAXED);
		if (hits[(long)arg] != i + 1)
			__atomic_store_n(&failed, 1, __ATOMIC_RELAXED);
		sum = sum * 3 + (uint64_t)i;
	}
	syscall(SYS_exit, sum == 0);
	return NULL;
}

static void threads(void)
{
	static const int calls[] = {
		SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_tgkill, SYS_futex, -1
	};
	pthread_t t[4];

	for (long i = 0; i < 4; i++) {
		catch (SIGRTMIN + (int)i, on_rt, 0, 0);
		pthread_create(&t[i], NULL, works, (void *)i);
	}
	for (int i = 0; i < 4; i++) /* what a thread begins with is not allowed */
		while (__atomic_load_n(&hits[i], __ATOMIC_RELAXED) < 10)
			;
	allow(calls, SECCOMP_RET_KILL_PROCESS, SECCOMP_FILTER_FLAG_TSYNC);
	is_filtered = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	say(failed ? "failed\n" : "each signal was handled when it was sent\n");
	_exit(3);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = { { "sent", sent },
		      { "fault", fault },
		      { "strict", strict },
		      { "ends", ends },
		      { "threads", threads } };

	pid = getpid();
	for (unsigned int i = 0; argc == 2 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name)) {
			modes[i].run();
			return 0;
		}
	return 2;
}
