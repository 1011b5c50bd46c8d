/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open: makes the descriptor and asks for the event.
 *
 * The descriptor is the read end of a pipe, whose write end is closed at once: nothing is ever
 * written by us, and poll says POLLHUP as it does of an event without a buffer.  Other threads can
 * see the second number for two system calls.  It must be a free one nevertheless: where only one
 * is left under the soft limit, the limit is two higher for that moment, if the hard one allows.
 */
#include "abi/attr.h"
#include "abi/service.h"
#include "base/mem.h"
#include "base/str.h"
#include "service/calls.h"
#include "service/fds.h"
#include "service/hooks.h"
#include "service/request.h"
#include "service/sys.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define NR_PIPE2 293

/* Whether what no attr has is seen before memory ends: the kernel looks at it first, word by word. */
static bool has_unknown(u64 from, u32 size)
{
	u64 word = 0;
	u32 n;

	for (n = sizeof(struct ap_perf_attr); !word && n + sizeof(word) <= size; n += sizeof(word))
		if (ap_hook_get(&word, from + n, sizeof(word)))
			return false;
	return word;
}

s64 ap_svc_attr(struct ap_perf_attr *attr, u64 from)
{
	u64 size_at = from + offsetof(struct ap_perf_attr, size);
	u8 bytes[AP_PERF_ATTR_SIZE_MAX];
	u32 field, size, back;
	s64 ret;

	if (ap_hook_get(&field, size_at, sizeof(field)))
		return -AP_EFAULT;
	size = field ? field : AP_PERF_ATTR_SIZE_VER0;
	if (size < AP_PERF_ATTR_SIZE_VER0 || size > AP_PERF_ATTR_SIZE_MAX)
		size = 0;
	if (!ap_hook_get(bytes, from, size)) {
		ret = ap_perf_attr_copy(bytes, field, size, attr, &back);
	} else {
		ret = has_unknown(from, size) ? -AP_E2BIG : -AP_EFAULT;
		back = sizeof(*attr);
	}
	if (ret == -AP_E2BIG && ap_hook_put(size_at, &back, sizeof(back)))
		return -AP_EFAULT;
	return ret;
}

/* With a limit two higher there is room for the number that is closed again at once. */
static s64 make_at_limit(s32 fd[2], u64 flags)
{
	u64 lim[2], more[2];
	s64 ret;

	if (ap_svc_sys(AP_NR_prlimit64, 0, AP_RLIMIT_NOFILE, 0, (u64)lim) || lim[0] >= lim[1])
		return -AP_EMFILE;
	more[0] = lim[1] - lim[0] < 2 ? lim[1] : lim[0] + 2;
	more[1] = lim[1];
	if (ap_svc_sys(AP_NR_prlimit64, 0, AP_RLIMIT_NOFILE, (u64)more, 0))
		return -AP_EMFILE;
	ret = ap_svc_sys(NR_PIPE2, (u64)fd, flags, 0, 0);
	ap_svc_sys(AP_NR_prlimit64, 0, AP_RLIMIT_NOFILE, (u64)lim, 0);
	if (!ret && (u64)fd[0] >= lim[0]) {
		ap_svc_sys(AP_NR_close, (u64)fd[0], 0, 0, 0);
		ap_svc_sys(AP_NR_close, (u64)fd[1], 0, 0, 0);
		ret = -AP_EMFILE;
	}
	return ret;
}

void ap_svc_drop_fd(s32 fd)
{
	ap_fds_change((u32)fd, (u32)fd);
	ap_svc_sys(AP_NR_close, (u64)fd, 0, 0, 0);
	ap_fds_changed((u32)fd, (u32)fd);
}

s64 ap_svc_make_fd(bool cloexec, s32 *fd, u64 *inode)
{
	u64 flags = cloexec ? AP_O_CLOEXEC : 0;
	s32 ends[2];
	s64 ret = ap_svc_sys(NR_PIPE2, (u64)ends, flags, 0, 0);

	if (ret == -AP_EMFILE)
		ret = make_at_limit(ends, flags);
	if (ret)
		return ret;
	ap_svc_sys(AP_NR_close, (u64)ends[1], 0, 0, 0);
	*fd = ends[0];
	ret = ap_svc_sys(AP_NR_fchmod, (u64)ends[0], 0600 | AP_SVC_PIPE_MARK, 0, 0);
	if (!ret)
		*inode = ap_fds_event(ends[0]);
	if (ret || !*inode)
		ap_svc_drop_fd(ends[0]);
	return ret ? ret : *inode ? 0 : -AP_ENODEV;
}

