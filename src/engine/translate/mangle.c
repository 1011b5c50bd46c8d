/* SPDX-License-Identifier: MIT */
/*
 * Instructions that cannot be copied as they are: RIP-relative operands out of reach, %gs operands
 * (the engine owns the real %gs base), and transfers of control.
 *
 * Rule for every sequence here: at most one instruction of it can fault, and when it does the only
 * register that is not the program's is ap_mangle_scratch() in spill_a (OTHER) or rcx in spill_rcx
 * (indirect transfers); ap_cache_fix_regs relies on it.
 */
#include "engine/cache/lookup.h"
#include "engine/cache/unit.h"
#include "engine/count/lane.h"
#include "engine/emit/fix.h"
#include "engine/runtime/engine.h"
#include "engine/translate/sb.h"

#define OP_OFF(i) ((i)->modrm_off - 1)

/* A register that the instruction does not use, encodable as a plain [reg] base. */
u8 ap_mangle_scratch(const struct ap_insn *i)
{
	static const u8 order[] = { AP_RAX, AP_RCX, AP_RDX, AP_RBX, AP_RSI, AP_RDI };
	u16 used = i->gpr_read | i->gpr_write;

	for (u32 k = 0; k < sizeof(order); k++)
		if (!(used >> order[k] & 1))
			return order[k];
	return AP_RDI; /* no instruction names six of them and memory */
}

/* A second one, for the base of %gs. */
static u8 scratch2(const struct ap_insn *i)
{
	static const u8 order[] = { AP_RDI, AP_RSI, AP_RBX, AP_RDX, AP_RCX, AP_RAX };
	u16 used = (u16)(i->gpr_read | i->gpr_write | 1U << ap_mangle_scratch(i));

	for (u32 k = 0; k < sizeof(order); k++)
		if (!(used >> order[k] & 1))
			return order[k];
	return AP_RSI;
}

static bool is_moffs(const struct ap_insn *i)
{
	return i->map == 0 && i->opcode >= 0xa0 && i->opcode <= 0xa3;
}

bool ap_mangle_supported(const struct ap_insn *i, const u8 *bytes)
{
	bool branch = i->kind >= AP_I_JCC && i->kind <= AP_I_RET;

	if (i->kind == AP_I_FAR)
		return false;
	if (i->kind == AP_I_INT && i->opcode == 0xcd && bytes[i->opcode_off + 1] == 0x80)
		return false; /* 32-bit system calls from 64-bit code */
	/* AMD truncates the target of a 16-bit near branch, Intel ignores the prefix. */
	if (branch && (i->flags & AP_INSN_OPSIZE) && !(i->rex & 8))
		return false;
	if ((i->flags & AP_INSN_MOV_SEG) && !(i->map == 0 && i->opcode == 0x8c))
		return false; /* loads a selector into %gs */
	if (i->seg != AP_SEG_GS)
		return true;
	if (i->flags & AP_INSN_VSIB)
		return false;
	/* string operations with 32-bit addresses and gs */
	return i->flags & AP_INSN_HAS_MODRM || is_moffs(i) || !(i->flags & AP_INSN_ADDR32);
}

/*
 * The base holds the whole address, so a gs override and the address size go.  So does a REX byte before another
 * prefix: the CPU ignores it there, and would obey it behind the last one.
 */
static bool is_dropped(const struct ap_sb_insn *in, u32 k)
{
	u8 b = in->bytes[k];

	return k < in->i.nprefix && (b == 0x65 || b == 0x67 || (b & 0xf0) == 0x40);
}

/*
 * The instruction with its ModRM memory operand replaced by [base], base < 8 and not rsp or rbp:
 * same prefixes (less a gs override), same opcode and reg field, no SIB, no displacement.
 */
static void emit_rebased(struct ap_emit *e, const struct ap_sb_insn *in, u8 base)
{
	const struct ap_insn *i = &in->i;
	u32 tail = (u32)(i->modrm_off + 1 + (i->flags & AP_INSN_HAS_SIB ? 1 : 0) + i->disp_size);

	for (u32 k = 0; k < i->modrm_off; k++) {
		u8 b = in->bytes[k];

		if (is_dropped(in, k))
			continue;
		if (i->rex && k == i->nprefix)
			b &= (u8)~3; /* X and B belonged to the operand */
		else if (i->flags & AP_INSN_VEX && in->bytes[i->nprefix] != 0xc5 &&
			 k == i->nprefix + 1U)
			b |= 0x60; /* inverted X, B of c4 and 8f forms */
		else if (i->flags & AP_INSN_EVEX && k == i->nprefix + 1U)
			b |= 0x60;
		ap_emit8(e, b);
	}
	ap_emit8(e, (u8)((i->modrm & 0x38) | base));
	ap_emit_bytes(e, in->bytes + tail, i->len - tail);
}

