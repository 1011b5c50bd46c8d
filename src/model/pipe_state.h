/* SPDX-License-Identifier: MIT */
/*
 * The pipeline remembered: what a piece does to it depends only on the piece and on the state that
 * it finds, and programs bring the pipeline into the same states again and again.  A state is all
 * of struct ap_pipe that matters, with times as seen from now; a step is what a piece, or a wrong
 * prediction, made of one.  So most pieces are one look into a table.  The cycles are those of
 * pipe.h, to the last one: what is not remembered is done there.  docs/design/cycles.md.
 */
#ifndef AP_MODEL_PIPE_STATE_H
#define AP_MODEL_PIPE_STATE_H

#include "model/pipe.h"

/* Numbers of pieces are less; above are other things that happen. */
#define AP_PIPE_IDS (1U << 30)

/* Number `id` was met in state `from`, with event or not. */
struct ap_pipe_step {
	u32 id, from; /* of an empty one 0 */
	u64 event;
	u32 to, took, stalled; /* the state behind it; what is added to now and to stalled */
	u32 fill; /* when its fill buffer is free, as seen from now; 0: it takes none */
};
_Static_assert(sizeof(struct ap_pipe_step) == 32, "two in a line of the cache");

#define AP_PIPE_STEPS	(1U << 17)
#define AP_PIPE_FIRST	(1U << 12) /* of them are used at first: short programs touch few pages */
#define AP_PIPE_BUCKETS (1U << 16)
#define AP_PIPE_ROOM	(1U << 21) /* words */

/*
 * States are stored one after the other, and found by hash; when there is no more room all are
 * forgotten.  The table of steps grows with their number: those of before are then mostly elsewhere
 * than they are looked for, and are made again.
 */
struct ap_pipe_states {
	u32 used;
	u32 mask; /* of places of steps */
	u32 made; /* steps, since the table grew */
	u32 bucket[AP_PIPE_BUCKETS];
	struct ap_pipe_step step[AP_PIPE_STEPS];
	u32 room[AP_PIPE_ROOM];
};

/* Of these steps and numbers nothing holds any more. */
void ap_pipe_forget(struct ap_pipe *p);

/* From the beginning, with the steps that there are. */
void ap_pipe_restart(struct ap_pipe *p);

/* Goes on without a state: all of *p holds. */
void ap_pipe_unfold(struct ap_pipe *p);

void ap_pipe_pass_slowly(struct ap_pipe *p, const struct ap_pipe_spec *spec,
			 const struct ap_pipe_flow *flow, u32 id);

/*
 * A piece comes; then what delays it, and ap_pipe_pass(): ap_pipe_enter(), the delays and
 * ap_pipe_leave().
 */
static inline void ap_pipe_come(struct ap_pipe *p, const struct ap_pipe_spec *spec, u32 room,
				u32 id)
{
	p->room = room;
	if (ap_unlikely(!p->state)) {
		ap_pipe_enter(p, spec, room);
		p->is_open = true;
		return;
	}
	/* of a piece that is not delayed; it is asked for behind the models of memory */
	__builtin_prefetch(&p->states->step[(p->state ^ id) & p->states->mask]);
}

static inline void ap_pipe_pass(struct ap_pipe *p, const struct ap_pipe_spec *spec,
				const struct ap_pipe_flow *flow, u32 id)
{
	u32 state = p->state;

	if (ap_likely(state)) {
		const struct ap_pipe_step *s = &p->states->step[(state ^ id) & p->states->mask];

		if (ap_likely(s->id == id && s->from == state)) {
			p->now += s->took;
			p->stalled += s->stalled;
			p->state = s->to;
			p->steps++;
			return;
		}
	}
	ap_pipe_pass_slowly(p, spec, flow, id);
}

/*
 * What delays it: a fetch, in cycles / 256; a load, in cycles (ap_pipe_miss(), ap_pipe_block());
 * levels only without states.
 */
void ap_pipe_delay_fetch(struct ap_pipe *p, const struct ap_pipe_spec *spec, u32 late);
void ap_pipe_delay_load(struct ap_pipe *p, const struct ap_pipe_spec *spec, u32 cycles, u16 waits,
			u16 late, u32 levels);
void ap_pipe_delay_blocked(struct ap_pipe *p, const struct ap_pipe_spec *spec, u32 cycles,
			   u16 waits, u16 late);

/* ap_pipe_flush() from whatever state. */
void ap_pipe_mispredict(struct ap_pipe *p, u32 cycles, bool by_flags);

#endif
