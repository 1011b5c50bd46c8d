/* SPDX-License-Identifier: MIT */
/*
 * What this build is.
 */
#ifndef AP_CLI_VERSION_H
#define AP_CLI_VERSION_H

#include <stdio.h>

extern const char ap_version[]; /* "0.1.0" */
/* "anyperf version X", then a line each for the commit, the engine and what is built in. */
void ap_version_print(FILE *out);

#endif
