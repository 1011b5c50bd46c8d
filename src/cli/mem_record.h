/* SPDX-License-Identifier: MIT */
/*
 * Recording references to memory, for `anyperf mem` and `anyperf c2c`: `anyperf record` with the
 * events, data addresses, sources and weights.  Of its options those that are of use here are
 * handed on, under the same names.
 */
#ifndef AP_CLI_MEM_RECORD_H
#define AP_CLI_MEM_RECORD_H

#include "base/types.h"

struct ap_mem_record {
	const char *count, *freq, *output, *pid, *pages, *call_graph, *delay;
	const char *machine, *timeout, *ldlat, *events;
	bool all_cpus, graph, no_inherit, quiet, verbose, phys, page_size, deterministic;
	bool with_cpu; /* of the calling thread: perf asks a sample which node read */
};

/* Rows of a table of options whose struct has a member `record`. */
#define AP_MEM_RECORD_OPTS                                                                         \
	STR('c', "count", record.count, "n", "record: one sample each n references"),              \
		STR('F', "freq", record.freq, "freq",                                              \
		    "record: samples per second (default 4000)"),                                  \
		STR('o', "output", record.output, "file", "record: write this file"),              \
		STR('e', "event", record.events, "event",                                          \
		    "record: these events in place of the usual ones"),                            \
		STR('m', "mmap-pages", record.pages, "n", "record: pages of a ring"),              \
		STR(0, "pid", record.pid, "pid", "record: these running processes"),               \
		STR(0, "delay", record.delay, "ms", "record: begin so many milliseconds later"),   \
		FLAG('a', "all-cpus", record.all_cpus, "record: all tasks of the session"),        \
		FLAG('g', "graph", record.graph, "record: callchains, by frame pointers"),         \
		STR(0, "call-graph", record.call_graph, "mode", "record: by fp, dwarf or lbr"),    \
		FLAG(0, "no-inherit", record.no_inherit, "record: the first process only"),        \
		FLAG('q', "quiet", record.quiet, "record: print nothing at the end"),              \
		STR(0, "ldlat", record.ldlat, "cycles",                                            \
		    "record: loads that take so long, at least"),                                  \
		STR(0, "machine", record.machine, "name", "record: model this machine"),           \
		FLAG(0, "deterministic", record.deterministic,                                     \
		     "record: fixed addresses and random bytes"),                                  \
		STR(0, "timeout", record.timeout, "ms", "record: end the command after so long")

/* command: its words, NULL at the end, or NULL.  The exit status. */
int ap_mem_record(const struct ap_mem_record *r, const char *events, char **command);

/* A list of words for another command's argv. */
struct ap_words {
	char **v;
	int n;
};

void ap_words_add(struct ap_words *w, const char *word);
/* Where value is not NULL. */
void ap_words_add_option(struct ap_words *w, const char *name, const char *value);
void ap_words_add_flag(struct ap_words *w, const char *name, bool is_set);
void ap_words_fini(struct ap_words *w);

#endif
