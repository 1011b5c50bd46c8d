/* SPDX-License-Identifier: MIT */
/* A measurement made of given numbers, for tests of what is printed. */
#ifndef AP_TESTS_SAMPLE_H
#define AP_TESTS_SAMPLE_H

#include "cli/stat.h"

struct sample {
	struct ap_evlist list;
	struct ap_stat st;
	struct ap_run_result res; /* of the next run; fill it, then sample_run */
};

/* A run of these events of `prog -x`: 2 ms wall, 1 ms of clock, everything from rusage. */
void sample_init(struct sample *s, const char *events);
void sample_run(struct sample *s);
void sample_fini(struct sample *s);

#endif
