/* SPDX-License-Identifier: MIT */
/* regions.c: what programs have counted by regions. */
#ifndef AP_LINUX_REGIONS_H
#define AP_LINUX_REGIONS_H

#include "linux/session/options.h"
#include "linux/session/session.h"

/* Of all parties; by their names.  Free .line. */
AP_MUST_CHECK int ap_session_regions(const struct ap_session_file *s, struct ap_region_lines *out);
/* A party is about to be forgotten. */
void ap_session_regions_fold(struct ap_session_file *s, const struct ap_session_file *party);
void ap_session_regions_free(struct ap_session_file *s);

#endif
