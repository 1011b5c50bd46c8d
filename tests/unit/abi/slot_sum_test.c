/* SPDX-License-Identifier: MIT */
/*
 * What a slot has counted: against a reference that adds one at a time, and in whatever state a reader meets the words
 * of a lane.
 */
#include "abi/slot_sum.h"
#include "abi/vec.h"
#include "tap/tap.h"

#define LANE 1U

static struct ap_slot slot;

_Static_assert(AP_LANE_WORDS == 2, "the tests' numbers");

static void spread(u64 a, u64 b)
{
	slot = (struct ap_slot){ .carry_base = 1000 };
	slot.budget[LANE][0] = a;
	slot.budget[LANE][1] = b;
}

static void what_is_gone_from_the_words_was_counted(void)
{
	spread(100, 900);
	EXPECT_U64(ap_slot_carried(&slot, 0), 0);
	EXPECT_U64(ap_slot_carried(&slot, LANE + 1), 0);
	slot.budget[LANE][1] -= 7;
	EXPECT_U64(ap_slot_carried(&slot, LANE + 1), 7);
	/* below 0, and kicked */
	slot.budget[LANE][0] -= 105;
	EXPECT_U64(ap_slot_carried(&slot, LANE + 1), 112);
	ap_budget_kick(&slot.budget[LANE][0]);
	ap_budget_kick(&slot.budget[LANE][1]);
	EXPECT_U64(ap_slot_carried(&slot, LANE + 1), 112);
}

static void what_changes_hands_stands_as_it_was(void)
{
	spread(100, 900);
	slot.carry_was = 42;
	slot.carry_seq = 1;
	EXPECT_U64(ap_slot_carried(&slot, LANE + 1), 42);
	slot.carry_seq = 2;
	EXPECT_U64(ap_slot_carried(&slot, LANE + 1), 0);
}

/* 50 were counted; 9 of them the block that is entered in its middle counts once more. */
static void nobody_sees_a_count_go_down(void)
{
	spread(50, 900);
	EXPECT_U64(ap_slot_carried(&slot, LANE + 1), 50);
	slot.budget[LANE][0] += 9;
	slot.carry_hidden = 9;
	slot.carry_hidden_at = 959;
	EXPECT_U64(ap_slot_carried(&slot, LANE + 1), 50);
	ap_budget_kick(&slot.budget[LANE][1]);
	EXPECT_U64(ap_slot_carried(&slot, LANE + 1), 50);
	/* left, by the exit behind its tenth */
	slot.budget[LANE][1] -= 10;
	EXPECT_U64(ap_slot_carried(&slot, LANE + 1), 51);
}

/* --- sums */

#define SHAPES 40U
#define ROUNDS 300U

static u64 counts[SHAPES], shapes[SHAPES];

