/* SPDX-License-Identifier: MIT */
/*
 * `anyperf top` in parts: cmd_top.c has the options and what happens when, top_recorder.c the
 * process that records.
 */
#ifndef AP_CLI_TOP_H
#define AP_CLI_TOP_H

#include <stdio.h>
#include <sys/types.h>

#include "base/types.h"

struct top_recorder {
	pid_t pid;
	int fd; /* the stream of records */
	FILE *saved; /* what it and the command wrote beside the screen; NULL: it went to standard error */
};

/*
 * argv is that of `record`, without "-o".  quiet: a screen is there that nobody else may write to.
 */
AP_MUST_CHECK int top_recorder_start(struct top_recorder *r, int argc, char **argv, bool quiet);
/* Asks it to end, reads what is left, and gives its exit status. */
void top_recorder_stop(struct top_recorder *r);
int top_recorder_wait(struct top_recorder *r);
/* What was kept, to standard error. */
void top_recorder_show(struct top_recorder *r);

#endif
