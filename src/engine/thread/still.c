/* SPDX-License-Identifier: MIT */
/*
 * Stillness.  What all threads of this memory count in can be exchanged where none of them uses its slot: each waits in the
 * dispatcher, or the kernel has it in a call of the program's, and it waits as soon as it comes out.  Who holds the process lock
 * over a call does not, nor one that forks without it: it is in the way until the call is over.
 *
 * A thread says that it is in a call by a plain store, and looks whether it is wanted by a plain load.  So the one that wants
 * it has the kernel put a barrier between the two, in all threads at once, before it believes what it sees.
 */
#include "engine/thread/still.h"

#include "base/mem.h"
#include "engine/signal/signal.h"
#include "engine/thread/area.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define STEP_NS	 300000
#define STEPS	 10000 /* three seconds */
#define SLICE_NS 20000000

#define BARRIER_GLOBAL		   1
#define BARRIER_PRIVATE_EXPEDITED  8
#define BARRIER_REGISTER_EXPEDITED 16

static bool is_barred(void)
{
	return !ap_sys3(AP_NR_membarrier, BARRIER_GLOBAL, 0, 0) ||
	       (!ap_sys3(AP_NR_membarrier, BARRIER_REGISTER_EXPEDITED, 0, 0) &&
		!ap_sys3(AP_NR_membarrier, BARRIER_PRIVATE_EXPEDITED, 0, 0));
}

void ap_still_wait(struct ap_thread *t)
{
	u64 mask = ap_sig_block_all();

	do {
		__atomic_store_n(&t->is_still, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&ap_proc.still, __ATOMIC_SEQ_CST))
			ap_own_wait(&ap_proc.still, 1, SLICE_NS);
		__atomic_store_n(&t->is_still, 0, __ATOMIC_SEQ_CST);
		/* the next one may have seen it still */
	} while (__atomic_load_n(&ap_proc.still, __ATOMIC_SEQ_CST));
	ap_sig_set_mask(mask);
}

s64 ap_still_call(struct ap_thread *t, u64 nr, const u64 args[6])
{
	s64 ret = ap_syscall_do(t, nr, args);

	if (ap_still_is_wanted(t) && !ap_lock_is_own(&ap_proc.lock))
		ap_still_wait(t);
	return ret;
}

/* In the middle of an exec it is in no call that it comes out of as it went in. */
static bool is_still(struct ap_thread *o)
{
	if (__atomic_load_n(&o->is_still, __ATOMIC_SEQ_CST))
		return true;
	return !o->own_fd && !__atomic_load_n(&o->forks_unlocked, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&o->in_call, __ATOMIC_SEQ_CST) &&
	       __atomic_load_n(&ap_thread_slot(o)->req, __ATOMIC_RELAXED) == AP_REQ_NONE;
}

static void nudge(struct ap_thread *o)
{
	const u64 magic = AP_SESSION_MAGIC;
	struct ap_siginfo info = { .signo = AP_SIGTRAP, .code = AP_NUDGE_CODE };

	memcpy(info.rest, &magic, sizeof(magic));
	if (__atomic_load_n(&ap_thread_slot(o)->in_code, __ATOMIC_SEQ_CST))
		ap_sys4(AP_NR_rt_tgsigqueueinfo, o->pid, o->tid, AP_SIGTRAP, (u64)&info);
}

/* Lock held. */
static bool are_still(struct ap_thread *t, bool nudges)
{
	bool all = true;

	for (struct ap_thread *o = ap_proc.threads; o; o = o->next) {
		if (o == t || is_still(o))
			continue;
		all = false;
		if (nudges && o->tid)
			nudge(o);
	}
	return all;
}

enum ap_still ap_still_begin(struct ap_thread *t)
{
	u32 none = 0, never = 0;

	if (t->own_fd && ap_proc.nthreads > 1)
		return AP_STILL_NOT;
	if (!__atomic_compare_exchange_n(&ap_proc.still, &none, 1, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST)) {
		ap_still_wait(t);
		return AP_STILL_OTHER;
	}
	ap_lock_take(&ap_proc.lock);
	ap_thread_bury_dead();
	if (ap_proc.nthreads == 1)
		return AP_STILL_OURS;
	ap_lock_drop(&ap_proc.lock);
	for (u32 n = is_barred() ? 0 : STEPS; n < STEPS; n++) {
		ap_lock_take(&ap_proc.lock);
		if (are_still(t, n % 16 == 0))
			return AP_STILL_OURS;
		ap_lock_drop(&ap_proc.lock);
		ap_own_wait(&never, 0, STEP_NS);
	}
	ap_lock_take(&ap_proc.lock);
	ap_still_end();
	return AP_STILL_NOT;
}

void ap_still_end(void)
{
	ap_lock_drop(&ap_proc.lock);
	__atomic_store_n(&ap_proc.still, 0, __ATOMIC_SEQ_CST);
	ap_sys3(AP_NR_futex, (u64)&ap_proc.still, AP_FUTEX_WAKE, INT32_MAX);
}
