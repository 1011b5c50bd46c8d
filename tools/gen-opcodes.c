/* SPDX-License-Identifier: MIT */
/*
 * Writes src/x86/gen/opcodes.inc, the tables of the engine's decoder, by asking Zydis about the
 * whole 64-bit opcode space: every map, mandatory prefix, operand size, vector length and ModRM
 * form is encoded, decoded by Zydis, boiled down to a struct ap_x86_class and entered into a
 * decision tree (src/x86/table.h).  Equal classes and equal subtrees are stored once.
 *
 * Run by `make gen`, or from the root of the tree (Zydis 4.0; the output is committed):
 *	cc -std=c11 -O2 -Isrc tools/gen-opcodes.c -lZydis -o gen-opcodes
 *	./gen-opcodes >src/x86/gen/opcodes.inc
 *
 * Where Zydis does not say what the engine has to know (which flags are certain, which memory
 * operands are addresses only, what the kernel does on syscall), opcode-facts.h says it.
 */
#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "x86/insn.h"
#include "x86/table.h"

#include "opcode-facts.h"
#include "opcode-forms.h"

static struct ap_x86_class classes[4096];
static unsigned nclasses;

static bool valid(const struct form *f)
{
	ZydisDecodedInstruction i;
	ZydisDecoderContext ctx;
	u8 buf[32];

	emit(f, buf);
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &ctx, buf, 15, &i)) &&
	       !is_foreign(&i);
}

static bool is_memory(const struct form *f)
{
	return f->modrm < 0xc0;
}

/* Number of the general register that reg is or is part of, or -1. */
static int gpr_number(ZydisRegister reg)
{
	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_GPR8:
	case ZYDIS_REGCLASS_GPR16:
	case ZYDIS_REGCLASS_GPR32:
	case ZYDIS_REGCLASS_GPR64:
		return ZydisRegisterGetId(
			ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg));
	default:
		return -1;
	}
}

static void add_register(struct ap_x86_class *c, const ZydisDecodedOperand *op)
{
	int n = gpr_number(op->reg.value);
	bool r = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	bool w = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	bool is_byte = ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_GPR8;

	if (op->reg.value == ZYDIS_REGISTER_GS)
		c->flags |= AP_INSN_MOV_SEG;
	if (n < 0)
		return;
	/* the old value survives in part, or if a condition fails */
	if (w && (op->size < 32 || (op->actions & ZYDIS_OPERAND_ACTION_CONDWRITE)))
		r = true;
	switch (op->encoding) {
	case ZYDIS_OPERAND_ENCODING_MODRM_REG:
		c->use |= (r ? AP_C_REG_R : 0) | (w ? AP_C_REG_W : 0) | (is_byte ? AP_C_REG_8 : 0);
		break;
	case ZYDIS_OPERAND_ENCODING_MODRM_RM:
		c->use |= (r ? AP_C_RM_R : 0) | (w ? AP_C_RM_W : 0) | (is_byte ? AP_C_RM_8 : 0);
		break;
	case ZYDIS_OPERAND_ENCODING_NDSNDD:
		c->use |= (r ? AP_C_VV_R : 0) | (w ? AP_C_VV_W : 0);
		break;
	case ZYDIS_OPERAND_ENCODING_OPCODE:
		c->use |= (r ? AP_C_OPC_R : 0) | (w ? AP_C_OPC_W : 0) | (is_byte ? AP_C_OPC_8 : 0);
		break;
	default:
		c->gpr_read |= r << n;
		c->gpr_write |= w << n;
	}
}

