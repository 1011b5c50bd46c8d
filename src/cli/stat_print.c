/* SPDX-License-Identifier: MIT */
/*
 * The table of `anyperf stat`.  Columns are those of perf 6.1, byte for byte up to the end of its
 * comment; there follows what the number is (# exact, # kernel, ...) and, with -r, the deviation.
 * Thousands are separated where the locale of the caller does so.
 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"
#include "cli/stat_metrics.h"
#include "print/print.h"

/* Widths that perf has: value 18, unit 4, name 32 with its padding, comment 32. */
#define NAME_WIDTH 32
#define TEXT_WIDTH 23
#define HEAD_EVERY 25 /* intervals */

/*
 * A locale takes a C library some dozen files, so only what groups digits is asked for one, and C
 * groups none.
 */
void ap_stat_group_digits(void)
{
	static const char *const names[] = { "LC_ALL", "LC_NUMERIC", "LANG" };
	const char *value = NULL;

	for (size_t i = 0; i < AP_ARRAY_SIZE(names) && (!value || !*value); i++)
		value = secure_getenv(names[i]);
	if (value && *value && strcmp(value, "C") && strncmp(value, "C.", 2) &&
	    strcmp(value, "POSIX"))
		setlocale(LC_NUMERIC, "");
}

static void print_value(const struct ap_stat_row *row, FILE *out)
{
	const struct ap_agg *agg = &row->agg;

	switch (ap_stat_row_state(row)) {
	case AP_STAT_COUNTED:
		if (ap_event_is_fraction(row->sel->desc))
			fprintf(out, "%'18.2f", ap_event_fraction(row->sel->desc, agg->mean));
		else if (agg->n == 1)
			fprintf(out, "%'18" PRIu64, agg->last);
		else
			fprintf(out, "%'18.0f", agg->mean);
		break;
	case AP_STAT_NOT_COUNTED:
		ap_print(out, "%18s", "<not counted>");
		break;
	case AP_STAT_NOT_SUPPORTED:
		ap_print(out, "%18s", "<not supported>");
		break;
	}
	ap_print(out, " %-4s ", row->sel->desc->unit);
}

static void print_metric(const struct ap_stat_metric *m, FILE *out)
{
	if (!m->what[0])
		ap_print(out, "%*s", TEXT_WIDTH + 11, "");
	else if (m->style == AP_METRIC_RATE)
		ap_print(out, "# %8.3f %-*s", m->value, TEXT_WIDTH, m->what);
	else if (m->style == AP_METRIC_RATIO)
		ap_print(out, "# %7.2f  %-*s", m->value, TEXT_WIDTH, m->what);
	else
		ap_print(out, "# %7.2f%% %-*s", m->value, TEXT_WIDTH, m->what);
}

static void print_row(const struct ap_stat *st, const struct ap_stat_row *row, FILE *out)
{
	struct ap_stat_metric metric = ap_stat_row_metric(st, row);
	const char *cgroup = ap_stat_row_cgroup(st, row);
	double pct = st->runs > 1 ? ap_agg_stddev_pct(&row->agg) : ap_stat_row_error(st, row);

	ap_stat_print_place(st, row->place, out);
	print_value(row, out);
	if (ap_stat_row_state(row) != AP_STAT_COUNTED) {
		ap_print(out, "%s%s%s\n", row->sel->name, cgroup ? " " : "", cgroup ? cgroup : "");
		return;
	}
	ap_print(out, "%-*s ", NAME_WIDTH, row->sel->name);
	if (cgroup)
		ap_print(out, "%s ", cgroup);
	print_metric(&metric, out);
	if (pct > 0 || (pct >= 0 && st->runs == 1))
		ap_print(out, " # %-8s  ( +-%6.2f%% )", ap_stat_row_tag(row), pct);
	else
		ap_print(out, " # %s", ap_stat_row_tag(row));
	if (ap_stat_row_ran(row) < 100)
		fprintf(out, "  (%.2f%%)", ap_stat_row_ran(row));
	fputc('\n', out);
}

