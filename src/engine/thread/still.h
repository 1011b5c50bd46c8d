/* SPDX-License-Identifier: MIT */
/*
 * All other threads of this memory stand where they use no slot: still.c.
 */
#ifndef AP_ENGINE_STILL_H
#define AP_ENGINE_STILL_H

#include "engine/runtime/engine.h"

enum ap_still {
	AP_STILL_OURS,	/* they do, and the process lock is held */
	AP_STILL_OTHER, /* another thread has had them so, and what it did is done */
	AP_STILL_NOT	/* not all of them come */
};

/* With signals off, the lock not held.  What follows AP_STILL_OURS ends by ap_still_end(), which drops the lock. */
AP_MUST_CHECK enum ap_still ap_still_begin(struct ap_thread *t);
void ap_still_end(void);

/*
 * Does somebody wait for this thread?  Then it waits in turn, with no lock, and where it knows nothing of its slot.  One that has
 * descriptors of its own, as a vfork child, has to be gone instead: it would go on with those.
 */
static inline bool ap_still_is_wanted(const struct ap_thread *t)
{
	return ap_unlikely(__atomic_load_n(&ap_proc.still, __ATOMIC_SEQ_CST)) && !t->own_fd;
}
void ap_still_wait(struct ap_thread *t);

/* The program's call, as by ap_syscall_do(); whoever comes out of it waits. */
s64 ap_still_call(struct ap_thread *t, u64 nr, const u64 args[6]);

#endif
