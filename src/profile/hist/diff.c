/* SPDX-License-Identifier: MIT */
#include "profile/hist/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "print/print.h"
#include "profile/hist/hist_internal.h"

#define PERIOD_WIDTH  14
#define FORMULA_WIDTH 70

struct diff_row {
	const struct ap_hist_entry *e; /* what is shown: the later one where there are both */
	bool was, is;
	bool hidden; /* by the filter, of the baseline where it was there */
	u64 before, after;
	double delta, ratio;
	s64 weighted;
};

struct diff_table {
	struct diff_row *row;
	size_t n;
	const struct ap_hist_opts *keys;
	const struct ap_diff_opts *opts;
	const struct ap_hist *names; /* for printing cells */
	u64 before, after;	     /* sums */
};

static int cmp_names(const char *a, const char *b)
{
	if (!a || !b)
		return !a ? (b ? 1 : 0) : -1;
	return strcmp(a, b);
}

/* By the names that the keys show. */
static int cmp_keys(const struct diff_table *t, const struct ap_hist_entry *a,
		    const struct ap_hist_entry *b)
{
	int r = 0;
	u32 i;

	for (i = 0; i < t->keys->nsort && !r; i++) {
		switch (t->keys->sort[i]) {
		case AP_KEY_COMM:
			r = strcmp(a->comm, b->comm);
			break;
		case AP_KEY_DSO:
			r = cmp_names(a->dso ? a->dso->name : NULL, b->dso ? b->dso->name : NULL);
			break;
		case AP_KEY_SYM:
			r = cmp_names(a->sym ? a->sym->name : NULL, b->sym ? b->sym->name : NULL);
			break;
		default:
			break;
		}
	}
	return r;
}

static int by_keys(const void *pa, const void *pb, void *arg)
{
	const struct diff_row *a = pa, *b = pb;

	return cmp_keys(arg, a->e, b->e);
}

static int cmp_double(double a, double b)
{
	return a > b ? -1 : a < b;
}

static int by_change(const void *pa, const void *pb, void *arg)
{
	const struct diff_row *a = pa, *b = pb;
	const struct diff_table *t = arg;
	int r = 0;

	/* what is gone comes last */
	if (a->is != b->is)
		return a->is ? -1 : 1;
	switch (t->opts->how) {
	case AP_DIFF_DELTA_ABS:
		r = cmp_double(fabs(a->delta), fabs(b->delta));
		break;
	case AP_DIFF_DELTA:
		r = cmp_double(a->delta, b->delta);
		break;
	case AP_DIFF_RATIO:
		r = cmp_double(a->ratio, b->ratio);
		break;
	case AP_DIFF_WEIGHTED:
		r = a->weighted != b->weighted ? (a->weighted > b->weighted ? -1 : 1) : 0;
		break;
	}
	if (t->opts->how >= AP_DIFF_RATIO && a->was != b->was && a->is && b->is)
		return a->was ? -1 : 1; /* a ratio to nothing is none */
	if (!a->is || !r)
		r = a->before != b->before ? (a->before > b->before ? -1 : 1) : 0;
	if (!r)
		r = a->after != b->after ? (a->after > b->after ? -1 : 1) : 0;
	return r ? r : cmp_keys(t, a->e, b->e);
}

static void take(struct diff_table *t, const struct ap_hist *h, bool after)
{
	u32 i;

	for (i = 0; h && i < ap_hist_entries(h); i++) {
		const struct ap_hist_entry *e = ap_hist_entry(h, i);

		t->row[t->n++] = (struct diff_row){ .e = e,
						    .was = !after,
						    .is = after,
						    .hidden = e->hidden,
						    .before = after ? 0 : e->period,
						    .after = after ? e->period : 0 };
	}
}