/* Bits 3 of the operand's base and index registers, wherever they are encoded: 1 B, 2 X. */
static u8 operand_xb(const struct ap_sb_insn *in)
{
	const struct ap_insn *i = &in->i;
	u8 lead = in->bytes[i->nprefix];

	if (i->rex)
		return i->rex & 3;
	if ((i->flags & AP_INSN_VEX && lead != 0xc5) || (i->flags & AP_INSN_EVEX))
		return (u8)((~in->bytes[i->nprefix + 1] >> 5) & 3);
	return 0;
}

/* disp8 of EVEX memory operands is scaled: the full displacement is in i->disp only unscaled. */
static s32 operand_disp(const struct ap_insn *i)
{
	return (s32)i->disp;
}

/* lea reg, [the instruction's operand] without segment; RIP-relative ones become constants. */
static void emit_lea_operand(struct ap_emit *e, const struct ap_sb_insn *in, u8 reg)
{
	const struct ap_insn *i = &in->i;
	u8 mod = i->modrm >> 6, rm = i->modrm & 7;

	if (i->flags & AP_INSN_RIP_REL) {
		u64 ea = in->pc + i->len + (u64)i->disp;

		ap_fix_refuse();
		ap_emit_mov_imm64(e, reg, i->flags & AP_INSN_ADDR32 ? (u32)ea : ea);
		return;
	}
	if (i->flags & AP_INSN_ADDR32)
		ap_emit8(e, 0x67);
	ap_emit8(e, (u8)(0x48 | operand_xb(in)));
	ap_emit8(e, 0x8d);
	if (i->disp_size && mod == 1)
		mod = 2;
	ap_emit8(e, (u8)(mod << 6 | reg << 3 | rm));
	if (i->flags & AP_INSN_HAS_SIB)
		ap_emit8(e, i->sib);
	if (i->disp_size)
		ap_emit32(e, (u32)operand_disp(i));
}

/* reg += the program's gs base, through other, which is kept. */
static void emit_add_gs_base(struct ap_emit *e, u8 reg, u8 other)
{
	const u8 lea_sum[4] = { 0x48, 0x8d, (u8)(0x04 | reg << 3), (u8)(other << 3 | reg) };

	ap_emit_gs_store(e, other, AP_T_SPILL_B);
	ap_emit_gs_load(e, other, AP_T_APP_GS);
	ap_emit_bytes(e, lea_sum, 4);
	ap_emit_gs_load(e, other, AP_T_SPILL_B);
}

/* The instruction's bytes up to the opcode, less those that is_dropped() names. */
static void emit_prefixes(struct ap_emit *e, const struct ap_sb_insn *in)
{
	for (u32 k = 0; k < in->i.opcode_off; k++)
		if (!is_dropped(in, k))
			ap_emit8(e, in->bytes[k]);
}

/*
 * lods, movs, cmps, outs, xlat with a gs override: the base is added to the address register for
 * the instruction and taken off again; not and lea leave the flags alone.
 */
static void mangle_gs_string(struct ap_emit *e, const struct ap_sb_insn *in)
{
	u8 addr = ap_mangle_gs_string_reg(&in->i), r = AP_RDX;
	const u8 lea_sum[4] = { 0x48, 0x8d, (u8)(0x04 | addr << 3), (u8)(r << 3 | addr) };
	const u8 lea_sum_1[5] = { 0x48, 0x8d, (u8)(0x44 | addr << 3), (u8)(r << 3 | addr), 1 };

	ap_emit_gs_store(e, r, AP_T_SPILL_A);
	ap_emit_gs_load(e, r, AP_T_APP_GS);
	ap_emit_bytes(e, lea_sum, 4);
	ap_emit_bytes(e, (const u8[]){ 0x48, 0xf7, (u8)(0xd0 | r) }, 3); /* not r */
	emit_prefixes(e, in);
	ap_emit8(e, in->i.opcode);
	ap_emit_bytes(e, lea_sum_1, 5);
	ap_emit_gs_load(e, r, AP_T_SPILL_A);
}

