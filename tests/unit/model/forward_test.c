/* SPDX-License-Identifier: MIT */
/*
 * Loads that a store in the store buffer answers, and those that have to wait for it: loops of one way, whose cycles can be
 * worked out by hand.
 */
#include <stdlib.h>
#include <string.h>

#include "tap/tap.h"
#include "ways.h"

#define ROUNDS 20000
#define CYCLE  256ULL
#define AT     0x500000

static struct arena arena;

/* A way of these operations, relative to the record's only word. */
static uint32_t way_of(const struct ap_feed_op *ops, unsigned n, unsigned busy)
{
	struct ap_feed_cluster clusters[AP_FEED_CLUSTERS], *to;
	struct ap_feed_op *own;
	struct ap_feed_way *w;
	uint32_t id, unused;

	w = take(&arena, sizeof(*w), &id);
	w->ops = own = take(&arena, n * sizeof(*own), &unused);
	memcpy(own, ops, n * sizeof(*own));
	w->nops = (uint16_t)n;
	w->nwords = 1;
	w->ninsns = w->room = n;
	w->flow.busy = w->flow.depth = busy * (unsigned)CYCLE;
	w->nclusters = (uint16_t)ap_feed_clusters(w, id, 64, clusters);
	w->clusters = to = take(&arena, sizeof(clusters), &unused);
	memcpy(to, clusters, sizeof(clusters));
	return id;
}

/* clang-format off */
#define OP(kind, where, bytes) { .what = AP_FEED_##kind, .index = AP_FEED_NO_WORD, .disp = (where), .size = (bytes) }
/* clang-format on */

static const struct ap_feed_op halves[] = { OP(STORE, 0, 4), OP(STORE, 4, 4), OP(LOAD, 0, 8) };
static const struct ap_feed_op twice[] = { OP(STORE, 0, 4), OP(STORE, 4, 4), OP(LOAD, 0, 8),
					   OP(STORE, 0, 4), OP(STORE, 4, 4), OP(LOAD, 0, 8) };
static const struct ap_feed_op whole[] = { OP(STORE, 0, 8), OP(STORE, 8, 4), OP(LOAD, 0, 8) };
static const struct ap_feed_op storing[] = { OP(STORE, 0, 4), OP(STORE, 4, 4) };
static const struct ap_feed_op loading[] = { OP(LOAD, 0, 8) };

/* Cycles of a round: the ways after each other, at addresses that go up by so much from round to round. */
static uint64_t round_of(const struct ap_machine *m, const uint32_t *ways, unsigned n,
			 unsigned step, bool with_states)
{
	struct ap_feed *f = new_feed(m);
	uint64_t record[2], now;

	if (with_states)
		f->pipe.states = zeroed(sizeof(*f->pipe.states));
	for (unsigned k = 0; k < ROUNDS * n; k++) {
		record[0] = ways[k % n];
		record[1] = AT + (uint64_t)(k / n) * step % 4096;
		ap_feed_run(f, record, record + 2, &arena.chunk);
	}
	now = f->pipe.now;
	free_feed(f);
	return (now + ROUNDS * CYCLE / 2) / (ROUNDS * CYCLE);
}

static struct ap_machine machine_of(const char *name, unsigned block, unsigned buffer)
{
	struct ap_machine m = *ap_machine_find(name);

	m.pipe.forward_block = block;
	m.pipe.store_buffer = buffer;
	return m;
}

static void begin(void)
{
	free(arena.chunk);
	arena = (struct arena){ .chunk = zeroed(AP_FEED_CHUNK), .used = 4096 };
}

static void halves_hold_a_load_up(void)
{
	struct ap_machine m = machine_of("zen4", 14, 64);
	uint32_t way;

	begin();
	way = way_of(halves, 3, 2);
	for (unsigned states = 0; states < 2; states++)
		EXPECT_U64(round_of(&m, &way, 1, 0, states), 4 + 14);
	m.pipe.forward_block = 30;
	EXPECT_U64(round_of(&m, &way, 1, 0, true), 4 + 30);
	m.pipe.forward_block = 0;
	EXPECT_U64(round_of(&m, &way, 1, 0, true), 2);
	way = way_of(twice, 6, 2);
	m.pipe.forward_block = 14;
	EXPECT_U64(round_of(&m, &way, 1, 0, true), 2 * (4 + 14));
	way = way_of(whole, 3, 2);
	m.pipe.forward_block = 30;
	EXPECT_U64(round_of(&m, &way, 1, 0, true), 2);
}

/* From one way to another, at addresses that move; and not when the store has been written. */
static void it_is_held_up_by_stores_of_other_ways(void)
{
	struct ap_machine m = machine_of("zen4", 14, 64);
	uint32_t ways[3];

	begin();
	ways[0] = way_of(storing, 2, 1);
	ways[1] = way_of(loading, 1, 1);
	EXPECT_U64(round_of(&m, ways, 2, 8, true), 4 + 14);
	ways[2] = ways[1];
	ways[1] = way_of(loading, 0, 400);
	EXPECT_U64(round_of(&m, ways, 3, 8, true), 402);
}

/* The one that has a part of it has left the buffer when so many others have come. */
static void the_store_buffer_says_which_stores(void)
{
	struct ap_feed_op ops[12] = { OP(STORE, 0, 4) };
	struct ap_machine m = machine_of("zen4", 14, 64);
	uint32_t way;

	for (unsigned k = 1; k < 11; k++)
		ops[k] = (struct ap_feed_op)OP(STORE, 64 + 8 * k, 8);
	ops[11] = halves[2];
	begin();
	way = way_of(ops, 12, 6);
	EXPECT_U64(round_of(&m, &way, 1, 0, true), 4 + 14);
	m.pipe.store_buffer = 10;
	EXPECT_U64(round_of(&m, &way, 1, 0, true), 6);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(halves_hold_a_load_up),
		TAP(it_is_held_up_by_stores_of_other_ways),
		TAP(the_store_buffer_says_which_stores),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
