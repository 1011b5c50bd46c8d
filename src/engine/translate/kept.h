/* SPDX-License-Identifier: MIT */
/* Blocks in the store of translated code (cache/store.h, docs/design/code-store.md).  Process lock held. */
#ifndef AP_ENGINE_KEPT_H
#define AP_ENGINE_KEPT_H

#include "engine/cache/store.h"
#include "engine/translate/sb.h"

/* keep.c: puts the block that was written last into the store, if it can be.  ap_fixes tell what depends on its place. */
void ap_keep(const struct ap_sb *sb, const struct ap_block *b);

/*
 * stored.c: has the store a block for pc, of the very bytes that are there?  Then sb is no more than that, and
 * ap_stored_write makes the block.  NULL: it cannot be used here after all.
 */
AP_MUST_CHECK bool ap_stored_find(struct ap_sb *sb, u64 pc);
struct ap_block *ap_stored_write(const struct ap_sb *sb, bool with_pad);
/* AP_STRESS_STORE: what was kept as b is used at once, in its place. */
struct ap_block *ap_stored_swap(struct ap_sb *sb, struct ap_block *b, bool with_pad);
/*
 * What ap_stored_find() has not found: is it worth a record?  Not the first time.  ap_stored_note_made() says that sb was made
 * without one.
 */
AP_MUST_CHECK bool ap_stored_is_wanted(u64 pc);
void ap_stored_note_made(const struct ap_sb *sb);
/* The store may be asked: nothing is wanted of code that it does not have. */
AP_MUST_CHECK bool ap_stored_may_be(void);
/* Which records are of a block at pc, where these bytes are. */
struct ap_store_key ap_stored_key(u64 pc, const u8 bytes[16]);

#endif
