/* SPDX-License-Identifier: MIT */
/*
 * Which kinds this process' code counts.  The session may want more at any time (ap_session.kinds,
 * written by the supervisor); code that was translated before does not count them, so all of it is
 * flushed.  Whoever enters the cache next does that, which is the very task that asked where it has
 * opened an event.  The answer, ap_seg.kinds_ack, stands when no thread is in old code any more: from
 * there on the counts are exact.
 *
 * Kinds are never given up again: others may count them, and a session that wants them once will
 * likely want them again.
 */
#include "engine/engine.h"
#include "engine/task.h"

/* Some thread is in code from before the switch. */
static bool is_in_old_code(void)
{
	for (struct ap_thread *t = ap_proc.threads; t; t = t->next)
		if ((s32)(t->epoch - ap_proc.kinds_epoch) < 0 &&
		    __atomic_load_n(&ap_thread_slot(t)->in_code, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

void ap_kinds_init(void)
{
	ap_proc.kinds = ap_kinds_with(ap_proc.session->kinds);
	ap_proc.seg->kinds_ack = ap_proc.kinds;
}

void ap_kinds_switch(void)
{
	u64 all = ap_proc.kinds | ap_kinds_with(ap_proc.session->kinds);

	if (all != ap_proc.kinds) {
		ap_proc.kinds = all;
		ap_proc.kinds_epoch = ap_proc.epoch + 1;
		ap_cache_flush();
	}
	if (!is_in_old_code())
		ap_slot_acknowledge(all);
}
