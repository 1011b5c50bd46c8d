/* SPDX-License-Identifier: MIT */
/*
 * Execution breakpoints.  No block goes over a watched instruction: one that begins there only leads
 * here, where the thread counts and then executes it alone.  A code breakpoint fires before its
 * instruction: one that a signal came before is counted when it is reached again.
 *
 * The session's list may change at any time; whose blocks are older has them flushed when it enters
 * the cache, the asking thread first of all.  What the list does not name any more is not counted,
 * wherever its blocks are.
 */
#include "abi/perf.h"
#include "engine/data.h"
#include "engine/engine.h"
#include "engine/task.h"

static s32 index_of(u64 pc)
{
	const struct ap_session *s = ap_proc.session;
	u32 used = __atomic_load_n(&s->watch_used, __ATOMIC_ACQUIRE);

	for (u32 k = 0; k < AP_WATCH_MAX; k++)
		if (used & (1U << k) && s->watch[k] == pc &&
		    AP_WATCH_TYPE(s->watch_how[k]) == AP_HW_BREAKPOINT_X)
			return (s32)k;
	return -1;
}

bool ap_watch_is_at(u64 pc)
{
	return ap_unlikely(ap_proc.session->watch_used) && index_of(pc) >= 0;
}

/* Not under a filter of system calls: new code takes memory. */
void ap_watch_switch(void)
{
	u32 gen = __atomic_load_n(&ap_proc.session->watch_gen, __ATOMIC_ACQUIRE);

	if (ap_proc.seg->mute)
		return;
	if (gen != ap_proc.watch_gen) {
		ap_proc.watch_gen = gen;
		ap_proc.watch_epoch = ap_proc.epoch + 1;
		ap_data_forget();
		ap_cache_flush();
	}
	if (ap_proc.session->data_gen != ap_proc.data_gen || !ap_proc.data)
		ap_data_switch();
	if (!ap_cache_has_older(ap_proc.watch_epoch))
		ap_slot_acknowledge_watches(ap_proc.watch_gen, ap_proc.data_gen);
}

void ap_watch_add(struct ap_thread *t, s32 k, s64 n)
{
	u64 *count = &ap_thread_slot(t)->watch[k];

	__atomic_store_n(count, *count + (u64)n, __ATOMIC_RELAXED);
	if (ap_unlikely(t->sources & 1U << AP_SAMPLE_WATCH) && n > 0)
		t->watched |= 1U << k; /* the registers may not be complete yet */
}

void ap_watch_hit(struct ap_thread *t, u64 pc)
{
	s32 k = index_of(pc);

	t->watch_hit = k < 0 ? 0 : (u32)k + 1;
	t->watch_pc = pc;
	if (k < 0)
		return;
	ap_watch_add(t, k, 1);
	t->watched &= ~(1U << k); /* the caller's, at once */
}

void ap_watch_undo(struct ap_thread *t)
{
	if (t->watch_hit && t->regs.rip == t->watch_pc && !t->pend_sync)
		ap_watch_add(t, (s32)t->watch_hit - 1, -1);
	t->watch_hit = 0;
}
