/* SPDX-License-Identifier: MIT */
/*
 * Classes and operands for the model of cycles.  By opcode rows: opcodes of a kind are neighbours, and a
 * class that is wrong for a rare instruction costs some accuracy, never a count.
 *
 * Sources: Intel SDM vol. 2 (opcode maps, operands), Intel's optimization manual (zeroing idioms, move
 * elimination, macro-fusion).
 */
#include "x86/cost.h"

#include "x86/access.h"

#define BIT(n) (1ULL << (n))
#define RSP    4

/* How an instruction uses its vector operands. */
enum cost_form {
	NO_VECTOR,
	BINARY, /* reg <- reg or vvvv, rm */
	UNARY,	/* reg <- rm */
	STORES, /* rm <- reg */
	TERNARY,
	COMPARES,  /* flags <- reg, rm */
	FROM_RM,   /* a general register <- rm */
	FROM_REG,  /* rm, a general register <- reg */
	INTO_REG,  /* reg <- a general register */
	MERGES,	   /* reg <- reg or vvvv, a general register */
	IMMEDIATE, /* vvvv or rm <- rm */
};

static bool is_vex(const struct ap_insn *i)
{
	return i->flags & (AP_INSN_VEX | AP_INSN_EVEX);
}

/* 0 none, 1 66, 2 f3, 3 f2 */
static u8 pp_of(const struct ap_insn *i)
{
	if (is_vex(i))
		return i->sel & 3;
	return i->sel & 6 ? (i->sel >> 1 & 3) + 1 : i->sel & 1;
}

/* --- classes */

static u8 of_group3(const struct ap_insn *i)
{
	u8 digit = i->modrm >> 3 & 7;

	if (digit < 4)
		return AP_COST_ALU;
	if (digit < 6)
		return AP_COST_MUL;
	return i->opcode == 0xf7 && i->rex & 8 ? AP_COST_DIV64 : AP_COST_DIV32;
}

static u8 of_lea(const struct ap_insn *i)
{
	bool index = i->flags & AP_INSN_HAS_SIB && ((i->sib & 0x38) != 0x20 || i->rex & 2);

	return index && (i->modrm >= 0x40 || i->sib >= 0x40) ? AP_COST_LEA : AP_COST_ALU;
}

static u8 of_one_byte(const struct ap_insn *i)
{
	u8 op = i->opcode;

	if (op >= 0xd8 && op <= 0xdf)
		return AP_COST_X87;
	if ((op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf))
		return AP_COST_STRING;
	switch (op) {
	case 0x69:
	case 0x6b:
		return AP_COST_MUL;
	case 0x88:
	case 0x89:
	case 0x8a:
	case 0x8b:
		if (i->flags & AP_INSN_MEM)
			return AP_COST_NOTHING;
		return op & 1 && !(i->flags & AP_INSN_OPSIZE) ? AP_COST_MOVE : AP_COST_ALU;
	case 0x8d:
		return of_lea(i);
	case 0x90:
		return i->rex & 1 ? AP_COST_ALU : AP_COST_NOTHING;
	case 0x63: /* of memory, the load extends */
	case 0xc6:
	case 0xc7:
		return i->flags & AP_INSN_MEM ? AP_COST_NOTHING : AP_COST_ALU;
	case 0xc0:
	case 0xc1:
	case 0xd0:
	case 0xd1:
		return AP_COST_SHIFT;
	case 0xd2:
	case 0xd3:
		return AP_COST_SHIFT_CL;
	case 0xf6:
	case 0xf7:
		return of_group3(i);
	case 0x68:
	case 0x6a:
	case 0x8f:
		return AP_COST_NOTHING;
	default:
		break;
	}
	if (op >= 0x50 && op <= 0x5f)
		return AP_COST_NOTHING;
	return op == 0xff && (i->modrm >> 3 & 7) == 6 ? AP_COST_NOTHING : AP_COST_ALU;
}

