/* SPDX-License-Identifier: MIT */
/* stat_regions.c: what `anyperf stat --regions` counts by region, and how it is shown. */
#ifndef AP_CLI_STAT_REGIONS_H
#define AP_CLI_STAT_REGIONS_H

#include <stdio.h>

#include "cli/evlist.h"
#include "linux/run/run.h"

struct ap_stat_format;

struct ap_stat_regions {
	bool are_wanted;
	const struct ap_evsel *sel[AP_REGION_EVENTS]; /* borrowed */
	u32 nsel;
	struct ap_region_lines got;
};

/* Which events regions are counted by; -EINVAL with a line in why.  When the models are chosen, and before events move. */
AP_MUST_CHECK int ap_stat_regions_choose(struct ap_stat_regions *r, struct ap_run_options *run,
					 const struct ap_evlist *events, char *why, size_t size);
/* Of a run that has ended. */
void ap_stat_regions_take(struct ap_stat_regions *r, const struct ap_region_lines *lines);
/* Behind the table of all; nothing where they are not wanted. */
void ap_stat_regions_print(const struct ap_stat_regions *r, const struct ap_stat_format *fmt,
			   FILE *out);
/* Something of it is not counted, and a line says what. */
bool ap_stat_regions_are_wrong(const struct ap_stat_regions *r);
void ap_stat_regions_fini(struct ap_stat_regions *r);

#endif
