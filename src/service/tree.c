/* SPDX-License-Identifier: MIT */
/*
 * What a path means in the generated tree.
 *
 * A walk goes through our nodes only.  Where it leaves a directory that is the kernel's as well for a
 * name that we do not have, the rest is the kernel's business; what the tree holds is never so far
 * off the beaten track that the kernel's links lead to it.  Where the way there led over links or
 * directories that only we have, the kernel is given a path without them.
 */
#include "service/tree.h"

#include "base/mem.h"
#include "service/request.h"
#include "service/sys.h"

#define LINKS_MAX 40

static const struct ap_tree *tree;
static bool none; /* asked for in vain */

const struct ap_tree *ap_tree_get(void)
{
	const struct ap_tree *t = __atomic_load_n(&tree, __ATOMIC_ACQUIRE);

	if (!t) {
		t = ap_hook_map_head(AP_TREE_OFF, AP_TREE_SIZE);
		/* Of two that come first the other's mapping stays unused. */
		if (t)
			__atomic_store_n(&tree, t, __ATOMIC_RELEASE);
	}
	return t && __atomic_load_n(&t->magic, __ATOMIC_ACQUIRE) == AP_TREE_MAGIC ? t : NULL;
}

/* A signal that waits already goes on waiting: the request takes milliseconds, once in a session. */
static void ask(void)
{
	struct ap_request r;
	u64 mask;
	bool held = ap_hook_hold(&mask);

	ap_request_begin_held(&r, AP_SVC_TREE);
	if (ap_request_ask(&r))
		__atomic_store_n(&none, true, __ATOMIC_RELAXED);
	if (held)
		ap_hook_release(mask);
}

const struct ap_tree *ap_tree_need(void)
{
	const struct ap_tree *t = ap_tree_get();

	if (t || __atomic_load_n(&none, __ATOMIC_RELAXED) || ap_svc_is_mute())
		return t;
	ask();
	return ap_tree_get();
}

static s32 compare(const char *name, const char *word, u64 len)
{
	s32 d = strncmp(name, word, len);

	return d ? d : (s32)(u8)name[len];
}

