/* SPDX-License-Identifier: MIT */
/*
 * Calls that would show the pipe behind a perf descriptor.
 *
 * Natively it is an anonymous inode, the same one as an eventfd's: so what a call says of the file is
 * found by making it on an eventfd, which lives for that call only.  What shows a file by its name
 * (/proc/PID/fd/N, also of another process) is known by its result: a pipe with the mark.
 */
#include "abi/service.h"
#include "base/mem.h"
#include "base/str.h"
#include "service/calls.h"
#include "service/fds.h"
#include "service/request.h"
#include "service/sample.h"
#include "service/sys.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define NR_STAT	    4
#define NR_LSTAT    6
#define NR_EVENTFD2 290

#define S_IFMT	 0170000U
#define S_IFFIFO 0010000U
#define MARKED	 (S_IFFIFO | AP_SVC_PIPE_MARK)
#define LINK_R	 0120500U /* a link in /proc/PID/fd to what is open for reading */
#define LINK_RW	 0120700U
#define STX_MODE 28 /* offset of stx_mode, 16 bits */

#define O_ACCMODE    3
#define O_RDWR	     2
#define O_DIRECT     040000
#define O_ASYNC	     020000
#define F_GETFL	     3
#define F_SETFL	     4
#define F_SETPIPE_SZ 1031
#define F_GETPIPE_SZ 1032
#define F_ADD_SEALS  1033
#define F_GET_SEALS  1034

static const char name[] = "anon_inode:[perf_event]";

s64 ap_svc_stand_in_fd(void)
{
	return ap_svc_sys(NR_EVENTFD2, 0, AP_O_CLOEXEC, 0, 0);
}

bool ap_svc_stand_in(struct ap_service_call *c)
{
	s64 fd = ap_svc_stand_in_fd();

	if (fd < 0)
		return false;
	c->a[0] = (u64)fd;
	c->fd = (s32)fd;
	return true;
}

bool ap_svc_fcntl(struct ap_service_call *c, bool *more)
{
	*more = false;
	switch (c->a[1]) {
	case F_GETFL:
		*more = true;
		return false;
	case F_SETFL:
		c->ret = -AP_EINVAL;
		if (c->a[2] & O_DIRECT)
			return true;
		*more = !(c->a[2] & O_ASYNC);
		if (!*more)
			ap_svc_async((s32)c->a[0], true);
		return false;
	case F_GETPIPE_SZ:
	case F_SETPIPE_SZ:
		c->ret = -AP_EBADF;
		return true;
	case F_ADD_SEALS: /* a descriptor for reading may not be sealed: another error */
	case F_GET_SEALS:
		c->ret = -AP_EINVAL;
		return true;
	default:
		return false;
	}
}

void ap_svc_fcntl_done(struct ap_service_call *c)
{
	if (c->ret < 0)
		return;
	if (c->a[1] == F_SETFL)
		ap_svc_async((s32)c->a[0], false);
	else
		c->ret = (c->ret & ~O_ACCMODE) | O_RDWR;
}

/* Told before the kernel is, when it is set: from then on nobody touches the pipe but for signals. */
void ap_svc_async(s32 fd, bool on)
{
	struct ap_request r;
	u64 inode = ap_fds_event(fd);

	if (!inode)
		return;
	ap_svc_signals_anew(inode);
	ap_request_begin_held(&r, AP_SVC_ASYNC);
	r.svc->arg[0] = inode;
	r.svc->arg[1] = on;
	r.svc->arg[2] = (u64)fd;
	ap_request_ask(&r);
}

bool ap_svc_fioasync(const struct ap_service_call *c)
{
	u32 on;

	if (ap_hook_get(&on, c->a[2], sizeof(on)))
		return false;
	if (on)
		ap_svc_async((s32)c->a[0], true);
	return !on;
}

/* What a call names, in terms of newfstatat. */
struct named {
	u64 dir, path, flags, buf;
	bool statx;
};

static struct named named_by(const struct ap_service_call *c)
{
	switch (c->nr) {
	case AP_NR_fstat:
		return (struct named){ c->a[0], (u64) "", AP_AT_EMPTY_PATH, c->a[1], false };
	case NR_STAT:
		return (struct named){ (u64)AP_AT_FDCWD, c->a[0], 0, c->a[1], false };
	case NR_LSTAT:
		return (struct named){ (u64)AP_AT_FDCWD, c->a[0], AP_AT_SYMLINK_NOFOLLOW, c->a[1],
				       false };
	case AP_NR_newfstatat:
		return (struct named){ c->a[0], c->a[1], c->a[3], c->a[2], false };
	case AP_NR_statx:
		return (struct named){ c->a[0], c->a[1], c->a[2], c->a[4], true };
	case AP_NR_readlink:
		return (struct named){ (u64)AP_AT_FDCWD, c->a[0], 0, c->a[1], false };
	case AP_NR_access:
		return (struct named){ (u64)AP_AT_FDCWD, c->a[0], 0, 0, false };
	case AP_NR_faccessat:
	case AP_NR_faccessat2:
		return (struct named){ c->a[0], c->a[1], 0, 0, false };
	default: /* readlinkat */
		return (struct named){ c->a[0], c->a[1], 0, c->a[2], false };
	}
}

