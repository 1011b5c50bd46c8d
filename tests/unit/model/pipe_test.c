/* SPDX-License-Identifier: MIT */
/*
 * The pipeline's links, against the obvious way: every value of every piece at its time, by every link.
 */
#include <string.h>

#include "pieces.h"
#include "tap/tap.h"

#define PIECES 12

struct plain {
	uint64_t now, done, stalled, ready[64], insns, first, end;
	struct {
		uint64_t insns, done;
	} piece[1024];
};

static void plain_wait(struct plain *p, uint64_t until)
{
	if (until <= p->now)
		return;
	p->stalled += until - p->now;
	p->now = until;
}

static void plain_run(struct plain *p, const struct piece *x, unsigned rob)
{
	uint64_t ready[64];

	p->insns += x->ninsns;
	while (p->first != p->end && (p->insns - p->piece[p->first % 1024].insns >= rob ||
				      p->end - p->first >= AP_PIPE_PIECES)) {
		plain_wait(p, p->piece[p->first % 1024].done);
		p->first++;
	}
	memcpy(ready, p->ready, sizeof(ready));
	ready[AP_PIPE_START] = p->now;
	for (unsigned k = 0; k < x->n; k++)
		p->ready[x->links[k].out] = 0;
	if (p->done < p->now + x->flow.depth)
		p->done = p->now + x->flow.depth;
	for (unsigned k = 0; k < x->n; k++) {
		const struct ap_pipe_link *l = &x->links[k];
		uint64_t t = ready[l->in] + ((uint64_t)l->lat << AP_PIPE_LINK_SHIFT);

		if (p->ready[l->out] < t)
			p->ready[l->out] = t;
		if (p->done < t)
			p->done = t;
	}
	p->now += x->flow.busy;
	p->piece[p->end % 1024].insns = p->insns;
	p->piece[p->end++ % 1024].done = p->done;
}

static void links_are_applied(void)
{
	static struct piece pieces[PIECES];
	static struct plain plain;
	static struct ap_pipe pipe;

	for (unsigned round = 0; round < 200; round++) {
		struct ap_pipe_spec spec = { .rob = 2 + below(400) };
		unsigned flags = below(2);

		seed = round;
		memset(&plain, 0, sizeof(plain));
		memset(&pipe, 0, sizeof(pipe));
		for (unsigned k = 0; k < PIECES; k++)
			random_piece(&pieces[k]);
		for (unsigned k = 0; k < 2000; k++) {
			const struct piece *x = &pieces[below(1 + k / 100 % PIECES)];

			ap_pipe_enter(&pipe, &spec, x->ninsns);
			ap_pipe_leave(&pipe, &x->flow);
			plain_run(&plain, x, spec.rob);
			if (flags && !below(20)) {
				ap_pipe_flush(&pipe, 10, true);
				plain_wait(&plain, plain.ready[AP_PIPE_CELL - 1]);
				plain.now += 10 << 8;
			}
			REQUIRE(pipe.now == plain.now);
			REQUIRE(pipe.done == plain.done);
			REQUIRE(pipe.stalled == plain.stalled);
		}
	}
}

static void expect_stalls(const struct ap_pipe *p, uint64_t all, uint64_t l1d, uint64_t l2,
			  uint64_t llc)
{
	EXPECT_U64(p->stalled >> 8, all);
	EXPECT_U64(p->stalled_by[0] >> 8, l1d);
	EXPECT_U64(p->stalled_by[1] >> 8, l2);
	EXPECT_U64(p->stalled_by[2] >> 8, llc);
}

/* A piece of four instructions, with a load that misses in so many levels. */
static void run_miss(struct ap_pipe *p, const struct ap_pipe_spec *spec, unsigned cycles,
		     unsigned levels)
{
	static const struct ap_pipe_flow flow;

	ap_pipe_enter(p, spec, 4);
	if (cycles)
		ap_pipe_miss(p, spec, cycles, 0, 0, levels);
	ap_pipe_leave(p, &flow);
}

static void stalls_are_told_apart_by_levels(void)
{
	static const struct ap_pipe_flow slow = { .depth = 50 << 8 };
	struct ap_pipe_spec four = { .rob = 4 }, eight = { .rob = 8 }, one = { .rob = 1 };
	static struct ap_pipe pipe;

	/* one after the other */
	memset(&pipe, 0, sizeof(pipe));
	run_miss(&pipe, &four, 200, 3);
	run_miss(&pipe, &four, 70, 2);
	run_miss(&pipe, &four, 40, 1);
	run_miss(&pipe, &four, 0, 0);
	expect_stalls(&pipe, 310, 310, 270, 200);
	/* what is slow by itself */
	ap_pipe_enter(&pipe, &four, 4);
	ap_pipe_leave(&pipe, &slow);
	run_miss(&pipe, &four, 0, 0);
	expect_stalls(&pipe, 360, 310, 270, 200);

	/* two at a time: while the first is waited for the second is under way */
	memset(&pipe, 0, sizeof(pipe));
	run_miss(&pipe, &eight, 40, 1);
	run_miss(&pipe, &eight, 100, 2);
	run_miss(&pipe, &eight, 0, 0);
	expect_stalls(&pipe, 40, 40, 40, 0);
	run_miss(&pipe, &eight, 0, 0);
	expect_stalls(&pipe, 100, 100, 100, 0);

	/* a miss that is over before what else there is in the buffer */
	memset(&pipe, 0, sizeof(pipe));
	ap_pipe_enter(&pipe, &eight, 4);
	ap_pipe_leave(&pipe, &slow);
	run_miss(&pipe, &eight, 20, 3);
	run_miss(&pipe, &eight, 0, 0);
	expect_stalls(&pipe, 50, 20, 20, 20);

	memset(&pipe, 0, sizeof(pipe));
	run_miss(&pipe, &one, 10, 1);
	run_miss(&pipe, &one, 100, 3);
	expect_stalls(&pipe, 110, 110, 100, 100);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(links_are_applied),
						 TAP(stalls_are_told_apart_by_levels),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
