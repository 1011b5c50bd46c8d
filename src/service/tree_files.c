/* SPDX-License-Identifier: MIT */
/*
 * What stands for a node: its descriptor, and what stat says of it.
 *
 * A descriptor is a memfd with the text of the file; of a directory it is empty, and its offset is the
 * place in the list.  Mode and time of modification mark it, so that it is known again in whatever
 * process it comes to.
 */
#include "base/mem.h"
#include "service/calls.h"
#include "service/fds.h"
#include "service/sys.h"
#include "service/tree.h"
#include "sys/sys.h"

#define MARK_MODE   01444U
#define MARK_TIME   0x7065726674726565ULL /* seconds: no file is of that date */
#define MARK_NODE   0xffffffU		  /* of its nanoseconds; above it how it was opened */
#define MARK_ACCESS (MARK_NODE + 1)
#define S_IFMT	    0170000U
#define S_IFREG	    0100000U

#define O_ACCMODE   3ULL
#define O_CREAT	    0100ULL
#define O_EXCL	    0200ULL
#define O_TRUNC	    01000ULL
#define O_DIRECTORY 0200000ULL

#define MFD_CLOEXEC	  1
#define MFD_ALLOW_SEALING 2
#define MFD_NOEXEC_SEAL	  8
#define F_ADD_SEALS	  1033
#define SEALS_ALL	  15

#define SYSFS_MAGIC   0x62656572
#define PROC_MAGIC    0x9fa0
#define TRACEFS_MAGIC 0x74726163

#define TREE_INO   0x41500000ULL
#define TRACE_DEV  0xff000f0ULL /* 0:65520 */
#define SYSFS_SIZE 4096

/* In ap_kstat.rest */
enum { REST_BLKSIZE, REST_BLOCKS, REST_ATIME, REST_MTIME = 4, REST_MTIME_NS, REST_CTIME };

struct kstatfs {
	s64 type, bsize, blocks, bfree, bavail, files, ffree, fsid, namelen, frsize, flags,
		spare[4];
};

/* Who may write is not root here either: a mount for reading, as containers have it. */
s64 ap_tree_refuses_writing(void)
{
	return ap_svc_sys(AP_NR_geteuid, 0, 0, 0, 0) ? -AP_EACCES : -AP_EROFS;
}

u64 ap_tree_ino(u32 node)
{
	return TREE_INO + node;
}

u32 ap_tree_marked(const struct ap_kstat *st)
{
	const struct ap_tree *t;
	u32 node;

	if (st->mode != (S_IFREG | MARK_MODE) || st->rest[REST_MTIME] != MARK_TIME)
		return 0;
	t = ap_tree_get();
	node = (u32)st->rest[REST_MTIME_NS] & MARK_NODE;
	return t && node < t->nnodes ? node + 1 : 0;
}

u32 ap_tree_access(const struct ap_kstat *st)
{
	return (u32)st->rest[REST_MTIME_NS] / MARK_ACCESS & O_ACCMODE;
}

static s64 new_memfd(u64 flags)
{
	u64 mfd = MFD_ALLOW_SEALING | (flags & AP_O_CLOEXEC ? MFD_CLOEXEC : 0);
	s64 fd = ap_svc_sys(AP_NR_memfd_create, (u64) "file", mfd | MFD_NOEXEC_SEAL, 0, 0);

	return fd == -AP_EINVAL ? ap_svc_sys(AP_NR_memfd_create, (u64) "file", mfd, 0, 0) : fd;
}

static s64 fill(s64 fd, u32 node, u64 access)
{
	const struct ap_tree *t = ap_tree_get();
	const struct ap_tree_node *n = ap_tree_nodes(t) + node;
	const struct ap_timespec times[2] = { { MARK_TIME, 0 },
					      { MARK_TIME, node + access * MARK_ACCESS } };
	const char *text;
	u64 at = 0, size = ap_tree_text_of(n, &text), limit[2];
	s64 ret;

	if (size == AP_TREE_EIO)
		size = 0;
	ret = ap_hook_file_begin(size, limit);
	while (ret > 0 && at < size) {
		ret = ap_svc_sys(AP_NR_pwrite64, (u64)fd, (u64)text + at, size - at, at);
		at += ret > 0 ? (u64)ret : 0;
	}
	ap_hook_file_end(limit);
	if (ret <= 0)
		return ret ? ret : -AP_EIO;
	if (ap_svc_sys(AP_NR_fchmod, (u64)fd, MARK_MODE, 0, 0) ||
	    ap_svc_sys(AP_NR_utimensat, (u64)fd, 0, (u64)times, 0) ||
	    ap_svc_sys(AP_NR_fcntl, (u64)fd, F_ADD_SEALS, SEALS_ALL, 0))
		return -AP_EIO;
	return 0;
}

