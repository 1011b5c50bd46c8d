/* SPDX-License-Identifier: MIT */
/*
 * Folded histories.  A table of history length n wants a hash of the last n outcomes; computing it anew
 * costs n.  Instead each fold is turned by one bit per outcome, the new one comes in at the bottom, the one
 * that is now too old goes out where turning has brought it.  Four folds of 16 bits share a word.
 */
#include "model/predict.h"

/* Geometric lengths from first to last, in integers: each the last one times a ratio in 1/1024. */
void ap_folds_init(struct ap_folds *f, u32 tables, u32 first, u32 last)
{
	u64 low = 1024, high = 1024 * 1024, ratio, length;

	f->tables = tables;
	/* the largest ratio that does not overshoot */
	while (tables > 1 && low < high) {
		ratio = (low + high + 1) / 2;
		length = (u64)first << 10;
		for (u32 i = 1; i < tables && length >> 10 <= last; i++)
			length = length * ratio >> 10;
		if (length >> 10 <= last)
			low = ratio;
		else
			high = ratio - 1;
	}
	length = (u64)first << 10;
	for (u32 i = 0; i < tables; i++) {
		f->length[i] = length >> 10;
		length = length * low >> 10;
	}
	if (tables > 1)
		f->length[tables - 1] = last;
}

static inline void turn(u64 *fold, u64 in, u64 out)
{
	const u64 bottom = 0x0001000100010001ULL;

	*fold = ((*fold << 1 & ~bottom) | (*fold >> 15 & bottom)) ^ (in * bottom) ^ out;
}

static inline void folds_push(struct ap_folds *f, const u8 *history, u32 head, u64 in)
{
	u64 out[2] = { 0, 0 };

	for (u32 i = 0; i < f->tables; i++) {
		u32 length = f->length[i];

		out[i >> 2] |= (u64)history[(head + length) % AP_HISTORY]
			       << (16 * (i & 3) + length % 16);
	}
	turn(&f->fold[0], in, out[0]);
	if (f->tables > 4)
		turn(&f->fold[1], in, out[1]);
}

void ap_history_push(struct ap_bp *bp, bool outcome)
{
	bp->head = (bp->head - 1) % AP_HISTORY;
	bp->history[bp->head] = outcome;
	bp->outcomes = bp->outcomes << 1 | outcome;
	if (bp->outcome_folds.tables)
		folds_push(&bp->outcome_folds, bp->history, bp->head, outcome);
	if (bp->target_folds.tables)
		folds_push(&bp->target_folds, bp->history, bp->head, outcome);
}
