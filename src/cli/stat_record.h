/* SPDX-License-Identifier: MIT */
/*
 * `anyperf stat record`: the counts of a measurement as a perf.data, beside the report that is
 * printed.
 */
#ifndef AP_CLI_STAT_RECORD_H
#define AP_CLI_STAT_RECORD_H

#include "cli/stat_count.h"

struct ap_stat_recorder;

/* path "-": a stream to standard output.  argv: the command line, which is borrowed. */
struct ap_stat_recorder *ap_stat_recorder_new(const char *path, char *const *argv);
/*
 * What has been read so far, ns after the beginning.  The file is there from the first round on,
 * and whole after each; what goes wrong is said at the end.
 */
void ap_stat_recorder_round(struct ap_stat_recorder *r, const struct ap_stat_count *c, u64 ns,
			    bool is_final);
/* Ends the file.  0, or -errno after one line on stderr. */
AP_MUST_CHECK int ap_stat_recorder_finish(struct ap_stat_recorder *r,
					  const struct ap_stat_count *c);
void ap_stat_recorder_free(struct ap_stat_recorder *r);

/* The whole command line, which a perf.data has: to be freed. */
char **ap_stat_command_line(int argc, char **argv);

#endif
