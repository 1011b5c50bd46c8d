/* SPDX-License-Identifier: MIT */
/*
 * Store to load forwarding: which loads a store answers that is still in the store buffer, and
 * which one holds up, as it has a part of their bytes.  To ask of each load would cost a fifth of
 * what the models cost, so the reader of a log looks at all ways now and then, remembers those in
 * which a load was held up and those that hold it up, and from then on looks at them alone.
 */
#ifndef AP_MODEL_FORWARD_H
#define AP_MODEL_FORWARD_H

#include "base/types.h"

#define AP_FWD_STORES 128  /* the largest store buffer */
#define AP_FWD_LOOKED 64   /* ways in a row of which all is looked at, */
#define AP_FWD_PASSED 4032 /* and that are passed over then */
#define AP_FWD_WAYS   4096 /* by a hash of their numbers: those that are looked at always */

struct ap_fwd_store {
	u64 number; /* of all stores, from 1; 0: none */
	u64 address, when;
	u32 size, way;
};

struct ap_fwd {
	u64 n;	     /* stores so far, also those that nobody has looked at */
	u64 counted; /* of the program's, when a way was last looked at */
	s32 left;    /* ways that are passed over; below 0: that have been looked at */
	struct ap_fwd_store store[AP_FWD_STORES];
	u32 last[256]; /* by hash of 8 bytes of address: number of the last store there, its low half */
	u64 watched[AP_FWD_WAYS / 64];
};

enum ap_fwd_result { AP_FWD_NONE, AP_FWD_DONE, AP_FWD_BLOCKED };

static inline u64 *ap_fwd_watch_of(struct ap_fwd *f, u32 way, u64 *bit)
{
	u32 k = way * 0x9e3779b1U >> 20;

	*bit = 1ULL << k % 64;
	return &f->watched[k / 64];
}

static inline void ap_fwd_watch(struct ap_fwd *f, u32 way)
{
	u64 bit, *word = ap_fwd_watch_of(f, way, &bit);

	*word |= bit;
}

/* The next way: is it to be looked at? */
static inline bool ap_fwd_looks(struct ap_fwd *f, u32 way)
{
	u64 bit, *word = ap_fwd_watch_of(f, way, &bit);
	s32 left = f->left--;

	if (ap_likely(left > 0))
		return ap_unlikely(*word & bit);
	if (left == 1 - AP_FWD_LOOKED)
		f->left = AP_FWD_PASSED;
	return true;
}

/* Before a way's own: the program has so many stores by now, of which nobody has looked at some. */
void ap_fwd_catch_up(struct ap_fwd *f, u64 stores);
void ap_fwd_store(struct ap_fwd *f, const struct ap_fwd_store *store);
/* The newest among the last `depth` stores that overlaps decides; *by: which one that is. */
enum ap_fwd_result ap_fwd_load(struct ap_fwd *f, u32 depth, u64 address, u32 size,
			       const struct ap_fwd_store **by);

#endif
