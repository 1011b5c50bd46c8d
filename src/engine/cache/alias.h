/* SPDX-License-Identifier: MIT */
/*
 * alias.c: memory that can be written through another mapping than the one that it is executed
 * through.  Process lock held throughout.
 */
#ifndef AP_ENGINE_ALIAS_H
#define AP_ENGINE_ALIAS_H

#include "base/types.h"

/* The file behind a descriptor is executed from a private mapping (takes no lock); has been opened for writing. */
void ap_alias_executes(s32 fd);
void ap_alias_opened(s32 fd); /* takes the lock */
/* It may have been, by whatever descriptor; takes no lock. */
AP_MUST_CHECK bool ap_alias_was_opened(s32 fd);
/* [start, end) is mapped from now on, and what it maps may change behind its back. */
void ap_alias_map(u64 start, u64 end);
/* It is no longer, or something else is. */
void ap_alias_unmap(u64 start, u64 end);
/* Some of it may have been unmapped: asks the kernel.  Where that does not answer it counts as mapped. */
void ap_alias_reload(u64 start, u64 end);
/* The table may be half written: all of it. */
void ap_alias_mend(void);
/* Its protection is another. */
void ap_alias_changed(u64 start, u64 end);
/* The first part of [start, end) that is such memory; false where there is none. */
AP_MUST_CHECK bool ap_alias_next(u64 start, u64 end, u64 *lo, u64 *hi);

/* Grows when what is mapped there may be something else. */
u32 ap_alias_gen(void);
/* Such memory as the kernel tells of it, upwards, as for ap_selfmaps_read(); false where not all can be told. */
struct ap_map;
AP_MUST_CHECK bool ap_alias_views(bool (*fn)(const struct ap_map *m, void *arg), void *arg);

/*
 * A block is being made of this page: calls fn for each writable mapping of the same memory, with
 * its protection.  False where fn was, or where nobody knows what else is mapped.
 */
AP_MUST_CHECK bool ap_alias_protect(u64 page, bool (*fn)(u64 page, u32 prot));
/* The memory behind [start, end) is about to change, or has: drops its blocks at all addresses. */
void ap_alias_drop(u64 start, u64 end);
/* Likewise the file behind a descriptor; takes the lock. */
void ap_alias_drop_file(s32 fd);
/* Whatever others may have written to. */
void ap_alias_drop_all(void);
bool ap_alias_any(void); /* is there such memory, and blocks of it?  Async-safe */

#endif
