/* SPDX-License-Identifier: MIT */
/*
 * Which lines the table has: entries that pass the filters, and under open ones their call trees.  A path
 * without branches is one group with one sign.  Where it has siblings, the sign stands at its first frame and
 * folds the rest; an only child is shown whole, and its sign, at its last frame, folds what it leads to.
 */
#include <stdlib.h>
#include <string.h>

#include "tui/hist_view.h"

struct ap_hist *hist_of(const struct hist_view *h)
{
	return h->p->event[h->event].hist;
}

bool hist_is_open(const struct hist_view *h, u64 mark)
{
	return ap_marks_has(&h->open, mark) != h->is_all_open;
}

void hist_open(struct hist_view *h, u64 mark, bool on)
{
	ap_marks_set(&h->open, mark, on != h->is_all_open);
	h->is_stale = true;
}

void hist_open_all(struct hist_view *h, bool on)
{
	ap_marks_fini(&h->open);
	h->is_all_open = on;
	h->is_stale = true;
}

const struct hist_row *hist_current(const struct hist_view *h)
{
	return h->v.at < h->v.n ? &h->row[h->v.at] : NULL;
}

static u64 mix(u64 h, u64 v)
{
	h = (h ^ v) * 0x9fb21c651e98df25ULL;
	return h ^ h >> 32;
}

static u64 entry_mark(const struct ap_hist_entry *e)
{
	return mix(e->hash, 1) | 1;
}

static u64 frame_mark(u64 parent, const struct ap_frame *f)
{
	return mix(parent, f->sym ? (u64)(uintptr_t)f->sym->name + f->sym->start : f->ip) | 1;
}

static struct hist_row *new_row(struct hist_view *h)
{
	if (h->v.n == h->cap) {
		h->cap = h->cap ? 2 * h->cap : 256;
		h->row = ap_profile_realloc(h->row, h->cap, sizeof(*h->row));
	}
	return &h->row[h->v.n++];
}

static const struct ap_chain_node *group_end(const struct ap_chain_node *n)
{
	while (!n->ends)
		n = n->child;
	return n;
}

/* What a reader that wants few branches is shown of a level; 0: all. */
static u32 most(const struct hist_view *h)
{
	u32 limit = ap_hist_options(hist_of(h))->chain_limit;

	return limit ? limit : ~0U;
}

struct row_level {
	const struct ap_hist_entry *e;
	const struct ap_chain_node *node; /* whose children are meant */
	u64 entry, mark;
	u64 weight, total; /* of the node; what percentages are of */
	u32 depth;
};

/* Visits groups below a node, whether their lines are shown or not. */
typedef void group_fn(struct hist_view *h, const struct row_level *l,
		      const struct ap_chain_node *head, bool is_only);

static void each_group(struct hist_view *h, const struct row_level *l, group_fn *fn)
{
	const struct ap_chain_node *k;
	u32 n = 0;

	for (k = l->node->child; k && n < most(h); k = k->next, n++)
		fn(h, l, k, l->node->child == k && !k->next);
}

static struct row_level below(const struct hist_view *h, const struct row_level *l,
			      const struct ap_chain_node *last, u64 mark)
{
	bool fractal = ap_hist_options(hist_of(h))->chain == AP_CHAIN_FRACTAL;

	return (struct row_level){ .e = l->e,
				   .node = last,
				   .entry = l->entry,
				   .mark = mark,
				   .weight = ap_chain_total(last),
				   .total = fractal ? last->children_hit : l->total,
				   .depth = l->depth + 1 };
}

static void put_group(struct hist_view *h, const struct row_level *l,
		      const struct ap_chain_node *head, bool is_only)
{
	const struct ap_chain_node *last = group_end(head), *n;
	u64 mark = frame_mark(l->mark, &head->frame);
	bool hides = last->child || (!is_only && last != head), open = hist_is_open(h, mark);
	const struct ap_chain_node *signed_at = is_only ? last : head;
	struct row_level next = below(h, l, last, mark);

	for (n = head;; n = n->child) {
		*new_row(h) = (struct hist_row){
			.e = l->e,
			.frame = n,
			.entry = l->entry,
			.mark = mark,
			.total = l->total,
			.depth = l->depth,
			.sign = n == signed_at && hides ? (open ? '-' : '+') : ' ',
			.has_weight = n == head && (!is_only || ap_chain_total(n) != l->weight),
		};
		if (n == last || (!is_only && !open))
			break;
	}
	if (open)
		each_group(h, &next, put_group);
}