/* 0f 51..5f */
static u8 of_arithmetic(const struct ap_insn *i)
{
	bool wide = pp_of(i) & 1; /* 66 and f2: doubles */

	switch (i->opcode) {
	case 0x51:
		return wide ? AP_COST_FSQRT64 : AP_COST_FSQRT32;
	case 0x54:
	case 0x55:
	case 0x56:
	case 0x57:
		return AP_COST_VLOGIC;
	case 0x52:
	case 0x53:
	case 0x59:
		return AP_COST_FMUL;
	case 0x5a:
	case 0x5b:
		return AP_COST_CONVERT;
	case 0x5e:
		return wide ? AP_COST_FDIV64 : AP_COST_FDIV32;
	default:
		return AP_COST_FADD;
	}
}

static bool is_move(const struct ap_insn *i)
{
	switch (i->opcode) {
	case 0x10:
	case 0x11:
	case 0x12:
	case 0x13:
	case 0x16:
	case 0x17:
	case 0x28:
	case 0x29:
	case 0x2b:
	case 0x6f:
	case 0x7f:
	case 0xd6:
	case 0xe7:
	case 0xf0:
		return true;
	case 0x7e:
		return pp_of(i) == 2;
	default:
		return false;
	}
}

/* 0f d0..ff */
static u8 of_integers(u8 op)
{
	switch (op) {
	case 0xd0:
		return AP_COST_FADD;
	case 0xe6:
		return AP_COST_CONVERT;
	case 0xd7:
		return AP_COST_TO_GPR;
	case 0xd5:
	case 0xe4:
	case 0xe5:
	case 0xf4:
	case 0xf5:
	case 0xf6:
		return AP_COST_VMUL;
	case 0xdb:
	case 0xdf:
	case 0xeb:
	case 0xef:
		return AP_COST_VLOGIC;
	default:
		return AP_COST_VINT;
	}
}

static u8 of_0f_general(const struct ap_insn *i)
{
	u8 op = i->opcode;

	switch (op) {
	case 0xaf:
	case 0xa4:
	case 0xa5:
	case 0xac:
	case 0xad:
		return AP_COST_MUL;
	case 0xb8:
	case 0xbc:
	case 0xbd:
		return AP_COST_BITS;
	case 0x01:
	case 0xa2:
	case 0xae:
	case 0x31:
	case 0xc7:
		return AP_COST_SLOW;
	case 0xb6:
	case 0xb7:
	case 0xbe:
	case 0xbf:
		return i->flags & AP_INSN_MEM ? AP_COST_NOTHING : AP_COST_ALU;
	default:
		return (op >= 0x18 && op <= 0x1f) || op == 0x0d ? AP_COST_NOTHING : AP_COST_ALU;
	}
}

static u8 of_0f_vector(const struct ap_insn *i)
{
	u8 op = i->opcode;

	if (is_move(i))
		return i->flags & AP_INSN_MEM ? AP_COST_NOTHING : AP_COST_MOVE;
	if (op >= 0xd0)
		return of_integers(op);
	if (op >= 0x51 && op <= 0x5f)
		return of_arithmetic(i);
	if (op >= 0x60 && op <= 0x70 && op != 0x6e)
		return AP_COST_SHUFFLE;
	switch (op) {
	case 0x14:
	case 0x15:
	case 0xc6:
		return AP_COST_SHUFFLE;
	case 0x2a:
	case 0x2c:
	case 0x2d:
		return AP_COST_CONVERT;
	case 0x50:
	case 0x7e:
	case 0xc5:
		return AP_COST_TO_GPR;
	case 0x6e:
	case 0xc4:
		return i->flags & AP_INSN_MEM ? AP_COST_NOTHING : AP_COST_FROM_GPR;
	case 0x2e:
	case 0x2f:
	case 0x7c:
	case 0x7d:
	case 0xc2:
		return AP_COST_FADD;
	default:
		return AP_COST_VINT;
	}
}

