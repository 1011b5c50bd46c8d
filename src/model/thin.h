/* SPDX-License-Identifier: MIT */
/*
 * Reading parts of a run for the whole (docs/design/feed.md, "Parts of a run"): the models see windows of what threads
 * do, and what they would have counted in between is estimated.  Knows numbers alone, not what they count.
 *
 * All threads of a process are in the same phase, since what one does to another's lines is seen where both are
 * read; each has its own counts.  Where a process begins among the windows is drawn, so that a session's windows are a
 * fair sample of all of its instructions, however many processes they are of.
 */
#ifndef AP_MODEL_THIN_H
#define AP_MODEL_THIN_H

#include "base/types.h"

#define AP_THIN_COUNTS 44
#define AP_THIN_ONE    1024U
#define AP_THIN_FIRST  (1 << 18) /* words of the log that a session begins with are read */
#define AP_THIN_INSNS  3	 /* that a word of the log is for, where nobody knows better */

enum ap_thin_state {
	AP_THIN_READ, /* counts are taken as they are, and say how what is passed over behind it counts */
	AP_THIN_PASS, /* not read: half counts as the last burst had it, half, later, as the next one */
	AP_THIN_WARM /* read, but what is met anew may have been met in what was passed over: counted as PASS */
};

/*
 * What an error is estimated from.  Each window stands for so many instructions that none saw (its weight w), and for y of each
 * count.  The next one of the thread says how far that may be off; and of processes that end, others like them that no window
 * saw say nothing: they are compared with each other.  A process has one, in its segment, which the supervisor reads.
 */
struct ap_thin_errors {
	u32 lock;
	u32 n;	   /* windows that have a next one, or halves that can be compared */
	u64 w;	   /* the sum of weights; */
	u64 ww[2]; /* of their squares, low word first; */
	u64 wd[2]; /* of those of such windows */
	u64 nseen; /* windows, and processes that stand for others; */
	u64 times; /* how many times its own counts each stands for, squared, in units of 1 / AP_THIN_ONE^2 */
	struct {
		u64 y; /* the sum of y; */
		s64 warm; /* of what the end of the warm-up would have said more than the window did; */
		u64 dd[2]; /* of what the next window, or half, would have said more or less, squared */
		u64 rare; /* of y times as many times: the variance of what comes one by one */
	} count[AP_THIN_COUNTS];
	u64 missed; /* instructions of others like it, */
	u64 missed_counts[AP_THIN_COUNTS];
};

/* Where a process begins. */
struct ap_thin_start {
	u64 read; /* words that the session has read whole at its beginning */
	u32 gaps; /* that the session has had */
	u32 random;
};

/* Of a process. */
struct ap_thin_phase {
	u32 every; /* one part of so many is read; below 2: all is */
	u32 scale; /* all lengths are so many powers of two shorter */
	u32 state;
	u32 seq; /* incremented with each change of state */
	u32 lock;
	s32 left;   /* words, until the next state */
	u32 random; /* bursts must not keep step with the program */
	s32 next;   /* words of the gap behind what is read now; 0: not drawn yet */
	s32 last;   /* of the gap before it */
	u32 more; /* half of what is not read before and behind this burst for what is, in units of 1 / AP_THIN_ONE; */
	u32 behind; /* the part of it that is behind */
	u32 gaps;   /* passed over, with what was read behind them to warm up */
	u32 restarts;
	u32 period; /* words from window to window when it began; 0: its beginning is read in any case */
	bool is_whole;		       /* it reads the session's beginning */
	struct ap_thin_errors *errors; /* or NULL */
};

/* Of a thread.  Zeroed it is as new. */
struct ap_thin {
	u32 state, seq;
	bool has_rate; /* till then it is read, whatever the others do; */
	bool waits;    /* but if it began in a gap, where nobody looked at it */
	bool is_told;  /* of its end (ap_thin_missed) */
	bool ahead; /* counts of a burst stand for halves of the gaps beside it, at once (ap_thin_ahead) */
	bool stood; /* those of the last one did: of a thread that came in its middle they do not */
	u32 more;   /* then, of this burst: the phase's */
	u64 steady; /* these counts, as bits, do not: what is passed over counts by the rates, at once */
	u64 unrated; /* half words that were passed over before there were any */
	u64 words;   /* read in this burst */
	u64 insns;   /* that these were logged by, as the thread's owner has it; 0: not known */
	/*
	 * What was passed over behind it, of which half counts as the next burst has it: words that were logged, and others, which
	 * are as many as this burst had for so many instructions.
	 */
	u64 late, late_plain, late_insns;
	u64 stands_for;		    /* half words that the rates have been taken for, */
	u64 rate_words, rate_insns; /* and what they are of */
	u64 warm_words, mid_words;  /* read of this burst, when that was half of it */
	u32 warm_seq;
	bool has_warm, has_halves;
	u32 restarts;		       /* the phase's, when it began */
	u64 from[AP_THIN_COUNTS];      /* the counts when it began */
	u64 rate[AP_THIN_COUNTS];      /* of a word, in units of 2^-20 */
	u64 warm[AP_THIN_COUNTS];      /* the counts of the last third of the warm-up, */
	u64 warm_rate[AP_THIN_COUNTS]; /* and of the one before the rates, as they */
	u64 mid[AP_THIN_COUNTS];       /* the counts then, */
	u64 apart[AP_THIN_COUNTS];     /* and how far the halves' rates are from each other */
	u64 rest[AP_THIN_COUNTS];      /* of an estimate, in units of 2^-21 */
	u64 added
		[AP_THIN_COUNTS]; /* modulo 2^64: estimates, less what was counted while it was warmed */
};

