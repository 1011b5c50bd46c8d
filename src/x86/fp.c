/* SPDX-License-Identifier: MIT */
/*
 * Floating-point classes by opcode.  The decoder's tables leave them out: only a session that
 * counts such events asks, and a few dozen opcodes in regular rows need no table.
 *
 * Left out as the event leaves them out: x87, conversions, comparisons, rounding, moves, half
 * precision (it has events of its own) and the approximations of AVX-512ER.
 */
#include "x86/fp.h"

#define PP_NONE 0
#define PP_66	1
#define PP_F3	2
#define PP_F2	3

#define MAP_0F	 1
#define MAP_0F38 2
#define MAP_0F3A 3

/* What the prefixes say beyond struct ap_insn. */
struct fp_form {
	u8 pp;
	u8 len;	   /* 0, 1, 2: 128, 256, 512 bits */
	bool wide; /* VEX.W, EVEX.W, REX.W */
};

static u8 legacy_pp(const struct ap_insn *insn, const u8 *code)
{
	u8 pp = insn->flags & AP_INSN_OPSIZE ? PP_66 : PP_NONE;

	for (u32 n = 0; n < insn->nprefix; n++)
		if (code[n] == 0xf2 || code[n] == 0xf3)
			pp = code[n] == 0xf2 ? PP_F2 : PP_F3;
	return pp;
}

/* The VEX or EVEX bytes end right before the opcode. */
static struct fp_form form_of(const struct ap_insn *insn, const u8 *code)
{
	const u8 *end = code + insn->opcode_off;
	struct fp_form f = { .wide = insn->rex & 8 };

	if (insn->flags & AP_INSN_EVEX) {
		bool rounds = end[-1] & 0x10 && insn->modrm >= 0xc0;

		f.pp = end[-2] & 3;
		f.wide = end[-2] & 0x80;
		f.len = rounds ? 2 : end[-1] >> 5 & 3;
	} else if (insn->flags & AP_INSN_VEX) {
		f.pp = end[-1] & 3;
		f.len = end[-1] >> 2 & 1;
		f.wide = end[-1] & 0x80 && !(insn->map == MAP_0F && end[-2] == 0xc5);
	} else {
		f.pp = legacy_pp(insn, code);
	}
	return f;
}

static struct ap_fp scalar(bool is_double, u8 count)
{
	return (struct ap_fp){ count, is_double ? AP_FP_SCALAR_DOUBLE : AP_FP_SCALAR_SINGLE };
}

static struct ap_fp packed(const struct fp_form *f, bool is_double, u8 count)
{
	u8 class = AP_FP_128_DOUBLE + 2 * f->len + !is_double;

	return (struct ap_fp){ count, class };
}

static struct ap_fp of_map_0f(const struct ap_insn *insn, const struct fp_form *f)
{
	static const struct ap_fp none;

	switch (insn->opcode) {
	case 0x51: /* sqrt */
	case 0x58: /* add */
	case 0x59: /* mul */
	case 0x5c: /* sub */
	case 0x5d: /* min */
	case 0x5e: /* div */
	case 0x5f: /* max */
		if (f->pp == PP_F3 || f->pp == PP_F2)
			return scalar(f->pp == PP_F2, 1);
		return packed(f, f->pp == PP_66, 1);
	case 0x52: /* rsqrt */
	case 0x53: /* rcp */
		return f->pp == PP_F3 ? scalar(false, 1) : packed(f, false, 1);
	case 0x7c: /* hadd */
	case 0x7d: /* hsub */
	case 0xd0: /* addsub */
		if (insn->flags & AP_INSN_EVEX || (f->pp != PP_66 && f->pp != PP_F2))
			return none;
		return packed(f, f->pp == PP_66, 1);
	default:
		return none;
	}
}

static struct ap_fp of_map_0f38(const struct ap_insn *insn, const struct fp_form *f)
{
	static const struct ap_fp none;
	u8 low = insn->opcode & 15, high = insn->opcode >> 4;

	if (f->pp != PP_66 || !(insn->flags & (AP_INSN_VEX | AP_INSN_EVEX)))
		return none;
	if ((high == 9 || high == 10 || high == 11) && low >= 6)
		return low < 8 || !(low & 1) ? packed(f, f->wide, 2) : scalar(f->wide, 2);
	if (insn->flags & AP_INSN_EVEX && high == 4 && low >= 12) /* rcp14, rsqrt14 */
		return low & 1 ? scalar(f->wide, 1) : packed(f, f->wide, 1);
	return none;
}

static struct ap_fp of_map_0f3a(const struct ap_insn *insn, const struct fp_form *f)
{
	static const struct ap_fp none;
	u8 low = insn->opcode & 15, high = insn->opcode >> 4;
	bool is_vex = insn->flags & AP_INSN_VEX;

	if (f->pp != PP_66 || insn->flags & AP_INSN_EVEX)
		return none;
	if (insn->opcode == 0x40 || insn->opcode == 0x41) /* dpps, dppd */
		return packed(f, insn->opcode == 0x41, 2);
	if (!is_vex)
		return none;
	/* FMA4, ps and pd, then ss and sd */
	if (high == 5 && low >= 12)
		return packed(f, low & 1, 2);
	if ((high == 6 || high == 7) && low >= 8)
		return low & 2 ? scalar(low & 1, 2) : packed(f, low & 1, 2);
	return none;
}

struct ap_fp ap_insn_fp(const struct ap_insn *insn, const u8 *code)
{
	static const struct ap_fp none;
	struct fp_form f;

	if (insn->map < MAP_0F || insn->map > MAP_0F3A || insn->kind != AP_I_OTHER)
		return none;
	f = form_of(insn, code);
	if (insn->map == MAP_0F)
		return of_map_0f(insn, &f);
	return insn->map == MAP_0F38 ? of_map_0f38(insn, &f) : of_map_0f3a(insn, &f);
}
