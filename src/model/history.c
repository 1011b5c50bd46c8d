/* SPDX-License-Identifier: MIT */
/*
 * The lengths of histories.  A history is one word: only branches that have gone both ways are in
 * it, so that its 64 outcomes reach as far as some hundreds of all branches' (cf. D. Gope and M.
 * Lipasti, "Bias-free branch predictor", 2014), and a table's part of it is one mask.
 */
#include "model/predict.h"

/* In integers: each the last one times a ratio in 1/1024. */
void ap_lengths_init(struct ap_lengths *l, u32 tables, u32 first, u32 last)
{
	u64 low = 1024, high = 1024 * 1024, ratio, length;

	l->tables = tables;
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
		l->length[i] = length >> 10;
		length = length * low >> 10;
	}
	if (tables > 1)
		l->length[tables - 1] = last;
	for (u32 i = 0; i < tables; i++)
		l->mask[i] = ~0ULL >> (64 - l->length[i]);
}