static void add_memory(struct ap_x86_class *c, const ZydisDecodedOperand *op,
		       ZydisMnemonic mnemonic)
{
	bool r = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	bool w = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	switch (op->encoding) {
	case ZYDIS_OPERAND_ENCODING_MODRM_RM:
		c->use |= (r ? AP_C_MEM_R : 0) | (w ? AP_C_MEM_W : 0);
		if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN || op->mem.type == ZYDIS_MEMOP_TYPE_MIB)
			c->mem_flags |= AP_CM_NO_ACCESS;
		if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
			c->mem_flags |= AP_CM_VSIB;
		return;
	case ZYDIS_OPERAND_ENCODING_DISP16_32_64:
		c->use |= AP_C_MOFFS;
		c->flags |= AP_INSN_MEM;
		break;
	case ZYDIS_OPERAND_ENCODING_MODRM_REG:
		c->use |= AP_C_REG_R;
		break;
	default:
		if (mnemonic == ZYDIS_MNEMONIC_MOVDIR64B)
			break; /* its base is the ModRM.reg operand */
		if (gpr_number(op->mem.base) >= 0)
			c->gpr_read |= 1 << gpr_number(op->mem.base);
		if (gpr_number(op->mem.index) >= 0)
			c->gpr_read |= 1 << gpr_number(op->mem.index);
	}
	c->flags |= (r ? AP_INSN_MEM_READ : 0) | (w ? AP_INSN_MEM_WRITE : 0);
}

static u32 nibble(struct form f, u8 *lo_bit, u8 *hi_bit, const struct form *live)
{
	u32 ok = 0;
	int n;

	(void)live;
	for (n = 0; n < 4; n++) {
		*lo_bit = n & 1;
		*hi_bit = n >> 1;
		if (!(n >> 1) || f.enc == EVEX)
			ok |= valid(live) << n;
	}
	return ok;
}

/* Which register numbers and masks are valid beyond the form that was asked about. */
static u32 limits(const struct form *base, bool vsib)
{
	struct form f = *base;
	u32 ok = nibble(f, &f.r, &f.r2, &f) << AP_OK_REG;
	u32 vv = 0, mask = 0;
	int n, m, used = 0;

	f = *base;
	if (!is_memory(&f))
		ok |= nibble(f, &f.bb, &f.x, &f) << AP_OK_RM;
	if (f.enc == LEGACY)
		return ok;
	for (n = 0; n < 4; n++) {
		if (n >> 1 && (f.enc != EVEX || vsib))
			break;
		for (m = 0; m < 8; m++) {
			f = *base;
			f.vvvv = (n & 1) << 3 | m;
			f.v2 = n >> 1;
			if (valid(&f)) {
				vv |= 1 << n;
				used |= f.vvvv || f.v2;
			}
		}
	}
	ok |= (used ? vv : 0) << AP_OK_VV;
	if (f.enc != EVEX)
		return ok;
	for (n = 0; n < 4; n++) {
		f = *base;
		f.aaa = n & 1;
		f.z = n >> 1;
		mask |= valid(&f) << n;
	}
	return ok | mask << (is_memory(&f) ? AP_OK_MASK_MEM : AP_OK_MASK_REG);
}

/* Whether ModRM.rm (mod 3) selects a register, not an opcode. */
static bool is_rm_free(struct form f)
{
	unsigned rm, count = 0;

	for (rm = 0; rm < 8; rm++) {
		f.modrm = (f.modrm & 0xf8) | rm;
		count += valid(&f);
	}
	return count >= 6; /* all but two that may have to differ from other operands */
}

/* Register numbers that must differ: make them equal and see. */
static u32 distinct(const struct form *base, bool vsib, u32 ok)
{
	struct form f = *base;
	u8 reg = f.modrm >> 3 & 7, ix = f.sib >> 3 & 7;
	bool has_vv = ok >> AP_OK_VV & 15;
	u32 use = 0;

	if (f.enc == LEGACY)
		return 0;
	if (has_vv) {
		f.vvvv = reg;
		use |= valid(&f) ? 0 : AP_C_NE_REG_VV;
		f = *base;
	}
	if (vsib) {
		f.sib = (f.sib & 0xc7) | reg << 3;
		use |= valid(&f) ? 0 : AP_C_NE_REG_IX;
		f = *base;
		f.vvvv = ix;
		use |= has_vv && !valid(&f) ? AP_C_NE_VV_IX : 0;
	}
	if (is_memory(base) || !is_rm_free(*base))
		return use;
	f = *base;
	f.modrm = 0xc0 | reg << 3 | reg;
	use |= valid(&f) ? 0 : AP_C_NE_REG_RM;
	f = *base;
	f.vvvv = f.modrm & 7;
	if (has_vv)
		use |= valid(&f) ? 0 : AP_C_NE_VV_RM;
	return use;
}

