/* SPDX-License-Identifier: MIT */
/*
 * Calls that take a path.  Most paths are none of ours, which the first bytes say; the others are
 * walked (tree.c) and answered from the node.
 *
 * A directory that is the kernel's too is asked of the kernel first.  A process with a filter of its
 * own sees the kernel's files (docs/limits.md): the filter judges its calls, and we make none.
 */
#include "base/mem.h"
#include "service/fds.h"
#include "service/request.h"
#include "service/sys.h"
#include "service/tree.h"
#include "sys/sys.h"

#define NO_DIR	   6 /* index past the arguments: the path is absolute or from the process' directory */
#define O_CREAT	   0100ULL
#define O_EXCL	   0200ULL
#define O_NOFOLLOW 0400000ULL
#define W_OK	   2
#define R_OK	   4
#define X_OK	   1

/* A call with a path, taken apart. */
struct path_call {
	u32 dir, path; /* indices of arguments */
	bool follow;
	u64 flags; /* of an open; of the others the AT_ flags */
	u64 resolve;
};

/* By the first words; what is written in an unusual way is walked. */
bool ap_tree_is_near(const char *path)
{
	if (path[0] != '/')
		return false;
	if (path[1] == '/' || path[1] == '.')
		return true;
	return !strncmp(path, "/sys", 4) || !strncmp(path, "/proc/sys", 9) ||
	       !strncmp(path, "/proc/.", 7) || !strncmp(path, "/proc//", 7);
}

/* What is wrong with it the kernel says. */
static bool open_how(const struct ap_service_call *c, struct path_call *p)
{
	u64 how[3];

	if (c->a[3] < sizeof(how) || ap_hook_get(how, c->a[2], sizeof(how)))
		return false;
	p->flags = how[0];
	p->resolve = how[2];
	return !(p->resolve & ~AP_RESOLVE_ALL) &&
	       !(p->resolve & AP_RESOLVE_BENEATH && p->resolve & AP_RESOLVE_IN_ROOT);
}

