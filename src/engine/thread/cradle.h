/* SPDX-License-Identifier: MIT */
/*
 * Where children of forks count when a filter of the program's lets nobody map what they need: segments with a
 * thread's area each, mapped before the filter came.  A process and all that it forks share them.
 */
#ifndef AP_ENGINE_CRADLE_H
#define AP_ENGINE_CRADLE_H

#include "abi/session.h"
#include "engine/runtime/thread.h"

struct ap_cradle {
	struct ap_seg *seg; /* as far as the slots */
	u32 index;
	struct ap_thread *area;	    /* on the segment's slot 0 */
	struct ap_profile *profile; /* its region; NULL: none is wanted */
};

/* Process lock held for all of these. */
void ap_cradle_reserve(u32 n);
/* One that nobody has, from now on in state INIT; NULL: there is none, or none is needed. */
const struct ap_cradle *ap_cradle_take(void);
bool ap_cradle_is_needed(void);
void ap_cradle_each(void (*fn)(void *at, u64 size));
/* The process has another party now. */
void ap_cradle_drop(void);

#endif
