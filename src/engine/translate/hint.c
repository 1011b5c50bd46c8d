/* SPDX-License-Identifier: MIT */
/*
 * Directions of conditional branches, learned by running each once.  A superblock built along the
 * directions of the first run stays on its main path far more often than one that always falls
 * through, and code that runs only once is never made into superblocks at all.
 */
#include "engine/translate/sb.h"

/* Four to a byte: few pages are touched, and copied by forks. */
#define HINTS 65536
#define BITS  2

static u8 hints[HINTS * BITS / 8];

static u8 *entry(u64 pc, u32 *shift)
{
	u32 at = (u32)((pc * 0x9e3779b97f4a7c15ULL) >> 48) & (HINTS - 1);

	*shift = at % (8 / BITS) * BITS;
	return &hints[at * BITS / 8];
}

enum ap_hint ap_hint_get(u64 pc)
{
	u32 shift;
	u8 byte = *entry(pc, &shift);

	return (enum ap_hint)(byte >> shift & ((1 << BITS) - 1));
}

void ap_hint_set(u64 pc, enum ap_hint hint)
{
	u32 shift;
	u8 *byte = entry(pc, &shift);

	*byte = (u8)((*byte & ~(((1 << BITS) - 1) << shift)) | hint << shift);
}