static u8 of_0f38(const struct ap_insn *i)
{
	u8 op = i->opcode;

	if (op >= 0xf0)
		return op == 0xf7		 ? AP_COST_SHIFT
		       : op == 0xf5 || op < 0xf2 ? AP_COST_MUL
		       : op == 0xf6 && is_vex(i) ? AP_COST_MUL
						 : AP_COST_ALU;
	if ((op >> 4) >= 9 && (op >> 4) <= 11 && (op & 15) >= 6)
		return AP_COST_FMA;
	if ((op >= 0x18 && op <= 0x1b) || op == 0x58 || op == 0x59 || op == 0x78 || op == 0x79)
		return i->flags & AP_INSN_MEM ? AP_COST_NOTHING : AP_COST_SHUFFLE;
	if (op == 0x16 || op == 0x36)
		return AP_COST_CROSS;
	if (op == 0x00 || (op >= 0x0c && op <= 0x0d) || (op >= 0x20 && op <= 0x25) ||
	    (op >= 0x30 && op <= 0x35))
		return AP_COST_SHUFFLE;
	return op == 0x04 || op == 0x0b || op == 0x28 || op == 0x40 || op >= 0xd0 ? AP_COST_VMUL
										  : AP_COST_VINT;
}

static u8 of_0f3a(const struct ap_insn *i)
{
	u8 op = i->opcode;

	if (op == 0xf0)
		return AP_COST_SHIFT;
	if (op >= 0x08 && op <= 0x0b)
		return AP_COST_ROUND;
	if (op >= 0x14 && op <= 0x17)
		return AP_COST_TO_GPR;
	if (op == 0x20 || op == 0x22)
		return AP_COST_FROM_GPR;
	if (op <= 0x01 || op == 0x06 || op == 0x46 || op == 0x18 || op == 0x19 ||
	    (op >= 0x38 && op <= 0x3b))
		return AP_COST_CROSS;
	if (op == 0x0f || op == 0x04 || op == 0x05 || op == 0x21)
		return AP_COST_SHUFFLE;
	if (op == 0x02 || (op >= 0x0c && op <= 0x0e))
		return AP_COST_VLOGIC;
	return op == 0x44 || (op >= 0x60 && op <= 0x63) || op == 0x40 || op == 0x41 ? AP_COST_VMUL
										    : AP_COST_VINT;
}

static bool is_vector(const struct ap_insn *i)
{
	u8 op = i->opcode;

	if (i->map == 2 || i->map == 3)
		return op < 0xf0;
	if (i->map != 1)
		return i->map > 3;
	return (op >= 0x10 && op <= 0x17) || (op >= 0x28 && op <= 0x2f) ||
	       (op >= 0x50 && op <= 0x7f && op != 0x77) || op == 0xc2 ||
	       (op >= 0xc4 && op <= 0xc6) || op >= 0xd0;
}

static u8 class_of(const struct ap_insn *i, bool vector)
{
	if (i->flags & AP_INSN_LOCK)
		return AP_COST_ATOMIC;
	if (i->kind == AP_I_SYSCALL || i->kind > AP_I_RET)
		return AP_COST_SLOW;
	if (i->kind != AP_I_OTHER)
		return AP_COST_BRANCH;
	switch (i->map) {
	case 0:
		/* xchg with memory locks by itself */
		if ((i->opcode & 0xfe) == 0x86 && i->flags & AP_INSN_MEM)
			return AP_COST_ATOMIC;
		return of_one_byte(i);
	case 1:
		return vector ? of_0f_vector(i) : of_0f_general(i);
	case 2:
		return of_0f38(i);
	case 3:
		return of_0f3a(i);
	default:
		return AP_COST_VINT;
	}
}

/* --- operands */

static enum cost_form form_of_0f(const struct ap_insn *i)
{
	bool scalar = pp_of(i) & 2;

