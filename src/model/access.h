/* SPDX-License-Identifier: MIT */
/*
 * What an access does that L1 has.  This is the only place that says it; the fast paths are
 * instances: one access (mem.h), all of a way at once (feed.c), what is looked for before anything
 * happens (straight.c, mem.c).  Code that engine/access/feed_code.c emits does the same by offsets
 * into these structures, with ap_access_other() as its condition and ap_access_use() as what it
 * does.
 *
 * Nothing changes by such an access but times of use, of the line and of its page, and a count of
 * accesses.
 */
#ifndef AP_MODEL_ACCESS_H
#define AP_MODEL_ACCESS_H

#include "base/types.h"

/*
 * A line of L1 that may be used without asking: nothing changes by it but times of use.  Its page
 * is in the first TLB, of loads and of stores each for itself; stores may modify it.
 */
struct ap_quick {
	u64 key[2];  /* the line's address, for loads and for stores, or AP_NOT_QUICK */
	u16 slot;    /* of the line's stamp */
	u16 page[2]; /* of its page's, in the TLB of loads and of stores */
	u16 unused[5];
};

#define AP_NOT_QUICK (1ULL << 63) /* farther than a line from all addresses */

#define AP_QUICK_SHIFT 5 /* of its size; lines are not shorter */

#define AP_QUICK      2048 /* of data, by address */
#define AP_QUICK_CODE 4096 /* likewise; programs jump about in megabytes */

/* In a table of n; shift: that of a line's size. */
static inline struct ap_quick *ap_quick_of(struct ap_quick *table, u64 n, u64 address, u32 shift)
{
	u64 offset = address >> (shift - AP_QUICK_SHIFT) & (n - 1) << AP_QUICK_SHIFT;

	return (struct ap_quick *)((char *)table + offset);
}

/*
 * What tells the bytes from first to last from the line, for loads (0) or stores (1): where it has
 * a bit of a line's address they are not in the line, or that is not quick.  Those of several
 * accesses may be put together by |.
 */
static inline u64 ap_access_other(const struct ap_quick *q, u64 write, u64 first, u64 last)
{
	u64 key = q->key[write];

	return (key ^ first) | (key ^ last);
}

/*
 * The line is used, and its page, at this time.  The stamps are those of L1 and of its TLB for
 * loads or stores.
 */
static inline void ap_access_use(u64 *stamp, u64 *page_stamp, const struct ap_quick *q, u64 write,
				 u64 now)
{
	stamp[q->slot] = now;
	page_stamp[q->page[write]] = now;
}

#endif
