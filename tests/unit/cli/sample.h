/* SPDX-License-Identifier: MIT */
/* A measurement made of given numbers, for tests of what is printed. */
#ifndef AP_TESTS_SAMPLE_H
#define AP_TESTS_SAMPLE_H

#include "cli/stat.h"

#define SAMPLE_EVENTS 16

struct sample {
	struct ap_evlist list;
	struct ap_stat st;
	struct ap_run_result res; /* of the next run; fill these, then sample_run */
	struct ap_stat_reading reading[SAMPLE_EVENTS];
	struct ap_stat_times times;
};

/* A run of these events of `prog -x`: 2 ms wall, 1 ms of clock, everything else 0 and from rusage. */
void sample_init(struct sample *s, const char *events);
/* The reading of the event of that name. */
struct ap_stat_reading *sample_of(struct sample *s, const char *event);
void sample_run(struct sample *s);
void sample_fini(struct sample *s);

#endif