static u64 random_word(void)
{
	static u64 state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* Kinds of a vector's fields and the elements of theirs, written out again. */
static const struct {
	u32 group, field, kind, elements;
} fields[] = {
	{ 0, 0, AP_KIND_INSTR, 0 },
	{ 0, 1, AP_KIND_COND, 0 },
	{ 0, 2, AP_KIND_TAKEN, 0 },
	{ 0, 3, AP_KIND_CALL, 0 },
	{ 0, 4, AP_KIND_RET, 0 },
	{ 0, 5, AP_KIND_IND, 0 },
	{ 0, 6, AP_KIND_BRANCH, 0 },
	{ 1, 0, AP_KIND_LOAD, 0 },
	{ 1, 1, AP_KIND_STORE, 0 },
	{ 1, 2, AP_KIND_MEM, 0 },
	{ 2, 0, AP_KIND_FP_SCALAR_DOUBLE, 1 },
	{ 2, 1, AP_KIND_FP_SCALAR_SINGLE, 1 },
	{ 2, 2, AP_KIND_FP_128_DOUBLE, 2 },
	{ 2, 3, AP_KIND_FP_128_SINGLE, 4 },
	{ 2, 4, AP_KIND_FP_256_DOUBLE, 4 },
	{ 2, 5, AP_KIND_FP_256_SINGLE, 8 },
	{ 3, 0, AP_KIND_FP_512_DOUBLE, 8 },
	{ 3, 1, AP_KIND_FP_512_SINGLE, 16 },
};

/* An execution after the other, an element after the other. */
static void count_slowly(u64 sums[AP_RAW_N])
{
	for (u32 k = 0; k < AP_RAW_N; k++)
		sums[k] = (u64)slot.extra[k];
	for (u32 id = 0; id < SHAPES; id++)
		for (u64 n = 0; n < counts[id]; n++)
			for (u32 f = 0; f < AP_ARRAY_SIZE(fields); f++) {
				u64 one = shapes[id] >> fields[f].field * 8 & 0xff;

				if (fields[f].group != shapes[id] >> 56)
					continue;
				sums[fields[f].kind] += one;
				for (u32 e = 0; e < fields[f].elements; e++)
					sums[AP_KIND_FLOPS] += one;
			}
}

/* Some counted what the lane's words have, too; some shapes have nothing, or what no group has. */
static void fill(u64 carried)
{
	spread(600 - carried, 400);
	for (u32 k = 0; k < AP_RAW_N; k++)
		slot.extra[k] = (s64)(random_word() % 1000) - 500;
	for (u32 id = 0; id < SHAPES; id++) {
		counts[id] = random_word() % 4 ? random_word() % 20 : 0;
		shapes[id] = (random_word() & ~(0xffULL << 56)) | (random_word() % 6) << 56;
	}
}

static void every_kind_is_the_sum_of_its_places(void)
{
	const struct ap_slot_view view = { .slot = &slot,
					   .counts = counts,
					   .shapes = shapes,
					   .nshapes = SHAPES,
					   .carry = LANE + 1 };

	for (u32 round = 0; round < ROUNDS; round++) {
		u64 carried = random_word() % 500, want[AP_RAW_N], got[AP_RAW_N];
		u64 kinds = random_word() & random_word() & (AP_KIND_BIT(AP_RAW_N - 1) * 2 - 1);
		u64 sum = 0, of_shapes = 0, in = random_word();

		fill(carried);
		count_slowly(want);
		want[AP_KIND_INSTR] += carried;
		ap_slot_sum(&view, got);
		for (u32 k = 0; k < AP_RAW_N; k++) {
			EXPECT_U64(got[k], want[k]);
			EXPECT_U64(ap_slot_sum_of(&view, AP_KIND_BIT(k), ~0ULL), want[k]);
			sum += kinds & AP_KIND_BIT(k) ? want[k] : 0;
			if (kinds & ~in & AP_KIND_BIT(k))
				of_shapes += want[k] - ap_slot_apart(&slot, LANE + 1, k);
		}
		EXPECT_U64(ap_slot_sum_of(&view, kinds, ~0ULL), sum);
		EXPECT_U64(ap_slot_sum_of(&view, kinds, in), sum - of_shapes);
	}
}

static void what_is_final_is_nothing_else(void)
{
	const struct ap_slot_view view = { .slot = &slot,
					   .counts = counts,
					   .shapes = shapes,
					   .nshapes = SHAPES,
					   .carry = LANE + 1 };
	u64 got[AP_RAW_N];

	fill(77);
	for (u32 k = 0; k < AP_RAW_N; k++)
		slot.final[k] = 1000 + k;
	slot.state = AP_SLOT_FINAL;
	ap_slot_sum(&view, got);
	for (u32 k = 0; k < AP_RAW_N; k++)
		EXPECT_U64(got[k], 1000 + k);
}

static void the_last_that_joined_the_dead_is_known(void)
{
	EXPECT(ap_fold_has(ap_fold_of(0, 1), 0, 1));
	EXPECT(ap_fold_has(ap_fold_of(809, 0xffffffff) | 1, 809, 0xffffffff));
	EXPECT(!ap_fold_has(ap_fold_of(809, 7), 808, 7));
	EXPECT(!ap_fold_has(ap_fold_of(809, 7), 809, 8));
	/* nobody has joined yet */
	EXPECT(!ap_fold_has(0, 0, 0));
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(what_is_gone_from_the_words_was_counted),
		TAP(what_changes_hands_stands_as_it_was),
		TAP(nobody_sees_a_count_go_down),
		TAP(every_kind_is_the_sum_of_its_places),
		TAP(what_is_final_is_nothing_else),
		TAP(the_last_that_joined_the_dead_is_known),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
