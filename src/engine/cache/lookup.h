/* SPDX-License-Identifier: MIT */
/*
 * From program pcs to blocks: the hash table that the dispatcher asks, and the table of indirect
 * branches that translated code jumps through.  All under the process lock, except that translated
 * code reads the indirect table at any time.
 */
#ifndef AP_ENGINE_LOOKUP_H
#define AP_ENGINE_LOOKUP_H

#include "base/types.h"
#include "engine/cache/cache.h"
#include "engine/emit/emit.h"

#define AP_IBL_BITS    16
#define AP_IBL_ENTRIES (1U << AP_IBL_BITS)

AP_MUST_CHECK int ap_lookup_init(void);
/* For plain code as well; false: no memory.  Lock held. */
bool ap_lookup_init_plain(void);
struct ap_block *ap_lookup_find(u64 pc, bool plain);
bool ap_lookup_add(struct ap_block *b);	   /* false: no memory, the block will not be found */
void ap_lookup_remove(struct ap_block *b); /* from the hash and, with a pad, the indirect table */
void ap_lookup_clear(void);		   /* forget everything, at a flush */
void ap_lookup_fork_child(void);	   /* what is added goes to a table of its own at first */
void ap_ibl_clear(void);		   /* of the indirect table alone */

/* Lanes are tested from now on: the entries in front of the indirect table are needed. */
void ap_ibl_fill_front(void);
/* Zeroed bytes for a client, behind the first table: below 2 GB, unless the program wants all of that. */
#define AP_LOW_MAPS (128ULL << 10)
u8 *ap_low_maps(void);
/* Absolute address of the indirect table, of plain code's if that was chosen last: a disp32 where it is below 2 GB. */
u64 ap_ibl_table(void);
/* So many bytes of the tables are in this range.  Those where the engine may not be any more move; while the cache is empty. */
u64 ap_ibl_overlaps(u64 start, u64 end);
AP_MUST_CHECK bool ap_ibl_move(void);
void ap_ibl_choose(bool plain); /* and no place was noted */
/* Places of the code that go through the small table, to be changed when the whole one is used; so many at most are noted. */
#define AP_IBL_SITES 16
void ap_ibl_note_site(u8 *at);
u32 ap_ibl_sites(u8 *const **sites); /* how many there are */
/* Not before there are many pads: code goes through a table that is an eighth of the whole one. */
bool ap_ibl_is_large(void);
/* There is code that goes through the small table, though the other is what is used now. */
bool ap_ibl_has_old_code(void);
/*
 * A pad verifies that rcx is the block's pc, restores rcx and rdx, and goes on at the block's code.
 * ap_ibl_emit_pad writes one that falls through; the caller may add a jmp.  Returns its address.
 */
#define AP_PAD_SIZE 80
u8 *ap_ibl_emit_pad(struct ap_emit *e, u64 pc);
void ap_ibl_publish(struct ap_block *b); /* b->pad into the table, at the head of its chain */
void ap_ibl_publish_anew(
	struct ap_block *b); /* from the small table into the whole one, if it is used now */

#endif
