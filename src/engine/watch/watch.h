/* SPDX-License-Identifier: MIT */
/* watch.c: execution breakpoints, as the rest of this folder sees them. */
#ifndef AP_ENGINE_WATCH_H
#define AP_ENGINE_WATCH_H

#include "base/types.h"

struct ap_thread;

bool ap_watch_is_at(u64 pc); /* lock held */
/* Watch k has been hit so many times. */
void ap_watch_add(struct ap_thread *t, s32 k, s64 n);

#endif
