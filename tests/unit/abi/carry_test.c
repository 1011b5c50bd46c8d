/* SPDX-License-Identifier: MIT */
/* What a slot's budgets say that its thread has counted, in whatever state a reader meets them. */
#include "abi/session.h"
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

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(what_is_gone_from_the_words_was_counted),
		TAP(what_changes_hands_stands_as_it_was),
		TAP(nobody_sees_a_count_go_down),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
