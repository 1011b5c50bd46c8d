/* SPDX-License-Identifier: MIT */
/*
 * The handler that the kernel calls for every signal of a counted thread: finds out where the
 * thread is, brings it to a point where its registers are the program's, and leaves the signal in
 * t->pend_* for ap_signal_deliver.
 *
 * It runs on the engine's alternate stack with every signal blocked, may have interrupted anything,
 * and so takes no lock and calls nothing that is not async-safe.  What it does to the thread it does
 * by editing the kernel's frame.
 */
#include "engine/cache/smc.h"
#include "engine/client.h"
#include "engine/signal/signal.h"

#define NR_rt_sigqueueinfo 129
#define NR_restart_syscall 219
#define NR_clock_gettime   228
#define CLOCK_MONOTONIC	   1
#define TRAP_BP		   3
#define ERR_WRITE	   2
#define EFL_ENGINE	   0x202ULL
#define SYSCALL_LEN	   2

/* Place in greg[] of rax rcx rdx rbx rsp rbp rsi rdi r8..r15. */
static const u8 greg_of[16] = { 13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7 };

void ap_sig_uc_to_regs(struct ap_regs *r, const struct ap_sigcontext *mc)
{
	for (u32 k = 0; k < 16; k++)
		r->gpr[k] = mc->greg[greg_of[k]];
	r->rip = mc->greg[AP_GREG_RIP];
	r->rflags = mc->greg[AP_GREG_EFL];
}

void ap_sig_regs_to_uc(struct ap_sigcontext *mc, const struct ap_regs *r)
{
	for (u32 k = 0; k < 16; k++)
		mc->greg[greg_of[k]] = r->gpr[k];
	mc->greg[AP_GREG_RIP] = r->rip;
	mc->greg[AP_GREG_EFL] = r->rflags;
}

void ap_sig_put_back(u32 sig, const struct ap_siginfo *info)
{
	u64 pid = (u64)ap_sys0(AP_NR_getpid), tid = (u64)ap_sys0(AP_NR_gettid);

	if (info->code == AP_SI_USER)
		ap_sys3(NR_rt_sigqueueinfo, pid, sig, (u64)info);
	else
		ap_sys4(AP_NR_rt_tgsigqueueinfo, pid, tid, sig, (u64)info);
}

static u64 pc_of(const struct ap_ucontext *uc)
{
	return uc->mc.greg[AP_GREG_RIP];
}

static bool is_sync(u32 sig)
{
	return AP_SIG_SYNC & AP_SIG_BIT(sig);
}

/* Raised by the CPU at the interrupted instruction, as far as the signal itself can tell. */
static bool is_fault(u32 sig, const struct ap_siginfo *info)
{
	return is_sync(sig) && info->code > 0;
}

/* The thread goes on at an entry of the engine, on the engine's stack. */
static void send_to(struct ap_thread *t, struct ap_ucontext *uc, const void *entry)
{
	uc->mc.greg[AP_GREG_RIP] = (u64)entry;
	uc->mc.greg[AP_GREG_RSP] = t->engine_sp;
	uc->mc.greg[AP_GREG_RDI] = (u64)t;
	uc->mc.greg[AP_GREG_EFL] = EFL_ENGINE;
}

/*
 * A page fault that ends in a signal is one of the kernel's PAGE_FAULTS, and neither minor nor major.  Each is the engine's
 * (a full log, a write to code, an access that it tries) until the program gets it.
 */
static void count_fault(struct ap_thread *t, u32 sig, const struct ap_siginfo *info,
			const struct ap_ucontext *uc, s64 n)
{
	u64 *own = &ap_thread_slot(t)->own_faults;

	if (is_fault(sig, info) && uc->mc.trapno == AP_TRAP_PF)
		__atomic_store_n(own, *own + (u64)n, __ATOMIC_RELAXED);
}

