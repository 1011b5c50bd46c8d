/* SPDX-License-Identifier: MIT */
/*
 * The metrics of a measurement (-M, --topdown, --metric-only): which were chosen, and how they are
 * shown.
 */
#ifndef AP_CLI_STAT_METRICS_H
#define AP_CLI_STAT_METRICS_H

#include <stdio.h>

#include "cli/evlist.h"
#include "cli/metric.h"
#include "cli/stat.h"

struct ap_stat_metrics {
	struct ap_metric_table table;
	const struct ap_metric **chosen;
	size_t n;
	bool only;			  /* a column for each metric, and no rows */
	const struct ap_run_options *run; /* whose machine #numbers are of */
};

/* Names and groups, separated by commas.  0, or -EINVAL with a line in why. */
AP_MUST_CHECK int ap_stat_metrics_choose(struct ap_stat_metrics *m, const char *names, char *why,
					 size_t size);
/* Appends the events that are not in the list yet. */
AP_MUST_CHECK int ap_stat_metrics_events(const struct ap_stat_metrics *m, struct ap_evlist *list,
					 char *why, size_t size);
void ap_stat_metrics_fini(struct ap_stat_metrics *m);

/* Is there anything for `only` to show? */
bool ap_stat_has_columns(const struct ap_stat *st);
/*
 * Lines behind the rows of st, or with `only` in place of them; time as for rows.  head: names of
 * columns, too.
 */
void ap_stat_print_metrics(const struct ap_stat *st, const struct ap_stat_format *fmt,
			   const char *time, bool head, FILE *out);

#endif
