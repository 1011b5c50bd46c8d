/* SPDX-License-Identifier: MIT */
/*
 * Going native: one thread meets what the engine cannot do, and gives up for all of the process.
 *
 * It is an ordered hand-over, because what the engine keeps from the program, the write protection
 * of code and the dispositions of signals, others may need at this moment: a thread may stand between
 * its store to a protected page and the handler that explains it.  So
 *   1. nothing is translated or protected any more (ap_proc.native), and nothing is linked;
 *   2. pages are given back;
 *   3. every thread that comes to the dispatcher parks here, until all have come;
 *   4. whoever sees that gives the dispositions back, once;
 *   5. each goes its way; last the one that goes to install a filter for all.
 * A thread in a system call of the program has no fault coming and may stay there for ever: nobody
 * waits for it, and it goes when it returns.
 */
#include "engine/cache/smc.h"
#include "engine/client.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/filter.h"
#include "engine/signal/signal.h"
#include "engine/task/party.h"
#include "service/service.h"
#include "sys/nr.h"

#define SLICE_NS 2000000
#define SLICES	 1000 /* two seconds: one may be stopped, or its memory may not come */

static u32 bell; /* rung when dispositions were given back */

/* Does o still need what t is about to give back? Lock held. */
static bool is_busy(struct ap_thread *o, struct ap_thread *t)
{
	if (o == t ||
	    ap_sig_table(o) != ap_sig_table(t)) /* another process in this address space */
		return false;
	return !__atomic_load_n(&o->parked, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&o->in_call, __ATOMIC_ACQUIRE);
}

static bool any_busy(struct ap_thread *t)
{
	for (struct ap_thread *o = ap_proc.threads; o; o = o->next)
		if (is_busy(o, t))
			return true;
	return false;
}

static bool any_leaving(const struct ap_thread *t)
{
	for (const struct ap_thread *o = ap_proc.threads; o; o = o->next)
		if (o != t && o->process == t->process &&
		    __atomic_load_n(&o->parked, __ATOMIC_ACQUIRE) == 1)
			return true;
	return false;
}

/* t is about to have the kernel filter what all threads do: what is on its way out may need more than that allows. */
static void see_off(struct ap_thread *t)
{
	ap_lock_take(&ap_proc.lock);
	for (u32 n = 0; n < SLICES && any_leaving(t); n++) {
		ap_lock_drop(&ap_proc.lock);
		ap_own_wait(&bell, __atomic_load_n(&bell, __ATOMIC_ACQUIRE), SLICE_NS);
		ap_lock_take(&ap_proc.lock);
	}
	ap_filter_leave(t);
	ap_lock_drop(&ap_proc.lock);
}

void ap_native_park(struct ap_thread *t)
{
	(void)ap_sig_block_all();
	__atomic_store_n(&t->parked, 1, __ATOMIC_RELEASE);
	for (u32 n = 0;; n++) {
		u32 rung = __atomic_load_n(&bell, __ATOMIC_ACQUIRE);

		ap_lock_take(&ap_proc.lock);
		if (t->in_handler_depth < 2)
			ap_clients_read_last(t);
		ap_clients_end_tasks();
		if (n == SLICES || ap_sig_are_given_back(t) || !any_busy(t))
			break;
		ap_lock_drop(&ap_proc.lock);
		ap_own_wait(&bell, rung, SLICE_NS);
	}
	ap_smc_give_back_all();
	/* what a vfork child gives up is its parent's */
	if (t->in_handler_depth < 2 && !t->is_vfork_child)
		ap_party_forsake(t);
	ap_sig_give_back(t);
	ap_lock_drop(&ap_proc.lock);
	__atomic_fetch_add(&bell, 1, __ATOMIC_RELEASE);
	ap_sys3(AP_NR_futex, (u64)&bell, AP_FUTEX_WAKE, 0x7fffffff);
	if (ap_filter_is_left(t))
		see_off(t);
	ap_sig_go_native(t);
}

/*
 * Who has set limits of perf's in the session, and is root, would go on with the machine's, and set those: back to what was
 * the session's, as a rule.  No program did that natively, and its end does less harm.
 */
static bool must_end(void)
{
	return __atomic_load_n(&ap_proc.session->limits_set, __ATOMIC_ACQUIRE) &&
	       !ap_sys0(AP_NR_geteuid);
}

/*
 * A fault of the engine's own may have come with the lock held and a table half written.  The
 * cache is left so that it can be retired then (mend.c); should that fault too, it is left alone.
 */
void ap_go_native(struct ap_thread *t, const char *why)
{
	bool first;

	(void)ap_sig_block_all();
	/* nobody will take a prompt to himself when the dispositions are the program's */
	if (t->in_handler_depth < 2)
		ap_service_quiet();
	first = !__atomic_exchange_n(&ap_proc.native, true, __ATOMIC_ACQ_REL);
	if (must_end()) {
		if (first)
			ap_note2(AP_NOTE_ENGINE,
				 "ended, as it might set the machine's limits: ", why, "");
		ap_sys2(AP_NR_kill, (u64)ap_sys0(AP_NR_getpid), AP_SIGKILL);
	}
	if (first)
		ap_note2(AP_NOTE_ENGINE, "not counted from here on: ", why, "");
	__atomic_store_n(&ap_proc.seg->state, AP_SEG_NATIVE, __ATOMIC_RELEASE);
	if (!ap_lock_is_own(&ap_proc.lock))
		ap_lock_take(&ap_proc.lock);
	if (t->in_handler_depth < 2)
		ap_cache_retire();
	ap_smc_give_back_all();
	ap_lock_drop(&ap_proc.lock);
	ap_native_park(t);
}
