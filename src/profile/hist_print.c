/* SPDX-License-Identifier: MIT */
/*
 * The table as text: columns as wide as their widest cell, and call trees drawn with lines.  Made to
 * be equal to what perf prints, blanks included.
 */
#include <string.h>

#include "profile/hist_internal.h"

#define INDENT 12

static void blanks(FILE *out, u32 n)
{
	fprintf(out, "%*s", (int)n, "");
}

static const char *frame_name(const struct ap_frame *f, char *buf, size_t size)
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

static void value(const struct pen *p, const struct ap_chain_node *n, u64 total)
{
	switch (p->h->opts.value) {
	case AP_VALUE_PERIOD:
		fprintf(p->out, "%llu", (unsigned long long)ap_chain_total(n));
		break;
	case AP_VALUE_COUNT:
		fprintf(p->out, "%llu", (unsigned long long)(n->count + n->children_count));
		break;
	case AP_VALUE_PERCENT:
		fprintf(p->out, "%.2f%%", percent(ap_chain_total(n), total));
		break;
	}
}

static void frame_line(const struct pen *p, const struct ap_chain_node *n, const char *text,
		       bool first, u32 depth, u64 total)
{
	u32 i;

	blanks(p->out, INDENT + p->left);
	for (i = 0; i < depth; i++) {
		fputc(is_open(p, i) ? '|' : ' ', p->out);
		if (first && i == depth - 1) {
			fputs("--", p->out);
			value(p, n, total);
			fputs("--", p->out);
		} else {
			fputs("          ", p->out);
		}
	}
	fprintf(p->out, "%s\n", text);
}

/* The frames of a path without branches; gives its last. */
static const struct ap_chain_node *path(const struct pen *p, const struct ap_chain_node *n,
					u32 depth, u64 total)
{
	const struct ap_chain_node *head = n;
	char text[4096];

	/* weight of the path is that of its first frame */
	for (;; n = n->child) {
		frame_line(p, head, frame_name(&n->frame, text, sizeof(text)), n == head, depth,
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
				fprintf(out, "%s%s\n", wrote ? "" : "---",
					frame_name(&n->frame, text, sizeof(text)));
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

/* --- the table */

static bool is_percent(enum ap_hist_key k)
{
	return k >= AP_COL_CHILDREN && k <= AP_COL_USER;
}

static u64 weight(const struct ap_hist_entry *e, enum ap_hist_key k)
{
	switch (k) {
	case AP_COL_CHILDREN:
		return e->acc_period;
	case AP_COL_SYS:
		return e->sys;
	case AP_COL_USER:
		return e->user;
	case AP_COL_SAMPLES:
		return e->n;
	default:
		return e->period;
	}
}

static const char *header_of(const struct ap_hist *h, u32 i)
{
	u32 k;

	/* beside the other weight it has another name */
	for (k = 0; k < h->opts.ncolumn && h->opts.column[i] == AP_COL_SELF; k++) {
		if (h->opts.column[k] == AP_COL_CHILDREN)
			return "Self";
	}
	return ap_key_ops(h->opts.column[i])->header;
}

static void widths(const struct ap_hist *h, u32 *width)
{
	u32 i, k, len;

	for (i = 0; i < h->opts.ncolumn; i++) {
		const struct ap_key_ops *ops = ap_key_ops(h->opts.column[i]);

		width[i] = ops->width > strlen(ops->header) ? ops->width : (u32)strlen(ops->header);
		for (k = 0; ops->len && k < h->n; k++) {
			len = ops->len(h, h->entry[k]);
			if (len > width[i])
				width[i] = len;
		}
	}
}

static void print_header(const struct ap_hist *h, const u32 *width, FILE *out)
{
	const char *sep = h->opts.separator;
	u32 i, k;

	fputs("# ", out);
	for (i = 0; i < h->opts.ncolumn; i++) {
		const char *name = header_of(h, i);

		if (i)
			fputs(sep ? sep : "  ", out);
		if (h->opts.column[i] < AP_KEY_N)
			fprintf(out, "%-*s", (int)width[i], name);
		else
			fprintf(out, "%*s", (int)width[i], name);
	}
	fputc('\n', out);
	if (sep)
		return;
	fputs("# ", out);
	for (i = 0; i < h->opts.ncolumn; i++) {
		if (i)
			fputs("  ", out);
		for (k = 0; k < width[i]; k++)
			fputc('.', out);
	}
	fputs("\n#\n", out);
}

static void cell(const struct ap_hist *h, const struct ap_hist_entry *e, u32 i, u32 width,
		 char *buf, size_t size)
{
	enum ap_hist_key k = h->opts.column[i];

	if (h->opts.separator && k >= AP_KEY_N)
		width = 0; /* numbers are not aligned then */
	if (k < AP_KEY_N)
		ap_key_ops(k)->print(h, e, width, buf, size);
	else if (is_percent(k))
		snprintf(buf, size, " %*.2f%%", width ? (int)width - 2 : 0,
			 percent(weight(e, k), h->total));
	else
		snprintf(buf, size, " %*llu", width ? (int)width - 1 : 0,
			 (unsigned long long)weight(e, k));
}

static void print_entry(const struct ap_hist *h, const struct ap_hist_entry *e, const u32 *width,
			FILE *out)
{
	const char *sep = h->opts.separator;
	static char text[16384];
	char *p;
	u32 i;

	for (i = 0; i < h->opts.ncolumn; i++) {
		if (!sep || i)
			fputs(sep ? sep : "  ", out);
		cell(h, e, i, width[i], text, sizeof(text));
		/* a separator in a name would be one column more */
		for (p = text; sep && sep[0] && (p = strstr(p, sep)); p++)
			*p = '.';
		if (i + 1 < h->opts.ncolumn)
			fprintf(out, "%-*s", (int)width[i], text);
		else
			fputs(text, out);
	}
	fputc('\n', out);
}

void ap_hist_print(const struct ap_hist *h, FILE *out)
{
	u32 i, width[AP_HIST_COLUMNS];

	widths(h, width);
	if (!h->opts.no_header)
		print_header(h, width, out);
	for (i = 0; i < h->n; i++) {
		const struct ap_hist_entry *e = h->entry[i];

		if (ap_hist_percent(h, e) < h->opts.percent_limit)
			continue;
		print_entry(h, e, width, out);
		if (e->chain)
			ap_chain_print(h, e, out);
	}
}
