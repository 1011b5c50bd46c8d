/* SPDX-License-Identifier: MIT */
/*
 * Delivery: the program's frame, byte by byte where the kernel would have put it and with what
 * the kernel would have put there (arch/x86/kernel/signal{,_64}.c), and the way back.
 *
 * Runs in ordinary engine context with everything but the synchronous signals blocked.
 */
#include "engine/cache/smc.h"
#include "engine/client.h"
#include "engine/count/lane.h"
#include "engine/signal/signal.h"
#include "service/service.h"

#define RED_ZONE    128
#define CS_USER	    0x33
#define SS_USER	    0x2b
#define EFL_ENGINE  0x202ULL
#define EFL_ENTRY   (AP_EFL_DF | AP_EFL_RF | AP_EFL_TF) /* clear when a handler starts */
#define EFL_RETURN  0x50cd5ULL /* AC RF OF DF SF ZF AF PF CF: what rt_sigreturn takes from a frame */
#define SYSCALL_LEN 2
#define AUDIT_ARCH  0xc000003eU

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R11 = 11 };

static bool within_altstack(const struct ap_thread *t, u64 sp)
{
	return sp > t->altstack.sp && sp - t->altstack.sp <= t->altstack.size;
}

/* Address of the frame and of its extended state; 0 where the alternate stack would overflow. */
static u64 place(const struct ap_thread *t, const struct ap_sigaction *a, u64 *fp)
{
	u64 sp = t->regs.gpr[RSP];
	bool on_alt = ap_sig_on_altstack(t, sp);

	sp -= RED_ZONE;
	if ((a->flags & AP_SA_ONSTACK) && t->altstack.size && !ap_sig_on_altstack(t, sp)) {
		sp = t->altstack.sp + t->altstack.size;
		on_alt = true;
	}
	*fp = ap_fp_place(sp);
	sp = AP_ALIGN_DOWN(*fp - sizeof(struct ap_sigframe), 16) - 8;
	return on_alt && !within_altstack(t, sp) ? 0 : sp;
}

static void fill(struct ap_sigframe *f, struct ap_thread *t, const struct ap_sigaction *a, u64 mask)
{
	struct ap_sigcontext *mc = &f->uc.mc;

	memset(f, 0, sizeof(*f));
	f->pretcode = a->restorer;
	f->uc.flags = AP_UC_SIGCONTEXT_SS | AP_UC_STRICT_RESTORE_SS;
	if (ap_fp_has_xsave())
		f->uc.flags |= AP_UC_FP_XSTATE;
	f->uc.stack = t->altstack;
	ap_sig_regs_to_uc(mc, &t->regs);
	mc->cs = CS_USER;
	mc->ss = SS_USER;
	mc->err = t->fault_err;
	mc->trapno = t->fault_trapno;
	mc->cr2 = t->fault_cr2;
	mc->oldmask = mask;
	f->uc.sigmask = mask;
	memcpy(&f->info, t->pend_info, sizeof(f->info));
	if (t->pend_sig == AP_SIGSYS && f->info.code == AP_SYS_SECCOMP)
		f->info.addr = t->regs.rip;
}

/* A handler without SA_SIGINFO gets the address of a siginfo that nobody wrote. */
static int write_frame(struct ap_thread *t, const struct ap_sigaction *a, u64 mask, u64 at, u64 fp)
{
	const u64 head = offsetof(struct ap_sigframe, uc.mc.reserved);
	const u64 tail = offsetof(struct ap_sigframe, uc.sigmask);
	struct ap_sigframe f;

	if (ap_fp_save(fp))
		return -AP_EFAULT;
	fill(&f, t, a, mask);
	f.uc.mc.fpstate = fp;
	if (ap_safe_copy((void *)at, &f, head) ||
	    ap_safe_copy((void *)(at + tail), &f.uc.sigmask, sizeof(f.uc.sigmask)))
		return -AP_EFAULT;
	if (!(a->flags & AP_SA_SIGINFO))
		return 0;
	return ap_safe_copy((void *)(at + offsetof(struct ap_sigframe, info)), &f.info,
			    sizeof(f.info));
}

