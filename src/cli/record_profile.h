/* SPDX-License-Identifier: MIT */
/* record_profile.c: the samples of an exact profile, one for each instruction. */
#ifndef AP_CLI_RECORD_PROFILE_H
#define AP_CLI_RECORD_PROFILE_H

#include "cli/record.h"

/* When the command has ended: what was counted, behind all that the rings have had.  Errors are in r->error. */
void record_profile_put(struct record *r);
/* What the last line says instead of the number of samples. */
void record_profile_say(const struct record *r);

#endif