static s64 may_open(const struct ap_tree_node *n, u64 flags)
{
	u32 type = n->mode & AP_TREE_FMT;

	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return -AP_EEXIST;
	if (type == AP_TREE_LINK)
		return -AP_ELOOP;
	if (type != AP_TREE_DIR && flags & O_DIRECTORY)
		return -AP_ENOTDIR;
	if (flags & AP_O_PATH)
		return 0;
	if (type == AP_TREE_DIR && flags & (O_ACCMODE | O_CREAT))
		return -AP_EISDIR;
	if (flags & (O_ACCMODE | O_TRUNC))
		return ap_tree_may_write(n);
	return n->mode & 0444 ? 0 : -AP_EACCES;
}

s64 ap_tree_open(u32 node, u64 flags)
{
	s64 err = may_open(ap_tree_nodes(ap_tree_get()) + node, flags), fd;

	if (err)
		return err;
	fd = new_memfd(flags);
	if (fd < 0)
		return fd;
	err = fill(fd, node, flags & AP_O_PATH ? 0 : flags & O_ACCMODE);
	if (err) {
		ap_svc_sys(AP_NR_close, (u64)fd, 0, 0, 0);
		return err;
	}
	return fd;
}

void ap_tree_replace(u32 node, s32 fd, u64 flags)
{
	s64 to = ap_tree_open(node, flags);

	if (to >= 0)
		ap_tree_put((s32)to, fd, flags);
}

void ap_tree_put(s32 from, s32 fd, u64 flags)
{
	ap_fds_change((u32)fd, (u32)fd);
	ap_svc_sys(AP_NR_dup3, (u64)from, (u64)fd, flags & AP_O_CLOEXEC, 0);
	ap_fds_changed((u32)fd, (u32)fd);
	ap_svc_sys(AP_NR_close, (u64)from, 0, 0, 0);
}

/* What all files of a file system have in common, taken from one that the kernel has. */
static void like(enum ap_tree_fs fs, struct ap_kstat *st)
{
	const char *path = fs == AP_TREE_PROC ? "/proc/sys" : "/sys";

	memset(st, 0, sizeof(*st));
	if (ap_svc_sys(AP_NR_newfstatat, (u64)AP_AT_FDCWD, (u64)path, (u64)st, 0)) {
		st->dev = TRACE_DEV + 1;
		st->rest[REST_BLKSIZE] = 4096;
	}
	if (fs == AP_TREE_TRACEFS)
		st->dev = TRACE_DEV;
	st->rdev = 0;
	st->rest[REST_BLOCKS] = 0;
}

static void kstat_of(u32 node, struct ap_kstat *st)
{
	const struct ap_tree_node *n = ap_tree_nodes(ap_tree_get()) + node;

	like(n->fs, st);
	st->ino = ap_tree_ino(node);
	st->mode = n->mode;
	st->nlink = n->nlink;
	st->size =
		n->fs == AP_TREE_SYSFS && (n->mode & AP_TREE_FMT) == AP_TREE_FILE ? SYSFS_SIZE : 0;
}

s64 ap_tree_stat(u32 node, u64 buf)
{
	struct ap_kstat st;

	kstat_of(node, &st);
	return ap_hook_put(buf, &st, sizeof(st)) ? -AP_EFAULT : 0;
}

s64 ap_tree_statx(u32 node, u64 buf)
{
	struct ap_kstatx x = { .mask = 0x7ff };
	struct ap_kstat st;

	kstat_of(node, &st);
	x.blksize = (u32)st.rest[REST_BLKSIZE];
	x.nlink = (u32)st.nlink;
	x.uid = st.uid;
	x.gid = st.gid;
	x.mode = (u16)st.mode;
	x.ino = st.ino;
	x.size = st.size;
	x.dev[0] = (u32)(st.dev >> 8 & 0xfff);
	x.dev[1] = (u32)((st.dev & 0xff) | (st.dev >> 12 & 0xfff00));
	x.time[0].sec = (s64)st.rest[REST_ATIME];
	x.time[0].nsec = (u32)st.rest[REST_ATIME + 1];
	x.time[2].sec = (s64)st.rest[REST_CTIME];
	x.time[2].nsec = (u32)st.rest[REST_CTIME + 1];
	x.time[3].sec = (s64)st.rest[REST_MTIME];
	x.time[3].nsec = (u32)st.rest[REST_MTIME_NS];
	return ap_hook_put(buf, &x, sizeof(x)) ? -AP_EFAULT : 0;
}

s64 ap_tree_statfs(u32 node, u64 buf)
{
	static const s64 magics[] = { [AP_TREE_SYSFS] = SYSFS_MAGIC,
				      [AP_TREE_PROC] = PROC_MAGIC,
				      [AP_TREE_TRACEFS] = TRACEFS_MAGIC };
	u8 fs = ap_tree_nodes(ap_tree_get())[node].fs;
	struct kstatfs f = { .type = magics[fs], .bsize = 4096, .namelen = 255, .frsize = 4096 };
	struct kstatfs native;

	if (!ap_svc_sys(AP_NR_statfs, (u64)(fs == AP_TREE_PROC ? "/proc" : "/sys"), (u64)&native, 0,
			0) &&
	    native.type == f.type)
		f = native;
	return ap_hook_put(buf, &f, sizeof(f)) ? -AP_EFAULT : 0;
}
