/* SPDX-License-Identifier: MIT */
/*
 * Calls that wait with a signal mask of their own.  The kernel installs and removes it; the engine
 * notes it, because a handler that runs on the way out has to be entered with it.
 */
#include "engine/task/task.h"

#define ENTER_EXT_ARG (1u << 3) /* IORING_ENTER_EXT_ARG: the mask is in a struct */

/* Where the call finds its mask, 0 where it has none. */
static u64 mask_at(const struct ap_call *c)
{
	u64 pair[2];

	switch (c->nr) {
	case AP_NR_rt_sigsuspend:
		return c->a[0];
	case AP_NR_ppoll:
		return c->a[3];
	case AP_NR_epoll_pwait:
	case AP_NR_epoll_pwait2:
		return c->a[4];
	case AP_NR_io_uring_enter:
		return c->a[3] & ENTER_EXT_ARG ? 0 : c->a[4];
	case AP_NR_pselect6:
	case AP_NR_io_pgetevents:
		if (!c->a[5] || ap_safe_copy(pair, (const void *)c->a[5], sizeof(pair)))
			return 0;
		return pair[0];
	default:
		return 0;
	}
}

s64 ap_call_masked(struct ap_thread *t, struct ap_call *c)
{
	u64 at = mask_at(c), mask;
	s64 ret;

	if (at && !ap_safe_copy(&mask, (const void *)at, sizeof(mask))) {
		t->syscall_mask = mask;
		t->has_syscall_mask = 1;
	}
	ret = ap_call_pass(t, c);
	if (!t->pending)
		t->has_syscall_mask = 0;
	return ret;
}
