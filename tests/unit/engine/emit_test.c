/* SPDX-License-Identifier: MIT */
/* Links that are patched while others run through them: wherever code ends, the next one lies in one quadword. */
#include "engine/emit/emit.h"

#include "tap/tap.h"

#define LINE 64

static u8 code[3 * LINE] __attribute__((aligned(LINE)));

static bool is_in_quadword(const u8 *site)
{
	return (u64)site / 8 == ((u64)site + 3) / 8;
}

static void jumps_lie_in_a_quadword(void)
{
	for (u32 at = 0; at < LINE; at++) {
		struct ap_emit e = { code + at, code + sizeof(code), false };
		u8 *site;

		ap_emit_align_rel32(&e, 1);
		EXPECT(e.p < code + at + 4); /* by as little as it takes */
		site = ap_emit_jmp32(&e);
		EXPECT(is_in_quadword(site));
		EXPECT_U64(site[-1], 0xe9);
	}
}

static void conditional_jumps_as_well(void)
{
	for (u32 at = 0; at < LINE; at++) {
		struct ap_emit e = { code + at, code + sizeof(code), false };
		u8 *site;

		ap_emit_align_rel32(&e, 2);
		EXPECT(e.p < code + at + 4);
		site = ap_emit_jcc32(&e, 4);
		EXPECT(is_in_quadword(site));
		EXPECT_U64(site[-1], 0x84);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(jumps_lie_in_a_quadword),
						 TAP(conditional_jumps_as_well),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
