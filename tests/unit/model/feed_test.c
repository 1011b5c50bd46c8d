/* SPDX-License-Identifier: MIT */
/*
 * Ways whose accesses are looked at in clusters count as ways whose accesses are taken one by one:
 * random ways and values, on machines with and without a TLB of stores' own.
 */
#include <stdlib.h>
#include <string.h>

#include "tap/tap.h"
#include "ways.h"

#define WAYS	50
#define RECORDS 3000

static void compare(const struct ap_machine *machine, uint64_t from)
{
	struct arena arena[2];
	struct ap_feed *feed[2];
	uint32_t ids[WAYS];
	static uint64_t log[RECORDS * 5];
	uint64_t *at = log, ways = 0;

	for (unsigned n = 0; n < 2; n++) {
		arena[n] = (struct arena){ .chunk = zeroed(AP_FEED_CHUNK), .used = 4096 };
		feed[n] = new_feed(machine);
		seed = from;
		for (unsigned k = 0; k < WAYS; k++)
			random_way(&arena[n], &ids[k], !n);
	}
	for (unsigned k = 0; k < RECORDS; k++) {
		const struct ap_feed_way *w;

		*at = ids[below(1 + k % WAYS)];
		w = ap_feed_way(&arena[0].chunk, (uint32_t)*at);
		ways += w->nclusters != 0;
		for (unsigned i = 0; i < w->nwords; i++)
			at[1 + i] = random_value();
		at += 1 + w->nwords;
	}
	EXPECT(ways > RECORDS / 4);
	for (unsigned n = 0; n < 2; n++)
		ap_feed_run(feed[n], log, at, &arena[n].chunk);
	EXPECT(feed[0]->count[AP_MODEL_L1D_LOAD] > RECORDS);
	EXPECT(feed[0]->count[AP_MODEL_L1D_LOAD_MISS]);
	for (unsigned i = 0; i < AP_MODEL_N; i++)
		EXPECT_U64(feed[0]->count[i], feed[1]->count[i]);
	EXPECT_U64(feed[0]->pipe.now, feed[1]->pipe.now);
	for (unsigned n = 0; n < 2; n++) {
		free_feed(feed[n]);
		free(arena[n].chunk);
	}
}

static void clusters_count_as_one_by_one(void)
{
	static const char *const names[] = { "zen4", "skylake", "icelake", "cachegrind" };

	for (unsigned m = 0; m < 4; m++)
		for (uint64_t k = 1; k <= 20; k++)
			compare(ap_machine_find(names[m]), k);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(clusters_count_as_one_by_one), { 0 } };

	return tap_main(tests, argc, argv);
}