/* Takes the signal; nothing else comes until it is delivered. */
static void take(struct ap_thread *t, u32 sig, const struct ap_siginfo *info,
		 struct ap_ucontext *uc)
{
	count_fault(t, sig, info, uc, -1);
	t->pend_sig = sig;
	t->resent &= ~AP_SIG_BIT(sig);
	t->pend_sync = 0;
	t->pend_mask = uc->sigmask;
	t->pend_temp = false;
	memcpy(t->pend_info, info, sizeof(*info));
	uc->sigmask = AP_SIG_BUSY;
}

static void set_pending(struct ap_thread *t)
{
	__atomic_store_n(&t->pending, 1, __ATOMIC_SEQ_CST);
}

/* What the program will see as the reason of a fault, with its own pc for the cache's. */
static void make_sync(struct ap_thread *t, const struct ap_ucontext *uc)
{
	struct ap_siginfo *info = (struct ap_siginfo *)t->pend_info;

	t->pend_sync = AP_PEND_RAISED;
	t->fault_err = uc->mc.err;
	t->fault_trapno = uc->mc.trapno;
	t->fault_cr2 = uc->mc.cr2;
	if (t->pend_sig != AP_SIGSEGV && t->pend_sig != AP_SIGBUS && info->addr == pc_of(uc))
		info->addr = t->regs.rip;
}

/* Out of the cache at *w, which is a clean boundary or the single access of a mangled instruction. */
static void leave_cache(struct ap_thread *t, const struct ap_ucontext *uc, const struct ap_where *w)
{
	ap_sig_uc_to_regs(&t->regs, &uc->mc);
	if (!w->clean)
		ap_cache_fix_regs(t, w, t->regs.gpr);
	t->regs.rip = w->app_pc;
	if (t->stepping)
		t->regs.rflags &= ~AP_EFL_TF;
	ap_cache_count_partial(t, w);
	ap_thread_slot(t)->in_code = 0;
}

/* The signal is blocked, by the program or because another one is being delivered. */
static void postpone(struct ap_thread *t, u32 sig, const struct ap_siginfo *info,
		     struct ap_ucontext *uc)
{
	if (t->sig_depth)
		t->sig_dirty = 1;
	uc->sigmask |= AP_SIG_BIT(sig);
	t->resent |= AP_SIG_BIT(sig);
	ap_sig_put_back(sig, info);
}

static bool is_virtually_blocked(const struct ap_thread *t, u32 sig)
{
	return is_sync(sig) && (t->virt_mask & AP_SIG_BIT(sig));
}

static void stop_stepping(struct ap_thread *t, struct ap_ucontext *uc)
{
	t->stepping = 0;
	uc->mc.greg[AP_GREG_EFL] &= ~AP_EFL_TF;
	set_pending(t);
}

/* The signal waits in pend_*: has the thread arrived where it can be delivered? */
static void step(struct ap_thread *t, struct ap_ucontext *uc)
{
	struct ap_where w;

	if (!ap_cache_contains(pc_of(uc))) {
		stop_stepping(t, uc); /* the engine will look at t->pending */
		return;
	}
	if (!ap_cache_locate(pc_of(uc), &w) || !w.clean)
		return;
	leave_cache(t, uc, &w);
	stop_stepping(t, uc);
	send_to(t, uc, (const void *)ap_redispatch);
}

/*
 * A fault while stepping is as good as a boundary: the signal comes before the faulting
 * instruction, which will fault again.  Not so a breakpoint, which has been executed: it goes first.
 */
static bool fault_in_step(struct ap_thread *t, struct ap_ucontext *uc)
{
	struct ap_where w;

	if (!ap_cache_locate(pc_of(uc), &w))
		return false;
	if (uc->mc.trapno == TRAP_BP) {
		uc->mc.greg[AP_GREG_EFL] &= ~AP_EFL_TF;
		t->stepping = 0;
		ap_sig_put_back(t->pend_sig, (const struct ap_siginfo *)t->pend_info);
		uc->sigmask = t->pend_mask;
		return false;
	}
	leave_cache(t, uc, &w);
	stop_stepping(t, uc);
	send_to(t, uc, (const void *)ap_redispatch);
	return true;
}

