/* SPDX-License-Identifier: MIT */
/*
 * Floating-point classes against Zydis: the whole opcode space of the maps that hold them, each
 * instruction classed from Zydis' mnemonic, which says what it computes.
 */
/* LIBS: -lZydis */
#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "tap/tap.h"
#include "x86/fp.h"

static const ZydisDecoder *decoder(void)
{
	static ZydisDecoder dec;
	static bool ready;

	if (!ready)
		ZydisDecoderInit(&dec, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ready = true;
	return &dec;
}

/* Mnemonics without v and without the type at the end. */
static unsigned count_of(const char *stem)
{
	static const char *const once[] = { "add",     "sub",  "mul",  "div",	"min",
					    "max",     "sqrt", "rcp",  "rcp14", "rsqrt",
					    "rsqrt14", "hadd", "hsub", "addsub" };

	for (unsigned n = 0; n < sizeof(once) / sizeof(once[0]); n++)
		if (!strcmp(stem, once[n]))
			return 1;
	if (!strcmp(stem, "dp"))
		return 2;
	if (!strncmp(stem, "fmadd", 5) || !strncmp(stem, "fmsub", 5) ||
	    !strncmp(stem, "fnmadd", 6) || !strncmp(stem, "fnmsub", 6))
		return 2;
	return 0;
}

static struct ap_fp expected(const ZydisDecodedInstruction *i)
{
	static const struct ap_fp none;
	const char *name = ZydisMnemonicGetString(i->mnemonic);
	char stem[64], type[3];
	struct ap_fp fp;
	size_t len;
	bool scalar;

	snprintf(stem, sizeof(stem), "%s", name + (name[0] == 'v'));
	len = strlen(stem);
	if (len < 4)
		return none;
	memcpy(type, stem + len - 2, 3);
	if ((type[0] != 'p' && type[0] != 's') || (type[1] != 's' && type[1] != 'd'))
		return none;
	if (i->meta.category == ZYDIS_CATEGORY_PCLMULQDQ)
		return none;
	stem[len - 2] = 0;
	if (!strncmp(stem, "4f", 2))
		return none;
	fp.count = (u8)count_of(stem);
	if (!fp.count)
		return none;
	scalar = type[0] == 's';
	if (scalar) {
		fp.class = type[1] == 'd' ? AP_FP_SCALAR_DOUBLE : AP_FP_SCALAR_SINGLE;
	} else {
		unsigned bits = i->avx.vector_length ? i->avx.vector_length : 128;

		fp.class = (u8)((bits == 128   ? AP_FP_128_DOUBLE
				 : bits == 256 ? AP_FP_256_DOUBLE
					       : AP_FP_512_DOUBLE) +
				(type[1] == 's'));
	}
	return fp;
}

static unsigned long checked, counted, wrong;

static void check(const u8 *code)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	struct ap_insn insn;
	struct ap_fp want, got;

	if (ZYAN_FAILED(ZydisDecoderDecodeFull(decoder(), code, 15, &i, op)) ||
	    ap_insn_decode(&insn, code, 15))
		return;
	checked++;
	want = expected(&i);
	got = ap_insn_fp(&insn, code);
	counted += want.count != 0;
	if (want.count == got.count && (!want.count || want.class == got.class))
		return;
	if (wrong++ < 20)
		tap_note("%s (%02x %02x %02x %02x %02x): ours %u of class %u, expected %u of %u",
			 ZydisMnemonicGetString(i.mnemonic), code[0], code[1], code[2], code[3],
			 code[4], got.count, got.class, want.count, want.class);
}

static void both_forms(u8 *code, unsigned n)
{
	static const u8 modrm[] = { 0xca, 0x0a };

	for (unsigned k = 0; k < 2; k++) {
		memset(code + n, 0, 15 - n);
		code[n] = modrm[k];
		check(code);
	}
}

static void expect_agreement(void)
{
	tap_note("%lu checked, %lu counted", checked, counted);
	EXPECT_U64(wrong, 0);
	EXPECT(counted > 20);
	checked = counted = wrong = 0;
}

static void agrees_on_legacy_forms(void)
{
	static const u8 before[] = { 0, 0x66, 0xf2, 0xf3 };
	static const u8 maps[] = { 0, 0x38, 0x3a };
	u8 code[16];

	for (unsigned b = 0; b < 4; b++)
		for (unsigned c = 0; c < 4; c++)
			for (unsigned rex = 0; rex < 2; rex++)
				for (unsigned m = 0; m < 3; m++)
					for (unsigned opcode = 0; opcode < 256; opcode++) {
						unsigned n = 0;

						if (before[b])
							code[n++] = before[b];
						if (before[c])
							code[n++] = before[c];
						if (rex)
							code[n++] = 0x48;
						code[n++] = 0x0f;
						if (maps[m])
							code[n++] = maps[m];
						code[n++] = (u8)opcode;
						both_forms(code, n);
					}
	expect_agreement();
}

static void agrees_on_vex_forms(void)
{
	u8 code[16];

	for (unsigned map = 1; map < 4; map++)
		for (unsigned third = 0; third < 256; third++)
			for (unsigned opcode = 0; opcode < 256; opcode++) {
				code[0] = 0xc4;
				code[1] = (u8)(0xe0 | map);
				code[2] = (u8)third;
				code[3] = (u8)opcode;
				both_forms(code, 4);
			}
	for (unsigned second = 0; second < 256; second++)
		for (unsigned opcode = 0; opcode < 256; opcode++) {
			code[0] = 0xc5;
			code[1] = (u8)second;
			code[2] = (u8)opcode;
			both_forms(code, 3);
		}
	expect_agreement();
}

static void agrees_on_evex_forms(void)
{
	u8 code[16] = { 0x62 };

	for (unsigned map = 1; map < 4; map++)
		for (unsigned wpp = 0; wpp < 8; wpp++)
			for (unsigned last = 0; last < 8; last++)
				for (unsigned opcode = 0; opcode < 256; opcode++) {
					code[1] = (u8)(0xf0 | map);
					code[2] = (u8)((wpp & 4) << 5 | 0x78 | 4 | (wpp & 3));
					code[3] = (u8)(last << 4 | 0x08);
					code[4] = (u8)opcode;
					both_forms(code, 5);
				}
	expect_agreement();
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(agrees_on_legacy_forms),
		TAP(agrees_on_vex_forms),
		TAP(agrees_on_evex_forms),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
