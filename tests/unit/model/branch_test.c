/* SPDX-License-Identifier: MIT */
/*
 * Branch predictors: against plain ones (plain_branch.h) on random machines and streams, and on
 * streams whose mispredictions can be counted by hand.
 */
/* LONG: --exhaustive */
#include <stdlib.h>
#include <string.h>

#include "plain_branch.h"
#include "random.h"
#include "tap/tap.h"

static uint64_t counts[AP_MODEL_N];

static struct ap_bp *new_bp(const struct ap_machine *machine)
{
	size_t bytes = AP_ALIGN_UP(ap_bp_bytes(machine), 64);
	void *memory = aligned_alloc(64, bytes);

	memset(memory, 0, bytes);
	memset(counts, 0, sizeof(counts));
	return ap_bp_init(memory, machine, counts);
}

/* --- against plain ones */

static void random_machine(struct ap_machine *m)
{
	struct ap_bp_spec *s = &m->bp;

	memset(m, 0, sizeof(*m));
	s->kind = below(3);
	s->base_bits = 2 + below(8);
	s->history = below(33);
	s->tables = below(9);
	s->table_bits = 2 + below(6);
	s->tag_bits = 4 + below(8);
	s->min_history = 1 + below(8);
	s->max_history = s->min_history + below(below(2) ? 20 : 57);
	s->bias_bits = below(2) ? 1 + below(8) : 0;
	s->loops = below(2) ? 4U << below(4) : 0;
	s->btb_ways = 1 + below(5);
	s->btb_entries = below(5) ? s->btb_ways << below(5) : 0;
	s->target_bits = below(7);
	s->target_tables = below(9);
	s->target_table_bits = below(6);
	s->returns = below(20);
}

/* Outcomes of one branch: biased, looping, periodic, of its history, or random. */
static bool outcome_of(unsigned branch, unsigned n, unsigned last)
{
	switch (branch % 6) {
	case 0:
		return branch & 8;
	case 1:
		return n % (2 + branch % 23) != 0;
	case 2:
		return (0x9d2c5680U >> (n % (3 + branch % 29))) & 1;
	case 3:
		return __builtin_parity(last & 0x25);
	case 4:
		return below(8) != 0;
	}
	return below(2);
}

static bool compare_one(struct ap_bp *bp, struct plain_bp *plain, unsigned branches,
			unsigned *times, unsigned *last)
{
	unsigned branch = below(3) ? below(branches) : *last % branches;
	uint64_t pc = 0x401000 + branch * 13;
	bool taken;

	if (below(6) == 0) {
		uint64_t target = 0x500000 + 64 * (below(2) ? *last % 7 : below(3));

		return ap_bp_indirect(bp, pc, target) == plain_indirect(plain, pc, target);
	}
	if (below(8) == 0)
		return ap_bp_jump(bp, pc) == plain_jump(plain, pc);
	taken = outcome_of(branch, times[branch]++, *last);
	*last = *last * 2 + taken;
	return ap_bp_cond(bp, pc, taken) == plain_cond(plain, pc, taken);
}

static void random_predictors_agree_with_plain_ones(void)
{
	unsigned machines = tap_option("--exhaustive") ? 2000 : 150, last = 0;
	struct plain_bp plain;
	struct ap_machine machine;

	seed = 3;
	for (unsigned n = 0; n < machines; n++) {
		unsigned times[200] = { 0 }, branches = 1 + below(200);
		struct ap_bp *bp;

		random_machine(&machine);
		bp = new_bp(&machine);
		plain_bp_init(&plain, &machine, bp->outcomes.length, bp->targets.length);
		for (unsigned i = 0; i < 5000; i++) {
			if (compare_one(bp, &plain, branches, times, &last))
				continue;
			tap_note("machine %u, branch %u", n, i);
			REQUIRE(!"another prediction");
		}
		for (int i = 0; i < AP_MODEL_N; i++)
			REQUIRE(EXPECT_U64(counts[i], plain.count[i]));
		plain_bp_fini(&plain);
		free(bp);
	}
	EXPECT(machines > 0);
}

