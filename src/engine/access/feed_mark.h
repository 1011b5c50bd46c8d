/* SPDX-License-Identifier: MIT */
/*
 * Samples of what is modelled (docs/design/sampling.md, "Modelled events"): the marks that a thread's counts of the models
 * shall not pass unseen, and the things with which they were reached, until samples of them are taken.
 */
#ifndef AP_ENGINE_FEED_MARK_H
#define AP_ENGINE_FEED_MARK_H

#include "abi/raw.h"
#include "model/feed.h"

struct ap_thread;

#define AP_FEED_MARKS 16
#define AP_FEED_HITS  256
#define AP_FEED_TURNS 64

/* A place in a piece of code that is not known yet: resolved when its sample is taken. */
struct ap_feed_place {
	u64 pc;	   /* of the piece, */
	u32 nth;   /* so many instructions behind it; or the first that reaches into */
	u64 line;  /* this line, where it is not 0 */
	u64 taken; /* by the conditional branches on the way, in their order */
};

struct ap_feed_hit {
	u64 kinds, value; /* their count had come to this */
	struct ap_feed_place at;
	u64 address;
	u32 what, result, size; /* enum ap_feed_saw, and of what was seen */
	bool is_locked;
	u64 outcomes; /* taken branches up to it */
	bool alone;   /* the thread left the cache behind the very block: its registers fit */
	bool is_estimated; /* nobody looked: it is where the thread was when the count should have come to this */
};

struct ap_feed_mark {
	u64 kinds, next, period;
	u64 was, rate; /* the count at the last look; counts / 65536 for a word of the log */
};

/* What the predictors said of a taken branch. */
struct ap_feed_outcome {
	u64 pc;
	bool wrong;
};
#define AP_FEED_OUTCOMES                                                                           \
	128U /* a power of two: what branch stacks have, and what a block has beyond a mark */

struct ap_feed_marks {
	struct ap_feed_look look; /* first */
	u32 n, nhits, first_hit;
	bool alone;
	struct ap_feed_mark mark[AP_FEED_MARKS];
	struct ap_feed_hit hit[AP_FEED_HITS];
	/* who is to be blamed for a wait for the end of each piece of the pipeline's ring */
	struct ap_feed_place blame[AP_PIPE_PIECES], late;
	bool has_late;
	u64 entered; /* cycles / 256, when the piece that is seen has entered */
	u32 end;     /* of the ring, then */
	/* the first reference of the last piece: pc is 0 where it had none */
	struct ap_feed_seen reference;
	u64 noutcomes, followed_from; /* of the next, all seen since; a walk began behind so many */
	struct ap_feed_outcome outcome[AP_FEED_OUTCOMES];
};

/* What the models have counted of these kinds. */
u64 ap_feed_sum(const struct ap_feed *f, u64 kinds);
u64 ap_feed_stands_for(const struct ap_feed *f, u64 kinds);

void ap_feed_marks_init(struct ap_feed_marks *m);
/* Before a log is read slowly. */
void ap_feed_marks_look(struct ap_feed_marks *m);
/* Of a log of so many words that has been read: how many the next one may have; 0: look at each block. */
u64 ap_feed_marks_reach(struct ap_feed_marks *m, const struct ap_feed *f, u64 words);
/* In a gap: the thread is at pc, with these registers or not.  True: counts that go on by rates have passed marks. */
bool ap_feed_marks_pass(struct ap_feed_marks *m, const struct ap_feed *f, u64 pc, bool has_regs);
/* So many instructions till that, by these rates; ~0: never. */
u64 ap_feed_marks_left(const struct ap_feed_marks *m, const struct ap_feed *f);
/* union perf_mem_data_src, without its operation. */
u64 ap_feed_data_src(u32 result, bool is_locked);
/* The instruction; lock held. */
u64 ap_feed_resolve(const struct ap_feed_place *at);

#endif
