/* SPDX-License-Identifier: MIT */
/*
 * The process that reads a thread's full logs for it (docs/design/helper.md): who of the two reads, and the helper's
 * beginning and end.  What reading is, and what becomes of a log that a helper leaves unfinished, is feed.c's.
 */
#ifndef AP_ENGINE_FEED_HELPER_H
#define AP_ENGINE_FEED_HELPER_H

#include "engine/runtime/engine.h"
#include "model/feed.h"

struct ap_thread;

#define AP_HELPER_STACK (32UL << 10)
#define AP_HELPER_LOGS	2U

/* A log that was handed over, and what goes for the whole of it. */
struct ap_helper_log {
	const u64 *from, *to;
	u64 seg_base[3];
	bool has_cycles, has_levels;
};

enum ap_helper_claim { AP_CLAIM_NONE, AP_CLAIM_HELPER, AP_CLAIM_OWNER };

/* In the thread's feed, zeroed.  Its owner is whoever may read the thread's log: feed.c. */
struct ap_helper {
	struct ap_thread *thread;
	u32 tid;	/* 0: there is none, or it has gone; the kernel clears it */
	u32 pid;	/* as its parent calls it, until it has been waited for; process lock */
	u32 bell;	/* futex: incremented to have the helper look */
	u32 is_asleep;	/* it waits for the bell */
	u32 claim;	/* enum ap_helper_claim: who reads; futex */
	u32 is_waiting; /* the owner waits for the claim */
	u32 handed;	/* so many logs; by the thread */
	u32 done;	/* of them so many were read; by who has the claim */
	u32 is_ready;	/* it has let go of what is not its own; futex */
	u32 quit;	/* it is asked to end */
	u32 full;	/* logs that the thread has filled without one */
	u64 parent;	/* the process that it ends with */
	struct ap_helper_log log[AP_HELPER_LOGS];
	/* ways that are worth code, from who reads to who may write it; nwarm is 0 when they may be replaced */
	u32 nwarm;
	u32 warm[AP_FEED_WARM];
	/* before the log that is being read, whose number + 1 is kept_for: stored behind it */
	u32 kept_for;
	struct ap_feed kept;
};

/* Has the program of this session asked for helpers, and may this thread have one? */
bool ap_helper_may_be(const struct ap_thread *t);
/* Lock held, by the thread itself; async-safe.  There may be none afterwards. */
void ap_helper_begin(struct ap_helper *h, struct ap_thread *t, u8 *stack);
static inline bool ap_helper_is_there(const struct ap_helper *h)
{
	return ap_unlikely(__atomic_load_n(&h->tid, __ATOMIC_ACQUIRE)) &&
	       !__atomic_load_n(&h->quit, __ATOMIC_RELAXED);
}
static inline u32 ap_helper_left(const struct ap_helper *h)
{
	return h->handed - __atomic_load_n(&h->done, __ATOMIC_ACQUIRE);
}
/* By the thread, with less than AP_HELPER_LOGS left: one more. */
void ap_helper_hand(struct ap_helper *h, const struct ap_helper_log *log);

/* What became of the oldest log that is left. */
enum ap_helper_turn {
	AP_TURN_READ, /* it was read: by the helper */
	AP_TURN_OURS, /* the caller shall read it, and say ap_helper_did() */
	AP_TURN_TORN  /* likewise, and the helper has died in it */
};
enum ap_helper_turn ap_helper_turn(struct ap_helper *h);
void ap_helper_did(struct ap_helper *h);

/* In a fork's child, of each thread that it has a copy of: they are the parent's. */
void ap_helper_forget(struct ap_helper *h);

/* Ends one, or all that the calling thread's process has; lock held.  Logs that they have not read are left. */
void ap_helper_end(struct ap_helper *h);
void ap_helpers_end(void);
/* The same for good, or until ap_helpers_let(); lock held. */
void ap_helpers_ban(void);
void ap_helpers_hold(void);
void ap_helpers_let(void);

/* A call of the program's found no room for one more task, which they may have: true, they are gone; lock not held. */
bool ap_helpers_make_way(void);
/* Before a call of the program's that would meet them; lock not held. */
void ap_helpers_before_call(u64 nr, u64 a0, u64 a2, u64 a3);
extern bool ap_helpers_any; /* this process has had one */

/* feed.c: what the helper does with a log, and where a thread's helper is (NULL: it has no feed). */
void ap_feed_read_for(struct ap_thread *t, const struct ap_helper_log *log);
struct ap_helper *ap_feed_helper(const struct ap_thread *t);

#endif
