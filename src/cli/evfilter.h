/* SPDX-License-Identifier: MIT */
/*
 * `--filter`: of the tracepoints of the -e before it only what matches
 * (profile/data/trace_filter.h).
 */
#ifndef AP_CLI_EVFILTER_H
#define AP_CLI_EVFILTER_H

#include "cli/evlist.h"
#include "linux/client/client.h"

struct ap_raw_filter;

/*
 * Of all events from `newest` on; a second one narrows the first.  0 or -EINVAL with a line in why
 * (AP_OPT_WHY).
 */
AP_MUST_CHECK int ap_evlist_filter(struct ap_evlist *list, size_t newest, const char *text,
				   char *why);
/* The event's, for readers of samples; 0 or -EINVAL with a line in why. */
AP_MUST_CHECK int ap_evsel_filter(const struct ap_evsel *sel, struct ap_raw_filter **out,
				  char *why);
/*
 * What counts it goes by it from now on: as perf_event_open(2)'s ioctl.  0 where the event has
 * none.
 */
AP_MUST_CHECK int ap_evsel_set_filter(const struct ap_evsel *sel, struct ap_client_event *event);

#endif
