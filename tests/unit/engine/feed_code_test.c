/* SPDX-License-Identifier: MIT */
/*
 * Code that reads one way's records does what model/feed.c does without it: random ways and values, on machines with and
 * without a TLB of stores' own.  All counts, times and tables come out the same.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/access/feed_code.h"
#include "engine/runtime/engine.h"
#include "tap/tap.h"
#include "unit/model/ways.h"

struct ap_proc ap_proc;

#define WAYS	50
#define RECORDS 3000
#define CODE	(1UL << 20)

static const char *const machines[] = { "zen4", "skylake", "icelake", "cachegrind" };

struct set {
	struct arena arena;
	uint32_t ids[WAYS];
	uint8_t *code;
	unsigned ncode;
};

static struct ap_feed_way *way_of(struct set *s, uint32_t id)
{
	return (struct ap_feed_way *)ap_feed_way(&s->arena.chunk, id);
}

static void make_set(struct set *s, const struct ap_feed *like, uint64_t from)
{
	struct ap_emit e;

	*s = (struct set){ .arena = { .chunk = zeroed(AP_FEED_CHUNK), .used = 4096 } };
	s->code = mmap(NULL, CODE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	REQUIRE(s->code != MAP_FAILED);
	e = (struct ap_emit){ s->code, s->code + CODE, false };
	seed = from;
	for (unsigned k = 0; k < WAYS; k++) {
		struct ap_feed_way *w;

		random_way(&s->arena, &s->ids[k], true);
		w = way_of(s, s->ids[k]);
		w->code = ap_feed_code_emit(&e, w, s->ids[k], like->mem);
		s->ncode += w->code != NULL;
	}
	REQUIRE(!e.full);
}

static void free_set(struct set *s)
{
	munmap(s->code, CODE);
	free(s->arena.chunk);
}

static uint64_t *random_record(struct set *s, uint32_t id, uint64_t *at)
{
	const struct ap_feed_way *w = way_of(s, id);

	at[0] = id;
	for (unsigned i = 0; i < w->nwords; i++)
		at[1 + i] = random_value();
	return at + 1 + w->nwords;
}

/* All but pointers. */
static void expect_same(const struct ap_feed *a, const struct ap_feed *b)
{
	size_t tables = ap_mem_bytes(a->machine) - sizeof(*a->mem);

	for (unsigned i = 0; i < AP_MODEL_N; i++)
		EXPECT_U64(a->count[i], b->count[i]);
	EXPECT(!memcmp(&a->pipe, &b->pipe, sizeof(a->pipe)));
	EXPECT_U64(a->stall_front, b->stall_front);
	EXPECT_U64(a->mem->clock, b->mem->clock);
	EXPECT(!memcmp(a->mem + 1, b->mem + 1, tables));
}

static void compare(const struct ap_machine *machine, uint64_t from)
{
	static uint64_t log[RECORDS * 5];
	struct ap_feed *with = new_feed(machine), *without = new_feed(machine);
	struct set s;
	uint64_t *at = log;

	make_set(&s, with, from);
	EXPECT_U64(s.ncode, WAYS);
	for (unsigned k = 0; k < RECORDS; k++)
		at = random_record(&s, s.ids[below(1 + k % WAYS)], at);
	ap_feed_run(with, log, at, &s.arena.chunk);
	for (unsigned k = 0; k < WAYS; k++)
		way_of(&s, s.ids[k])->code = NULL;
	ap_feed_run(without, log, at, &s.arena.chunk);
	EXPECT(with->count[AP_MODEL_L1D_LOAD_MISS]);
	expect_same(with, without);
	free_feed(with);
	free_feed(without);
	free_set(&s);
}

static void counts_as_without_code(void)
{
	for (unsigned m = 0; m < 4; m++)
		for (uint64_t k = 1; k <= 20; k++)
			compare(ap_machine_find(machines[m]), k);
}

/* Once each, however often they come; who finds no room in the list comes again. */
static void ways_read_often_are_named(void)
{
	struct ap_feed *f = new_feed(ap_machine_find("zen4"));
	struct set s;
	uint64_t log[8];

	make_set(&s, f, 5);
	for (unsigned k = 0; k < WAYS; k++)
		way_of(&s, s.ids[k])->code = NULL;
	f->nwarm = AP_FEED_WARM - 1;
	for (unsigned n = 1; n <= 4 * AP_FEED_RUNS; n++)
		for (unsigned k = 0; k < 2; k++) {
			uint64_t *end = random_record(&s, s.ids[k], log);

			if (k && n == 2 * AP_FEED_RUNS)
				f->nwarm = 1;
			ap_feed_run(f, log, end, &s.arena.chunk);
			if (n < AP_FEED_RUNS)
				EXPECT_U64(f->nwarm, AP_FEED_WARM - 1);
			if (n == AP_FEED_RUNS)
				EXPECT_U64(f->warm[AP_FEED_WARM - 1], s.ids[0]);
		}
	EXPECT_U64(f->nwarm, 2);
	EXPECT_U64(f->warm[1], s.ids[1]);
	free_feed(f);
	free_set(&s);
}

/* Where there is no room, nothing is said to be code. */
static void stops_where_there_is_no_room(void)
{
	struct ap_feed *f = new_feed(ap_machine_find("zen4"));
	static uint8_t code[65536];
	struct set s;

	make_set(&s, f, 3);
	for (unsigned k = 0; k < WAYS; k++) {
		struct ap_feed_way *w = way_of(&s, s.ids[k]);
		unsigned needed = 0;

		for (unsigned room = 0; w->code && room < 6000; room += 1 + needed / 8) {
			struct ap_emit e = { code, code + room, false };

			memset(code, 0x5a, sizeof(code));
			if (ap_feed_code_emit(&e, w, s.ids[k], f->mem) && !needed)
				needed = room;
			EXPECT(e.p <= e.end && e.full == !needed);
			EXPECT(code[room] == 0x5a);
		}
	}
	free_feed(f);
	free_set(&s);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(counts_as_without_code),
						 TAP(ways_read_often_are_named),
						 TAP(stops_where_there_is_no_room),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
