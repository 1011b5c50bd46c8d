/* SPDX-License-Identifier: MIT */
/*
 * Pages that the last level was asked for (docs/design/feed.md, "Thinning"): where a part of a run is passed over, lines
 * that the program has met there are not in the model's last level, though they are in the machine's as long as that is
 * not full.  A page that was met before the present burst is taken for such.
 *
 * One that is met first in a burst may have been met in a gap as well, which nobody has seen.  The kernel has: a page that is
 * touched for the first time in the life of the program is a fault.  So of the pages that a burst meets first as many are new as
 * there were faults meanwhile.
 */
#ifndef AP_MODEL_PAGES_H
#define AP_MODEL_PAGES_H

#include "model/cache.h"

#define AP_MET_PAGES (1U << 16)

struct ap_met_pages {
	u64 burst;		/* 0 until something was passed over */
	u64 faults;		/* so many when the thread was looked at last */
	u64 fresh;		/* pages that may still be new in this burst, */
	bool is_told;		/* if anybody says so; else all are */
	u64 page[AP_MET_PAGES]; /* of 4 KiB << AP_MET_SHIFT | the burst in which it was met first */
};
#define AP_MET_SHIFT 24

/* What the kernel has counted; ~0: nobody knows.  In a gap, or in what is read. */
static inline void ap_met_faults(struct ap_met_pages *p, u64 faults, bool is_gap)
{
	p->is_told = faults != ~0ULL;
	if (is_gap)
		p->fresh = 0;
	else if (p->is_told && faults > p->faults)
		p->fresh += faults - p->faults;
	p->faults = faults;
}

/* Met first in this burst: can it be that the program had not touched it before? */
static inline bool ap_met_is_new(struct ap_met_pages *p)
{
	if (!p->is_told)
		return true;
	if (!p->fresh)
		return false;
	p->fresh--;
	return true;
}

/* Was the page of this line met before the present burst?  If not, it is met now. */
static inline bool ap_met_before(struct ap_met_pages *p, u64 line)
{
	u64 page = line >> 12 << AP_MET_SHIFT;
	u64 *at = &p->page[(ap_cache_mix(line >> 12) >> 24) % AP_MET_PAGES];
	u64 burst = p->burst & ((1U << AP_MET_SHIFT) - 1);

	if (*at >> AP_MET_SHIFT == page >> AP_MET_SHIFT)
		return (*at ^ burst) & ((1U << AP_MET_SHIFT) - 1);
	if (burst && !ap_met_is_new(p)) {
		*at = page | ((burst - 1) & ((1U << AP_MET_SHIFT) - 1));
		return true;
	}
	*at = page | burst;
	return false;
}

#endif