/* Whether a segment prefix moves a memory access of this form, implicit ones included. */
static bool has_segment(struct form f)
{
	struct probe pr;
	unsigned n;

	f.gs = 1;
	if (!ask(&f, &pr) || pr.i.mnemonic == ZYDIS_MNEMONIC_LEA)
		return false;
	for (n = 0; n < pr.i.operand_count; n++)
		if (pr.op[n].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    pr.op[n].mem.segment == ZYDIS_REGISTER_GS)
			return true;
	return false;
}

/* What only a memory form can tell: SIB and rip-relative demands, LOCK, disp8 scale. */
static void memory_limits(struct ap_x86_class *c, const struct form *base)
{
	struct form f = *base;
	struct probe pr;
	unsigned n;

	if ((f.modrm & 7) == 4)
		c->use |= AP_C_NEED_SIB;
	f.modrm = (f.modrm & 0x38) | 5;
	if (!valid(&f))
		c->use |= AP_C_NO_RIP;
	f = *base;
	f.lock = 1;
	if (f.enc == LEGACY && valid(&f))
		c->use |= AP_C_LOCK;
	f = *base;
	f.modrm |= 0x40;
	if (f.enc != EVEX || !ask(&f, &pr))
		return;
	for (n = 0; n < pr.i.operand_count; n++)
		if (pr.op[n].type == ZYDIS_OPERAND_TYPE_MEMORY)
			while (pr.op[n].mem.disp.value >> c->cd8 > 1)
				c->cd8++;
}

/* Boils down what Zydis says about one encoding; all zero and NO_REG | NO_MEM if invalid. */
static bool classify(const struct form *f, struct ap_x86_class *c)
{
	struct probe pr;
	unsigned n;

	memset(c, 0, sizeof(*c));
	if (!ask(f, &pr))
		return false;
	for (n = 0; n < pr.i.operand_count; n++) {
		if (pr.op[n].type == ZYDIS_OPERAND_TYPE_REGISTER)
			add_register(c, &pr.op[n]);
		else if (pr.op[n].type == ZYDIS_OPERAND_TYPE_MEMORY)
			add_memory(c, &pr.op[n], pr.i.mnemonic);
	}
	c->kind = kind_of(&pr);
	c->imm = pr.i.raw.imm[0].size / 8 | pr.i.raw.imm[1].size / 8 << 4;
	if (f->enc == LEGACY && f->map == 1 && f->opcode == 0x0f) {
		c->use |= AP_C_3DNOW;
		c->imm = 1;
	}
	if (pr.i.cpu_flags) {
		c->fl_read = pr.i.cpu_flags->tested & AP_FL_ALL;
		c->fl_write =
			(pr.i.cpu_flags->modified | pr.i.cpu_flags->set_0 | pr.i.cpu_flags->set_1) &
			~pr.i.cpu_flags->undefined & AP_FL_ALL;
	}
	if (pr.i.attributes & ZYDIS_ATTRIB_HAS_MODRM)
		c->flags |= AP_INSN_HAS_MODRM;
	if (pr.i.meta.category == ZYDIS_CATEGORY_STRINGOP ||
	    pr.i.meta.category == ZYDIS_CATEGORY_IOSTRINGOP ||
	    pr.i.meta.category == ZYDIS_CATEGORY_PADLOCK)
		c->use |= AP_C_STRING;
	if (touches_rflags(&pr))
		c->flags |= AP_INSN_RFLAGS;
	fixup_registers(c, &pr);
	fixup_memory(c, &pr);
	fixup_flags(c, &pr);
	c->ok = limits(f, c->mem_flags & AP_CM_VSIB);
	c->use |= distinct(f, c->mem_flags & AP_CM_VSIB, c->ok);
	if (has_segment(*f))
		c->use |= is_memory(f) ? AP_C_SEG_MEM : AP_C_SEG_REG;
	if (!(c->flags & AP_INSN_HAS_MODRM)) {
		c->ok = 0;
		c->use &= AP_C_SEG_MEM | ~AP_C_MEM_BITS;
		c->mem_flags = 0;
	} else if (is_memory(f)) {
		memory_limits(c, f);
	}
	return true;
}

