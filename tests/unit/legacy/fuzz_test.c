/* SPDX-License-Identifier: MIT */
/* Bytes of chance through the translation, most of them nearly right: the rules are feed.c's. */
#include "feed.h"

#include <string.h>

#include "base/types.h"
#include "tap/tap.h"

#define TURNS 300000

static u64 seed;

static u64 chance(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void fill(u8 *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = (u8)(chance() >> 24);
}

static u32 nof[3];

static void count(enum fed fed, const char *what)
{
	nof[fed]++;
	if (fed == FED_WRONG)
		tap_note("%s of seed %llu", what, (unsigned long long)seed);
}

static void begin(u64 with)
{
	seed = with;
	memset(nof, 0, sizeof(nof));
}

static void turn(u8 *bytes, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		u8 other = bytes[n - 1 - i];

		bytes[n - 1 - i] = bytes[i];
		bytes[i] = other;
	}
}

/* An attr whose least bytes and bits come first, as this machine would have it. */
static void order(u8 *attr)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	static const u8 fields[][2] = { { 0, 8 },  { 8, 8 },  { 16, 4 }, { 20, 4 }, { 24, 8 },
					{ 32, 4 }, { 36, 4 }, { 40, 8 }, { 48, 8 } };

	for (u32 i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		turn(attr + fields[i][0], fields[i][1]);
	/* bit-fields begin at the other end */
	turn(attr + 24, 8);
	for (u32 i = 24; i < 32; i++) {
		u8 bits = 0;

		for (u32 bit = 0; bit < 8; bit++)
			bits |= (u8)((attr[i] >> bit & 1) << (7 - bit));
		attr[i] = bits;
	}
#else
	(void)turn, (void)attr;
#endif
}

/* Bits of each field now and then, so that both answers come often. */
static void attrs_are_refused_or_can_be_made_again(void)
{
	static const u8 ends[][2] = { { 0, 8 },	  { 8, 16 },  { 16, 17 }, { 20, 21 }, { 24, 26 },
				      { 36, 40 }, { 16, 24 }, { 24, 32 }, { 32, 36 }, { 40, 56 } };
	u8 attr[56];

	begin(1);
	for (u32 i = 0; i < TURNS; i++) {
		u64 which = chance();

		memset(attr, 0, sizeof(attr));
		for (u32 k = 0; k < 10; k++)
			if (which >> (3 * k) & 1 && (k < 6 || !(which >> (3 * k + 1) & 3)))
				fill(attr + ends[k][0], (size_t)(ends[k][1] - ends[k][0]));
		if (which >> 60 & 1)
			attr[16] &= 63;
		if (which >> 61 & 1)
			attr[20] &= 3;
		if (which >> 62 & 1)
			attr[25] &= 7;
		if (which >> 63)
			attr[7] = (u8)(chance() % 3), memset(attr + 1, 0, 6), attr[0] &= 15;
		order(attr);
		count(feed_attr(attr, sizeof(attr)), "attr");
	}
	EXPECT_U64(nof[FED_WRONG], 0);
	EXPECT(nof[FED_TAKEN] > TURNS / 10 && nof[FED_REFUSED] > TURNS / 10);
}

static void overflows_say_what_they_said(void)
{
	u8 bytes[160];

	begin(2);
	for (u32 i = 0; i < TURNS; i++) {
		fill(bytes, sizeof(bytes));
		count(feed_overflow(bytes, chance() % sizeof(bytes)), "overflow");
	}
	EXPECT_U64(nof[FED_TAKEN], TURNS);
}

static void other_bytes_do_no_harm(void)
{
	u8 bytes[160];

	begin(3);
	for (u32 i = 0; i < TURNS; i++) {
		size_t n = 2 + chance() % 20 * 8;
		u32 type = chance() & 1 ? 9 : (u32)chance() % 12;
		u16 size = (u16)(n - 2);

		memset(bytes, 0, sizeof(bytes));
		for (size_t at = 2; at < n; at += 8)
			bytes[at] = (u8)(chance() % 5);
		fill(bytes, 2);
		if (n >= 10 && chance() % 8) {
			memcpy(bytes + 2, &type, 4);
			memcpy(bytes + 8, &size, 2);
		}
		count(feed_record(bytes, n), "record");
		count(feed_read(bytes, n), "read");
	}
	EXPECT_U64(nof[FED_WRONG], 0);
	tap_note("%u taken, %u refused", nof[FED_TAKEN], nof[FED_REFUSED]);
	EXPECT(nof[FED_TAKEN] > TURNS / 20 && nof[FED_REFUSED] > TURNS / 10);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(attrs_are_refused_or_can_be_made_again),
						 TAP(overflows_say_what_they_said),
						 TAP(other_bytes_do_no_harm),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
