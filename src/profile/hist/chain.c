/* SPDX-License-Identifier: MIT */
/*
 * Call trees.  A node is a frame under a path of frames; what perf keeps as one node with a list
 * of frames (a path without branches) is made of such nodes when it is printed.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/hist/hist_internal.h"

#define BLOCK (256U * 1024)

void *ap_arena_get(struct ap_arena *a, size_t size)
{
	char *p;

	size = (size_t)AP_ALIGN_UP(size, 16);
	if (size > a->left) {
		size_t block = size + 16 > BLOCK ? size + 16 : BLOCK;

		p = ap_profile_calloc(1, block);
		memcpy(p, &a->blocks, sizeof(void *));
		a->blocks = p;
		a->at = p + 16;
		a->left = block - 16;
	}
	p = a->at;
	a->at += size;
	a->left -= size;
	return p;
}

void ap_arena_fini(struct ap_arena *a)
{
	void *p, *next;

	for (p = a->blocks; p; p = next) {
		memcpy(&next, p, sizeof(next));
		free(p);
	}
	memset(a, 0, sizeof(*a));
}

void ap_chains_fini(struct ap_chains *c)
{
	ap_arena_fini(&c->arena);
	ap_table_fini(&c->nodes);
	memset(c, 0, sizeof(*c));
}

/* Functions are the same by their address; where one was expanded, by name. */
static bool same_frame(const struct ap_frame *a, const struct ap_frame *b)
{
	if (a->sym && b->sym)
		return a->sym == b->sym ||
		       ((a->sym->inlined || b->sym->inlined) && a->sym->name == b->sym->name);
	return !a->sym && !b->sym && a->dso == b->dso && a->ip == b->ip;
}

static u64 hash_of(const struct ap_chain_node *parent, const struct ap_frame *f)
{
	return ap_hash_mix(ap_hash_ptr(0, parent), f->sym ? (uintptr_t)f->sym->name : f->ip);
}

static struct ap_chain_node *child_of(struct ap_chains *c, struct ap_chain_node *parent,
				      const struct ap_frame *f)
{
	u64 hash = hash_of(parent, f);
	const struct ap_table_slot *s;
	struct ap_chain_node *node;

	ap_table_each(&c->nodes, hash, s)
	{
		node = ap_table_ptr(s);
		if (node->parent == parent && same_frame(&node->frame, f))
			return node;
	}
	node = ap_arena_get(&c->arena, sizeof(*node));
	node->frame = *f;
	node->parent = parent;
	node->next = parent->child;
	parent->child = node;
	parent->nchild++;
	ap_profile_table_add(&c->nodes, hash, node);
	return node;
}

struct ap_chain_node *ap_chain_root(struct ap_chains *c)
{
	return ap_arena_get(&c->arena, sizeof(struct ap_chain_node));
}

void ap_chain_add(struct ap_chains *c, struct ap_chain_node *root, const struct ap_frame *frame,
		  u32 n, u64 period, u64 count)
{
	struct ap_chain_node *node = root;
	u32 i;

	for (i = 0; i < n; i++) {
		node->children_hit += period;
		node->children_count += count;
		node = child_of(c, node, &frame[i]);
	}
	node->hit += period;
	node->count += count;
}

u64 ap_chain_total(const struct ap_chain_node *node)
{
	return node->hit + node->children_hit;
}

/* Heaviest first; else later files and higher addresses first, as perf's trees have them. */
static int by_place(const void *pa, const void *pb)
{
	const struct ap_chain_node *a = *(struct ap_chain_node *const *)pa;
	const struct ap_chain_node *b = *(struct ap_chain_node *const *)pb;
	u64 ia = a->frame.ip, ib = b->frame.ip;
	u32 da, db;

	if (a->frame.sym && b->frame.sym) {
		if (a->frame.sym->inlined || b->frame.sym->inlined)
			return strcmp(b->frame.sym->name, a->frame.sym->name);
		ia = a->frame.sym->start;
		ib = b->frame.sym->start;
	}
	da = a->frame.dso ? a->frame.dso->index + 1 : 0;
	db = b->frame.dso ? b->frame.dso->index + 1 : 0;
	if (da != db)
		return da > db ? -1 : 1;
	return ia != ib ? (ia > ib ? -1 : 1) : 0;
}

