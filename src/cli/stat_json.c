/* SPDX-License-Identifier: MIT */
/*
 * The lines of `anyperf stat -j`: one object each, with the keys of perf 6.1 in its order and
 * "kind" at the end.  A note is an object with nothing but a "note".  Two things are not as perf
 * has them: a row without a metric has the unit "" and not "(null)", and a count keeps all of its
 * digits.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"
#include "cli/stat.h"
#include "print/print.h"

static void print_value(const struct ap_stat_row *row, FILE *out)
{
	switch (ap_stat_row_state(row)) {
	case AP_STAT_COUNTED:
		if (ap_event_is_fraction(row->sel->desc))
			fprintf(out, "\"%f\"", ap_event_fraction(row->sel->desc, row->agg.mean));
		else if (row->agg.n == 1)
			fprintf(out, "\"%" PRIu64 ".000000\"", row->agg.last);
		else
			fprintf(out, "\"%f\"", row->agg.mean);
		break;
	case AP_STAT_NOT_COUNTED:
		fputs("\"<not counted>\"", out);
		break;
	case AP_STAT_NOT_SUPPORTED:
		fputs("\"<not supported>\"", out);
		break;
	}
}

static void print_row(const struct ap_stat *st, const struct ap_stat_row *row, const char *time,
		      FILE *out)
{
	struct ap_stat_metric metric = ap_stat_row_metric(st, row);
	bool counted = ap_stat_row_state(row) == AP_STAT_COUNTED;

	fputc('{', out);
	if (*time)
		ap_print(out, "\"interval\" : %s, ", time);
	ap_stat_print_json_place(st, row->place, out);
	fputs("\"counter-value\" : ", out);
	print_value(row, out);
	ap_print(out, ", \"unit\" : \"%s\", \"event\" : ", row->sel->desc->unit);
	ap_print_json(out, row->sel->name);
	if (st->has_cgroups) {
		fputs(", \"cgroup\" : ", out);
		ap_print_json(out, ap_stat_row_cgroup(st, row));
	}
	if (st->runs > 1)
		fprintf(out, ", \"variance\" : %.2f", ap_agg_stddev_pct(&row->agg));
	fprintf(out, ", \"event-runtime\" : %.0f, \"pcnt-running\" : %.2f", row->running.mean,
		ap_stat_row_ran(row));
	ap_print(out, ", \"metric-value\" : %f, \"metric-unit\" : \"%s\"", metric.value,
		 metric.what + (metric.what[0] == ' '));
	if (ap_stat_row_error(st, row) >= 0)
		ap_print(out, ", \"error\" : %.2f", ap_stat_row_error(st, row));
	ap_print(out, ", \"kind\" : \"%s\"}\n", counted ? ap_stat_row_tag(row) : "");
}

void ap_stat_print_json(const struct ap_stat *st, const char *time, FILE *out)
{
	const struct ap_stat_row **rows = ap_xgrow(NULL, st->nplaces, sizeof(struct ap_stat_row *));
	size_t i, n;

	for (i = 0; i < st->nrows; i += st->nplaces) {
		ap_stat_order(st, i, rows);
		for (n = 0; n < st->nplaces; n++)
			print_row(st, rows[n], time, out);
	}
	free(rows);
}

void ap_stat_print_json_note(const char *text, FILE *out)
{
	fputs("{\"note\" : ", out);
	ap_print_json(out, text);
	fputs("}\n", out);
}
