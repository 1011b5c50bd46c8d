/* SPDX-License-Identifier: MIT */
/*
 * The table as text: columns as wide as their widest cell, and call trees drawn with lines.  Made
 * to be equal to what perf prints, blanks included.
 */
#include <stdlib.h>
#include <string.h>

#include "print/print.h"
#include "profile/hist/hist_internal.h"

#define INDENT 12

static void blanks(FILE *out, u32 n)
{
	ap_print(out, "%*s", (int)n, "");
}

const char *ap_frame_name(const struct ap_frame *f, char *buf, size_t size)
{
	if (f->sym)
		snprintf(buf, size, "%s%s", f->sym->name, f->sym->inlined ? " (inlined)" : "");
	else
		snprintf(buf, size, "%#llx", (unsigned long long)f->ip);
	return buf;
}

static double percent(u64 part, u64 total)
{
	return total ? (double)part * 100.0 / (double)total : 0.0;
}

/* Which of the levels above still have a branch to come. */
struct pen {
	FILE *out;
	const struct ap_hist *h;
	u32 left; /* blanks before everything */
	u64 open[8];
};

static void set_open(struct pen *p, u32 level, bool open)
{
	if (level >= 64 * AP_ARRAY_SIZE(p->open))
		return;
	if (open)
		p->open[level / 64] |= 1ULL << level % 64;
	else
		p->open[level / 64] &= ~(1ULL << level % 64);
}

static bool is_open(const struct pen *p, u32 level)
{
	return level < 64 * AP_ARRAY_SIZE(p->open) && (p->open[level / 64] >> level % 64 & 1);
}

static void line_between(const struct pen *p, u32 depth)
{
	u32 i;

	blanks(p->out, INDENT + p->left);
	for (i = 0; i < depth; i++)
		fputs(is_open(p, i) ? "|          " : "           ", p->out);
	fputc('\n', p->out);
}

static const char *value(const struct ap_hist *h, u64 period, u64 count, u64 total, char *buf,
			 size_t size)
{
	switch (h->opts.value) {
	case AP_VALUE_PERIOD:
		snprintf(buf, size, "%llu", (unsigned long long)period);
		break;
	case AP_VALUE_COUNT:
		snprintf(buf, size, "%llu", (unsigned long long)count);
		break;
	case AP_VALUE_PERCENT:
		snprintf(buf, size, "%.2f%%", percent(period, total));
		break;
	}
	return buf;
}

const char *ap_chain_value(const struct ap_hist *h, const struct ap_chain_node *n, u64 total,
			   char *buf, size_t size)
{
	return value(h, ap_chain_total(n), n->count + n->children_count, total, buf, size);
}

static void frame_line(const struct pen *p, const struct ap_chain_node *n, const char *text,
		       bool first, u32 depth, u64 total)
{
	char weight[64];
	u32 i;

	blanks(p->out, INDENT + p->left);
	for (i = 0; i < depth; i++) {
		fputc(is_open(p, i) ? '|' : ' ', p->out);
		if (first && i == depth - 1) {
			ap_print(p->out, "--%s--",
				 ap_chain_value(p->h, n, total, weight, sizeof(weight)));
		} else {
			fputs("          ", p->out);
		}
	}
	ap_print(p->out, "%s\n", text);
}

/* The frames of a path without branches; gives its last. */
static const struct ap_chain_node *path(const struct pen *p, const struct ap_chain_node *n,
					u32 depth, u64 total)
{
	const struct ap_chain_node *head = n;
	char text[4096];

	/* weight of the path is that of its first frame */
	for (;; n = n->child) {
		frame_line(p, head, ap_frame_name(&n->frame, text, sizeof(text)), n == head, depth,
			   total);
		if (n->ends)
			return n;
	}
}

static bool branches(struct pen *p, const struct ap_chain_node *node, u64 total, u32 depth)
{
	bool fractal = p->h->opts.chain == AP_CHAIN_FRACTAL;
	const struct ap_chain_node *k, *last;
	u64 rest = total;
	u32 n = 0;

	for (k = node->child; k; k = k->next) {
		rest -= ap_chain_total(k);
		line_between(p, depth);
		if (!k->next && (!fractal || !rest))
			set_open(p, depth - 1, false);
		last = path(p, k, depth, total);
		set_open(p, depth, true);
		branches(p, last, fractal ? last->children_hit : total, depth + 1);
		set_open(p, depth, false);
		if (++n == p->h->opts.chain_limit)
			break;
	}
	if (fractal && rest && rest != total) {
		struct ap_chain_node left = { .hit = rest };

		set_open(p, depth - 1, false);
		frame_line(p, &left, "[...]", true, depth, total);
	}
	return node->child;
}

