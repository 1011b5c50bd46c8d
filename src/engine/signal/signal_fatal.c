/* SPDX-License-Identifier: MIT */
/*
 * Ways out of the engine: death by a signal's default action, by the kernel's own hand and with
 * the program's registers, and going on natively.
 *
 * Both end in an rt_sigreturn, which loads registers, extended state and mask in one step: what
 * is pending then strikes at the program's pc.
 */
#include "engine/client.h"
#include "engine/signal/signal.h"
#include "engine/task/task.h"

#define CS_USER	    0x33
#define SS_USER	    0x2b
#define SYSCALL_LEN 2
#define ARCH_SET_GS 0x1001

/* The context is built at the cold end of the engine's stack. */
#define UC_OFF 64
#define FP_OFF 512

static void set_gs(u64 base)
{
	if (ap_proc.has_fsgsbase)
		__asm__ volatile("wrgsbase %0" : : "r"(base) : "memory");
	else
		ap_sys2(AP_NR_arch_prctl, ARCH_SET_GS, base);
}

void ap_sig_enter_native(struct ap_thread *t, u64 mask)
{
	struct ap_ucontext *uc = (struct ap_ucontext *)((char *)t + AP_T_STACK_OFF + UC_OFF);
	const u64 fp = (u64)t + AP_T_STACK_OFF + FP_OFF;
	struct ap_regs last;

	ap_sig_hold_all(t);
	memset(uc, 0, sizeof(*uc));
	uc->flags = AP_UC_SIGCONTEXT_SS | AP_UC_STRICT_RESTORE_SS;
	if (ap_fp_has_xsave())
		uc->flags |= AP_UC_FP_XSTATE;
	uc->stack = t->altstack;
	/* who parked goes on for good, and has the kernel do what the engine did of system calls */
	ap_sig_regs_to_uc(&uc->mc,
			  t->parked && ap_user_dispatch_hand_over(t, &last) ? &last : &t->regs);
	uc->mc.cs = CS_USER;
	uc->mc.ss = SS_USER;
	uc->sigmask = mask;
	if (ap_fp_size() < AP_T_STACK_SIZE / 2 && ap_fp_save(fp) == 0)
		uc->mc.fpstate = fp;
	set_gs(t->app_gs_base);
	if (t->parked)
		__atomic_store_n(&t->parked, 2, __ATOMIC_RELEASE);
	ap_sig_do_return(uc);
}

/*
 * In a process with a filter of system calls: the instruction that raised the signal is executed again,
 * natively and with the signal blocked, which is the kernel's reason to kill.  What was not raised by
 * an instruction that can be executed again is left to the calls below.
 */
static bool can_raise_again(struct ap_thread *t)
{
	const struct ap_siginfo *info = (const struct ap_siginfo *)t->pend_info;

	if (!ap_proc.seg->mute || t->pend_sync != AP_PEND_RAISED)
		return false;
	switch (t->pend_sig) {
	case AP_SIGILL:
	case AP_SIGBUS:
	case AP_SIGFPE:
	case AP_SIGSEGV:
		return true;
	case AP_SIGSYS:
		if (info->code != AP_SYS_SECCOMP)
			return false;
		t->regs.rip -= SYSCALL_LEN; /* rax is the number still */
		return true;
	default:
		return false;
	}
}

/*
 * The siginfo is sent again, to strike when the registers are loaded.  An init process is spared
 * by what is sent, not by a fault: there the instruction is executed again.
 */
void ap_sig_die(struct ap_thread *t)
{
	const struct ap_sigaction dfl = { .handler = AP_SIG_DFL };
	const u64 bit = AP_SIG_BIT(t->pend_sig);
	struct ap_siginfo *info = (struct ap_siginfo *)t->pend_info;
	u64 pid, tid;

	ap_lock_take(&ap_proc.lock);
	ap_clients_read_last(t);
	ap_clients_end_tasks();
	ap_lock_drop(&ap_proc.lock);
	if (can_raise_again(t))
		ap_sig_enter_native(t, ~0ULL);
	ap_dump_before(t);
	pid = t->pid;
	tid = t->tid;
	ap_sig_hold_all(t);
	/* whatever a filter says to it: it shall die */
	ap_rawsys(AP_NR_rt_sigaction, t->pend_sig, (u64)&dfl, 0, 8, 0, 0);
	if (pid != 1 &&
	    ap_rawsys(AP_NR_rt_tgsigqueueinfo, pid, tid, t->pend_sig, (u64)info, 0, 0) < 0)
		ap_rawsys(AP_NR_tgkill, pid, tid, t->pend_sig, 0, 0, 0);
	ap_sig_enter_native(t, ~bit);
}

void ap_sig_go_native(struct ap_thread *t)
{
	u64 mask = ap_sig_program_mask(t);

	ap_sig_hold_all(t);
	if (t->pending)
		ap_sig_put_back(t->pend_sig, (const struct ap_siginfo *)t->pend_info);
	ap_sys2(AP_NR_sigaltstack, (u64)&t->altstack, 0);
	ap_sig_enter_native(t, mask);
}
