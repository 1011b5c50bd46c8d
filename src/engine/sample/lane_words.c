/* SPDX-License-Identifier: MIT */
/*
 * A lane's budget is shared out to words, because subtractions from one word wait for each other: the
 * exits of a loop, which are made one after the other, take different ones.  While the budget is *spread*
 * no word is below 0 when code is entered, so their sum, which is the budget, is not either; code that
 * finds its word used up leaves, what is left is *gathered* in the first word, and spread anew if it is
 * enough, in proportion to what each word was used.  Only one word can have got below 0, by less than the
 * margin, so the mark cannot have been passed.
 *
 * The first word is also what the engine counts in, and code that tests nothing and leaves to the
 * dispatcher anyway: who spreads finds it below 0 like any other.
 *
 * Where the words alone count (the carry), a reader elsewhere must find the sum in the middle of all this, even
 * if the thread is killed there: abi/slot_sum.h.
 */
#include "engine/sample/lane.h"

#define REST_SHIFT 6 /* so much is shared out evenly: who was not used may be used next */

static u64 *words_of(struct ap_thread *t, u32 k)
{
	return ap_thread_slot(t)->budget[k];
}

static void set_word(u64 *word, u64 value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static bool carries(u32 k)
{
	return k + 1 == ap_proc.carry;
}

static void begin(struct ap_thread *t, u32 k, u64 carried)
{
	struct ap_slot *slot = ap_thread_slot(t);

	if (!carries(k))
		return;
	__atomic_store_n(&slot->carry_was, carried, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->carry_seq, slot->carry_seq | 1, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* stores are seen in order */
}

static void end(struct ap_thread *t, u32 k)
{
	struct ap_slot *slot = ap_thread_slot(t);

	if (carries(k))
		__atomic_store_n(&slot->carry_seq, slot->carry_seq + 1, __ATOMIC_RELEASE);
}

void ap_lane_place(struct ap_thread *t, u32 k, s64 budget)
{
	struct ap_slot *slot = ap_thread_slot(t);
	u64 carried = slot->carry_base - (u64)ap_lane_budget(t, k);

	ap_lane_gather(t, k);
	begin(t, k, carried);
	set_word(words_of(t, k), (u64)budget);
	if (carries(k))
		__atomic_store_n(&slot->carry_base, carried + (u64)budget, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->carry_hidden, 0, __ATOMIC_RELAXED);
	end(t, k);
}

void ap_lane_hide(struct ap_thread *t, u32 k, s64 n)
{
	struct ap_slot *slot = ap_thread_slot(t);
	u64 *words = words_of(t, k), budget = (u64)ap_lane_budget(t, k);

	begin(t, k, slot->carry_base - budget);
	set_word(words, (u64)(ap_budget_value(__atomic_load_n(words, __ATOMIC_RELAXED)) + n));
	ap_thread_lanes(t)->lane[k].given[0] += (u64)n;
	__atomic_store_n(&slot->carry_hidden_at, budget + (u64)n, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->carry_hidden, n > 0 ? (u64)n : 0, __ATOMIC_RELAXED);
	end(t, k);
}

/* What each word was used since the budget was spread. */
static void note_used(struct ap_thread *t, u32 k)
{
	struct ap_lane *lane = &ap_thread_lanes(t)->lane[k];
	const u64 *words = words_of(t, k);

	for (u32 j = 0; j < AP_LANE_WORDS; j++) {
		u64 left = (u64)ap_budget_value(__atomic_load_n(&words[j], __ATOMIC_RELAXED));
		s64 used = (s64)(lane->given[j] - left);

		lane->used[j] = lane->used[j] / 2 + (used > 0 ? (u64)used : 0);
	}
}

void ap_lane_gather(struct ap_thread *t, u32 k)
{
	struct ap_lane *lane = &ap_thread_lanes(t)->lane[k];
	u64 *words = words_of(t, k), budget = (u64)ap_lane_budget(t, k);

	if (!lane->spread)
		return;
	note_used(t, k);
	begin(t, k, ap_thread_slot(t)->carry_base - budget);
	set_word(&words[0], budget);
	for (u32 j = 1; j < AP_LANE_WORDS; j++)
		set_word(&words[j], 0);
	end(t, k);
	lane->spread = false;
}

/* In parts of 2^16, rounded down, what each word was used. */
static void parts_of(const struct ap_lane *lane, u32 part[AP_LANE_WORDS])
{
	u64 sum = 0, unit;
	u32 shift = 0;

	for (u32 j = 0; j < AP_LANE_WORDS; j++)
		sum += lane->used[j];
	while (sum >> shift >> 24)
		shift += 8;
	/* each is below 2^24, and so is their sum but for what the shift has cut off */
	unit = (1ULL << 32) / ((sum >> shift) + 1);
	for (u32 j = 0; j < AP_LANE_WORDS; j++)
		part[j] = (u32)((lane->used[j] >> shift) * unit >> 16);
}

static u64 share_of(u64 whole, u32 part)
{
	return whole >> 40 ? (whole >> 16) * part : whole * part >> 16;
}

/* The whole budget, which is not below 0. */
static void spread(struct ap_thread *t, u32 k, u64 budget)
{
	struct ap_lane *lane = &ap_thread_lanes(t)->lane[k];
	u64 even = budget >> REST_SHIFT, rest = budget - even, sum = 0;
	u64 *words = words_of(t, k);
	u32 part[AP_LANE_WORDS], most = 0;

	parts_of(lane, part);
	for (u32 j = 0; j < AP_LANE_WORDS; j++) {
		lane->given[j] = even / AP_LANE_WORDS + share_of(rest, part[j]);
		sum += lane->given[j];
		if (part[j] > part[most])
			most = j;
	}
	lane->given[most] += budget - sum;
	begin(t, k, ap_thread_slot(t)->carry_base - budget);
	for (u32 j = 0; j < AP_LANE_WORDS; j++)
		set_word(&words[j], lane->given[j]);
	end(t, k);
	lane->spread = true;
}

void ap_lane_spread(struct ap_thread *t, u32 k)
{
	s64 budget = ap_lane_budget(t, k);

	if (!ap_thread_lanes(t)->lane[k].spread && budget >= 0)
		spread(t, k, (u64)budget);
}

/* Gathers and spreads at once; false where the budget is used up. */
static bool respread(struct ap_thread *t, u32 k)
{
	s64 budget = ap_lane_budget(t, k);

	if (budget < 0) {
		ap_lane_gather(t, k);
		return false;
	}
	if (ap_thread_lanes(t)->lane[k].spread)
		note_used(t, k);
	spread(t, k, (u64)budget);
	return true;
}

bool ap_lanes_share(struct ap_thread *t)
{
	const struct ap_slot *slot = ap_thread_slot(t);

	for (u32 k = 0; k < t->nlanes; k++)
		if (!respread(t, k))
			return false;
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with that of who kicks */
	return __atomic_load_n(&slot->sampler_gen, __ATOMIC_RELAXED) == t->sampler_gen;
}

bool ap_lanes_spread(struct ap_thread *t)
{
	const struct ap_slot *slot = ap_thread_slot(t);
	bool any = false;

	for (u32 k = 0; k < t->nlanes; k++) {
		any |= !ap_thread_lanes(t)->lane[k].spread;
		ap_lane_spread(t, k);
	}
	if (!any)
		return true;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&slot->sampler_gen, __ATOMIC_RELAXED) == t->sampler_gen;
}
