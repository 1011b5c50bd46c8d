/* SPDX-License-Identifier: MIT */
/*
 * Dispositions and masks: what the program believes, and what the kernel is told.
 *
 * The kernel has the master handler where the program has a handler, for the synchronous signals
 * always, and for those that dump core by default, so that the core can show the program's
 * registers.  All other dispositions are the kernel's own business.
 *
 * The table is written under the process lock (a fork holds it, so a child's copy is whole) and
 * read without one, under a sequence count.
 */
#include "engine/signal/signal.h"

#include "engine/runtime/filter.h"
#include "engine/thread/still.h"
#include "sys/nr.h"

#define TABLE_SIZE (AP_NSIG * sizeof(struct ap_sigaction))

_Static_assert(TABLE_SIZE <= AP_T_ACTIONS_SIZE, "a thread's own table");

#define KNOWN_FLAGS                                                                                \
	(AP_SA_NOCLDSTOP | AP_SA_NOCLDWAIT | AP_SA_SIGINFO | AP_SA_EXPOSE_TAGBITS |                \
	 AP_SA_RESTORER | AP_SA_ONSTACK | AP_SA_RESTART | AP_SA_NODEFER | AP_SA_RESETHAND)

#define CLONE_VM      0x100ULL
#define CLONE_SIGHAND 0x800ULL
#define CLONE_VFORK   0x4000ULL

static u32 table_seq; /* odd while an entry is being written */

/*
 * Where a filter of the program's may not know rt_sigprocmask, a fault of the engine's own asks the
 * master handler, which finds the mask in the kernel's frame and changes it there: rt_sigreturn loads
 * it, which a program with handlers needs as well.
 */
static void mask_by_fault(struct ap_thread *t, u32 how, u64 set, u64 *old)
{
	/* SIGILL itself is blocked in the kernel while one that was sent waits there */
	u64 was = t->resent & AP_SIG_BIT(AP_SIGILL) ? ap_sig_mask_segv(how, set)
						    : ap_sig_mask_ill(how, set);

	if (old)
		*old = was;
}

static void kernel_mask(struct ap_thread *t, u32 how, const u64 *set, u64 *old)
{
	const u64 a[6] = { how, (u64)set, (u64)old, 8 };

	if (ap_filter_allows(AP_NR_rt_sigprocmask, a))
		ap_sys4(AP_NR_rt_sigprocmask, how, (u64)set, (u64)old, 8);
	else if (ap_filter_allows_nr(AP_NR_rt_sigreturn))
		mask_by_fault(t, set ? how : AP_SIG_BLOCK, set ? *set : 0, old);
	else if (old) /* nothing that a handler does comes back from it */
		*old = 0;
}

bool ap_sig_change_mask(u32 sig, struct ap_ucontext *uc)
{
	u64 *greg = uc->mc.greg, pc = greg[AP_GREG_RIP], was = uc->sigmask, set;

	if (!(sig == AP_SIGILL && pc == (u64)ap_sig_ill_insn) &&
	    !(sig == AP_SIGSEGV && pc == (u64)ap_sig_segv_insn))
		return false;
	set = greg[AP_GREG_RSI];
	if (greg[AP_GREG_RDI] == AP_SIG_BLOCK)
		set |= was;
	else if (greg[AP_GREG_RDI] == AP_SIG_UNBLOCK)
		set = was & ~set;
	uc->sigmask = set;
	greg[AP_GREG_RAX] = was;
	greg[AP_GREG_RIP] = (u64)ap_sig_mask_done;
	return true;
}

void ap_sig_hold_all(struct ap_thread *t)
{
	/* by a fault not these: the next one could not be taken */
	const u64 all = ap_proc.seg->mute ? AP_SIG_BUSY : ~0ULL;

	kernel_mask(t, AP_SIG_SETMASK, &all, NULL);
}

static s64 kernel_action(u32 sig, const struct ap_sigaction *set, struct ap_sigaction *old)
{
	return ap_rawsys(AP_NR_rt_sigaction, sig, (u64)set, (u64)old, 8, 0, 0);
}

/* Of our own accord.  Where a filter does not let us the kernel keeps what it has. */
static bool may_tell_kernel(void)
{
	return ap_filter_allows_nr(AP_NR_rt_sigaction);
}

bool ap_sig_dumps_core(u32 sig)
{
	const u64 core = AP_SIG_SYNC | AP_SIG_BIT(3) | AP_SIG_BIT(AP_SIGABRT) | AP_SIG_BIT(24) |
			 AP_SIG_BIT(25) | AP_SIG_BIT(AP_SIGSYS);

	return core & AP_SIG_BIT(sig);
}

