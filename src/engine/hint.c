/* SPDX-License-Identifier: MIT */
/*
 * Directions of conditional branches, learned by running each once.  A superblock built along the
 * directions of the first run stays on its main path far more often than one that always falls
 * through, and code that runs only once is never made into superblocks at all.
 */
#include "engine/sb.h"

#define HINTS 65536

static u8 hints[HINTS];

static u8 *entry(u64 pc)
{
	return &hints[(u32)((pc * 0x9e3779b97f4a7c15ULL) >> 48) & (HINTS - 1)];
}

enum ap_hint ap_hint_get(u64 pc)
{
	return (enum ap_hint) * entry(pc);
}

void ap_hint_set(u64 pc, enum ap_hint hint)
{
	*entry(pc) = (u8)hint;
}
