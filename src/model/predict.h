/* SPDX-License-Identifier: MIT */
/*
 * Between the branch predictors: branch.c has the simple ones and the calls, tage.c the tagged tables
 * (of outcomes and of targets), loop.c the loops, history.c what they hash.
 */
#ifndef AP_MODEL_PREDICT_H
#define AP_MODEL_PREDICT_H

#include "model/model.h"

/* The 16 bits that a table's history is folded to: outcome of age a is xor-ed in at a mod 16. */
static inline u32 ap_fold_of(const struct ap_folds *f, unsigned table)
{
	return f->fold[table >> 2] >> 16 * (table & 3) & 0xffff;
}

/* High bits depend on all of pc, the history and the table. */
static inline u64 ap_fold_hash(const struct ap_folds *f, unsigned table, u64 pc)
{
	return ap_bp_hash(pc) + (u64)(ap_fold_of(f, table) << 3 | table) * 0xc2b2ae3d27d4eb4fULL;
}

void ap_folds_init(struct ap_folds *f, u32 tables, u32 first, u32 last);
/* An outcome of any branch that histories know of. */
void ap_history_push(struct ap_bp *bp, bool outcome);

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