/* mov between rax and gs:[imm64] */
static void mangle_gs_moffs(struct ap_emit *e, const struct ap_sb_insn *in)
{
	static const u8 with_modrm[4] = { 0x8a, 0x8b, 0x88, 0x89 };
	u8 r = AP_RCX;

	ap_emit_gs_store(e, r, AP_T_SPILL_A);
	ap_emit_mov_imm64(e, r, in->i.flags & AP_INSN_ADDR32 ? (u32)in->i.disp : (u64)in->i.disp);
	emit_add_gs_base(e, r, AP_RDX);
	emit_prefixes(e, in);
	ap_emit8(e, with_modrm[in->i.opcode & 3]);
	ap_emit8(e, r);
	ap_emit_gs_load(e, r, AP_T_SPILL_A);
}

u8 ap_mangle_gs_string_reg(const struct ap_insn *i)
{
	return i->opcode == 0xd7 ? AP_RBX : AP_RSI;
}

/* %gs:operand: the program's gs base is a variable. */
static void mangle_gs(struct ap_emit *e, const struct ap_sb_insn *in)
{
	u8 r = ap_mangle_scratch(&in->i);

	if (is_moffs(&in->i)) {
		mangle_gs_moffs(e, in);
		return;
	}
	if (!(in->i.flags & AP_INSN_HAS_MODRM)) {
		mangle_gs_string(e, in);
		return;
	}
	ap_emit_gs_store(e, r, AP_T_SPILL_A);
	emit_lea_operand(e, in, r);
	emit_add_gs_base(e, r, scratch2(&in->i));
	emit_rebased(e, in, r);
	ap_emit_gs_load(e, r, AP_T_SPILL_A);
}

static bool is_lea(const struct ap_insn *i)
{
	return i->map == 0 && i->opcode == 0x8d;
}

static void mangle_rip(struct ap_emit *e, const struct ap_sb_insn *in)
{
	const struct ap_insn *i = &in->i;
	u64 ea = in->pc + i->len + (u64)i->disp;
	s64 rel = (s64)(ea - ((u64)e->p + i->len));
	u8 r;

	if (i->flags & AP_INSN_ADDR32)
		ea = (u32)ea;
	else if (ap_fits_s32(rel)) {
		u8 *at = e->p;

		ap_emit_insn(e, in->bytes, i->len);
		ap_fix(AP_FIX_REL, at + i->disp_off);
		if (!e->full)
			memcpy(at + i->disp_off, &(s32){ (s32)rel }, 4);
		return;
	}
	ap_fix_refuse();
	if (is_lea(i) && i->rex & 8) {
		ap_emit_mov_imm64(e, (u8)((i->modrm >> 3 & 7) | (i->rex & 4 ? 8 : 0)), ea);
		return;
	}
	r = ap_mangle_scratch(i);
	ap_emit_gs_store(e, r, AP_T_SPILL_A);
	ap_emit_mov_imm64(e, r, ea);
	emit_rebased(e, in, r);
	ap_emit_gs_load(e, r, AP_T_SPILL_A);
}

/* rdgsbase, wrgsbase: the virtual base. */
static void mangle_gs_base(struct ap_emit *e, const struct ap_insn *i)
{
	u8 reg = (u8)((i->modrm & 7) | (i->rex & 1 ? 8 : 0));
	bool write = (i->modrm >> 3 & 7) == 3, wide = i->rex & 8;
	const u8 b32[5] = { 0x65, (u8)(0x40 | (reg >= 8 ? 4 : 0)), write ? 0x89 : 0x8b,
			    (u8)(0x04 | (reg & 7) << 3), 0x25 };
	static const u8 clear_hi[4] = { 0x65, 0xc7, 0x04, 0x25 };

	if (wide) {
		ap_emit_gs(e, write ? 0x89 : 0x8b, reg, AP_T_APP_GS);
		return;
	}
	ap_emit_bytes(e, b32, 5);
	ap_emit32(e, AP_T_APP_GS);
	if (write) {
		ap_emit_bytes(e, clear_hi, 4);
		ap_emit32(e, AP_T_APP_GS + 4);
		ap_emit32(e, 0);
	}
}

