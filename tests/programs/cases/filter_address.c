/* SPDX-License-Identifier: MIT */
/* CASE: nobody counted -- */
/* CASE: nobody counted --stress evict -- short */
/*
 * Seccomp filters may look at instruction_pointer, which is the address behind the program's syscall instruction: user-space
 * kernels and older Wines let calls of their own pass so, and trap those of what they run.  si_call_addr, the frame's rip and
 * the data of the filter are told as for any other filter, whichever filter is the strictest.
 */
#include "check.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <ucontext.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (u32)offsetof(struct seccomp_data, field))
#define LOAD_HIGH(field)                                                                           \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (u32)offsetof(struct seccomp_data, field) + 4)
#define IF(value, then, otherwise)                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (u32)(value), then, otherwise)
#define RET(value) BPF_STMT(BPF_RET | BPF_K, (u32)(value))

__asm__(".text\n"
	".globl inside, inside_end, outside, outside_end\n"
	"inside:\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	syscall\n"
	"inside_end:\n"
	"	ret\n"
	"outside:\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	syscall\n"
	"outside_end:\n"
	"	ret\n");
extern const char inside_end[], outside_end[];
long inside(long nr, long arg);
long outside(long nr, long arg);

static volatile int taken;
static siginfo_t seen;
static volatile u64 seen_rip, seen_rax;

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	taken++;
	seen = *info;
	seen_rip = (u64)uc->uc_mcontext.gregs[REG_RIP];
	seen_rax = (u64)uc->uc_mcontext.gregs[REG_RAX];
	uc->uc_mcontext.gregs[REG_RAX] = 4242;
}

static int install(struct sock_filter *insns, unsigned short n, unsigned int flags)
{
	struct sock_fprog prog = { n, insns };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog) ? errno : 0;
}

/* Calls of getppid that do not come from inside: by_address. */
static int install_by_address(u32 action, int nr, unsigned int flags)
{
	struct sock_filter f[] = {
		LOAD(nr),
		IF(nr, 0, 5),
		LOAD(instruction_pointer),
		IF((u64)inside_end, 0, 2),
		LOAD_HIGH(instruction_pointer),
		IF((u64)inside_end >> 32, 1, 0),
		RET(action),
		RET(SECCOMP_RET_ALLOW),
	};

	return install(f, sizeof(f) / sizeof(f[0]), flags);
}

static int install_plain(u32 action, int nr)
{
	struct sock_filter f[] = { LOAD(nr), IF(nr, 0, 1), RET(action), RET(SECCOMP_RET_ALLOW) };

	return install(f, sizeof(f) / sizeof(f[0]), 0);
}

static void *doomed(void *arg)
{
	outside(*(int *)arg, 0);
	return NULL;
}

static int death(u32 action, int nr, int in_thread)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct rlimit none = { 0, 0 };
		pthread_t thread;

		setrlimit(RLIMIT_CORE, &none);
		install_by_address(action, nr, 0);
		if (in_thread) {
			pthread_create(&thread, NULL, doomed, &nr);
			pthread_join(thread, NULL);
		} else {
			outside(nr, 0);
		}
		_exit(7);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void *caller(void *arg)
{
	*(long *)arg = outside(SYS_getpgid, 0);
	return NULL;
}

static void many(void)
{
	long sum = 0;
	void *p = NULL;

	for (int k = 0; k < 200; k++) {
		p = realloc(p, 1000 + (size_t)k * 5000);
		sum += inside(SYS_getppid, 0) > 0;
		sum += outside(SYS_getppid, 0) == 4242;
	}
	free(p);
	CHECK(sum == 400, "many calls: %ld", sum);
}

static void trap(void)
{
	CHECK(!install_by_address(SECCOMP_RET_TRAP | 7, SYS_getppid, 0), "installed");
	CHECK(inside(SYS_getppid, 0) == getpgid(0) || inside(SYS_getppid, 0) > 0,
	      "from the address that may");
	taken = 0;
	CHECK(outside(SYS_getppid, 0) == 4242 && taken == 1, "from elsewhere: SIGSYS");
	CHECK(seen.si_code == 1 && seen.si_errno == 7 && seen.si_syscall == SYS_getppid &&
		      seen.si_arch == AUDIT_ARCH_X86_64,
	      "siginfo: %d %d %d", seen.si_code, seen.si_errno, seen.si_syscall);
	CHECK(seen.si_call_addr == outside_end && seen_rip == (u64)outside_end,
	      "the address is behind the instruction");
	CHECK(seen_rax == SYS_getppid, "rax is the number");
	many();
}

static void errors(void)
{
	long err = 0;
	pthread_t thread;

	CHECK(!install_by_address(SECCOMP_RET_ERRNO | 77, SYS_getpgid, SECCOMP_FILTER_FLAG_TSYNC),
	      "installed for all");
	CHECK(outside(SYS_getpgid, 0) == -77, "from elsewhere: the error");
	CHECK(inside(SYS_getpgid, 0) > 0, "from the address that may");
	pthread_create(&thread, NULL, caller, &err);
	pthread_join(thread, NULL);
	CHECK(err == -77, "a thread has it, too: %ld", err);
	CHECK(!install_by_address(SECCOMP_RET_ERRNO | 5000, SYS_getsid, 0), "a large error");
	CHECK(outside(SYS_getsid, 0) == -4095, "is cut: %ld", outside(SYS_getsid, 0));
}

/* The strictest says what happens, whether it looks at addresses or not. */
static void several(void)
{
	install_by_address(SECCOMP_RET_ERRNO | 5, SYS_getpriority, 0);
	install_plain(SECCOMP_RET_TRAP | 9, SYS_getpriority);
	taken = 0;
	CHECK(outside(SYS_getpriority, 0) == 4242 && seen.si_errno == 9, "plain: TRAP, errno %d",
	      seen.si_errno);
	CHECK(seen.si_call_addr == outside_end && seen_rip == (u64)outside_end,
	      "the address is behind the instruction");
	install_plain(SECCOMP_RET_ERRNO | 5, SYS_sched_get_priority_max);
	install_by_address(SECCOMP_RET_TRAP | 11, SYS_sched_get_priority_max, 0);
	CHECK(outside(SYS_sched_get_priority_max, 1) == 4242 && seen.si_errno == 11,
	      "by address: TRAP, errno %d", seen.si_errno);
	CHECK(inside(SYS_sched_get_priority_max, 1) == -5, "plain: the error");
}

static void child(void)
{
	int status;

	fflush(stdout);
	if (!fork()) {
		taken = 0;
		_exit(outside(SYS_getppid, 0) == 4242 && taken == 1 && inside(SYS_getppid, 0) > 0 &&
		      outside(SYS_getpgid, 0) == -77);
	}
	wait(&status);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1, "a child has them");
}

int main(int argc, char **argv)
{
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	(void)argv;
	sigaction(SIGSYS, &a, NULL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	trap();
	if (argc > 1)
		return done();
	errors();
	several();
	child();
	CHECK(death(SECCOMP_RET_KILL_PROCESS, SYS_getuid, 0) == SIGSYS, "the process is killed");
	CHECK(death(SECCOMP_RET_KILL_THREAD, SYS_getuid, 0) == SIGSYS, "the only thread is");
	CHECK(death(SECCOMP_RET_KILL_THREAD, SYS_getuid, 1) == -7, "one of two threads is");
	CHECK(death(SECCOMP_RET_LOG, SYS_getuid, 0) == -7, "it is noted");
	CHECK(death(SECCOMP_RET_ALLOW, SYS_getuid, 0) == -7, "it is allowed");
	return done();
}
