/* SPDX-License-Identifier: MIT */
/* Range arrays: a long random walk against one flag per page, and the form that must hold. */
#include <string.h>

#include "engine/runtime/ranges.h"
#include "tap/tap.h"

#define PAGES 64

static struct ap_range v[PAGES + 2];
static struct ap_ranges r;

static u32 next_random(u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Sorted, disjoint, not empty, neighbours differ, and each page has the model's flags. */
static bool matches(const u8 model[PAGES])
{
	for (u32 i = 0; i < r.n; i++) {
		if (v[i].start >= v[i].end)
			return false;
		if (i && (v[i].start < v[i - 1].end ||
			  (v[i].start == v[i - 1].end && v[i].flags == v[i - 1].flags)))
			return false;
	}
	for (u32 page = 0; page < PAGES; page++) {
		u32 i = ap_ranges_at(&r, page);
		u64 flags = i < r.n && v[i].start <= page ? v[i].flags : 0;

		if (flags != model[page])
			return false;
	}
	return true;
}

static void agrees_with_a_flag_per_page(void)
{
	u8 model[PAGES] = { 0 };
	u32 state = 1;

	r = (struct ap_ranges){ .v = v, .n = 0, .cap = PAGES + 2 };
	for (u32 i = 0; i < 200000; i++) {
		u32 a = next_random(&state) % PAGES, b = next_random(&state) % (PAGES + 1);
		u32 flags = next_random(&state) % 4;

		if (flags)
			ap_ranges_set(&r, a, b, flags);
		else
			ap_ranges_clear(&r, a, b);
		if (a < b)
			memset(model + a, (int)flags, b - a);
		if (!EXPECT(matches(model)))
			return;
	}
}

static void splits_and_merges(void)
{
	r = (struct ap_ranges){ .v = v, .n = 0, .cap = PAGES + 2 };
	ap_ranges_set(&r, 10, 20, 1);
	ap_ranges_clear(&r, 12, 15);
	EXPECT_U64(r.n, 2);
	EXPECT_U64(ap_ranges_at(&r, 11), 0);
	EXPECT_U64(ap_ranges_at(&r, 12), 1);
	EXPECT_U64(ap_ranges_at(&r, 20), 2);
	ap_ranges_set(&r, 12, 15, 1);
	EXPECT_U64(r.n, 1);
	EXPECT_U64(v[0].start, 10);
	EXPECT_U64(v[0].end, 20);
	ap_ranges_clear(&r, 0, UINT64_MAX);
	EXPECT_U64(r.n, 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(agrees_with_a_flag_per_page),
		TAP(splits_and_merges),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