/* Finds a valid way to fill the fields that a form leaves open, and classifies that. */
static bool classify_some(struct form f, struct ap_x86_class *c)
{
	u8 reg = f.modrm >> 3 & 7;
	int aaa, v;

	f.sib = 1 | ((reg + 1) & 7) << 3;
	for (aaa = 0; aaa < (f.enc == EVEX ? 2 : 1); aaa++) {
		f.aaa = aaa;
		for (v = 0; v < (f.enc == LEGACY ? 1 : 8); v++) {
			f.vvvv = v;
			if (is_memory(&f) && v == ((reg + 1) & 7) && v)
				continue;
			if (classify(&f, c))
				return true;
		}
	}
	return false;
}

static u16 add_class(const struct ap_x86_class *c)
{
	unsigned n;

	for (n = 0; n < nclasses; n++)
		if (!memcmp(&classes[n], c, sizeof(*c)))
			return n;
	if (nclasses == AP_ARRAY_SIZE(classes))
		die("too many classes");
	classes[nclasses] = *c;
	return nclasses++;
}

/* The memory form's class and the register form's in one, if they do not contradict each other. */
static bool merge(const struct ap_x86_class *mem, const struct ap_x86_class *reg,
		  struct ap_x86_class *out)
{
	struct ap_x86_class a = *mem, b = *reg;

	a.use &= ~(AP_C_MEM_BITS | AP_C_NO_REG);
	b.use &= ~(AP_C_REG_BITS | AP_C_NO_MEM);
	a.ok &= ~(15u << AP_OK_MASK_MEM);
	b.ok &= ~(15u << AP_OK_MASK_REG | 15u << AP_OK_RM);
	a.cd8 = b.cd8 = 0;
	a.mem_flags = b.mem_flags = 0;
	if (memcmp(&a, &b, sizeof(a)))
		return false;
	*out = *mem;
	out->use = (mem->use & ~AP_C_NO_REG) | (reg->use & AP_C_REG_BITS);
	out->ok = mem->ok | reg->ok;
	return true;
}

