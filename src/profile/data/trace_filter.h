/* SPDX-License-Identifier: MIT */
/*
 * Filters of tracepoints, in the kernel's words: "count > 100 && (fd == 1 || !(fd & 2))", held
 * against what a sample recorded.  Fields and their places are those of the tracepoint's format.
 */
#ifndef AP_PROFILE_TRACE_FILTER_H
#define AP_PROFILE_TRACE_FILTER_H

#include <stddef.h>

#include "base/types.h"

struct ap_raw_filter;

/* 0, or -errno with a line in why. */
AP_MUST_CHECK int ap_trace_filter_parse(struct ap_raw_filter **out, const char *format,
					const char *text, char *why, size_t size);
bool ap_trace_filter_match(const struct ap_raw_filter *f, const u8 *raw, u32 size);
void ap_trace_filter_free(struct ap_raw_filter *f);

#endif
