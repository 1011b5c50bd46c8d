/* SPDX-License-Identifier: MIT */
/*
 * Random instructions, the same in every run: uniform bytes hardly ever get past the one-byte
 * opcodes, so escapes and prefixes are dealt on purpose.
 */
#include "random.h"

#include <string.h>

static u64 state = 1;

void random_seed(u64 seed)
{
	state = seed;
}

u64 random_bits(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static const u8 prefixes[] = { 0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x2e, 0x36, 0x3e,
			       0x26, 0x64, 0x65, 0x40, 0x41, 0x44, 0x48, 0x4f };

/* Bytes that reach far: a few prefixes, an escape now and then, the rest random. */
void random_code(u8 code[16])
{
	u64 dice = random_bits(), a = random_bits(), b = random_bits();
	unsigned n = 0, count = dice % 11 < 5 ? 0 : dice % 11 - 5;

	memcpy(code, &a, 8);
	memcpy(code + 8, &b, 8);
	for (dice >>= 8; n < count; n++, dice >>= 4)
		code[n] = prefixes[dice & 15];
	switch (dice & 15) {
	case 0 ... 2:
		code[n] = 0x0f;
		break;
	case 3:
		code[n++] = 0x0f;
		code[n] = dice & 16 ? 0x38 : 0x3a;
		break;
	case 4:
	case 5:
		code[n++] = 0xc4;
		code[n] = (code[n] & 0xe0) | (dice >> 5 & 3);
		break;
	case 6:
		code[n] = 0xc5;
		break;
	case 7 ... 9:
		code[n++] = 0x62;
		code[n] = (code[n] & 0xf8) | (dice >> 5) % 7;
		code[n + 1] |= 4;
		break;
	case 10:
		code[n++] = 0x8f;
		code[n] = (code[n] & 0xe0) | (8 + (dice >> 5) % 3);
		break;
	default:
		break;
	}
}
