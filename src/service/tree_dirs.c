/* SPDX-License-Identifier: MIT */
/*
 * Calls on descriptors of the tree.  What our memfds would do otherwise than the file that they stand
 * for is answered here, and lists of entries are made.
 *
 * A directory that is the kernel's lists its own entries first; ours that it lacks follow, at offsets
 * from TAIL on: so the place in the list is the descriptor's own offset, whoever else has the
 * descriptor.  sysfs and procfs take no offset above 2^31 - 1, sysfs uses all below for hashes of names:
 * one in five hundred thousand falls among ours, of which no directory has more than there is room for.
 */
#include "base/mem.h"
#include "service/fds.h"
#include "service/sys.h"
#include "service/tree.h"
#include "sys/sys.h"

#define TAIL	 0x7ffff000ULL
#define SEEK_SET 0
#define SEEK_CUR 1

#define TRACEFS_MAGIC 0x74726163

#define S_IFMT	    0170000U
#define S_IFDIR	    0040000U
#define SYS_DIR	    "/sys"
#define PROC_DIR    "/proc"
#define LOOK_DIR    (1ULL << 33)
#define LOOK_NODE   0xffffffffULL
#define LOOK_ACCESS 34 /* two bits */

#define F_GETFL	    3
#define F_ADD_SEALS 1033
#define F_GET_SEALS 1034
#define O_ACCMODE   3
#define STX_MODE    28

/* The file systems whose directories may be in the tree; found once. */
static struct {
	bool known;
	u64 sys, proc, root_dev, root_ino;
} devs;

static void learn_devs(void)
{
	struct ap_kstat st;

	if (__atomic_load_n(&devs.known, __ATOMIC_ACQUIRE))
		return;
	if (!ap_svc_sys(AP_NR_newfstatat, (u64)AP_AT_FDCWD, (u64)SYS_DIR, (u64)&st, 0))
		devs.sys = st.dev;
	if (!ap_svc_sys(AP_NR_newfstatat, (u64)AP_AT_FDCWD, (u64)PROC_DIR, (u64)&st, 0))
		devs.proc = st.dev;
	if (!ap_svc_sys(AP_NR_newfstatat, (u64)AP_AT_FDCWD, (u64) "/", (u64)&st, 0)) {
		devs.root_dev = st.dev;
		devs.root_ino = st.ino;
	}
	__atomic_store_n(&devs.known, true, __ATOMIC_RELEASE);
}

/* It may be mounted at any time, by perf itself; of the file systems without a disk one call is made. */
static bool is_tracefs(s32 fd, const struct ap_kstat *st)
{
	s64 fs[16]; /* struct statfs has 15 */

	return !(st->dev >> 8 & 0xfff) && !ap_svc_sys(AP_NR_fstatfs, (u64)fd, (u64)fs, 0, 0) &&
	       fs[0] == TRACEFS_MAGIC;
}

/* A directory of the kernel's: by its path, which /proc has. */
static u64 look_dir(s32 fd, const struct ap_kstat *st, bool may_ask)
{
	const struct ap_tree *t;
	struct ap_tree_found found;
	char link[40], path[AP_TREE_PATH_CAP];
	struct ap_str s;
	s64 n;

	learn_devs();
	if (st->dev == devs.root_dev && st->ino == devs.root_ino)
		return LOOK_DIR | 1;
	if (st->dev != devs.sys && st->dev != devs.proc && !is_tracefs(fd, st))
		return 0;
	ap_str_init(&s, link, sizeof(link));
	ap_str_add(&s, "/proc/self/fd/");
	ap_str_u64(&s, (u64)fd);
	n = ap_svc_sys(AP_NR_readlinkat, (u64)AP_AT_FDCWD, (u64)link, (u64)path, sizeof(path) - 1);
	if (n <= 0)
		return 0;
	path[n] = 0;
	if (!ap_tree_is_near(path))
		return 0;
	t = may_ask ? ap_tree_need() : ap_tree_get();
	if (!t)
		return may_ask ? 0 : AP_TREE_LATER;
	ap_tree_find(t, 0, false, path, true, &found);
	if (found.verdict != AP_TREE_OURS && found.verdict != AP_TREE_SHARED)
		return 0;
	return LOOK_DIR | (found.node + 1);
}

u64 ap_tree_look(s32 fd, const struct ap_kstat *st, bool may_ask)
{
	u64 marked;

	if ((st->mode & S_IFMT) == S_IFDIR)
		return look_dir(fd, st, may_ask);
	marked = ap_tree_marked(st);
	/* of any other file these are a date */
	return marked ? marked | (u64)ap_tree_access(st) << LOOK_ACCESS : 0;
}

