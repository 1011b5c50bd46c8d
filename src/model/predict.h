/* SPDX-License-Identifier: MIT */
/*
 * Between the branch predictors: branch.c has the simple ones and the calls, tage.c the tagged tables
 * (of outcomes and of targets), loop.c the loops, history.c what they hash.
 */
#ifndef AP_MODEL_PREDICT_H
#define AP_MODEL_PREDICT_H

#include "model/model.h"

void ap_folds_init(struct ap_folds *f, u32 tables, u32 first, u32 last);
/*
 * Table i's history in one word: the outcome of age a is xor-ed in at a mod 64.  Tables are asked in
 * order: *whole and *word, 0 at first, are the words of the ones before.
 */
static inline u64 ap_fold(const struct ap_folds *f, unsigned i, const u64 *history, u64 *whole,
			  u32 *word)
{
	while (*word < f->word[i])
		*whole ^= history[(*word)++];
	return *whole ^ (history[*word] & f->mask[i]);
}

/* High bits depend on all of pc and the history. */
static inline u64 ap_fold_hash(u64 pc_hash, u64 fold)
{
	return pc_hash + fold * 0xc2b2ae3d27d4eb4fULL;
}

/* An outcome of any branch that histories know of. */
static inline void ap_history_push(struct ap_bp *bp, bool outcome)
{
	u64 *h = bp->history;

	h[3] = h[3] << 1 | h[2] >> 63;
	h[2] = h[2] << 1 | h[1] >> 63;
	h[1] = h[1] << 1 | h[0] >> 63;
	h[0] = h[0] << 1 | outcome;
}

static inline bool ap_counter_taken(u8 counter)
{
	return (counter ^ 1) >= 2;
}

/* Towards the outcome, of a two-bit counter that is stored xor 1. */
static inline void ap_counter_learn(u8 *counter, bool taken)
{
	u8 c = *counter ^ 1;

	if (taken)
		c += c < 3;
	else
		c -= c > 0;
	*counter = c ^ 1;
}

bool ap_tage(struct ap_bp *bp, u64 pc, bool taken, bool *mispredicted);
bool ap_tage_target(struct ap_bp *bp, u64 pc, u64 target);

/* 0: no idea; else 1 + the outcome.  Then it learns; allocate: who was asked instead was wrong. */
unsigned ap_loop_predict(struct ap_bp *bp, u64 pc);
void ap_loop_learn(struct ap_bp *bp, u64 pc, bool taken, bool allocate);

#endif
