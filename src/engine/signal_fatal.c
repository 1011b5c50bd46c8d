/* SPDX-License-Identifier: MIT */
/*
 * Ways out of the engine: death by a signal's default action, by the kernel's own hand and with
 * the program's registers, and going on natively.
 *
 * Both end in an rt_sigreturn, which loads registers, extended state and mask in one step: what
 * is pending then strikes at the program's pc.
 */
#include "engine/signal.h"

#define CS_USER	    0x33
#define SS_USER	    0x2b
#define ARCH_SET_GS 0x1001

/* The context is built at the cold end of the engine's stack. */
#define UC_OFF 64
#define FP_OFF 512

void ap_sig_enter_native(struct ap_thread *t, u64 mask)
{
	struct ap_ucontext *uc = (struct ap_ucontext *)((char *)t + AP_T_STACK_OFF + UC_OFF);
	const u64 fp = (u64)t + AP_T_STACK_OFF + FP_OFF, all = ~0ULL;

	ap_sys4(AP_NR_rt_sigprocmask, 2, (u64)&all, 0, 8);
	memset(uc, 0, sizeof(*uc));
	uc->flags = AP_UC_SIGCONTEXT_SS | AP_UC_STRICT_RESTORE_SS;
	if (ap_fp_has_xsave())
		uc->flags |= AP_UC_FP_XSTATE;
	uc->stack = t->altstack;
	ap_sig_regs_to_uc(&uc->mc, &t->regs);
	uc->mc.cs = CS_USER;
	uc->mc.ss = SS_USER;
	uc->sigmask = mask;
	if (ap_fp_size() < AP_T_STACK_SIZE / 2 && ap_fp_save(fp) == 0)
		uc->mc.fpstate = fp;
	ap_sys2(AP_NR_arch_prctl, ARCH_SET_GS, t->app_gs_base);
	ap_sig_do_return(uc);
}

/*
 * The siginfo is sent again, to strike when the registers are loaded.  An init process is spared
 * by what is sent, not by a fault: there the instruction is executed again.
 */
void ap_sig_die(struct ap_thread *t)
{
	const struct ap_sigaction dfl = { .handler = AP_SIG_DFL };
	const u64 all = ~0ULL, bit = AP_SIG_BIT(t->pend_sig);
	struct ap_siginfo *info = (struct ap_siginfo *)t->pend_info;
	u64 pid = (u64)ap_sys0(AP_NR_getpid), tid = (u64)ap_sys0(AP_NR_gettid);

	ap_sys4(AP_NR_rt_sigprocmask, 2, (u64)&all, 0, 8);
	ap_sys4(AP_NR_rt_sigaction, t->pend_sig, (u64)&dfl, 0, 8);
	if (pid != 1 && ap_sys4(AP_NR_rt_tgsigqueueinfo, pid, tid, t->pend_sig, (u64)info) < 0)
		ap_sys3(AP_NR_tgkill, pid, tid, t->pend_sig);
	ap_sig_enter_native(t, ~bit);
}

void ap_sig_go_native(struct ap_thread *t)
{
	const u64 all = ~0ULL;
	u64 mask = ap_sig_program_mask(t);

	ap_sys4(AP_NR_rt_sigprocmask, 2, (u64)&all, 0, 8);
	if (t->pending)
		ap_sig_put_back(t->pend_sig, (const struct ap_siginfo *)t->pend_info);
	ap_sys2(AP_NR_sigaltstack, (u64)&t->altstack, 0);
	ap_sig_enter_native(t, mask);
}
