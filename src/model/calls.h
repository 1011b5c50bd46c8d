/* SPDX-License-Identifier: MIT */
/*
 * The calls that have not returned, as a thread's log tells of them: what a CPU's branch records
 * are in their call-stack mode.  A call puts itself on top, a return takes what is there, whether
 * it is its own or not.  Calls of the next instruction, by which code learns its address, are none.
 */
#ifndef AP_MODEL_CALLS_H
#define AP_MODEL_CALLS_H

#include "model/feed.h"

#define AP_CALLS 256U /* the oldest are forgotten; a power of two */

struct ap_open_call {
	u64 from, to; /* 0: a signal's handler */
};

struct ap_calls {
	u32 top, n;
	u8 len; /* of the newest, while it waits for the record that says where it went; else 0 */
	struct ap_open_call call[AP_CALLS];
};

static inline void ap_calls_forget(struct ap_calls *c)
{
	c->n = 0;
	c->len = 0;
}

/* The records of a log, [from, to). */
void ap_calls_read(struct ap_calls *c, const u64 *from, const u64 *to, u8 *const *chunks);
/* All records are read, and the thread stands at pc. */
void ap_calls_arrive(struct ap_calls *c, u64 pc);
/* A handler is entered, which leaves by a return as if it had been called. */
void ap_calls_signal(struct ap_calls *c);
/* The newest first, without handlers; gives how many. */
u32 ap_calls_get(const struct ap_calls *c, struct ap_open_call *to, u32 max);

#endif
