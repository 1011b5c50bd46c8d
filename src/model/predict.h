/* SPDX-License-Identifier: MIT */
/*
 * Between the branch predictors: branch.c has the simple ones and the calls, tage.c the tagged tables
 * (of outcomes and of targets), loop.c the loops, history.c what they hash.
 */
#ifndef AP_MODEL_PREDICT_H
#define AP_MODEL_PREDICT_H

#include "model/model.h"

/* Geometric lengths from first to last. */
void ap_lengths_init(struct ap_lengths *l, u32 tables, u32 first, u32 last);

/* Of table i: its high bits depend on all of who (a slot's number) and the history. */
static inline u64 ap_history_hash(const struct ap_bp *bp, const struct ap_lengths *l, unsigned i,
				  u32 who)
{
	return (who + 1) * 0x9e3779b97f4a7c15ULL +
	       (bp->history & l->mask[i]) * 0xc2b2ae3d27d4eb4fULL;
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

static inline bool ap_counter_taken(u8 counter)
{
	return AP_COUNTER(counter) >= 2;
}

/* Towards the outcome, of a two-bit counter. */
static inline void ap_counter_learn(u8 *counter, bool taken)
{
	u8 c = AP_COUNTER(*counter);

	if (taken)
		c += c < 3;
	else
		c -= c > 0;
	*counter = AP_COUNTER(c);
}

bool ap_tage(struct ap_bp *bp, u32 slot, bool taken, bool *mispredicted);
bool ap_tage_target(struct ap_bp *bp, u64 pc, u64 target);

#define AP_LOOP_SURE 3 /* equal runs until it decides */

/* 0: no idea; else 1 + the outcome.  Then it learns; wrong: who was asked was. */
unsigned ap_loop_predict(const struct ap_bp *bp, u32 slot);
void ap_loop_learn(struct ap_bp *bp, u32 slot, bool taken, bool wrong);
/* The most frequent case of both: a loop that is known, within its run.  True: predicted, and learnt. */
static inline bool ap_loop_stays(struct ap_bp *bp, u32 slot, bool taken)
{
	u32 number = bp->slot[slot].loop;
	struct ap_loop *l = &bp->loop[number - 1];

	if (!number || l->sure < AP_LOOP_SURE || l->stays != taken || l->now + 1 >= l->trips)
		return false;
	l->now++;
	return true;
}

/* The slot is another branch's. */
void ap_loop_forget(struct ap_bp *bp, u32 slot);

#endif
