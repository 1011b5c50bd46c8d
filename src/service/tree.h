/* SPDX-License-Identifier: MIT */
/*
 * The generated tree in the program: finding what a path means (tree.c), the calls that take paths
 * (tree_paths.c), descriptors of ours (tree_files.c), lists of entries (tree_dirs.c), the lists of
 * mounts (mounts.c), and /proc/cpuinfo (cpuinfo.c).  docs/design/tree.md.
 */
#ifndef AP_SERVICE_TREE_H
#define AP_SERVICE_TREE_H

#include "abi/tree.h"
#include "base/str.h"
#include "base/types.h"
#include "service/service.h"
#include "sys/nr.h"

#define AP_TREE_PATH_CAP 512U /* longer ones are none of ours */

/* ap_service_call.tree: a node + 1, or */
#define AP_TREE_MOUNTS UINT32_MAX	/* a list of mounts */
#define AP_TREE_MOVES  (UINT32_MAX - 1) /* the process' directory changes */
#define AP_TREE_SHOWS  (UINT32_MAX - 2) /* may show a descriptor of ours */
#define AP_TREE_CPUS   (UINT32_MAX - 3) /* /proc/cpuinfo */

enum ap_tree_verdict {
	AP_TREE_NATIVE, /* the kernel's business, by the name in path where it is not empty */
	AP_TREE_OURS,	/* node */
	AP_TREE_SHARED, /* node, where the kernel has none */
	AP_TREE_ERROR	/* error: -errno */
};

struct ap_tree_found {
	enum ap_tree_verdict verdict;
	u32 node;
	s64 error;
	bool is_last; /* ENOENT: only the last name is missing */
	char path[AP_TREE_PATH_CAP];
};

/*
 * What path means from the directory start on; follow: a link at the end too.  is_ours: start is a
 * descriptor that the kernel would look below in vain.
 */
void ap_tree_find(const struct ap_tree *t, u32 start, bool is_ours, const char *path, bool follow,
		  struct ap_tree_found *out);
/* The same under openat2's flags; with AP_RESOLVE_IN_ROOT an absolute path begins at start, too. */
void ap_tree_find_how(const struct ap_tree *t, u32 start, bool is_ours, const char *path,
		      bool follow, u64 resolve, struct ap_tree_found *out);
#define AP_RESOLVE_NO_XDEV	 1ULL
#define AP_RESOLVE_NO_MAGICLINKS 2ULL
#define AP_RESOLVE_NO_SYMLINKS	 4ULL
#define AP_RESOLVE_BENEATH	 8ULL
#define AP_RESOLVE_IN_ROOT	 16ULL
#define AP_RESOLVE_ALL		 63ULL
/* The node's own path, absolute. */
void ap_tree_path(const struct ap_tree *t, u32 node, struct ap_str *out);

/* The session's tree; NULL where nobody has wanted it yet, or where there is none. */
const struct ap_tree *ap_tree_get(void);
const struct ap_tree *ap_tree_need(void);
/* Is the path absolute, and close enough to the tree that it must be walked? */
AP_MUST_CHECK bool ap_tree_is_near(const char *path);

/* What a descriptor is to the tree. */
struct ap_tree_fd {
	bool is_known;
	bool is_native; /* the kernel's own directory, in which node is */
	u32 node;
	u32 access; /* O_ACCMODE of ours */
};
struct ap_tree_fd ap_tree_of_fd(s32 fd);
/*
 * The same by what fstat says of it; for fds.c: 0 none, else a number of at most 40 bits.  may_ask: the
 * thread is in no request, so that the tree can be had; else AP_TREE_LATER may be the answer.
 */
#define AP_TREE_LATER (1ULL << 39)
u64 ap_tree_look(s32 fd, const struct ap_kstat *st, bool may_ask);
/* tree_cwd.c: the node where the process is, is_ours as in ap_tree_find; false: in none. */
AP_MUST_CHECK bool ap_tree_cwd(u32 *node, bool *is_ours);
void ap_tree_cwd_changes(void); /* perhaps */
void ap_tree_cwd_changed(void); /* to one of the kernel's */
/* chdir to it. */
s64 ap_tree_enter(u32 node);
AP_MUST_CHECK bool ap_tree_getcwd(struct ap_service_call *c);

/* Calls with paths, and calls on descriptors: as ap_service_before and _after. */
AP_MUST_CHECK bool ap_tree_before(struct ap_service_call *c);
void ap_tree_after(struct ap_service_call *c);
AP_MUST_CHECK bool ap_tree_fd_before(struct ap_service_call *c);
void ap_tree_fd_after(struct ap_service_call *c);

/* tree_files.c: a descriptor, a negative errno. */
s64 ap_tree_open(u32 node, u64 flags);
/* Puts the node's descriptor in place of fd; and any, which is closed by its own number. */
void ap_tree_replace(u32 node, s32 fd, u64 flags);
void ap_tree_put(s32 from, s32 fd, u64 flags);
s64 ap_tree_refuses_writing(void);
/* tree_limits.c: files that can be written.  Reads and writes of their descriptors, opened with this O_ACCMODE. */
AP_MUST_CHECK bool ap_tree_is_limit(const struct ap_tree_node *n);
s64 ap_tree_may_write(const struct ap_tree_node *n);
u32 ap_tree_text_of(const struct ap_tree_node *n, const char **text);
s64 ap_tree_limit_read(struct ap_service_call *c, const struct ap_tree_node *n, u32 access);
s64 ap_tree_limit_write(struct ap_service_call *c, u32 node, u32 access);
s64 ap_tree_stat(u32 node, u64 buf);
s64 ap_tree_statx(u32 node, u64 buf);
s64 ap_tree_statfs(u32 node, u64 buf);
/* st is of a descriptor of ours: its node + 1, else 0; and the O_ACCMODE that it was opened with. */
u32 ap_tree_marked(const struct ap_kstat *st);
u32 ap_tree_access(const struct ap_kstat *st);
u64 ap_tree_ino(u32 node);

/* tree_dirs.c */
/* Can entries follow those of the kernel's directory?  Not in one that is nothing but a place to mount. */
AP_MUST_CHECK bool ap_tree_can_merge(s32 fd);
AP_MUST_CHECK bool ap_tree_getdents(struct ap_service_call *c, const struct ap_tree_fd *f);
void ap_tree_getdents_done(struct ap_service_call *c);

/* mounts.c: the descriptor that an open gave may be of a list of mounts. */
void ap_mounts_opened(const char *path, s32 fd, u64 flags);
bool ap_mounts_is(const char *path);
/* All of a file of the kernel's, whose offset goes back to 0; and a copy in its place. */
u64 ap_copy_read(s32 fd, char *buf, u64 cap);
void ap_copy_put(s32 fd, const char *text, u64 len, u64 flags);

/* cpuinfo.c: likewise of /proc/cpuinfo, where the session names a CPU. */
void ap_cpuinfo_opened(s32 fd, u64 flags);
bool ap_cpuinfo_is(const char *path);

#endif
