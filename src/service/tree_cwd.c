/* SPDX-License-Identifier: MIT */
/*
 * Where the process is.  In a directory that the kernel has as well the kernel knows, and is asked
 * once after each change.  In one that only the tree has we remember it, and the kernel has the process in
 * the nearest directory above that exists.
 *
 * A vfork child may be elsewhere than the process whose memory it has: its place is in its slot.
 */
#include "base/mem.h"
#include "service/hooks.h"
#include "service/sys.h"
#include "service/tree.h"
#include "sys/sys.h"

/* 0: to be asked; else */
#define NOWHERE	 1U	      /* in none of the tree's */
#define AT(node) ((node) + 2) /* and with OURS in one that the kernel need not have */
#define OURS	 (1U << 31)

/* Low word: as above.  High word: how often it has changed. */
static u64 cwd;

static u32 *own(void)
{
	struct ap_hook_place place;

	if (ap_hook_shares_files())
		return NULL;
	ap_hook_place(&place);
	return &place.slot->cwd;
}

static void set(u32 to)
{
	u64 was = __atomic_load_n(&cwd, __ATOMIC_ACQUIRE);
	u32 *mine = own();

	if (mine) {
		*mine = to ? to : NOWHERE; /* what is not known now is asked each time */
		return;
	}
	while (!__atomic_compare_exchange_n(&cwd, &was, ((was >> 32) + 1) << 32 | to, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
}

/* What is remembered. */
static u32 known(void)
{
	u32 *mine = own();

	return mine && *mine ? *mine : (u32)__atomic_load_n(&cwd, __ATOMIC_ACQUIRE);
}

void ap_tree_cwd_changes(void)
{
	if (!(known() & OURS))
		set(0);
}

void ap_tree_cwd_changed(void)
{
	set(0);
}

static u32 ask(void)
{
	const struct ap_tree *t;
	struct ap_tree_found found;
	char path[AP_TREE_PATH_CAP];

	if (ap_svc_sys(AP_NR_getcwd, (u64)path, sizeof(path), 0, 0) <= 0)
		return NOWHERE;
	if (!strcmp(path, "/"))
		return AT(0);
	t = ap_tree_is_near(path) ? ap_tree_need() : NULL;
	if (!t)
		return NOWHERE;
	ap_tree_find(t, 0, false, path, true, &found);
	return found.verdict == AP_TREE_OURS || found.verdict == AP_TREE_SHARED ? AT(found.node)
										: NOWHERE;
}

bool ap_tree_cwd(u32 *node, bool *is_ours)
{
	u64 was = __atomic_load_n(&cwd, __ATOMIC_ACQUIRE);
	bool is_own = !ap_hook_shares_files();
	u32 c = known();

	/* our own node numbers hold where the tree can be had */
	if (c & OURS && !ap_tree_need())
		return false;
	if (!(c & OURS) && (is_own || !c)) {
		c = ask();
		if (!is_own)
			__atomic_compare_exchange_n(&cwd, &was, was | c, false, __ATOMIC_ACQ_REL,
						    __ATOMIC_RELAXED);
	}
	*is_ours = c & OURS;
	*node = (c & ~OURS) - 2;
	return c != NOWHERE;
}

s64 ap_tree_enter(u32 node)
{
	const struct ap_tree *t = ap_tree_get();
	char path[AP_TREE_PATH_CAP];
	struct ap_str s;
	char *end;
	s64 ret;

	if ((ap_tree_nodes(t)[node].mode & AP_TREE_FMT) != AP_TREE_DIR)
		return -AP_ENOTDIR;
	ap_str_init(&s, path, sizeof(path));
	ap_tree_path(t, node, &s);
	for (end = path + s.len;;) {
		ret = ap_svc_sys(AP_NR_chdir, (u64)path, 0, 0, 0);
		/* nor may a real one above be searched by everybody */
		if ((ret != -AP_ENOENT && ret != -AP_EACCES) || end == path + 1)
			break;
		while (end > path + 1 && *--end != '/')
			;
		*end = 0;
	}
	if (!ret)
		set(AT(node) | OURS);
	return ret;
}

bool ap_tree_getcwd(struct ap_service_call *c)
{
	char path[AP_TREE_PATH_CAP];
	struct ap_str s;
	bool is_ours;
	u32 node;

	if (!(known() & OURS) || !ap_tree_cwd(&node, &is_ours))
		return false;
	ap_str_init(&s, path, sizeof(path));
	ap_tree_path(ap_tree_get(), node, &s);
	if (c->a[1] <= s.len)
		c->ret = -AP_ERANGE;
	else
		c->ret = ap_hook_put(c->a[0], path, s.len + 1) ? -AP_EFAULT : (s64)s.len + 1;
	return true;
}

u32 ap_service_cwd(void)
{
	u32 c = known();

	return c & OURS ? c : 0;
}

void ap_service_begins_in(u32 where)
{
	cwd = where;
}
