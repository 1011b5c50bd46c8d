/* SPDX-License-Identifier: MIT */
/*
 * An interval model: pieces enter at the rate that slots and ports allow, values follow their chains, and what
 * stops the entry is a full reorder buffer, whose oldest piece is not done, or a wrong prediction.  So a miss
 * costs what the buffer does not hide, misses that do not need each other overlap, and chains of them add up.
 */
#include "model/pipe.h"

static inline u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

static void wait_until(struct ap_pipe *p, u64 time)
{
	if (time <= p->now)
		return;
	p->stalled += time - p->now;
	p->now = time;
}

void ap_pipe_enter(struct ap_pipe *p, const struct ap_pipe_spec *spec, u32 ninsns)
{
	p->insns += ninsns;
	while (p->first != p->end) {
		u32 at = p->first % AP_PIPE_PIECES;

		if (p->insns - p->piece[at].insns < spec->rob && p->end - p->first < AP_PIPE_PIECES)
			break;
		wait_until(p, p->piece[at].done);
		p->first++;
	}
	p->late = 0;
	p->late_until = 0;
}

void ap_pipe_miss(struct ap_pipe *p, const struct ap_pipe_spec *spec, u32 cycles, u16 waits,
		  u16 late)
{
	u32 nfills = spec->fill_buffers && spec->fill_buffers < AP_PIPE_FILLS ? spec->fill_buffers
									      : AP_PIPE_FILLS;
	u64 at = p->now;

	if (spec->rob <= 1) { /* one thing after the other */
		wait_until(p, at + ((u64)cycles << 8));
		return;
	}
	if (waits & AP_PIPE_WAIT_LOAD)
		at = later(at, p->late_until);
	for (u32 m = waits & ~(u32)AP_PIPE_WAIT_LOAD; m; m &= m - 1)
		at = later(at, p->ready[__builtin_ctz(m)]);
	if (p->next_fill >= nfills)
		p->next_fill = 0;
	at = later(at, p->fill[p->next_fill]);
	at += (u64)cycles << 8;
	p->fill[p->next_fill++] = at;
	p->late |= late;
	p->late_until = later(p->late_until, at);
}

/* Values after the misses of the piece; what is left of their chains is short beside a miss. */
static void delay(struct ap_pipe *p)
{
	p->done = later(p->done, p->late_until);
	for (u32 m = p->late & ~(u32)AP_PIPE_LATE_FLAGS; m; m &= m - 1) {
		u32 r = (u32)__builtin_ctz(m);

		p->ready[r] = later(p->ready[r], p->late_until);
	}
	if (p->late & AP_PIPE_LATE_FLAGS)
		p->ready[AP_PIPE_CELL - 1] = later(p->ready[AP_PIPE_CELL - 1], p->late_until);
}

void ap_pipe_leave(struct ap_pipe *p, const struct ap_pipe_link *links, u32 n, u32 busy, u32 depth)
{
	u64 value[AP_PIPE_LINKS], done = p->now + depth;
	u32 k = 0;
	u32 at;

	p->ready[AP_PIPE_START] = p->now;
	for (u32 i = 0; i < n; i++) {
		u64 t = p->ready[links[i].in] + ((u64)links[i].lat << AP_PIPE_LINK_SHIFT);

		if (i && links[i].out == links[i - 1].out)
			value[k - 1] = later(value[k - 1], t);
		else
			value[k++] = t;
	}
	k = 0;
	for (u32 i = 0; i < n; i++) {
		if (i && links[i].out == links[i - 1].out)
			continue;
		p->ready[links[i].out] = value[k];
		done = later(done, value[k++]);
	}
	p->done = later(p->done, done);
	if (ap_unlikely(p->late_until))
		delay(p);
	p->now += busy;
	at = p->end++ % AP_PIPE_PIECES;
	p->piece[at].insns = p->insns;
	p->piece[at].done = p->done;
}

void ap_pipe_flush(struct ap_pipe *p, u32 cycles, bool by_flags)
{
	if (by_flags)
		wait_until(p, p->ready[AP_PIPE_CELL - 1]);
	p->now += (u64)cycles << 8;
}