/* push of a return address, which stays the program's own. */
static void emit_push_ret(struct ap_emit *e, u64 ret, struct ap_lits *lits)
{
	static const u8 push_rip[2] = { 0xff, 0x35 };

	if (ret <= 0x7fffffff) {
		ap_emit8(e, 0x68);
		ap_fix(AP_FIX_ABS32, e->p);
		ap_emit32(e, (u32)ret);
		return;
	}
	ap_emit_bytes(e, push_rip, 2);
	ap_fixes.lit_anchor[lits->n] = ap_fixes.anchor;
	lits->lit[lits->n].disp = e->p;
	lits->lit[lits->n++].value = ret;
	ap_emit32(e, 0);
}

void ap_mangle(struct ap_emit *e, const struct ap_sb_insn *in, struct ap_lits *lits)
{
	const struct ap_insn *i = &in->i;

	if (i->kind == AP_I_JMP)
		return;
	if (i->kind == AP_I_CALL)
		emit_push_ret(e, in->pc + i->len, lits);
	else if (i->flags & AP_INSN_GS_BASE)
		mangle_gs_base(e, i);
	else if (i->seg == AP_SEG_GS && !(i->flags & AP_INSN_NO_ACCESS))
		mangle_gs(e, in);
	else if (i->flags & AP_INSN_RIP_REL)
		mangle_rip(e, in);
	else
		ap_emit_insn(e, in->bytes, i->len);
}

/* mov rcx, [operand] of an indirect jmp or call; rcx itself may be part of the operand. */
static void emit_load_target(struct ap_emit *e, const struct ap_sb_insn *in)
{
	const struct ap_insn *i = &in->i;
	u8 rex = (u8)(0x48 | operand_xb(in));

	if (!(i->flags & AP_INSN_MEM)) {
		ap_emit8(e, rex);
		ap_emit8(e, 0x8b);
		ap_emit8(e, (u8)(0xc8 | (i->modrm & 7)));
		return;
	}
	if (i->seg == AP_SEG_GS) {
		emit_lea_operand(e, in, AP_RCX);
		emit_add_gs_base(e, AP_RCX, AP_RDX);
		ap_emit_bytes(e, (const u8[]){ 0x48, 0x8b, 0x09 }, 3); /* mov rcx, [rcx] */
		return;
	}
	if (i->flags & AP_INSN_RIP_REL) {
		u64 ea = in->pc + i->len + (u64)i->disp;
		s64 rel;

		if (i->flags & AP_INSN_ADDR32)
			ea = (u32)ea;
		rel = (s64)(ea - ((u64)e->p + 7));
		if (ap_fits_s32(rel)) {
			ap_emit_bytes(e, (const u8[]){ 0x48, 0x8b, 0x0d }, 3);
			ap_fix(AP_FIX_REL, e->p);
			ap_emit32(e, (u32)rel);
		} else {
			ap_fix_refuse();
			ap_emit_mov_imm64(e, AP_RCX, ea);
			ap_emit_bytes(e, (const u8[]){ 0x48, 0x8b, 0x09 }, 3);
		}
		return;
	}
	for (u32 k = 0; k < i->nprefix;
	     k++) /* fs and address size matter, bnd and notrack do not */
		if (in->bytes[k] == 0x64 || in->bytes[k] == 0x67)
			ap_emit8(e, in->bytes[k]);
	ap_emit8(e, rex);
	ap_emit8(e, 0x8b);
	ap_emit8(e, (u8)((i->modrm & 0xc7) | AP_RCX << 3));
	ap_emit_bytes(e, in->bytes + i->modrm_off + 1,
		      (u32)(i->flags & AP_INSN_HAS_SIB ? 1 : 0) + i->disp_size);
}

static const u8 lea_rcx_rdx[4] = { 0x48, 0x8d, 0x0c, 0x11 };

/* mov dword gs:[disp], v */
static void emit_gs_imm(struct ap_emit *e, u32 disp, u32 v)
{
	ap_emit_bytes(e, (const u8[]){ 0x65, 0xc7, 0x04, 0x25 }, 4);
	ap_emit32(e, disp);
	ap_emit32(e, v);
}

/* Past the table, as ap_ibl_miss does. */
static void emit_ibl_out(struct ap_emit *e, const u8 *gate)
{
	u8 *site;

	ap_fix_refuse();
	ap_emit_gs_store(e, AP_RCX, AP_T_RIP);
	ap_emit_gs_load(e, AP_RDX, AP_T_SPILL_RDX);
	ap_emit_gs_load(e, AP_RCX, AP_T_SPILL_RCX);
	emit_gs_imm(e, AP_T_EXIT_KIND, AP_EXIT_IBL);
	site = ap_emit_jmp32(e);
	if (!e->full)
		ap_patch_rel32(site, gate);
}