/* Usefulness is halved after 2^13 mispredictions: far enough for it to matter often. */
static void old_entries_agree_with_plain_ones(void)
{
	struct ap_machine machine = { .bp = { .kind = AP_BP_TAGE,
					      .base_bits = 4,
					      .tables = 4,
					      .table_bits = 3,
					      .tag_bits = 8,
					      .min_history = 2,
					      .max_history = 20 } };
	struct ap_bp *bp = new_bp(&machine);
	struct plain_bp plain;
	unsigned times[64] = { 0 }, last = 0;

	seed = 4;
	plain_bp_init(&plain, &machine, bp->outcomes.length, bp->targets.length);
	for (unsigned i = 0; i < 600000; i++) {
		unsigned branch = below(64);
		bool taken = outcome_of(branch, times[branch]++, last);

		last = last * 2 + taken;
		REQUIRE(ap_bp_cond(bp, branch * 7, taken) == plain_cond(&plain, branch * 7, taken));
	}
	EXPECT_U64(counts[AP_MODEL_COND_MISS], plain.count[AP_MODEL_COND_MISS]);
	plain_bp_fini(&plain);
	free(bp);
}

static void lengths_are_geometric(void)
{
	struct ap_machine machine = { .bp = { .kind = AP_BP_TAGE,
					      .tables = 6,
					      .tag_bits = 8,
					      .min_history = 2,
					      .max_history = 64 } };
	/* 2 x 2^i */
	static const uint16_t want[6] = { 2, 4, 8, 16, 32, 64 };
	struct ap_bp *bp = new_bp(&machine);

	for (int i = 0; i < 6; i++)
		EXPECT_U64(bp->outcomes.length[i], want[i]);
	free(bp);
}

/* --- by hand */

static const struct ap_machine bimodal = { .bp = { .kind = AP_BP_BIMODAL, .base_bits = 10 } };
static const struct ap_machine full = { .bp = { .kind = AP_BP_TAGE,
						.base_bits = 12,
						.tables = 7,
						.table_bits = 10,
						.tag_bits = 9,
						.min_history = 4,
						.max_history = 64,
						.loops = 64,
						.target_bits = 9,
						.target_tables = 4,
						.target_table_bits = 8,
						.returns = 16 } };

static uint64_t misses_of(struct ap_bp *bp, const char *pattern, unsigned times)
{
	uint64_t before = counts[AP_MODEL_COND_MISS];

	for (unsigned n = 0; n < times; n++)
		for (const char *c = pattern; *c; c++)
			ap_bp_cond(bp, 0x400123, *c == 'T');
	return counts[AP_MODEL_COND_MISS] - before;
}

static void two_bit_counters_count_as_by_hand(void)
{
	struct ap_bp *bp = new_bp(&bimodal);

	/* from weakly not taken: 1 miss, then weakly and strongly taken */
	EXPECT_U64(misses_of(bp, "TTTT", 1), 1);
	/* strongly taken: one not taken a round is one miss a round */
	EXPECT_U64(misses_of(bp, "TTTN", 100), 100);
	/* 2 -> T 3, then N N: misses at 3 and 2, N N right, T T: misses at 0 and 1 */
	EXPECT_U64(misses_of(bp, "T", 1), 0);
	EXPECT_U64(misses_of(bp, "NNNNTTTT", 50), 200);
	free(bp);
}

static void who_was_never_taken_costs_nothing(void)
{
	struct ap_machine machine = full;
	struct ap_bp *bp;

	machine.bp.bias_bits = 12;
	bp = new_bp(&machine);
	EXPECT_U64(misses_of(bp, "NNNNNNNN", 100), 0);
	/* first taken, then always; first not taken again */
	EXPECT_U64(misses_of(bp, "T", 100), 1);
	EXPECT_U64(misses_of(bp, "N", 1), 1);
	free(bp);
}

/* A branch that TAGE cannot see the end of: longer than its longest history. */
static void loops_of_one_length_are_learnt(void)
{
	struct ap_bp *bp = new_bp(&full);
	uint64_t misses[10];

	for (int run = 0; run < 10; run++) {
		misses[run] = counts[AP_MODEL_COND_MISS];
		for (int i = 1; i <= 1000; i++)
			ap_bp_cond(bp, 0x400200, i < 1000);
		misses[run] = counts[AP_MODEL_COND_MISS] - misses[run];
	}
	/*
	 * Run 0 begins with a miss (weakly not taken), which makes an entry for the wrong way; its
	 * end frees that.  The end of run 1 makes the right one; run 2 tells the length, 3 to 5 make
	 * sure; each of these ends is a miss.  From then on none is.
	 */
	EXPECT_U64(misses[0], 2);
	for (int run = 1; run < 6; run++)
		EXPECT_U64(misses[run], 1);
	for (int run = 6; run < 10; run++)
		EXPECT_U64(misses[run], 0);
	free(bp);
}

