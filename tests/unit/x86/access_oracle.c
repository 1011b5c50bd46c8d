/* SPDX-License-Identifier: MIT */
/*
 * What Zydis says about an instruction's memory operands against ap_insn_accesses: how many bytes,
 * read or written, and where for some registers.  Where Zydis is silent or coarse, expect_*() say what the
 * manuals say.
 */
#include "oracle.h"

#include "x86/access.h"

struct touch {
	u64 at;
	u32 size;
	bool read, write;
};

struct touches {
	struct touch t[10];
	unsigned n;
};

static const u64 gpr[16] = {
	0x1111222233334481, 0x00007f5512345677, 0xfffffffffffffff3, 0x0000000000010005,
	0x00007ffcdeadbe08, 0x00007ffcdeadc010, 0x8000000000000007, 0x00005566778899ab,
	0xfedcba9876543210, 0x0123456789abcdef, 0x000000007fffffff, 0x00000000ffffffff,
	0x0f0f0f0f0f0f0f0f, 0xf0f0f0f0f0f0f0f1, 0x00007f0000000000, 0x5a5a5a5a5a5a5a5b,
};
static const u64 seg_base[3] = { 0, 0x00007f11abcd0740, 0x0000000055550000 };

#define NEXT 0x0000555555554017ull

static u64 value_of(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP)
		return NEXT;
	if (reg == ZYDIS_REGISTER_AL)
		return gpr[0] & 0xff;
	if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
		return 0;
	return gpr[ZydisRegisterGetId(whole)];
}

/* offset: added before the address is cut to 32 bits. */
static u64 address_of(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op, u64 offset)
{
	u64 at = value_of(op->mem.base) + (u64)op->mem.disp.value + offset;

	at += value_of(op->mem.index) * (op->mem.scale ? op->mem.scale : 1);
	if (op->encoding != ZYDIS_OPERAND_ENCODING_NONE
		    ? i->address_width == 32
		    : ZydisRegisterGetClass(op->mem.base) == ZYDIS_REGCLASS_GPR32)
		at = (u32)at;
	if (op->mem.segment == ZYDIS_REGISTER_FS)
		at += seg_base[AP_SEG_FS];
	if (op->mem.segment == ZYDIS_REGISTER_GS)
		at += seg_base[AP_SEG_GS];
	return at;
}

static void expect(struct touches *e, u64 at, u32 size, bool read, bool write)
{
	e->t[e->n++] = (struct touch){ at, size, read, write };
}

/* The copies of nested frames, and what Zydis has for one push. */
static void expect_enter(struct touches *e, const ZydisDecodedInstruction *i)
{
	u32 size = i->operand_width / 8, level = i->raw.imm[1].value.u & 31;

	if (level > 1)
		expect(e, gpr[5] - (level - 1) * size, (level - 1) * size, true, false);
	expect(e, gpr[4] - (level + 1) * size, (level + 1) * size, false, true);
}

static bool is_hidden(const ZydisDecodedOperand *op)
{
	return op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
}

