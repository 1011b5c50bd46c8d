/* SPDX-License-Identifier: MIT */
/* What each thread counted in all, by the records that are written when one ends (record -s). */
#ifndef AP_PROFILE_THREAD_COUNTS_H
#define AP_PROFILE_THREAD_COUNTS_H

#include <stdio.h>

#include "profile/data/data.h"

struct ap_thread_count {
	u32 pid, tid;
	u64 *value; /* by event; nevents of them */
	u32 nevents;
};

struct ap_thread_counts {
	struct ap_thread_count *thread; /* in the order in which they came */
	u32 n;
};

/* Takes READ records, and no others. */
void ap_thread_counts_add(struct ap_thread_counts *c, const struct ap_data_rec *rec);
void ap_thread_counts_print(const struct ap_thread_counts *c, const struct ap_data *d, FILE *out);
void ap_thread_counts_fini(struct ap_thread_counts *c);

#endif