struct ap_tree_fd ap_tree_of_fd(s32 fd)
{
	struct ap_tree_fd f = { .is_known = false };
	u64 v;

	/* the program's filter shall see its calls, and the kernel answer them */
	if (!ap_service_is_used(ap_hook_session()) || ap_svc_is_mute())
		return f;
	v = ap_fds_tree(fd);
	if (!v || !ap_tree_need())
		return f;
	f.is_known = true;
	f.is_native = v & LOOK_DIR;
	f.node = (u32)(v & LOOK_NODE) - 1;
	f.access = (u32)(v >> LOOK_ACCESS) & O_ACCMODE;
	return f;
}

static const struct ap_tree_node *node_at(u32 node)
{
	return ap_tree_nodes(ap_tree_get()) + node;
}

struct dir_list {
	u64 buf, size, used;
	bool is_old; /* getdents */
	bool full;
	s64 error;
};

static void add_entry(struct dir_list *l, const char *name, u64 ino, u64 next, u16 mode)
{
	char e[AP_TREE_PATH_CAP];
	u64 head = l->is_old ? 18 : 19, len = strlen(name);
	u16 size = (u16)AP_ALIGN_UP(head + len + 1 + l->is_old, 8);
	u8 type = (u8)((mode & S_IFMT) >> 12);

	if (size > sizeof(e) || size > l->size - l->used) {
		l->full = true;
		return;
	}
	memset(e, 0, size);
	memcpy(e, &ino, 8);
	memcpy(e + 8, &next, 8);
	memcpy(e + 16, &size, 2);
	e[l->is_old ? size - 1 : 18] = (char)type;
	memcpy(e + head, name, len);
	if (ap_hook_put(l->buf + l->used, e, size))
		l->error = -AP_EFAULT;
	else
		l->used += size;
}

static s64 end_list(const struct dir_list *l, s32 fd, u64 at)
{
	if (!l->used && l->error)
		return l->error;
	if (!l->used && l->full)
		return -AP_EINVAL;
	ap_svc_sys(AP_NR_lseek, (u64)fd, at, SEEK_SET, 0);
	return (s64)l->used;
}

static struct dir_list list_of(const struct ap_service_call *c)
{
	return (struct dir_list){ .buf = c->a[1],
				  .size = (u32)c->a[2],
				  .is_old = c->nr == AP_NR_getdents };
}

/* All entries are ours: ".", "..", the children. */
static s64 list_node(const struct ap_service_call *c, u32 node)
{
	const struct ap_tree *t = ap_tree_get();
	const struct ap_tree_node *v = ap_tree_nodes(t), *n = v + node;
	struct dir_list l = list_of(c);
	s64 pos = ap_svc_sys(AP_NR_lseek, c->a[0], 0, SEEK_CUR, 0);
	u64 at = pos < 0 ? 0 : (u64)pos;

	if ((n->mode & AP_TREE_FMT) != AP_TREE_DIR)
		return -AP_ENOTDIR;
	while (at < n->n + 2ULL && !l.full && !l.error) {
		u32 child = n->first + (u32)at - 2;

		if (at < 2)
			add_entry(&l, at ? ".." : ".", ap_tree_ino(at ? n->parent : node), at + 1,
				  AP_TREE_DIR);
		else
			add_entry(&l, ap_tree_text(t, v[child].name), ap_tree_ino(child), at + 1,
				  v[child].mode);
		at += !l.full && !l.error;
	}
	return end_list(&l, (s32)c->a[0], at);
}

/* Of the kernel's directory: what it lacks, from the entry at on. */
static s64 list_tail(const struct ap_service_call *c, u32 node, u64 at)
{
	const struct ap_tree *t = ap_tree_get();
	const struct ap_tree_node *v = ap_tree_nodes(t), *n = v + node;
	struct dir_list l = list_of(c);
	struct ap_kstat st;

	while (at < n->n && !l.full && !l.error) {
		u32 child = n->first + (u32)at;
		const char *name = ap_tree_text(t, v[child].name);

		if (ap_svc_sys(AP_NR_newfstatat, c->a[0], (u64)name, (u64)&st,
			       AP_AT_SYMLINK_NOFOLLOW) == -AP_ENOENT)
			add_entry(&l, name, ap_tree_ino(child), TAIL + at + 1, v[child].mode);
		at += !l.full && !l.error;
	}
	return end_list(&l, (s32)c->a[0], TAIL + at);
}

/* How far in our part; ~0: not yet. */
static u64 tail_position(const struct ap_service_call *c, u32 node)
{
	s64 pos = ap_svc_sys(AP_NR_lseek, c->a[0], 0, SEEK_CUR, 0);

	if (pos < (s64)TAIL || (u64)pos > TAIL + node_at(node)->n)
		return ~0ULL;
	return (u64)pos - TAIL;
}

