/* SPDX-License-Identifier: MIT */
/*
 * The session's own prctl, by which an anyperf inside meets the session around it: it reads that, and has us write
 * on the board what it wants.  So no descriptor by which memory of the session could be written is given away.
 */
#include "base/str.h"
#include "engine/task/task.h"

/* The party's file once more, for reading alone. */
static s64 open_party(const struct ap_thread *t)
{
	char path[48];
	struct ap_str s;

	ap_str_init(&s, path, sizeof(path));
	ap_str_add(&s, "/proc/thread-self/fd/");
	ap_str_u64(&s, (u64)ap_fd(t));
	return ap_sys3(AP_NR_open, (u64)path, AP_O_CLOEXEC, 0);
}

/* The first one's options hold. */
static s64 serve(u32 word, u32 rate)
{
	u32 none = 0;

	ap_proc.board->serve_rate = rate;
	__atomic_compare_exchange_n(&ap_proc.board->serve, &none, word, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	ap_supervisor_wake();
	return 0;
}

s64 ap_call_around(struct ap_thread *t, const struct ap_call *c)
{
	u32 ret;

	switch (c->a[1]) {
	case AP_PRCTL_SESSION_FD:
		return open_party(t);
	case AP_PRCTL_HEAD_FD:
		return ap_sys3(AP_NR_fcntl, (u64)ap_head_fd(t), AP_F_DUPFD_CLOEXEC, 0);
	case AP_PRCTL_SET_ROOT:
		if (c->a[2] >= AP_ROOT_MAX)
			return -AP_EINVAL;
		t->next_root = (u32)c->a[2] + 1;
		return 0;
	case AP_PRCTL_ROOT_NEW:
		ret = ap_root_new(ap_proc.board, (u32)c->a[2]);
		return ret ? (s64)ret : -AP_ENOSPC;
	case AP_PRCTL_ROOT_RELEASE:
		ap_root_release(ap_proc.board, (u32)c->a[2]);
		ap_supervisor_wake();
		return 0;
	case AP_PRCTL_KINDS:
		__atomic_fetch_or(&ap_proc.board->kinds, c->a[2], __ATOMIC_SEQ_CST);
		ap_supervisor_wake();
		return 0;
	case AP_PRCTL_SERVE:
		return serve((u32)c->a[2], (u32)c->a[3]);
	default:
		return -AP_EINVAL;
	}
}
