/* SPDX-License-Identifier: MIT */
/*
 * The pipeline at run time: when values are there, when pieces of code retire, which misses are
 * under way.  Pieces are its unit, not instructions: what a piece does to values is a list of
 * links, made when it was translated (cost.h).  docs/design/cycles.md.
 */
#ifndef AP_MODEL_PIPE_H
#define AP_MODEL_PIPE_H

#include "base/types.h"
#include "model/machine.h"

/* Values: general registers, vector registers, flags (x86/cost.h), then cells of memory. */
#define AP_PIPE_CELL   49
#define AP_PIPE_CELLS  13 /* a prime: neighbours differ, whatever their size */
#define AP_PIPE_START  63 /* not a value: when the piece began */
#define AP_PIPE_VALUES 63

#define AP_PIPE_LINKS	   96
#define AP_PIPE_LINK_SHIFT 4 /* of lat, to cycles / 256 */

/*
 * Value `out` is there `lat` after value `in` was; links of the same out stand together, the first
 * from AP_PIPE_START, whose lat is the largest.
 */
struct ap_pipe_link {
	u8 in, out;
	u16 lat; /* cycles / 16 */
};

/* In masks of general registers the bit of rsp, which nobody waits for, has another meaning. */
#define AP_PIPE_LATE_FLAGS 0x10 /* among what is late: the flags */
#define AP_PIPE_WAIT_LOAD  0x10 /* among what is waited for: an earlier load of the piece */

#define AP_PIPE_PIECES 128
#define AP_PIPE_FILLS  32

/*
 * Links as the pipeline applies them.  A value that is there when the piece enters makes nothing
 * later than AP_PIPE_START does, so what most pieces need is when each value is there as seen from
 * there, where that is after the piece has been busy; and only for what is late the links from it.
 */
struct ap_pipe_flow {
	u64 waits;	 /* values with links from them */
	u64 leaves;	 /* values that the piece gives */
	u64 late;	 /* those of them in list */
	u32 busy, depth; /* cycles / 256: that it keeps the pipeline, that it takes by itself */
	/*
	 * nlate words: a value, cycles / 256; to nheads, for each bit of waits: in | n << 8 | where
	 * << 16 and the longest of its links, cycles / 256; at where of them n times out | lat <<
	 * 8.
	 */
	u16 nlate, nheads, nlist;
	const u32 *list;
};

#define AP_PIPE_LIST (4 * AP_PIPE_LINKS)

/* Fills all but list, which `to` is copied to; nlist words of AP_PIPE_LIST. */
void ap_pipe_plan(struct ap_pipe_flow *flow, const struct ap_pipe_link *links, u32 n, u32 *to);

/* Levels whose misses stalls are told apart by: L1D, L2, the last one. */
#define AP_PIPE_LEVELS 3

struct ap_pipe_states;

struct ap_pipe {
	u64 now;     /* cycles / 256, as all times: when the next piece enters */
	u64 stalled; /* that now waited for `done` of something */

	/* pipe_state.h */
	struct ap_pipe_states *states; /* NULL: none is remembered */
	u32 state;		       /* which one it is in; 0: what follows says */
	u32 room;		       /* that the piece that comes takes */
	u32 steps;		       /* that were remembered */
	u32 steps_before;	       /* at the last one that was not */
	u32 wait, patience;	       /* pieces till a state is looked for; of late */
	bool is_open;		       /* the piece has entered */
	u32 state_behind;	       /* with event: what state was */
	u64 event;		       /* that delays the piece, the first */

	/* of the state, while there is none */
	u64 done;    /* all that has entered is done */
	u64 pending; /* values that may be later than now: their times are in ready */
	u64 ready[AP_PIPE_VALUES + 1];
	u64 insns;
	struct {
		u64 insns, done;
	} piece[AP_PIPE_PIECES]; /* that have not retired, in a ring; each is done later than the one before it */
	u32 first, end;

	u64 fill[AP_PIPE_FILLS]; /* when each buffer is free */
	u32 next_fill;
	u32 late; /* general registers that come of a miss of this piece */
	u64 late_until;
	u64 blocked_until; /* loads that stores held up; behind the piece it is done by then */

	/* of no state: its states know none */
	u64 missed_until[AP_PIPE_LEVELS]; /* when all loads are there that the level did not have */
	u64 stalled_by[AP_PIPE_LEVELS];	  /* of stalled what was before that */
};

/* What is waited for is not before `time`. */
void ap_pipe_tell_levels(struct ap_pipe *p, u64 time);

static inline void ap_pipe_wait(struct ap_pipe *p, u64 time)
{
	if (time <= p->now)
		return;
	p->stalled += time - p->now;
	if (ap_unlikely(p->missed_until[0] > p->now))
		ap_pipe_tell_levels(p, time);
	p->now = time;
}

/*
 * A piece that takes so many entries of the reorder buffer (ap_cost_room()) enters: waits until
 * there is room for it.
 */
static inline void ap_pipe_enter(struct ap_pipe *p, const struct ap_pipe_spec *spec, u32 room)
{
	u64 insns = p->insns + room;
	u32 first = p->first, end = p->end;

	p->insns = insns;
	for (; first != end; first++) {
		u32 at = first % AP_PIPE_PIECES;

		if (insns - p->piece[at].insns < spec->rob && p->piece[at].done > p->now &&
		    end - first < AP_PIPE_PIECES)
			break;
		ap_pipe_wait(p, p->piece[at].done);
	}
	p->first = first;
}

static inline u32 ap_pipe_fills(const struct ap_pipe_spec *spec)
{
	return spec->fill_buffers && spec->fill_buffers < AP_PIPE_FILLS ? spec->fill_buffers
									: AP_PIPE_FILLS;
}

/*
 * A load of it misses, and takes so many cycles in all (more than a hit where nothing overlaps);
 * masks as above.  In so many levels, from the first on; 0 also where nobody asks what stalls wait
 * for.
 */
void ap_pipe_miss(struct ap_pipe *p, const struct ap_pipe_spec *spec, u32 cycles, u16 waits,
		  u16 late, u32 levels);

/*
 * A load waits for a store that answers only a part of it, until that is written: stores are
 * written when all before them is done, and that much later the load is there.  So such loads
 * follow each other, also in a piece.
 */
void ap_pipe_block(struct ap_pipe *p, u32 cycles, u16 waits, u16 late);

/* It is in: what it leaves behind, and when the next one may follow. */
void ap_pipe_leave(struct ap_pipe *p, const struct ap_pipe_flow *flow);

/*
 * Between pieces: the flags' branch was predicted wrongly, so nothing enters until it is known, and
 * a while longer.
 */
void ap_pipe_flush(struct ap_pipe *p, u32 cycles, bool by_flags);

#endif
