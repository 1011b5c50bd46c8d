/* SPDX-License-Identifier: MIT */
/*
 * The samples of a file as `anyperf script` prints them, for the screen.
 */
#ifndef AP_CLI_SAMPLES_TEXT_H
#define AP_CLI_SAMPLES_TEXT_H

#include <stdio.h>

#include "base/types.h"

/* false: it could not be run, or failed.  comm and symbol may be NULL: any. */
bool ap_samples_text(const char *path, const char *comm, const char *symbol, FILE *out);

#endif
