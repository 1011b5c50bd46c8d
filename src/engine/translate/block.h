/* SPDX-License-Identifier: MIT */
/* block.c: the lasting description of code that was written, and taking back what was written last. */
#ifndef AP_ENGINE_BLOCK_H
#define AP_ENGINE_BLOCK_H

#include "engine/cache/cache.h"
#include "engine/cache/unit.h"

/* Arrays that the block has copies of. */
struct ap_block_parts {
	const u64 *pages, *jumps;
	const void *recs; /* struct ap_rec */
	const u8 *more;	  /* NULL: the base group alone is counted */
	u32 npages, njumps, nrecs, nsites;
};

/* NULL: no memory.  The sites stand behind the records, to be filled in. */
struct ap_block *ap_block_new(const struct ap_block_parts *parts, struct ap_exit *exits,
			      u32 nexits);
u16 *ap_block_sites(struct ap_block *b);

/* Code up to end, and stubs down to cold, are the block's; mark: of the heap, before all that describes it. */
void ap_block_place(struct ap_block *b, struct ap_unit *u, const u8 *end, u32 cold, void *mark);
/* Its memory is free again, if it is what was placed last. */
void ap_block_undo(struct ap_block *b);

#endif