/* jmp [rdx * 8 + table], or [rdx + table] of the small one.  Where no displacement reaches the table, rcx has its address while the target is put aside. */
static void emit_table_jump(struct ap_emit *e)
{
	u64 table = ap_ibl_table();
	bool is_large = ap_ibl_is_large();

	if (ap_likely(ap_fits_s32((s64)table))) {
		if (is_large)
			ap_emit_bytes(e, (const u8[]){ 0xff, 0x24, 0xd5 }, 3);
		else
			ap_emit_bytes(e, (const u8[]){ 0xff, 0xa2 }, 2);
		ap_fix(AP_FIX_TABLE, e->p);
		ap_emit32(e, (u32)table);
		return;
	}
	ap_fix_refuse();
	ap_emit_gs_store(e, AP_RCX, AP_T_RIP);
	ap_emit_mov_imm64(e, AP_RCX, table);
	/* mov rdx, [rcx + rdx * 8], or * 1 */
	ap_emit_bytes(e, (const u8[]){ 0x48, 0x8b, 0x14, is_large ? 0xd1 : 0x11 }, 4);
	ap_emit_gs_load(e, AP_RCX, AP_T_RIP);
	ap_emit_bytes(e, (const u8[]){ 0xff, 0xe2 }, 2); /* jmp rdx */
}

/* at lies in the branch's translation: where the target is no address the CPU faults on the branch itself. */
static void emit_branch_id(struct ap_emit *e, const u8 *at)
{
	const struct ap_unit *u = ap_unit_of((u64)at);

	emit_gs_imm(e, AP_T_BRANCH_ID,
		    (u32)(u - ap_units) << AP_UNIT_OFF_BITS | (u32)(at - u->base));
	ap_fix(AP_FIX_BRANCH, e->p - 4);
}

/* lea edx, [rcx * 8] */
static void emit_lea_edx_rcx_8(struct ap_emit *e)
{
	ap_emit_bytes(e, (const u8[]){ 0x8d, 0x14, 0xcd }, 3);
	ap_emit32(e, 0);
}

/* rcx is the target, both registers are spilled.  gate: to the dispatcher in any case. */
static void emit_ibl_jump(struct ap_emit *e, const u8 *at, const u8 *gate)
{
	emit_branch_id(e, at);
	if (gate) {
		emit_ibl_out(e, gate);
		return;
	}
	if (ap_ibl_is_large()) {
		ap_emit_bytes(e, (const u8[]){ 0x0f, 0xb7, 0xd1 }, 3); /* movzx edx, cx */
	} else {
		ap_ibl_note_site(e->p);
		emit_lea_edx_rcx_8(e);
		ap_emit_bytes(e, (const u8[]){ 0x0f, 0xb7, 0xd2 }, 3); /* movzx edx, dx */
	}
	emit_table_jump(e);
}

/* rdx is 0, or all ones: then it leads to where the table has no blocks. */
static void emit_ibl_signed_jump(struct ap_emit *e, const u8 *at)
{
	emit_branch_id(e, at);
	if (ap_ibl_is_large()) {
		ap_emit_bytes(e, (const u8[]){ 0x66, 0x89, 0xca }, 3); /* mov dx, cx */
	} else {
		ap_ibl_note_site(e->p);
		ap_emit8(e, 0x66); /* of dx alone */
		emit_lea_edx_rcx_8(e);
	}
	emit_table_jump(e);
}

/*
 * A place that was noted leads through the whole table from here on: nobody is in the code.  What is behind it
 * is shorter than what was.
 */
bool ap_mangle_enlarge(u8 *at)
{
	bool is_signed = at[0] == 0x66;
	u8 *jmp = at + 7 + (is_signed ? 1 : 3);
	struct ap_emit e = { at, jmp + 6, false };

	if (jmp[0] != 0xff || jmp[1] != 0xa2)
		return false; /* where no displacement reaches the table */
	if (is_signed)
		ap_emit_bytes(&e, (const u8[]){ 0x66, 0x89, 0xca }, 3);
	else
		ap_emit_bytes(&e, (const u8[]){ 0x0f, 0xb7, 0xd1 }, 3);
	emit_table_jump(&e);
	return true;
}