void ap_chain_print(const struct ap_hist *h, const struct ap_hist_entry *e, FILE *out)
{
	struct pen p = { .out = out, .h = h };
	const struct ap_chain_node *root = e->chain, *n = root->child;
	u64 period = h->opts.children ? e->acc_period : e->period, total = h->total;
	bool wrote = false;
	char text[4096];
	u32 shown = 0;

	if (n && !n->next && ap_chain_total(n) == period) {
		bool first = true;

		for (;; n = n->child) {
			if (!(first && h->opts.sym_first)) {
				if (!wrote) {
					blanks(out, INDENT);
					fputs("|\n", out);
				}
				blanks(out, INDENT + (wrote ? 3 : 0));
				ap_print(out, "%s%s\n", wrote ? "" : "---",
					 ap_frame_name(&n->frame, text, sizeof(text)));
				p.left = 3;
				wrote = true;
				if (++shown == h->opts.chain_limit)
					break;
			}
			first = false;
			if (n->ends)
				break;
		}
		while (!n->ends)
			n = n->child;
		root = n;
	}
	if (h->opts.chain == AP_CHAIN_FRACTAL)
		total = period;
	set_open(&p, 0, true);
	if (branches(&p, root, total, 1))
		wrote = true;
	if (wrote)
		fputc('\n', out);
}

/* The frames from the root to a node, which knows only what is above it. */
static void path_frames(const struct ap_hist *h, const struct ap_chain_node *node, FILE *out)
{
	const char *sep = h->opts.separator ? h->opts.separator : ";";
	bool flat = h->opts.chain == AP_CHAIN_FLAT;
	const struct ap_chain_node *n, **up;
	u32 depth = 0, i;
	char text[4096];

	for (n = node; n->parent; n = n->parent)
		depth++;
	up = ap_profile_realloc(NULL, depth + 1, sizeof(*up));
	for (n = node, i = depth; i--; n = n->parent)
		up[i] = n;
	for (i = 0; i < depth; i++) {
		if (flat)
			blanks(out, INDENT + 4);
		else if (i)
			fputs(sep, out); /* raw: the user's */
		ap_print_field(out, ap_frame_name(&up[i]->frame, text, sizeof(text)),
			       flat ? NULL : sep);
		if (flat)
			fputc('\n', out);
	}
	free(up);
}

void ap_chain_print_paths(const struct ap_hist *h, const struct ap_hist_entry *e, FILE *out)
{
	bool flat = h->opts.chain == AP_CHAIN_FLAT;
	struct ap_chain_node **path;
	char weight[64];
	u32 i, n = ap_chain_paths(e->chain, ap_chain_min(h), &path);

	if (h->opts.chain_limit && n > h->opts.chain_limit)
		n = h->opts.chain_limit;
	for (i = 0; i < n; i++) {
		struct ap_chain_node *p = path[i];

		if (flat)
			blanks(out, INDENT - 1);
		ap_print(out, flat ? "%s\n" : "%s ",
			 value(h, flat ? ap_chain_total(p) : p->hit,
			       flat ? p->count + p->children_count : p->count, h->total, weight,
			       sizeof(weight)));
		path_frames(h, p, out);
		fputc('\n', out);
	}
	free(path);
}

/* --- the table */

static bool is_percent(enum ap_hist_key k)
{
	return k >= AP_COL_CHILDREN && k <= AP_COL_USER;
}

/* Columns that are not shown: the filter's only one. */
bool ap_hist_left_out(const struct ap_hist *h, u32 i)
{
	u32 key = h->opts.column[i];

	/* all lines are of one tracepoint */
	if (key >= AP_KEY_FIELD && key <= AP_KEY_FIELD_LAST && h->n && !h->nmember)
		return ap_field_is_none(h->entry[0], key - AP_KEY_FIELD);
	return key < AP_KEY_N && h->opts.single[key];
}

double ap_hist_share(const struct ap_hist *h, const struct ap_hist_entry *e, u32 i)
{
	enum ap_hist_key k = h->opts.column[i];

	return is_percent(k) ? percent(ap_hist_weight(e, k), ap_hist_total(h)) : -1;
}

const char *ap_hist_header(const struct ap_hist *h, u32 i)
{
	u32 k;

	/* beside the other weight it has another name */
	for (k = 0; k < h->opts.ncolumn && h->opts.column[i] == AP_COL_SELF; k++) {
		if (h->opts.column[k] == AP_COL_CHILDREN)
			return "Self";
	}
	if (h->opts.column[i] >= AP_KEY_FIELD && h->opts.column[i] <= AP_KEY_FIELD_LAST)
		return h->opts.field[h->opts.column[i] - AP_KEY_FIELD];
	return ap_key_ops(h->opts.column[i])->header;
}

