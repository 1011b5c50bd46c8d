/* SPDX-License-Identifier: MIT */
/*
 * The lines of `anyperf stat -x`.  Fields are those of perf 6.1 in its order:
 *
 *	value, unit, event, [deviation with -r,] run time, percent of it, metric, its unit
 *
 * and one more at the end, so that scripts which count from the left keep working: exact,
 * modelled or kernel, empty where there is no number.  Numbers do not depend on the locale.
 */
#include <inttypes.h>

#include "cli/stat.h"

static void print_value(const struct ap_stat_row *row, FILE *out)
{
	switch (ap_stat_row_state(row)) {
	case AP_STAT_COUNTED:
		if (ap_event_is_clock(row->sel->desc))
			fprintf(out, "%.2f", row->agg.mean / 1e6);
		else if (row->agg.n == 1)
			fprintf(out, "%" PRIu64, row->agg.last);
		else
			fprintf(out, "%.0f", row->agg.mean);
		break;
	case AP_STAT_NOT_COUNTED:
		fputs("<not counted>", out);
		break;
	case AP_STAT_NOT_SUPPORTED:
		fputs("<not supported>", out);
		break;
	}
}

static void print_row(const struct ap_stat *st, const struct ap_stat_row *row, const char *sep,
		      FILE *out)
{
	struct ap_stat_metric metric = ap_stat_row_metric(st, row);
	bool counted = ap_stat_row_state(row) == AP_STAT_COUNTED;
	const struct ap_event_desc *desc = row->sel->desc;

	print_value(row, out);
	fprintf(out, "%s%s%s%s", sep, desc->unit, sep, row->sel->name);
	if (st->runs > 1)
		fprintf(out, "%s%.2f%%", sep, ap_agg_stddev_pct(&row->agg));
	fprintf(out, "%s%.0f%s100.00%s", sep, counted ? st->running.mean : 0.0, sep, sep);
	if (metric.what[0])
		fprintf(out, "%.3f", metric.value);
	fprintf(out, "%s%s%s%s\n", sep, metric.what, sep,
		counted ? ap_event_kind_name(desc->kind) : "");
}

void ap_stat_print_csv(const struct ap_stat *st, const char *separator, FILE *out)
{
	size_t i;

	for (i = 0; i < st->nrows; i++)
		print_row(st, &st->row[i], separator, out);
}
