/* SPDX-License-Identifier: MIT */
/*
 * Pages that the last level was asked for (docs/design/feed.md, "Parts of a run"): where a part of
 * a run is passed over, lines that the program has met there are not in the model's last level,
 * though they may be in the machine's.  Of a line that the model does not have it is said here
 * whether the program has met its page before, and whether that is so short ago that nothing can
 * have evicted it.
 *
 * New is what the kernel says: a page that is touched for the first time in the life of the program
 * is a fault.  So of the pages that a burst meets first as many are new as there were faults
 * meanwhile; the others were met in a gap.
 *
 * How long ago that was in lines that others have fetched since is estimated as one estimates fish
 * in a pond: of the lines that a burst meets pages by some were met in the k bursts before it,
 * which is so many of all that were touched in that time, gaps included, as the lines that those
 * bursts have met are of all lines.
 */
#ifndef AP_MODEL_PAGES_H
#define AP_MODEL_PAGES_H

#include "model/cache.h"

#define AP_MET_PAGES   (1U << 16)
#define AP_MET_BURSTS  4096U
#define AP_MET_AGES    13U /* powers of two of bursts, and the last one: nobody knows */
#define AP_MET_UNKNOWN (~0U - 1)

struct ap_met_page {
	u64 page;  /* its number + 1; 0: none */
	u64 lines; /* that were asked for, as bits */
	u32 burst; /* in which it was met last */
	u32 age;   /* how many bursts ago that had been; AP_MET_UNKNOWN: nobody knows */
	bool is_new;
};

struct ap_met_pages {
	u64 burst;	       /* 0 until something was passed over */
	u64 first;	       /* bursts of a fork's parent, which its own go on from */
	u64 faults;	       /* so many when the thread was looked at last */
	u64 fresh;	       /* pages that may still be new in this burst, */
	bool is_told;	       /* if anybody says so; else all are */
	u64 capacity;	       /* of the last level, in lines */
	u32 near;	       /* what was met less than so many bursts ago is in it still */
	u32 ages[AP_MET_AGES]; /* of pages, when a burst met them first, by a line that was known, of late */
	u64 lines[AP_MET_BURSTS], older; /* of the pages that were met last in each burst */
	struct ap_met_page page[AP_MET_PAGES];
};

/* What the kernel has counted; ~0: nobody knows.  In a gap, or in what is read. */
void ap_met_faults(struct ap_met_pages *p, u64 faults, bool is_gap);
/* What is read from now on is of this burst, of those of the process. */
void ap_met_begin(struct ap_met_pages *p, u64 burst, u64 capacity);
/* It is a fork's child, which has met what its parent had, and counts bursts and faults anew. */
void ap_met_fork_child(struct ap_met_pages *p);
/* The last level was asked for this line; or, with is_page, somebody for its page. */
struct ap_met_page *ap_met_note(struct ap_met_pages *p, u64 line, bool is_page);

/*
 * Lines of this page were met before the present burst, and nothing has evicted them that fetches
 * as much as we do.
 */
static inline bool ap_met_is_near(const struct ap_met_pages *p, const struct ap_met_page *page)
{
	return !page->is_new && page->age < p->near;
}

#endif
