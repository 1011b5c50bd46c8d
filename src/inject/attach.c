/* SPDX-License-Identifier: MIT */
/*
 * Seizing, stopping and letting go of tasks, and their registers.  PTRACE_SEIZE is used, never
 * ATTACH: it sends no SIGSTOP that the program could see, and group stops can be honoured.
 */
#include "inject/task.h"

#include <elf.h>
#include <errno.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "inject/kcall.h"

#define LOOKS 50 /* some 20 us */

int ap_task_seize(pid_t tid)
{
	return (int)ap_k_ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD);
}

static int next_stop(pid_t tid, int *status, int options)
{
	siginfo_t si;
	s64 ret;

	for (;;) {
		si.si_pid = 0;
		do {
			ret = ap_k_waitid(tid, &si,
					  WEXITED | WSTOPPED | WNOWAIT | __WALL | options);
		} while (ret == -EINTR);
		if (ret < 0)
			return (int)ret;
		if (!si.si_pid)
			return -EAGAIN;
		if (si.si_code == CLD_EXITED || si.si_code == CLD_KILLED ||
		    si.si_code == CLD_DUMPED)
			return -ESRCH;
		/* killed in between: the stop is gone, and the end must not be taken */
		ret = ap_k_waitid(tid, &si, WSTOPPED | WNOHANG | __WALL);
		if (ret < 0)
			return (int)ret;
		if (si.si_pid)
			break;
	}
	*status = si.si_status << 8 | 0x7f;
	return 0;
}

int ap_task_wait(pid_t tid, int *status)
{
	return next_stop(tid, status, 0);
}

int ap_task_poll(pid_t tid, int *status)
{
	return next_stop(tid, status, WNOHANG);
}

/* To be woken by another CPU costs both more than these looks. */
int ap_task_await(pid_t tid, int *status)
{
	for (unsigned int i = 0; i < LOOKS; i++) {
		int ret = ap_task_poll(tid, status);

		if (ret != -EAGAIN)
			return ret;
	}
	return ap_task_wait(tid, status);
}

int ap_task_interrupt(pid_t tid)
{
	return (int)ap_k_ptrace(PTRACE_INTERRUPT, tid, 0, 0);
}

int ap_task_detach(pid_t tid, int sig)
{
	return (int)ap_k_ptrace(PTRACE_DETACH, tid, 0, (u64)sig);
}

static bool is_stop_signal(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

int ap_task_resume(pid_t tid, int status)
{
	int sig = WSTOPSIG(status);

	if (ap_wait_event(status) == PTRACE_EVENT_STOP) {
		if (is_stop_signal(sig))
			return (int)ap_k_ptrace(PTRACE_LISTEN, tid, 0, 0);
		sig = 0;
	} else if (ap_wait_event(status) || sig == (SIGTRAP | 0x80)) {
		sig = 0;
	}
	return (int)ap_k_ptrace(PTRACE_CONT, tid, 0, (u64)sig);
}

int ap_task_get_regs(pid_t tid, struct user_regs_struct *regs)
{
	return (int)ap_k_ptrace(PTRACE_GETREGS, tid, 0, (u64)(uintptr_t)regs);
}

int ap_task_set_regs(pid_t tid, const struct user_regs_struct *regs)
{
	return (int)ap_k_ptrace(PTRACE_SETREGS, tid, 0, (u64)(uintptr_t)regs);
}

int ap_task_check_64bit(pid_t tid)
{
	struct user_regs_struct regs;
	struct iovec iov = { .iov_base = &regs, .iov_len = sizeof(regs) };
	s64 ret = ap_k_ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, (u64)(uintptr_t)&iov);

	if (ret < 0)
		return (int)ret;
	/* cs 0x33 is the kernel's 64-bit user segment; x32 shares it and is told by its calls */
	return iov.iov_len == sizeof(regs) && regs.cs == 0x33 ? 0 : -ENOEXEC;
}

int ap_task_get_sigmask(pid_t tid, u64 *mask)
{
	return (int)ap_k_ptrace(PTRACE_GETSIGMASK, tid, sizeof(*mask), (u64)(uintptr_t)mask);
}

int ap_task_set_sigmask(pid_t tid, u64 mask)
{
	return (int)ap_k_ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), (u64)(uintptr_t)&mask);
}

int ap_task_event_msg(pid_t tid, unsigned long *msg)
{
	return (int)ap_k_ptrace(PTRACE_GETEVENTMSG, tid, 0, (u64)(uintptr_t)msg);
}