/* True where nothing is left to do. */
static bool while_stepping(struct ap_thread *t, u32 sig, const struct ap_siginfo *info,
			   struct ap_ucontext *uc)
{
	if (!is_fault(sig, info)) {
		if (sig == AP_SIGTRAP) { /* may not be blocked now */
			memcpy(t->held_info, info, sizeof(*info));
			t->held_trap = 1;
		} else {
			postpone(t, sig, info, uc);
		}
		return true;
	}
	if (sig == AP_SIGTRAP && uc->mc.trapno != TRAP_BP) {
		step(t, uc);
		return true;
	}
	return fault_in_step(t, uc);
}

/* Cannot be explained: as the kernel would without the engine. */
static void give_up(u32 sig)
{
	const struct ap_sigaction dfl = { .handler = AP_SIG_DFL };

	ap_rawsys(AP_NR_rt_sigaction, sig, (u64)&dfl, 0, 8, 0, 0);
}

static void fault_in_cache(struct ap_thread *t, u32 sig, const struct ap_siginfo *info,
			   struct ap_ucontext *uc)
{
	struct ap_where w;

	if (!ap_cache_locate(pc_of(uc), &w)) {
		give_up(sig);
		return;
	}
	leave_cache(t, uc, &w);
	take(t, sig, info, uc);
	make_sync(t, uc);
	if (sig == AP_SIGSEGV && info->code == AP_SEGV_ACCERR && (uc->mc.err & ERR_WRITE) &&
	    ap_smc_is_protected(info->addr)) {
		t->sig_depth = 1; /* as if ap_sig_block_all had been called */
		t->sig_outer = t->pend_mask;
		ap_clients_stores_into_code(t, &w);
		send_to(t, uc, ap_sig_smc_entry);
		return;
	}
	set_pending(t);
	send_to(t, uc, (const void *)ap_redispatch);
}

/* What waits is delivered where the program's state is whole. */
static void to_boundary(struct ap_thread *t, struct ap_ucontext *uc)
{
	struct ap_where w;

	if (ap_coast(t, &uc->mc, &w)) {
		leave_cache(t, uc, &w);
		set_pending(t);
		send_to(t, uc, (const void *)ap_redispatch);
		return;
	}
	t->stepping = 1;
	uc->mc.greg[AP_GREG_EFL] |= AP_EFL_TF;
}

/* To the dispatcher, as for a signal: one that is a nudge when it is delivered. */
static void come_out(struct ap_thread *t, struct ap_ucontext *uc)
{
	const struct ap_siginfo nudge = { .signo = AP_SIGTRAP, .code = AP_NUDGE_CODE };
	const u64 magic = AP_SESSION_MAGIC;

	take(t, AP_SIGTRAP, &nudge, uc);
	memcpy(((struct ap_siginfo *)t->pend_info)->rest, &magic, sizeof(magic));
	to_boundary(t, uc);
}

static void in_cache(struct ap_thread *t, u32 sig, const struct ap_siginfo *info,
		     struct ap_ucontext *uc)
{
	if (is_fault(sig, info)) {
		fault_in_cache(t, sig, info, uc);
		return;
	}
	if (is_virtually_blocked(t, sig)) {
		postpone(t, sig, info, uc);
		if (ap_clients_are_held_up(t, true))
			come_out(t, uc);
		return;
	}
	take(t, sig, info, uc);
	to_boundary(t, uc);
}

static bool within(u64 pc, const u8 *start, const u8 *end)
{
	return pc >= (u64)start && pc < (u64)end;
}

/* What the report is to say of the engine itself: its stack is used again right away. */
static void note_engine(struct ap_thread *t, const struct ap_ucontext *uc)
{
	struct ap_fault *f = &t->fault;
	const u64 low = (u64)t + AP_T_STACK_OFF;
	const u64 *sp;

	ap_sig_uc_to_regs(&f->regs, &uc->mc);
	sp = (const u64 *)f->regs.gpr[4 /* rsp */];
	f->nstack = 0;
	if ((u64)sp < low || (u64)sp & 7)
		return;
	while (f->nstack < AP_ARRAY_SIZE(f->stack) && (u64)(sp + 1) <= t->engine_sp)
		f->stack[f->nstack++] = *sp++;
}

