/* SPDX-License-Identifier: MIT */
/*
 * Pages that the last level was asked for (docs/design/feed.md, "Thinning"): where a part of a run is passed over, lines
 * that the program has met there are not in the model's last level, though they are in the machine's as long as that is
 * not full.  A page that was met before the present burst is taken for such; a new one is new.
 */
#ifndef AP_MODEL_PAGES_H
#define AP_MODEL_PAGES_H

#include "model/cache.h"

#define AP_MET_PAGES (1U << 16)

struct ap_met_pages {
	u64 burst;		/* 0 until something was passed over */
	u64 page[AP_MET_PAGES]; /* of 4 KiB << AP_MET_SHIFT | the burst in which it was met first */
};
#define AP_MET_SHIFT 24

/* Was the page of this line met before the present burst?  If not, it is met now. */
static inline bool ap_met_before(struct ap_met_pages *p, u64 line)
{
	u64 page = line >> 12 << AP_MET_SHIFT;
	u64 *at = &p->page[(ap_cache_mix(line >> 12) >> 24) % AP_MET_PAGES];
	u64 burst = p->burst & ((1U << AP_MET_SHIFT) - 1);

	if (*at >> AP_MET_SHIFT == page >> AP_MET_SHIFT)
		return (*at ^ burst) & ((1U << AP_MET_SHIFT) - 1);
	*at = page | burst;
	return false;
}

#endif
