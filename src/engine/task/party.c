/* SPDX-License-Identifier: MIT */
/*
 * A process whose credentials change (docs/design/trust.md) is of another party, and goes there before the call takes effect,
 * while the supervisor may still look at it.  Where it cannot be told a change is taken for one: a party too many costs
 * little.  All of its threads go with the first that changes its own.  One that cannot go is not counted any more.
 *
 * A party is the memory's.  A vfork child is in its parent's until it has its next image, which leaves: a task that may write the
 * child's memory has the parent's in his hands, with all that the parent may do.
 */
#include "engine/task/party.h"

#include "base/mem.h"
#include "base/str.h"
#include "engine/cache/store.h"
#include "engine/client.h"
#include "engine/count/profile.h"
#include "engine/runtime/filter.h"
#include "engine/task/task.h"
#include "engine/thread/still.h"
#include "engine/translate/heir.h"
#include "service/service.h"

#define AP_NR_getgroups 115
#define AP_NR_getresuid 118
#define AP_NR_getresgid 120
#define AP_NR_capget	125

#define MFD_CLOEXEC	  1
#define MFD_ALLOW_SEALING 2
#define PR_CAPBSET_DROP	  24
#define PR_SET_SECUREBITS 28

#define GROUPS_MAX 64 /* more are taken for others */
#define CAPS_V1	   0x19980330

#define STEP_NS 300000
#define STEPS	10000 /* three seconds */

static bool is_left;
static bool
	is_alone; /* no other process has been in its party, so it stays there when its credentials change again */

/* Lock held. */
static bool is_any_changing(void)
{
	const struct ap_thread *o = ap_proc.threads;

	while (o && !__atomic_load_n(&o->changes, __ATOMIC_SEQ_CST))
		o = o->next;
	return o;
}

bool ap_party_join(struct ap_thread *t)
{
	const u32 never = 0;

	for (u32 n = 0; !ap_proc.forsaken; n++) {
		__atomic_store_n(&is_alone, false, __ATOMIC_SEQ_CST);
		if (!is_any_changing())
			return true;
		if (n == STEPS)
			return false;
		ap_lock_drop(&ap_proc.lock);
		if (ap_still_is_wanted(t))
			ap_still_wait(t);
		else
			ap_own_wait(&never, 0, STEP_NS);
		ap_lock_take(&ap_proc.lock);
	}
	return false;
}

/* Of a vfork child's process: whichever of its threads it was. */
static bool has_left(const struct ap_thread *t)
{
	bool yes = false;

	ap_lock_take(&ap_proc.lock);
	for (const struct ap_thread *o = ap_proc.threads; o; o = o->next)
		yes |= o->process == t->process && o->has_left;
	ap_lock_drop(&ap_proc.lock);
	return yes;
}

bool ap_party_is_left(const struct ap_thread *t)
{
	return __atomic_load_n(&is_left, __ATOMIC_RELAXED) || (t->is_vfork_child && has_left(t));
}

void ap_party_leave(struct ap_thread *t)
{
	if (t->is_vfork_child)
		t->has_left = true;
	else if (!__atomic_load_n(&is_alone, __ATOMIC_SEQ_CST))
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

static bool changes_groups(const struct ap_call *c)
{
	u32 has[GROUPS_MAX], wants[GROUPS_MAX];
	const u64 n = (u32)c->a[0];

	return n > GROUPS_MAX || !ap_filter_allows_nr(AP_NR_getgroups) ||
	       ap_sys2(AP_NR_getgroups, GROUPS_MAX, (u64)has) != (s64)n ||
	       ap_safe_copy(wants, (const void *)c->a[1], n * sizeof(u32)) ||
	       memcmp(has, wants, n * sizeof(u32));
}

/* In their first form it says nothing of those from 32 on, which are dropped. */
static bool changes_caps(const struct ap_call *c)
{
	struct {
		u32 version, pid;
	} head;
	u32 has[2][3], wants[2][3];

	if (ap_safe_copy(&head, (const void *)c->a[0], sizeof(head)) || head.version == CAPS_V1)
		return true;
	head.pid = 0; /* nobody else's can be set */
	return !ap_filter_allows_nr(AP_NR_capget) || ap_sys2(AP_NR_capget, (u64)&head, (u64)has) ||
	       ap_safe_copy(wants, (const void *)c->a[1], sizeof(wants)) ||
	       memcmp(has, wants, sizeof(has));
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
	case AP_NR_setgroups:
		return changes_groups(c);
	case AP_NR_capset:
		return changes_caps(c);
	default:
		return true;
	}
}

/* What it has to do itself. */
static bool may_call(void)
{
	return !ap_filter_any ||
	       (ap_filter_allows_nr(AP_NR_munmap) && ap_filter_allows_nr(AP_NR_close) &&
		ap_filter_allows_share() && ap_filter_allows_map(false));
}

bool ap_party_would_stay(const struct ap_filter *f)
{
	static const u16 calls[] = { AP_NR_setuid,    AP_NR_setgid,    AP_NR_setreuid,
				     AP_NR_setregid,  AP_NR_setresuid, AP_NR_setresgid,
				     AP_NR_setgroups, AP_NR_setfsuid,  AP_NR_setfsgid,
				     AP_NR_capset,    AP_NR_unshare,   AP_NR_setns };
	u32 i = 0;

	if (may_call() && ap_filter_allows_nr(AP_NR_memfd_create))
		return false;
	while (i < AP_ARRAY_SIZE(calls) && !ap_filter_may_pass(f, calls[i]))
		i++;
	return i < AP_ARRAY_SIZE(calls);
}