bool ap_tree_can_merge(s32 fd)
{
	bool can = ap_svc_sys(AP_NR_lseek, (u64)fd, TAIL, SEEK_SET, 0) == (s64)TAIL;

	ap_svc_sys(AP_NR_lseek, (u64)fd, 0, SEEK_SET, 0);
	return can;
}

bool ap_tree_getdents(struct ap_service_call *c, const struct ap_tree_fd *f)
{
	u64 at;

	if (!f->is_native || !node_at(f->node)->is_shared) {
		c->ret = list_node(c, f->node);
		return true;
	}
	at = tail_position(c, f->node);
	if (at != ~0ULL) {
		c->ret = list_tail(c, f->node, at);
		return true;
	}
	c->tree = f->node + 1;
	return false;
}

void ap_tree_getdents_done(struct ap_service_call *c)
{
	if (!c->ret)
		c->ret = list_tail(c, c->tree - 1, 0);
}

static bool answer(struct ap_service_call *c, s64 ret)
{
	c->ret = ret;
	return true;
}

/* Has the call an empty path, and means its descriptor? */
static bool is_of_fd(const struct ap_service_call *c)
{
	char first = 1;
	u64 flags = c->a[c->nr == AP_NR_statx ? 2 : 3];

	return flags & AP_AT_EMPTY_PATH &&
	       (!c->a[1] || (!ap_hook_get(&first, c->a[1], 1) && !first));
}

static bool reads(struct ap_service_call *c, const struct ap_tree_node *n)
{
	if ((n->mode & AP_TREE_FMT) == AP_TREE_DIR)
		return answer(c, -AP_EISDIR);
	return n->size == AP_TREE_EIO && answer(c, -AP_EIO);
}

/* What reads or writes a file whose number can be changed. */
static bool on_limit(struct ap_service_call *c, const struct ap_tree_fd *f)
{
	switch (c->nr) {
	case AP_NR_read:
	case AP_NR_readv:
	case AP_NR_pread64:
	case AP_NR_preadv:
	case AP_NR_preadv2:
		return answer(c, ap_tree_limit_read(c, node_at(f->node), f->access));
	case AP_NR_write:
	case AP_NR_writev:
	case AP_NR_pwrite64:
	case AP_NR_pwritev:
	case AP_NR_pwritev2:
		return answer(c, ap_tree_limit_write(c, f->node, f->access));
	default:
		return false;
	}
}

/* Calls on a memfd of ours. */
static bool on_ours(struct ap_service_call *c, const struct ap_tree_fd *f)
{
	const u32 node = f->node;

	if (ap_tree_is_limit(node_at(node)) && on_limit(c, f))
		return true;
	switch (c->nr) {
	case AP_NR_read:
	case AP_NR_readv:
	case AP_NR_pread64:
	case AP_NR_preadv:
	case AP_NR_preadv2:
		return reads(c, node_at(node));
	case AP_NR_pwrite64:
	case AP_NR_pwritev:
		return answer(c, -AP_ESPIPE); /* files whose text is made when it is read */
	case AP_NR_write:
	case AP_NR_writev:
	case AP_NR_pwritev2:
	case AP_NR_fallocate:
		return answer(c, -AP_EBADF);
	case AP_NR_ftruncate:
		return answer(c, -AP_EINVAL);
	case AP_NR_fchmod:
	case AP_NR_fchown:
		return answer(c, -AP_EPERM);
	case AP_NR_fsetxattr:
	case AP_NR_fgetxattr:
		return answer(c, -AP_EOPNOTSUPP);
	case AP_NR_utimensat:
		return !c->a[1] && answer(c, -AP_EPERM);
	case AP_NR_mmap:
		return answer(c, -AP_ENODEV);
	case AP_NR_fstat:
		return answer(c, ap_tree_stat(node, c->a[1]));
	case AP_NR_newfstatat:
		return is_of_fd(c) && answer(c, ap_tree_stat(node, c->a[2]));
	case AP_NR_statx:
		return is_of_fd(c) && answer(c, ap_tree_statx(node, c->a[4]));
	case AP_NR_fstatfs:
		return answer(c, ap_tree_statfs(node, c->a[1]));
	case AP_NR_fchdir:
		return answer(c, ap_tree_enter(node));
	case AP_NR_fcntl:
		if (c->a[1] == F_ADD_SEALS || c->a[1] == F_GET_SEALS)
			return answer(c, -AP_EINVAL);
		if (c->a[1] != F_GETFL)
			return false;
		return answer(c, (ap_svc_sys(AP_NR_fcntl, c->a[0], F_GETFL, 0, 0) & ~O_ACCMODE) |
					 f->access);
	default:
		return false;
	}
}