/* The program's stack may lie in a page that is write-protected for the code in it. */
static bool unprotect_all(void)
{
	bool any;

	ap_lock_take(&ap_proc.lock);
	any = ap_smc_unprotect_all();
	ap_lock_drop(&ap_proc.lock);
	return any;
}

/* Builds the frame and starts the handler on it. */
static int enter_handler(struct ap_thread *t, const struct ap_sigaction *a, u64 mask)
{
	u64 fp, at = place(t, a, &fp);
	struct ap_regs *r = &t->regs;

	if (!at || !(a->flags & AP_SA_RESTORER))
		return -AP_EFAULT;
	if (write_frame(t, a, mask, at, fp) &&
	    (!unprotect_all() || write_frame(t, a, mask, at, fp)))
		return -AP_EFAULT;
	t->delivered++;
	ap_clients_enter_handler(t);
	ap_fp_reset();
	if (t->altstack.flags & AP_SS_AUTODISARM)
		t->altstack = (struct ap_altstack){ .flags = AP_SS_DISABLE };
	r->gpr[RDI] = t->pend_sig;
	r->gpr[RAX] = 0;
	r->gpr[RSI] = at + offsetof(struct ap_sigframe, info);
	r->gpr[RDX] = at + offsetof(struct ap_sigframe, uc);
	r->gpr[RSP] = at;
	r->rip = a->handler;
	r->rflags &= ~EFL_ENTRY;
	return 0;
}

/* The signal has been dealt with: mask becomes the program's, and the next one may come. */
static void finish(struct ap_thread *t, u64 mask)
{
	if (t->held_trap) {
		t->held_trap = 0;
		ap_sig_put_back(AP_SIGTRAP, (const struct ap_siginfo *)t->held_info);
	}
	t->virt_mask = mask & AP_SIG_SYNC;
	t->has_syscall_mask = 0;
	t->sig_depth = 0;
	t->sig_dirty = 0;
	__atomic_store_n(&t->pending, 0, __ATOMIC_SEQ_CST);
	ap_sig_set_mask(mask);
}

static void force(struct ap_thread *t, u32 sig)
{
	struct ap_siginfo *info = (struct ap_siginfo *)t->pend_info;

	memset(info, 0, sizeof(*info));
	info->signo = (s32)sig;
	info->code = AP_SI_KERNEL;
	t->pend_sig = sig;
	t->pend_sync = AP_PEND_FORCED;
	t->pend_temp = false;
}

/* SIG_DFL of a signal that was sent. */
static void act_by_default(struct ap_thread *t, u64 mask)
{
	const u64 ignored = AP_SIG_BIT(17) | AP_SIG_BIT(18) | AP_SIG_BIT(23) | AP_SIG_BIT(28);

	if ((ignored & AP_SIG_BIT(t->pend_sig)) || t->pid == 1) {
		finish(t, mask);
		return;
	}
	if (ap_sig_dumps_core(t->pend_sig))
		ap_sig_die(t);
	/* its disposition was changed a moment ago: the kernel kills or stops, or not */
	ap_sig_put_back(t->pend_sig, (const struct ap_siginfo *)t->pend_info);
	finish(t, mask);
}

