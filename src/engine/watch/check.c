/* SPDX-License-Identifier: MIT */
/*
 * The check before an instruction that accesses memory, where data is watched.  It leaves all
 * registers and flags as they were, and cannot fault: a signal steps over it.
 */
#include "engine/cache/lookup.h"
#include "engine/cache/unit.h"
#include "engine/runtime/engine.h"
#include "engine/translate/sb.h"
#include "engine/watch/data.h"

/* A check in the making: where it stands, and the rel32 of its ways out. */
struct check {
	u8 *at;
	u8 *out[AP_ACCESS_MAX];
	u32 n;
};

static struct check checks[AP_BLOCK_INSNS + 1]; /* of the block that is written; lock */
static u32 nchecks;

/* Does a general register file tell its address and size, in a form that lea can take? */
static bool is_plain(const struct ap_access *a)
{
	if (a->flags & (AP_ACCESS_VSIB | AP_ACCESS_OPEN | AP_ACCESS_LINE) || a->size > 64 ||
	    a->bits != AP_ACCESS_NONE || a->index == AP_ACCESS_AL || !ap_fits_s32(a->disp))
		return false;
	if (a->base == AP_ACCESS_RIP && a->seg != AP_SEG_NONE)
		return false;
	return a->seg != AP_SEG_FS || ap_proc.has_fsgsbase;
}

enum ap_check_kind ap_check_kind(const struct ap_insn *i, const u8 *code)
{
	struct ap_access list[AP_ACCESS_MAX];
	u32 n;

	if (i->kind == AP_I_IRET)
		return AP_CHECK_NONE; /* it is the dispatcher's anyway */
	n = ap_insn_accesses(i, code, list);
	if (n && i->flags & AP_INSN_REP)
		return AP_CHECK_ALONE;
	for (u32 k = 0; k < n; k++)
		if (!is_plain(&list[k]))
			return AP_CHECK_ALONE;
	return n ? AP_CHECK_INLINE : AP_CHECK_NONE;
}

static u64 map_of(const struct ap_access *a)
{
	return (u64)ap_low_maps() + (a->size > 8 ? AP_DATA_MAP : 0);
}

/* movzx ecx, byte [rcx + map] */
static void emit_look(struct ap_emit *e, u64 map)
{
	static const u8 movzx_ecx_rcx[3] = { 0x0f, 0xb6, 0x89 };
	static const u8 movzx_ecx_rcx_rdx[4] = { 0x0f, 0xb6, 0x0c, 0x11 };

	if (ap_likely(ap_fits_s32((s64)map))) {
		ap_emit_bytes(e, movzx_ecx_rcx, sizeof(movzx_ecx_rcx));
		ap_emit32(e, (u32)map);
		return;
	}
	ap_emit_gs_store(e, AP_RDX, AP_T_SPILL_RDX);
	ap_emit_mov_imm64(e, AP_RDX, map);
	ap_emit_bytes(e, movzx_ecx_rcx_rdx, sizeof(movzx_ecx_rcx_rdx));
	ap_emit_gs_load(e, AP_RDX, AP_T_SPILL_RDX);
}

/* movzx ecx, byte [at] */
static void emit_look_at(struct ap_emit *e, u64 at)
{
	static const u8 movzx_ecx_abs[4] = { 0x0f, 0xb6, 0x0c, 0x25 };
	static const u8 movzx_ecx_rcx[3] = { 0x0f, 0xb6, 0x09 };

	if (ap_likely(ap_fits_s32((s64)at))) {
		ap_emit_bytes(e, movzx_ecx_abs, sizeof(movzx_ecx_abs));
		ap_emit32(e, (u32)at);
		return;
	}
	ap_emit_mov_imm64(e, AP_RCX, at);
	ap_emit_bytes(e, movzx_ecx_rcx, sizeof(movzx_ecx_rcx));
}

/* lea rcx, [base + index << scale + disp] */
static void emit_lea(struct ap_emit *e, const struct ap_access *a)
{
	bool has_base = a->base != AP_ACCESS_NONE, has_index = a->index != AP_ACCESS_NONE;
	u8 base = has_base ? a->base : 5, index = has_index ? a->index : AP_RSP;

	ap_emit8(e, (u8)(0x48 | (has_base && base >= 8) | (has_index && index >= 8) << 1));
	ap_emit8(e, 0x8d);
	ap_emit8(e, (u8)((has_base ? 0x80 : 0) | AP_RCX << 3 | 4));
	ap_emit8(e, (u8)(a->scale << 6 | (index & 7) << 3 | (base & 7)));
	ap_emit32(e, (u32)a->disp);
}

