/* SPDX-License-Identifier: MIT */
/*
 * The options of tables as people write them: -s, -F and -g.
 */
#ifndef AP_PROFILE_HIST_OPTS_H
#define AP_PROFILE_HIST_OPTS_H

#include "profile/hist/hist.h"

void ap_hist_opts_init(struct ap_hist_opts *o);

#define AP_WANT_SAMPLES 1U
#define AP_WANT_PERIOD	2U
#define AP_WANT_MODES	4U

/* The keys where none are asked for. */
const char *ap_hist_opts_usual(const struct ap_hist_opts *o);
/* Fills sort and column; o->children is set already.  0, or -EINVAL with a line in why. */
AP_MUST_CHECK int ap_hist_opts_columns(struct ap_hist_opts *o, const char *sort, const char *fields,
				       u32 want, char *why, size_t size);
/* "8,20,40": widths of columns from the left; -EINVAL where it is no such list. */
AP_MUST_CHECK int ap_hist_opts_widths(struct ap_hist_opts *o, const char *list);
/* "fractal,0.5,10,caller,percent": any of these, in any order. */
AP_MUST_CHECK int ap_hist_opts_graph(struct ap_hist_opts *o, bool *order_set, const char *how,
				     char *why, size_t size);

#endif
