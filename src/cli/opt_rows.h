/* SPDX-License-Identifier: MIT */
/*
 * Rows of a command's table of options, short enough to be one line each.  For files of commands, which
 * define OPT_ARGS as the struct that their options fill.
 */
#ifndef AP_CLI_OPT_ROWS_H
#define AP_CLI_OPT_ROWS_H

#include "cli/options.h"

#define GROUP(h)                                                                                   \
	{                                                                                          \
		.name = "", .type = AP_OPT_GROUP, .help = (h)                                      \
	}
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

/* What the names of events depend on. */
#define FIRST(l, n, c, v, h)                                                                       \
	{                                                                                          \
		.letter = (l), .name = (n), .type = AP_OPT_FIRST, .call = (c), .value = (v),       \
		.help = (h)                                                                        \
	}
#define DETERMINISTIC                                                                              \
	MAYBE(0, "deterministic", ap_engine_opt_deterministic, "time",                             \
	      "fixed addresses and random bytes, runs count alike; =time: rdtsc counts instructions")
#define CODE_CACHE                                                                                 \
	CALL(0, "code-cache", ap_engine_opt_code_cache, "where",                                   \
	     "share translated code: off, or among the processes of a session (default off)")
#define CPU_ID                                                                                     \
	FIRST(0, "cpu-id", ap_engine_opt_cpu_id, "name",                                           \
	      "raw events of this CPU: skylake, icelake, sapphirerapids, zen3, zen4 ...")

/* Of a struct ap_sample_filter that is the member `filter`; these have the same words wherever they are. */
#define FILTER_TASKS                                                                               \
	STR(0, "pid", filter.pids, "pids", "only these processes"),                                \
		STR(0, "tid", filter.tids, "tids", "only these threads")
#define FILTER_CPUS(l) STR(l, "cpu", filter.cpus, "list", "only these CPUs (0,2-4)")
#define FILTER_TIME                                                                                \
	STR(0, "time", filter.time, "span",                                                        \
	    "only from start,stop (seconds, either may be missing); 10%-20%, 10%/2: parts of the whole")
#define INPUT STR('i', "input", input, "file", "what to read (perf.data; - is standard input)")

/*
 * Options of perf's that ask for what is done in any case: taken, and not shown by --help.  Files are read
 * whoever owns them, names are demangled unless told otherwise, no vmlinux is ever loaded, and nothing that
 * is printed has colours.
 */
#define TAKEN_FLAG(l, n)                                                                           \
	{                                                                                          \
		.letter = (l), .name = (n), .type = AP_OPT_FLAG,                                   \
		.offset = offsetof(OPT_ARGS, taken), .help = "", .hidden = true                    \
	}
#define TAKEN_WORD(n)                                                                              \
	{                                                                                          \
		.name = (n), .type = AP_OPT_STR, .offset = offsetof(OPT_ARGS, taken_word),         \
		.value = "", .help = "", .hidden = true                                            \
	}
#define FORCE FLAG('f', "force", force, "read another user's file, a FIFO or a device, too")
#define TAKEN                                                                                      \
	TAKEN_FLAG(0, "demangle"), TAKEN_FLAG(0, "demangle-kernel"),                               \
		TAKEN_FLAG(0, "ignore-vmlinux"), TAKEN_FLAG(0, "stitch-lbr")
#define TAKEN_CODE TAKEN_FLAG(0, "source"), TAKEN_WORD("stdio-color")
#define OBJDUMP	   STR(0, "objdump", objdump, "path", "the objdump that shows instructions")

#endif