static void patterns_within_the_history_are_learnt(void)
{
	static const char *const patterns[] = {
		"TN", "TTN", "TNNTN", "TTTTNNNN", "TNTTNTTTNTTTTN", "TTTTTTTTTTTTTTTTTTTTTTTTTTTTTN"
	};

	for (unsigned i = 0; i < AP_ARRAY_SIZE(patterns); i++) {
		struct ap_bp *bp = new_bp(&full);

		misses_of(bp, patterns[i], 1000);
		EXPECT_U64(misses_of(bp, patterns[i], 1000), 0);
		free(bp);
	}
}

static void random_outcomes_are_not(void)
{
	struct ap_bp *bp = new_bp(&full);

	seed = 5;
	for (int i = 0; i < 100000; i++)
		ap_bp_cond(bp, 0x400300, below(2));
	/* a fair coin: within 5 standard deviations (158) of one half */
	EXPECT(counts[AP_MODEL_COND_MISS] > 50000 - 800 &&
	       counts[AP_MODEL_COND_MISS] < 50000 + 800);
	free(bp);
}

static void returns_match_calls_as_deep_as_the_stack(void)
{
	for (unsigned deep = 1; deep <= 40; deep++) {
		struct ap_bp *bp = new_bp(&full);

		for (int round = 0; round < 3; round++) {
			for (unsigned i = 0; i < deep; i++)
				ap_bp_call(bp, 0x1000 + i, 0x2000 + i);
			for (unsigned i = deep; i-- > 0;)
				EXPECT_U64(ap_bp_ret(bp, 0x2000 + i), deep - i > 16);
		}
		EXPECT_U64(counts[AP_MODEL_RETURN_MISS], deep > 16 ? 3 * (deep - 16) : 0);
		free(bp);
	}
}

static void a_return_elsewhere_is_a_miss(void)
{
	struct ap_bp *bp = new_bp(&full);

	ap_bp_push(bp, 0x2000);
	ap_bp_push(bp, 0x3000);
	EXPECT(ap_bp_ret(bp, 0x9999));
	EXPECT(!ap_bp_ret(bp, 0x2000));
	EXPECT(ap_bp_ret(bp, 0x2000));
	EXPECT_U64(counts[AP_MODEL_RETURN_MISS], 2);
	free(bp);
}

static void the_btb_holds_what_fits(void)
{
	struct ap_machine machine = { .bp = { .btb_entries = 256, .btb_ways = 4 } };
	struct ap_bp *bp = new_bp(&machine);

	/* 64 sets of 4: 256 neighbours fit exactly */
	for (int round = 0; round < 10; round++)
		for (uint64_t pc = 0; pc < 256; pc++)
			ap_bp_jump(bp, 0x1000000 + pc);
	EXPECT_U64(counts[AP_MODEL_BTB_MISS], 256);
	EXPECT_U64(counts[AP_MODEL_BTB_LOOKUP], 2560);
	/* one more per set, in a circle: the oldest is always the next one */
	memset(counts, 0, sizeof(counts));
	for (int round = 0; round < 10; round++)
		for (uint64_t pc = 0; pc < 320; pc++)
			ap_bp_jump(bp, 0x2000000 + pc);
	EXPECT_U64(counts[AP_MODEL_BTB_MISS], 3200);
	free(bp);
}

static void indirect_targets_follow_the_history(void)
{
	struct ap_bp *bp = new_bp(&full);
	uint64_t before;

	for (int i = 0; i < 50; i++)
		ap_bp_indirect(bp, 0x400400, 0x5000);
	EXPECT_U64(counts[AP_MODEL_INDIRECT_MISS], 1);
	/* in turn, as an interpreter's dispatch: the last target is always wrong, the history right */
	for (int i = 0; i < 5000; i++)
		ap_bp_indirect(bp, 0x400500, 0x6000 + 64 * (i % 6));
	before = counts[AP_MODEL_INDIRECT_MISS];
	for (int i = 0; i < 6000; i++)
		ap_bp_indirect(bp, 0x400500, 0x6000 + 64 * ((5000 + i) % 6));
	EXPECT_U64(counts[AP_MODEL_INDIRECT_MISS] - before, 0);
	free(bp);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(random_predictors_agree_with_plain_ones),
		TAP(old_entries_agree_with_plain_ones),
		TAP(lengths_are_geometric),
		TAP(two_bit_counters_count_as_by_hand),
		TAP(who_was_never_taken_costs_nothing),
		TAP(loops_of_one_length_are_learnt),
		TAP(patterns_within_the_history_are_learnt),
		TAP(random_outcomes_are_not),
		TAP(returns_match_calls_as_deep_as_the_stack),
		TAP(a_return_elsewhere_is_a_miss),
		TAP(the_btb_holds_what_fits),
		TAP(indirect_targets_follow_the_history),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