void ap_thin_init(struct ap_thin_phase *p, u32 every);
/* Everything is shorter, for tests. */
void ap_thin_init_short(struct ap_thin_phase *p, u32 every);
/* Behind either: in a session that has begun.  Only where it has read enough is anything drawn. */
void ap_thin_begin(struct ap_thin_phase *p, const struct ap_thin_start *start);
/* So many words has the session read at its beginning, by all of its processes. */
void ap_thin_has_read(struct ap_thin_phase *p, u64 words);

static inline bool ap_thin_is_on(const struct ap_thin_phase *p)
{
	return p->every > 1;
}

/* What is counted becomes another thing: all is read for a while. */
void ap_thin_restart(struct ap_thin_phase *p);
/*
 * From now on, or no more, each thing that is read in a burst counts for half of what is passed over before it and half of what is behind
 * it as well, when it is seen; and the gap counts nothing. So a count comes to a number at a thing, of which it can be said what it was: for samples.  Counts that
 * are steady, as cycles are, have samples in gaps as well, at whatever runs when they come to a number by the rate of the last burst.
 */
void ap_thin_ahead(struct ap_thin *t, const struct ap_thin_phase *p, bool is_on, u64 steady,
		   const u64 *now, u32 n);
/* Something was read whole that was no part of a burst: nothing stands for more, till the next one. */
void ap_thin_alone(struct ap_thin *t, const u64 *now, u32 n);
/* What a count is now, beyond what has been read and `added`. */
static inline u64 ap_thin_more(const struct ap_thin *t, u32 k, u64 now)
{
	return t->more && !(t->steady >> k & 1) ? ((now - t->from[k]) * t->more) / AP_THIN_ONE : 0;
}
/* Before a log of so many words: false in the midst of a window, where nobody looks at counts, and NULL will do for them. */
bool ap_thin_wants_counts(const struct ap_thin *t, const struct ap_thin_phase *p, u64 words);
/* Words of a gap, until a steady count (one bit) has come so far: ~0 if it does not count there. */
u64 ap_thin_words_until(const struct ap_thin *t, u64 steady, u64 counts);
/* It begins to warm: caches and predictors need all of that, the pipeline the end alone. */
bool ap_thin_is_cold(const struct ap_thin *t, const struct ap_thin_phase *p);
/* Before a log of so many words: what is to be done with it (READ and WARM: it is read).  n counts, as they are. */
enum ap_thin_state ap_thin_next(struct ap_thin *t, const struct ap_thin_phase *p, const u64 *now,
				u32 n);
/* A gap: so many words were not even logged, of so many instructions. */
void ap_thin_pass(struct ap_thin *t, struct ap_thin_phase *p, u64 words, u64 insns, u32 n);
/* The thread begins to be looked at, after so many instructions in gaps. */
void ap_thin_wait(struct ap_thin *t, u64 insns);
/* So many words of a gap ran in a thread that nobody has looked at yet. */
void ap_thin_skip(struct ap_thin_phase *p, u64 words);
/*
 * A thread ends that windows have seen, after so many instructions: for how many others like it that no window saw does it stand,
 * in units of 1 / AP_THIN_ONE?
 */
u64 ap_thin_missed(const struct ap_thin_phase *p, u64 insns);
/* It stands for so many instructions of such others, with these counts: `missed` (ap_thin_missed) times its own. */
void ap_thin_tell(struct ap_thin_errors *e, u64 missed, u64 insns, const u64 *counts, u32 n);
/* No more will come: what the next burst would have said of a gap the last one says. */
void ap_thin_end(struct ap_thin *t, const struct ap_thin_phase *p, const u64 *now, u32 n);
/*
 * It has been done, of so many instructions (0: nobody knows); the counts before and now.  True: something was passed over, so counts are
 * estimates.
 */
bool ap_thin_did(struct ap_thin *t, struct ap_thin_phase *p, u64 words, u64 insns,
		 const u64 *before, const u64 *now, u32 n);

#endif
