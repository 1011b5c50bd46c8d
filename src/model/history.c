/* SPDX-License-Identifier: MIT */
/*
 * Folded histories.  A table of history length n wants a hash of the last n outcomes: they are bits of
 * words, so that 64 of them are folded at a time, and a longer history begins with the words of
 * the shorter ones.  Keeping the folds up to date outcome by outcome costs more: most branches that
 * are in the history never ask for a fold.
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
	for (u32 i = 0; i < tables; i++) {
		f->word[i] = f->length[i] / 64;
		f->mask[i] = (1ULL << f->length[i] % 64) - 1;
	}
}
