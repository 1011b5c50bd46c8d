/* SPDX-License-Identifier: MIT */
/*
 * Metrics: what counts say together, as lines of a file (metrics.txt has those that are built in,
 * and the form).  Nothing here knows where counts come from.
 */
#ifndef AP_CLI_METRIC_H
#define AP_CLI_METRIC_H

#include <stddef.h>

#include "base/types.h"

struct ap_metric {
	char *name, *unit, *formula, *groups, *text;
};

struct ap_metric_table {
	struct ap_metric *v;
	size_t n;
};

/* Appends; 0, or -EINVAL with what is wrong in why. */
AP_MUST_CHECK int ap_metrics_builtin(struct ap_metric_table *t, char *why, size_t size);
AP_MUST_CHECK int ap_metrics_file(struct ap_metric_table *t, const char *path, char *why,
				  size_t size);
AP_MUST_CHECK int ap_metrics_parse(struct ap_metric_table *t, const char *text, const char *name,
				   char *why, size_t size);
void ap_metrics_fini(struct ap_metric_table *t);

const struct ap_metric *ap_metric_find(const struct ap_metric_table *t, const char *name,
				       size_t len);
bool ap_metric_is_in(const struct ap_metric *m, const char *group, size_t len);

/*
 * What a formula asks: an event's count, or with '#' in front a number of the machine's.  1: it is
 * v; 0: it is not to be had, and the metric neither; -EINVAL: there is no such thing.
 */
typedef int ap_metric_ask(void *arg, const char *name, size_t len, double *v);

/*
 * The same; 0 also of what is divided by nothing.  -EINVAL: the formula is none, and why says it.
 */
AP_MUST_CHECK int ap_metric_value(const struct ap_metric_table *t, const struct ap_metric *m,
				  ap_metric_ask *ask, void *arg, double *v, char *why, size_t size);

#endif