/* False: the frame could not be built, and SIGSEGV takes the signal's place. */
static bool deliver(struct ap_thread *t)
{
	u64 mask = (t->pend_mask & ~AP_SIG_SYNC) | t->virt_mask;
	u64 base = t->pend_temp ? t->syscall_mask : mask;
	u64 bit = AP_SIG_BIT(t->pend_sig);
	struct ap_sigaction a;

	if (ap_unlikely(ap_sig_is_nudge(t->pend_sig, (const struct ap_siginfo *)t->pend_info))) {
		finish(t, mask);
		return true;
	}
	if (ap_unlikely(t->traced.how) && !ap_traced_signal(t)) {
		finish(t, mask);
		return true;
	}
	if (t->pend_sync && ap_tracepoints_are_on())
		ap_clients_tracepoint(t, AP_TRACE_SIGNAL_GENERATE, 1);
	ap_sig_lookup(t, t->pend_sig, &a);
	if (t->pend_sync && (a.handler <= AP_SIG_IGN || (mask & bit)))
		ap_sig_die(t);
	if (a.handler == AP_SIG_IGN) {
		finish(t, mask);
		return true;
	}
	if (a.handler == AP_SIG_DFL) {
		act_by_default(t, mask);
		return true;
	}
	if (ap_tracepoints_are_on())
		ap_clients_tracepoint(t, AP_TRACE_SIGNAL_DELIVER, 1);
	if (ap_service_is_used(ap_proc.session))
		ap_service_patch_siginfo(t->pend_sig, t->pend_info);
	if (a.flags & AP_SA_RESETHAND)
		ap_sig_reset(t, t->pend_sig, &a);
	if (enter_handler(t, &a, mask)) {
		bool again = t->pend_sig == AP_SIGSEGV;

		force(t, AP_SIGSEGV);
		if (again) {
			if (ap_tracepoints_are_on())
				ap_clients_tracepoint(t, AP_TRACE_SIGNAL_GENERATE, 1);
			ap_sig_die(t);
		}
		return false;
	}
	/* a step into a handler ends at its first instruction, which is not executed */
	t->traced.steps |= !!(t->traced.how & AP_TRACED_STEP);
	finish(t, base | a.mask | (a.flags & AP_SA_NODEFER ? 0 : bit));
	return true;
}

void ap_signal_deliver(struct ap_thread *t)
{
	while (!deliver(t))
		;
}

/* As the kernel on a frame that it cannot read: SIGSEGV after the system call. */
static AP_NORETURN void bad_frame(struct ap_thread *t, u64 mask)
{
	t->regs.rip += SYSCALL_LEN;
	t->regs.gpr[RAX] = 0;
	t->regs.gpr[RCX] = t->regs.rip;
	t->regs.gpr[R11] = t->regs.rflags;
	if (ap_tracepoints_are_on())
		ap_clients_call_ends(t, AP_NR_rt_sigreturn, 0);
	force(t, AP_SIGSEGV);
	t->pend_mask = mask;
	t->pending = 1;
	ap_redispatch(t);
}

void ap_signal_general_protection(struct ap_thread *t)
{
	u64 mask = ap_sig_block_all();

	if (!t->pending) { /* else that goes first, and the instruction is executed again */
		force(t, AP_SIGSEGV);
		t->fault_trapno = AP_TRAP_GP;
		t->fault_err = 0;
		t->pend_mask = mask;
		t->pending = 1;
	}
	ap_redispatch(t);
}

/* As the kernel on a call that is not to be made: the number is in rax still, and the instruction has been executed. */
void ap_signal_sys(struct ap_thread *t, u64 pc, s32 code, s32 err)
{
	struct ap_siginfo *info = (struct ap_siginfo *)t->pend_info;
	const u32 call[2] = { (u32)t->regs.gpr[RAX], AUDIT_ARCH };
	u64 mask = ap_sig_block_all();

	if (t->pending) { /* that goes first, and the instruction is executed again */
		if (ap_proc.flags & AP_F_COUNT)
			ap_count_insn(t, pc, -1);
		return;
	}
	t->regs.rip = t->regs.gpr[RCX] = pc + SYSCALL_LEN;
	t->regs.gpr[R11] = t->regs.rflags;
	force(t, AP_SIGSYS);
	if (code == AP_SYS_SECCOMP) /* as by the kernel's hand: see signal_fatal.c */
		t->pend_sync = AP_PEND_RAISED;
	info->code = code;
	info->err = err;
	info->addr = t->regs.rip;
	memcpy(info->rest, call, sizeof(call));
	t->pend_mask = mask;
	t->pending = 1;
}

