/* SPDX-License-Identifier: MIT */
/*
 * Deaths.  Without arguments: each default action, sent and raised in every way, in a child each;
 * prints signal and core flag as the parent's wait sees them.  With the name of one: dies so.
 */
/* LIBS: -pthread */
#include "sig_test.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static char *volatile nowhere = (char *)24;
static volatile int zero;

/* Known registers at the fault, for who looks into the core. */
__attribute__((noinline, noclone)) static void by_load(void)
{
	__asm__ volatile("mov $0x1111, %%ebx\nmov $0x2222, %%r12d\nmov $0x3333, %%r15d\n"
			 "mov $0x4444, %%eax\nmovq %%rax, %%xmm3\nmov $24, %%ecx\n"
			 ".globl death_pc\ndeath_pc: mov (%%rcx), %%rdx"
			 :
			 :
			 : "rax", "rbx", "rcx", "rdx", "r12", "r15", "xmm3");
}
static void by_store(void)
{
	*nowhere = 1;
}
static void by_divide(void)
{
	__asm__ volatile("xor %%edx, %%edx\nxor %%ecx, %%ecx\ndiv %%ecx" ::: "rax", "rcx", "rdx");
}
static void by_ud2(void)
{
	__asm__ volatile("ud2");
}
static void by_int3(void)
{
	__asm__ volatile("int3");
}
static void by_hlt(void)
{
	__asm__ volatile("hlt");
}
static void by_call(void)
{
	((void (*)(void))nowhere)();
}
static void by_mapping(void)
{
	FILE *f = tmpfile();
	char *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(f), 0);

	zero = p[5];
}
static void by_abort(void)
{
	abort();
}
static void by_blocked_fault(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	by_load();
}
static void on_any(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
}
static void by_blocked_handled_fault(void)
{
	catch_with(SIGSEGV, on_any, 0);
	by_blocked_fault();
}
static void by_ignored_fault(void)
{
	set_disposition(SIGSEGV, SIG_IGN);
	by_load();
}
static void on_fault_again(int sig, siginfo_t *info, void *context)
{
	on_any(sig, info, context);
	*nowhere = 1;
}
static void by_fault_in_handler(void)
{
	catch_with(SIGSEGV, on_fault_again, 0);
	*nowhere = 1;
}
static void by_no_stack(void)
{
	catch_with(SIGSEGV, on_any, 0);
	__asm__ volatile("mov $64, %%esp\npush %%rax" ::: "memory");
}
static void by_no_stack_for_usr1(void)
{
	catch_with(SIGUSR1, on_any, 0);
	__asm__ volatile("mov $39, %%eax\nsyscall\nmov %%eax, %%edi\nmov $10, %%esi\n"
			 "mov $64, %%esp\nmov $62, %%eax\nsyscall" ::
				 : "rax", "rdi", "rsi", "rcx", "r11", "memory");
}
static void by_reset_handler(void)
{
	catch_with(SIGSEGV, on_any, SA_RESETHAND);
	by_load();
}
/* As crash reporters do: the default again, and the same siginfo to oneself. */
static void on_report(int sig, siginfo_t *info, void *context)
{
	(void)context;
	set_disposition(sig, SIG_DFL);
	syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), sig, info);
}
static void by_report(void)
{
	catch_with(SIGSEGV, on_report, 0);
	by_load();
}
static void *thread_load(void *arg)
{
	by_load();
	return arg;
}
static void by_thread(void)
{
	pthread_t th;

	pthread_create(&th, NULL, thread_load, NULL);
	for (;;)
		zero = 0;
}
static void by_cpu_limit(void)
{
	struct rlimit limit = { 1, 2 };

	setrlimit(RLIMIT_CPU, &limit);
	for (;;)
		zero = 0;
}
static void by_file_limit(void)
{
	struct rlimit limit = { 10, 10 };

	setrlimit(RLIMIT_FSIZE, &limit);
	if (write(fileno(tmpfile()), "0123456789abcdef", 16) == 10)
		if (write(fileno(tmpfile()), "0123456789abcdef", 16) == 10)
			zero = 1;
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, 0 });
	zero = (int)write(fileno(tmpfile()), "x", 1);
}

static const struct {
	const char *name;
	void (*fn)(void);
} ways[] = {
	{ "load", by_load },
	{ "store", by_store },
	{ "divide", by_divide },
	{ "ud2", by_ud2 },
	{ "int3", by_int3 },
	{ "hlt", by_hlt },
	{ "call", by_call },
	{ "mapping", by_mapping },
	{ "abort", by_abort },
	{ "blocked fault", by_blocked_fault },
	{ "blocked but handled fault", by_blocked_handled_fault },
	{ "ignored fault", by_ignored_fault },
	{ "fault in handler", by_fault_in_handler },
	{ "no stack", by_no_stack },
	{ "no stack for another", by_no_stack_for_usr1 },
	{ "reset handler", by_reset_handler },
	{ "report", by_report },
	{ "thread", by_thread },
	{ "cpu limit", by_cpu_limit },
	{ "file limit", by_file_limit },
};

static void report(const char *how, int n, pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status))
		printf("%s %d: signal %d%s\n", how, n, WTERMSIG(status),
		       WCOREDUMP(status) ? ", core" : "");
	else
		printf("%s %d: status %d\n", how, n, WEXITSTATUS(status));
	fflush(stdout);
}

/* Stop signals would need a continue; ignored ones are survived. */
static void sent(void)
{
	for (int sig = 1; sig <= 64; sig++) {
		pid_t pid;

		if (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU ||
		    sig == 32 || sig == 33)
			continue;
		pid = fork();
		if (pid == 0) {
			if (sig & 1)
				raise(sig);
			else
				kill(getpid(), sig);
			_exit(9);
		}
		report("sent", sig, pid);
	}
}

/* The child computes; the signal comes from outside. */
static void sent_from_outside(void)
{
	static const int sigs[] = { SIGQUIT, SIGABRT, SIGSEGV, SIGTERM, SIGKILL, SIGUSR1, SIGSYS };

	for (unsigned i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
		int up[2];
		char c;
		pid_t pid;

		CHECK(pipe(up) == 0);
		pid = fork();
		if (pid == 0) {
			CHECK(write(up[1], "u", 1) == 1);
			for (;;)
				zero = 0;
		}
		CHECK(read(up[0], &c, 1) == 1);
		kill(pid, sigs[i]);
		report("outside", sigs[i], pid);
		close(up[0]);
		close(up[1]);
	}
}

int main(int argc, char **argv)
{
	const unsigned n = sizeof(ways) / sizeof(ways[0]);

	for (unsigned i = 0; i < n; i++) {
		pid_t pid;

		if (argc > 1) {
			if (!strcmp(argv[1], ways[i].name))
				ways[i].fn();
			continue;
		}
		pid = fork();
		if (pid == 0) {
			ways[i].fn();
			_exit(9);
		}
		report(ways[i].name, 0, pid);
	}
	if (argc > 1)
		return 3;
	sent();
	sent_from_outside();
	return verdict();
}