/* Rows of the same names become one. */
static void pair(struct diff_table *t)
{
	size_t i, n = 0;

	if (t->n)
		qsort_r(t->row, t->n, sizeof(*t->row), by_keys, t);
	for (i = 0; i < t->n; i++) {
		struct diff_row *r = n ? &t->row[n - 1] : NULL;

		if (!r || cmp_keys(t, r->e, t->row[i].e)) {
			t->row[n++] = t->row[i];
			continue;
		}
		if (t->row[i].is && !r->is)
			r->e = t->row[i].e;
		if (t->row[i].was == r->was)
			r->hidden &= t->row[i].hidden;
		else if (t->row[i].was)
			r->hidden = t->row[i].hidden;
		r->was |= t->row[i].was;
		r->is |= t->row[i].is;
		r->before += t->row[i].before;
		r->after += t->row[i].after;
	}
	t->n = n;
}

static double percent(u64 part, u64 all)
{
	return all ? 100.0 * (double)part / (double)all : 0.0;
}

static void compute(struct diff_table *t)
{
	size_t i, n = 0;

	for (i = 0; i < t->n; i++) {
		struct diff_row *r = &t->row[i];

		r->delta = percent(r->after, t->after) - percent(r->before, t->before);
		r->weighted =
			(s64)r->after * t->opts->weight[1] - (s64)r->before * t->opts->weight[0];
		r->ratio = r->before ? (double)r->after / (double)r->before : 0.0;
	}
	if (!t->opts->baseline_only)
		return;
	for (i = 0, t->before = 0; i < t->n; i++) {
		if (t->row[i].was && t->row[i].is) {
			t->before += t->row[i].before;
			t->row[n++] = t->row[i];
		}
	}
	t->n = n;
}

static void change(const struct diff_table *t, const struct diff_row *r, int width, FILE *out)
{
	char text[64] = "";

	if (r->is && t->opts->how < AP_DIFF_RATIO)
		snprintf(text, sizeof(text), "%+.2f%%", r->delta);
	else if (r->is && r->was && t->opts->how == AP_DIFF_WEIGHTED)
		snprintf(text, sizeof(text), "%lld", (long long)r->weighted);
	else if (r->is && r->was)
		snprintf(text, sizeof(text), "%.6f", r->ratio);
	else if (r->is)
		snprintf(text, sizeof(text), "N/A");
	ap_print(out, "%*s", width, text);
}

/* How the change was computed; of what is gone nothing was. */
static void formula(const struct diff_table *t, const struct diff_row *r, FILE *out)
{
	unsigned long long before = r->before, after = r->after;
	char text[160] = "";

	if (r->is && t->opts->how < AP_DIFF_RATIO)
		snprintf(text, sizeof(text), "(%llu * 100 / %llu) - (%llu * 100 / %llu)", after,
			 (unsigned long long)t->after, before, (unsigned long long)t->before);
	else if (r->is && t->opts->how == AP_DIFF_RATIO)
		snprintf(text, sizeof(text), "%llu / %llu", after, before);
	else if (r->is)
		snprintf(text, sizeof(text), "(%llu * %lld) - (%llu * %lld)", after,
			 (long long)t->opts->weight[1], before, (long long)t->opts->weight[0]);
	ap_print(out, "  %*s", FORMULA_WIDTH, text);
}

static bool is_left_out(const struct diff_table *t, u32 i)
{
	return t->keys->single[t->keys->sort[i]];
}

static void print_row(const struct diff_table *t, const struct diff_row *r, int width,
		      const u32 *key_width, FILE *out)
{
	static char text[16384];
	u32 i;

	if (r->was)
		fprintf(out, "   %6.2f%%", percent(r->before, t->before));
	else
		ap_print(out, "%10s", "");
	if (t->opts->periods)
		fprintf(out, "  %*llu", PERIOD_WIDTH, (unsigned long long)r->before);
	fputs("  ", out);
	change(t, r, width, out);
	if (t->opts->formula)
		formula(t, r, out);
	if (t->opts->periods && r->is)
		fprintf(out, "  %*llu", PERIOD_WIDTH, (unsigned long long)r->after);
	else if (t->opts->periods)
		ap_print(out, "  %*s", PERIOD_WIDTH, "");
	for (i = 0; i < t->keys->nsort; i++) {
		if (is_left_out(t, i))
			continue;
		ap_key_ops(t->keys->sort[i])
			->print(t->names, r->e, key_width[i], text, sizeof(text));
		if (i + 1 < t->keys->nsort)
			ap_print(out, "  %-*.*s", (int)key_width[i], (int)ap_hist_trim(text), text);
		else
			ap_print(out, "  %s", text);
	}
	fputc('\n', out);
}

