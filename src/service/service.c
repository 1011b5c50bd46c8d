/* SPDX-License-Identifier: MIT */
/*
 * Routing: which system calls concern perf descriptors, and which change what a descriptor number
 * means.  Everything else is the kernel's business, poll, dup, fork and passing of descriptors
 * included: the pipe beneath behaves there as a perf descriptor does.
 */
#include "service/service.h"
#include "abi/service.h"
#include "engine/nr.h"
#include "engine/sys.h"
#include "service/calls.h"
#include "service/fds.h"
#include "service/hooks.h"
#include "service/request.h"

#define PR_TASK_PERF_EVENTS_DISABLE 31
#define PR_TASK_PERF_EVENTS_ENABLE  32
#define CLOSE_RANGE_UNSHARE	    2
#define CLOSE_RANGE_CLOEXEC	    4

enum after { AFTER_NOTHING, AFTER_CLOSE, AFTER_CLOSE_RANGE };

static bool answer(struct ap_service_call *c, s64 ret)
{
	c->ret = ret;
	return true;
}

/* Calls on the event behind c->inode. */
static bool on_event(struct ap_service_call *c)
{
	switch (c->nr) {
	case AP_NR_read:
		return answer(c, ap_svc_read(c->inode, c->a[1], c->a[2]));
	case AP_NR_readv:
		return answer(c, ap_svc_readv(c->inode, c->a[1], c->a[2]));
	case AP_NR_preadv2:
		if (c->a[3] != ~0ULL)
			return false;
		if (c->a[5])
			return answer(c, -AP_EOPNOTSUPP);
		return answer(c, ap_svc_readv(c->inode, c->a[1], c->a[2]));
	case AP_NR_ioctl:
		return ap_svc_ioctl(c->inode, c->a[1], c->a[2], &c->ret);
	default:
		return false;
	}
}

/* The number fd is about to be closed. */
static bool closes(struct ap_service_call *c, s32 fd)
{
	if (fd < 0)
		return false;
	c->fd = fd;
	c->after = AFTER_CLOSE;
	c->inode = ap_fds_change((u32)fd, (u32)fd);
	return false;
}

static bool closes_range(struct ap_service_call *c)
{
	if (c->a[2] & CLOSE_RANGE_UNSHARE)
		ap_fds_forget();
	if (c->a[2] & CLOSE_RANGE_CLOEXEC || (u32)c->a[0] > (u32)c->a[1])
		return false;
	c->after = AFTER_CLOSE_RANGE;
	c->inode = ap_fds_change((u32)c->a[0], (u32)c->a[1]);
	return false;
}

/* A close that was the last one of an event is seen at once if we say so, else later.  0: of any. */
static void hint(u64 inode)
{
	struct ap_request r;

	if (ap_request_begin(&r, AP_SVC_CLOSE))
		return;
	r.svc->arg[0] = inode;
	ap_request_ask(&r);
	ap_request_end(&r);
}

bool ap_service_before(struct ap_service_call *c)
{
	c->after = AFTER_NOTHING;
	switch (c->nr) {
	case AP_SERVICE_NR_OPEN:
		return answer(c, ap_svc_open(c));
	case AP_NR_read:
	case AP_NR_readv:
	case AP_NR_preadv2:
	case AP_NR_ioctl:
		c->inode = ap_fds_event((s32)c->a[0]);
		return c->inode && on_event(c);
	case AP_NR_close:
		return closes(c, (s32)c->a[0]);
	case AP_NR_dup2:
	case AP_NR_dup3:
		return c->a[0] != c->a[1] && closes(c, (s32)c->a[1]);
	case AP_NR_close_range:
		return closes_range(c);
	case AP_NR_prctl:
		if (c->a[0] != PR_TASK_PERF_EVENTS_DISABLE && c->a[0] != PR_TASK_PERF_EVENTS_ENABLE)
			return false;
		return answer(c, ap_svc_prctl(c->a[0] == PR_TASK_PERF_EVENTS_ENABLE));
	case AP_NR_unshare:
		if (c->a[0] & AP_CLONE_FILES)
			ap_fds_forget();
		return false;
	default:
		return false;
	}
}

void ap_service_after(struct ap_service_call *c)
{
	switch (c->after) {
	case AFTER_CLOSE:
		ap_fds_changed((u32)c->fd, (u32)c->fd);
		if (c->inode)
			hint(c->inode);
		break;
	case AFTER_CLOSE_RANGE:
		ap_fds_changed((u32)c->a[0], (u32)c->a[1]);
		if (c->inode)
			hint(0);
		break;
	}
}

void ap_service_files_shared(void)
{
	ap_fds_forget();
}