static bool is_marked(const struct named *n)
{
	struct ap_kstat st;

	return !ap_svc_sys(AP_NR_newfstatat, n->dir, n->path, (u64)&st, 0) &&
	       (st.mode & (S_IFMT | AP_SVC_PIPE_MARK)) == MARKED;
}

/* Does the link, once followed, lead to a perf descriptor? */
static bool links_to_event(const struct named *n)
{
	char text[6];

	return ap_svc_sys(AP_NR_readlinkat, n->dir, n->path, (u64)text, sizeof(text)) == 6 &&
	       !memcmp(text, "pipe:[", 6) && is_marked(n);
}

static void stat_again(const struct named *n, const struct ap_service_call *c)
{
	s64 fd = ap_svc_stand_in_fd();
	const u64 x[6] = { (u64)fd, (u64) "", AP_AT_EMPTY_PATH, c->a[3], n->buf };

	if (fd < 0)
		return; /* also where the program has a filter */
	if (n->statx)
		ap_hook_sys(AP_NR_statx, x);
	else
		ap_svc_sys(AP_NR_fstat, (u64)fd, n->buf, 0, 0);
	ap_svc_sys(AP_NR_close, (u64)fd, 0, 0, 0);
}

void ap_svc_stat_done(const struct ap_service_call *c)
{
	struct named n = named_by(c);
	u64 at = n.buf + (n.statx ? STX_MODE : offsetof(struct ap_kstat, mode));
	u16 mode;

	if (c->ret || ap_hook_get(&mode, at, sizeof(mode)))
		return;
	if ((mode & (S_IFMT | AP_SVC_PIPE_MARK)) == MARKED) {
		stat_again(&n, c);
	} else if (mode == LINK_R && links_to_event(&n)) {
		mode = LINK_RW;
		(void)!ap_hook_put(at, &mode, sizeof(mode));
	}
}

void ap_svc_readlink_done(struct ap_service_call *c)
{
	struct named n = named_by(c);
	u64 size = c->a[c->nr == AP_NR_readlink ? 2 : 3];

	if (c->ret < 1 || !links_to_event(&n))
		return;
	if (size > sizeof(name) - 1)
		size = sizeof(name) - 1;
	c->ret = ap_hook_put(n.buf, name, size) ? -AP_EFAULT : (s64)size;
}

/* A call on the name of a perf descriptor, made on the name of a stand-in: whose file is root's. */
static s64 by_name_of_stand_in(u64 nr, u64 how)
{
	s64 fd = ap_svc_stand_in_fd(), ret;
	char path[32];
	struct ap_str s;

	if (fd < 0)
		return -AP_ENXIO;
	ap_str_init(&s, path, sizeof(path));
	ap_str_add(&s, "/proc/self/fd/");
	ap_str_u64(&s, (u64)fd);
	ret = ap_svc_sys(nr, (u64)AP_AT_FDCWD, (u64)path, how, 0);
	ap_svc_sys(AP_NR_close, (u64)fd, 0, 0, 0);
	return ret;
}

/* An anonymous inode cannot be opened again by its name; a pipe could. */
void ap_svc_open_done(struct ap_service_call *c)
{
	u64 flags = c->a[c->nr == AP_NR_open ? 1 : 2];

	if (c->ret < 0)
		return;
	if (c->nr == AP_NR_openat2 && ap_hook_get(&flags, c->a[2], sizeof(flags)))
		return;
	if (flags & AP_O_PATH || !ap_fds_event((s32)c->ret))
		return;
	ap_fds_change((u32)c->ret, (u32)c->ret);
	ap_svc_sys(AP_NR_close, (u64)c->ret, 0, 0, 0);
	ap_fds_changed((u32)c->ret, (u32)c->ret);
	c->ret = by_name_of_stand_in(AP_NR_openat, (flags & O_ACCMODE) | AP_O_CLOEXEC);
}

void ap_svc_access_done(struct ap_service_call *c)
{
	struct named n = named_by(c);
	char text[6];

	/* Names elsewhere lead to one by a link of the program's at most. */
	if (ap_hook_get(text, n.path, sizeof(text)) ||
	    (memcmp(text, "/proc/", 6) && memcmp(text, "/dev/", 5)) || !is_marked(&n))
		return;
	c->ret = by_name_of_stand_in(AP_NR_faccessat, c->a[c->nr == AP_NR_access ? 1 : 2]);
}