/* rcx += the segment's base, through rdx */
static void emit_add_segment(struct ap_emit *e, u8 seg)
{
	static const u8 rdfsbase_rdx[5] = { 0xf3, 0x48, 0x0f, 0xae, 0xc2 };
	static const u8 lea_rcx_rdx[4] = { 0x48, 0x8d, 0x0c, 0x11 };

	ap_emit_gs_store(e, AP_RDX, AP_T_SPILL_RDX);
	if (seg == AP_SEG_FS)
		ap_emit_bytes(e, rdfsbase_rdx, sizeof(rdfsbase_rdx));
	else
		ap_emit_gs_load(e, AP_RDX, AP_T_APP_GS);
	ap_emit_bytes(e, lea_rcx_rdx, sizeof(lea_rcx_rdx));
	ap_emit_gs_load(e, AP_RDX, AP_T_SPILL_RDX);
}

/* The map's byte for one access into rcx; restore: rcx is not the program's any more. */
static void emit_load(struct ap_emit *e, const struct ap_sb_insn *in, const struct ap_access *a,
		      bool restore)
{
	static const u8 movzx_ecx_cx[3] = { 0x0f, 0xb7, 0xc9 };
	bool is_rip = a->base == AP_ACCESS_RIP;

	if (is_rip || (a->base == AP_ACCESS_NONE && a->index == AP_ACCESS_NONE && !a->seg)) {
		u64 at = (u64)a->disp + (is_rip ? in->pc + in->i.len : 0);

		emit_look_at(e, map_of(a) + (at & 0xffff));
		return;
	}
	if (restore)
		ap_emit_gs_load(e, AP_RCX, AP_T_SPILL_RCX);
	emit_lea(e, a);
	if (a->seg)
		emit_add_segment(e, a->seg);
	ap_emit_bytes(e, movzx_ecx_cx, sizeof(movzx_ecx_cx));
	emit_look(e, map_of(a));
}

void ap_check_begin(void)
{
	nchecks = 0;
}

void ap_check_before(struct ap_emit *e, const struct ap_sb_insn *in)
{
	static const u8 jrcxz_5[2] = { 0xe3, 5 };
	struct ap_access list[AP_ACCESS_MAX];
	struct check *c;

	if (ap_likely(!in->check))
		return;
	c = &checks[nchecks++];
	c->at = e->p;
	c->n = ap_insn_accesses(&in->i, in->bytes, list);
	ap_emit_gs_store(e, AP_RCX, AP_T_SPILL_RCX);
	for (u32 k = 0; k < c->n; k++) {
		emit_load(e, in, &list[k], k > 0);
		ap_emit_bytes(e, jrcxz_5, sizeof(jrcxz_5));
		c->out[k] = ap_emit_jmp32(e);
	}
	ap_emit_gs_load(e, AP_RCX, AP_T_SPILL_RCX);
}

/* The way out.  place: as in ap_thread.exit_id */
static void emit_out(struct ap_emit *e, const struct check *c, u32 place, const u8 *gate)
{
	static const u8 mov_gs[4] = { 0x65, 0xc7, 0x04, 0x25 }; /* mov dword gs:[] */
	const u8 *here = e->p;
	u8 *site;

	ap_emit_gs_load(e, AP_RCX, AP_T_SPILL_RCX);
	ap_emit_bytes(e, mov_gs, sizeof(mov_gs));
	ap_emit32(e, AP_T_EXIT_ID);
	ap_emit32(e, place);
	ap_emit_bytes(e, mov_gs, sizeof(mov_gs));
	ap_emit32(e, AP_T_EXIT_KIND);
	ap_emit32(e, AP_EXIT_DATA);
	site = ap_emit_jmp32(e);
	if (e->full)
		return;
	ap_patch_rel32(site, gate);
	for (u32 k = 0; k < c->n; k++)
		ap_patch_rel32(c->out[k], here);
}

void ap_check_end(struct ap_emit *e, const struct ap_unit *u)
{
	for (u32 k = 0; k < nchecks && !e->full; k++) {
		u32 off = (u32)(checks[k].at - u->base);

		emit_out(e, &checks[k], (u32)(u - ap_units) << AP_UNIT_OFF_BITS | off,
			 u->base + AP_UNIT_GATE);
	}
}
