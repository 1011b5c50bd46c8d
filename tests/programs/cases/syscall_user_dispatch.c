/* SPDX-License-Identifier: MIT */
/* CASE: counted -- */
/*
 * PR_SET_SYSCALL_USER_DISPATCH (Wine, user-space kernels): a call from outside [offset, offset + len) is not made but raises
 * SIGSYS while the selector's byte is 1.  si_call_addr and the frame's rip are behind the instruction, rax is the number
 * still.  It is the thread's alone: forks, threads and new images begin without.  Another byte, or none that can be read, kills,
 * and so does SIGSYS where it is blocked or ignored.
 */
#include "check.h"
#include <ucontext.h>

#define SUD	  59
#define OFF	  0
#define EXCLUSIVE 1
#define INCLUSIVE 2
#define ALLOW	  0
#define BLOCK	  1

static volatile char selector;
static volatile int taken;
static siginfo_t seen;
static volatile u64 seen_rip, seen_rax, seen_rcx;
static volatile int keep; /* the selector as it is, while the handler returns */

/* long in_range(nr): a call, and the return of a signal's handler, from a range of their own. */
__asm__(".text\n"
	".globl range_start, range_end, in_range, range_restorer, outside, outside_end\n"
	"range_start:\n"
	"in_range:\n"
	"	mov %rdi, %rax\n"
	"	syscall\n"
	"	ret\n"
	"range_restorer:\n"
	"	mov $15, %eax\n"
	"	syscall\n"
	"	hlt\n"
	"range_end:\n"
	"	nop\n"
	"outside:\n"
	"	mov %rdi, %rax\n"
	"	syscall\n"
	"outside_end:\n"
	"	ret\n");
extern const char range_start[], range_end[], range_restorer[], outside_end[];
long in_range(long nr);
long outside(long nr);

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	if (!keep)
		selector = ALLOW;
	taken++;
	seen = *info;
	seen_rip = (u64)uc->uc_mcontext.gregs[REG_RIP];
	seen_rax = (u64)uc->uc_mcontext.gregs[REG_RAX];
	seen_rcx = (u64)uc->uc_mcontext.gregs[REG_RCX];
	uc->uc_mcontext.gregs[REG_RAX] = 4242;
}

/* The kernel's sigaction: the restorer is ours, in the range. */
static void install(void)
{
	struct {
		void (*handler)(int, siginfo_t *, void *);
		unsigned long flags;
		const char *restorer;
		u64 mask;
	} a = { handler, SA_SIGINFO | 0x04000000, range_restorer, 0 };

	syscall(SYS_rt_sigaction, SIGSYS, &a, NULL, 8);
}

static long set(unsigned long mode, const void *offset, unsigned long len, volatile void *at)
{
	return syscall(SYS_prctl, SUD, mode, offset, len, at) ? errno : 0;
}

static long range(void)
{
	return set(EXCLUSIVE, range_start, (unsigned long)(range_end - range_start), &selector);
}