static void dots(u32 n, FILE *out)
{
	fputs("  ", out);
	while (n--)
		fputc('.', out);
}

static void header(const struct diff_table *t, const char *name, int width, const u32 *key_width,
		   FILE *out)
{
	u32 i;

	fputs("# Baseline", out);
	if (t->opts->periods)
		ap_print(out, "  %*s", PERIOD_WIDTH, "Base period");
	ap_print(out, "  %*s", width, name);
	if (t->opts->formula)
		ap_print(out, "  %*s", FORMULA_WIDTH, "Formula");
	if (t->opts->periods)
		ap_print(out, "  %*s", PERIOD_WIDTH, "Period");
	for (i = 0; i < t->keys->nsort; i++) {
		if (!is_left_out(t, i))
			ap_print(out, "  %-*s", (int)key_width[i],
				 ap_key_ops(t->keys->sort[i])->header);
	}
	fputs("\n# ........", out);
	if (t->opts->periods)
		dots(PERIOD_WIDTH, out);
	dots((u32)width, out);
	if (t->opts->formula)
		dots(FORMULA_WIDTH, out);
	if (t->opts->periods)
		dots(PERIOD_WIDTH, out);
	for (i = 0; i < t->keys->nsort; i++) {
		if (!is_left_out(t, i))
			dots(key_width[i], out);
	}
	fputs("\n#\n", out);
}

static void print(const struct diff_table *t, FILE *out)
{
	static const struct {
		const char *name;
		int width;
	} columns[] = { [AP_DIFF_DELTA_ABS] = { "Delta Abs", 9 },
			[AP_DIFF_DELTA] = { "Delta", 7 },
			[AP_DIFF_RATIO] = { "Ratio", 14 },
			[AP_DIFF_WEIGHTED] = { "Weighted diff", 14 } };
	u32 i, len, width[AP_HIST_COLUMNS];
	size_t k;

	for (i = 0; i < t->keys->nsort; i++) {
		const struct ap_key_ops *ops = ap_key_ops(t->keys->sort[i]);

		width[i] = (u32)strlen(ops->header);
		for (k = 0; k < t->n; k++) {
			len = t->row[k].hidden ? 0 : ops->len(t->names, t->row[k].e);
			width[i] = len > width[i] ? len : width[i];
		}
	}
	if (!t->keys->no_header)
		header(t, columns[t->opts->how].name, columns[t->opts->how].width, width, out);
	for (k = 0; k < t->n; k++) {
		if (!t->row[k].hidden)
			print_row(t, &t->row[k], columns[t->opts->how].width, width, out);
	}
}

void ap_diff_print(const struct ap_hist *before, const struct ap_hist *after,
		   const struct ap_hist_opts *keys, const struct ap_diff_opts *opts, FILE *out)
{
	struct diff_table t = { .keys = keys, .opts = opts, .names = before ? before : after };
	size_t most = (before ? ap_hist_entries(before) : 0) + (after ? ap_hist_entries(after) : 0);

	t.before = before ? ap_hist_total(before) : 0;
	t.after = after ? ap_hist_total(after) : 0;
	t.row = ap_profile_calloc(most, sizeof(*t.row));
	take(&t, before, false);
	take(&t, after, true);
	pair(&t);
	compute(&t);
	if (t.n)
		qsort_r(t.row, t.n, sizeof(*t.row), by_change, &t);
	print(&t, out);
	free(t.row);
}
