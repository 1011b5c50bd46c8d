/* SPDX-License-Identifier: MIT */
/*
 * What the commands that read a perf.data have in common.
 */
#ifndef AP_CLI_PROFILE_H
#define AP_CLI_PROFILE_H

#include "profile/data/data.h"
#include "profile/symbols/symbol.h"

/*
 * NULL after a line on stderr; path NULL: perf.data, or standard input where that is a pipe.
 * force: --force, also of another user's file, a FIFO or a device.
 */
struct ap_data *ap_profile_open(const char *command, const char *path, bool force);

/*
 * A file that an option names, NULL: none; false after a line on stderr, and before anything else
 * is done.
 */
bool ap_profile_can_read(const char *command, const char *option, const char *path);

/*
 * force goes for files that the profile names, too; what is not believed is said on stderr, in a
 * line.
 */
void ap_profile_symbols(struct ap_symbols *symbols, bool force);
void ap_profile_complain(const char *path, int error);

/* Closes; what kept the file from being read whole goes to stderr and makes the status. */
int ap_profile_close(const char *command, const char *path, struct ap_data *d);

/* A line on stderr where the recorder came too late for some records; lost: how many. */
void ap_profile_tell_lost(const char *command, const char *path, u64 lost);

/* The path that ap_profile_open() takes for NULL. */
const char *ap_profile_path(const char *path);

#endif
