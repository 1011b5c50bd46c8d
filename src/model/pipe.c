/* SPDX-License-Identifier: MIT */
/*
 * An interval model: pieces enter at the rate that slots and ports allow, values follow their chains, and what
 * stops the entry is a full reorder buffer, whose oldest piece is not done, or a wrong prediction.  So a miss
 * costs what the buffer does not hide, misses that do not need each other overlap, and chains of them add up.
 *
 * What most pieces need of it is inline in pipe.h.
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

void ap_pipe_miss(struct ap_pipe *p, const struct ap_pipe_spec *spec, u32 cycles, u16 waits,
		  u16 late)
{
	u32 nfills = ap_pipe_fills(spec);
	u64 at = p->now;

	if (spec->rob <= 1) { /* one thing after the other */
		ap_pipe_wait(p, at + ((u64)cycles << 8));
		return;
	}
	if (waits & AP_PIPE_WAIT_LOAD)
		at = later(at, p->late_until);
	for (u32 m = waits & ~(u32)AP_PIPE_WAIT_LOAD; m; m &= m - 1)
		at = later(at, time_of(p, (u32)__builtin_ctz(m)));
	if (p->next_fill >= nfills)
		p->next_fill = 0;
	at = later(at, p->fill[p->next_fill]);
	at += (u64)cycles << 8;
	p->fill[p->next_fill++] = at;
	p->late |= late;
	p->late_until = later(p->late_until, at);
}

/* Values after the misses of the piece; what is left of their chains is short beside a miss. */
void ap_pipe_delay(struct ap_pipe *p)
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
	u32 *head, at = 0;

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
	flow->nlate = at;
	for (u64 m = flow->waits; m; m &= m - 1) {
		u32 in = (u32)__builtin_ctzll(m);

		head = &to[at++];
		*head = in;
		for (u32 i = 0; i < n; i++) {
			if (links[i].in != in)
				continue;
			to[at++] = links[i].out | (u32)links[i].lat << 8;
			*head += 1U << 8;
		}
	}
	flow->nlist = at;
}

/* The links from a value that the piece waits for. */
static const u32 *links_of(const struct ap_pipe_flow *flow, u32 value)
{
	const u32 *at = flow->list + flow->nlate;

	while ((*at & 0xff) != value)
		at += 1 + (*at >> 8);
	return at;
}

void ap_pipe_apply(struct ap_pipe *p, const struct ap_pipe_flow *flow,
		   const struct ap_pipe_awaited *value, u32 n)
{
	for (; n; n--, value++) {
		const u32 *link = links_of(flow, value->number);

		for (u32 left = *link++ >> 8; left; left--, link++) {
			u64 t = value->ready + ((u64)(*link >> 8) << AP_PIPE_LINK_SHIFT);

			p->done = later(p->done, t);
			if (t > p->now)
				put_off(p, *link & 0xff, t);
		}
	}
}

void ap_pipe_flush(struct ap_pipe *p, u32 cycles, bool by_flags)
{
	if (by_flags)
		ap_pipe_wait(p, time_of(p, AP_PIPE_CELL - 1));
	p->now += (u64)cycles << 8;
}
