/* SPDX-License-Identifier: MIT */
/*
 * A process whose credentials change (docs/design/trust.md) is of another party, and goes there before the call takes effect,
 * while the supervisor may still look at it.  Where it cannot be told a change is taken for one: a party too many costs
 * little.  A process that cannot go, as it has more threads, say, leaves its party with the next image.
 *
 * The flags are the memory's, as a party is: a vfork child that changes its own has its parent's next image leave as well.
 */
#include "engine/party.h"

#include "base/mem.h"
#include "engine/cradle.h"
#include "engine/feed.h"
#include "engine/feed_helper.h"
#include "engine/filter.h"
#include "engine/heir.h"
#include "engine/task.h"
#include "service/service.h"

#define AP_NR_getresuid 118
#define AP_NR_getresgid 120

#define MFD_CLOEXEC	  1
#define MFD_ALLOW_SEALING 2
#define PR_CAPBSET_DROP	  24
#define PR_SET_SECUREBITS 28

static bool is_left;
static bool
	is_alone; /* no other process has been in its party, so it stays there when its credentials change again */

void ap_party_joined(void)
{
	__atomic_store_n(&is_alone, false, __ATOMIC_RELAXED);
}

bool ap_party_is_left(void)
{
	return __atomic_load_n(&is_left, __ATOMIC_RELAXED);
}

void ap_party_leave(void)
{
	if (__atomic_load_n(&is_alone, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&is_left, true, __ATOMIC_RELAXED);
}

/* As set*id(2) take them: ~0 is to stay. */
static bool is_among(u32 id, const u32 *ids, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (ids[i] != id)
			return false;
	return true;
}

static bool stays(const struct ap_call *c, const u32 ids[3], u32 nargs)
{
	for (u32 i = 0; i < nargs; i++)
		if (((u32)c->a[i] != UINT32_MAX || nargs == 1) && !is_among((u32)c->a[i], ids, 3))
			return false;
	return true;
}

/* A program that has one identity may ask for that one, to be sure: nothing changes then. */
static bool changes_ids(const struct ap_call *c, u64 nr_get, u32 nargs)
{
	u32 ids[3];

	return !ap_filter_allows_nr(nr_get) ||
	       ap_sys3(nr_get, (u64)&ids[0], (u64)&ids[1], (u64)&ids[2]) || !stays(c, ids, nargs);
}

static bool changes(const struct ap_call *c)
{
	switch (c->nr) {
	case AP_NR_setuid:
	case AP_NR_setfsuid:
		return changes_ids(c, AP_NR_getresuid, 1);
	case AP_NR_setreuid:
		return changes_ids(c, AP_NR_getresuid, 2);
	case AP_NR_setresuid:
		return changes_ids(c, AP_NR_getresuid, 3);
	case AP_NR_setgid:
	case AP_NR_setfsgid:
		return changes_ids(c, AP_NR_getresgid, 1);
	case AP_NR_setregid:
		return changes_ids(c, AP_NR_getresgid, 2);
	case AP_NR_setresgid:
		return changes_ids(c, AP_NR_getresgid, 3);
	case AP_NR_unshare:
		return c->a[0] & AP_CLONE_NEWUSER;
	case AP_NR_setns:
		return !c->a[1] || c->a[1] & AP_CLONE_NEWUSER;
	case AP_NR_prctl:
		return (u32)c->a[0] == PR_CAPBSET_DROP || (u32)c->a[0] == PR_SET_SECUREBITS;
	default: /* setgroups, capset */
		return true;
	}
}

/* Others run in this memory, or it has what cannot be put elsewhere. */
static bool can_move(const struct ap_thread *t)
{
	return ap_proc.nthreads == 1 && !t->is_vfork_child && !t->own_fd && !ap_filter_any &&
	       !ap_cradle_any() && !ap_helpers_any && !t->traced.how && !t->traced.by_other &&
	       !ap_proc.native && ap_service_may_move();
}

static void be_alone(void)
{
	__atomic_store_n(&is_left, false, __ATOMIC_RELAXED);
	__atomic_store_n(&is_alone, true, __ATOMIC_RELAXED);
}

void ap_party_move(struct ap_thread *t)
{
	struct ap_slot *slot = ap_thread_slot(t);
	s64 file;
	u32 seg;

	if (ap_likely(!ap_party_is_left()))
		return;
	ap_feed_look_last(t);
	ap_lock_take(&ap_proc.lock);
	ap_heir_part();
	ap_thread_bury_dead();
	file = can_move(t) ? ap_party_file(t) : -AP_EPERM;
	if (file >= 0) {
		slot->exec_fd = (s32)file;
		slot->exec_head = ap_head_fd(t);
		seg = ap_supervisor_moves(slot);
		if (seg == UINT32_MAX)
			ap_sys1(AP_NR_close, (u64)file);
		else if (ap_task_move(t, (s32)file, seg))
			ap_go_native(t, "no memory for it alone, when its credentials changed");
		else
			be_alone();
	}
	ap_lock_drop(&ap_proc.lock);
}

void ap_party_before(struct ap_thread *t, const struct ap_call *c)
{
	u64 mask;

	if (!changes(c))
		return;
	ap_party_leave();
	if (!ap_party_is_left())
		return;
	mask = ap_sig_block_all();
	ap_party_move(t);
	ap_sig_set_mask(mask);
}

s64 ap_call_identity(struct ap_thread *t, struct ap_call *c)
{
	/* helpers would keep the old credentials, and could not be ended with others */
	if (!t->is_vfork_child) {
		ap_lock_take(&ap_proc.lock);
		ap_helpers_end();
		ap_lock_drop(&ap_proc.lock);
	}
	ap_party_before(t, c);
	return ap_call_pass(t, c);
}

s64 ap_party_file(const struct ap_thread *t)
{
	s64 fd = ap_filter_allows_nr(AP_NR_memfd_create)
			 ? ap_sys2(AP_NR_memfd_create, (u64) "anyperf",
				   MFD_CLOEXEC | MFD_ALLOW_SEALING)
			 : -AP_EPERM;

	return fd < 0 ? fd : ap_fd_beside(t, (s32)fd);
}