/*
 * One report, then natively on, with the tables as they are if that faults as well; a third fault ends
 * the task.  A signal that waits to be delivered still does.
 */
static void bug(struct ap_thread *t, u32 sig, const struct ap_siginfo *info, struct ap_ucontext *uc)
{
	if (t->in_handler_depth++ > 1) {
		give_up(sig);
		return;
	}
	if (!t->pending && t->sig_depth++ == 0) /* as if ap_sig_block_all had been called */
		t->sig_outer = uc->sigmask;
	uc->sigmask = AP_SIG_BUSY;
	t->fault.sig = sig;
	t->fault.addr = info->addr;
	note_engine(t, uc);
	send_to(t, uc, ap_sig_bug_entry);
}

/* t->regs is where it happened.  A signal that waits already goes first: the fault will come again. */
static void program_fault(struct ap_thread *t, u32 sig, const struct ap_siginfo *info,
			  struct ap_ucontext *uc)
{
	t->native_pc = 0;
	if (!t->pending) {
		take(t, sig, info, uc);
		make_sync(t, uc);
		set_pending(t);
	}
	send_to(t, uc, (const void *)ap_redispatch);
}

static void fault_in_blob(struct ap_thread *t, u32 sig, const struct ap_siginfo *info,
			  struct ap_ucontext *uc)
{
	u64 pc = pc_of(uc);

	if (within(pc, ap_safe_start, ap_safe_end)) {
		uc->mc.greg[AP_GREG_RIP] = (u64)ap_safe_fixup;
		return;
	}
	if (within(pc, ap_sig_guard_start, ap_sig_guard_end)) {
		uc->mc.greg[AP_GREG_RIP] = (u64)ap_sig_guard_fixup;
		return;
	}
	if (pc != (u64)ap_sig_landing && !t->native_pc) {
		bug(t, sig, info, uc);
		return;
	}
	/* The kernel refused a frame's extended state, or a jump to no address at all. */
	program_fault(t, sig, info, uc);
}

/* The program's pc where the signal finds it in the middle of its system call. */
static void at_syscall(struct ap_thread *t, struct ap_ucontext *uc)
{
	const u64 *greg = uc->mc.greg;
	u64 pc = pc_of(uc);

	if (within(pc, ap_syscall_window, ap_syscall_insn + 1)) {
		/* what the kernel restarts may be another call than the program's */
		if (pc == (u64)ap_syscall_insn && greg[AP_GREG_RAX] == NR_restart_syscall)
			t->regs.gpr[0] = NR_restart_syscall;
		uc->mc.greg[AP_GREG_RIP] = (u64)ap_syscall_abort;
	} else if (pc == (u64)ap_syscall_insn + SYSCALL_LEN &&
		   (s64)greg[AP_GREG_RAX] == -AP_EINTR && t->has_syscall_mask) {
		t->pend_temp = true;
	}
}

/*
 * A crash reporter sends itself the siginfo of a fault.  That arrives after its system call, or, if
 * it had to be put back, wherever the engine lets it in again.
 */
static bool was_sent(const struct ap_thread *t, u32 sig, const struct ap_ucontext *uc)
{
	u64 pc = pc_of(uc);

	if (within(pc, ap_safe_start, ap_safe_end) ||
	    within(pc, ap_sig_guard_start, ap_sig_guard_end))
		return false;
	return pc == (u64)ap_syscall_insn + SYSCALL_LEN || (t->resent & AP_SIG_BIT(sig));
}

static void in_blob(struct ap_thread *t, u32 sig, const struct ap_siginfo *info,
		    struct ap_ucontext *uc)
{
	u64 pc = pc_of(uc);
	bool after_syscall = pc == (u64)ap_syscall_insn + SYSCALL_LEN;