static bool open_call(const struct ap_service_call *c, struct path_call *p)
{
	p->dir = c->nr == AP_NR_open ? NO_DIR : 0;
	p->path = c->nr == AP_NR_open ? 0 : 1;
	p->flags = c->a[p->path + 1];
	if (c->nr == AP_NR_openat2 && !open_how(c, p))
		return false;
	p->follow =
		!(p->flags & O_NOFOLLOW) && (p->flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
	return true;
}

/* False: it has no path, or none that could be ours. */
static bool take_apart(const struct ap_service_call *c, struct path_call *p)
{
	*p = (struct path_call){ .dir = NO_DIR, .follow = true };
	switch (c->nr) {
	case AP_NR_chdir:
		return true;
	case AP_NR_open:
	case AP_NR_openat:
	case AP_NR_openat2:
		return open_call(c, p);
	case AP_NR_lstat:
	case AP_NR_readlink:
	case AP_NR_lgetxattr:
	case AP_NR_llistxattr:
		p->follow = false;
		return true;
	case AP_NR_stat:
	case AP_NR_access:
	case AP_NR_statfs:
	case AP_NR_getxattr:
	case AP_NR_listxattr:
		return true;
	case AP_NR_newfstatat:
	case AP_NR_faccessat2:
		p->flags = c->a[3];
		break;
	case AP_NR_statx:
		p->flags = c->a[2];
		break;
	case AP_NR_faccessat:
		break;
	case AP_NR_readlinkat:
		p->flags = AP_AT_SYMLINK_NOFOLLOW;
		break;
	default:
		return false;
	}
	p->dir = 0;
	p->path = 1;
	p->follow = !(p->flags & AP_AT_SYMLINK_NOFOLLOW);
	return true;
}

/* The bytes at src up to a NUL: false where they cannot be read, or are too many. */
static bool get_path(char *dst, u64 src)
{
	u64 n = 0;

	while (n < AP_TREE_PATH_CAP) {
		u64 chunk = AP_PAGE_SIZE - ((src + n) & (AP_PAGE_SIZE - 1));

		if (chunk > AP_TREE_PATH_CAP - n)
			chunk = AP_TREE_PATH_CAP - n;
		if (ap_hook_get(dst + n, src + n, chunk))
			return false;
		if (memchr(dst + n, 0, chunk))
			return true;
		n += chunk;
	}
	return false;
}

/* By the first bytes of an absolute path: could it lead to the tree? */
static bool may_be_ours(u64 src)
{
	char head[3] = "";

	if (ap_hook_get(head, src, sizeof(head)) && ap_hook_get(head, src, 1))
		return false;
	return head[0] != '/' || (head[1] == 's' && head[2] == 'y') ||
	       (head[1] == 'p' && head[2] == 'r') || head[1] == '/' || head[1] == '.';
}

/* Where a relative path begins: false where that is none of our directories. */
static bool begins(const struct ap_service_call *c, const struct path_call *p, u32 *start,
		   bool *is_ours)
{
	struct ap_tree_fd f;

	if (p->dir == NO_DIR || (s32)c->a[p->dir] == AP_AT_FDCWD)
		return ap_tree_cwd(start, is_ours);
	f = ap_tree_of_fd((s32)c->a[p->dir]);
	*start = f.node;
	*is_ours = !f.is_native;
	return f.is_known;
}

/*
 * A path through a descriptor of ours by its number, /proc/self/fd/3/type: *rest is what follows.
 * Where nothing does, the kernel finds the memfd.
 */
static bool by_number(const char *path, u32 *start, const char **rest)
{
	static const char fd_dir[] = "/proc/self/fd/";
	const char *p = path + sizeof(fd_dir) - 1;
	struct ap_tree_fd f;
	u64 fd;

	if (strncmp(path, fd_dir, sizeof(fd_dir) - 1) || !ap_parse_u64(&p, &fd) || *p != '/' ||
	    fd > INT32_MAX)
		return false;
	f = ap_tree_of_fd((s32)fd);
	if (!f.is_known || f.is_native)
		return false;
	while (*p == '/')
		p++;
	*start = f.node;
	*rest = *p ? p : ".";
	return true;
}

/* May a path go through a descriptor's name in /proc? */
static s64 passes_number(u64 resolve)
{
	if (resolve & (AP_RESOLVE_NO_SYMLINKS | AP_RESOLVE_NO_MAGICLINKS))
		return -AP_ELOOP;
	return resolve & AP_RESOLVE_NO_XDEV ? -AP_EXDEV : 0;
}

static s64 access_node(const struct ap_tree_node *n, u64 mode)
{
	if (mode & W_OK && ap_tree_may_write(n))
		return ap_tree_may_write(n);
	if (mode & X_OK && !(n->mode & 0111))
		return -AP_EACCES;
	return mode & R_OK && !(n->mode & 0444) ? -AP_EACCES : 0;
}

static s64 read_link(const struct ap_tree *t, const struct ap_tree_node *n, u64 buf, u64 size)
{
	if ((s32)size <= 0 || (n->mode & AP_TREE_FMT) != AP_TREE_LINK)
		return -AP_EINVAL;
	if (size > n->size)
		size = n->size;
	return ap_hook_put(buf, ap_tree_text(t, n->text), size) ? -AP_EFAULT : (s64)size;
}

static s64 serve(const struct ap_service_call *c, u64 open_flags, u32 node)
{
	const struct ap_tree *t = ap_tree_get();
	const struct ap_tree_node *n = ap_tree_nodes(t) + node;

	switch (c->nr) {
	case AP_NR_chdir:
		return ap_tree_enter(node);
	case AP_NR_open:
	case AP_NR_openat:
	case AP_NR_openat2:
		return ap_tree_open(node, open_flags);
	case AP_NR_stat:
	case AP_NR_lstat:
		return ap_tree_stat(node, c->a[1]);
	case AP_NR_newfstatat:
		return ap_tree_stat(node, c->a[2]);
	case AP_NR_statx:
		return ap_tree_statx(node, c->a[4]);
	case AP_NR_access:
		return access_node(n, c->a[1]);
	case AP_NR_faccessat:
	case AP_NR_faccessat2:
		return access_node(n, c->a[2]);
	case AP_NR_readlink:
		return read_link(t, n, c->a[1], c->a[2]);
	case AP_NR_readlinkat:
		return read_link(t, n, c->a[2], c->a[3]);
	case AP_NR_statfs:
		return ap_tree_statfs(node, c->a[1]);
	case AP_NR_getxattr:
	case AP_NR_lgetxattr:
		return -AP_EOPNOTSUPP;
	default: /* listxattr, llistxattr */
		return 0;
	}
}

/* The kernel's turn, by another name where the walk led it astray. */
static bool pass(struct ap_service_call *c, const struct path_call *p,
		 const struct ap_tree_found *found)
{
	u64 a[6], how[3];

	if (!found->path[0])
		return false;
	memcpy(a, c->a, sizeof(a));
	a[p->path] = (u64)found->path;
	if (c->nr == AP_NR_openat2 && !ap_hook_get(how, a[2], sizeof(how))) {
		how[2] &= ~AP_RESOLVE_NO_XDEV; /* the new one comes from the root */
		a[2] = (u64)how;
		a[3] = sizeof(how);
	}
	c->ret = ap_hook_sys(c->nr, a);
	if (c->nr == AP_NR_chdir && !c->ret)
		ap_tree_cwd_changed();
	return true;
}

static bool opens(u64 nr)
{
	return nr == AP_NR_open || nr == AP_NR_openat || nr == AP_NR_openat2;
}

/* Could the answer be of a descriptor, by its name in /proc? */
static bool shows(u64 nr)
{
	return nr == AP_NR_readlink || nr == AP_NR_readlinkat || nr == AP_NR_stat ||
	       nr == AP_NR_newfstatat || nr == AP_NR_statx;
}

/* It has none; and its tracefs is root's alone, while ours anybody may read. */
static bool is_missing(const struct ap_tree_node *n, s64 ret)
{
	return ret == -AP_ENOENT || (ret == -AP_EACCES && n->fs == AP_TREE_TRACEFS);
}

/* The kernel has answered for what is ours too. */
static void complete(struct ap_service_call *c, const struct path_call *p, u32 node)
{
	const struct ap_tree_node *n = ap_tree_nodes(ap_tree_get()) + node;

	if (c->nr == AP_NR_chdir && !c->ret)
		ap_tree_cwd_changed();
	else if (is_missing(n, c->ret))
		c->ret = serve(c, p->flags, node);
	else if (c->ret >= 0 && opens(c->nr) && !(p->flags & AP_O_PATH) &&
		 (n->mode & AP_TREE_FMT) == AP_TREE_DIR && !ap_tree_can_merge((s32)c->ret))
		ap_tree_replace(node, (s32)c->ret, p->flags);
}

static bool decide(struct ap_service_call *c, const struct path_call *p,
		   const struct ap_tree_found *found)
{
	switch (found->verdict) {
	case AP_TREE_NATIVE:
		if (pass(c, p, found))
			return true;
		c->tree = shows(c->nr) && ap_service_is_used(ap_hook_session()) ? AP_TREE_SHOWS : 0;
		return false;
	case AP_TREE_ERROR:
		c->ret = found->error;
		if (found->is_last && p->flags & O_CREAT &&
		    (c->nr == AP_NR_open || c->nr == AP_NR_openat))
			c->ret = -AP_EACCES;
		return true;
	case AP_TREE_SHARED:
		ap_request_use();
		if (pass(c, p, found)) {
			complete(c, p, found->node);
			return true;
		}
		c->tree = found->node + 1;
		return false;
	default:
		ap_request_use();
		c->ret = serve(c, p->flags, found->node);
		return true;
	}
}

/* Is the process somewhere else afterwards, or under another root? */
static bool moves(u64 nr)
{
	return nr == AP_NR_fchdir || nr == AP_NR_chroot || nr == AP_NR_setns || nr == AP_NR_unshare;
}

/* Must the tree be there to say what the path is?  From "/" as from anywhere else. */
static bool is_wanted(const char *path, u32 start, bool is_ours)
{
	if (*path == '/')
		return ap_tree_is_near(path);
	return start || is_ours || *path == '.' || !strncmp(path, "sys", 3) ||
	       !strncmp(path, "proc/", 5);
}

/* A path that may be of the tree, walked: false where the kernel has it as it stands. */
static bool walk(struct ap_service_call *c)
{
	const struct ap_tree *t;
	struct ap_tree_found found;
	struct path_call p;
	char path[AP_TREE_PATH_CAP];
	const char *rest = path;
	u32 start = 0;
	bool is_ours = false;

	if (!take_apart(c, &p) || ap_svc_is_mute() ||
	    (!(p.resolve & AP_RESOLVE_IN_ROOT) && !may_be_ours(c->a[p.path])) ||
	    !get_path(path, c->a[p.path]) || !*path)
		return false;
	if (ap_mounts_is(path) || ap_cpuinfo_is(path)) {
		c->tree = ap_mounts_is(path) ? AP_TREE_MOUNTS : AP_TREE_CPUS;
		return false;
	}
	if (*path == '/' && p.resolve & AP_RESOLVE_BENEATH)
		return c->ret = -AP_EXDEV, true;
	if ((*path != '/' || p.resolve & AP_RESOLVE_IN_ROOT) && !begins(c, &p, &start, &is_ours))
		return false;
	if (!(p.resolve & AP_RESOLVE_IN_ROOT) && by_number(path, &start, &rest)) {
		c->ret = passes_number(p.resolve);
		if (c->ret)
			return true;
		is_ours = true;
	}
	if (p.resolve & AP_RESOLVE_IN_ROOT || is_wanted(rest, start, is_ours))
		t = ap_tree_need();
	else
		t = ap_service_is_used(ap_hook_session()) ? ap_tree_get() : NULL;
	if (!t)
		return false;
	ap_tree_find_how(t, start, is_ours, rest, p.follow, p.resolve, &found);
	if (found.verdict != AP_TREE_NATIVE && p.flags & O_CREAT && opens(c->nr) &&
	    path[strlen(path) - 1] == '/')
		return c->ret = -AP_EISDIR, true;
	return decide(c, &p, &found);
}

bool ap_tree_before(struct ap_service_call *c)
{
	c->tree = 0;
	if (c->nr == AP_NR_getcwd)
		return ap_tree_getcwd(c);
	if (moves(c->nr)) {
		ap_tree_cwd_changes();
		c->tree = AP_TREE_MOVES;
		return false;
	}
	if (c->nr != AP_NR_chdir)
		return walk(c);
	ap_tree_cwd_changes();
	if (walk(c))
		return true;
	if (!c->tree || c->tree == AP_TREE_MOUNTS || c->tree == AP_TREE_CPUS)
		c->tree = AP_TREE_MOVES;
	return false;
}

void ap_tree_after(struct ap_service_call *c)
{
	struct path_call p;
	char path[AP_TREE_PATH_CAP];

	if (c->tree == AP_TREE_MOVES || c->tree == AP_TREE_SHOWS || !take_apart(c, &p)) {
		ap_tree_fd_after(c);
		return;
	}
	if (c->tree != AP_TREE_MOUNTS && c->tree != AP_TREE_CPUS)
		complete(c, &p, c->tree - 1);
	else if (c->tree == AP_TREE_CPUS && c->ret >= 0 && opens(c->nr))
		ap_cpuinfo_opened((s32)c->ret, p.flags);
	else if (c->ret >= 0 && opens(c->nr) && get_path(path, c->a[p.path]))
		ap_mounts_opened(path, (s32)c->ret, p.flags);
}
