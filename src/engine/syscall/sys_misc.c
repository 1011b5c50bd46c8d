/* SPDX-License-Identifier: MIT */
/*
 * Small calls that the engine answers in part: the program's %gs base, which is virtual, the
 * session's own prctl, restartable sequences, and the robust
 * list, of which each task has one: a vfork child's is the engine's (lock.h) until the program wants
 * it.
 */
#include "engine/cache/store.h"
#include "engine/client.h"
#include "engine/runtime/engine.h"
#include "engine/signal/signal.h"
#include "engine/task/party.h"
#include "engine/task/task.h"

#define ARCH_SET_GS	  0x1001
#define ARCH_SET_FS	  0x1002
#define ARCH_GET_GS	  0x1004
#define ARCH_SET_CPUID	  0x1012
#define ARCH_SHSTK_ENABLE 0x5001
#define PR_SET_SECCOMP	  22

#define PR_SET_SYSCALL_USER_DISPATCH 59

#define RSEQ_UNREGISTER 1
#define RSEQ_SIZE_MIN	32

/* Code has CPUID executed where the program does, or by the engine. */
static void let_cpuid_fault(bool may)
{
	ap_lock_take(&ap_proc.lock);
	ap_proc.cpuid_faults = may;
	ap_cache_flush();
	ap_lock_drop(&ap_proc.lock);
}

/* May a thread be about to fault on it?  What the engine wants to know of the CPU it asks for the last time. */
static s64 forbid_cpuid(struct ap_thread *t, struct ap_call *c)
{
	bool did_fault = ap_proc.cpuid_faults;
	s64 ret;

	if (!did_fault) {
		ap_pmc_ask();
		ap_clients_ask_cpu();
		(void)ap_fp_has_xsave();
		let_cpuid_fault(true);
	}
	ret = ap_call_pass(t, c);
	if (ap_is_err(ret) && !did_fault) /* the CPU cannot */
		let_cpuid_fault(false);
	return ret;
}

s64 ap_call_arch_prctl(struct ap_thread *t, struct ap_call *c)
{
	s64 ret;

	switch (c->a[0]) {
	case ARCH_SET_GS:
		if (c->a[1] >= AP_TASK_SIZE)
			return -AP_EPERM;
		t->app_gs_base = c->a[1];
		return 0;
	case ARCH_GET_GS:
		return ap_safe_copy((void *)c->a[1], &t->app_gs_base, sizeof(t->app_gs_base));
	case ARCH_SET_FS:
		ret = ap_call_pass(t, c);
		if (!ret)
			ap_thread_note_fs(t);
		return ret;
	case ARCH_SET_CPUID:
		return c->a[1] ? ap_call_pass(t, c) : forbid_cpuid(t, c);
	case ARCH_SHSTK_ENABLE:
		/* Returns are jumps in translated code: a shadow stack would never match. */
		return -AP_EINVAL;
	default:
		return ap_call_pass(t, c);
	}
}

u32 *ap_ptracer(struct ap_thread *t)
{
	return t->is_vfork_child ? &t->ptracer : &ap_proc.ptracer;
}

/* Refused where that tracer is gone: then nobody's permission is left, as it should be. */
void ap_ptracer_restore(struct ap_thread *t)
{
	u64 tracer = (u64)(s64)(s32)*ap_ptracer(t); /* -1 is anybody */

	if (ap_sys2(AP_NR_prctl, AP_PR_SET_PTRACER, tracer))
		ap_sys2(AP_NR_prctl, AP_PR_SET_PTRACER, 0);
}

/* Landlock, and who cannot be traced by its own user any more: what they execute comes of nobody else. */
s64 ap_call_seclude(struct ap_thread *t, struct ap_call *c)
{
	ap_lock_take(&ap_proc.lock);
	ap_store_seclude();
	ap_lock_drop(&ap_proc.lock);
	return ap_call_pass(t, c);
}

s64 ap_call_prctl(struct ap_thread *t, struct ap_call *c)
{
	s64 ret;

	if ((u32)c->a[0] == PR_SET_SECCOMP)
		return ap_call_seccomp(t, c);
	if ((u32)c->a[0] == PR_SET_SYSCALL_USER_DISPATCH)
		return ap_call_user_dispatch(t, c);
	if ((u32)c->a[0] == AP_PR_SET_DUMPABLE && !c->a[1])
		return ap_call_seclude(t, c);
	if (c->a[0] != AP_PRCTL) {
		if ((u32)c->a[0] != AP_PR_SET_PTRACER)
			return ap_party_call(t, c);
		ret = ap_call_pass(t, c);
		if (!ret)
			*ap_ptracer(t) = (u32)c->a[1];
		return ret;
	}
	return ap_call_around(t, c);
}

s64 ap_call_robust(struct ap_thread *t, struct ap_call *c)
{
	const u64 none = 0, size = 24; /* struct robust_list_head */
	bool is_ours = t->is_vfork_child && t->lock_id == t->tid;
	s64 ret;

	if (!is_ours)
		return ap_call_pass(t, c);
	if (c->nr == AP_NR_set_robust_list) {
		ret = ap_call_pass(t, c);
		if (!ret)
			t->lock_id = ap_lock_name(t->serial);
		return ret;
	}
	if (c->a[0] && (u32)c->a[0] != t->tid)
		return ap_call_pass(t, c);
	if (ap_safe_copy((void *)c->a[2], &size, sizeof(size)) ||
	    ap_safe_copy((void *)c->a[1], &none, sizeof(none)))
		return -AP_EFAULT;
	return 0;
}

/*
 * A critical section could not be restarted from inside translated code.  A program that starts
 * under the engine is told that there is no such call; one that has it from before counts on it, and
 * a C library ends where it fails for a new thread: so it succeeds, and the area goes on saying that
 * no CPU is known, which its users must expect.
 */
s64 ap_call_rseq(struct ap_thread *t, struct ap_call *c)
{
	u64 area = c->a[0];
	u32 size = (u32)c->a[1], flags = (u32)c->a[2], sig = (u32)c->a[3];

	if (!ap_proc.boot->nthreads)
		return -AP_ENOSYS;
	if (flags & ~(u32)RSEQ_UNREGISTER)
		return -AP_EINVAL;
	if (t->rseq) {
		if (t->rseq != area || t->rseq_size != size)
			return -AP_EINVAL;
		if (t->rseq_sig != sig)
			return -AP_EPERM;
		if (!flags)
			return -AP_EBUSY;
		t->rseq = 0;
		return 0;
	}
	if (flags || size < RSEQ_SIZE_MIN || area & (RSEQ_SIZE_MIN - 1))
		return -AP_EINVAL;
	t->rseq = area;
	t->rseq_size = size;
	t->rseq_sig = sig;
	return 0;
}
