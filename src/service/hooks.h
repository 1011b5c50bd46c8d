/* SPDX-License-Identifier: MIT */
/*
 * What the service needs of the engine that it lives in, which defines these functions
 * (engine/service_hooks.c; a fake in tests/unit/service).  All act for the calling thread.
 */
#ifndef AP_SERVICE_HOOKS_H
#define AP_SERVICE_HOOKS_H

#include "abi/session.h"
#include "base/types.h"

/* Where the calling thread counts, and asks. */
struct ap_hook_place {
	struct ap_seg *seg;
	struct ap_slot *slot;
	const u64 *counts; /* of shapes */
	const u64 *shapes; /* their vectors */
	u32 nshapes;
	u64 direct;		   /* kinds that shapes do not count any more, */
	const u64 *direct_sums;	   /* by kind: of what they had counted before */
	u32 seg_index, slot_index; /* in the session, in the segment */
};

struct ap_session *ap_hook_session(void);
/* These kinds are read often: they may be counted so that reading is cheap. */
void ap_hook_count_directly(u64 kinds);
/* A page of an event is not where it was: what was said to rdpmc holds no more. */
void ap_hook_pmc_changed(void);
void ap_hook_place(struct ap_hook_place *place);

/* A system call of the engine's own. */
s64 ap_hook_sys(u64 nr, const u64 a[6]);
/* From and to the program's memory: 0 or -EFAULT; both may be the service's own. */
AP_MUST_CHECK int ap_hook_get(void *dst, u64 src, u64 n);
AP_MUST_CHECK int ap_hook_put(u64 dst, const void *src, u64 n);
/*
 * Holds all signals off.  False: one is waiting already, and the call is to be answered by
 * AP_HOOK_AGAIN with nothing done: the program executes it again when the signal was handled.
 */
#define AP_HOOK_AGAIN (-100001)
AP_MUST_CHECK bool ap_hook_hold(u64 *mask);
void ap_hook_release(u64 mask);

/* Zeroed memory that the program does not see; NULL when there is none. */
void *ap_hook_map(u64 size);
void ap_hook_unmap(void *p, u64 size); /* what ap_hook_map gave */
/* Pages of the session file for reading, which the program does not see either; or NULL. */
const void *ap_hook_map_session(u64 off, u64 size);
/* Is the calling thread's descriptor table the one of its process' other threads? */
bool ap_hook_shares_files(void);
/* The session file's descriptor. */
s32 ap_hook_session_fd(void);
/* Looks whether the supervisor is there, after so many waits for it. */
bool ap_hook_supervisor_lives(u32 waits);

#endif
