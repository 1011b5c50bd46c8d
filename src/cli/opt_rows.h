/* SPDX-License-Identifier: MIT */
/*
 * Rows of a command's table of options, short enough to be one line each.  For files of commands, which
 * define OPT_ARGS as the struct that their options fill.
 */
#ifndef AP_CLI_OPT_ROWS_H
#define AP_CLI_OPT_ROWS_H

#include "cli/options.h"

#define FLAG(l, n, f, h)                                                                           \
	{                                                                                          \
		.letter = (l), .name = (n), .type = AP_OPT_FLAG, .offset = offsetof(OPT_ARGS, f),  \
		.help = (h)                                                                        \
	}
#define STR(l, n, f, v, h)                                                                         \
	{                                                                                          \
		.letter = (l), .name = (n), .type = AP_OPT_STR, .offset = offsetof(OPT_ARGS, f),   \
		.value = (v), .help = (h)                                                          \
	}
#define CALL(l, n, c, v, h)                                                                        \
	{                                                                                          \
		.letter = (l), .name = (n), .type = AP_OPT_CALL, .call = (c), .value = (v),        \
		.help = (h)                                                                        \
	}
#define MAYBE(l, n, c, v, h)                                                                       \
	{                                                                                          \
		.letter = (l), .name = (n), .type = AP_OPT_MAYBE, .call = (c), .value = (v),       \
		.help = (h)                                                                        \
	}

/* Of a struct ap_filter that is the member `filter`; these have the same words wherever they are. */
#define FILTER_TASKS                                                                               \
	STR(0, "pid", filter.pids, "pids", "only these processes"),                                \
		STR(0, "tid", filter.tids, "tids", "only these threads")
#define FILTER_CPUS(l) STR(l, "cpu", filter.cpus, "list", "only these CPUs (0,2-4)")
#define FILTER_TIME                                                                                \
	STR(0, "time", filter.time, "span",                                                        \
	    "only from start,stop (seconds, either may be missing); 10%-20%, 10%/2: parts of the whole")
#define INPUT STR('i', "input", input, "file", "what to read (perf.data; - is standard input)")

#endif
