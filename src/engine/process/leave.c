/* SPDX-License-Identifier: MIT */
/*
 * Leaving a process that was attached to.  A thread cannot step out by itself unseen: rt_sigreturn
 * makes the kernel forget how a call is to be restarted.  So each parks, with the program's state in
 * a record, and a tracer loads the registers.  docs/design/injection.md, "Leaving".
 *
 * Should the tracer be gone, or have given up, the thread goes native by itself.  Not by the clock alone: where CPU time is scarce
 * the last of many threads may need long to park.
 */
#include "base/mem.h"
#include "engine/cache/smc.h"
#include "engine/signal/signal.h"
#include "engine/task/task.h"

#define PATIENCE_S	   10 /* then it looks whether anybody is there */
#define TIMES		   6
#define NR_restart_syscall 219

/* By its number alone, which another may have by now: so it is not believed for ever. */
static bool is_still_leaving(void)
{
	return __atomic_load_n(&ap_proc.seg->leave, __ATOMIC_RELAXED) == AP_LEAVING &&
	       !ap_session_is_left(ap_proc.session) &&
	       ap_sys2(AP_NR_kill, ap_proc.session->supervisor, 0) != -AP_ESRCH;
}

static void AP_NORETURN wait(struct ap_thread *t, struct ap_boot_thread *rec)
{
	for (u32 i = 0; i < TIMES && (!i || is_still_leaving()); i++) {
		u64 patience[2] = { PATIENCE_S, 0 };

		ap_leave_wait(rec, patience);
	}
	ap_go_native(t, "nobody came to take it out");
}

void ap_leave_park(struct ap_thread *t)
{
	const u64 all = ~0ULL;
	struct ap_boot_thread rec = {
		.thread = (u64)t,
		.sigmask = ap_sig_program_mask(t),
		.gs_base = t->app_gs_base,
		.rseq = t->rseq,
		.rseq_size = t->rseq_size,
		.rseq_sig = t->rseq_sig,
		.altstack = { t->altstack.sp, t->altstack.flags, t->altstack.size },
	};

	ap_sys4(AP_NR_rt_sigprocmask, 2 /* SIG_SETMASK */, (u64)&all, 0, 8);
	if (t->pending)
		ap_sig_put_back(t->pend_sig, (const struct ap_siginfo *)t->pend_info);
	t->pending = 0;
	(void)!ap_user_dispatch_config(t, rec.dispatch);
	rec.regs = t->regs;
	wait(t, &rec);
}

void ap_leave_call(u64 is_block)
{
	struct ap_thread *t = ap_self();

	if (is_block)
		t->regs.gpr[0] = NR_restart_syscall;
	t->has_syscall_mask = 0;
	ap_leave_park(t);
}

/* Another process may run in this memory (clone with CLONE_VM alone); lock held. */
static bool is_shared(const struct ap_thread *t)
{
	ap_thread_bury_dead();
	for (const struct ap_thread *o = ap_proc.threads; o; o = o->next)
		if (o->process != t->process)
			return true;
	return false;
}

/* What the kernel holds for the process is the program's again; lock held. */
static void restore(struct ap_thread *t, struct ap_boot_thread *rec)
{
	ap_smc_unprotect_all();
	ap_sig_give_back(t);
	rec->maps = (u64)ap_mem_table(&rec->nmaps);
	rec->keeps_maps = is_shared(t);
	ap_limits_give_back(t, !rec->keeps_maps);
}

/* All signals are blocked; the thread's own state is with the tracer. */
void ap_leave_borrowed(enum ap_leave what)
{
	struct ap_thread *t = ap_self();
	struct ap_boot_thread none = { .thread = (u64)t };

	ap_lock_take(&ap_proc.lock);
	if (what == AP_LEAVE_FLUSH)
		ap_cache_retire();
	else
		restore(t, &none);
	ap_lock_drop(&ap_proc.lock);
	if (what == AP_LEAVE_RESTORE)
		ap_sys2(AP_NR_sigaltstack, (u64)&t->altstack, 0);
	wait(t, &none);
}