/* Whatever its disposition is. */
void ap_signal_exit(struct ap_thread *t, u32 sig)
{
	(void)ap_sig_block_all();
	force(t, sig);
	ap_sig_die(t);
}

#define TRAP_PERF	6
#define TRAP_PERF_ASYNC 1U

/*
 * As the kernel queues it: not forced, so it may be ignored or blocked, and is said to be late then.
 * It goes before a signal that waits already, as synchronous ones do.
 */
void ap_signal_perf_trap(struct ap_thread *t, const struct ap_service_trap *trap)
{
	const u64 bit = AP_SIG_BIT(AP_SIGTRAP);
	struct ap_siginfo info = { .signo = AP_SIGTRAP, .code = TRAP_PERF, .addr = trap->addr };
	u32 tail[2] = { trap->type, t->virt_mask & bit ? TRAP_PERF_ASYNC : 0 };
	u64 mask;

	if (ap_tracepoints_are_on())
		ap_clients_tracepoint(t, AP_TRACE_SIGNAL_GENERATE, 1);
	memcpy(info.rest, &trap->data, 8);
	memcpy(info.rest + 8, tail, sizeof(tail));
	if (t->virt_mask & bit || (t->pending && (t->pend_sync || t->pend_temp))) {
		t->resent |= bit;
		ap_sig_put_back(AP_SIGTRAP, &info);
		return;
	}
	mask = t->pending ? t->pend_mask : ap_sig_block_all();
	if (t->pending)
		ap_sig_put_back(t->pend_sig, (const struct ap_siginfo *)t->pend_info);
	memcpy(t->pend_info, &info, sizeof(info));
	t->pend_sig = AP_SIGTRAP;
	t->pend_sync = t->pend_temp = 0;
	t->pend_mask = mask;
	t->pending = 1;
}

/* A signal came before the system call: it is delivered first, and the call has not been made. */
static AP_NORETURN void abandon(struct ap_thread *t)
{
	ap_count_kind(t, AP_RAW_SYSCALL, -1);
	if (ap_proc.flags & AP_F_COUNT)
		ap_count_insn(t, t->regs.rip, -1);
	ap_clients_call_untouched(t);
	ap_redispatch(t);
}

/*
 * The kernel restores mask and extended state from a copy of the program's frame that leads to the
 * engine; the general registers are the engine's to load.
 */
void ap_sig_return(struct ap_thread *t)
{
	const u64 sp = t->regs.gpr[RSP];
	struct ap_ucontext uc;
	u64 mask = ap_sig_block_all(), flags = t->regs.rflags;

	if (t->pending)
		abandon(t);
	if (ap_safe_copy(&uc, (const void *)sp, sizeof(uc)))
		bad_frame(t, mask);
	ap_sig_uc_to_regs(&t->regs, &uc.mc);
	t->regs.rflags = (flags & ~EFL_RETURN) | (t->regs.rflags & EFL_RETURN);
	if (ap_tracepoints_are_on())
		ap_clients_return_ends(t, t->regs.gpr[RAX]);
	t->traced.nr = (u64)-1;
	ap_traced_exit(t, 0, 0);
	(void)ap_sig_altstack_set(t, &uc.stack, t->regs.gpr[RSP]);
	t->virt_mask = uc.sigmask & AP_SIG_SYNC;
	t->sig_depth = 0;
	t->sig_dirty = 0;

	uc.sigmask &= ~AP_SIG_SYNC;
	uc.stack = (struct ap_altstack){ (u64)t + AP_T_ALT_OFF, 0, AP_T_ALT_SIZE };
	uc.flags |= AP_UC_SIGCONTEXT_SS | AP_UC_STRICT_RESTORE_SS;
	uc.mc.greg[AP_GREG_RIP] = (u64)ap_sig_landing;
	uc.mc.greg[AP_GREG_RSP] = t->engine_sp;
	uc.mc.greg[AP_GREG_EFL] = EFL_ENGINE;
	uc.mc.cs = CS_USER;
	uc.mc.ss = SS_USER;
	ap_sig_do_return(&uc);
}
