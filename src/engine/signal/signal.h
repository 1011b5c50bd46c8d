/* SPDX-License-Identifier: MIT */
/*
 * Signals among signal*.c, and what task.c and exec.c need of them beyond engine.h.
 *
 * Two masks: the program's is the kernel's, except for the synchronous signals (AP_SIG_SYNC), which
 * the kernel's mask never has for long: a fault whose signal is blocked kills, and the engine
 * lives on faults (guarded copies, write-protected code, single steps).  Their bits of the
 * program's mask are in t->virt_mask.  One that is sent by kill() while the program blocks it is sent
 * again and then truly blocked, so that it is pending in the kernel as any other.
 *
 * The master handler takes no lock and allocates nothing.  It records one signal in t->pend_*;
 * from then on everything is blocked until ap_signal_deliver, in ordinary engine context, has built
 * the program's frame.
 */
#ifndef AP_ENGINE_SIGNAL_H
#define AP_ENGINE_SIGNAL_H

#include "base/mem.h"
#include "engine/runtime/engine.h"

#define AP_SIGILL  4
#define AP_SIGTRAP 5
#define AP_SIGABRT 6
#define AP_SIGBUS  7
#define AP_SIGFPE  8
#define AP_SIGKILL 9
#define AP_SIGSEGV 11
#define AP_SIGSTOP 19
#define AP_SIGSYS  31

#define AP_SIG_BIT(sig) (1ULL << ((sig)-1))
#define AP_SIG_SYNC                                                                                \
	(AP_SIG_BIT(AP_SIGILL) | AP_SIG_BIT(AP_SIGTRAP) | AP_SIG_BIT(AP_SIGBUS) |                  \
	 AP_SIG_BIT(AP_SIGFPE) | AP_SIG_BIT(AP_SIGSEGV))
#define AP_SIG_UNBLOCKABLE (AP_SIG_BIT(AP_SIGKILL) | AP_SIG_BIT(AP_SIGSTOP))
#define AP_SIG_BUSY	   (~AP_SIG_SYNC) /* kernel's mask while the engine must not be disturbed */

#define AP_SIG_DFL 0ULL
#define AP_SIG_IGN 1ULL

#define AP_SA_NOCLDSTOP	     1ULL
#define AP_SA_NOCLDWAIT	     2ULL
#define AP_SA_SIGINFO	     4ULL
#define AP_SA_EXPOSE_TAGBITS 0x800ULL
#define AP_SA_RESTORER	     0x04000000ULL
#define AP_SA_ONSTACK	     0x08000000ULL
#define AP_SA_RESTART	     0x10000000ULL
#define AP_SA_NODEFER	     0x40000000ULL
#define AP_SA_RESETHAND	     0x80000000ULL

enum { AP_SIG_BLOCK, AP_SIG_UNBLOCK, AP_SIG_SETMASK };

#define AP_SS_ONSTACK	 1U
#define AP_SS_DISABLE	 2U
#define AP_SS_AUTODISARM (1U << 31)

#define AP_PEND_RAISED 1
#define AP_PEND_FORCED 2

#define AP_SI_USER     0
#define AP_SI_TKILL    (-6)
#define AP_SI_KERNEL   0x80
#define AP_SEGV_ACCERR 2
#define AP_TRAP_TRACE  2
#define AP_SYS_SECCOMP 1
#define AP_TRAP_GP     13 /* exception number of #GP */
#define AP_TRAP_PF     14

#define AP_EFL_TF 0x100ULL
#define AP_EFL_DF 0x400ULL
#define AP_EFL_RF 0x10000ULL

/* Index into struct ap_sigcontext.greg. */
enum ap_greg {
	AP_GREG_RDI = 8,
	AP_GREG_RSI = 9,
	AP_GREG_RAX = 13,
	AP_GREG_RSP = 15,
	AP_GREG_RIP = 16,
	AP_GREG_EFL = 17,
	AP_GREG_N
};

struct ap_sigcontext {
	u64 greg[AP_GREG_N];
	u16 cs, gs, fs, ss;
	u64 err, trapno, oldmask, cr2;
	u64 fpstate;
	u64 reserved[8];
};

#define AP_UC_FP_XSTATE		1
#define AP_UC_SIGCONTEXT_SS	2
#define AP_UC_STRICT_RESTORE_SS 4

struct ap_ucontext {
	u64 flags;
	u64 link;
	struct ap_altstack stack;
	struct ap_sigcontext mc;
	u64 sigmask;
};

