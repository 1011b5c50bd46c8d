/* SPDX-License-Identifier: MIT */
/*
 * The table of `anyperf stat`.  Columns are those of perf 6.1, byte for byte up to the end of its
 * comment; there follows what the number is (# exact, # kernel, ...) and, with -r, the deviation.
 * Thousands are separated where the locale of the caller does so.
 */
#include <inttypes.h>
#include <math.h>

#include "cli/stat.h"

/* Widths that perf has: value 18, unit 4, name 32 with its padding, comment 32. */
#define NAME_WIDTH 32
#define TEXT_WIDTH 23

static void print_value(const struct ap_stat_row *row, FILE *out)
{
	const struct ap_agg *agg = &row->agg;

	switch (ap_stat_row_state(row)) {
	case AP_STAT_COUNTED:
		if (ap_event_is_clock(row->sel->desc))
			fprintf(out, "%'18.2f", agg->mean / 1e6);
		else if (agg->n == 1)
			fprintf(out, "%'18" PRIu64, agg->last);
		else
			fprintf(out, "%'18.0f", agg->mean);
		break;
	case AP_STAT_NOT_COUNTED:
		fprintf(out, "%18s", "<not counted>");
		break;
	case AP_STAT_NOT_SUPPORTED:
		fprintf(out, "%18s", "<not supported>");
		break;
	}
	fprintf(out, " %-4s ", row->sel->desc->unit);
}

/* What the number is, in the words that stand after perf's comment. */
static const char *tag(const struct ap_stat_row *row)
{
	const struct ap_event_desc *desc = row->sel->desc;

	if (desc->from == AP_FROM_SW && row->source == AP_SRC_RUSAGE)
		return "rusage";
	if (desc->from == AP_FROM_SW && row->source == AP_SRC_PROC)
		return "proc";
	if (desc->from == AP_FROM_TIME && desc->index != AP_TIME_WALL)
		return "rusage";
	return ap_event_kind_name(desc->kind);
}

static void print_row(const struct ap_stat *st, const struct ap_stat_row *row, FILE *out)
{
	struct ap_stat_metric metric = ap_stat_row_metric(st, row);
	double pct = ap_agg_stddev_pct(&row->agg);

	print_value(row, out);
	if (ap_stat_row_state(row) != AP_STAT_COUNTED) {
		fprintf(out, "%s\n", row->sel->name);
		return;
	}
	fprintf(out, "%-*s ", NAME_WIDTH, row->sel->name);
	if (metric.what[0])
		fprintf(out, "# %8.3f %-*s", metric.value, TEXT_WIDTH, metric.what);
	else
		fprintf(out, "%*s", TEXT_WIDTH + 11, "");
	if (pct > 0)
		fprintf(out, " # %-8s  ( +-%6.2f%% )\n", tag(row), pct);
	else
		fprintf(out, " # %s\n", tag(row));
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

static void print_times(const struct ap_stat *st, FILE *out)
{
	double wall = st->wall.mean / 1e9, deviation = ap_agg_stddev(&st->wall) / 1e9;
	int n = digits(deviation);

	if (st->runs > 1) {
		fprintf(out, " %17.*f +- %.*f seconds time elapsed  ( +-%6.2f%% )\n\n", n, wall, n,
			deviation, ap_agg_stddev_pct(&st->wall));
		return;
	}
	fprintf(out, " %17.9f seconds time elapsed\n\n", wall);
	fprintf(out, " %17.9f seconds user\n", st->user.mean / 1e9);
	fprintf(out, " %17.9f seconds sys\n\n", st->sys.mean / 1e9);
}

void ap_stat_print_table(const struct ap_stat *st, FILE *out)
{
	size_t i;

	fprintf(out, "\n Performance counter stats for '%s'", st->command);
	if (st->runs > 1)
		fprintf(out, " (%u runs)", st->runs);
	fputs(":\n\n", out);
	for (i = 0; i < st->nrows; i++)
		print_row(st, &st->row[i], out);
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

void ap_stat_print_notes(const struct ap_stat *st, const char *prefix, bool verbose, FILE *out)
{
	size_t i;

	for (i = 0; verbose && i < st->nrows; i++) {
		const struct ap_stat_row *row = &st->row[i];
		bool counted = ap_stat_row_state(row) == AP_STAT_NOT_COUNTED;

		if (ap_stat_row_why(row))
			fprintf(out, "%s%s: <not %s>: %s\n", prefix, row->sel->name,
				counted ? "counted" : "supported", ap_stat_row_why(row));
	}
	if (verbose && includes_engine(st))
		fprintf(out,
			"%skernel: what the kernel saw, the engine's own work included; asked for "
			"alone, its events are counted without the engine\n",
			prefix);
	for (i = 0; i < st->nnotes; i++) {
		fprintf(out, "%s%s", prefix, st->note[i].text);
		if (st->note[i].times > 1)
			fprintf(out, " (%u times)", st->note[i].times);
		fputc('\n', out);
	}
	if (st->tasks_running)
		fprintf(out, "%s%u task%s still running\n", prefix, st->tasks_running,
			st->tasks_running == 1 ? "" : "s");
	if (st->tasks_short)
		fprintf(out, "%skilled: at most %" PRIu64 " instructions short (%u task%s)\n",
			prefix, st->short_by, st->tasks_short, st->tasks_short == 1 ? "" : "s");
}

void ap_stat_print(const struct ap_stat *st, const struct ap_stat_format *fmt, FILE *out)
{
	if (fmt->separator) {
		ap_stat_print_csv(st, fmt->separator, out);
		ap_stat_print_notes(st, "# ", fmt->verbose, out);
		return;
	}
	ap_stat_print_table(st, out);
	ap_stat_print_notes(st, "", fmt->verbose, out);
	fputc('\n', out);
}