static bool has_fd(const struct ap_service_call *c)
{
	switch (c->nr) {
	case AP_NR_read:
	case AP_NR_readv:
	case AP_NR_pread64:
	case AP_NR_preadv:
	case AP_NR_preadv2:
	case AP_NR_write:
	case AP_NR_writev:
	case AP_NR_pwrite64:
	case AP_NR_pwritev:
	case AP_NR_pwritev2:
	case AP_NR_fallocate:
	case AP_NR_ftruncate:
	case AP_NR_fchmod:
	case AP_NR_fchown:
	case AP_NR_fsetxattr:
	case AP_NR_fgetxattr:
	case AP_NR_utimensat:
	case AP_NR_fstat:
	case AP_NR_newfstatat:
	case AP_NR_statx:
	case AP_NR_fstatfs:
	case AP_NR_fchdir:
	case AP_NR_fcntl:
	case AP_NR_getdents:
	case AP_NR_getdents64:
		return true;
	default:
		return false;
	}
}

bool ap_tree_fd_before(struct ap_service_call *c)
{
	bool maps = c->nr == AP_NR_mmap && !(c->a[3] & AP_MAP_ANON);
	struct ap_tree_fd f;

	if (!maps && !has_fd(c))
		return false;
	f = ap_tree_of_fd((s32)c->a[maps ? 4 : 0]);
	if (!f.is_known)
		return false;
	if (c->nr == AP_NR_getdents || c->nr == AP_NR_getdents64)
		return ap_tree_getdents(c, &f);
	return !f.is_native && on_ours(c, &f);
}

/* A name in /proc/PID/fd of a descriptor of ours. */
static void name_link(struct ap_service_call *c, u64 dir, u64 path, u64 buf, u64 size)
{
	char text[8], own[AP_TREE_PATH_CAP];
	struct ap_kstat st;
	struct ap_str s;
	u32 node;

	if (ap_svc_sys(AP_NR_readlinkat, dir, path, (u64)text, sizeof(text)) != sizeof(text) ||
	    memcmp(text, "/memfd:f", sizeof(text)) ||
	    ap_svc_sys(AP_NR_newfstatat, dir, path, (u64)&st, 0))
		return;
	node = ap_tree_marked(&st);
	if (!node)
		return;
	ap_str_init(&s, own, sizeof(own));
	ap_tree_path(ap_tree_get(), node - 1, &s);
	if (size > s.len)
		size = s.len;
	c->ret = ap_hook_put(buf, own, size) ? -AP_EFAULT : (s64)size;
}

/* stat by such a name. */
static void show_node(struct ap_service_call *c, u64 buf, bool is_statx, u64 dir, u64 path)
{
	struct ap_kstat st;
	u16 mode;
	u32 node;

	if (ap_hook_get(&mode, buf + (is_statx ? STX_MODE : offsetof(struct ap_kstat, mode)),
			sizeof(mode)) ||
	    mode != 0101444 || ap_svc_sys(AP_NR_newfstatat, dir, path, (u64)&st, 0))
		return;
	node = ap_tree_marked(&st);
	if (node)
		c->ret = is_statx ? ap_tree_statx(node - 1, buf) : ap_tree_stat(node - 1, buf);
}

void ap_tree_fd_after(struct ap_service_call *c)
{
	const u64 here = (u64)AP_AT_FDCWD;

	if (c->tree == AP_TREE_MOVES) {
		if (c->ret || c->nr == AP_NR_chroot || c->nr == AP_NR_unshare)
			ap_tree_cwd_changes();
		else
			ap_tree_cwd_changed();
		return;
	}
	if (c->nr == AP_NR_getdents || c->nr == AP_NR_getdents64) {
		ap_tree_getdents_done(c);
		return;
	}
	if (c->ret < 0)
		return;
	switch (c->nr) {
	case AP_NR_readlink:
		name_link(c, here, c->a[0], c->a[1], c->a[2]);
		break;
	case AP_NR_readlinkat:
		name_link(c, c->a[0], c->a[1], c->a[2], c->a[3]);
		break;
	case AP_NR_stat:
		show_node(c, c->a[1], false, here, c->a[0]);
		break;
	case AP_NR_newfstatat:
		show_node(c, c->a[2], false, c->a[0], c->a[1]);
		break;
	case AP_NR_statx:
		show_node(c, c->a[4], true, c->a[0], c->a[1]);
		break;
	}
}
