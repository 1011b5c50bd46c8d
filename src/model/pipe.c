/* SPDX-License-Identifier: MIT */
/*
 * An interval model: pieces enter at the rate that slots and ports allow, values follow their
 * chains, and what stops the entry is a full reorder buffer, whose oldest piece is not done, or a
 * wrong prediction.  So a miss costs what the buffer does not hide, misses that do not need each
 * other overlap, and chains of them add up.
 */
#include "model/pipe.h"

static inline u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* When a value is there; now: no later than that. */
static inline u64 time_of(const struct ap_pipe *p, u32 value)
{
	return p->pending >> value & 1 ? p->ready[value] : p->now;
}

static inline void put_off(struct ap_pipe *p, u32 value, u64 until)
{
	p->ready[value] = later(time_of(p, value), until);
	p->pending |= 1ULL << value;
}

static u64 address_known(const struct ap_pipe *p, u16 waits)
{
	u64 at = p->now;

	if (waits & AP_PIPE_WAIT_LOAD)
		at = later(at, p->late_until);
	for (u32 m = waits & ~(u32)AP_PIPE_WAIT_LOAD; m; m &= m - 1)
		at = later(at, time_of(p, (u32)__builtin_ctz(m)));
	return at;
}

void ap_pipe_tell_levels(struct ap_pipe *p, u64 time)
{
	for (u32 k = 0; k < AP_PIPE_LEVELS; k++) {
		u64 until = p->missed_until[k] < time ? p->missed_until[k] : time;

		if (until > p->now)
			p->stalled_by[k] += until - p->now;
	}
}

/* A load counts as under way from when its piece enters, also while it waits for its address. */
static inline void note_levels(struct ap_pipe *p, u64 until, u32 levels)
{
	for (u32 k = 0; k < levels && k < AP_PIPE_LEVELS; k++)
		p->missed_until[k] = later(p->missed_until[k], until);
}

void ap_pipe_miss(struct ap_pipe *p, const struct ap_pipe_spec *spec, u32 cycles, u16 waits,
		  u16 late, u32 levels)
{
	u32 nfills = ap_pipe_fills(spec);
	u64 at;

	if (spec->rob <= 1) { /* one thing after the other */
		note_levels(p, p->now + ((u64)cycles << 8), levels);
		ap_pipe_wait(p, p->now + ((u64)cycles << 8));
		return;
	}
	at = address_known(p, waits);
	if (p->next_fill >= nfills)
		p->next_fill = 0;
	at = later(at, p->fill[p->next_fill]);
	at += (u64)cycles << 8;
	p->fill[p->next_fill++] = at;
	note_levels(p, at, levels);
	p->late |= late;
	p->late_until = later(p->late_until, at);
}

void ap_pipe_block(struct ap_pipe *p, u32 cycles, u16 waits, u16 late)
{
	u64 at = later(address_known(p, waits), later(p->done, p->blocked_until));

	at += (u64)cycles << 8;
	p->blocked_until = at;
	p->late |= late;
	p->late_until = later(p->late_until, at);
}

/* Values after the misses of the piece; what is left of their chains is short beside a miss. */
static void delay(struct ap_pipe *p)
{
	p->done = later(p->done, p->late_until);
	for (u32 m = p->late & ~(u32)AP_PIPE_LATE_FLAGS; m; m &= m - 1)
		put_off(p, (u32)__builtin_ctz(m), p->late_until);
	if (p->late & AP_PIPE_LATE_FLAGS)
		put_off(p, AP_PIPE_CELL - 1, p->late_until);
	p->late = 0;
	p->late_until = 0;
}