/* As many digits as the deviation makes meaningful, two more, nine at most. */
static int digits(double deviation)
{
	long n;

	if (deviation <= 0)
		return 9;
	n = deviation > 1 ? 2 : lround(ceil(-log10(deviation))) + 2;
	return n > 9 ? 9 : (int)n;
}

/*
 * Each run's time, how far it is from the mean, and a bar that has a sign more for each 5 percent
 * of that, up to a screen's width.
 */
static void print_runs(const struct ap_stat *st, int n, FILE *out)
{
	enum { LONGEST_BAR = 60 };
	double mean = st->wall.mean / 1e9;
	char text[64];
	int indent;

	snprintf(text, sizeof(text), " %17.*f", n, mean);
	indent = (int)strspn(text, " ");
	ap_print(out, "%*s# Table of individual measurements:\n", indent, "");
	for (unsigned int i = 0; i < st->runs; i++) {
		double run = (double)st->run_ns[i] / 1e9;
		double off = run > 0 ? fabs(100 * (run - mean) / run) / 5 : 0;
		int bar = 1 + (int)fmin(off, LONGEST_BAR - 1);

		fprintf(out, " %17.*f (%+.*f) ", n, run, n, run - mean);
		for (; bar; bar--)
			fputc('#', out);
		fputc('\n', out);
	}
	ap_print(out, "\n%*s# Final result:\n", indent, "");
}

static void print_times(const struct ap_stat *st, FILE *out)
{
	double wall = st->wall.mean / 1e9, deviation = ap_agg_stddev(&st->wall) / 1e9;
	int n = digits(deviation);

	if (st->runs > 1) {
		if (st->has_table)
			print_runs(st, n, out);
		fprintf(out, " %17.*f +- %.*f seconds time elapsed  ( +-%6.2f%% )\n\n", n, wall, n,
			deviation, ap_agg_stddev_pct(&st->wall));
		return;
	}
	fprintf(out, " %17.9f seconds time elapsed\n\n", wall);
	if (!st->has_times)
		return;
	fprintf(out, " %17.9f seconds user\n", st->user.mean / 1e9);
	fprintf(out, " %17.9f seconds sys\n\n", st->sys.mean / 1e9);
}

void ap_stat_print_table_rows(const struct ap_stat *st, const char *time, FILE *out)
{
	const struct ap_stat_row **rows = ap_xgrow(NULL, st->nplaces, sizeof(struct ap_stat_row *));
	size_t i, n;

	for (i = 0; i < st->nrows; i += st->nplaces) {
		ap_stat_order(st, i, rows);
		for (n = 0; n < st->nplaces; n++) {
			if (*time)
				ap_print(out, "%s ", time);
			print_row(st, rows[n], out);
		}
	}
	free(rows);
}

/* Of whatever kind is wanted; head: names of columns that have none otherwise. */
static void print_rows(const struct ap_stat *st, const struct ap_stat_format *fmt, const char *time,
		       bool head, FILE *out)
{
	bool only = st->metrics && st->metrics->only;

	if (!only && fmt->style == AP_STAT_TABLE)
		ap_stat_print_table_rows(st, time, out);
	else if (!only && fmt->style == AP_STAT_CSV)
		ap_stat_print_csv(st, fmt->separator, time, out);
	else if (!only)
		ap_stat_print_json(st, time, out);
	ap_stat_print_metrics(st, fmt, time, head, out);
}

void ap_stat_print_table(const struct ap_stat *st, FILE *out)
{
	const struct ap_stat_format fmt = { .style = AP_STAT_TABLE };

	ap_print(out, "\n Performance counter stats for %s", st->title);
	if (st->runs > 1)
		fprintf(out, " (%u runs)", st->runs);
	fputs(":\n\n", out);
	print_rows(st, &fmt, "", true, out);
	if (st->nrows)
		fputc('\n', out);
	print_times(st, out);
}

