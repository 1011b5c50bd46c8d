/* SPDX-License-Identifier: MIT */
/* The encoding of perfctr's structures: words as perfctr 2.6 has them, written out here. */
#include "abi/errno.h"
#include "perfctr/codec.h"
#include "tap/tap.h"

#include <stdlib.h>
#include <string.h>

static void fields_that_are_0_do_not_travel(void)
{
	static const struct ap_vctr_control zero;
	struct ap_vctr_control c;
	u32 out[4];

	EXPECT(ap_ctr_encode(&ap_ctr_layout_control, &zero, out, 0) == 0);
	memset(&c, 0xff, sizeof(c));
	EXPECT(ap_ctr_decode(&ap_ctr_layout_control, out, 0, &c) == 0);
	EXPECT(memcmp(&c, &zero, sizeof(c)) == 0);
}

static void words_are_perfctrs(void)
{
	const struct ap_vctr_control c = { .si_signo = 29,
					   .cpu_control = { .tsc_on = 1,
							    .nrictrs = 1,
							    .pmc_map = { 0, 3 },
							    .evntsel = { 0x5100c0 },
							    .ireset = { -25 } },
					   .preserve = 2 };
	static const u32 want[] = { 9 << 16,  29,	    32 << 16, 1,	34 << 16,
				    1,	      35 << 16 | 2, 3,	      36 << 16, 0x5100c0,
				    37 << 16, (u32)-25,	    10 << 16, 2 };
	const struct ap_x86ctr_sum sum = { .tsc = 5, .pmc = { 0, 0x100000002 } };
	static const u32 want_sum[] = { 48 << 16 | 1, 5, 0, 49 << 16 | 3, 2, 1 };
	struct ap_vctr_control back;
	u32 out[64];

	EXPECT(ap_ctr_encode(&ap_ctr_layout_control, &c, out, 64) == 14);
	EXPECT(memcmp(out, want, sizeof(want)) == 0);
	EXPECT(ap_ctr_decode(&ap_ctr_layout_control, out, 14, &back) == 0);
	EXPECT(memcmp(&c, &back, sizeof(c)) == 0);
	EXPECT(ap_ctr_encode(&ap_ctr_layout_sum, &sum, out, 64) == 6);
	EXPECT(memcmp(out, want_sum, sizeof(want_sum)) == 0);
}

static void room_is_minded(void)
{
	const struct ap_x86ctr_sum sum = { .tsc = 5, .pmc = { 7 } };
	u32 out[8] = { 0 };

	EXPECT(ap_ctr_encode(&ap_ctr_layout_sum, &sum, out, 6) == 6);
	for (u32 cap = 0; cap < 6; cap++)
		EXPECT(ap_ctr_encode(&ap_ctr_layout_sum, &sum, out, cap) == -AP_EOVERFLOW);
	EXPECT_U64(out[6], 0);
}