static bool is_bit_string(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op)
{
	return (i->mnemonic == ZYDIS_MNEMONIC_BT || i->mnemonic == ZYDIS_MNEMONIC_BTS ||
		i->mnemonic == ZYDIS_MNEMONIC_BTR || i->mnemonic == ZYDIS_MNEMONIC_BTC) &&
	       op[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
}

/* The word that bit number n of a bit string is in. */
static s64 bit_string_offset(const ZydisDecodedOperand *reg)
{
	u64 v = value_of(reg->reg.value);
	s64 n = reg->size == 64 ? (s64)v : reg->size == 32 ? (s64)(s32)v : (s64)(s16)v;
	s64 bits = reg->size, word = n / bits - (n % bits < 0);

	return word * (bits / 8);
}

/* What the address is off from its registers. */
static u64 offset_of(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *all,
		     const ZydisDecodedOperand *op)
{
	if (i->mnemonic == ZYDIS_MNEMONIC_XLAT)
		return gpr[0] & 0xff;
	if (is_bit_string(i, all))
		return (u64)bit_string_offset(&all[1]);
	if (is_hidden(op) && op->mem.base == ZYDIS_REGISTER_RSP &&
	    op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		return -(u64)(op->size / 8); /* a push */
	if (i->mnemonic == ZYDIS_MNEMONIC_POP && !is_hidden(op) &&
	    (op->mem.base == ZYDIS_REGISTER_RSP || op->mem.base == ZYDIS_REGISTER_ESP))
		return op->size / 8;
	return 0;
}

/* Zydis has what AMD's CPUs do; Intel's manual has r/m16 there, and its CPUs do so. */
static u32 size_of(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op)
{
	return i->mnemonic == ZYDIS_MNEMONIC_MOVSXD && i->operand_width == 16 &&
			       __builtin_cpu_is("intel")
		       ? 2
		       : op->size / 8;
}

static void expect_operand(struct touches *e, const ZydisDecodedInstruction *i,
			   const ZydisDecodedOperand *all, const ZydisDecodedOperand *op)
{
	expect(e, address_of(i, op, offset_of(i, all, op)), size_of(i, op),
	       op->actions & ZYDIS_OPERAND_ACTION_MASK_READ,
	       op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
}

static bool is_wide_store(const ZydisDecodedInstruction *i)
{
	return i->mnemonic == ZYDIS_MNEMONIC_MOVDIR64B || i->mnemonic == ZYDIS_MNEMONIC_ENQCMD ||
	       i->mnemonic == ZYDIS_MNEMONIC_ENQCMDS;
}

/* To where the register says, in es whatever the prefixes; of enqcmd Zydis is silent about it. */
static void expect_wide_store(struct touches *e, const ZydisDecodedInstruction *i,
			      const ZydisDecodedOperand *op)
{
	u64 to = value_of(op[0].reg.value);

	expect_operand(e, i, op, &op[1]);
	expect(e, i->address_width == 32 ? (u32)to : to, 64, false, true);
}

static void expect_all(struct touches *e, const ZydisDecodedInstruction *i,
		       const ZydisDecodedOperand *op)
{
	unsigned n;

	e->n = 0;
	if (i->mnemonic == ZYDIS_MNEMONIC_ENTER) {
		expect_enter(e, i);
		return;
	}
	if (i->mnemonic == ZYDIS_MNEMONIC_CLZERO) { /* Zydis is silent */
		expect(e, (i->address_width == 32 ? (u32)gpr[0] : gpr[0]) & ~63ull, 64, false,
		       true);
		return;
	}
	if (is_wide_store(i)) {
		expect_wide_store(e, i, op);
		return;
	}
	for (n = 0; n < i->operand_count; n++)
		if (op[n].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    op[n].mem.type != ZYDIS_MEMOP_TYPE_AGEN &&
		    op[n].mem.type != ZYDIS_MEMOP_TYPE_MIB &&
		    op[n].actions &
			    (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_MASK_WRITE))
			expect_operand(e, i, op, &op[n]);
}

/* What is not compared: it never gets that far in user mode, or exists on no CPU of today. */
static bool is_out_of_question(const struct ap_insn *s, const ZydisDecodedInstruction *i)
{
	return s->kind == AP_I_UD || s->flags & AP_INSN_NO_ACCESS ||
	       i->meta.category == ZYDIS_CATEGORY_PADLOCK;
}

static bool has(const struct touches *e, const struct touch *t)
{
	unsigned n;

	for (n = 0; n < e->n; n++)
		if (e->t[n].at == t->at && e->t[n].size == t->size && e->t[n].read == t->read &&
		    e->t[n].write == t->write)
			return true;
	return false;
}

const char *access_check(const struct ap_insn *s, const u8 *code, const ZydisDecodedInstruction *i,
			 const ZydisDecodedOperand *op)
{
	struct ap_access list[AP_ACCESS_MAX];
	struct touches e;
	unsigned n, count;

	if (is_out_of_question(s, i))
		return NULL;
	if (i->meta.category == ZYDIS_CATEGORY_MPX) /* nops everywhere by now */
		return ap_insn_accesses(s, code, list) ? "an access of a nop" : NULL;
	expect_all(&e, i, op);
	count = ap_insn_accesses(s, code, list);
	if (count != e.n)
		return "number of accesses";
	for (n = 0; n < count; n++) {
		struct touch t = { ap_access_address(&list[n], gpr, NEXT, seg_base), list[n].size,
				   list[n].flags & AP_ACCESS_READ,
				   list[n].flags & AP_ACCESS_WRITE };

		if (!has(&e, &t))
			return "an access";
		if (!(list[n].flags & AP_ACCESS_VSIB) != !(s->flags & AP_INSN_VSIB))
			return "an access by vector";
	}
	return NULL;
}
