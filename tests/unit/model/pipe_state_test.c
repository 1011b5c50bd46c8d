/* SPDX-License-Identifier: MIT */
/*
 * A pipeline that remembers what pieces do to it has the same times as one that does all of them: random pieces, some
 * in loops and some in no order, misses, fetches that are late and wrong predictions.
 */
#include <stdlib.h>

#include "model/pipe_state.h"
#include "pieces.h"
#include "tap/tap.h"

#define PIECES 12

static struct piece pieces[PIECES];

struct pair {
	struct ap_pipe_spec spec;
	struct ap_pipe plain, quick;
	uint64_t steps; /* that were asked for */
};

static void delay_both(struct pair *b)
{
	static const uint16_t registers[] = { 0, 1, 3, AP_PIPE_WAIT_LOAD, 0x87 };
	uint16_t waits = registers[below(5)], late = registers[below(5)];
	unsigned cycles = below(4) ? 10 : below(10) ? 200 : 1 + below(300), what = below(4);

	if (what) {
		ap_pipe_miss(&b->plain, &b->spec, cycles, waits, late, 0);
		ap_pipe_delay_load(&b->quick, &b->spec, cycles, waits, late, 0);
	} else {
		b->plain.now += cycles << 7;
		ap_pipe_delay_fetch(&b->quick, &b->spec, cycles << 7);
	}
}

static void run_both(struct pair *b, unsigned k, unsigned delays)
{
	const struct piece *x = &pieces[k];

	ap_pipe_enter(&b->plain, &b->spec, x->ninsns);
	ap_pipe_come(&b->quick, &b->spec, x->ninsns, k + 1);
	while (delays--)
		delay_both(b);
	ap_pipe_leave(&b->plain, &x->flow);
	ap_pipe_pass(&b->quick, &b->spec, &x->flow, k + 1);
	b->steps++;
	REQUIRE(b->plain.now == b->quick.now);
	REQUIRE(b->plain.stalled == b->quick.stalled);
}

static void flush_both(struct pair *b)
{
	bool by_flags = below(2);
	unsigned cycles = below(2) ? 13 : 6;

	ap_pipe_flush(&b->plain, cycles, by_flags);
	ap_pipe_mispredict(&b->quick, cycles, by_flags);
	REQUIRE(b->plain.now == b->quick.now);
	REQUIRE(b->plain.stalled == b->quick.stalled);
}

/* A loop over some pieces, of which now and then one is another or is delayed. */
static void run_loop(struct pair *b, unsigned rate, unsigned rounds)
{
	unsigned from = below(PIECES), n = 1 + below(4);

	for (unsigned k = 0; k < rounds; k++) {
		bool odd = rate && !below(rate);

		b->quick.wait = 0; /* whatever it has learned */
		run_both(b, odd ? below(PIECES) : (from + k % n) % PIECES,
			 !rate || below(rate) ? 0
			 : below(4)	      ? 1
					      : 2 + below(2));
		if (rate && !below(rate))
			flush_both(b);
	}
}

static struct pair *new_pair(uint64_t from)
{
	struct pair *b = zeroed(sizeof(*b));

	seed = from;
	b->spec = (struct ap_pipe_spec){ .rob = 2 + below(500),
					 .fill_buffers = 1 + below(from % 2 ? 30 : 3) };
	if (from % 8 == 7)
		b->spec.rob = 1;
	b->quick.states = zeroed(sizeof(*b->quick.states));
	for (unsigned k = 0; k < PIECES; k++)
		random_piece(&pieces[k]);
	return b;
}

static void free_pair(struct pair *b)
{
	free(b->quick.states);
	free(b);
}

static void times_are_those_of_all_pieces(void)
{
	for (unsigned round = 0; round < 60; round++) {
		struct pair *b = new_pair(round);

		for (unsigned k = 0; k < 60; k++) {
			run_loop(b, k % 3 * (1 + below(40)), 500);
			if (!below(20))
				ap_pipe_unfold(&b->quick);
			if (!below(40))
				ap_pipe_forget(&b->quick);
		}
		free_pair(b);
	}
}

static void loops_are_remembered(void)
{
	for (unsigned round = 0; round < 20; round++) {
		struct pair *b = new_pair(round);

		run_loop(b, 0, 20000);
		EXPECT(b->quick.steps > b->steps / 2);
		free_pair(b);
	}
}

/* Until there is no more room, several times. */
static void all_states_are_forgotten(void)
{
	struct pair *b = new_pair(3);
	unsigned had = 0, times = 0;

	b->spec.rob = 400;
	for (unsigned k = 0; times < 3 && k < 1000000; k++) {
		run_loop(b, 3, 100);
		if (b->quick.states->used < had)
			times++;
		had = b->quick.states->used;
	}
	EXPECT_U64(times, 3);
	free_pair(b);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(times_are_those_of_all_pieces),
						 TAP(loops_are_remembered),
						 TAP(all_states_are_forgotten),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
