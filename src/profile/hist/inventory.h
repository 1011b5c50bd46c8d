/* SPDX-License-Identifier: MIT */
/*
 * What a file holds beside its samples: how many records of each kind, which tasks, what they
 * mapped.
 */
#ifndef AP_PROFILE_INVENTORY_H
#define AP_PROFILE_INVENTORY_H

#include <stdio.h>

#include "profile/symbols/session.h"

#define AP_INVENTORY_STATS 1U
#define AP_INVENTORY_TASKS 2U
#define AP_INVENTORY_MAPS  4U

/* Without PERF_RECORD_; NULL: it has none. */
const char *ap_record_name(u32 type);
/* Reads d to its end. */
void ap_inventory_print(struct ap_profile_session *s, struct ap_data *d, u32 what, FILE *out);

#endif