/* 0: none; the root is nobody's child. */
static u32 child_of(const struct ap_tree *t, u32 dir, const char *name, u64 len)
{
	const struct ap_tree_node *v = ap_tree_nodes(t);
	u32 lo = v[dir].first, hi = lo + v[dir].n;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		s32 d = compare(ap_tree_text(t, v[mid].name), name, len);

		if (!d)
			return mid;
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

void ap_tree_path(const struct ap_tree *t, u32 node, struct ap_str *out)
{
	const struct ap_tree_node *v = ap_tree_nodes(t);
	u32 way[16], n = 0;

	for (; node && n < AP_ARRAY_SIZE(way); node = v[node].parent)
		way[n++] = node;
	if (!n)
		ap_str_char(out, '/');
	while (n) {
		ap_str_char(out, '/');
		ap_str_add(out, ap_tree_text(t, v[way[--n]].name));
	}
}

struct tree_walk {
	const struct ap_tree *t;
	const struct ap_tree_node *v;
	u32 at, links;
	u32 top; /* where ".." ends, with AP_RESOLVE_BENEATH and IN_ROOT */
	u64 resolve;
	bool follow;
	bool moved; /* the kernel's walk would be another */
	char rest[AP_TREE_PATH_CAP];
};

static void fail(struct ap_tree_found *out, s64 error)
{
	out->verdict = AP_TREE_ERROR;
	out->error = error;
}

/* The kernel's path of rest below the present directory, where it is not the one that was asked. */
static void tell_kernel(const struct tree_walk *w, const char *rest, struct ap_tree_found *out)
{
	struct ap_str s;

	/* within bounds only the path as it was given stays */
	if (!w->moved || w->resolve & (AP_RESOLVE_BENEATH | AP_RESOLVE_IN_ROOT))
		return;
	ap_str_init(&s, out->path, sizeof(out->path));
	ap_tree_path(w->t, w->at, &s);
	if (w->at && *rest)
		ap_str_char(&s, '/');
	ap_str_add(&s, rest);
	if (s.cut)
		fail(out, -AP_ENAMETOOLONG);
}

static void leave(const struct tree_walk *w, const char *rest, struct ap_tree_found *out)
{
	out->verdict = AP_TREE_NATIVE;
	tell_kernel(w, rest, out);
}

static void arrive(const struct tree_walk *w, struct ap_tree_found *out)
{
	out->node = w->at;
	out->verdict = AP_TREE_OURS;
	if (w->v[w->at].is_shared) {
		out->verdict = AP_TREE_SHARED;
		tell_kernel(w, "", out);
	}
}

/* The link's text takes the place of its name; false where that is too long. */
static bool replace(struct tree_walk *w, u32 link, const char *rest)
{
	char text[AP_TREE_PATH_CAP];
	struct ap_str s;

	ap_str_init(&s, text, sizeof(text));
	ap_str_add(&s, ap_tree_text(w->t, w->v[link].text));
	ap_str_add(&s, rest);
	memcpy(w->rest, text, s.len + 1);
	w->moved = true;
	return !s.cut && ++w->links <= LINKS_MAX;
}

static u32 type_of(const struct tree_walk *w, u32 node)
{
	return w->v[node].mode & AP_TREE_FMT;
}

/* Is one of them the root of a mount in the other? */
static bool crosses(const struct tree_walk *w, u32 a, u32 b)
{
	return w->resolve & AP_RESOLVE_NO_XDEV && a != b && (!a || !b || w->v[a].fs != w->v[b].fs);
}

static bool go_up(struct tree_walk *w, struct ap_tree_found *out)
{
	u32 up = w->v[w->at].parent;

	if (w->at == w->top && w->resolve & AP_RESOLVE_BENEATH)
		return fail(out, -AP_EXDEV), false;
	if (w->at == w->top && w->resolve & AP_RESOLVE_IN_ROOT)
		return true;
	if (crosses(w, w->at, up))
		return fail(out, -AP_EXDEV), false;
	w->moved = true;
	w->at = up;
	return true;
}

/* One name, from p on, and what follows: false at the end, with *out filled. */
static bool step(struct tree_walk *w, const char **p, struct ap_tree_found *out)
{
	const char *start = *p, *name = start, *end;
	u64 len;
	u32 next;

	while (*name == '/')
		name++;
	for (end = name; *end && *end != '/'; end++)
		;
	len = (u64)(end - name);
	*p = end;
	if (type_of(w, w->at) != AP_TREE_DIR && name != start)
		return fail(out, -AP_ENOTDIR), false;
	if (!len)
		return arrive(w, out), false;
	if (len == 1 && name[0] == '.')
		return true;
	if (len == 2 && name[0] == '.' && name[1] == '.')
		return go_up(w, out);
	next = child_of(w->t, w->at, name, len);
	if (!next && w->v[w->at].is_shared)
		return leave(w, name, out), false;
	if (!next) {
		out->is_last = !*end;
		return fail(out, -AP_ENOENT), false;
	}
	if (crosses(w, w->at, next))
		return fail(out, -AP_EXDEV), false;
	if (type_of(w, next) == AP_TREE_LINK && (*end || w->follow)) {
		if (w->resolve & AP_RESOLVE_NO_SYMLINKS || !replace(w, next, end))
			return fail(out, -AP_ELOOP), false;
		*p = w->rest;
		return true;
	}
	w->at = next;
	return true;
}

void ap_tree_find(const struct ap_tree *t, u32 start, bool is_ours, const char *path, bool follow,
		  struct ap_tree_found *out)
{
	ap_tree_find_how(t, start, is_ours, path, follow, 0, out);
}

void ap_tree_find_how(const struct ap_tree *t, u32 start, bool is_ours, const char *path,
		      bool follow, u64 resolve, struct ap_tree_found *out)
{
	struct tree_walk w = { .t = t,
			       .v = ap_tree_nodes(t),
			       .at = *path == '/' && !(resolve & AP_RESOLVE_IN_ROOT) ? 0 : start,
			       .top = start,
			       .resolve = resolve,
			       .follow = follow,
			       .moved = is_ours && *path != '/' };
	const char *p = w.rest;
	u64 len = strlen(path);

	out->path[0] = 0;
	out->is_last = false;
	if (len >= sizeof(w.rest)) {
		out->verdict = AP_TREE_NATIVE;
		return;
	}
	memcpy(w.rest, path, len + 1);
	while (step(&w, &p, out))
		;
}