/* Does a number of the kernel stand beside exact ones, which took the engine to count? */
static bool includes_engine(const struct ap_stat *st)
{
	bool kernel = false, engine = false;
	size_t i;

	for (i = 0; i < st->nrows; i++) {
		if (ap_stat_row_state(&st->row[i]) != AP_STAT_COUNTED)
			continue;
		kernel |= st->row[i].sel->desc->kind == AP_KIND_KERNEL;
		engine |= st->row[i].sel->desc->from == AP_FROM_RAW;
	}
	return kernel && engine;
}

/* A line after the counts, in the manner of the format. */
static void note(const struct ap_stat_format *fmt, FILE *out, const char *text, ...)
	__attribute__((format(printf, 3, 4)));

static void note(const struct ap_stat_format *fmt, FILE *out, const char *text, ...)
{
	char line[400];
	va_list ap;

	va_start(ap, text);
	vsnprintf(line, sizeof(line), text, ap);
	va_end(ap);
	if (fmt->style == AP_STAT_JSON)
		ap_stat_print_json_note(line, out);
	else
		ap_print(out, "%s%s\n", fmt->style == AP_STAT_CSV ? "# " : "", line);
}

static void print_reasons(const struct ap_stat *st, const struct ap_stat_format *fmt, FILE *out)
{
	size_t i;

	for (i = 0; i < st->nrows; i++) {
		const struct ap_stat_row *row = &st->row[i];
		bool counted = ap_stat_row_state(row) == AP_STAT_NOT_COUNTED;

		if (ap_stat_row_why(row))
			note(fmt, out, "%s: <not %s>: %s", row->sel->name,
			     counted ? "counted" : "supported", ap_stat_row_why(row));
	}
	if (includes_engine(st))
		note(fmt, out,
		     "kernel: what the kernel saw, the engine's own work included; asked for "
		     "alone, its events are counted without the engine");
}

void ap_stat_print_notes(const struct ap_stat *st, const struct ap_stat_format *fmt, FILE *out)
{
	size_t i;

	if (fmt->verbose)
		print_reasons(st, fmt, out);
	for (i = 0; i < st->nnotes; i++) {
		if (st->note[i].times > 1)
			note(fmt, out, "%s (%u times)", st->note[i].text, st->note[i].times);
		else
			note(fmt, out, "%s", st->note[i].text);
	}
	if (st->is_estimated)
		note(fmt, out,
		     "estimated: the models saw one part in %u of the run; --model-sample 1 has them see all of it",
		     st->model_sample);
	if (st->tasks_running)
		note(fmt, out, "%u task%s still running", st->tasks_running,
		     st->tasks_running == 1 ? "" : "s");
	if (st->tasks_short)
		note(fmt, out,
		     "killed: up to %" PRIu64 " instructions are missing in the counts (%u task%s)",
		     st->short_by, st->tasks_short, st->tasks_short == 1 ? "" : "s");
}

void ap_stat_print(const struct ap_stat *st, const struct ap_stat_format *fmt, FILE *out)
{
	if (fmt->style == AP_STAT_TABLE)
		ap_stat_print_table(st, out);
	else
		print_rows(st, fmt,
			   fmt->is_summary && fmt->style == AP_STAT_CSV ? "         summary" : "",
			   true, out);
	ap_stat_print_notes(st, fmt, out);
	if (fmt->style == AP_STAT_TABLE)
		fputc('\n', out);
}

void ap_stat_print_interval(const struct ap_stat *st, const struct ap_stat_format *fmt, u64 ns,
			    unsigned int nth, FILE *out)
{
	char time[64];

	/* as perf has it: padded, but for JSON, where it is a number */
	snprintf(time, sizeof(time), "%*" PRIu64 ".%09" PRIu64, fmt->style == AP_STAT_JSON ? 0 : 6,
		 ns / 1000000000, ns % 1000000000);
	if (fmt->style == AP_STAT_TABLE && nth % HEAD_EVERY == 0 &&
	    !(st->metrics && st->metrics->only))
		ap_stat_print_table_head(st, out);
	print_rows(st, fmt, time, fmt->style == AP_STAT_CSV ? !nth : nth % HEAD_EVERY == 0, out);
}
