/* SPDX-License-Identifier: MIT */
/*
 * read(2) of perf descriptors.  What the thread cannot compute itself (own.c) the supervisor gives,
 * with ENOSPC judged by the size of the program's buffer; the service copies the bytes to where the
 * program wants them.
 */
#include "abi/service.h"
#include "service/calls.h"
#include "service/hooks.h"
#include "service/request.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define IOV_MAX 1024

/* The answer lies in the request; a long one comes in parts. */
static s64 copy_out(struct ap_request *r, u64 buf, u64 total)
{
	u64 done = 0;

	for (;;) {
		u64 n = r->svc->out_size;

		if (!n || n > AP_SVC_DATA_MAX || n > total - done)
			return -AP_ENODEV; /* the supervisor would not say that */
		if (ap_hook_put(buf + done, r->svc->data, n))
			return -AP_EFAULT;
		done += n;
		if (done == total)
			return (s64)total;
		r->svc->op = AP_SVC_READ_MORE;
		r->svc->arg[0] = done;
		if (ap_request_ask(r) < 0)
			return -AP_ENODEV;
	}
}

static s64 read_asking(u64 inode, u64 buf, u64 size)
{
	struct ap_request r;
	s64 ret = ap_request_begin(&r, AP_SVC_READ);

	if (ret)
		return ret;
	r.svc->arg[0] = inode;
	r.svc->arg[1] = size;
	ret = ap_request_ask(&r);
	if (ret > 0)
		ret = copy_out(&r, buf, (u64)ret);
	ap_request_end(&r);
	return ret;
}

s64 ap_svc_read(u64 inode, u64 buf, u64 size)
{
	u64 words[AP_SVC_OWN_MAX], n;

	if ((s64)size < 0)
		return -AP_EFAULT; /* no address space has room for that */
	n = ap_svc_own(inode, words) * sizeof(u64);
	if (!n)
		return read_asking(inode, buf, size);
	if (n > size)
		return -AP_ENOSPC;
	return ap_hook_put(buf, words, n) ? -AP_EFAULT : (s64)n;
}

/* The kernel reads once for each part, and each is the whole event. */
s64 ap_svc_readv(u64 inode, u64 iov, u64 n)
{
	struct ap_iovec v;
	s64 total = 0, ret;
	u64 sum = 0;

	if (n > IOV_MAX)
		return -AP_EINVAL;
	for (u64 i = 0; i < n; i++) {
		if (ap_hook_get(&v, iov + i * sizeof(v), sizeof(v)))
			return -AP_EFAULT;
		if ((s64)v.len < 0)
			return -AP_EINVAL;
		sum += v.len;
	}
	for (u64 i = 0; sum && i < n; i++) {
		if (ap_hook_get(&v, iov + i * sizeof(v), sizeof(v)))
			return -AP_EFAULT;
		ret = ap_svc_read(inode, v.base, v.len);
		if (ret < 0)
			return total ? total : ret;
		total += ret;
		if ((u64)ret != v.len)
			break;
	}
	return total;
}
