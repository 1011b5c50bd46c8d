/* SPDX-License-Identifier: MIT */
/*
 * The counts of a perf.data that `perf stat record` or `anyperf stat record` wrote, read whole:
 * what was read together is a round, and its values are those from the one before it on.
 */
#ifndef AP_CLI_STAT_FILE_H
#define AP_CLI_STAT_FILE_H

#include "cli/evlist.h"
#include "cli/stat_remarks.h"
#include "profile/data/data.h"
#include "profile/data/stat_data.h"

struct ap_stat_file_value {
	u32 event;
	struct ap_stat_value v;
};

struct ap_stat_file_round {
	struct ap_stat_round r;
	size_t end; /* of its values */
};

struct ap_stat_file_thread {
	s32 tid;
	char comm[16];
};

struct ap_stat_file {
	struct ap_stat_config config;
	struct ap_stat_file_value *value;
	size_t nvalues;
	struct ap_stat_file_round *round;
	size_t nrounds;
	struct ap_stat_file_thread *thread;
	u32 nthreads;
	bool has_config;
	struct ap_stat_remarks remarks;
	struct ap_evlist events; /* as the file names and, where it is ours, explains them */
};

/* Reads d to its end. */
void ap_stat_file_read(struct ap_stat_file *f, struct ap_data *d);
/* "'perf stat record ...'", as perf calls a file's counts: to be freed. */
char *ap_stat_file_title(const struct ap_stat_file *f, struct ap_data *d);
void ap_stat_file_fini(struct ap_stat_file *f);

#endif