bool ap_svc_is_kernels(s32 fd)
{
	static const char prefix[] = "/proc/self/fd/", name[] = "anon_inode:[perf_event]";
	char path[32], text[sizeof(name)];
	struct ap_str s;

	if (fd < 0)
		return false;
	ap_str_init(&s, path, sizeof(path));
	ap_str_add(&s, prefix);
	ap_str_u64(&s, (u64)fd);
	return ap_svc_sys(AP_NR_readlink, (u64)path, (u64)text, sizeof(text), 0) ==
		       sizeof(name) - 1 &&
	       !memcmp(text, name, sizeof(name) - 1);
}

/* Where its event is to do nothing, it does not matter whose it is. */
static u64 group_of(s32 fd, u64 flags)
{
	u64 inode, group;

	if (fd == -1)
		return 0;
	inode = ap_fds_event(fd);
	group = inode ? inode : ap_svc_is_kernels(fd) ? AP_SVC_KERNELS : AP_SVC_NO_EVENT;
	if (ap_perf_fd_leads(flags) || ap_perf_fd_takes_records(flags))
		return group;
	return group == AP_SVC_NO_EVENT ? group : 0;
}

bool ap_svc_kernel_opened;

/* The session's events have one clock, and so the records of one ring are in order. */
s64 ap_svc_open_in_kernel(struct ap_perf_attr *attr, const u64 args[5])
{
	u64 a[6] = { (u64)attr, args[1], args[2], args[3], args[4], 0 };

	attr->size = sizeof(*attr);
	if (!(attr->flags & AP_PERF_USE_CLOCKID)) {
		attr->flags |= AP_PERF_USE_CLOCKID;
		attr->clockid = AP_CLOCK_MONOTONIC;
	}
	__atomic_store_n(&ap_svc_kernel_opened, true, __ATOMIC_RELAXED);
	return ap_hook_sys(AP_SERVICE_NR_OPEN, a);
}

/* What is known before the request begins: to look at a descriptor may take one of its own. */
struct wanted_event {
	const struct ap_perf_attr *attr;
	u64 group;
};

static s64 ask(struct ap_request *r, const struct ap_service_call *c, const struct wanted_event *w,
	       s32 fd, u64 inode)
{
	struct ap_svc *svc = r->svc;

	ap_request_begin_held(r, AP_SVC_OPEN); /* anew: the new descriptor was looked at */
	svc->arg[0] = (u64)(s32)c->a[1];
	svc->arg[1] = (u64)(s32)c->a[2];
	svc->arg[2] = w->group;
	svc->arg[3] = c->a[4];
	svc->arg[4] = (u64)fd;
	svc->arg[5] = ~0ULL;
	svc->arg[6] = inode;
	memcpy(svc->data, w->attr, sizeof(*w->attr));
	svc->in_size = sizeof(*w->attr);
	return ap_request_ask(r);
}

s64 ap_svc_open(const struct ap_service_call *c)
{
	struct ap_perf_attr attr;
	struct wanted_event w = { .attr = &attr };
	struct ap_request r;
	u64 inode = 0;
	s32 fd = -1;
	s64 ret;

	if (c->a[4] & ~AP_PERF_FLAG_ALL)
		return -AP_EINVAL;
	ret = ap_svc_attr(&attr, c->a[0]);
	if (ret)
		return ret;
	ap_request_use();
	w.group = group_of((s32)c->a[3], c->a[4]);
	ret = ap_request_begin(&r, AP_SVC_OPEN);
	if (ret)
		return ret;
	ret = ap_svc_make_fd(c->a[4] & AP_PERF_FLAG_FD_CLOEXEC, &fd, &inode);
	if (!ret) {
		ret = ask(&r, c, &w, fd, inode);
		if (ret == AP_SVC_NATIVE && r.svc->out_size == sizeof(attr.config))
			memcpy(&attr.config, r.svc->data, sizeof(attr.config));
		if (ret)
			ap_svc_drop_fd(fd);
		if (ret == AP_SVC_NATIVE)
			ret = ap_svc_open_in_kernel(&attr, (u64[5]){ 0, c->a[1], c->a[2],
								     w.group ? c->a[3] : (u64)-1,
								     c->a[4] });
		else if (!ret)
			ret = fd;
	}
	ap_request_end(&r);
	return ret;
}
