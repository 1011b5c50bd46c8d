/* SPDX-License-Identifier: MIT */
/*
 * The limits of perf events in /proc/sys/kernel, which may be written: reads and writes of their descriptors.  A value is
 * what it is at the time of the read; a process that has the file open sees what others write.  What is written the supervisor
 * judges, and does.
 *
 * As the kernel has it for all numbers there: behind the first position there is nothing to read, and what is written
 * there is ignored (kernel.sysctl_writes_strict).
 */
#include "abi/errno.h"
#include "abi/service.h"
#include "base/mem.h"
#include "service/request.h"
#include "service/sys.h"
#include "service/tree.h"
#include "sys/sys.h"

#define O_WRONLY 1
#define SEEK_CUR 1
#define IOV_MAX	 1024
#define ROOT	 0

bool ap_tree_is_limit(const struct ap_tree_node *n)
{
	return n->fs == AP_TREE_PROC && (n->mode & AP_TREE_FMT) == AP_TREE_FILE && n->mode & 0200;
}

/* As the files of /proc/sys: their owner's, whatever capabilities there are. */
s64 ap_tree_may_write(const struct ap_tree_node *n)
{
	if (!ap_tree_is_limit(n))
		return ap_tree_refuses_writing();
	return ap_svc_sys(AP_NR_geteuid, 0, 0, 0, 0) == ROOT ? 0 : -AP_EACCES;
}

/* Both words change together. */
u32 ap_tree_text_of(const struct ap_tree_node *n, const char **text)
{
	u64 v = __atomic_load_n((const u64 *)(const void *)&n->text, __ATOMIC_ACQUIRE);

	*text = ap_tree_text(ap_tree_get(), (u32)v);
	return (u32)(v >> 32);
}

/* The n-th part of the caller's memory. */
static bool part(const struct ap_service_call *c, u64 n, struct ap_iovec *v)
{
	if (c->nr == AP_NR_read || c->nr == AP_NR_write || c->nr == AP_NR_pread64 ||
	    c->nr == AP_NR_pwrite64) {
		*v = (struct ap_iovec){ c->a[1], c->a[2] };
		return true;
	}
	return !ap_hook_get(v, c->a[1] + n * sizeof(*v), sizeof(*v));
}

static u64 parts(const struct ap_service_call *c)
{
	bool is_one = c->nr == AP_NR_read || c->nr == AP_NR_write || c->nr == AP_NR_pread64 ||
		      c->nr == AP_NR_pwrite64;

	return is_one ? 1 : c->a[2];
}

static bool is_at(const struct ap_service_call *c)
{
	switch (c->nr) {
	case AP_NR_pread64:
	case AP_NR_pwrite64:
	case AP_NR_preadv:
	case AP_NR_pwritev:
		return true;
	default:
		return (c->nr == AP_NR_preadv2 || c->nr == AP_NR_pwritev2) && c->a[3] != ~0ULL;
	}
}

static s64 position(const struct ap_service_call *c)
{
	if (is_at(c))
		return (s64)c->a[3] < 0 ? -AP_EINVAL : (s64)c->a[3];
	return ap_svc_sys(AP_NR_lseek, c->a[0], 0, SEEK_CUR, 0);
}

static s64 moved(const struct ap_service_call *c, s64 n)
{
	if (!is_at(c))
		ap_svc_sys(AP_NR_lseek, c->a[0], (u64)n, SEEK_CUR, 0);
	return n;
}

s64 ap_tree_limit_read(struct ap_service_call *c, const struct ap_tree_node *n, u32 access)
{
	const char *text;
	u64 size = ap_tree_text_of(n, &text), done = 0;
	s64 at = position(c);
	struct ap_iovec v;

	if (access == O_WRONLY)
		return -AP_EBADF;
	if (parts(c) > IOV_MAX)
		return -AP_EINVAL;
	if (at)
		return at < 0 ? at : 0;
	for (u64 i = 0; i < parts(c) && done < size; i++) {
		if (!part(c, i, &v))
			return -AP_EFAULT;
		if ((s64)v.len < 0)
			return -AP_EINVAL;
		if (v.len > size - done)
			v.len = size - done;
		if (ap_hook_put(v.base, text + done, v.len))
			return -AP_EFAULT;
		done += v.len;
	}
	return moved(c, (s64)done);
}

/* What the call writes, as far as a request can carry it; *total: all of it. */
static s64 gather(const struct ap_service_call *c, u8 *to, u32 *size, u64 *total)
{
	struct ap_iovec v;

	*size = 0;
	*total = 0;
	for (u64 i = 0; i < parts(c); i++) {
		u64 n;

		if (!part(c, i, &v))
			return -AP_EFAULT;
		if ((s64)v.len < 0)
			return -AP_EINVAL;
		n = v.len < AP_SVC_DATA_MAX - *size ? v.len : AP_SVC_DATA_MAX - *size;
		if (ap_hook_get(to + *size, v.base, n))
			return -AP_EFAULT;
		*size += (u32)n;
		*total += v.len;
	}
	return 0;
}

s64 ap_tree_limit_write(struct ap_service_call *c, u32 node, u32 access)
{
	struct ap_request r;
	s64 ret, at;
	u64 total;

	if (!access)
		return -AP_EBADF;
	at = position(c);
	if (at < 0 || parts(c) > IOV_MAX)
		return at < 0 ? at : -AP_EINVAL;
	ret = ap_request_begin(&r, AP_SVC_LIMIT);
	if (ret)
		return ret;
	ret = gather(c, r.svc->data, &r.svc->in_size, &total);
	r.svc->arg[0] = node;
	if (!ret)
		ret = at ? (s64)total : total ? ap_request_ask(&r) : 0;
	ap_request_end(&r);
	return ret > 0 ? moved(c, ret) : ret;
}
