/* SPDX-License-Identifier: MIT */
/* Products of 128 bits, against values worked out by hand. */
#include "base/mul.h"
#include "tap/tap.h"

static void halves(void)
{
	static const struct {
		u64 a, b, high, low;
	} rows[] = {
		{ 0, ~0ULL, 0, 0 },
		{ 1, ~0ULL, 0, ~0ULL },
		{ 2, 1ULL << 63, 1, 0 },
		{ 0xffffffff, 0xffffffff, 0, 0xfffffffe00000001 },
		{ 1ULL << 32, 1ULL << 32, 1, 0 },
		{ ~0ULL, ~0ULL, 0xfffffffffffffffe, 1 },
		{ 0x123456789abcdef0, 0x1000000000000, 0x123456789abc, 0xdef0000000000000 },
	};

	for (u32 i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		for (int turned = 0; turned < 2; turned++) {
			u64 high, a = turned ? rows[i].b : rows[i].a,
				  b = turned ? rows[i].a : rows[i].b;

			EXPECT_U64(ap_mul_wide(a, b, &high), rows[i].low);
			EXPECT_U64(high, rows[i].high);
		}
	}
}

static void shifted(void)
{
	EXPECT_U64(ap_mul_shift(~0ULL, 1ULL << 32, 32), ~0ULL);
	EXPECT_U64(ap_mul_shift(1ULL << 40, 1ULL << 40, 63), 1ULL << 17);
	EXPECT_U64(ap_mul_shift(3, 5, 1), 7);
	EXPECT_U64(ap_mul_shift(1ULL << 63, 1ULL << 63, 1), 0); /* bit 125 is above */
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(halves), TAP(shifted), { 0 } };

	return tap_main(tests, argc, argv);
}