/* lea rsp, [rsp + n] */
static void emit_drop_stack(struct ap_emit *e, u32 n)
{
	ap_emit_bytes(e, (const u8[]){ 0x48, 0x8d, 0xa4, 0x24 }, 4);
	ap_emit32(e, n);
}

u8 *ap_mangle_guard(struct ap_emit *e, const struct ap_sb_insn *in, struct ap_lits *lits)
{
	const struct ap_insn *i = &in->i;
	u8 *jr, *site;

	ap_emit_gs_store(e, AP_RCX, AP_T_SPILL_RCX);
	emit_load_target(e, in);
	if (i->kind == AP_I_CALL_IND)
		emit_push_ret(e, in->pc + i->len, lits);
	if (in->next <= 0x7fffffff) {
		ap_emit_bytes(e, (const u8[]){ 0x48, 0x8d, 0x89 }, 3); /* lea rcx, [rcx - next] */
		ap_fix_guess(AP_FIX_NEG32, e->p);
		ap_emit32(e, (u32)-in->next);
	} else {
		ap_emit_gs_store(e, AP_RDX, AP_T_SPILL_RDX);
		ap_emit_mov_imm64(e, AP_RDX, -in->next);
		ap_fix_guess(AP_FIX_NEG64, e->p - 8);
		ap_emit_bytes(e, lea_rcx_rdx, 4);
		ap_emit_gs_load(e, AP_RDX, AP_T_SPILL_RDX);
	}
	ap_emit8(e, 0xe3); /* jrcxz over the jmp */
	jr = e->p;
	ap_emit8(e, 0);
	site = ap_emit_jmp32(e);
	if (!e->full)
		*jr = (u8)(e->p - (jr + 1));
	ap_emit_gs_load(e, AP_RCX, AP_T_SPILL_RCX);
	return site;
}

/* rcx is the target less the guess; rcx is spilled, rdx is the program's. */
void ap_mangle_guard_fail(struct ap_emit *e, const struct ap_sb_insn *in, const u8 *site,
			  const struct ap_vec *vec, bool tests)
{
	struct ap_lane_jumps jumps = { 0 };

	tests &= ap_proc.nlanes == 1;
	ap_emit_gs_store(e, AP_RDX, AP_T_SPILL_RDX);
	ap_emit_mov_imm64(e, AP_RDX, in->next);
	if (in->next <= 0x7fffffff)
		ap_fix_guess(AP_FIX_ABS32, e->p - 4);
	else
		ap_fix_guess(AP_FIX_ABS64, e->p - 8);
	ap_emit_bytes(e, lea_rcx_rdx, 4);
	if (vec) {
		ap_emit_adds_reg(e, vec, AP_RDX);
		ap_lane_next_word(tests);
		ap_lane_emit_rdx(e, vec, tests ? &jumps : NULL);
	}
	if (jumps.in_rdx)
		emit_ibl_signed_jump(e, site);
	else
		emit_ibl_jump(e, site,
			      ap_proc.nlanes ? ap_unit_of((u64)site)->base + AP_UNIT_GATE : NULL);
}

void ap_mangle_indirect(struct ap_emit *e, const struct ap_sb_insn *in, struct ap_lits *lits,
			const struct ap_vec *vec, const u8 *gate, struct ap_lane_jumps *jumps)
{
	const struct ap_insn *i = &in->i;
	const u8 *at = e->p;

	ap_emit_gs_store(e, AP_RCX, AP_T_SPILL_RCX);
	if (i->kind == AP_I_RET) {
		ap_emit8(e, 0x59); /* pop rcx */
		if (i->imm_size)
			emit_drop_stack(e, (u32)i->imm & 0xffff);
	} else {
		emit_load_target(e, in);
		if (i->kind == AP_I_CALL_IND)
			emit_push_ret(e, in->pc + i->len, lits);
	}
	ap_emit_gs_store(e, AP_RDX, AP_T_SPILL_RDX);
	if (vec) {
		ap_emit_adds_reg(e, vec, AP_RDX);
		ap_lane_next_word(jumps);
		ap_lane_emit_rdx(e, vec, jumps);
	}
	if (jumps && jumps->in_rdx)
		emit_ibl_signed_jump(e, at);
	else
		emit_ibl_jump(e, at, gate);
}

/* at: of the translation that leads here, as in emit_ibl_jump. */
void ap_mangle_indirect_out(struct ap_emit *e, const u8 *at, const u8 *gate)
{
	emit_ibl_jump(e, at, gate);
}
