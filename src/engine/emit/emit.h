/* SPDX-License-Identifier: MIT */
/*
 * Writing machine code: a cursor with a limit, and the few instructions that the engine adds to
 * the program's own.  Nothing here touches flags unless its name says so.
 */
#ifndef AP_ENGINE_EMIT_H
#define AP_ENGINE_EMIT_H

#include "base/mem.h"
#include "base/types.h"
#include "engine/emit/offsets.h"

struct ap_emit {
	u8 *p;
	u8 *end; /* writing stops here and full is set */
	bool full;
};

enum { AP_RAX, AP_RCX, AP_RDX, AP_RBX, AP_RSP, AP_RBP, AP_RSI, AP_RDI, AP_R8 };

static inline void ap_emit_bytes(struct ap_emit *e, const void *src, u32 n)
{
	if (e->p + n > e->end) {
		e->full = true;
		return;
	}
	__builtin_memcpy(e->p, src, n); /* inline where n is a constant */
	e->p += n;
}

/* An instruction's own bytes: src has 16 readable ones. */
static inline void ap_emit_insn(struct ap_emit *e, const u8 src[16], u32 len)
{
	if (e->p + 16 > e->end) {
		e->full = true;
		return;
	}
	__builtin_memcpy(e->p, src, 16);
	e->p += len;
}

static inline void ap_emit8(struct ap_emit *e, u8 v)
{
	if (e->p >= e->end) {
		e->full = true;
		return;
	}
	*e->p++ = v;
}

static inline void ap_emit32(struct ap_emit *e, u32 v)
{
	ap_emit_bytes(e, &v, 4);
}

static inline void ap_emit64(struct ap_emit *e, u64 v)
{
	ap_emit_bytes(e, &v, 8);
}

/* 65 REX.W op /reg [disp32]: op 89 stores, 8b loads a 64-bit register at gs:disp. */
static inline void ap_emit_gs(struct ap_emit *e, u8 op, u8 reg, u32 disp)
{
	const u8 b[5] = { 0x65, (u8)(0x48 | (reg >= 8 ? 4 : 0)), op, (u8)(0x04 | ((reg & 7) << 3)),
			  0x25 };

	ap_emit_bytes(e, b, 5);
	ap_emit32(e, disp);
}

static inline void ap_emit_gs_store(struct ap_emit *e, u8 reg, u32 disp)
{
	ap_emit_gs(e, 0x89, reg, disp);
}

static inline void ap_emit_gs_load(struct ap_emit *e, u8 reg, u32 disp)
{
	ap_emit_gs(e, 0x8b, reg, disp);
}

static inline void ap_emit_mov_imm64(struct ap_emit *e, u8 reg, u64 v)
{
	if (v <= 0x7fffffff) { /* zero-extending mov r32, imm32 */
		if (reg >= 8)
			ap_emit8(e, 0x41);
		ap_emit8(e, (u8)(0xb8 | (reg & 7)));
		ap_emit32(e, (u32)v);
		return;
	}
	ap_emit8(e, (u8)(0x48 | (reg >= 8 ? 1 : 0)));
	ap_emit8(e, (u8)(0xb8 | (reg & 7)));
	ap_emit64(e, v);
}

/* OP qword gs:[disp], by: modrm has the OP, which is one of add, or, ..., sub, xor, cmp */
static inline void ap_emit_gs_group1(struct ap_emit *e, u8 modrm, u32 disp, u32 by)
{
	const u8 b[5] = { 0x65, 0x48, by < 128 ? 0x83 : 0x81, modrm, 0x25 };

	ap_emit_bytes(e, b, 5);
	ap_emit32(e, disp);
	if (by < 128)
		ap_emit8(e, (u8)by);
	else
		ap_emit32(e, by);
}

/* add qword gs:[disp], by: clobbers the status flags */
static inline void ap_emit_gs_add_flags(struct ap_emit *e, u32 disp, u32 by)
{
	if (by == 1) { /* inc, a byte shorter */
		ap_emit_bytes(e, (const u8[]){ 0x65, 0x48, 0xff, 0x04, 0x25 }, 5);
		ap_emit32(e, disp);
		return;
	}
	ap_emit_gs_group1(e, 0x04, disp, by);
}

/* lea reg, [reg + by] for reg < 8, not rsp */
static inline void ap_emit_lea_add(struct ap_emit *e, u8 reg, u32 by)
{
	const u8 b[3] = { 0x48, 0x8d, (u8)((by < 128 ? 0x40 : 0x80) | (reg << 3) | reg) };

	ap_emit_bytes(e, b, 3);
	if (by < 128)
		ap_emit8(e, (u8)by);
	else
		ap_emit32(e, by);
}

static inline u8 *ap_emit_jmp32(struct ap_emit *e) /* returns the rel32's address */
{
	ap_emit8(e, 0xe9);
	ap_emit32(e, 0);
	return e->p - 4;
}

static inline u8 *ap_emit_jcc32(struct ap_emit *e, u8 cond)
{
	ap_emit8(e, 0x0f);
	ap_emit8(e, (u8)(0x80 | cond));
	ap_emit32(e, 0);
	return e->p - 4;
}

static inline void ap_emit_nops(struct ap_emit *e, u32 n)
{
	static const u8 nops[8][8] = {
		{ 0x90 },
		{ 0x66, 0x90 },
		{ 0x0f, 0x1f, 0x00 },
		{ 0x0f, 0x1f, 0x40, 0x00 },
		{ 0x0f, 0x1f, 0x44, 0x00, 0x00 },
		{ 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00 },
		{ 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00 },
		{ 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
	};

	while (n > 0) {
		u32 k = n > 8 ? 8 : n;

		ap_emit_bytes(e, nops[k - 1], k);
		n -= k;
	}
}

/*
 * Pads so that a 4-byte field `skip` bytes ahead lies within an aligned quadword: it will be patched by one store
 * while other threads execute it, and no more than a quadword is sure to be fetched whole.  Kept within a
 * cache line only, links across its middle, three bytes and one, were seen with the high byte new and the rest old.
 */
static inline void ap_emit_align_rel32(struct ap_emit *e, u32 skip)
{
	u64 at = ((u64)e->p + skip) & 7;

	if (at > 4)
		ap_emit_nops(e, (u32)(8 - at));
}

static inline void ap_emit_align(struct ap_emit *e, u32 align)
{
	ap_emit_nops(e, (u32)(-(u64)e->p & (align - 1)));
}

static inline bool ap_fits_s32(s64 v)
{
	return v == (s32)v;
}

static inline void ap_patch_rel32(u8 *site, const u8 *target)
{
	s32 rel = (s32)(target - (site + 4));

	__atomic_store_n((s32 *)site, rel, __ATOMIC_RELEASE);
}

#endif
