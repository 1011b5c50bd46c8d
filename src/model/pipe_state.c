/* SPDX-License-Identifier: MIT */
/*
 * States are made and found, steps are remembered.  What matters of a pipeline between two pieces:
 * which values are later than now and by how much, and of pieces that are not done how old they are
 * and how late.  Fill buffers are no part of it: a step with a miss is taken only where the next
 * buffer is free, which then makes no difference.
 *
 * To make a state costs more than a piece: where steps are seldom met again, states are looked for
 * now and then only, and the pipeline runs as it is in between.
 */
#include "model/pipe_state.h"

#include "base/mem.h"

#define PATIENCE 256 /* pieces at most, that are not looked at */
#define GOOD_RUN 6   /* steps that were remembered in a row and pay for one that was not */

#define WITH_EVENT AP_PIPE_IDS
#define FLUSH	   (2 * AP_PIPE_IDS)

/* Of events: a load's cycles << 32 | waits << 16 | late; a fetch has FETCH instead of registers. */
#define LOAD	(1ULL << 63) /* that misses */
#define FETCH	(1ULL << 62)
#define BLOCKED (1ULL << 61) /* a load that a store holds up */
#define CYCLES	0x1fffffffU

/* A state in room: words that two have in common are HEAD and behind. */
enum { NEXT, HASH, PENDING, PENDING_HIGH, PIECES, VALUES };
#define STATE_MAX (VALUES + 64 + 2 * AP_PIPE_PIECES)
#define UNIT	  4 /* words, of which places are made */

/* Numbers are places, mixed so that they lead all over the table of steps. */
#define MIX   0x9e3779b1U
#define UNMIX 0x0e8b2f51U
_Static_assert((u32)(MIX *UNMIX) == 1, "inverse");

static u32 *room_of(struct ap_pipe_states *x, u32 state)
{
	return &x->room[(u64)(state * UNMIX) * UNIT];
}

void ap_pipe_forget(struct ap_pipe *p)
{
	ap_pipe_unfold(p);
	if (!p->states || !p->states->used)
		return;
	memset(p->states->step, 0, ((u64)(p->states->mask | 1) + 1) * sizeof(p->states->step[0]));
	memset(p->states->bucket, 0, sizeof(p->states->bucket));
	p->states->used = 0;
}

void ap_pipe_restart(struct ap_pipe *p)
{
	struct ap_pipe_states *states = p->states;

	memset(p, 0, sizeof(*p));
	p->states = states;
}

/* --- states */

void ap_pipe_unfold(struct ap_pipe *p)
{
	const u32 *at;
	u32 n;

	if (!p->state)
		return;
	at = room_of(p->states, p->state);
	p->pending = at[PENDING] | (u64)at[PENDING_HIGH] << 32;
	n = at[PIECES];
	at += VALUES;
	for (u64 m = p->pending; m; m &= m - 1)
		p->ready[__builtin_ctzll(m)] = p->now + *at++;
	p->done = p->now;
	for (u32 k = 0; k < n; k++, at += 2) {
		p->piece[k].insns = p->insns - at[0];
		p->piece[k].done = p->done = p->now + at[1];
	}
	p->first = 0;
	p->end = n;
	p->state = 0;
}

static inline u64 mix(u64 hash, u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash << 29 | hash >> 35;
}

/* Writes it down and gives how many words; 0: something is too late to be written. */
static u32 describe(struct ap_pipe *p, u32 *to)
{
	u64 pending = p->pending, most = 0, hash = 0;
	u32 *at = to + VALUES, first = p->first;

	for (u64 m = pending; m; m &= m - 1) {
		u64 left = p->ready[__builtin_ctzll(m)] - p->now;

		if ((s64)left <= 0) {
			pending &= ~(m & -m);
			continue;
		}
		most |= left;
		hash = mix(hash, left);
		*at++ = (u32)left;
	}
	while (first != p->end && p->piece[first % AP_PIPE_PIECES].done <= p->now)
		first++;
	p->pending = pending;
	p->first = first;
	to[PENDING] = (u32)pending;
	to[PENDING_HIGH] = (u32)(pending >> 32);
	to[PIECES] = p->end - first;
	for (; first != p->end; first++) {
		u64 left = p->piece[first % AP_PIPE_PIECES].done - p->now;
		u64 age = p->insns - p->piece[first % AP_PIPE_PIECES].insns;

		most |= left;
		hash = mix(hash, left << 16 ^ age);
		*at++ = (u32)age;
		*at++ = (u32)left;
	}
	to[HASH] = (u32)(mix(hash, pending) >> 32);
	return most >> 32 ? 0 : (u32)(at - to);
}

