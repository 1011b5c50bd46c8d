/* SPDX-License-Identifier: MIT */
/*
 * A table of entries that are remembered in this process, claimed and given up by their states without a
 * lock.  Its memory is mapped when the first entry comes, and is never given back.  Each kind of entry has
 * its state first.
 */
#ifndef AP_SERVICE_MEMO_H
#define AP_SERVICE_MEMO_H

#include "base/types.h"

struct ap_memo {
	u8 *mem;
	u32 size; /* bytes of an entry */
	u32 used; /* entries ever used */
};

enum ap_memo_state { AP_MEMO_FREE, AP_MEMO_BUSY, AP_MEMO_KNOWN };

/* An entry of so many bytes to fill in; NULL where so many are there, or there is no memory. */
void *ap_memo_claim(struct ap_memo *memo, u32 entries, u32 size);
/* It is filled in: others see it from now on. */
void ap_memo_publish(struct ap_memo *memo, void *entry);
/* False: somebody else has given it up. */
bool ap_memo_free(void *entry);

/* In a child, which has nothing of it. */
void ap_memo_clear(struct ap_memo *memo);

/* How many there are to look at. */
static inline u32 ap_memo_used(const struct ap_memo *memo)
{
	return __atomic_load_n(&memo->used, __ATOMIC_ACQUIRE);
}

/* The i-th entry, below ap_memo_used(); NULL: nothing is in it. */
static inline void *ap_memo_at(const struct ap_memo *memo, u32 i)
{
	u8 *entry = memo->mem + (u64)i * memo->size;

	return __atomic_load_n((u32 *)entry, __ATOMIC_ACQUIRE) == AP_MEMO_KNOWN ? entry : NULL;
}

#endif
