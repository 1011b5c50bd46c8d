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

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(links_are_applied), { 0 } };

	return tap_main(tests, argc, argv);
}
