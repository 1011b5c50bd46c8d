/* SPDX-License-Identifier: MIT */
/*
 * Which kinds this process' code counts, and which lanes it takes down.  The session may want more at any time (ap_session.kinds,
 * written by the supervisor); code that was translated before does not count them, so all of it is
 * flushed.  Whoever enters the cache next does that, which is the very task that asked where it has
 * opened an event.  The answer, ap_seg.kinds_ack, stands when no thread is in old code any more: from
 * there on the counts are exact.
 *
 * Exact kinds are never given up again: others may count them, and a session that wants them once will
 * likely want them again.  Models are, because they cost much: what they have counted stays, and so do
 * their caches, as if the thread had slept.
 */
#include "abi/slot_sum.h"
#include "base/mem.h"
#include "engine/client.h"
#include "engine/count/lane.h"
#include "engine/count/slot.h"
#include "engine/runtime/engine.h"

/* Before the kinds are looked at: those of lanes come first. */
static u32 lanes_wanted(void)
{
	u32 n = __atomic_load_n(&ap_proc.session->nlanes, __ATOMIC_ACQUIRE);

	return ap_proc.flags & AP_F_COUNT ? (n < AP_LANE_MAX ? n : AP_LANE_MAX) : 0;
}

/*
 * Where a lane carries the instructions nothing is left of the base group if nobody wants branches, and
 * code has no add for it.  This and models are the only cases in which code counts less than it did.
 */
static u64 kinds_wanted(void)
{
	u64 kinds = __atomic_load_n(&ap_proc.session->kinds, __ATOMIC_RELAXED);
	u64 had = ap_proc.kinds & ~AP_KINDS_MODEL;

	if (!ap_proc.carry || kinds & AP_KINDS_TRANSFERS)
		return had | ap_kinds_with(kinds);
	return (had & ~AP_KINDS_TRANSFERS) | ap_kinds_least(kinds);
}

static u32 lane_gen(void)
{
	return __atomic_load_n(&ap_proc.session->lane_gen, __ATOMIC_ACQUIRE);
}

void ap_kinds_init(void)
{
	u32 gen = lane_gen(), nlanes = lanes_wanted();

	ap_lanes_take_over(nlanes, gen);
	ap_proc.kinds = kinds_wanted();
	ap_proc.seg->kinds_ack = ap_proc.kinds;
	ap_proc.seg->lanes_ack = nlanes;
	ap_proc.seg->lane_gen_ack = gen;
}

/* Not under a filter of system calls: new code takes memory. */
void ap_kinds_switch(void)
{
	u32 gen = lane_gen(), nlanes = lanes_wanted();
	bool more_lanes = nlanes > ap_proc.nlanes || gen != ap_proc.lane_gen;
	u64 all;

	if (ap_proc.seg->mute)
		return;
	ap_lanes_take_over(nlanes, gen);
	all = kinds_wanted();
	if (all != ap_proc.kinds || more_lanes) {
		ap_proc.kinds = all;
		ap_clients_kinds_changed();
		ap_proc.kinds_epoch = ap_proc.epoch + 1;
		ap_cache_flush();
	}
	if (!ap_cache_has_older(ap_proc.kinds_epoch))
		ap_slot_acknowledge(all, ap_proc.nlanes);
}

/* --- kinds that are read often */

/* In the words of a lane, likewise without shapes. */
static u64 carried(void)
{
	return __atomic_load_n(&ap_proc.carry, __ATOMIC_ACQUIRE) ? AP_KIND_BIT(AP_KIND_INSTR) : 0;
}

/* Not under a filter either. */
void ap_direct_want(u64 kinds)
{
	if (ap_proc.seg->mute)
		return;
	ap_lock_take(&ap_proc.lock);
	/* what elements' operations come of leaves the shapes all at once, or they would be counted there still */
	if (kinds & AP_KINDS_OF_FLOPS)
		kinds |= AP_KINDS_OF_FLOPS;
	kinds &= ~carried();
	if (kinds & ~ap_proc.direct) {
		__atomic_fetch_or(&ap_proc.direct, kinds, __ATOMIC_RELEASE);
		ap_cache_flush();
	}
	ap_lock_drop(&ap_proc.lock);
}

/* The thread may be between the look at an entry's counter and what else is there, which stays. */
static void forget(struct ap_thread *t)
{
	for (u32 i = 0; i < AP_PMCS; i++)
		__atomic_store_n(&t->pmc[i].counter, ap_pmc_elsewhere(i), __ATOMIC_RELAXED);
}

void ap_direct_reset(struct ap_thread *t)
{
	t->direct_known = 0;
	memset(t->direct_sums, 0, sizeof(t->direct_sums));
	forget(t);
}

void ap_pmc_forget(void)
{
	ap_lock_take(&ap_proc.lock);
	for (struct ap_thread *t = ap_proc.threads; t; t = t->next)
		forget(t);
	ap_lock_drop(&ap_proc.lock);
}

/*
 * The thread is not in code, and what it enters next is newer than ap_proc.direct: so its shapes grow
 * in these fields no more.
 */
u64 ap_direct_kinds(struct ap_thread *t)
{
	u64 direct = __atomic_load_n(&ap_proc.direct, __ATOMIC_ACQUIRE) | carried();
	u64 fresh = direct & ~t->direct_known, sums[AP_RAW_N] = { 0 };
	struct ap_slot_view view;

	if (ap_likely(!fresh))
		return direct;
	view = ap_thread_view(t);
	ap_slot_add_shapes(&view, sums);
	for (u32 k = 0; k < AP_ARRAY_SIZE(t->direct_sums); k++)
		if (fresh & AP_KIND_BIT(k))
			t->direct_sums[k] = sums[k];
	t->direct_known = direct;
	return direct;
}
