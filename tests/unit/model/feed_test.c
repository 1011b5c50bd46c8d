/* SPDX-License-Identifier: MIT */
/*
 * Ways whose accesses are looked at in clusters count as ways whose accesses are taken one by one, and as ways that
 * somebody looks at; cycles with remembered states of the pipeline are those without: random ways and values, on
 * machines with and without a TLB of stores' own.
 */
#include <stdlib.h>
#include <string.h>

#include "tap/tap.h"
#include "ways.h"

#define WAYS	50
#define RECORDS 1000 /* of a log */
#define LOGS	4

/* Sees that time goes on. */
struct looker {
	struct ap_feed_look look;
	uint64_t now, seen;
};

static void seen(struct ap_feed_look *look, struct ap_feed *f, const struct ap_feed_seen *s)
{
	struct looker *l = (struct looker *)look;

	l->seen += s->what == AP_FEED_SAW_LEAVE;
	EXPECT(f->pipe.now >= l->now);
	l->now = f->pipe.now;
}

static void expect_same(const struct ap_feed *a, const struct ap_feed *b)
{
	for (unsigned i = 0; i < AP_MODEL_N; i++)
		EXPECT_U64(a->count[i], b->count[i]);
	EXPECT_U64(a->pipe.now, b->pipe.now);
	EXPECT_U64(a->pipe.stalled, b->pipe.stalled);
	EXPECT_U64(a->stall_front, b->stall_front);
}

/* What stalls wait for is the same for who looks, and part of what waits; who does not ask has nothing. */
static void expect_levels(const struct ap_feed *a, const struct ap_feed *looked_at,
			  const struct ap_feed *nobody)
{
	u64 most = a->pipe.stalled;

	for (unsigned k = 0; k < AP_PIPE_LEVELS; k++) {
		EXPECT(a->pipe.stalled_by[k] <= most);
		most = a->pipe.stalled_by[k];
		EXPECT_U64(looked_at->pipe.stalled_by[k], most);
		EXPECT_U64(nobody->pipe.stalled_by[k], 0);
	}
	EXPECT(a->pipe.stalled_by[0] || !a->pipe.stalled);
}

enum { USUAL, ONE_BY_ONE, LOOKED_AT, IN_TURN, BY_LEVELS, FEEDS };

/* A log to all of them: by one way or the other, and by both. */
static void run_all(struct ap_feed *const *feed, struct arena *arena, const uint64_t *from,
		    const uint64_t *to, unsigned nth)
{
	static struct looker looker;

	looker = (struct looker){ .look.seen = seen };
	ap_feed_run(feed[USUAL], from, to, &arena[0].chunk);
	ap_feed_run(feed[ONE_BY_ONE], from, to, &arena[1].chunk);
	ap_feed_run(feed[BY_LEVELS], from, to, &arena[0].chunk);
	looker.now = feed[LOOKED_AT]->pipe.now;
	ap_feed_run_slowly(feed[LOOKED_AT], from, to, &arena[0].chunk, &looker.look);
	EXPECT(looker.seen);
	looker.now = 0;
	if (nth % 2)
		ap_feed_run(feed[IN_TURN], from, to, &arena[0].chunk);
	else
		ap_feed_run_slowly(feed[IN_TURN], from, to, &arena[0].chunk, &looker.look);
}

static void compare(const struct ap_machine *machine, uint64_t from)
{
	struct arena arena[2];
	struct ap_feed *feed[FEEDS];
	uint32_t ids[WAYS];
	static uint64_t log[RECORDS * 5];
	uint64_t *at = log, ways = 0;

	for (unsigned n = 0; n < 2; n++) {
		arena[n] = (struct arena){ .chunk = zeroed(AP_FEED_CHUNK), .used = 4096 };
		seed = from;
		for (unsigned k = 0; k < WAYS; k++)
			random_way(&arena[n], &ids[k], !n);
	}
	for (unsigned n = 0; n < FEEDS; n++) {
		feed[n] = new_feed(machine);
		if (n != ONE_BY_ONE)
			feed[n]->pipe.states = zeroed(sizeof(*feed[n]->pipe.states));
	}
	feed[BY_LEVELS]->has_levels = feed[LOOKED_AT]->has_levels = true;
	for (unsigned log_of = 0; log_of < LOGS; log_of++) {
		at = log;
		for (unsigned k = 0; k < RECORDS; k++) {
			const struct ap_feed_way *w;

			*at = ids[below(1 + k % WAYS)];
			w = ap_feed_way(&arena[0].chunk, (uint32_t)*at);
			ways += w->nclusters != 0;
			for (unsigned i = 0; i < w->nwords; i++)
				at[1 + i] = random_value();
			at += 1 + w->nwords;
		}
		run_all(feed, arena, log, at, log_of);
	}
	EXPECT(ways > LOGS * RECORDS / 4);
	EXPECT(feed[0]->count[AP_MODEL_L1D_LOAD] > RECORDS);
	EXPECT(feed[0]->count[AP_MODEL_L1D_LOAD_MISS]);
	EXPECT(feed[0]->count[AP_MODEL_COND_MISS]);
	for (unsigned n = 1; n < FEEDS; n++)
		expect_same(feed[0], feed[n]);
	expect_levels(feed[BY_LEVELS], feed[LOOKED_AT], feed[USUAL]);
	for (unsigned n = 0; n < FEEDS; n++)
		free_feed(feed[n]);
	for (unsigned n = 0; n < 2; n++)
		free(arena[n].chunk);
}

static void clusters_count_as_one_by_one(void)
{
	static const char *const names[] = { "zen4", "skylake", "icelake", "cachegrind" };

	for (unsigned m = 0; m < 4; m++)
		for (uint64_t k = 1; k <= 8; k++)
			compare(ap_machine_find(names[m]), k);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(clusters_count_as_one_by_one), { 0 } };

	return tap_main(tests, argc, argv);
}
