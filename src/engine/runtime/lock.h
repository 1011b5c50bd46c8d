/* SPDX-License-Identifier: MIT */
/*
 * Futex locks.  Never taken on a signal path: the master handler may interrupt their holder.
 *
 * A thread cannot die alone, but a vfork child can: it is a process of its own in this address
 * space, and SIGKILL may find it with a lock in its hands.  So a lock's word names its holder,
 * in the form of the kernel's robust futexes, and such a child registers the list of all locks: when
 * it ends, the kernel marks what it held.  Whoever takes a marked lock next mends what the lock
 * guards, which may be half written.
 */
#ifndef AP_ENGINE_LOCK_H
#define AP_ENGINE_LOCK_H

#include "base/types.h"

#define AP_LOCK_OWNER	0x3fffffffU /* the holder, 0 none */
#define AP_LOCK_DIED	0x40000000U /* the holder did, and no one has it now */
#define AP_LOCK_WAITERS 0x80000000U

/*
 * A thread takes locks in this order, and none that it has: docs/design/engine.md, "Locks".  Hosted code and the build
 * for tests hold each ap_lock_take() to it.
 */
enum ap_lock_rank {
	AP_RANK_PROCESS = 1, /* ap_proc.lock */
	AP_RANK_MEMORY = 2   /* mem.c: the table of the engine's mappings */
};

struct ap_lock {
	u64 next; /* of the robust list */
	u32 word;
	void (*mend)(void); /* by the new holder; may be cut short itself and done again */
	const char *name;
	u32 rank;   /* enum ap_lock_rank */
	u32 lender; /* a holder that does not need it any more once *done is not 0 */
	const u32 *done;
};

/* A name that no thread's number can be, for a thread that is not in the kernel's care. */
static inline u32 ap_lock_name(u64 serial)
{
	return 0x20000000U | ((u32)serial & 0x1fffffffU);
}

void ap_lock_take(struct ap_lock *l);
bool ap_lock_try(struct ap_lock *l); /* no mending: for a thread that is about to give up anyway */
void ap_lock_drop(struct ap_lock *l);
bool ap_lock_is_own(const struct ap_lock *l); /* does the caller hold it? */
/*
 * The holder is about to wait in the kernel for a child that has memory of its own.  The child says by
 * *done, in shared memory, that it has its copy; from then on a waiter may have it.
 */
void ap_lock_lend(struct ap_lock *l, const u32 *done);
/* After it: true where the lock is still the caller's. */
AP_MUST_CHECK bool ap_lock_end_loan(struct ap_lock *l);
/*
 * In a fork's only thread: the copy of the lock is nobody's.  True: another thread held it when the copy was made, so what it
 * guards may be half written, as after a holder's death.
 */
bool ap_lock_reset(struct ap_lock *l);

/* Each lock, once, before there are tasks that can die. */
void ap_lock_add(struct ap_lock *l, enum ap_lock_rank rank, const char *name, void (*mend)(void));
/* The calling task dies alone: the kernel shall mark what it holds then.  False: it cannot. */
bool ap_lock_register(void);
/* Who has this name holds nothing any more. */
void ap_lock_disown(u32 owner);

#endif
