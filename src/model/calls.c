/* SPDX-License-Identifier: MIT */
/*
 * Calls end the pieces of code that records are of, so where a call went is where the next record's
 * piece begins.
 */
#include "model/calls.h"

static void push(struct ap_calls *c, u64 from, u8 len)
{
	c->top = (c->top + 1) % AP_CALLS;
	c->call[c->top] = (struct ap_open_call){ .from = from };
	c->n += c->n < AP_CALLS;
	c->len = len;
}

static void pop(struct ap_calls *c)
{
	if (!c->n)
		return;
	c->n--;
	c->top = (c->top - 1) % AP_CALLS;
}

void ap_calls_arrive(struct ap_calls *c, u64 pc)
{
	u64 behind = c->call[c->top].from + c->len;

	if (!c->len)
		return;
	c->len = 0;
	if (pc == behind)
		pop(c);
	else
		c->call[c->top].to = pc;
}

void ap_calls_signal(struct ap_calls *c)
{
	push(c, 0, 0);
}

static void read_way(struct ap_calls *c, const struct ap_feed_way *way)
{
	for (u32 k = 0; k < way->nbranches; k++) {
		const struct ap_feed_branch *b = &way->branches[k];

		if (b->what == AP_FEED_RETURN)
			pop(c);
		else if (b->what == AP_FEED_CALL || b->what == AP_FEED_CALL_INDIRECT)
			push(c, b->pc, b->len);
	}
}

void ap_calls_read(struct ap_calls *c, const u64 *from, const u64 *to, u8 *const *chunks)
{
	while (from < to) {
		const struct ap_feed_way *way = ap_feed_way(chunks, (u32)*from);

		ap_calls_arrive(c, way->pc);
		if (way->has_calls)
			read_way(c, way);
		from += 1 + way->nwords;
	}
}

u32 ap_calls_get(const struct ap_calls *c, struct ap_open_call *to, u32 max)
{
	u32 n = 0;

	for (u32 k = 0; k < c->n && n < max; k++) {
		const struct ap_open_call *call = &c->call[(c->top - k) % AP_CALLS];

		if (call->from)
			to[n++] = *call;
	}
	return n;
}