/* The number of the state that all of *p is in; 0: none. */
static u32 fold(struct ap_pipe *p)
{
	struct ap_pipe_states *x = p->states;
	u32 *to, *bucket, n;

	to = &x->room[x->used];
	n = describe(p, to);
	if (!n)
		return 0;
	bucket = &x->bucket[to[HASH] % AP_PIPE_BUCKETS];
	for (u32 k = *bucket; k; k = x->room[k * UNIT + NEXT]) {
		const u32 *old = &x->room[k * UNIT];

		if (old[HASH] == to[HASH] &&
		    !memcmp(old + HASH, to + HASH, (n - HASH) * sizeof(*to)))
			return k * MIX;
	}
	to[NEXT] = *bucket;
	*bucket = x->used / UNIT;
	x->used += AP_ALIGN_UP(n, UNIT);
	return *bucket * MIX;
}

/* For one more state.  False: all that there were are gone. */
static bool make_room(struct ap_pipe *p)
{
	struct ap_pipe_states *x = p->states;
	bool had = x->used + STATE_MAX <= AP_PIPE_ROOM;

	if (!had)
		ap_pipe_forget(p);
	if (!x->used)
		x->used = UNIT; /* none has number 0 */
	return had;
}

/* --- steps */

static inline struct ap_pipe_step *place_of(const struct ap_pipe *p, u32 from, u32 id, u64 event)
{
	u32 mixed = event ? ((u32)event ^ (u32)(event >> 32)) * MIX >> 15 : 0;

	return &p->states->step[(from ^ id ^ mixed) & p->states->mask];
}

/* Each has two places: in both is what was used last, in the first what was before. */
static inline struct ap_pipe_step *other_place(const struct ap_pipe *p,
					       const struct ap_pipe_step *s)
{
	return &p->states->step[(u64)(s - p->states->step) ^ 1];
}

static inline bool is_it(const struct ap_pipe_step *s, u32 from, u32 id, u64 event)
{
	return s->id == id && s->from == from && s->event == event;
}

static const struct ap_pipe_step *find_other(const struct ap_pipe *p, struct ap_pipe_step *s,
					     u32 from, u32 id, u64 event)
{
	struct ap_pipe_step *other = other_place(p, s), was;

	if (!is_it(other, from, id, event))
		return NULL;
	was = *s;
	*s = *other;
	*other = was;
	return s;
}

static inline const struct ap_pipe_step *find(const struct ap_pipe *p, u32 from, u32 id, u64 event)
{
	struct ap_pipe_step *s = place_of(p, from, id, event);

	return ap_likely(is_it(s, from, id, event)) ? s : find_other(p, s, from, id, event);
}

static inline void take(struct ap_pipe *p, const struct ap_pipe_step *s)
{
	if (s->fill)
		p->fill[p->next_fill++] = p->now + s->fill;
	p->now += s->took;
	p->stalled += s->stalled;
	p->state = s->to;
	p->steps++;
}

/* Before what is not remembered: all of *p holds, and *was is what it was. */
struct pipe_before {
	u64 now, stalled;
};

static void begin(struct ap_pipe *p, struct ap_pipe_step *s, struct pipe_before *was)
{
	if (s->from && !make_room(p))
		s->from = 0;
	ap_pipe_unfold(p);
	*was = (struct pipe_before){ p->now, p->stalled };
}

/* How soon the next state is looked for. */
static void learn_patience(struct ap_pipe *p)
{
	if (p->steps - p->steps_before >= GOOD_RUN)
		p->patience /= 16;
	else if (p->patience < PATIENCE)
		p->patience += 2;
	p->steps_before = p->steps;
	p->wait = p->patience;
}

/* It went from no state. */
static void look(struct ap_pipe *p)
{
	if (!p->states)
		return;
	if (p->wait) {
		p->wait--;
		return;
	}
	make_room(p);
	p->state = fold(p);
}

static void grow(struct ap_pipe_states *x)
{
	if (++x->made <= x->mask / 2 || x->mask == AP_PIPE_STEPS - 1)
		return;
	x->mask = x->mask ? 4 * x->mask + 3 : AP_PIPE_FIRST - 1;
	if (x->mask >= AP_PIPE_STEPS)
		x->mask = AP_PIPE_STEPS - 1;
	x->made = 0;
}

/* It went from *was by *s, to what *p is now. */
static void remember(struct ap_pipe *p, struct ap_pipe_step *s, const struct pipe_before *was)
{
	u64 took = p->now - was->now, stalled = p->stalled - was->stalled;
	struct ap_pipe_step *to;

	grow(p->states);
	to = place_of(p, s->from, s->id, s->event);
	p->state = s->to = fold(p);
	s->took = (u32)took;
	s->stalled = (u32)stalled;
	if (s->to && !(took >> 32)) {
		*other_place(p, to) = *to;
		*to = *s;
	}
}

