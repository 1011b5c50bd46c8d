/* SPDX-License-Identifier: MIT */
/*
 * Code that reads the records of one way, and the memory that it is in.
 */
#ifndef AP_ENGINE_FEED_CODE_H
#define AP_ENGINE_FEED_CODE_H

#include "engine/emit/emit.h"
#include "model/feed.h"

/*
 * At e's place, for the way with that number, which stays where it is; like: any thread's memory of the same machine.
 * NULL: there is no room, and e has moved all the same.  Lock held.
 */
ap_feed_code ap_feed_code_emit(struct ap_emit *e, const struct ap_feed_way *way, u32 id,
			       const struct ap_mem *like);

/* feed_arena.c: the same, where it lasts as long as descriptions.  Lock held. */
ap_feed_code ap_feed_code_make(const struct ap_feed_way *way, u32 id, const struct ap_mem *like);
/* All of it is gone; nobody reads.  Lock held. */
void ap_feed_code_forget(void);
/* Async-safe: the pc is in such code. */
bool ap_feed_code_contains(u64 pc);

#endif