static u32 column_width(const struct ap_hist *h, u32 i)
{
	const struct ap_key_ops *ops = ap_key_ops(h->opts.column[i]);
	u32 k, len, width = ops->width;

	if (h->opts.column[i] < AP_KEY_N && h->opts.width[i])
		return h->opts.width[i];
	if (h->opts.column[i] >= AP_KEY_N && h->nmember)
		width *= h->nmember;
	if (width < strlen(ap_hist_header(h, i)))
		width = (u32)strlen(ap_hist_header(h, i));
	for (k = 0; ops->len && k < h->n; k++) {
		len = h->entry[k]->hidden ? 0 : ops->len(h, h->entry[k]);
		if (len > width)
			width = len;
	}
	return h->opts.width[i] > width ? h->opts.width[i] : width;
}

void ap_hist_widths(const struct ap_hist *h, u32 *width)
{
	for (u32 i = 0; i < h->opts.ncolumn; i++)
		width[i] = column_width(h, i);
}

static void print_header(const struct ap_hist *h, const u32 *width, FILE *out)
{
	const char *sep = h->opts.separator;
	bool first = true;
	u32 i, k;

	fputs("# ", out);
	for (i = 0; i < h->opts.ncolumn; i++) {
		const char *name = ap_hist_header(h, i);

		if (ap_hist_left_out(h, i))
			continue;
		if (!first)
			fputs(sep ? sep : "  ", out); /* raw: the user's */
		first = false;
		if (h->opts.column[i] < AP_KEY_N)
			ap_print(out, "%-*.*s", (int)width[i], (int)width[i], name);
		else
			ap_print(out, "%*s", (int)width[i], name);
	}
	fputc('\n', out);
	if (sep)
		return;
	fputs("# ", out);
	for (i = 0, first = true; i < h->opts.ncolumn; i++) {
		if (ap_hist_left_out(h, i))
			continue;
		if (!first)
			fputs("  ", out);
		first = false;
		for (k = 0; k < width[i]; k++)
			fputc('.', out);
	}
	fputs("\n#\n", out);
}

/* A weight of one event of a group; e is NULL where that has none. */
static int number(const struct ap_hist *h, const struct ap_hist_entry *e, enum ap_hist_key k,
		  u32 width, char *buf, size_t size)
{
	u64 v = e ? ap_hist_weight(e, k) : 0;

	if (is_percent(k))
		return snprintf(buf, size, " %*.2f%%", width > 2 ? (int)width - 2 : 0,
				percent(v, h ? ap_hist_total(h) : 0));
	return snprintf(buf, size, " %*llu", width ? (int)width - 1 : 0, (unsigned long long)v);
}

void ap_hist_cell(const struct ap_hist *h, const struct ap_hist_entry *e, u32 i, u32 width,
		  char *buf, size_t size)
{
	enum ap_hist_key k = h->opts.column[i];
	u32 m;
	int n;

	if (k < AP_KEY_N) {
		ap_key_ops(k)->print(h, e, width, buf, size);
		return;
	}
	/* as narrow as it is wanted: blanks then follow */
	width = h->opts.width[i] ? h->opts.width[i] : h->nmember ? ap_key_ops(k)->width : width;
	if (h->opts.separator)
		width = 0; /* numbers are not aligned then */
	n = number(h, e, k, width, buf, size);
	for (m = 1; m < h->nmember && (size_t)n < size; m++)
		n += number(h->member[m], e->pair ? e->pair[m] : NULL, k, width, buf + n,
			    size - (size_t)n);
}

size_t ap_hist_trim(const char *cell)
{
	size_t n = strlen(cell);

	while (n && cell[n - 1] == ' ')
		n--;
	return n;
}

static void print_entry(const struct ap_hist *h, const struct ap_hist_entry *e, const u32 *width,
			FILE *out)
{
	const char *sep = h->opts.separator;
	static char text[16384];
	bool first = true;
	u32 i, last = h->opts.ncolumn;

	while (last && ap_hist_left_out(h, last - 1))
		last--;
	for (i = 0; i < last; i++) {
		if (ap_hist_left_out(h, i))
			continue;
		if (!sep || !first)
			fputs(sep ? sep : "  ", out); /* raw: the user's */
		first = false;
		ap_hist_cell(h, e, i, width[i], text, sizeof(text));
		ap_field_guard(text, sep);
		if (i + 1 < last) /* padded anew, as wide as it is shown */
			ap_print(out, "%-*.*s", (int)width[i], (int)ap_hist_trim(text), text);
		else
			ap_print_str(out, text);
	}
	fputc('\n', out);
}

void ap_hist_print(const struct ap_hist *h, FILE *out)
{
	u32 i, width[AP_HIST_COLUMNS];

	ap_hist_widths(h, width);
	if (!h->opts.no_header)
		print_header(h, width, out);
	for (i = 0; i < h->n; i++) {
		const struct ap_hist_entry *e = h->entry[i];

		if (e->hidden || ap_hist_percent(h, e) < h->opts.percent_limit)
			continue;
		print_entry(h, e, width, out);
		if (e->chain && h->opts.chain >= AP_CHAIN_FLAT)
			ap_chain_print_paths(h, e, out);
		else if (e->chain)
			ap_chain_print(h, e, out);
	}
}
