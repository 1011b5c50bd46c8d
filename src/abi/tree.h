/* SPDX-License-Identifier: MIT */
/*
 * The generated tree: what programs of a session see of perf events in sysfs, procfs and tracefs.
 * The supervisor packs it into the session file when a task first asks for it (AP_SVC_TREE); tasks
 * map it for reading.  docs/design/tree.md.
 *
 *   AP_TREE_OFF   struct ap_tree
 *                 struct ap_tree_node[nnodes]: node 0 is "/"; the children of a directory are
 *                 neighbours, in the order of their names names and texts, each ended by a NUL that
 *                 does not count
 */
#ifndef AP_ABI_TREE_H
#define AP_ABI_TREE_H

#include "abi/service.h"
#include "abi/session.h"
#include "base/types.h"

#define AP_TREE_OFF    (3ULL << 20) /* in the session file, behind the published events */
#define AP_TREE_SIZE   (1ULL << 20)
#define AP_TREE_LIMITS (AP_TREE_SIZE - 256) /* behind the tree: texts of limits that were written */
#define AP_TREE_MAGIC  0x31656572747061ULL  /* "aptree1" */

_Static_assert(AP_PUB_OFF + AP_PUB_MAX * sizeof(struct ap_pub) <= AP_TREE_OFF, "pubs end before");
_Static_assert(AP_TREE_OFF + AP_TREE_SIZE <= AP_SEG_BASE, "segments begin after");

enum ap_tree_fs { AP_TREE_SYSFS, AP_TREE_PROC, AP_TREE_TRACEFS };

/* ap_tree_node.mode, as stat shows it */
#define AP_TREE_FMT  0170000U
#define AP_TREE_DIR  0040000U
#define AP_TREE_FILE 0100000U
#define AP_TREE_LINK 0120000U

#define AP_TREE_EIO UINT32_MAX

struct ap_tree_node {
	u32 parent;
	u32 name; /* offset from the tree's start */
	/*
	 * Offset, bytes: of a file or link; size AP_TREE_EIO: reading fails.  Of limits they
	 * change, together.
	 */
	u32 text, size;
	u32 first, n; /* children of a directory */
	u16 mode;
	u8 fs; /* enum ap_tree_fs */
	/* The kernel's: ours stands in where it has none, and of a directory is merged into its. */
	u8 is_shared;
	u32 nlink;
};

struct ap_tree {
	u64 magic; /* stored last */
	u32 nnodes, size;
};

static inline const struct ap_tree_node *ap_tree_nodes(const struct ap_tree *t)
{
	return (const struct ap_tree_node *)(t + 1);
}

static inline const char *ap_tree_text(const struct ap_tree *t, u32 off)
{
	return (const char *)t + off;
}

#endif