static int by_weight(const void *pa, const void *pb)
{
	u64 a = ap_chain_total(*(struct ap_chain_node *const *)pa);
	u64 b = ap_chain_total(*(struct ap_chain_node *const *)pb);

	return a != b ? (a > b ? -1 : 1) : by_place(pa, pb);
}

static void sort_children(struct ap_chain_node *node, int (*cmp)(const void *, const void *))
{
	struct ap_chain_node **v, *few[16], *k;
	u32 i = 0, n = node->nchild;

	if (n < 2)
		return;
	v = n <= AP_ARRAY_SIZE(few) ? few
				    : ap_profile_realloc(NULL, n, sizeof(struct ap_chain_node *));
	for (k = node->child; k; k = k->next)
		v[i++] = k;
	qsort(v, n, sizeof(struct ap_chain_node *), cmp);
	node->child = v[0];
	for (i = 0; i < n; i++)
		v[i]->next = i + 1 < n ? v[i + 1] : NULL;
	if (v != few)
		free(v);
}

static void all_paths(struct ap_chain_node *node, u64 min, struct ap_chain_node ***v, u32 *n,
		      u32 *cap)
{
	struct ap_chain_node *k;

	for (k = node->child; k; k = k->next) {
		all_paths(k, min, v, n, cap);
		if (!k->hit || k->hit < min)
			continue;
		if (*n == *cap) {
			*cap = *cap ? 2 * *cap : 64;
			*v = ap_profile_realloc(*v, *cap, sizeof(struct ap_chain_node *));
		}
		(*v)[(*n)++] = k;
	}
}

static void sort_all(struct ap_chain_node *node)
{
	struct ap_chain_node *k;

	sort_children(node, by_place);
	for (k = node->child; k; k = k->next)
		sort_all(k);
}

u32 ap_chain_paths(struct ap_chain_node *root, u64 min, struct ap_chain_node ***out)
{
	struct ap_chain_node *t;
	u32 i, k, n = 0, cap = 0;

	*out = NULL;
	sort_all(root);
	all_paths(root, min, out, &n, &cap);
	/* heaviest first, those that weigh the same in the order of the tree; there are few */
	for (i = 1; i < n; i++) {
		t = (*out)[i];
		for (k = i; k && (*out)[k - 1]->hit < t->hit; k--)
			(*out)[k] = (*out)[k - 1];
		(*out)[k] = t;
	}
	return n;
}

/*
 * The weight that a branch must have: of the whole table, or (fractal) of what leaves the last node
 * with a choice.  Within a path without branches nothing is taken off, because it is one node to
 * perf.
 */
static void prune(struct ap_chain_node *node, u64 min)
{
	struct ap_chain_node **at = &node->child, *k;

	while ((k = *at)) {
		if (ap_chain_total(k) >= min) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		node->nchild--;
	}
}

void ap_chain_sort(struct ap_chain_node *root, u64 min, const struct ap_hist_opts *opts)
{
	struct ap_chain_node *node = root, *k;

	/* down the path that perf has as one node, without recursion: stacks are deep */
	while (node->parent && node->nchild == 1 && !node->count)
		node = node->child;
	node->ends = true;
	if (opts->chain == AP_CHAIN_FRACTAL) {
		double part = (double)node->children_hit * opts->chain_percent / 100;

		min = (u64)part + ((double)(u64)part < part);
	}
	prune(node, min);
	sort_children(node, by_weight);
	for (k = node->child; k; k = k->next)
		ap_chain_sort(k, min, opts);
}
