/* SPDX-License-Identifier: MIT */
/*
 * SET_OUTPUT between events of ours and the kernel's (docs/design/kernel-events.md).  Nobody but the kernel writes to its
 * rings.  So a software event of ours whose records are to go there, such as the `dummy` by which perf has side-band records,
 * becomes one of the kernel's: it is opened there, and takes the place of ours at its number.
 */
#include "abi/service.h"
#include "base/mem.h"
#include "service/calls.h"
#include "service/fds.h"
#include "service/hooks.h"
#include "service/request.h"
#include "service/sys.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define F_GETFD	   1
#define FD_CLOEXEC 1

/* What the supervisor says that it is. */
static s64 ask(u64 inode, struct ap_svc_rehome *what)
{
	struct ap_request r;
	s64 ret = ap_request_begin(&r, AP_SVC_IOCTL);

	if (ret)
		return ret;
	r.svc->arg[0] = inode;
	r.svc->arg[1] = AP_PERF_IOC_SET_OUTPUT;
	r.svc->arg[2] = AP_SVC_KERNELS;
	ret = ap_request_ask(&r);
	if (ret == AP_SVC_NATIVE && r.svc->out_size == sizeof(*what))
		memcpy(what, r.svc->data, sizeof(*what));
	else if (ret >= 0)
		ret = -AP_EINVAL;
	ap_request_end(&r);
	return ret;
}

static void tell_closed(u64 inode)
{
	struct ap_request r;

	if (ap_request_begin(&r, AP_SVC_CLOSE))
		return;
	r.svc->arg[0] = inode;
	ap_request_ask(&r);
	ap_request_end(&r);
}

s64 ap_svc_rehome(s32 fd, u64 inode, s32 output)
{
	struct ap_svc_rehome what;
	u64 a[5] = { 0, 0, 0, (u64)-1, AP_PERF_FLAG_FD_CLOEXEC };
	s64 ret = ask(inode, &what), now;
	u64 cloexec;

	if (ret < 0)
		return ret;
	a[1] = (u64)(s64)what.pid;
	a[2] = (u64)(s64)what.cpu;
	now = ap_svc_open_in_kernel(&what.attr, a);
	if (now < 0)
		return now;
	ret = ap_svc_sys(AP_NR_ioctl, (u64)now, AP_PERF_IOC_SET_OUTPUT, (u64)(s64)output, 0);
	cloexec = ap_svc_sys(AP_NR_fcntl, (u64)fd, F_GETFD, 0, 0) & FD_CLOEXEC ? AP_O_CLOEXEC : 0;
	if (!ret) {
		ap_fds_change((u32)fd, (u32)fd);
		ret = ap_svc_sys(AP_NR_dup3, (u64)now, (u64)fd, cloexec, 0);
		ap_fds_changed((u32)fd, (u32)fd);
		tell_closed(inode);
	}
	ap_svc_sys(AP_NR_close, (u64)now, 0, 0, 0);
	return ret < 0 ? ret : 0;
}
