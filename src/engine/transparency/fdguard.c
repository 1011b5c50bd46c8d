/* SPDX-License-Identifier: MIT */
/*
 * The session's two descriptors as the program sees them: not at all.  Calls that name one fail with
 * EBADF, calls that want its number get it after ours has moved, ranges go around them, and
 * listings of /proc/self/fd do not show them.
 * Which they are: runtime/session_fd.c.
 */
#include "base/mem.h"
#include "base/str.h"
#include "engine/runtime/filter.h"
#include "engine/transparency/transparency.h"

#define MOVE_TRIES	    64
#define CLOSE_RANGE_UNSHARE 2
/* A descriptor table is as long as its highest entry: above this, ours stays in the range. */
#define FD_CEILING  4096
#define DIRENT_NAME 19 /* offset of d_name in linux_dirent64; in linux_dirent one less */

/* Calls whose first argument is a descriptor.  dup2, dup3 and close_range: see ap_call_fd. */
static bool first_is_fd(u64 nr)
{
	switch (nr) {
	case AP_NR_read:
	case AP_NR_write:
	case AP_NR_close:
	case AP_NR_fstat:
	case AP_NR_lseek:
	case AP_NR_ioctl:
	case AP_NR_pread64 ... AP_NR_writev:
	case AP_NR_dup:
	case AP_NR_sendfile:
	case AP_NR_connect ... AP_NR_getpeername:
	case AP_NR_setsockopt:
	case AP_NR_getsockopt:
	case AP_NR_fcntl ... AP_NR_fdatasync:
	case AP_NR_ftruncate:
	case AP_NR_getdents:
	case AP_NR_fchdir:
	case AP_NR_fchmod:
	case AP_NR_fchown:
	case AP_NR_fstatfs:
	case AP_NR_readahead:
	case AP_NR_fsetxattr:
	case AP_NR_fgetxattr:
	case AP_NR_flistxattr:
	case AP_NR_fremovexattr:
	case AP_NR_getdents64:
	case AP_NR_fadvise64:
	case AP_NR_openat ... AP_NR_unlinkat:
	case AP_NR_fchmodat:
	case AP_NR_faccessat:
	case AP_NR_splice ... AP_NR_vmsplice:
	case AP_NR_utimensat:
	case AP_NR_fallocate:
	case AP_NR_accept4:
	case AP_NR_preadv:
	case AP_NR_pwritev:
	case AP_NR_recvmmsg:
	case AP_NR_sendmmsg:
	case AP_NR_copy_file_range ... AP_NR_pwritev2:
	case AP_NR_statx:
	case AP_NR_setns:
	case AP_NR_dup2: /* as the source */
	case AP_NR_dup3:
		return true;
	default:
		return false;
	}
}

static bool third_is_fd(u64 nr)
{
	return nr == AP_NR_splice || nr == AP_NR_copy_file_range || nr == AP_NR_epoll_ctl;
}

bool ap_fd_is_hidden(const struct ap_thread *t, const struct ap_call *c)
{
	if (ap_unlikely(ap_fd_is_ours(t, c->a[0])) && first_is_fd(c->nr))
		return true;
	if (ap_unlikely(ap_fd_is_ours(t, c->a[2])) && third_is_fd(c->nr))
		return true;
	if (ap_unlikely(ap_fd_is_ours(t, c->a[1])) &&
	    (c->nr == AP_NR_sendfile || c->nr == AP_NR_tee))
		return true;
	return ap_unlikely(ap_fd_is_ours(t, c->a[4])) && c->nr == AP_NR_mmap &&
	       !(c->a[3] & AP_MAP_ANON);
}

/* Puts a descriptor of ours at the lowest free number from min up. */
static bool move_to(struct ap_thread *t, s32 old, s32 min)
{
	s64 fd = ap_sys3(AP_NR_fcntl, (u64)old, AP_F_DUPFD_CLOEXEC, (u64)min);

	if (ap_is_err(fd))
		return false;
	ap_fd_set_number(t, old, (s32)fd);
	ap_sys1(AP_NR_close, (u64)old);
	return true;
}

/* Its number is wanted: away, as high as there is a free one. */
static bool move_away(struct ap_thread *t, s32 old)
{
	for (s32 min = old - 1; min > 2 && min > old - MOVE_TRIES; min--)
		if (move_to(t, old, min))
			return true;
	return move_to(t, old, 3);
}

s64 ap_fd_beside(const struct ap_thread *t, s32 fd)
{
	s32 ours = ap_fd(t) < ap_head_fd(t) ? ap_fd(t) : ap_head_fd(t);
	s64 to = -AP_EMFILE;

	for (s32 min = ours - 1; to < 0 && min > fd && min > ours - MOVE_TRIES; min--)
		to = ap_sys3(AP_NR_fcntl, (u64)fd, AP_F_DUPFD_CLOEXEC, (u64)min);
	if (to < 0)
		return fd;
	ap_sys1(AP_NR_close, (u64)fd);
	return to;
}

