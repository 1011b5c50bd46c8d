/* SPDX-License-Identifier: MIT */
/*
 * Futex lock.  Never taken on a signal path: the master handler may interrupt its holder.
 * 0 free, 1 held, 2 held with waiters.
 */
#ifndef AP_ENGINE_LOCK_H
#define AP_ENGINE_LOCK_H

#include "base/types.h"
#include "engine/sys.h"

struct ap_lock {
	u32 word;
};

static inline void ap_lock_take(struct ap_lock *l)
{
	u32 v = 0;

	if (__atomic_compare_exchange_n(&l->word, &v, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE) != 0)
		ap_sys4(AP_NR_futex, (u64)&l->word, 128 /* WAIT | PRIVATE */, 2, 0);
}

static inline void ap_lock_drop(struct ap_lock *l)
{
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		ap_sys3(AP_NR_futex, (u64)&l->word, 129 /* WAKE | PRIVATE */, 1);
}

/* In a fork's only thread: the copy of the lock is its own whoever held it. */
static inline void ap_lock_reset(struct ap_lock *l)
{
	__atomic_store_n(&l->word, 0, __ATOMIC_RELAXED);
}

#endif
