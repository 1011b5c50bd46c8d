/* SPDX-License-Identifier: MIT */
/* SipHash-1-3 against the values that Linux' own tests have of it (lib/siphash_kunit.c: hsiphash, its lower half). */
#include "base/siphash.h"
#include "tap/tap.h"

static const u64 key[2] = { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL };

static void known_values(void)
{
	const u64 words[] = { 0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL };

	EXPECT_U64((u32)ap_siphash(key, words, 0), 0x050fc4dc);
	EXPECT_U64((u32)ap_siphash(key, words, 1), 0x8d299a8e);
}

static void each_bit_counts(void)
{
	u64 words[8] = { 0 }, other[2] = { key[0], key[1] };
	u64 was = ap_siphash(key, words, 8);

	for (u32 k = 0; k < 64 * 8; k++) {
		words[k / 64] ^= 1ULL << k % 64;
		EXPECT(ap_siphash(key, words, 8) != was);
		words[k / 64] ^= 1ULL << k % 64;
	}
	for (u32 k = 0; k < 128; k++) {
		other[k / 64] ^= 1ULL << k % 64;
		EXPECT(ap_siphash(other, words, 8) != was);
		other[k / 64] ^= 1ULL << k % 64;
	}
	EXPECT(ap_siphash(key, words, 7) != was);
	EXPECT_U64(ap_siphash(key, words, 8), was);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(known_values),
		TAP(each_bit_counts),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