/* All ModRM bytes of one opcode under one set of prefixes: the entry for ModRM.reg = reg. */
static u16 build_reg(struct form f, unsigned reg)
{
	struct ap_x86_class mem, rc[8], both;
	u16 entries[8], pair[2];
	unsigned rm;
	bool has_mem, has_reg, same = true;
	bool any_mod = f.enc == LEGACY && f.map == 1 && f.opcode >= 0x20 && f.opcode <= 0x23;

	f.modrm = reg << 3 | 1;
	has_mem = !any_mod && classify_some(f, &mem);
	if (!has_mem && !any_mod) {
		f.modrm = reg << 3 | 4;
		has_mem = classify_some(f, &mem);
	}
	if (has_mem && !(mem.flags & AP_INSN_HAS_MODRM))
		return add_class(&mem);
	for (rm = 0; rm < 8; rm++) {
		f.modrm = 0xc0 | reg << 3 | (rm ^ reg ^ 1);
		has_reg = classify_some(f, &rc[rm]);
		if (rm && (rc[0].use & (AP_C_NE_REG_RM | AP_C_NE_VV_RM)))
			rc[rm] = rc[0];
		rc[rm].use |= any_mod ? AP_C_ANY_MOD : 0; /* mov of control registers */
		rc[rm].use |= has_reg || rc[rm].flags ? AP_C_NO_MEM : 0;
		same &= !memcmp(&rc[rm], &rc[0], sizeof(rc[0]));
	}
	has_reg = rc[0].flags;
	if (has_mem)
		mem.use |= AP_C_NO_REG;
	if (same && !has_reg)
		return has_mem ? add_class(&mem) : 0;
	if (same && has_mem && merge(&mem, &rc[0], &both))
		return add_class(&both);
	for (rm = 0; rm < 8; rm++)
		entries[rm ^ reg ^ 1] = rc[rm].flags ? add_class(&rc[rm]) : 0;
	pair[0] = has_mem ? add_class(&mem) : 0;
	pair[1] = add_node(entries, 8, AP_SEL_RM, 7);
	if (same && !has_mem)
		return pair[1];
	return add_node(pair, 2, AP_SEL_MOD3, 1);
}

static u16 build_modrm(struct form f)
{
	u16 entries[8];
	unsigned reg;

	for (reg = 0; reg < 8; reg++)
		entries[reg] = build_reg(f, reg);
	return add_node(entries, 8, AP_SEL_REG, 7);
}

/* 90 with REX.B.  Zydis has pause for f3, but CPUs exchange (AMD Zen at least): stay with xchg. */
static u16 build_opcode(struct form f)
{
	if (f.enc == LEGACY && f.map == 0 && f.opcode == 0x90 && f.bb)
		f.pfx &= 1;
	return build_modrm(f);
}

static void print_3dnow(void)
{
	unsigned n, m;

	printf("\n/* bit n & 7 of byte n >> 3: n is the suffix of a 3DNow! instruction */\n");
	printf("static const u8 ap_x86_3dnow[32] = {");
	for (n = 0; n < 32; n++) {
		u8 bits = 0;

		for (m = 0; m < 8; m++) {
			u8 code[15] = { 0x0f, 0x0f, 0xc1, n * 8 + m };
			ZydisDecodedInstruction i;
			ZydisDecoderContext ctx;

			bits |= ZYAN_SUCCESS(
					ZydisDecoderDecodeInstruction(&decoder, &ctx, code, 15, &i))
				<< m;
		}
		printf("%s0x%02x,", n % 12 ? " " : "\n\t", bits);
	}
	printf("\n};\n");
}

static void print_tables(void)
{
	unsigned n;

	print_tree("");
	printf("\nstatic const struct ap_x86_class ap_x86_classes[%u] = {\n", nclasses);
	for (n = 0; n < nclasses; n++) {
		const struct ap_x86_class *c = &classes[n];

		printf("\t{ 0x%x, 0x%x, 0x%x, 0x%x, 0x%x, 0x%x, 0x%x, %u, 0x%x, %u, %u },\n",
		       c->flags, c->use, c->ok, c->gpr_read, c->gpr_write, c->fl_read, c->fl_write,
		       c->kind, c->imm, c->cd8, c->mem_flags);
	}
	printf("};\n");
	fprintf(stderr, "%u classes, %u nodes, %u children\n", nclasses, nnodes, nchildren);
}

int main(void)
{
	static const struct ap_x86_class invalid = { .use = AP_C_NO_REG | AP_C_NO_MEM };

	init_decoder();
	printf("/* SPDX-License-Identifier: MIT */\n"
	       "/* Written by tools/gen-opcodes.c; do not edit. */\n");
	add_class(&invalid);
	print_all_roots("", build_opcode);
	print_3dnow();
	print_tables();
	if (fflush(stdout) || ferror(stdout))
		die("cannot write");
	return 0;
}
