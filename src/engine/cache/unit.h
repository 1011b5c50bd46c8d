/* SPDX-License-Identifier: MIT */
/*
 * Units: the pieces of memory that translated code is written to.  A unit belongs to the
 * neighbourhood (within 2 GB) of the source it was made for.
 */
#ifndef AP_ENGINE_UNIT_H
#define AP_ENGINE_UNIT_H

#include "base/types.h"
#include "engine/cache/cache.h"
#include "engine/runtime/mem.h"

#define AP_UNIT_MAX	 2000 /* exit ids keep the unit in 11 bits */
#define AP_UNIT_OFF_BITS 20   /* and the offset in 20 */
#define AP_UNIT_GATE	 2    /* the way out; its literal is aligned, as EFLAGS.AC may be set */
#define AP_UNIT_CODE	 64   /* where blocks begin */
#define AP_UNIT_ROOM	 4096 /* a block needs at most this much */
#define AP_STUB_SIZE	 32   /* of a way to the dispatcher */

struct ap_unit {
	u8 *base;
	u32 size, used;
	u32 cold; /* bytes used from the end down: stubs, which run until they are linked */
	struct ap_block *
		*blocks; /* in address order; replaced when it grows, never freed before a flush */
	u32 nblocks, cap;
	struct ap_mem_ends ready;
	bool retired; /* flushed, but a thread may still be inside */
};

extern struct ap_unit ap_units[AP_UNIT_MAX];
extern u32 ap_nunits;

void ap_unit_init(void);
/* A unit within reach of pc with room for one more block; may flush.  NULL: no memory. */
struct ap_unit *ap_unit_for(u64 pc);
void ap_unit_add_block(struct ap_unit *u, struct ap_block *b); /* u is from ap_unit_for */
struct ap_unit *ap_unit_of(u64 cache_pc); /* async-safe; NULL if not in the cache */
void ap_units_retire(void);		  /* at a flush: no new code goes into the present units */
void ap_units_release(void);		  /* no thread can be inside retired ones any more */
bool ap_units_full(void);
u64 ap_units_overlap(u64 start, u64 end); /* so many bytes of them are in this range; lock held */

/* emitted_switch.c: to the log of a build for tests */
void ap_emitted_note(const struct ap_block *b);

/* A place in the cache by its number (ap_thread.exit_id, branch_id). */
static inline const u8 *ap_unit_place(u32 id)
{
	return ap_units[id >> AP_UNIT_OFF_BITS].base + (id & ((1U << AP_UNIT_OFF_BITS) - 1));
}

/* stub.c: writes x->stub, of an exit that can be linked, or cannot; and of one at a place in the middle of its block. */
void ap_stub_write(const struct ap_unit *u, struct ap_exit *x);
void ap_stub_write_middle(const struct ap_unit *u, struct ap_exit *x, const u8 *place);
struct ap_exit *ap_stub_exit(const u8 *stub);
/* Where who has left by it may go on at present, as if it had not; NULL nowhere.  For who is in code, without a lock. */
const u8 *ap_stub_way_on(const u8 *stub, bool *middle);

/* link.c */
void ap_link(struct ap_exit *x, struct ap_block *to);
void ap_unlink_incoming(struct ap_block *b);
void ap_unlink_outgoing(struct ap_block *b);
/* The exits alone, whatever the lists of incoming links say: for when all blocks go. */
void ap_unlink_exits(struct ap_block *b);

#endif