/* It went by *s, from a state unless all were forgotten; depends: on more than the state. */
static void end(struct ap_pipe *p, struct ap_pipe_step *s, const struct pipe_before *was,
		bool depends)
{
	if (s->from && !depends)
		remember(p, s, was);
	learn_patience(p);
	if (p->wait)
		p->state = 0;
}

/* --- pieces */

static void delay(struct ap_pipe *p, const struct ap_pipe_spec *spec, u64 event)
{
	u32 cycles = (u32)(event >> 32) & CYCLES;

	if (event & FETCH)
		p->now += (u32)event;
	else if (event & BLOCKED)
		ap_pipe_block(p, cycles, (u16)(event >> 16), (u16)event);
	else if (event)
		ap_pipe_miss(p, spec, cycles, (u16)(event >> 16), (u16)event, 0);
}

/* A second event: it enters, with the first. */
static void open(struct ap_pipe *p, const struct ap_pipe_spec *spec)
{
	p->state = p->state_behind;
	learn_patience(p);
	ap_pipe_unfold(p);
	ap_pipe_enter(p, spec, p->room);
	delay(p, spec, p->event);
	p->event = 0;
	p->is_open = true;
}

/* There may be one with the step. */
static __attribute__((noinline)) void add_event(struct ap_pipe *p, const struct ap_pipe_spec *spec,
						u64 event)
{
	if (!p->event) {
		p->event = event;
		p->state_behind = p->state;
		p->state = 0;
		return;
	}
	open(p, spec);
	delay(p, spec, event);
}

void ap_pipe_delay_fetch(struct ap_pipe *p, const struct ap_pipe_spec *spec, u32 late)
{
	if (p->is_open)
		p->now += late;
	else
		add_event(p, spec, FETCH | late);
}

void ap_pipe_delay_load(struct ap_pipe *p, const struct ap_pipe_spec *spec, u32 cycles, u16 waits,
			u16 late, u32 levels)
{
	if (p->is_open)
		ap_pipe_miss(p, spec, cycles, waits, late, levels);
	else
		add_event(p, spec, LOAD | (u64)cycles << 32 | (u32)waits << 16 | late);
}

void ap_pipe_delay_blocked(struct ap_pipe *p, const struct ap_pipe_spec *spec, u32 cycles,
			   u16 waits, u16 late)
{
	if (p->is_open)
		ap_pipe_block(p, cycles, waits, late);
	else
		add_event(p, spec, BLOCKED | (u64)cycles << 32 | (u32)waits << 16 | late);
}

/* True: a step does not hold, as a fill buffer is waited for. */
static inline bool lacks_fill(struct ap_pipe *p, const struct ap_pipe_spec *spec)
{
	if (p->next_fill >= ap_pipe_fills(spec))
		p->next_fill = 0;
	return p->fill[p->next_fill] > p->now;
}

/* It does what nobody remembers. */
static void compute(struct ap_pipe *p, const struct ap_pipe_spec *spec,
		    const struct ap_pipe_flow *flow, u32 id, u64 event)
{
	struct ap_pipe_step step = { .id = id, .from = p->state, .event = event };
	bool takes_fill = event & LOAD && spec->rob > 1;
	bool lacks = takes_fill && lacks_fill(p, spec);
	struct pipe_before was;

	begin(p, &step, &was);
	ap_pipe_enter(p, spec, p->room);
	delay(p, spec, event);
	if (takes_fill)
		step.fill = (u32)(p->fill[p->next_fill - 1] - was.now);
	ap_pipe_leave(p, flow);
	end(p, &step, &was, lacks);
}

void ap_pipe_pass_slowly(struct ap_pipe *p, const struct ap_pipe_spec *spec,
			 const struct ap_pipe_flow *flow, u32 id)
{
	const struct ap_pipe_step *s;
	u64 event = p->event;

	if (p->is_open) {
		p->is_open = false;
		ap_pipe_leave(p, flow);
		look(p);
		return;
	}
	if (event) {
		id |= WITH_EVENT;
		p->event = 0;
		p->state = p->state_behind;
	}
	s = find(p, p->state, id, event);
	if (ap_likely(s && !(s->fill && lacks_fill(p, spec))))
		take(p, s);
	else
		compute(p, spec, flow, id, event);
}

void ap_pipe_mispredict(struct ap_pipe *p, u32 cycles, bool by_flags)
{
	struct ap_pipe_step step = { .id = FLUSH | cycles << 1 | by_flags, .from = p->state };
	const struct ap_pipe_step *s;
	struct pipe_before was;

	if (!p->state) {
		ap_pipe_flush(p, cycles, by_flags);
		return;
	}
	s = find(p, step.from, step.id, 0);
	if (s) {
		take(p, s);
		return;
	}
	begin(p, &step, &was);
	ap_pipe_flush(p, cycles, by_flags);
	end(p, &step, &was, false);
}
