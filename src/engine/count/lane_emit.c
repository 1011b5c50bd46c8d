/* SPDX-License-Identifier: MIT */
/*
 * The code that takes budgets down.  With the status flags free it is sub and js; else it goes through
 * a register that the caller has spilled, and the sign, read back from memory, is turned into a zero for jrcxz.
 */
#include "engine/count/lane.h"

#define JS 8

static u32 word; /* lock */

/* Neighbours in the code have different ones. */
u32 ap_lane_next_word(bool tests)
{
	static u32 next;

	word = tests ? next++ % AP_LANE_WORDS : 0;
	return word;
}

void ap_lane_use_word(u32 w)
{
	word = w;
}

static u32 disp_of(u32 lane)
{
	return (u32)(AP_T_SLOT_OFF + offsetof(struct ap_slot, budget) +
		     (lane * AP_LANE_WORDS + word) * 8ULL);
}

/* sub qword gs:[disp], by */
static void emit_sub(struct ap_emit *e, u32 disp, u32 by)
{
	ap_emit_gs_group1(e, 0x2c, disp, by);
}

/* lea reg, [reg - by] for reg < 8, not rsp */
static void emit_lea_sub(struct ap_emit *e, u8 reg, u32 by)
{
	const u8 b[3] = { 0x48, 0x8d, (u8)((by <= 128 ? 0x40 : 0x80) | reg << 3 | reg) };

	ap_emit_bytes(e, b, 3);
	if (by <= 128)
		ap_emit8(e, (u8)-by);
	else
		ap_emit32(e, (u32)-by);
}

static void note(struct ap_lane_jumps *jumps, u32 lane, u8 *site)
{
	jumps->lane[jumps->n] = (u8)lane;
	jumps->site[jumps->n++] = site;
}

static void emit_take(struct ap_emit *e, u32 disp, u32 by, u8 reg)
{
	ap_emit_gs_load(e, reg, disp);
	emit_lea_sub(e, reg, by);
	ap_emit_gs_store(e, reg, disp);
}

/* movsx reg, byte gs:[disp + 7]: all ones where the budget there is used up, else 0 */
static void emit_sign(struct ap_emit *e, u8 reg, u32 disp)
{
	ap_emit_bytes(e, (const u8[]){ 0x65, 0x48, 0x0f, 0xbe, (u8)(0x04 | reg << 3), 0x25 }, 6);
	ap_emit32(e, disp + 7);
}

static u8 *emit_sign_test(struct ap_emit *e, u32 disp)
{
	emit_sign(e, AP_RCX, disp);
	ap_emit_bytes(e, (const u8[]){ 0xe3, 5 }, 2); /* jrcxz over the jmp */
	return ap_emit_jmp32(e);
}

/* The same for a way out that is near. */
static u8 *emit_near_test(struct ap_emit *e, u32 disp)
{
	static const u8 test[] = {
		0x8d, 0x49, 1, /* lea ecx, [rcx + 1] */
		0xe3, 0,       /* jrcxz out */
	};

	emit_sign(e, AP_RCX, disp);
	ap_emit_bytes(e, test, sizeof(test));
	return e->p - 1;
}

void ap_lane_patch_near(struct ap_emit *e, const struct ap_lane_jumps *jumps)
{
	if (!e->full)
		*jumps->near = (u8)(e->p - (jumps->near + 1));
}

void ap_lane_emit_flags(struct ap_emit *e, const struct ap_vec *vec, struct ap_lane_jumps *jumps)
{
	for (u32 k = 0; k < ap_proc.nlanes; k++) {
		u32 by = ap_lane_count(vec, ap_proc.lanes[k]);

		if (!by)
			continue;
		emit_sub(e, disp_of(k), by);
		if (jumps)
			note(jumps, k, ap_emit_jcc32(e, JS));
	}
}

void ap_lane_emit_rcx(struct ap_emit *e, const struct ap_vec *vec, struct ap_lane_jumps *jumps)
{
	for (u32 k = 0; k < ap_proc.nlanes; k++) {
		u32 by = ap_lane_count(vec, ap_proc.lanes[k]);

		if (!by)
			continue;
		emit_take(e, disp_of(k), by, AP_RCX);
		if (jumps && jumps->wants_near && !ap_lane_has_rest(vec, k))
			jumps->near = emit_near_test(e, disp_of(k));
		else if (jumps)
			note(jumps, k, emit_sign_test(e, disp_of(k)));
	}
}

/* rdx is free, and rcx has what has to be kept. */
static u8 *emit_sign_test_rdx(struct ap_emit *e, u32 disp)
{
	static const u8 test[] = {
		0x48, 0x87, 0xca, /* xchg rdx, rcx */
		0xe3, 8,	  /* jrcxz over the next two */
		0x48, 0x87, 0xca, /* xchg rdx, rcx */
	};
	u8 *site;

	emit_sign(e, AP_RDX, disp);
	ap_emit_bytes(e, test, sizeof(test));
	site = ap_emit_jmp32(e);
	ap_emit_bytes(e, test, 3);
	return site;
}

void ap_lane_emit_rdx(struct ap_emit *e, const struct ap_vec *vec, struct ap_lane_jumps *jumps)
{
	for (u32 k = 0; k < ap_proc.nlanes; k++) {
		u32 by = ap_lane_count(vec, ap_proc.lanes[k]);

		if (!by)
			continue;
		emit_take(e, disp_of(k), by, AP_RDX);
		if (!jumps)
			continue;
		jumps->in_rdx = !ap_lane_has_rest(vec, k);
		if (jumps->in_rdx)
			emit_sign(e, AP_RDX, disp_of(k));
		else
			note(jumps, k, emit_sign_test_rdx(e, disp_of(k)));
	}
}

bool ap_lane_has_rest(const struct ap_vec *vec, u32 lane)
{
	for (u32 k = lane + 1; k < ap_proc.nlanes; k++)
		if (ap_lane_count(vec, ap_proc.lanes[k]))
			return true;
	return false;
}

void ap_lane_emit_rest_flags(struct ap_emit *e, const struct ap_vec *vec, u32 lane)
{
	for (u32 k = lane + 1; k < ap_proc.nlanes; k++) {
		u32 by = ap_lane_count(vec, ap_proc.lanes[k]);

		if (by)
			emit_sub(e, disp_of(k), by);
	}
}

void ap_lane_emit_rest_reg(struct ap_emit *e, const struct ap_vec *vec, u32 lane, u8 reg)
{
	for (u32 k = lane + 1; k < ap_proc.nlanes; k++) {
		u32 by = ap_lane_count(vec, ap_proc.lanes[k]);

		if (by)
			emit_take(e, disp_of(k), by, reg);
	}
}

void ap_lane_emit_reg(struct ap_emit *e, const struct ap_vec *vec, u8 reg)
{
	ap_lane_emit_rest_reg(e, vec, ~0U, reg);
}
