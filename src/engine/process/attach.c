/* SPDX-License-Identifier: MIT */
/*
 * A process that ran before the engine came to it: its threads, each of which was stopped by a
 * tracer at any place, become threads of the engine.  docs/design/injection.md, "A running process".
 *
 * The first one makes the structures of all while the others are still stopped, so nothing here
 * races with the program.  No rt_sigreturn before a thread has resumed its system call: it would
 * make the kernel forget what restart_syscall has to do.
 */
#include "base/mem.h"
#include "engine/cache/region.h"
#include "engine/signal/signal.h"
#include "engine/task/task.h"

static struct ap_altstack first_altstack;

static struct ap_boot_thread *records(void)
{
	return (struct ap_boot_thread *)ap_proc.boot->threads;
}

/* The flag for being on it is not ours to keep: it follows from rsp. */
static void read_altstack(struct ap_altstack *ss)
{
	memset(ss, 0, sizeof(*ss));
	ap_sys2(AP_NR_sigaltstack, 0, (u64)ss);
	ss->flags &= AP_SS_DISABLE | AP_SS_AUTODISARM;
}

void ap_attach_before(void)
{
	read_altstack(&first_altstack);
}

static void fill(struct ap_thread *t, struct ap_boot_thread *rec)
{
	t->regs = rec->regs;
	t->app_gs_base = rec->gs_base;
	t->virt_mask = rec->sigmask & AP_SIG_SYNC;
	t->rseq = rec->rseq;
	t->rseq_size = rec->rseq_size;
	t->rseq_sig = rec->rseq_sig;
	rec->thread = (u64)t;
}

/* Lock held. */
static int make_threads(const struct ap_thread *first)
{
	struct ap_boot_thread *recs = records();
	struct ap_thread *t;
	int ret;

	for (u32 i = 1; i < ap_proc.boot->nthreads; i++) {
		ret = ap_thread_new(&t);
		if (ret)
			return ret;
		fill(t, &recs[i]);
		t->sig_depth = 1; /* until it has its mask */
		t->sig_outer = recs[i].sigmask;
		t->process = first->process;
		t->lock_id = ap_lock_name(t->serial);
		t->altstack.flags = AP_SS_DISABLE;
		ap_thread_link(t);
	}
	return 0;
}

int ap_attach_threads(struct ap_thread *first)
{
	int ret;

	fill(first, &records()[0]);
	first->altstack = first_altstack;
	ap_lock_take(&ap_proc.lock);
	ap_region_attach();
	ret = make_threads(first);
	ap_lock_drop(&ap_proc.lock);
	return ret;
}

static void adopt(struct ap_thread *t)
{
	struct ap_slot *slot = ap_thread_slot(t);

	ap_thread_set_gs(t);
	read_altstack(&t->altstack);
	ap_thread_init_kernel(t);
	t->pid = (u32)ap_sys0(AP_NR_getpid);
	t->tid = (u32)ap_sys0(AP_NR_gettid);
	t->lock_id = t->tid;
	slot->pid = t->pid;
	__atomic_store_n(&slot->tid, t->tid, __ATOMIC_RELEASE);
}

void ap_attach_thread(struct ap_boot_thread *rec)
{
	struct ap_thread *t = (struct ap_thread *)rec->thread;

	if (rec != records())
		adopt(t);
	ap_sig_set_mask(rec->sigmask);
	if (rec->restart)
		ap_syscall_resume(t, rec->restart);
	ap_redispatch(t);
}
