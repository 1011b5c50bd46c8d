/* SPDX-License-Identifier: MIT */
/*
 * System calls in the name of a stopped task.  The syscall instruction inside the vdso is used,
 * so no byte of the program changes; a kernel without a vdso gets one patched at the program
 * counter, and the bytes put back.
 *
 * One call costs two stops, at its entry and its exit.  A single step costs one, but the
 * kernel reports a step by a SIGTRAP that cannot be ignored: a disposition of SIG_IGN, which an
 * exec keeps, or a handler would be SIG_DFL from then on.  So a new image, which has no handlers, is stepped
 * unless it ignores SIGTRAP.  Signals that arrive in between belong to the
 * program: they are blocked for the time of a call, except SIGSTOP, which is held and sent again by
 * whoever detaches, as is a SIGTRAP of somebody's that came in the place of the step's.
 *
 * Between calls the task has its own registers and mask: should we be killed, it goes on as itself.
 */
#include "inject/task.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <sys/wait.h>

#include "inject/kcall.h"

#define VDSO_SCAN    (2 * AP_PAGE_SIZE)
#define INSN_SYSCALL 0x050fULL /* 0f 05 */

/* Continues until the task stops with this signal. */
static int run_to(struct ap_remote *r, u64 how, int sig)
{
	int status;

	for (;;) {
		s64 ret = ap_k_ptrace(how, r->tid, 0, 0);

		if (ret < 0)
			return (int)ret;
		ret = r->is_apart ? ap_task_await(r->tid, &status) : ap_task_wait(r->tid, &status);
		if (ret < 0)
			return (int)ret;
		if (WSTOPSIG(status) == sig && !ap_wait_event(status))
			return 0;
		if (WSTOPSIG(status) == SIGSTOP)
			r->had_stop = true;
	}
}

/* Continues until the task enters or leaves a system call. */
static int run_to_border(struct ap_remote *r)
{
	return run_to(r, PTRACE_SYSCALL, SIGTRAP | 0x80);
}

/* Executes the syscall instruction.  A SIGTRAP that the thread was sent, and that waits, takes the place of the kernel's. */
static int step(struct ap_remote *r)
{
	siginfo_t si;
	int ret = run_to(r, PTRACE_SINGLESTEP, SIGTRAP);

	if (!ret && ap_k_ptrace(PTRACE_GETSIGINFO, r->tid, 0, (u64)(uintptr_t)&si) >= 0 &&
	    si.si_code <= 0)
		r->had_trap = true;
	return ret;
}

static u64 find_insn(pid_t tid, u64 vdso)
{
	u8 text[AP_PAGE_SIZE];

	for (u64 page = 0; vdso && page < VDSO_SCAN; page += AP_PAGE_SIZE) {
		if (ap_task_read(tid, vdso + page, text, sizeof(text)))
			break;
		for (u64 i = 0; i + 1 < sizeof(text); i++)
			if (text[i] == 0x0f && text[i + 1] == 0x05)
				return vdso + page + i;
	}
	return 0;
}

static int patch_insn(struct ap_remote *r)
{
	u64 word;
	int ret;

	r->insn = r->saved.rip;
	ret = ap_task_read(r->tid, r->insn, &r->patched, sizeof(r->patched));
	if (ret)
		return ret;
	word = (r->patched & ~0xffffULL) | INSN_SYSCALL;
	ret = ap_task_write(r->tid, r->insn, &word, sizeof(word));
	r->is_patched = !ret;
	return ret;
}

int ap_remote_begin(struct ap_remote *r, pid_t tid, u64 vdso)
{
	int ret;

	*r = (struct ap_remote){ .tid = tid, .is_apart = r->is_apart };
	ret = ap_task_get_regs(tid, &r->saved) ?: ap_task_get_sigmask(tid, &r->mask);
	if (ret)
		return ret;
	/*
	 * In an exec stop execve has not returned yet, and its return would overwrite rax: go on to its
	 * system call stop first.  Nothing of the program runs on the way.
	 */
	if (r->saved.orig_rax == __NR_execve || r->saved.orig_rax == __NR_execveat) {
		r->is_new = true;
		ret = run_to_border(r);
		if (!ret)
			ret = ap_task_get_regs(tid, &r->saved);
		if (ret)
			return ret;
	}
	r->saved.orig_rax = (u64)-1; /* no system call to restart */
	r->insn = find_insn(tid, vdso);
	return r->insn ? 0 : patch_insn(r);
}

int ap_remote_call(struct ap_remote *r, long nr, const u64 args[6], s64 *ret)
{
	struct user_regs_struct regs = r->saved;
	int err;

	regs.rax = (u64)nr;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	regs.rip = r->insn;
	err = ap_task_set_sigmask(r->tid, ~0ULL) ?: ap_task_set_regs(r->tid, &regs);
	if (!err)
		err = r->can_step ? step(r) : run_to_border(r) ?: run_to_border(r);
	if (!err)
		err = ap_task_get_regs(r->tid, &regs);
	if (!err)
		*ret = (s64)regs.rax;
	return err ?: ap_task_set_regs(r->tid, &r->saved) ?: ap_task_set_sigmask(r->tid, r->mask);
}

int ap_remote_end(struct ap_remote *r)
{
	int ret = 0;

	if (r->is_patched)
		ret = ap_task_write(r->tid, r->insn, &r->patched, sizeof(r->patched));
	r->is_patched = false;
	return ap_task_set_regs(r->tid, &r->saved) ?: ret;
}