	if (is_fault(sig, info) && !was_sent(t, sig, uc)) {
		fault_in_blob(t, sig, info, uc);
		return;
	}
	if (sig == AP_SIGSYS && info->code == AP_SYS_SECCOMP && !after_syscall) {
		uc->mc.greg[AP_GREG_RAX] = (u64)-AP_ENOSYS; /* a call of the engine's own */
		return;
	}
	if (t->pending || is_virtually_blocked(t, sig) || (is_sync(sig) && t->sig_depth)) {
		postpone(t, sig, info, uc);
		if (within(pc, ap_gate_enter_start, ap_gate_enter_end) &&
		    ap_clients_are_held_up(t, false))
			send_to(t, uc, (const void *)ap_gate_abandon);
		return;
	}
	take(t, sig, info, uc);
	t->pend_sync = sig == AP_SIGSYS && info->code == AP_SYS_SECCOMP ? AP_PEND_RAISED : 0;
	at_syscall(t, uc);
	if (within(pc, ap_touch_start, ap_touch_insn + 1))
		uc->mc.greg[AP_GREG_RIP] = (u64)ap_touch_abort;
	set_pending(t);
	if (within(pc, ap_gate_enter_start, ap_gate_enter_end))
		send_to(t, uc, (const void *)ap_gate_abandon);
}

/* Not the CPU's answer "undefined", nor that of a privileged instruction: it is one that the decoder does not know. */
static bool is_known_to_cpu(u32 sig, const struct ap_ucontext *uc)
{
	return sig != AP_SIGILL && uc->mc.trapno != AP_TRAP_GP;
}

/* SI_KERNEL: there is no uprobe, it is a breakpoint of the program's. */
#define SI_KERNEL 0x80

/* What the kernel executed for its breakpoint, or what cannot be read, is done: it tells by a signal that is not sent to anybody. */
static bool ends_visit(const struct ap_thread *t, u32 sig, const struct ap_siginfo *info,
		       const struct ap_ucontext *uc)
{
	return (t->on_trial == AP_TRIAL_PROBED || t->on_trial == AP_TRIAL_FETCH) &&
	       sig == AP_SIGTRAP && info->code != SI_KERNEL && pc_of(uc) != t->native_pc;
}

/*
 * The engine jumped to the program's pc to have the fault of an address that cannot be executed, or of what is no
 * instruction.
 */
static void in_program(struct ap_thread *t, u32 sig, const struct ap_siginfo *info,
		       struct ap_ucontext *uc)
{
	bool is_over = ends_visit(t, sig, info, uc);

	if (!is_over && is_virtually_blocked(t, sig) && !is_fault(sig, info)) {
		postpone(t, sig, info, uc);
		return;
	}
	ap_sig_uc_to_regs(&t->regs, &uc->mc);
	ap_thread_slot(t)->in_code = 0;
	if (t->on_trial) {
		t->regs.rflags &= ~AP_EFL_TF;
		if (is_over || (t->on_trial == AP_TRIAL_UNKNOWN && is_fault(sig, info) &&
				is_known_to_cpu(sig, uc))) {
			send_to(t, uc, ap_sig_trial_entry);
			return;
		}
		if (t->on_trial == AP_TRIAL_PROBED && info->code != SI_KERNEL)
			ap_clients_trial_done(t);
		t->on_trial = AP_TRIAL_NONE;
	}
	if (is_fault(sig, info)) {
		program_fault(t, sig, info, uc);
		return;
	}
	t->native_pc = 0;
	take(t, sig, info, uc);
	set_pending(t);
	send_to(t, uc, (const void *)ap_redispatch);
}

u64 ap_sig_perf_data(const struct ap_siginfo *info)
{
	u64 value;

	memcpy(&value, info->rest, sizeof(value));
	return value;
}

bool ap_sig_is_nudge(u32 sig, const struct ap_siginfo *info)
{
	if (ap_likely(sig != AP_SIGTRAP || info->code != AP_NUDGE_CODE))
		return false;
	return ap_sig_perf_data(info) == AP_SESSION_MAGIC;
}

