/* SPDX-License-Identifier: MIT */
/*
 * The report's way out: everything is put together in memory first, and then reaches stderr in
 * one write, or the file of -o in one step, so that nobody ever reads half a table.
 */
#ifndef AP_CLI_OUTFILE_H
#define AP_CLI_OUTFILE_H

#include <stdio.h>

#include "base/types.h"
#include "files/out.h"

/*
 * Whether the file could be written, asked before the command is run; flags: AP_OUT_*.  Returns 0,
 * or -errno after one line on err.
 */
AP_MUST_CHECK int ap_outfile_check(const char *path, unsigned int flags, FILE *err);

/*
 * Gives path this content: under a temporary name, then renamed over it.  A path that is no
 * regular file (/dev/null, a pipe) is written to as it is.  Returns 0, or -errno after one line
 * on err; then path is as it was.
 */
AP_MUST_CHECK int ap_outfile_write(const char *path, const char *text, size_t size, FILE *err);
/* The same, but a file that has the name is kept as NAME.old; *kept: there was one. */
AP_MUST_CHECK int ap_outfile_write_keeping(const char *path, const char *text, size_t size,
					   bool *kept, FILE *err);
/* Adds it to what the file has; others may do the same at the same time. */
AP_MUST_CHECK int ap_outfile_append(const char *path, const char *text, size_t size, FILE *err);

/* The same for what is open: past the stream's buffer, which would hide that a device is full. */
AP_MUST_CHECK int ap_outfile_print(FILE *out, const char *text, size_t size, FILE *err);

#endif
