/* SPDX-License-Identifier: MIT */
/*
 * What threads share: the last level, the directory of which thread holds which line, and a box per
 * core for what others want of its lines.  Offsets only: processes map it where they like.
 */
#ifndef AP_MODEL_SHARED_H
#define AP_MODEL_SHARED_H

#include "model/mem.h"

#define AP_BOX_LINES 256
#define AP_STRIPES   256
#define AP_DIR_WAYS  8

struct ap_dir_entry {
	u64 key; /* line | AP_LINE_VALID, | AP_LINE_DIRTY where its one holder may have modified it */
	u64 holders; /* bit per core */
};

struct ap_box {
	u32 lock;
	u32 head, tail;
	u32 overflow;
	u64 line[AP_BOX_LINES]; /* | AP_LINE_OWN: only until others have read it, not for good */
};

/*
 * The first page does not change any more, and processes that share it map it to be read.  What
 * stands behind it may be anything at any time, where a program scribbles: no place in memory
 * follows from it, and no loop is as long as it says.
 */
#define AP_SHARED_CONST 4096

struct ap_shared {
	u64 llc_offset;
	u64 dir_offset;
	u32 dir_sets; /* 0: it is no table yet */
	u32 line;
	u8 unused[AP_SHARED_CONST - 24];
	u32 joined_lock;
	u32 joined_n;
	u64 joined;
	u32 owner[AP_CORES]; /* of a core that has joined */
	u32 llc_lock[AP_STRIPES];
	u32 dir_lock[AP_STRIPES];
	struct ap_box box[AP_CORES];
};

/*
 * A lock says whose it is, so that ap_shared_leave() frees those of the dead; should nobody call
 * that, the lock is taken after many turns all the same.
 */
#define AP_LOCK_OF(core) ((core) + 1U)
void ap_model_lock(u32 *lock, unsigned core);
void ap_model_unlock(u32 *lock);

/* A number for a new core, or AP_NO_CORE when all are taken. */
unsigned ap_shared_join(struct ap_shared *s, u32 owner);

static inline bool ap_shared_many(const struct ap_shared *s)
{
	return __atomic_load_n(&s->joined_n, __ATOMIC_RELAXED) > 1;
}

/* What the directory says of a request. */
#define AP_DIR_OTHER 1U /* others have it, or had until now */
#define AP_DIR_HITM  2U /* one had modified it */
#define AP_DIR_SHARE 4U /* others keep it */

/* Core asks for a line, to store or to read; others are told. */
unsigned ap_dir_request(struct ap_shared *s, unsigned core, u64 line, bool store);
/*
 * A line that is held from before there were many is added.  Another may have asked for it
 * meanwhile, when nobody could tell: AP_DIR_SHARE, both keep it, or AP_DIR_OTHER, it is the other's
 * now because one of them has modified it.
 */
AP_MUST_CHECK unsigned ap_dir_publish(struct ap_shared *s, unsigned core, u64 line, bool dirty);
/* Core's only copy is about to be modified. */
void ap_dir_modify(struct ap_shared *s, unsigned core, u64 line);
/* Core has no copy any more; with held: has, but memory or the last level has the data. */
void ap_dir_leave(struct ap_shared *s, unsigned core, u64 line, bool held);
/* All holders must drop it: the last level, which includes them, has evicted it. */
bool ap_dir_purge(struct ap_shared *s, unsigned core, u64 line);
/* 0: core does not hold it (any more); else AP_LINE_VALID, OWN (nobody else does), DIRTY. */
u64 ap_dir_state(struct ap_shared *s, unsigned core, u64 line);

/* Takes one thing out of core's box: false: nothing left.  *overflow: look at all lines. */
bool ap_box_take(struct ap_shared *s, unsigned core, u64 *line, bool *overflow);

static inline bool ap_box_empty(const struct ap_box *b)
{
	return __atomic_load_n(&b->head, __ATOMIC_RELAXED) == b->tail &&
	       !__atomic_load_n(&b->overflow, __ATOMIC_RELAXED);
}

#endif
