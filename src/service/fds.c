/* SPDX-License-Identifier: MIT */
/*
 * The table of descriptor numbers.  An entry is learned by one fstat and forgotten by a call that
 * closes the number, in any thread.  There is no lock: a read costs one load.
 *
 * An entry's low two bits say what it is.  UNKNOWN has a version above them, new each time, so that
 * a thread that looked before a close cannot store what it saw after it.  BUSY stands from before a close until
 * after it: whoever meets it looks and does not store.  Between two closes of one number at the
 * same time, which no correct program has, an entry may be wrong.
 *
 * A task that has descriptors of its own in a shared address space (a vfork child) does not use the
 * table, and nobody does once numbers can change unseen.
 *
 * That nothing is open at a number is not kept: it ends without a close.
 */
#include "service/fds.h"
#include "abi/service.h"
#include "service/request.h"
#include "service/sys.h"
#include "service/tree.h"
#include "sys/nr.h"

#define ENTRIES	 65536U /* higher numbers are looked at each time */
#define S_IFMT	 0170000U
#define S_IFFIFO 0010000U

enum fd_kind { UNKNOWN, BUSY, OTHER, OURS };

/* Of ours: the inode of a pipe, or with this bit what the generated tree knows of it. */
#define TREE	(1ULL << 61)
#define NOTHING (1ULL << 60) /* is open at the number */
_Static_assert(AP_FDS_PERFCTR < NOTHING, "bits above an inode's");

static u64 *table; /* made when it is first wanted */
static u64 versions;
static u32 top; /* numbers below it may have been looked at */
static bool off;

/* A program with a filter may have got the descriptor from a former image, or by a message. */
static u64 look(s32 fd, bool may_ask)
{
	struct ap_kstat st;
	u64 tree;
	s64 ret;

	if (ap_svc_is_mute()) {
		ret = ap_request_what(fd);
		return ret < 0 ? NOTHING : (u64)ret;
	}
	if (ap_svc_sys(AP_NR_fstat, (u64)fd, (u64)&st, 0, 0))
		return NOTHING;
	if ((st.mode & (S_IFMT | AP_SVC_PIPE_MARK)) == (S_IFFIFO | AP_SVC_PIPE_MARK))
		return st.ino;
	tree = ap_tree_look(fd, &st, may_ask);
	return tree ? TREE | tree : 0;
}

/* Before the look: a thread that closes the number after the look finds top raised. */
static void raise_top(u32 n)
{
	u32 was = __atomic_load_n(&top, __ATOMIC_SEQ_CST);

	while (was < n && !__atomic_compare_exchange_n(&top, &was, n, false, __ATOMIC_SEQ_CST,
						       __ATOMIC_SEQ_CST))
		;
}

/* The entry, NULL where there is none to use. */
static u64 *entry_of(u32 fd)
{
	u64 *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE), *mine;

	if (fd >= ENTRIES || __atomic_load_n(&off, __ATOMIC_RELAXED) || !ap_hook_shares_files())
		return NULL;
	if (t)
		return t + fd;
	mine = ap_hook_map(ENTRIES * sizeof(*mine));
	/* Of two that come first the other's memory stays unused. */
	if (mine && __atomic_compare_exchange_n(&table, &t, mine, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
		t = mine;
	return t ? t + fd : NULL;
}

static u64 what_is(s32 fd, bool may_ask)
{
	u64 *e, was, what;

	if (fd < 0)
		return 0;
	e = entry_of((u32)fd);
	if (!e) {
		what = look(fd, may_ask);
		return what == NOTHING ? 0 : what;
	}
	was = __atomic_load_n(e, __ATOMIC_ACQUIRE);
	if ((was & 3) == OURS)
		return was >> 2;
	if ((was & 3) == OTHER)
		return 0;
	raise_top((u32)fd + 1);
	what = look(fd, may_ask);
	if (what == NOTHING)
		return 0;
	if ((was & 3) == UNKNOWN && what != (TREE | AP_TREE_LATER))
		__atomic_compare_exchange_n(e, &was, what << 2 | (what ? OURS : OTHER), false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return what;
}

u64 ap_fds_event(s32 fd)
{
	u64 what = what_is(fd, false); /* in the middle of a request, maybe */

	return what & TREE ? 0 : what & ~AP_FDS_PERFCTR;
}

void ap_fds_mark_perfctr(s32 fd, u64 inode)
{
	u64 *e = entry_of((u32)fd), was = inode << 2 | OURS;

	/* another entry: somebody has closed the number meanwhile */
	if (e)
		__atomic_compare_exchange_n(e, &was, (inode | AP_FDS_PERFCTR) << 2 | OURS, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

bool ap_fds_is_perfctr(s32 fd)
{
	const u64 *e = fd < 0 ? NULL : entry_of((u32)fd);
	u64 was = e ? __atomic_load_n(e, __ATOMIC_ACQUIRE) : 0;

	return (was & 3) == OURS && !(was >> 2 & TREE) && was >> 2 & AP_FDS_PERFCTR;
}

u64 ap_fds_tree(s32 fd)
{
	u64 what = what_is(fd, true);

	return what & TREE ? what & ~TREE : 0;
}

static u64 set(u32 first, u32 last, enum fd_kind kind)
{
	u64 *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	u64 inode = 0, was;
	u32 end;

	if (!t || !ap_hook_shares_files())
		return 0;
	end = __atomic_load_n(&top, __ATOMIC_SEQ_CST);
	for (u64 fd = first; fd <= last && fd < end; fd++) {
		was = __atomic_exchange_n(
			t + fd, __atomic_add_fetch(&versions, 1, __ATOMIC_RELAXED) << 2 | kind,
			__ATOMIC_ACQ_REL);
		if ((was & 3) == OURS && !(was >> 2 & TREE))
			inode = was >> 2;
	}
	return inode;
}

u64 ap_fds_change(u32 first, u32 last)
{
	return set(first, last, BUSY);
}

void ap_fds_changed(u32 first, u32 last)
{
	set(first, last, UNKNOWN);
}

void ap_fds_forget(void)
{
	__atomic_store_n(&off, true, __ATOMIC_RELEASE);
}
