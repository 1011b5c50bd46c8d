/* SPDX-License-Identifier: MIT */
/*
 * What programs read about the PMUs: the files of /sys/bus/event_source/devices and of tracefs, as
 * paths and texts.  Who shows them to programs decides where they lie and what else lies there.
 */
#ifndef AP_PMU_DESCRIBE_H
#define AP_PMU_DESCRIBE_H

#include "base/str.h"
#include "pmu/events.h"

/* One file; path and text are valid during the call.  Not 0: stop, and that is the result. */
typedef int ap_pmu_emit(void *ctx, const char *path, const char *text);

/* Below /sys/bus/event_source/devices: "cpu/type", "cpu/format/event", "cpu/events/loads" ... */
AP_MUST_CHECK int ap_pmu_describe_sysfs(const struct ap_pmu_arch *arch, ap_pmu_emit *emit,
					void *ctx);
/*
 * Below the root of tracefs: "events/signal/signal_deliver/id" ...  Some 700 tracepoints of 4
 * files;  code that makes them at an open takes ap_tracepoint_format.
 */
AP_MUST_CHECK int ap_pmu_describe_tracefs(ap_pmu_emit *emit, void *ctx);

/* The terms that stand for a raw event: "event=0xc4,umask=0x20" or "anyperf=0x9". */
void ap_pmu_terms(const struct ap_pmu_arch *arch, u64 config, u64 config1, struct ap_str *out);

#endif