void ap_fd_limit(struct ap_thread *t, u64 cur)
{
	const s32 fd[] = { ap_fd(t), ap_head_fd(t) };
	u64 lim[2], old;

	if ((cur <= (u64)fd[0] && cur <= (u64)fd[1]) || cur > FD_CEILING)
		return;
	/* For a moment the limit is higher, for descriptors at the first numbers beyond it. */
	if (ap_sys4(AP_NR_prlimit64, 0, AP_RLIMIT_NOFILE, 0, (u64)lim))
		return;
	old = lim[0];
	lim[0] = cur + AP_ARRAY_SIZE(fd);
	if (lim[0] > lim[1] || ap_sys4(AP_NR_prlimit64, 0, AP_RLIMIT_NOFILE, (u64)lim, 0))
		return;
	for (u32 i = 0; i < AP_ARRAY_SIZE(fd); i++)
		if (cur > (u64)fd[i])
			(void)move_to(t, fd[i], (s32)cur);
	lim[0] = old;
	ap_sys4(AP_NR_prlimit64, 0, AP_RLIMIT_NOFILE, (u64)lim, 0);
}

/* What is around ours, the lower of them first. */
static s64 close_range(struct ap_thread *t, struct ap_call *c)
{
	u32 a = (u32)ap_fd(t), b = (u32)ap_head_fd(t), last = (u32)c->a[1];
	const u32 fd[] = { a < b ? a : b, a < b ? b : a };
	struct ap_call part = *c;
	s64 ret;

	for (u32 i = 0; i < AP_ARRAY_SIZE(fd); i++) {
		if ((u32)part.a[0] > fd[i] || last < fd[i])
			continue;
		part.a[1] = fd[i] - 1;
		ret = (u32)part.a[0] < fd[i] ? ap_call_pass(t, &part) : 0;
		if (ret || last == fd[i])
			return ret;
		part.a[0] = fd[i] + 1;
	}
	part.a[1] = last;
	return ap_call_pass(t, &part);
}

static s64 close_fd(struct ap_thread *t, struct ap_call *c)
{
	s64 ret;

	if (c->nr == AP_NR_close)
		return ap_call_pass(t, c);
	if (c->nr == AP_NR_close_range) {
		ret = close_range(t, c);
		if (!ret && c->a[2] & CLOSE_RANGE_UNSHARE)
			ap_fd_unshare_table(t);
		return ret;
	}
	if (ap_fd_is_ours(t, c->a[1]) && c->a[0] != c->a[1] && !move_away(t, (s32)c->a[1]))
		return -AP_EBUSY;
	return ap_call_pass(t, c);
}

s64 ap_call_fd(struct ap_thread *t, struct ap_call *c)
{
	s64 ret;

	ap_procfs_closes();
	ret = close_fd(t, c);
	ap_procfs_closes();
	return ret;
}

/*
 * Does fd stand for a list of descriptors in which this number is ours?  That of another
 * process may have something else there.
 */
static bool lists_ours(s32 ours, u64 fd, const char *number)
{
	char link[32], path[96];
	struct ap_kstat st, own;
	struct ap_str s;
	char *name;
	s64 n;

	ap_str_init(&s, link, sizeof(link));
	ap_str_add(&s, "/proc/self/fd/");
	ap_str_u64(&s, fd);
	n = ap_sys3(AP_NR_readlink, (u64)link, (u64)path, 64);
	if (n < 10 || n == 64 || memcmp(path, "/proc/", 6))
		return false;
	path[n] = 0;
	name = strrchr(path, '/');
	if (strcmp(name, "/fd") && strcmp(name, "/fdinfo"))
		return false;
	ap_str_init(&s, name, sizeof(path) - (u64)(name - path));
	ap_str_add(&s, "/fd/");
	ap_str_add(&s, number);
	return !ap_sys4(AP_NR_newfstatat, (u64)AP_AT_FDCWD, (u64)path, (u64)&st, 0) &&
	       !ap_sys2(AP_NR_fstat, (u64)ours, (u64)&own) && st.dev == own.dev &&
	       st.ino == own.ino;
}

struct fd_entry {
	u64 at, len;
};

/* Finds our descriptor's name in what the kernel has put into [buf, end). */
static bool find_entry(u64 buf, u64 end, u64 name_off, const char *name, struct fd_entry *e)
{
	char got[16];
	u16 len;

	for (e->at = buf; e->at + name_off < end; e->at += e->len) {
		if (ap_safe_copy(&len, (const void *)(e->at + 16), sizeof(len)) || len <= name_off)
			return false;
		e->len = len;
		if (ap_call_str(got, e->at + name_off, sizeof(got)) > 0 && !strcmp(got, name))
			return true;
	}
	return false;
}

static s64 hide_entry(s32 ours, const struct ap_call *c, s64 ret)
{
	u64 buf = c->a[1], end = buf + (u64)ret;
	char name[16], chunk[256];
	struct fd_entry e;
	struct ap_str s;

	ap_str_init(&s, name, sizeof(name));
	ap_str_u64(&s, (u64)ours);
	if (!find_entry(buf, end, DIRENT_NAME - (c->nr == AP_NR_getdents), name, &e) ||
	    !lists_ours(ours, c->a[0], name))
		return ret;
	for (u64 from = e.at + e.len, n; from < end; from += n) {
		n = end - from < sizeof(chunk) ? end - from : sizeof(chunk);
		if (ap_safe_copy(chunk, (const void *)from, n) ||
		    ap_safe_copy((void *)(from - e.len), chunk, n))
			return ret;
	}
	return ret - (s64)e.len;
}

s64 ap_call_getdents(struct ap_thread *t, struct ap_call *c)
{
	s64 ret, left;

	for (;;) {
		ret = ap_call_pass(t, c);
		if (ret <= 0 || AP_CALL_OVER(ret))
			return ret;
		left = hide_entry(ap_fd(t), c, ret);
		left = left ? hide_entry(ap_head_fd(t), c, left) : 0;
		/* 0 would say that the directory ends here. */
		if (left)
			return left;
	}
}