	switch (i->opcode) {
	case 0x10:
		return scalar && !(i->flags & AP_INSN_MEM) ? BINARY : UNARY;
	case 0x11:
		return scalar && !(i->flags & AP_INSN_MEM) ? TERNARY : STORES;
	case 0x12:
	case 0x16:
		return scalar ? UNARY : BINARY;
	case 0x13:
	case 0x17:
	case 0x29:
	case 0x2b:
	case 0x7f:
	case 0xd6:
	case 0xe7:
		return STORES;
	case 0x28:
	case 0x6f:
	case 0x70:
	case 0xf0:
	case 0x5b:
	case 0xe6:
		return UNARY;
	case 0x51:
	case 0x52:
	case 0x53:
	case 0x5a:
		return scalar ? BINARY : UNARY;
	case 0x2a:
	case 0xc4:
		return MERGES;
	case 0x2c:
	case 0x2d:
	case 0x50:
	case 0xc5:
	case 0xd7:
		return FROM_RM;
	case 0x2e:
	case 0x2f:
		return COMPARES;
	case 0x6e:
		return INTO_REG;
	case 0x71:
	case 0x72:
	case 0x73:
		return IMMEDIATE;
	case 0x7e:
		return pp_of(i) == 2 ? UNARY : FROM_REG;
	default:
		return BINARY;
	}
}

static enum cost_form form_of(const struct ap_insn *i)
{
	u8 op = i->opcode;

	if (i->map == 1)
		return form_of_0f(i);
	if (i->map == 2) {
		if (op == 0x17)
			return COMPARES;
		if ((op >> 4) >= 9 && (op >> 4) <= 11)
			return TERNARY;
		return (op >= 0x18 && op <= 0x25) || (op >= 0x30 && op <= 0x35) || op == 0x13 ||
				       op == 0x58 || op == 0x59 || op == 0x78 || op == 0x79
			       ? UNARY
			       : BINARY;
	}
	if (i->map == 3) {
		if (op >= 0x14 && op <= 0x17)
			return FROM_REG;
		if (op == 0x19 || op == 0x39 || op == 0x1d)
			return STORES;
		if (op == 0x20 || op == 0x22)
			return MERGES;
		return op < 0x02 || op == 0x04 || op == 0x05 || op == 0x08 || op == 0x09 ? UNARY
											 : BINARY;
	}
	return i->map > 6 ? TERNARY : BINARY;
}

struct vregs {
	u64 reg, rm, other; /* bits; other is vvvv, or reg where there is none */
};

static struct vregs vregs_of(const struct ap_insn *i, const u8 *code)
{
	u8 reg = i->modrm >> 3 & 7, rm = i->modrm & 7, other;
	const u8 *end = code + i->opcode_off; /* VEX and EVEX end right before the opcode */

	if (i->flags & AP_INSN_EVEX) {
		reg |= (u8)((end[-3] & 0x80 ? 0 : 8) | (end[-3] & 0x10 ? 0 : 16));
		rm |= (u8)((end[-3] & 0x20 ? 0 : 8) | (end[-3] & 0x40 ? 0 : 16));
		other = (u8)((~end[-2] >> 3 & 15) | (end[-1] & 8 ? 0 : 16));
	} else if (is_vex(i)) {
		bool is_short = end[-2] == 0xc5;
		u8 p = is_short ? end[-1] : end[-2];

		reg |= p & 0x80 ? 0 : 8;
		rm |= is_short || p & 0x20 ? 0 : 8;
		other = ~end[-1] >> 3 & 15;
	} else {
		reg |= (u8)((i->rex & 4) << 1);
		rm |= (u8)((i->rex & 1) << 3);
		other = reg;
	}
	return (struct vregs){ BIT(AP_COST_VEC + reg),
			       i->flags & AP_INSN_MEM ? 0 : BIT(AP_COST_VEC + rm),
			       BIT(AP_COST_VEC + other) };
}

static void use_vectors(const struct ap_insn *i, const u8 *code, struct ap_cost *c)
{
	struct vregs v = vregs_of(i, code);
	enum cost_form form = form_of(i);

	if (form != STORES && form != FROM_REG && form != INTO_REG && form != MERGES)
		c->read |= v.rm;
	if (form == BINARY || form == TERNARY || form == MERGES)
		c->read |= v.other;
	if (form == TERNARY || form == STORES || form == COMPARES || form == FROM_REG)
		c->read |= v.reg;
	if (form == BINARY || form == UNARY || form == TERNARY || form == INTO_REG ||
	    form == MERGES)
		c->write |= v.reg;
	if (form == STORES)
		c->write |= v.rm;
	if (form == IMMEDIATE)
		c->write |= is_vex(i) ? v.other : v.rm;
	/* pxor, xorps, psub, pcmpeq of a register with itself */
	if (form == BINARY && v.rm && v.rm == v.other && i->map == 1 &&
	    (i->opcode == 0xef || i->opcode == 0x57 || (i->opcode >= 0xf8 && i->opcode <= 0xfb) ||
	     (i->opcode >= 0x74 && i->opcode <= 0x76))) {
		c->read = 0;
		if ((i->opcode & 0xf0) != 0x70)
			c->class = AP_COST_NOTHING;
	}
}

