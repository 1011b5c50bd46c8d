/* SPDX-License-Identifier: MIT */
/* mem.c: memory of the engine, placed where the program will not meet it. */
#ifndef AP_ENGINE_MEM_H
#define AP_ENGINE_MEM_H

#include "abi/boot.h"
#include "base/types.h"

#define AP_HUGE_PAGE (2ULL << 20)

/* So much and more begins at a multiple of it, and asks for huge pages. */
void *ap_mem_map(u64 near, u64 size);	 /* anonymous RW near an address, NULL on failure */
void *ap_mem_map_at(u64 addr, u64 size); /* anonymous RW exactly there, NULL where taken */
void *ap_mem_map_exec(u64 near, u64 size, u64 reach); /* RWX within reach bytes of near */
u64 ap_mem_low_top(u64 end); /* at most end; what must be low is best mapped down from there */
void ap_mem_unmap(void *p, u64 size);
/*
 * The program has asked for this place: nothing is put there from now on.  Who asks often gets all that is below 4 GiB:
 * the engine keeps out of there, at the price of longer code.
 */
void ap_mem_avoid(u64 start, u64 end);
bool ap_mem_avoids(u64 start, u64 end);
bool ap_mem_is_ours(u64 start, u64 end); /* any overlap with the engine's mappings */
/* How many bytes [start, end) has in common with [lo, hi). */
static inline u64 ap_overlap(u64 start, u64 end, u64 lo, u64 hi)
{
	lo = start > lo ? start : lo;
	hi = end < hi ? end : hi;
	return lo < hi ? hi - lo : 0;
}
/* Its pages are there after one call; a hint, where that is refused they come one by one. */
void ap_mem_populate(void *p, u64 size);
/*
 * Page faults of this thread so far; ~0: nobody says.  Then those that ap_mem_populate() has had while they were to be
 * noted, which are none of the program's.
 */
u64 ap_mem_faults(void);
void ap_mem_note_own(bool is_on);
u64 ap_mem_own_faults(void);
/* How much more is good to have where so much is used. */
u64 ap_mem_stride(u64 used);
/* Of memory that is used from start on, up to size, what is ready becomes at least what is wanted.  Returns how much it is. */
u64 ap_mem_populate_to(void *start, u64 ready, u64 want, u64 size);
/* Of memory that is used from both ends, so much is ready there; and what is wanted becomes ready. */
struct ap_mem_ends {
	u32 low, high;
};
void ap_mem_populate_ends(struct ap_mem_ends *ready, void *start, u32 size, u32 low, u32 high);
/*
 * Memory in the blob's own image, readable, writable and executable, page by page; NULL where none is left.  It is never
 * given back.  Lock held.
 */
void ap_mem_early_init(u64 start, u64 end);
void *ap_mem_early(u64 size);
u64 ap_mem_total(void);	       /* bytes mapped: the share in RLIMIT_AS */
void *ap_heap_alloc(u64 size); /* bump allocation, freed as a whole at a flush; lock held */
/* Frees what was allocated since the mark, if that was the last thing; lock held. */
void *ap_heap_mark(void);
void ap_heap_rewind(void *mark);
void ap_heap_reserve(u64 size); /* so much more can be had without asking the kernel; lock held */
void ap_heap_reset(void);	/* frees all of it; lock held */
/*
 * Around a fork (not a vfork), so that the child's copy of the table is whole: begin before,
 * end in the parent, child in the child.  lend: the parent will wait for the child (lock.h).
 */
void ap_mem_fork_begin(void);
void ap_mem_fork_lend(const u32 *done);
void ap_mem_fork_end(void);
void ap_mem_fork_child(void);
/* Calls fn for each engine mapping, for filtering /proc/self/maps.  Lock held. */
void ap_mem_for_each(void (*fn)(u64 start, u64 end, void *arg), void *arg);
/* The table itself; while nobody else runs. */
const struct ap_range *ap_mem_table(u32 *n);

void ap_mem_lock_init(void);

#endif
