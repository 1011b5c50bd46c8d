/* SPDX-License-Identifier: MIT */
/*
 * The lines of `anyperf stat -x`.  Fields are those of perf 6.1 in its order:
 *
 *	[time with -I,] [CPU or thread,] value, unit, event, [cgroup,] [deviation with -r,] run time,
 *	percent of it, metric, its unit
 *
 * and more at the end, so that scripts which count from the left keep working: where modelled
 * counts are estimates how far each may be off; then exact, modelled, estimated or kernel, empty
 * where there is no number.  Numbers do not depend on the locale.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/memory.h"
#include "cli/stat.h"
#include "print/print.h"

static void print_value(const struct ap_stat_row *row, FILE *out)
{
	switch (ap_stat_row_state(row)) {
	case AP_STAT_COUNTED:
		if (ap_event_is_fraction(row->sel->desc))
			fprintf(out, "%.2f", ap_event_fraction(row->sel->desc, row->agg.mean));
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

/* Where a kernel's number is from is said in the table. */
static const char *tag(const struct ap_stat_row *row)
{
	const char *said = ap_stat_row_tag(row);

	return said[0] == 's' ? said : ap_stat_kind_name(row->sel->desc->kind, row->is_estimated);
}

static void print_row(const struct ap_stat *st, const struct ap_stat_row *row, const char *sep,
		      FILE *out)
{
	struct ap_stat_metric metric = ap_stat_row_metric(st, row);
	bool counted = ap_stat_row_state(row) == AP_STAT_COUNTED;
	double error = ap_stat_row_error(st, row);

	ap_stat_print_csv_place(st, row->place, sep, out);
	print_value(row, out);
	ap_print_fields(out, sep, "\t%s\t%s", row->sel->desc->unit, row->sel->name);
	if (st->has_cgroups)
		ap_print_fields(out, sep, "\t%s", ap_stat_row_cgroup(st, row));
	if (st->runs > 1)
		ap_print_fields(out, sep, "\t%.2f%%", ap_agg_stddev_pct(&row->agg));
	ap_print_fields(out, sep, "\t%.0f\t%.2f\t", row->running.mean, ap_stat_row_ran(row));
	if (metric.what[0])
		fprintf(out, "%.3f", metric.value);
	ap_print_fields(out, sep, "\t%s%s\t", metric.style == AP_METRIC_PERCENT ? "% " : "",
			metric.what);
	if (st->is_estimated && error >= 0)
		fprintf(out, "%.2f%%", error);
	ap_print_fields(out, sep, st->is_estimated ? "\t%s\n" : "%s\n", counted ? tag(row) : "");
}

void ap_stat_print_csv(const struct ap_stat *st, const char *separator, const char *time, FILE *out)
{
	const struct ap_stat_row **rows = ap_xgrow(NULL, st->nplaces, sizeof(struct ap_stat_row *));
	size_t i, n;

	for (i = 0; i < st->nrows; i += st->nplaces) {
		ap_stat_order(st, i, rows);
		for (n = 0; n < st->nplaces; n++) {
			if (*time)
				ap_print_fields(out, separator, "%s\t", time);
			print_row(st, rows[n], separator, out);
		}
	}
	free(rows);
}