void ap_pipe_plan(struct ap_pipe_flow *flow, const struct ap_pipe_link *links, u32 n, u32 *to)
{
	u32 at = 0;

	flow->waits = flow->leaves = flow->late = 0;
	for (u32 i = 0; i < n; i++) {
		const struct ap_pipe_link *l = &links[i];

		if (l->in != AP_PIPE_START) {
			flow->waits |= 1ULL << l->in;
			continue;
		}
		flow->leaves |= 1ULL << l->out;
		if ((u32)l->lat << AP_PIPE_LINK_SHIFT <= flow->busy)
			continue;
		flow->late |= 1ULL << l->out;
		to[at++] = l->out;
		to[at++] = (u32)l->lat << AP_PIPE_LINK_SHIFT;
	}
	flow->nlate = flow->nheads = (u16)at;
	for (u64 m = flow->waits; m; m &= m - 1) {
		to[flow->nheads++] = (u32)__builtin_ctzll(m);
		to[flow->nheads++] = 0;
	}
	at = flow->nheads;
	for (u32 *head = to + flow->nlate; head < to + flow->nheads; head += 2) {
		u32 in = *head;

		*head |= at << 16;
		for (u32 i = 0; i < n; i++) {
			u32 lat = (u32)links[i].lat << AP_PIPE_LINK_SHIFT;

			if (links[i].in != in)
				continue;
			to[at++] = links[i].out | (u32)links[i].lat << 8;
			*head += 1U << 8;
			if (head[1] < lat)
				head[1] = lat;
		}
	}
	flow->nlist = (u16)at;
}

/* A value that a piece waits for, and when it is there. */
struct awaited {
	const u32 *head;
	u64 ready;
};

/*
 * Those of them that make anything later than `until`; gives how many.  All that comes of them is
 * done by *done.
 */
static u32 await(const struct ap_pipe *p, const struct ap_pipe_flow *flow, u64 until,
		 struct awaited *to, u64 *done)
{
	const u32 *head = flow->list + flow->nlate, *end = flow->list + flow->nheads;
	u64 pending = p->pending, latest = *done;
	u32 n = 0;

	for (; head < end; head += 2) {
		u32 in = *head & 0xff;
		u64 ready = p->ready[in], last = ready + head[1];

		if (!(pending >> in & 1) || ready <= p->now)
			continue;
		if (last > latest)
			latest = last;
		to[n] = (struct awaited){ head, ready };
		n += last > until;
	}
	*done = latest;
	return n;
}

/* What is late makes late. */
static u64 apply(struct ap_pipe *p, const struct ap_pipe_flow *flow, const struct awaited *value,
		 u32 n, u64 until)
{
	u64 pending = p->pending;

	for (; n; n--, value++) {
		const u32 *link = flow->list + (*value->head >> 16);

		for (u32 left = *value->head >> 8 & 0xff; left; left--, link++) {
			u64 t = value->ready + ((u64)(*link >> 8) << AP_PIPE_LINK_SHIFT);
			u32 out = *link & 0xff;

			if (t <= until || (pending >> out & 1 && p->ready[out] >= t))
				continue;
			p->ready[out] = t;
			pending |= 1ULL << out;
		}
	}
	return pending;
}

void ap_pipe_leave(struct ap_pipe *p, const struct ap_pipe_flow *flow)
{
	struct awaited value[AP_PIPE_VALUES + 1];
	u64 from = p->now, until = from + flow->busy, done = later(p->done, from + flow->depth);
	u32 n = 0, end = p->end;

	if (flow->waits & p->pending)
		n = await(p, flow, until, value, &done);
	for (const u32 *late = flow->list, *to = late + flow->nlate; late < to; late += 2)
		p->ready[late[0]] = from + late[1];
	p->pending = (p->pending & ~flow->leaves) | flow->late;
	p->now = until;
	p->done = done;
	if (n)
		p->pending = apply(p, flow, value, n, until);
	if (p->late_until)
		delay(p);
	if (p->first != end && p->piece[(end - 1) % AP_PIPE_PIECES].done == p->done)
		return; /* a wait for that one has covered this one */
	p->piece[end % AP_PIPE_PIECES].insns = p->insns;
	p->piece[end % AP_PIPE_PIECES].done = p->done;
	p->end = end + 1;
}

void ap_pipe_flush(struct ap_pipe *p, u32 cycles, bool by_flags)
{
	if (by_flags)
		ap_pipe_wait(p, time_of(p, AP_PIPE_CELL - 1));
	p->now += (u64)cycles << 8;
}
