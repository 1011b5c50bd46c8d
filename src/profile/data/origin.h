/* SPDX-License-Identifier: MIT */
/*
 * The sections behind the data that say where, how and of what a file was recorded.
 */
#ifndef AP_PROFILE_ORIGIN_H
#define AP_PROFILE_ORIGIN_H

#include "base/types.h"
#include "profile/data/record_buf.h"
#include "profile/data/tracing.h"
#include "profile/data/write.h"

struct ap_origin {
	const char *version; /* of the tool */
	char *const *argv;   /* NULL terminated: the command line */
	const struct ap_write_event *events;
	size_t nevents;
	bool has_cpu_pmu; /* ours, which the machine's own sysfs does not list */
	/* of tracepoints among the events; NULL: there is none that can be described */
	const struct ap_tracing_event *tracing;
	size_t ntracing;
	const char *header_page, *header_event;
	u64 first_time, last_time; /* of samples; 0: there was none */
};

/* What is known before the first record: everything but the times. */
AP_MUST_CHECK int ap_origin_put(struct ap_writer *w, const struct ap_origin *f);
AP_MUST_CHECK int ap_origin_put_times(struct ap_writer *w, const struct ap_origin *f);

/* What this machine's CPU calls itself, or false. */
bool ap_origin_cpu(char *name, size_t size);

/* One entry of the section of build ids. */
void ap_feature_build_id(struct ap_buf *to, u16 cpumode, const u8 *id, size_t size,
			 const char *path);

#endif
