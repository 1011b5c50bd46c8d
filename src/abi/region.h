/* SPDX-License-Identifier: MIT */
/*
 * Regions of programs, as processes add them up: a table in the party's file at AP_REGIONS_OFF, which all tasks of the party
 * write, by atomic additions, and the supervisor reads at the end.  docs/design/regions.md.
 *
 * Memory is zeros at first.  A row is claimed by a compare and exchange, and belongs to its name from then on; the minimum is
 * therefore kept as the greatest complement.  A task that is killed in the middle of the end of a call has it begun and not ended.
 */
#ifndef AP_ABI_REGION_H
#define AP_ABI_REGION_H

#include "base/types.h"

#define AP_REGION_NAME	 128 /* bytes of a name, with its NUL */
#define AP_REGION_ROWS	 512
#define AP_REGION_EVENTS 16
#define AP_REGION_DEPTH	 48 /* open ones of a thread */

enum ap_region_state { AP_REGION_FREE, AP_REGION_CLAIMED, AP_REGION_READY };

struct ap_region_row {
	u32 state; /* enum ap_region_state */
	u32 unused;
	char name[AP_REGION_NAME];
	u64 begun, ended;
	u64 within;  /* calls, of those that were ended, within a call of the same region */
	u64 unbegun; /* ends of what has not begun */
	u64 sum[AP_REGION_EVENTS];
	u64 least[AP_REGION_EVENTS]; /* complements */
};

struct ap_regions {
	u64 too_many;	/* beginnings and ends for whose name no row was left */
	u64 too_deep;	/* beginnings within AP_REGION_DEPTH others */
	u64 unreadable; /* names that cannot be read, or are too long */
	u64 unused;
	struct ap_region_row row[AP_REGION_ROWS];
};

/* Where a name's row is looked for first. */
static inline u32 ap_region_home(const char *name)
{
	u64 h = 0xcbf29ce484222325ULL;

	for (; *name; name++)
		h = (h ^ (u8)*name) * 0x100000001b3ULL;
	return (u32)(h >> 32) % AP_REGION_ROWS;
}

#endif
