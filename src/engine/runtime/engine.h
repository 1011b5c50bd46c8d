/* SPDX-License-Identifier: MIT */
/*
 * Calls between the engine's parts that belong to none of the narrower headers: the gate, the
 * dispatcher, signals, reports.
 */
#ifndef AP_ENGINE_ENGINE_H
#define AP_ENGINE_ENGINE_H

#include "base/types.h"
#include "engine/cache/cache.h"
#include "engine/runtime/lock.h"
#include "engine/runtime/mem.h"
#include "engine/runtime/proc.h"
#include "engine/runtime/thread.h"
#include "sys/sys.h"

/*
 * gate.S.
 * ap_gate_enter loads t->regs and jumps to t->entry; ap_gate_abandon where a signal is pending.
 * ap_gate_resume continues at dispatch with t->regs complete; both never return.
 */
AP_NORETURN void ap_gate_enter(struct ap_thread *t);
AP_NORETURN void ap_gate_abandon(struct ap_thread *t);
AP_NORETURN void ap_redispatch(struct ap_thread *t); /* resets the engine stack, exit_kind NONE */
/*
 * Loads t->regs, restores the program's gs base and jumps to t->regs.rip natively: for good (after
 * the program's signal state was given back) or to let the hardware raise a fault there.
 * ap_gate_native_fault keeps the engine's gs, so the master handler finds its thread; so does
 * ap_gate_native_step, which executes one instruction: a single-step trap follows where that did not fault.
 */
AP_NORETURN void ap_gate_native(struct ap_thread *t);
extern const u8 ap_gate_native_call[]; /* makes a last call before: user_dispatch.c */
AP_NORETURN void ap_gate_native_fault(struct ap_thread *t);
AP_NORETURN void ap_gate_native_step(struct ap_thread *t);
extern const u8 ap_gate_exit[], ap_ibl_miss[];
extern const u8 ap_gate_exit_saved[]; /* all registers are in t->regs but flags */
extern const u8 ap_gate_enter_start[], ap_gate_enter_end[]; /* abandon and redispatch in here */
extern const u8 ap_safe_start[], ap_safe_end[], ap_safe_fixup[];
/* Label where the kernel's rt_sigreturn of a program frame lands; saves all registers. */
extern const u8 ap_sigreturn_landing[];

/*
 * The program's system call with signals let in:
 * [ap_syscall_window, ap_syscall_insn] nothing has been done yet; the master handler may move rip to
 * ap_syscall_abort, and ap_syscall_do returns AP_SYSCALL_INTERRUPTED.  ap_syscall_insn is the
 * instruction itself, so rip == ap_syscall_insn also means that the kernel wants a restart.
 */
#define AP_SYSCALL_INTERRUPTED (-100000) /* the kernel wants it executed again */
#define AP_SYSCALL_UNTOUCHED   (-100001) /* a signal came before the kernel was entered */
s64 ap_syscall_do(struct ap_thread *t, u64 nr, const u64 args[6]);
extern const u8 ap_syscall_window[], ap_syscall_insn[], ap_syscall_abort[];

/* Copy that survives a fault: 0 or -EFAULT (what lies before the fault may have been copied). */
AP_MUST_CHECK int ap_safe_copy(void *dst, const void *src, u64 n);
/*
 * Brings a page in that other threads may have to supply, so no lock may be held: 0, -EFAULT, or -EINTR where a
 * signal waits.  The handler moves rip from [ap_touch, ap_touch_insn] to ap_touch_abort.
 */
AP_MUST_CHECK int ap_touch(u64 addr);
extern const u8 ap_touch_start[], ap_touch_insn[], ap_touch_abort[];
/* rdfsbase: -EFAULT where the kernel does not let it. */
AP_MUST_CHECK int ap_safe_fs_base(u64 *base);

/* dispatch.c */
AP_NORETURN void ap_dispatch(struct ap_thread *t);
AP_NORETURN void ap_dispatch_one_shot(struct ap_thread *t); /* one instruction at t->regs.rip */
/* native.c: the engine cannot go on: report, and all threads of the process leave together. */
AP_NORETURN void ap_go_native(struct ap_thread *t, const char *why);
AP_NORETURN void ap_native_park(struct ap_thread *t); /* ap_proc.native is set; lock not held */

