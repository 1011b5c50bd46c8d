/* SPDX-License-Identifier: MIT */
/*
 * Between the branch predictors: branch.c has the simple ones and the calls, tage.c the tagged
 * tables (of outcomes and of targets), loop.c the loops, history.c what they hash.
 */
#ifndef AP_MODEL_PREDICT_H
#define AP_MODEL_PREDICT_H

#include "model/model.h"

/* Geometric lengths from first to last. */
void ap_lengths_init(struct ap_lengths *l, u32 tables, u32 first, u32 last);

/* High bits of it depend on all of the site and the history. */
static inline u64 ap_mix(u64 who_hash, u64 history)
{
	return who_hash + history * 0xc2b2ae3d27d4eb4fULL;
}

static inline u64 ap_site_hash(u32 site)
{
	return (site + 1ULL) * 0x9e3779b97f4a7c15ULL;
}

static inline void ap_history_push(struct ap_bp *bp, bool outcome)
{
	bp->history = bp->history << 1 | outcome;
}

/* The highest of them, none of which may be missing. */
static inline int ap_highest(u32 bits)
{
	return 31 - __builtin_clz(bits);
}

/* --- TAGE */

/*
 * An entry: its tag in the high bits, a counter (0 to 7, taken from 4 on; 3 is stored as 0),
 * usefulness (0 to 3).  Zeroed memory is an entry as others are, with tag 0, of which nothing is
 * known.
 */
#define AP_TAGE_FRESH	     3U
#define AP_TAGE_COUNTER(e)   (((e) >> 2 & 7) ^ AP_TAGE_FRESH)
#define AP_TAGE_STORED(c)    (((c) ^ AP_TAGE_FRESH) << 2)
#define AP_TAGE_COUNTER_MASK (7U << 2)

/* Those of all tables with one index are neighbours. */
static inline u32 *ap_tage_entry(void *tagged, u32 index_mask, unsigned i, u64 hash)
{
	return (u32 *)((char *)tagged + ((u32)(hash >> 30) & index_mask)) + i;
}

/* What a table has of the site, else what the tables before it have. */
static inline u32 ap_tage_better(u32 e, u64 hash, u32 tag_mask, u32 best)
{
	return (e ^ (u32)(hash >> 32)) & tag_mask ? best : e;
}

/* Of three tables: what does not change, at hand. */
struct ap_tage_view {
	void *tagged;
	u64 mask[3];
	u32 index_mask, tag_mask;
};

/*
 * Is the entry of the longest history that has the branch, else the slot's counter, sure of the
 * outcome?  Then there is nothing to learn.  All of it without a jump, so that one branch's work
 * overlaps the next one's.
 */
static inline bool ap_tage_sure(const struct ap_tage_view *v, u64 history, u32 slot, u32 counter,
				u32 taken)
{
	u64 site = ap_site_hash(slot), h0 = ap_mix(site, history & v->mask[0]),
	    h1 = ap_mix(site, history & v->mask[1]), h2 = ap_mix(site, history & v->mask[2]);
	u32 sure = AP_TAGE_STORED(0) + taken * 4, best = counter;

	__asm__("" : "+r"(best)); /* it is there, so that no compiler jumps around its load */
	best = ap_tage_better(*ap_tage_entry(v->tagged, v->index_mask, 0, h0), h0, v->tag_mask,
			      best);
	best = ap_tage_better(*ap_tage_entry(v->tagged, v->index_mask, 1, h1), h1, v->tag_mask,
			      best);
	best = ap_tage_better(*ap_tage_entry(v->tagged, v->index_mask, 2, h2), h2, v->tag_mask,
			      best);
	return !((best ^ sure) & AP_TAGE_COUNTER_MASK);
}
_Static_assert(AP_TAGE_STORED(0) + 4 == AP_TAGE_STORED(7), "the outcome's");

bool ap_tage(struct ap_bp *bp, u32 slot, bool taken);
bool ap_tage_target(struct ap_bp *bp, u32 site, u64 target);

/* --- loops */

#define AP_LOOP_SURE	3 /* equal runs until it decides */
#define AP_LOOP_AGE	7
#define AP_LOOP_LONGEST 60000U

/* 0: no idea; else 1 + the outcome.  Then it learns; wrong: the prediction was. */
unsigned ap_loop_predict(const struct ap_bp *bp, u32 slot);
void ap_loop_learn(struct ap_bp *bp, u32 slot, bool taken, bool wrong);

/* A loop that is known, and goes on or ends as it should.  True: predicted, and learnt. */
static inline bool ap_loop_right(struct ap_loop *l, u32 taken)
{
	u32 now = l->now + 1U;
	bool last = now == l->trips;

	if (l->sure < AP_LOOP_SURE || (l->stays ^ last) != taken)
		return false;
	l->now = (u16)(last ? 0 : now);
	l->age = last ? AP_LOOP_AGE : l->age;
	return true;
}

/* One that is not known, and goes on.  True: learnt. */
static inline bool ap_loop_goes_on(struct ap_loop *l, u32 taken)
{
	u32 now = l->now + 1U;

	if (l->stays != taken || now >= (l->trips ? l->trips : AP_LOOP_LONGEST))
		return false;
	l->now = (u16)now;
	return true;
}

/* The slot is another branch's. */
void ap_loop_forget(struct ap_bp *bp, u32 slot);

#endif