/* dump.c: a call that waits is made again, where the program makes it. */
static bool is_shown(struct ap_thread *t, struct ap_ucontext *uc)
{
	u64 pc = pc_of(uc), behind = (u64)ap_syscall_insn + SYSCALL_LEN;

	if (ap_likely(!__atomic_load_n(&ap_proc.dying, __ATOMIC_RELAXED)) || t->pending)
		return false;
	if (!within(pc, ap_syscall_window, ap_syscall_insn + 1) &&
	    (pc != behind || (s64)uc->mc.greg[AP_GREG_RAX] != -AP_EINTR))
		return false;
	ap_sig_regs_to_uc(&uc->mc, &t->regs);
	uc->sigmask = ~0ULL;
	return true;
}

/* A signal cut the call short, and the tracer took it away: the program makes it anew, where the tracer sees its entry. */
static bool is_made_again(struct ap_thread *t, struct ap_ucontext *uc)
{
	u64 pc = pc_of(uc);

	if (ap_likely(!t->traced.again))
		return false;
	t->traced.again = false;
	if (pc != (u64)ap_syscall_insn && pc != (u64)ap_syscall_insn + SYSCALL_LEN)
		return false;
	uc->mc.greg[AP_GREG_RIP] = (u64)ap_syscall_abort;
	return true;
}

/* Out of the cache and in again: it steps to where that can be, as code of models rarely is there. */
static void nudged(struct ap_thread *t, struct ap_ucontext *uc)
{
	if (is_made_again(t, uc) || is_shown(t, uc))
		return;
	if (t->stepping || t->pending || !ap_cache_contains(pc_of(uc)))
		return;
	come_out(t, uc);
}

/* A client's own signal: true where it is one. */
static bool is_clients(struct ap_thread *t, u32 sig, const struct ap_siginfo *info,
		       struct ap_ucontext *uc)
{
	const struct ap_signal_at at = {
		.sig = sig, .info = info, .uc = uc, .pc = pc_of(uc), .is_fault = is_fault(sig, info)
	};
	enum ap_signal_verdict verdict = ap_clients_on_signal(t, &at);

	if (verdict == AP_SIGNAL_COME_OUT && ap_cache_contains(pc_of(uc)) && !t->stepping &&
	    !t->pending)
		come_out(t, uc); /* else it comes to the dispatcher by itself */
	return verdict != AP_SIGNAL_OTHERS;
}

/* The supervisor wants to know: it passes on what is sent to it, but not what was sent to both. */
static void note_sent(const struct ap_thread *t, u32 sig, const struct ap_siginfo *info)
{
	struct ap_heard *h = &ap_proc.board->heard[sig];
	u64 ts[2] = { 0 };

	if (t->pid != ap_proc.session->command || ap_proc.seg->mute)
		return;
	(void)ap_sys2(NR_clock_gettime, CLOCK_MONOTONIC, (u64)ts);
	__atomic_store_n(&h->from, (u32)info->addr, __ATOMIC_RELAXED);
	__atomic_store_n(&h->ns, ts[0] * 1000000000 + ts[1], __ATOMIC_RELEASE);
}

void ap_sig_master(u32 sig, struct ap_siginfo *info, struct ap_ucontext *uc)
{
	struct ap_thread *t = ap_self();

	/* The kernel leaves AC as the program has it; our accesses may be unaligned. */
	__asm__ volatile("pushfq; andl $0xfffbffff, (%%rsp); popfq" ::: "cc", "memory");
	ap_fp_note(uc->mc.fpstate);
	count_fault(t, sig, info, uc, 1);
	if (ap_unlikely(ap_sig_change_mask(sig, uc)) || ap_traced_is_lost(t, sig, pc_of(uc)))
		return;
	if (ap_unlikely(ap_sig_is_nudge(sig, info))) {
		nudged(t, uc);
		return;
	}
	if (is_clients(t, sig, info, uc))
		return;
	if (info->code == AP_SI_USER && sig < AP_HEARD_N && AP_HEARD & AP_SIG_BIT(sig))
		note_sent(t, sig, info);
	if (t->stepping && while_stepping(t, sig, info, uc))
		return;
	if (ap_cache_contains(pc_of(uc)))
		in_cache(t, sig, info, uc);
	else if (ap_in_blob(pc_of(uc)) || ap_clients_own_code(pc_of(uc)))
		in_blob(t, sig, info, uc);
	else
		in_program(t, sig, info, uc);
}