/* Does the session want other breakpoints than the process has? */
static inline bool ap_watches_are_stale(void)
{
	const struct ap_session *s = ap_proc.session;

	return __atomic_load_n(&s->watch_gen, __ATOMIC_RELAXED) != ap_proc.seg->watch_ack ||
	       __atomic_load_n(&s->data_gen, __ATOMIC_RELAXED) != ap_proc.seg->data_ack ||
	       __atomic_load_n(&ap_proc.seg->counters, __ATOMIC_RELAXED) != ap_proc.counters;
}

/* dump.c: t is about to die of t->pend_sig, and all with it. */
void ap_dump_before(struct ap_thread *t);

/* mend.c: after an engine lock's holder was killed. */
void ap_mend_init(void);
void ap_mend_process(void); /* in a fork's only thread */

/* signal.c */
void ap_signal_mend(void);		  /* lock held */
void ap_signal_init(struct ap_thread *t); /* after an exec: install what the engine needs */
void ap_signal_let_in(u64 mask);	  /* the first mask of an image */
void ap_signal_deliver(
	struct ap_thread *t); /* t->pending: builds the program's frame into t->regs */
/* Raises the CPU's #GP for the instruction at t->regs.rip, which has not been executed. */
AP_NORETURN void ap_signal_general_protection(struct ap_thread *t);
/* The call at pc raises SIGSYS instead; unless another signal waits already, which comes before the call then. */
void ap_signal_sys(struct ap_thread *t, u64 pc, s32 code, s32 err);
AP_NORETURN void ap_signal_exit(struct ap_thread *t, u32 sig); /* killed by it, whatever is set */
/* The SIGTRAP of an event with sigtrap, at t->regs.rip. */
struct ap_service_trap;
void ap_signal_perf_trap(struct ap_thread *t, const struct ap_service_trap *trap);
void ap_signal_fork_child(struct ap_thread *t);
s64 ap_sig_action(struct ap_thread *t, const u64 args[6]);   /* rt_sigaction */
s64 ap_sig_altstack(struct ap_thread *t, const u64 args[6]); /* sigaltstack */
AP_NORETURN void ap_sig_return(struct ap_thread *t);	     /* rt_sigreturn at t->regs.rsp */
/* rt_sigprocmask; may return AP_SYSCALL_INTERRUPTED or AP_SYSCALL_UNTOUCHED as ap_syscall_do does. */
s64 ap_sig_procmask(struct ap_thread *t, const u64 args[6]);
/*
 * A task that shares memory with its parent: call in the parent, before the clone, with the child's
 * thread ready; the child inherits what the kernel lets it inherit.
 */
void ap_signal_new_task(struct ap_thread *parent, struct ap_thread *child, u64 clone_flags);
/* In the child of a clone3 with CLONE_CLEAR_SIGHAND. */
void ap_signal_clear_handlers(struct ap_thread *t);
/*
 * Before an exec what the program ignores is ignored by the kernel as well, for the new image to
 * inherit; to be undone when the exec has failed.  No guarded copies in between.
 */
void ap_signal_before_exec(struct ap_thread *t);
void ap_signal_exec_failed(struct ap_thread *t);
/*
 * Blocks/unblocks all signals around code that must not be interrupted.  The kernel's masks: without
 * the synchronous signals, whose bits of the program's mask are in t->virt_mask (signal.h).
 */
u64 ap_sig_block_all(void); /* returns the previous mask */
void ap_sig_set_mask(u64 mask);
u64 ap_sig_program_mask(struct ap_thread *t);
void ap_sig_look_for_segv(struct ap_thread *t); /* all of it, as the program sees it: for an exec */
/* The kernel's dispositions become the program's, once; lock held where there are other threads. */
void ap_sig_give_back(struct ap_thread *t);
bool ap_sig_are_given_back(struct ap_thread *t);
/*
 * For good: mask, alternate stack, %gs and registers become the program's, and where nobody else
 * needs them any more dispositions must be.
 */
AP_NORETURN void ap_sig_go_native(struct ap_thread *t);

