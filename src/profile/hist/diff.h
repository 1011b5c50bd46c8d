/* SPDX-License-Identifier: MIT */
/*
 * Two tables of the same event beside each other: what weighs how much more or less.  Entries
 * belong together by their names, because the files may be of different builds.
 */
#ifndef AP_PROFILE_DIFF_H
#define AP_PROFILE_DIFF_H

#include <stdio.h>

#include "profile/hist/hist.h"

enum ap_diff_how { AP_DIFF_DELTA_ABS, AP_DIFF_DELTA, AP_DIFF_RATIO, AP_DIFF_WEIGHTED };

struct ap_diff_opts {
	enum ap_diff_how how;
	s64 weight[2];	       /* of before and after, for AP_DIFF_WEIGHTED */
	bool periods, formula; /* further columns */
	bool baseline_only;    /* leave out what was not there before */
};

/*
 * Both tables are by the same keys (comm, dso, symbol, or fewer) and finished; NULL: no sample.
 * Prints what `perf diff` would.
 */
void ap_diff_print(const struct ap_hist *before, const struct ap_hist *after,
		   const struct ap_hist_opts *keys, const struct ap_diff_opts *opts, FILE *out);

#endif