/* Killed by: the signal, 0 none. */
static int death(void (*f)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		f();
		selector = ALLOW;
		_exit(7);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void odd_byte(void)
{
	range();
	selector = 2;
	outside(SYS_getpid);
}

static void no_byte(void)
{
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	set(EXCLUSIVE, range_start, (unsigned long)(range_end - range_start), page);
	munmap(page, 4096);
	outside(SYS_getpid);
}

static void blocked(void)
{
	sigset_t mask;

	sigfillset(&mask);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	range();
	selector = BLOCK;
	outside(SYS_getpid);
}

static void ignored(void)
{
	signal(SIGSYS, SIG_IGN);
	range();
	selector = BLOCK;
	outside(SYS_getpid);
}

/* The handler's return is a call as others are: SIGSYS is blocked then, and kills. */
static void bad_return(void)
{
	set(EXCLUSIVE, NULL, 0, &selector);
	keep = 1;
	selector = BLOCK;
	outside(SYS_getpid);
}

/* Without a selector every call is taken. */
static void no_selector(void)
{
	set(EXCLUSIVE, range_start, (unsigned long)(range_end - range_start), NULL);
	if (outside(SYS_getpid) == 4242 && taken == 1)
		in_range(SYS_exit_group);
}

static void in_child(void)
{
	selector = BLOCK; /* as in the parent, where it is on */
	_exit(outside(SYS_getppid) > 0 ? 9 : 8);
}

static void *in_thread(void *arg)
{
	*(long *)arg = outside(SYS_getppid) == getppid();
	return NULL;
}

static void with_range(void)
{
	long ok = 0, pid = getpid();
	pthread_t thread;

	range();
	selector = BLOCK;
	ok = in_range(SYS_getpid) == pid;
	keep = 1;
	ok = ok && outside(SYS_getpid) == 4242 && selector == BLOCK;
	keep = 0;
	ok = ok && outside(12345) == 4242;
	CHECK(ok && taken == 2, "calls from the range are made, others taken: %d", taken);
	CHECK(seen.si_signo == SIGSYS && seen.si_code == 2 && seen.si_errno == 0 &&
		      seen.si_syscall == 12345 && seen.si_arch == 0xc000003e,
	      "siginfo: code %d syscall %d arch %x", seen.si_code, seen.si_syscall, seen.si_arch);
	CHECK(seen.si_call_addr == outside_end && seen_rip == (u64)outside_end,
	      "the address is behind the instruction");
	CHECK(seen_rax == 12345 && seen_rcx == (u64)outside_end, "registers: rax %d",
	      (int)seen_rax);
	CHECK(death(in_child) == -9, "a fork's child begins without");
	selector = ALLOW;
	ok = 0;
	pthread_create(&thread, NULL, in_thread, &ok);
	pthread_join(thread, NULL);
	CHECK(ok, "a thread begins without");
	CHECK(!set(OFF, NULL, 0, NULL), "off");
	selector = BLOCK;
	CHECK(outside(SYS_getpid) == pid, "off: calls are made");
	selector = ALLOW;
}

static void inclusive(void)
{
	long pid = getpid(), err;

	err = set(INCLUSIVE, range_start, 0, &selector);
	CHECK(err == EINVAL, "inclusive, length 0: %s", strerror((int)err));
	err = set(INCLUSIVE, range_start, (unsigned long)(range_end - range_start), &selector);
	printf("inclusive: %s\n", err ? strerror((int)err) : "ok");
	if (err)
		return;
	taken = 0;
	selector = BLOCK;
	err = outside(SYS_getpid);
	selector = ALLOW;
	CHECK(err == pid && !taken, "inclusive: calls from elsewhere are made");
	set(OFF, NULL, 0, NULL);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		selector = BLOCK;
		return outside(SYS_getppid) > 0 ? done() : 1;
	}
	install();
	CHECK(set(7, NULL, 0, NULL) == EINVAL, "no such mode");
	CHECK(set(OFF, NULL, 1, NULL) == EINVAL, "off with a length");
	CHECK(set(OFF, NULL, 0, &selector) == EINVAL, "off with a selector");
	CHECK(set(EXCLUSIVE, (void *)1, ~0UL, &selector) == EINVAL, "range that wraps");
	CHECK(set(EXCLUSIVE, NULL, 0, (void *)(1UL << 63)) == EFAULT, "selector of the kernel's");
	with_range();
	inclusive();
	CHECK(death(odd_byte) == SIGSYS, "another byte");
	CHECK(death(no_byte) == SIGSEGV, "a byte that cannot be read");
	CHECK(death(blocked) == SIGSYS, "SIGSYS is blocked");
	CHECK(death(ignored) == SIGSYS, "SIGSYS is ignored");
	CHECK(death(bad_return) == SIGSYS, "the handler's return is taken, too");
	taken = 0;
	CHECK(death(no_selector) <= 0, "no selector");
	fflush(stdout);
	if (failed)
		return done();
	range();
	execl("/proc/self/exe", "again", "x", NULL);
	return 1;
}