/*
 * syscall.c: executes the system call whose instruction is at pc with t->regs (rip is still pc).
 * Sets rax, rcx, r11, rip as the kernel would.  May not return (exit, sigreturn, exec).
 */
void ap_syscall(struct ap_thread *t, u64 pc);
/*
 * The call whose instruction is at t->regs.rip, in which the thread was when the engine came to it:
 * why is what the kernel gave in its place.
 */
void ap_syscall_resume(struct ap_thread *t, s64 why);
/* task.c: pids, names and descriptors of a new image's first thread. */
void ap_task_init(struct ap_thread *t);

/*
 * attach.c: a process that runs already.  before: what the first thread must ask the kernel before
 * its own state replaces it; threads: makes all others; thread: they and the first begin.
 */
void ap_attach_before(void);
AP_MUST_CHECK int ap_attach_threads(struct ap_thread *first);
AP_NORETURN void ap_attach_thread(struct ap_boot_thread *rec);
/* leave.c: the supervisor wants the process to run natively; t->regs are complete. */
AP_NORETURN void ap_leave_park(struct ap_thread *t);
AP_NORETURN void ap_leave_call(u64 is_block);
AP_NORETURN void ap_leave_borrowed(enum ap_leave what);
void ap_leave_wait(struct ap_boot_thread *rec, u64 timeout[2]);

/* kinds.c; lock held.  Does the session want more to be counted than all code of the process counts, or no models? */
void ap_kinds_init(void);
void ap_kinds_switch(void);
static inline bool ap_kinds_are_stale(void)
{
	u64 want = __atomic_load_n(&ap_proc.session->kinds, __ATOMIC_RELAXED);

	return (want & AP_KINDS_ALL & ~ap_proc.kinds) ||
	       (ap_proc.kinds & AP_KINDS_MODEL & ~ap_model_kinds_with(want)) ||
	       ap_proc.seg->kinds_ack != ap_proc.kinds ||
	       __atomic_load_n(&ap_proc.session->nlanes, __ATOMIC_RELAXED) !=
		       ap_proc.seg->lanes_ack ||
	       __atomic_load_n(&ap_proc.session->lane_gen, __ATOMIC_RELAXED) !=
		       ap_proc.seg->lane_gen_ack;
}

/* lane_switch.c: --stress sample */
struct ap_service_point;
void ap_lane_stress_arm(struct ap_thread *t);
void ap_lane_stress_overflow(struct ap_thread *t, const struct ap_service_point *p, u64 raw);

/*
 * Counted directly: in extra[] at each exit, and not in shapes any more, so that a thread reads its own
 * counter in no time.
 */
void ap_direct_want(u64 kinds);		   /* from the thread's next instruction on */
void ap_direct_reset(struct ap_thread *t); /* its counters begin anew */
/* The kinds that are; the thread's direct_sums hold what its shapes had of them before. */
u64 ap_direct_kinds(struct ap_thread *t);
void ap_pmc_forget(void); /* what all threads know of counters */
/* slot.c: where the thread counts, for code that sums it up (abi/slot_sum.h) */
struct ap_slot_view ap_thread_view(struct ap_thread *t);

/* pmc.c */
#define AP_CPU_XBEGIN 1U
#define AP_CPU_RDRAND 2U
#define AP_CPU_RDSEED 4U
bool ap_pmc_has(u32 feature); /* does the CPU execute it? AP_CPU_* */
/* What it wants to know of the CPU, before CPUID is forbidden. */
void ap_pmc_ask(void);

/* report.c: one line to stderr of the program, and a note to the session. */
void ap_note(u32 kind, const char *text);
void ap_note2(u32 kind, const char *a, const char *b, const char *c);
/* The supervisor is to look at all slots. */
void ap_supervisor_wake(void);
void ap_report_fault(struct ap_thread *t); /* the engine's, in t->fault */

/*
 * debug_switch.c: the full report into the log of a build for tests; fault is NULL where the engine gave up in good
 * order.  True: all of it is there.
 */
AP_MUST_CHECK bool ap_debug_write(const struct ap_thread *t, const char *headline,
				  const struct ap_fault *fault);

#endif
