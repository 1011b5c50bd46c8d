/* SPDX-License-Identifier: MIT */
/*
 * SIGSYS from a seccomp filter: the frame stands behind the system call that was refused, with
 * its number in rax, and the handler's rax is what the call returns.  Without a handler it kills.
 */
#include "sig_test.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

static volatile int caught, right_place;

static void on_sys(int sig, siginfo_t *info, void *context)
{
	long *g = (long *)((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *pc = (const unsigned char *)g[REG_RIP];

	caught++;
	CHECK_EQ(sig, SIGSYS);
	CHECK_EQ(info->si_code, 1); /* SYS_SECCOMP */
	CHECK_EQ(info->si_syscall, SYS_getppid);
	CHECK_EQ(info->si_arch, AUDIT_ARCH_X86_64);
	CHECK_EQ(info->si_call_addr, pc);
	CHECK_EQ(info->si_errno, 77);
	CHECK_EQ(g[REG_RAX], SYS_getppid);
	right_place = pc[-2] == 0x0f && pc[-1] == 0x05;
	g[REG_RAX] = 4711;
}

static void filter(unsigned nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP | 77),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
}

int main(void)
{
	pid_t pid;
	int status;

	filter(SYS_getppid);
	catch_with(SIGSYS, on_sys, 0);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(syscall(SYS_getppid), 4711);
	CHECK_EQ(caught, 10);
	CHECK(right_place);
	done("trapped calls");
	for (int i = 0; i < 3; i++) {
		sigset_t sys = set_of(SIGSYS);

		pid = fork();
		if (pid == 0) {
			if (i == 0)
				set_disposition(SIGSYS, SIG_DFL);
			else if (i == 1)
				set_disposition(SIGSYS, SIG_IGN);
			else
				sigprocmask(SIG_BLOCK, &sys, NULL);
			syscall(SYS_getppid);
			_exit(9);
		}
		waitpid(pid, &status, 0);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	}
	done("default, ignored, blocked");
	return verdict();
}