/* All others are still.  Why it cannot go; NULL: nothing is in the way. */
static const char *obstacle(void)
{
	if (!may_call())
		return "its seccomp filter lets it map nothing";
	if (!ap_service_may_move())
		return "it has mapped perf events";
	if (ap_slot_has_more())
		return "it has too many threads";
	if (ap_profile_is_on())
		return "its profile cannot go on in other memory";
	/* a process that has the table has what is in it, and may put something else there */
	if (ap_fd_is_shared())
		return "it shares its descriptors with another process";
	return NULL;
}

static void be_alone(void)
{
	__atomic_store_n(&is_left, false, __ATOMIC_RELAXED);
	__atomic_store_n(&is_alone, true, __ATOMIC_SEQ_CST);
}

/* All others are still.  Why it has not gone, or not wholly; NULL: it has. */
static const char *go(struct ap_thread *t)
{
	struct ap_slot *slot = ap_thread_slot(t);
	const char *why = obstacle();
	s64 file;
	u32 seg;

	if (why)
		return why;
	file = ap_party_file(t);
	if (file < 0)
		return "it can make no memory of its own";
	ap_clients_end_tasks();
	slot->exec_fd = (s32)file;
	slot->exec_head = ap_head_fd(t);
	seg = ap_supervisor_moves(slot);
	if (seg == UINT32_MAX) {
		ap_sys1(AP_NR_close, (u64)file);
		return "the supervisor gives it no memory of its own";
	}
	ap_party_note_file();
	if (ap_task_move(t, (s32)file, seg))
		return "there is no memory for it alone";
	/* what is on no list of ours */
	if (!ap_party_drop_file())
		return "it cannot give up what it had";
	be_alone();
	return NULL;
}

/* Said in the memory that it is about to lose. */
static void give_up(struct ap_thread *t, const char *how, const char *why)
{
	char text[256];
	struct ap_str s;

	ap_str_init(&s, text, sizeof(text));
	ap_str_add(&s, ap_proc.seg->comm);
	ap_str_add(&s, how);
	ap_note2(AP_NOTE_NOT_COUNTED, "not counted from here on: ", text, why);
	ap_slot_set_state(AP_SEG_NATIVE);
	ap_supervisor_wake();
	__atomic_store_n(&ap_proc.native, true, __ATOMIC_RELEASE);
	ap_party_forsake(t);
}

const char *ap_party_move(struct ap_thread *t)
{
	const char *why = "its threads do not come to rest, or do not share descriptors";
	enum ap_still is;

	do {
		if (ap_likely(!ap_party_is_left(t)) || t->is_vfork_child || ap_proc.forsaken)
			return NULL;
		ap_clients_settle_last(t);
		is = ap_still_begin(t);
	} while (is == AP_STILL_OTHER);
	if (is != AP_STILL_OURS)
		ap_lock_take(&ap_proc.lock);
	ap_heir_part();
	ap_store_part();
	if (is == AP_STILL_OURS)
		why = go(t);
	if (why)
		give_up(t, ": its credentials change, and ", why);
	if (is == AP_STILL_OURS)
		ap_still_end();
	else
		ap_lock_drop(&ap_proc.lock);
	return why;
}

void ap_party_look(struct ap_thread *t)
{
	static const char why[] = "it shares its descriptors with one that is of no party any more";

	if (ap_likely(!ap_fd_is_lost(t)) || t->is_vfork_child || ap_proc.forsaken)
		return;
	(void)ap_sig_block_all();
	ap_lock_take(&ap_proc.lock);
	give_up(t, ": ", why);
	ap_lock_drop(&ap_proc.lock);
	ap_go_native(t, why); /* which makes the call */
}

static void leave_before(struct ap_thread *t)
{
	const char *why;
	u64 mask;

	ap_party_leave(t);
	if (!ap_party_is_left(t))
		return;
	mask = ap_sig_block_all();
	why = ap_party_move(t);
	if (why) /* which makes the call */
		ap_go_native(t, why);
	ap_sig_set_mask(mask);
}

/*
 * Whether it leaves is decided before the call.  Were a process made in between it would be of the old credentials, and share
 * its party with the new ones.  So a thread that makes one says so first and looks then, and here it is the other way round.
 */
s64 ap_party_call(struct ap_thread *t, struct ap_call *c)
{
	s64 ret;

	if (!changes(c))
		return ap_call_pass(t, c);
	/* a task that may write a vfork child's memory has all that its parent makes */
	__atomic_store_n(&t->changes, !t->is_vfork_child, __ATOMIC_SEQ_CST);
	leave_before(t);
	ret = ap_call_pass(t, c);
	__atomic_store_n(&t->changes, false, __ATOMIC_SEQ_CST);
	return ret;
}

s64 ap_call_unshare(struct ap_thread *t, struct ap_call *c)
{
	s64 ret = ap_party_call(t, c);

	if (!ret && c->a[0] & AP_CLONE_FILES)
		ap_fd_unshare_table(t);
	return ret;
}

s64 ap_call_identity(struct ap_thread *t, struct ap_call *c)
{
	/* helpers would keep the old credentials, and could not be ended with others */
	if (!t->is_vfork_child) {
		ap_lock_take(&ap_proc.lock);
		ap_clients_end_tasks();
		ap_lock_drop(&ap_proc.lock);
	}
	return ap_party_call(t, c);
}

s64 ap_party_file(const struct ap_thread *t)
{
	s64 fd = ap_filter_allows_nr(AP_NR_memfd_create)
			 ? ap_sys2(AP_NR_memfd_create, (u64) "anyperf",
				   MFD_CLOEXEC | MFD_ALLOW_SEALING)
			 : -AP_EPERM;

	return fd < 0 ? fd : ap_fd_beside(t, (s32)fd);
}
