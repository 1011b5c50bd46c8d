/* SPDX-License-Identifier: MIT */
/*
 * Making the status flags again: where a counter must be updated and the flags are still wanted,
 * the comparison that they came from is often close by and its registers unchanged, so executing
 * it once more after the update costs one or two short instructions, where an update that leaves
 * the flags alone takes five long ones and a register.
 *
 * Only what is exactly repeatable: no memory operand (it may fault, or hold something else by now).
 * test, cmp: the instruction itself.  and, or, xor: a test of the result.  add, sub: undone by lea,
 * then done again.  AF, which logical operations leave undefined, is the same after all of them.
 */
#include "engine/translate/sb.h"

enum arith { ADD, OR, ADC, SBB, AND, SUB, XOR, CMP, TEST, OTHER };

/* Leaves the status flags alone for certain: moves, stack, lea, what tests flags, branches. */
static bool keeps_flags(const struct ap_insn *i)
{
	u8 op = i->opcode;

	if (i->kind != AP_I_OTHER)
		return i->kind == AP_I_JCC || i->kind == AP_I_JMP;
	if (i->flags & (AP_INSN_RFLAGS | AP_INSN_MOV_SEG) || i->fl_write)
		return false;
	if (i->flags & AP_INSN_VEX && (op & 0xf0) == 0x90)
		return false; /* kortest and ktest have opcodes of setcc */
	if (i->map == 0)
		return (op >= 0x50 && op <= 0x5f) || op == 0x63 || (op >= 0x88 && op <= 0x8b) ||
		       op == 0x8d || (op >= 0xb0 && op <= 0xbf) || op == 0xc6 || op == 0xc7;
	if (i->map == 1) /* moves of vectors, nop, cmov, set, movzx, movsx */
		return (op | 1) == 0x11 || (op | 1) == 0x1f || (op | 1) == 0x29 ||
		       (op >= 0x40 && op <= 0x4f) || op == 0x6f || op == 0x7f ||
		       (op >= 0x90 && op <= 0x9f) || (op | 1) == 0xb7 || (op | 1) == 0xbf;
	return false;
}

static enum arith arith_of(const struct ap_insn *i)
{
	u8 op = i->opcode, reg = i->modrm >> 3 & 7;

	if (i->map != 0 || i->kind != AP_I_OTHER || i->flags & (AP_INSN_VEX | AP_INSN_EVEX))
		return OTHER;
	if (op < 0x40)
		return (op & 7) < 6 ? (enum arith)(op >> 3) : OTHER;
	if (op >= 0x80 && op <= 0x83)
		return (enum arith)reg;
	if ((op | 1) == 0x85 || (op | 1) == 0xa9)
		return TEST;
	return (op | 1) == 0xf7 && reg < 2 ? TEST : OTHER;
}

static bool in_modrm_reg(const struct ap_insn *i)
{
	return i->opcode < 0x40 && i->opcode & 2;
}

static u8 modrm_reg(const struct ap_insn *i)
{
	return (u8)((i->modrm >> 3 & 7) | (i->rex & 4 ? 8 : 0));
}

static u8 modrm_rm(const struct ap_insn *i)
{
	return (u8)((i->modrm & 7) | (i->rex & 1 ? 8 : 0));
}

/* The register that the operation writes. */
static u8 dst_of(const struct ap_insn *i)
{
	if (!(i->flags & AP_INSN_HAS_MODRM))
		return AP_RAX;
	return in_modrm_reg(i) ? modrm_reg(i) : modrm_rm(i);
}

/* Can lea take an add or sub back?  Of 32 or 64 bits, not of rsp. */
static bool can_undo(const struct ap_insn *i, enum arith a)
{
	if (!(i->opcode & 1) || i->flags & (AP_INSN_OPSIZE | AP_INSN_MEM) || dst_of(i) == AP_RSP)
		return false;
	if (i->imm_size)
		return i->imm != -0x80000000LL;
	return a == SUB && modrm_reg(i) != modrm_rm(i) && modrm_reg(i) != AP_RSP &&
	       modrm_rm(i) != AP_RSP;
}

/* Can the flags that i leaves be made again while the registers in *need are unchanged? */
static bool repeatable(const struct ap_insn *i, u16 *need)
{
	enum arith a = arith_of(i);

	*need = i->gpr_read | i->gpr_write;
	switch (a) {
	case CMP:
	case TEST:
		return !(i->flags & AP_INSN_MEM);
	case AND:
	case OR:
	case XOR:
		*need = i->gpr_write;
		return !(i->flags & AP_INSN_MEM_WRITE);
	case ADD:
	case SUB:
		return can_undo(i, a);
	default:
		return false;
	}
}

u32 ap_redo_find(const struct ap_sb *sb, u32 at)
{
	u16 changed = 0, need;

	while (at > 0) {
		const struct ap_insn *i = &sb->insns[--at].i;

		if (repeatable(i, &need))
			return changed & need ? 0 : at + 1;
		if (sb->insns[at].guard || !keeps_flags(i))
			return 0;
		changed |= i->gpr_write;
	}
	return 0;
}

static void emit_rex(struct ap_emit *e, const struct ap_insn *i, u8 bits)
{
	if (i->rex)
		ap_emit8(e, (u8)(0x40 | (i->rex & 8) | bits));
}

static void emit_test(struct ap_emit *e, const struct ap_insn *i)
{
	u8 dst = dst_of(i);

	if (i->flags & AP_INSN_OPSIZE)
		ap_emit8(e, 0x66);
	emit_rex(e, i, dst >= 8 ? 5 : 0);
	ap_emit8(e, (u8)(0x84 | (i->opcode & 1)));
	ap_emit8(e, (u8)(0xc0 | (dst & 7) << 3 | (dst & 7)));
}

/* lea dst, [dst + source] after a sub, [dst - source] after an add */
static void emit_undo(struct ap_emit *e, const struct ap_insn *i)
{
	u8 dst = dst_of(i), index = AP_RSP; /* none */
	u32 disp = 0;

	if (i->imm_size)
		disp = (u32)(arith_of(i) == SUB ? i->imm : -i->imm);
	else
		index = in_modrm_reg(i) ? modrm_rm(i) : modrm_reg(i);
	emit_rex(e, i, (u8)((dst >= 8 ? 5 : 0) | (index >= 8 ? 2 : 0)));
	ap_emit8(e, 0x8d);
	ap_emit8(e, (u8)(0x84 | (dst & 7) << 3));
	ap_emit8(e, (u8)((index & 7) << 3 | (dst & 7)));
	ap_emit32(e, disp);
}

void ap_redo_emit(struct ap_emit *e, const struct ap_sb_insn *in)
{
	switch (arith_of(&in->i)) {
	case AND:
	case OR:
	case XOR:
		emit_test(e, &in->i);
		return;
	case ADD:
	case SUB:
		emit_undo(e, &in->i);
		break;
	default:
		break;
	}
	ap_emit_insn(e, in->bytes, in->i.len);
}