struct ap_siginfo {
	s32 signo, err, code, pad;
	u64 addr; /* si_addr, si_call_addr; pid and uid of a sent one */
	u8 rest[104];
};

struct ap_sigframe {
	u64 pretcode;
	struct ap_ucontext uc;
	struct ap_siginfo info;
};

_Static_assert(sizeof(struct ap_ucontext) == 304, "the kernel's struct ucontext");
_Static_assert(sizeof(struct ap_siginfo) == 128, "the kernel's siginfo_t");
_Static_assert(sizeof(struct ap_sigframe) == 440, "the kernel's struct rt_sigframe");

/* signal.c */
struct ap_sigaction *ap_sig_table(struct ap_thread *t);
/* A consistent copy of a disposition, without the lock. */
void ap_sig_lookup(struct ap_thread *t, u32 sig, struct ap_sigaction *out);
/* SA_RESETHAND: back to the default, unless it was changed since it was read. */
void ap_sig_reset(struct ap_thread *t, u32 sig, const struct ap_sigaction *was);
bool ap_sig_dumps_core(u32 sig);
/* Would one that is sent to the thread now come? The program may block or ignore it. */
bool ap_sig_is_heard(struct ap_thread *t, u32 sig);
/* In the master handler: the fault asked for a change of the mask, which is done. */
bool ap_sig_change_mask(u32 sig, struct ap_ucontext *uc);
void ap_sig_hold_all(struct ap_thread *t); /* for good */
/* signal_stack.c: the emulated alternate stack */
bool ap_sig_on_altstack(const struct ap_thread *t, u64 sp);
s64 ap_sig_altstack_set(struct ap_thread *t, const struct ap_altstack *ss, u64 sp);

/* signal_master.c */
void ap_sig_master(u32 sig, struct ap_siginfo *info, struct ap_ucontext *uc);
/* si_value, si_perf_data. */
u64 ap_sig_perf_data(const struct ap_siginfo *info);
/* The supervisor's, which the program does not see. */
bool ap_sig_is_nudge(u32 sig, const struct ap_siginfo *info);
/* Sends a signal that was taken again, to the thread or the process it had been sent to. */
void ap_sig_put_back(u32 sig, const struct ap_siginfo *info);
void ap_sig_regs_to_uc(struct ap_sigcontext *mc, const struct ap_regs *r);
void ap_sig_uc_to_regs(struct ap_regs *r, const struct ap_sigcontext *mc);
/* landing.c */
void ap_sig_resume_smc(struct ap_thread *t);
AP_NORETURN void ap_sig_resume_bug(struct ap_thread *t);
AP_NORETURN void ap_sig_resume_trial(struct ap_thread *t);

/* signal_fp.c: extended state */
void ap_fp_note(u64 fpstate); /* the area of a frame that the kernel made */
u64 ap_fp_size(void);	      /* bytes of an area, trailer included */
u64 ap_fp_place(u64 sp);      /* address of the area below sp */
bool ap_fp_has_xsave(void);
AP_MUST_CHECK int ap_fp_save(u64 area); /* the CPU's state; 0 or -EFAULT */
void ap_fp_reset(void);			/* as a handler starts */

/* signal_fatal.c */
/* The default action of the pending signal, by the kernel's hand. */
AP_NORETURN void ap_sig_die(struct ap_thread *t);
/* Loads regs, mask and the program's %gs in one step and leaves the engine for good. */
AP_NORETURN void ap_sig_enter_native(struct ap_thread *t, u64 mask);

/* signal_gate.S */
extern const u8 ap_sig_restorer[], ap_sig_landing[];
extern const u8 ap_sig_ill_insn[], ap_sig_segv_insn[], ap_sig_mask_done[];
/* Faults that ap_sig_change_mask answers with what the mask was. */
u64 ap_sig_mask_ill(u32 how, u64 set);
u64 ap_sig_mask_segv(u32 how, u64 set);
extern const u8 ap_sig_smc_entry[], ap_sig_bug_entry[], ap_sig_trial_entry[];
extern const u8 ap_sig_guard_start[], ap_sig_guard_end[], ap_sig_guard_fixup[];
AP_NORETURN void ap_sig_do_return(struct ap_ucontext *uc);
AP_MUST_CHECK int ap_sig_xsave(u64 area, u64 features); /* 0 or -EFAULT */
AP_MUST_CHECK int ap_sig_fxsave(u64 area);

#endif
