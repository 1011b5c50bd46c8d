/* SPDX-License-Identifier: MIT */
/*
 * The lasting description of code that was written (translate.c, stored.c), and taking back what was written last.
 */
#include "engine/translate/block.h"

#include "base/mem.h"
#include "engine/runtime/engine.h"
#include "engine/translate/heir.h"
#include "engine/translate/sb.h"

/* What was there before the last block was made. */
static struct {
	struct ap_block *b;
	void *mark, *end; /* of the heap, before and after it */
	u32 used, cold;	  /* of its unit */
} made;

u16 *ap_block_sites(struct ap_block *b)
{
	return (u16 *)(b->recs + b->nrecs);
}

struct ap_block *ap_block_new(const struct ap_block_parts *p, struct ap_exit *exits, u32 nexits)
{
	u64 jumps_size = p->njumps * sizeof(u64), recs_size = p->nrecs * sizeof(struct ap_rec);
	u64 pages_size = p->npages * sizeof(struct ap_block_page);
	struct ap_block *b = ap_heap_alloc(sizeof(*b) + pages_size + jumps_size + recs_size +
					   p->nsites * sizeof(u16) + (p->more ? p->nrecs : 0));
	struct ap_block_page *pages = (struct ap_block_page *)(b + 1);
	u64 *jumps = (u64 *)(pages + p->npages);

	if (!b)
		return NULL;
	b->pages = pages;
	b->npages = (u8)p->npages;
	for (u32 k = 0; k < p->npages; k++)
		pages[k].addr = p->pages[k];
	memcpy(jumps, p->jumps, jumps_size);
	memcpy(jumps + p->njumps, p->recs, recs_size);
	b->jumps = jumps;
	b->recs = (struct ap_rec *)(jumps + p->njumps);
	b->nrecs = (u16)p->nrecs;
	b->nsites = (u8)p->nsites;
	b->more = p->more ? memcpy(ap_block_sites(b) + p->nsites, p->more, p->nrecs) : NULL;
	b->exits = exits;
	b->nexits = (u8)nexits;
	b->born = ap_heir_generation();
	return b;
}

void ap_block_place(struct ap_block *b, struct ap_unit *u, const u8 *end, u32 cold, void *mark)
{
	made.b = b;
	made.mark = mark;
	made.end = ap_heap_mark();
	made.used = u->used;
	made.cold = u->cold;
	b->unit = (u16)(u - ap_units);
	b->code_len = (u32)(end - b->code);
	u->used = (u32)(end - u->base);
	u->cold = cold;
	ap_unit_add_block(u, b); /* last: a handler may look for it from here on */
}

void ap_block_undo(struct ap_block *b)
{
	struct ap_unit *u = &ap_units[b->unit];

	if (made.b != b)
		return;
	made.b = NULL;
	__atomic_store_n(&u->nblocks, u->nblocks - 1, __ATOMIC_RELEASE);
	u->used = made.used;
	u->cold = made.cold;
	if (ap_heap_mark() == made.end)
		ap_heap_rewind(made.mark);
}