struct ap_sigaction *ap_sig_table(struct ap_thread *t)
{
	return t->actions ? t->actions : ap_proc.sigactions;
}

void ap_sig_lookup(struct ap_thread *t, u32 sig, struct ap_sigaction *out)
{
	const struct ap_sigaction *a = &ap_sig_table(t)[sig];
	u32 seq;

	do {
		while ((seq = __atomic_load_n(&table_seq, __ATOMIC_ACQUIRE)) & 1)
			ap_sys0(AP_NR_sched_yield);
		*out = *a;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (seq != __atomic_load_n(&table_seq, __ATOMIC_RELAXED));
}

/* Lock held. */
static void table_write(struct ap_thread *t, u32 sig, const struct ap_sigaction *a)
{
	__atomic_store_n(&table_seq, table_seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	ap_sig_table(t)[sig] = *a;
	__atomic_store_n(&table_seq, table_seq + 1, __ATOMIC_RELEASE);
}

/* Who was killed while writing leaves readers waiting. */
void ap_signal_mend(void)
{
	__atomic_store_n(&table_seq, (table_seq + 1) & ~1U, __ATOMIC_RELEASE);
}

static bool wants_master(const struct ap_thread *t, u32 sig, u64 handler)
{
	if (AP_SIG_UNBLOCKABLE & AP_SIG_BIT(sig))
		return false;
	if (handler != AP_SIG_DFL && handler != AP_SIG_IGN)
		return true;
	if ((AP_SIG_SYNC | AP_SIG_BIT(AP_SIGSYS)) & AP_SIG_BIT(sig))
		return true;
	/* the kernel spares an init process, but not from what is sent again */
	return handler == AP_SIG_DFL && ap_sig_dumps_core(sig) && t->pid != 1;
}

/* Tells the kernel what follows from the program's disposition a. */
static s64 install(struct ap_thread *t, u32 sig, const struct ap_sigaction *a)
{
	struct ap_sigaction k = *a;

	if (!ap_sig_are_given_back(t) && wants_master(t, sig, a->handler)) {
		k.handler = (u64)ap_sig_master;
		k.flags = AP_SA_SIGINFO | AP_SA_ONSTACK | AP_SA_RESTORER |
			  (a->flags & (AP_SA_RESTART | AP_SA_NOCLDSTOP | AP_SA_NOCLDWAIT));
		if (a->handler == AP_SIG_IGN)
			k.flags |= AP_SA_RESTART;
		k.restorer = (u64)ap_sig_restorer;
		/* not AP_SIG_BUSY: the handler touches nothing that faults, and one that is sent comes later */
		k.mask = ~0ULL;
	}
	return kernel_action(sig, &k, NULL);
}

/* Both sides, in the order that never leaves a signal with the handler half known.  Lock held. */
static s64 change(struct ap_thread *t, u32 sig, const struct ap_sigaction *a)
{
	const struct ap_sigaction was = ap_sig_table(t)[sig];
	s64 r;

	if (a->handler > AP_SIG_IGN)
		table_write(t, sig, a);
	r = install(t, sig, a);
	table_write(t, sig, r < 0 ? &was : a);
	return r;
}

void ap_sig_reset(struct ap_thread *t, u32 sig, const struct ap_sigaction *was)
{
	struct ap_sigaction a;

	ap_lock_take(&ap_proc.lock);
	a = ap_sig_table(t)[sig];
	if (a.handler == was->handler && (a.flags & AP_SA_RESETHAND)) {
		a.handler = AP_SIG_DFL;
		if (may_tell_kernel())
			change(t, sig, &a);
		else
			table_write(t, sig, &a);
	}
	ap_lock_drop(&ap_proc.lock);
}

s64 ap_sig_action(struct ap_thread *t, const u64 args[6])
{
	struct ap_sigaction set, old;
	u32 sig = (u32)args[0];
	s64 r = 0;
	u64 mask;

	if (args[3] != 8)
		return -AP_EINVAL;
	if (args[1] && ap_safe_copy(&set, (const void *)args[1], sizeof(set)))
		return -AP_EFAULT;
	if (sig < 1 || sig >= AP_NSIG || (args[1] && (AP_SIG_UNBLOCKABLE & AP_SIG_BIT(sig))))
		return -AP_EINVAL;
	if (args[1]) {
		set.flags &= KNOWN_FLAGS;
		set.mask &= ~AP_SIG_UNBLOCKABLE;
		mask = ap_sig_block_all();
		ap_lock_take(&ap_proc.lock);
		old = ap_sig_table(t)[sig];
		r = change(t, sig, &set);
		ap_lock_drop(&ap_proc.lock);
		ap_sig_set_mask(mask);
	} else {
		ap_sig_lookup(t, sig, &old);
	}
	if (r == 0 && args[2] && ap_safe_copy((void *)args[2], &old, sizeof(old)))
		return -AP_EFAULT;
	return r;
}

u64 ap_sig_block_all(void)
{
	struct ap_thread *t = ap_self();
	u64 all = AP_SIG_BUSY, old;

	t->sig_depth++;
	kernel_mask(t, AP_SIG_SETMASK, &all, &old);
	if (t->sig_depth == 1)
		t->sig_outer = old;
	return old;
}

/*
 * A synchronous signal that was sent while the section lasted was put back and blocked, since its
 * frame would have shown the section's mask.  It may come now.
 */
void ap_sig_set_mask(u64 mask)
{
	struct ap_thread *t = ap_self();
	const u64 sync = AP_SIG_SYNC;

	mask &= ~AP_SIG_SYNC;
	kernel_mask(t, AP_SIG_SETMASK, &mask, NULL);
	if (t->sig_depth == 0 || __atomic_sub_fetch(&t->sig_depth, 1, __ATOMIC_SEQ_CST) > 0)
		return;
	if (__atomic_exchange_n(&t->sig_dirty, 0, __ATOMIC_SEQ_CST))
		kernel_mask(t, AP_SIG_UNBLOCK, &sync, NULL);
}

/* Does one that was put back still wait, or has the program taken it by sigwaitinfo and the like? */
void ap_sig_look_for_segv(struct ap_thread *t)
{
	const u64 bit = AP_SIG_BIT(AP_SIGSEGV);
	u64 waiting = bit;

	if (!ap_proc.seg->mute)
		ap_sys2(AP_NR_rt_sigpending, (u64)&waiting, 8);
	if (waiting & bit)
		return;
	t->resent &= ~bit;
	kernel_mask(t, AP_SIG_UNBLOCK, &bit, NULL);
}

u64 ap_sig_program_mask(struct ap_thread *t)
{
	u64 mask;

	if (t->pending)
		mask = t->pend_mask;
	else if (t->sig_depth)
		mask = t->sig_outer;
	else
		kernel_mask(t, AP_SIG_BLOCK, NULL, &mask);
	return (mask & ~AP_SIG_SYNC) | t->virt_mask;
}

bool ap_sig_is_heard(struct ap_thread *t, u32 sig)
{
	/* by default nothing happens: SIGCHLD, SIGCONT, SIGURG, SIGWINCH */
	const u64 quiet = AP_SIG_BIT(AP_SIGCHLD) | AP_SIG_BIT(18) | AP_SIG_BIT(23) | AP_SIG_BIT(28);
	struct ap_sigaction a;

	ap_sig_lookup(t, sig, &a);
	if (a.handler == AP_SIG_IGN || (a.handler == AP_SIG_DFL && quiet & AP_SIG_BIT(sig)))
		return false;
	return !(ap_sig_program_mask(t) & AP_SIG_BIT(sig));
}

s64 ap_sig_procmask(struct ap_thread *t, const u64 args[6])
{
	u64 set = 0, old = 0, was = t->virt_mask;
	u32 how = (u32)args[0];
	u64 kargs[6] = { how, args[1] ? (u64)&set : 0, (u64)&old, 8 };
	s64 r;

	if (args[3] != 8)
		return -AP_EINVAL;
	if (args[1]) {
		if (ap_safe_copy(&set, (const void *)args[1], sizeof(set)))
			return -AP_EFAULT;
		if (how == AP_SIG_BLOCK)
			t->virt_mask |= set & AP_SIG_SYNC;
		else if (how == AP_SIG_UNBLOCK)
			t->virt_mask &= ~set;
		else if (how == AP_SIG_SETMASK)
			t->virt_mask = set & AP_SIG_SYNC;
		if (how != AP_SIG_UNBLOCK)
			set &= ~AP_SIG_SYNC;
	}
	r = ap_still_call(t, AP_NR_rt_sigprocmask, kargs);
	if (r != 0) {
		t->virt_mask = was;
		return r;
	}
	old = (old & ~AP_SIG_SYNC) | was;
	if (args[2] && ap_safe_copy((void *)args[2], &old, sizeof(old)))
		return -AP_EFAULT;
	return 0;
}

/* What the program ignores although the kernel has the master handler. */
static bool ignored_behind_master(struct ap_thread *t, u32 sig)
{
	return ap_sig_table(t)[sig].handler == AP_SIG_IGN && wants_master(t, sig, AP_SIG_IGN);
}

void ap_signal_init(struct ap_thread *t)
{
	t->altstack.flags = AP_SS_DISABLE;
	t->virt_mask = ap_proc.boot->sigmask & AP_SIG_SYNC;
	for (u32 sig = 1; sig < AP_NSIG; sig++) {
		struct ap_sigaction *a = &ap_proc.sigactions[sig];

		if (kernel_action(sig, NULL, a) < 0)
			memset(a, 0, sizeof(*a));
		if (wants_master(t, sig, a->handler))
			install(t, sig, a);
	}
}

/* An image starts with all of them blocked: there is no fault to ask by, filter or not. */
void ap_signal_let_in(u64 mask)
{
	mask &= ~AP_SIG_SYNC;
	ap_sys4(AP_NR_rt_sigprocmask, AP_SIG_SETMASK, (u64)&mask, 0, 8);
}

void ap_signal_new_task(struct ap_thread *parent, struct ap_thread *child, u64 clone_flags)
{
	child->virt_mask = parent->virt_mask;
	child->fault_err = parent->fault_err;
	child->fault_trapno = parent->fault_trapno;
	child->fault_cr2 = parent->fault_cr2;
	if ((clone_flags & (CLONE_VM | CLONE_VFORK)) == CLONE_VM)
		child->altstack = (struct ap_altstack){ .flags = AP_SS_DISABLE };
	else
		child->altstack = parent->altstack;
	child->actions = parent->actions;
	if (clone_flags & CLONE_SIGHAND)
		return;
	child->actions = (struct ap_sigaction *)((char *)child + AP_T_ACTIONS_OFF);
	memcpy(child->actions, ap_sig_table(parent), TABLE_SIZE);
}

/* What was about to be delivered is the parent's; the child's mask is what it was before. */
void ap_signal_fork_child(struct ap_thread *t)
{
	t->held_trap = 0;
	t->resent = 0;
	if (!t->pending)
		return;
	t->pending = 0;
	ap_sig_set_mask(t->pend_mask);
}

void ap_signal_clear_handlers(struct ap_thread *t)
{
	u64 mask = ap_sig_block_all();

	ap_lock_take(&ap_proc.lock);
	for (u32 sig = 1; sig < AP_NSIG; sig++) {
		const u64 was = ap_sig_table(t)[sig].handler;
		const struct ap_sigaction a = { .handler = was == AP_SIG_IGN ? was : AP_SIG_DFL };

		table_write(t, sig, &a);
		if (may_tell_kernel() && (was > AP_SIG_IGN || wants_master(t, sig, a.handler)))
			install(t, sig, &a);
	}
	ap_lock_drop(&ap_proc.lock);
	ap_sig_set_mask(mask);
}

void ap_signal_before_exec(struct ap_thread *t)
{
	const struct ap_sigaction ignore = { .handler = AP_SIG_IGN };

	for (u32 sig = 1; sig < AP_NSIG; sig++)
		if (ignored_behind_master(t, sig) && may_tell_kernel())
			kernel_action(sig, &ignore, NULL);
}

void ap_signal_exec_failed(struct ap_thread *t)
{
	for (u32 sig = 1; sig < AP_NSIG; sig++)
		if (ignored_behind_master(t, sig) && may_tell_kernel())
			install(t, sig, &ap_sig_table(t)[sig]);
}

/*
 * There is no signal 0: its entry says that the kernel has the program's own dispositions.  Once, because
 * a thread that is native already may have changed them.
 */
bool ap_sig_are_given_back(struct ap_thread *t)
{
	return ap_sig_table(t)[0].handler;
}

void ap_sig_give_back(struct ap_thread *t)
{
	struct ap_sigaction *table = ap_sig_table(t);

	if (table[0].handler)
		return;
	for (u32 sig = 1; sig < AP_NSIG; sig++)
		if (wants_master(t, sig, table[sig].handler) && may_tell_kernel())
			kernel_action(sig, &table[sig], NULL);
	table[0].handler = 1;
}
