/* SPDX-License-Identifier: MIT */
/*
 * Which descriptors are the session's: the head's, and the party's file.
 *
 * A child that shares memory but not descriptors keeps numbers of its own in its thread.  One that shares descriptors but not
 * memory can put another file under the party's number, and change its credentials: none of the two keeps the party then.
 */
#include "engine/runtime/session_fd.h"

#include "engine/runtime/engine.h"
#include "engine/runtime/filter.h"
#include "sys/nr.h"

#define F_GETFL 3
#define O_RDWR	2
/* fdguard.c puts none higher */
#define FD_CEILING 4096

s32 ap_fd(const struct ap_thread *t)
{
	return t->own_fd ? (s32)t->own_fd - 1 : ap_proc.session_fd;
}

s32 ap_head_fd(const struct ap_thread *t)
{
	return t->own_head ? (s32)t->own_head - 1 : ap_proc.head_fd;
}

bool ap_fd_is_ours(const struct ap_thread *t, u64 fd)
{
	return (s32)fd == ap_fd(t) || (s32)fd == ap_head_fd(t);
}

void ap_fd_set_number(struct ap_thread *t, s32 old, s32 fd)
{
	bool is_head = old == ap_head_fd(t);

	if (t->own_fd)
		*(is_head ? &t->own_head : &t->own_fd) = (u32)fd + 1;
	else
		*(is_head ? &ap_proc.head_fd : &ap_proc.session_fd) = fd;
}

/* Under its number, if that can be: at the top of the range. */
void ap_fd_replace(struct ap_thread *t, s32 fd)
{
	s32 old = ap_fd(t);

	if (ap_is_err(ap_sys3(AP_NR_dup3, (u64)fd, (u64)old, AP_O_CLOEXEC))) {
		ap_fd_set_number(t, old, fd);
		ap_sys1(AP_NR_close, (u64)old);
	} else {
		ap_sys1(AP_NR_close, (u64)fd);
	}
}

/* The table is another process' as well, which may put something else where the party's file is. */
static struct {
	u64 dev, ino; /* of the party's file */
	bool is;
} shared;

static bool is_partys(u64 fd)
{
	struct ap_kstat st;

	return !ap_sys2(AP_NR_fstat, fd, (u64)&st) && st.dev == shared.dev && st.ino == shared.ino;
}

void ap_fd_share(const struct ap_thread *t)
{
	struct ap_kstat st = { 0 };

	if (shared.is)
		return;
	if (ap_filter_allows_nr(AP_NR_fstat))
		(void)!ap_sys2(AP_NR_fstat, (u64)ap_fd(t), (u64)&st);
	shared.dev = st.dev;
	shared.ino = st.ino;
	shared.is = true;
}

void ap_fd_unshare(void)
{
	shared.is = false;
}

bool ap_fd_is_shared(void)
{
	return shared.is;
}

bool ap_fd_is_lost(const struct ap_thread *t)
{
	if (ap_likely(!shared.is))
		return false;
	return __atomic_load_n(&ap_proc.board->files_left, __ATOMIC_SEQ_CST) ||
	       (ap_filter_allows_nr(AP_NR_fstat) && !is_partys((u64)ap_fd(t)));
}

/* By whatever number: those of the table may each have moved it. */
static void close_shared(void)
{
	if (!ap_filter_allows_nr(AP_NR_fstat) || !ap_filter_allows_nr(AP_NR_fcntl))
		return;
	for (u64 fd = 3; fd <= FD_CEILING + 2; fd++)
		if (is_partys(fd) && (ap_sys2(AP_NR_fcntl, fd, F_GETFL) & 3) == O_RDWR)
			ap_sys1(AP_NR_close, fd);
}

/* The party's is closed, and is nobody's from now on.  Those that share it have been told (ap_board.files_left). */
void ap_fd_forget(struct ap_thread *t)
{
	if (shared.is)
		close_shared();
	else if (ap_fd(t) >= 0)
		ap_sys1(AP_NR_close, (u64)ap_fd(t));
	if (t->own_fd)
		t->own_fd = UINT32_MAX;
	else
		ap_proc.session_fd = -1;
}

void ap_fd_set_cloexec(const struct ap_thread *t, bool on)
{
	ap_sys3(AP_NR_fcntl, (u64)ap_fd(t), AP_F_SETFD, on ? AP_FD_CLOEXEC : 0);
	ap_sys3(AP_NR_fcntl, (u64)ap_head_fd(t), AP_F_SETFD, on ? AP_FD_CLOEXEC : 0);
}

/*
 * This task's descriptors are its own from now on.  Those of the same memory keep the old table, and
 * with it ap_proc.session_fd.
 */
void ap_fd_unshare_table(struct ap_thread *t)
{
	if (!t->is_vfork_child && ap_proc.nthreads == 1)
		ap_fd_unshare();
	if (t->own_fd || (!t->is_vfork_child && ap_proc.nthreads == 1))
		return;
	t->own_fd = (u32)ap_fd(t) + 1;
	t->own_head = (u32)ap_head_fd(t) + 1;
}