static struct row_level top_level(const struct hist_view *h, const struct ap_hist_entry *e)
{
	struct ap_hist *hist = hist_of(h);
	const struct ap_hist_opts *o = ap_hist_options(hist);
	u64 own = o->children ? e->acc_period : e->period;

	return (struct row_level){ .e = e,
				   .node = e->chain,
				   .entry = entry_mark(e),
				   .mark = entry_mark(e),
				   .weight = own,
				   .total =
					   o->chain == AP_CHAIN_FRACTAL ? own : ap_hist_total(hist),
				   .depth = 1 };
}

static void put_entry(struct hist_view *h, const struct ap_hist_entry *e)
{
	struct row_level l = top_level(h, e);
	bool has_tree = e->chain && e->chain->child, open = has_tree && hist_is_open(h, l.mark);

	*new_row(h) = (struct hist_row){
		.e = e,
		.entry = l.entry,
		.mark = l.mark,
		.sign = !has_tree ? ' '
			: open	  ? '-'
				  : '+',
	};
	if (open)
		each_group(h, &l, put_group);
}

static void set_group(struct hist_view *h, const struct row_level *l,
		      const struct ap_chain_node *head, bool is_only)
{
	const struct ap_chain_node *last = group_end(head);
	u64 mark = frame_mark(l->mark, &head->frame);
	struct row_level next = below(h, l, last, mark);

	(void)is_only;
	hist_open(h, mark, h->is_opening);
	each_group(h, &next, set_group);
}

void hist_open_entry(struct hist_view *h, u32 line, bool on)
{
	struct row_level l = top_level(h, h->row[line].e);

	if (!l.node)
		return;
	h->is_opening = on;
	hist_open(h, l.mark, on);
	each_group(h, &l, set_group);
}

/* The nth line of the same mark as the cursor's was, else its entry. */
static void find_cursor(struct hist_view *h, const struct hist_row *old, u32 nth)
{
	u32 i;

	for (i = 0; i < h->v.n && h->row[i].entry != old->entry; i++)
		;
	if (i == h->v.n)
		return;
	h->v.at = i;
	for (; i < h->v.n && h->row[i].entry == old->entry; i++) {
		if (h->row[i].mark != old->mark)
			continue;
		h->v.at = i;
		while (nth-- && i + 1 < h->v.n && h->row[i + 1].mark == old->mark)
			h->v.at = ++i;
		return;
	}
}

/* What passes is chosen by percents of the whole. */
static void set_base(struct hist_view *h, struct ap_hist *hist)
{
	u64 sum = 0;
	u32 i;

	ap_hist_base(hist, 0);
	h->whole = ap_hist_total(hist);
	if (!h->is_relative)
		return;
	for (i = 0; i < ap_hist_entries(hist); i++)
		if (hist_passes(h, ap_hist_entry(hist, i)))
			sum += ap_hist_entry(hist, i)->period;
	ap_hist_base(hist, sum);
}

/*
 * Rows of an older table lead to memory that is gone; their marks do not.  Who looks at the first line of a
 * table that is made anew wants to see what comes first.
 */
void hist_rows_make(struct hist_view *h)
{
	bool follow = h->v.at < h->v.n && (h->v.at || h->generation == h->p->generation);
	struct hist_row old = follow ? h->row[h->v.at] : (struct hist_row){ 0 };
	struct ap_hist *hist = hist_of(h);
	u32 nth = 0, i;

	for (i = h->v.at; follow && i && h->row[i - 1].mark == old.mark; i--)
		nth++;
	if (hist) {
		ap_hist_full_paths(hist, h->p->full_paths);
		set_base(h, hist);
	}
	h->v.n = 0;
	h->shown = 0;
	h->generation = h->p->generation;
	h->is_stale = false;
	for (i = 0; hist && i < ap_hist_entries(hist); i++) {
		const struct ap_hist_entry *e = ap_hist_entry(hist, i);

		if (!hist_passes(h, e))
			continue;
		h->shown += e->n;
		put_entry(h, e);
	}
	if (hist)
		ap_hist_widths(hist, h->width);
	if (follow)
		find_cursor(h, &old, nth);
	ap_view_settle(&h->v);
}
