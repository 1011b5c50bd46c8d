/* SPDX-License-Identifier: MIT */
/*
 * Which samples count: by time, CPU, task, file and symbol, in the words that perf's options take.
 *
 * Time and CPU take samples away as if they had not been recorded.  The others only hide: what they
 * leave out still belongs to the whole of which percents are told (--percentage absolute).
 */
#ifndef AP_PROFILE_FILTER_H
#define AP_PROFILE_FILTER_H

#include "profile/symbols/session.h"

struct ap_filter_span {
	u64 start, end; /* 0: open */
};

struct ap_sample_filter {
	/* as given, NULL: not; all separated by commas */
	const char *comms, *dsos, *symbols, *pids, *tids, *cpus, *time;
	const char *symbol_part; /* names that have it in them */
	struct ap_filter_span *span;
	u32 nspans;
	u8 *cpu; /* a byte for each that counts */
	u32 ncpus;
};

#define AP_FILTER_WHY 200

/*
 * Reads what must be parsed; 0, or -EINVAL with a line in why.  d: percents of time are of its
 * samples.
 */
AP_MUST_CHECK int ap_filter_parse(struct ap_sample_filter *f, struct ap_data *d, char *why);
void ap_filter_fini(struct ap_sample_filter *f);

bool ap_filter_takes(const struct ap_sample_filter *f, const struct ap_sample *s);
bool ap_filter_task(const struct ap_sample_filter *f, const struct ap_profile_thread *t,
		    const char *comm);
bool ap_filter_place(const struct ap_sample_filter *f, const struct ap_place *p);

/* The only one of a list, or NULL: its column tells nothing then. */
bool ap_filter_single(const char *list);

#endif
