/* SPDX-License-Identifier: MIT */
/* /proc/self/maps as the kernel has it, the engine's own mappings and protection included. */
#ifndef AP_ENGINE_SELFMAPS_H
#define AP_ENGINE_SELFMAPS_H

#include "base/types.h"

struct ap_map {
	u64 start, end, off, dev, ino; /* dev: as the text has it, without the colon */
	bool r, w, x, shared;
	const char *path; /* as the line has it; "" none.  Until the next one */
};

/*
 * Calls fn for one mapping after another, upwards, until it returns false.  False where the file
 * cannot be read, be it that only its end cannot.  Process lock held; fn may change mappings.
 */
AP_MUST_CHECK bool ap_selfmaps_read(bool (*fn)(const struct ap_map *m, void *arg), void *arg);

#endif