static void what_is_not_there_is_refused(void)
{
	static const u32 rows[][3] = {
		{ 48 << 16 | 1, 1, 0 },	      /* a sum's */
		{ 35 << 16 | 18 << 1, 1, 0 }, /* index 18 of 18 */
		{ 35 << 16 | 1, 1, 0 },	      /* 64 bits */
		{ 45 << 16, 1, 0 },	      /* nobody's */
		{ 0xffff0000, 1, 0 },
	};
	struct ap_vctr_control c;
	struct ap_x86ctr_sum sum;
	static const u32 cut[] = { 48 << 16 | 1, 1 };

	for (u32 i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		EXPECT(ap_ctr_decode(&ap_ctr_layout_control, rows[i], 3, &c) == -AP_EPROTO);
	EXPECT(ap_ctr_decode(&ap_ctr_layout_sum, cut, 2, &sum) == -AP_EPROTO);
	EXPECT(ap_ctr_decode(&ap_ctr_layout_sum, cut, 1, &sum) == -AP_EPROTO);
}

/* All that a structure holds comes through; what is encoded of noise decodes to the same. */
static void all_of_it_comes_through(void)
{
	static const struct {
		const struct ap_ctr_layout *layout;
		u32 size;
	} rows[] = {
		{ &ap_ctr_layout_info, 64 },	{ &ap_ctr_layout_control, 348 },
		{ &ap_ctr_layout_sum, 152 },	{ &ap_ctr_layout_gcontrol, 344 },
		{ &ap_ctr_layout_gstate, 496 },
	};
	u8 from[512], to[512];
	u32 words[400];

	for (u32 r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		s32 n;

		for (u32 i = 0; i < rows[r].size; i++)
			from[i] = (u8)(i * 7 + r + 1);
		n = ap_ctr_encode(rows[r].layout, from, words, 400);
		REQUIRE(n > 0);
		EXPECT(ap_ctr_decode(rows[r].layout, words, (u32)n, to) == 0);
		EXPECT(memcmp(from, to, rows[r].size) == 0);
	}
}

/* Any words: refused, or taken and encoded again to something that decodes to the same. */
static void noise_is_refused_or_kept(void)
{
	struct ap_vctr_control a, b;
	u32 in[12], out[400], seed = 88172645u, taken = 0;

	for (u32 round = 0; round < 20000; round++) {
		u32 n = round % 12 & (round % 5 ? ~1U : ~0U);
		s32 m;

		for (u32 i = 0; i < n; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 17;
			seed ^= seed << 5;
			in[i] = i % 2 ? seed : (32 + seed % 14) << 16 | (seed >> 8 & 15) << 1;
		}
		if (ap_ctr_decode(&ap_ctr_layout_control, in, n, &a))
			continue;
		taken++;
		m = ap_ctr_encode(&ap_ctr_layout_control, &a, out, 400);
		REQUIRE(m >= 0);
		EXPECT(ap_ctr_decode(&ap_ctr_layout_control, out, (u32)m, &b) == 0);
		EXPECT(memcmp(&a, &b, sizeof(a)) == 0);
	}
	EXPECT(taken > 1000);
}

static u32 next(u32 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* A word of a head, mostly one that some layout has. */
static u32 random_head(u32 *seed, u32 often)
{
	u32 tag = next(seed) % 2 ? often : next(seed) % 52, is64 = tag >= 48;
	u32 index = next(seed) % 2 ? 0 : next(seed) % 20;

	if (next(seed) % 16 == 0)
		return next(seed);
	if (next(seed) % 16 == 0)
		is64 ^= 1;
	return tag << 16 | index << 1 | is64;
}

/*
 * Of every layout, in memory of exactly its size, as a sanitizer wants to see it: words that are taken come
 * back, whatever room there is, and those that are not are EPROTO.
 */
static void every_layout_stands_noise(void)
{
	static const struct {
		const struct ap_ctr_layout *layout;
		u32 size, tag;
	} rows[] = {
		{ &ap_ctr_layout_info, 64, 1 },	    { &ap_ctr_layout_control, 348, 36 },
		{ &ap_ctr_layout_sum, 152, 49 },    { &ap_ctr_layout_gcontrol, 344, 15 },
		{ &ap_ctr_layout_gstate, 496, 49 }, { &ap_ctr_layout_gcpu, 496, 20 },
	};
	u32 seed = 2463534242u, taken[6] = { 0 };

	for (u32 round = 0; round < 120000; round++) {
		u32 r = round % 6, n = next(&seed) % 7, cap = next(&seed) % 16;
		u32 *in = malloc(n * 4UL + !n), *out = malloc(cap * 4UL + !cap);
		void *a = malloc(rows[r].size), *b = malloc(rows[r].size);
		s32 ret, m;

		REQUIRE(in && out && a && b);
		for (u32 i = 0; i < n; i++)
			in[i] = next(&seed) % 3 ? random_head(&seed, rows[r].tag) : next(&seed);
		ret = ap_ctr_decode(rows[r].layout, in, n, a);
		EXPECT(ret == 0 || ret == -AP_EPROTO);
		m = ret ? 0 : ap_ctr_encode(rows[r].layout, a, out, cap);
		EXPECT(m == -AP_EOVERFLOW || (m >= 0 && (u32)m <= cap));
		EXPECT(m >= 0 || cap < n); /* what was 0, or said twice, takes no room */
		if (!ret && m >= 0) {
			taken[r] += n > 0;
			EXPECT(ap_ctr_decode(rows[r].layout, out, (u32)m, b) == 0);
			EXPECT(memcmp(a, b, rows[r].size) == 0);
		}
		free(in);
		free(out);
		free(a);
		free(b);
	}
	for (u32 r = 0; r < 6; r++)
		EXPECT(taken[r] > 20);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(fields_that_are_0_do_not_travel),
		TAP(words_are_perfctrs),
		TAP(room_is_minded),
		TAP(what_is_not_there_is_refused),
		TAP(all_of_it_comes_through),
		TAP(noise_is_refused_or_kept),
		TAP(every_layout_stands_noise),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