/* xor and sub of a register with itself */
static bool is_zeroing(const struct ap_insn *i)
{
	u8 reg = (u8)((i->modrm >> 3 & 7) | (i->rex & 4) << 1);
	u8 rm = (u8)((i->modrm & 7) | (i->rex & 1) << 3);

	return i->map == 0 && !is_vex(i) &&
	       (i->opcode == 0x31 || i->opcode == 0x33 || i->opcode == 0x29 || i->opcode == 0x2b) &&
	       i->modrm >= 0xc0 && reg == rm && !(i->flags & AP_INSN_OPSIZE);
}

/* test, cmp, and, add, sub, inc, dec: what the branch behind it is fused with */
static bool can_fuse(const struct ap_insn *i)
{
	u8 op = i->opcode, digit = i->modrm >> 3 & 7;

	if (i->map != 0 || is_vex(i) || i->kind != AP_I_OTHER)
		return false;
	if (op < 0x40 && (op & 7) < 6)
		return op >> 3 == 0 || op >> 3 == 4 || op >> 3 == 5 || op >> 3 == 7;
	if (op >= 0x80 && op <= 0x83)
		return digit == 0 || digit == 4 || digit == 5 || digit == 7;
	if (op == 0x84 || op == 0x85 || op == 0xa8 || op == 0xa9)
		return true;
	return (op == 0xfe || op == 0xff) && digit < 2 && !(i->flags & AP_INSN_MEM);
}

static u64 address_of(const struct ap_insn *i, const u8 *code)
{
	struct ap_access list[AP_ACCESS_MAX];
	u32 n = ap_insn_accesses(i, code, list);
	u64 regs = 0;

	for (u32 k = 0; k < n; k++) {
		if (list[k].base < 16)
			regs |= BIT(list[k].base);
		if (list[k].flags & AP_ACCESS_VSIB)
			regs |= BIT(AP_COST_VEC + (list[k].index & 31));
		else if (list[k].index < 16)
			regs |= BIT(list[k].index);
	}
	return regs;
}

/* Registers of addresses that the operation itself uses as well: mov [rax], rax. */
static u64 used_twice(const struct ap_insn *i)
{
	if (i->flags & AP_INSN_HAS_MODRM && i->map < 2 && !is_vector(i))
		return BIT((i->modrm >> 3 & 7) | (i->rex & 4) << 1);
	return 0;
}

void ap_insn_cost(const struct ap_insn *i, const u8 *code, struct ap_cost *c)
{
	bool vector = i->kind == AP_I_OTHER && is_vector(i);

	*c = (struct ap_cost){ .class = class_of(i, vector), .fuses = can_fuse(i) };
	c->load = i->flags & AP_INSN_MEM_READ;
	c->store = i->flags & AP_INSN_MEM_WRITE;
	c->read = i->gpr_read;
	c->write = i->gpr_write;
	if (c->load || c->store)
		c->address = address_of(i, code);
	c->read &= ~c->address | used_twice(i);
	/* the stack engine moves rsp: nobody waits for that */
	if ((c->load || c->store) && c->write & BIT(RSP) && c->address & BIT(RSP))
		c->write &= ~BIT(RSP);
	if (i->fl_read)
		c->read |= BIT(AP_COST_FLAGS);
	if (i->fl_write)
		c->write |= BIT(AP_COST_FLAGS);
	if (is_zeroing(i)) {
		c->read = 0;
		c->class = AP_COST_NOTHING;
	}
	if (vector)
		use_vectors(i, code, c);
}
