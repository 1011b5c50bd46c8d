/* SPDX-License-Identifier: MIT */
/*
 * Records byte by byte.
 */
#ifndef AP_PROFILE_DUMP_H
#define AP_PROFILE_DUMP_H

#include <stdio.h>

#include "profile/data/data.h"

/* Each record as it stands in the file: place, kind, bytes.  Reads d to its end. */
void ap_dump_print(struct ap_data *d, const char *path, FILE *out);

#endif
