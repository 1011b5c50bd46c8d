/* SPDX-License-Identifier: MIT */
/*
 * The comparison of oracle.h.  Where the decoder is meant to differ from Zydis, the difference is
 * named in one of the allow_*() functions, with its reason; anything else is a mismatch.
 */
#include "oracle.h"

#include <stdio.h>
#include <string.h>

#include "tap/tap.h"

#define SHOWN 30

struct oracle_count oracle_count;

struct answer {
	ZydisDecodedInstruction i;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	u16 gpr_read, gpr_write; /* as Zydis has them */
	u16 partial;		 /* written in part or on a condition: ours reads them too */
	bool mem_read, mem_write, rip_rel, vsib, explicit_mem;
	u8 seg;
	s64 disp;
};

static u16 gpr(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
		return 0;
	return 1u << ZydisRegisterGetId(whole);
}

static void gather_memory(struct answer *a, const ZydisDecodedOperand *op)
{
	a->gpr_read |= gpr(op->mem.base);
	if (op->mem.type != ZYDIS_MEMOP_TYPE_VSIB)
		a->gpr_read |= gpr(op->mem.index);
	a->vsib |= op->mem.type == ZYDIS_MEMOP_TYPE_VSIB;
	a->rip_rel |= op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP;
	if (op->encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM ||
	    op->encoding == ZYDIS_OPERAND_ENCODING_DISP16_32_64) {
		a->explicit_mem = true;
		a->disp = op->mem.disp.value;
	}
	if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
		return;
	a->mem_read |= !!(op->actions & ZYDIS_OPERAND_ACTION_MASK_READ);
	a->mem_write |= !!(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
	if (op->mem.segment == ZYDIS_REGISTER_FS)
		a->seg = AP_SEG_FS;
	if (op->mem.segment == ZYDIS_REGISTER_GS)
		a->seg = AP_SEG_GS;
}

/* Zydis 4.0 takes r13 for a base where mod 0 and SIB base 5 mean none, if 67 and REX.B meet. */
static void correct_base(ZydisDecodedInstruction *i, ZydisDecodedOperand *op)
{
	if ((i->attributes & ZYDIS_ATTRIB_HAS_SIB) && i->raw.sib.base == 5 &&
	    i->raw.modrm.mod == 0 && op->mem.base == ZYDIS_REGISTER_R13D) {
		op->mem.base = ZYDIS_REGISTER_NONE;
		op->mem.disp.value = i->raw.disp.value;
	}
}

static void gather(struct answer *a)
{
	unsigned n;

	for (n = 0; n < a->i.operand_count; n++) {
		ZydisDecodedOperand *op = &a->op[n];

		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			correct_base(&a->i, op);
			gather_memory(a, op);
		}
		if (op->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			a->gpr_read |= gpr(op->reg.value);
		if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
			a->gpr_write |= gpr(op->reg.value);
			if (op->size < 32 || (op->actions & ZYDIS_OPERAND_ACTION_CONDWRITE))
				a->partial |= gpr(op->reg.value);
		}
	}
}

static u8 kind_of_one_byte(const ZydisDecodedInstruction *i)
{
	static const u8 group5[8] = { 0, 0, AP_I_CALL_IND, AP_I_FAR, AP_I_JMP_IND, AP_I_FAR };

	switch (i->opcode) {
	case 0x70 ... 0x7f:
		return AP_I_JCC;
	case 0xe0 ... 0xe3:
		return AP_I_JRCXZ;
	case 0xe8:
		return AP_I_CALL;
	case 0xe9:
	case 0xeb:
		return AP_I_JMP;
	case 0xff:
		return group5[i->raw.modrm.reg];
	case 0xc2:
	case 0xc3:
		return AP_I_RET;
	case 0xca:
	case 0xcb:
		return AP_I_FAR;
	case 0xcf:
		return AP_I_IRET;
	case 0xcc:
	case 0xcd:
	case 0xf1:
		return AP_I_INT;
	case 0xc7:
		return i->raw.modrm.reg == 7 && i->raw.modrm.rm == 0 ? AP_I_XBEGIN : AP_I_OTHER;
	default:
		return i->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED ? AP_I_UD : AP_I_OTHER;
	}
}

static u8 expected_kind(const ZydisDecodedInstruction *i)
{
	if (i->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return AP_I_OTHER;
	if (i->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT)
		return kind_of_one_byte(i);
	if (i->opcode_map != ZYDIS_OPCODE_MAP_0F)
		return i->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED ? AP_I_UD : AP_I_OTHER;
	switch (i->opcode) {
	case 0x80 ... 0x8f:
		return AP_I_JCC;
	case 0x05:
		return AP_I_SYSCALL;
	case 0x07:
	case 0x34:
	case 0x35:
		return AP_I_FAR;
	case 0x0b:
	case 0xb9:
	case 0xff:
	case 0xaa:
		return AP_I_UD;
	case 0x01:
		if (i->mnemonic == ZYDIS_MNEMONIC_ENCLU || i->mnemonic == ZYDIS_MNEMONIC_UIRET)
			return AP_I_FAR;
		break;
	default:
		break;
	}
	return i->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED ? AP_I_UD : AP_I_OTHER;
}

static bool leaves_program(u8 kind)
{
	return kind == AP_I_SYSCALL || kind == AP_I_INT || kind == AP_I_IRET || kind == AP_I_FAR ||
	       kind == AP_I_UD || kind == AP_I_XBEGIN;
}

/* Registers that the decoder reports beyond Zydis. */
static void allow_registers(struct answer *a)
{
	a->gpr_read |= a->partial;
	/* the pointers advance */
	if (a->i.meta.category == ZYDIS_CATEGORY_STRINGOP ||
	    a->i.meta.category == ZYDIS_CATEGORY_IOSTRINGOP)
		a->gpr_write |= a->gpr_read & 0xc0;
	switch (a->i.mnemonic) {
	case ZYDIS_MNEMONIC_SYSCALL: /* the number and the result */
		a->gpr_read |= 1;
		a->gpr_write |= 1;
		break;
	case ZYDIS_MNEMONIC_VMCALL: /* whatever a hypervisor likes */
	case ZYDIS_MNEMONIC_VMMCALL:
	case ZYDIS_MNEMONIC_VMFUNC:
		a->gpr_read = 0xffff;
		a->gpr_write = 0xf;
		break;
	case ZYDIS_MNEMONIC_PAUSE: /* f3 with REX.B: CPUs run xchg r8, rax */
		if (a->i.raw.rex.B)
			a->gpr_read = a->gpr_write = 0x101;
		break;
	case ZYDIS_MNEMONIC_XBEGIN: /* abort status */
		a->gpr_read |= 1;
		a->gpr_write |= 1;
		break;
	case ZYDIS_MNEMONIC_BSF: /* destination survives a source of 0 or an unusable selector */
	case ZYDIS_MNEMONIC_BSR:
	case ZYDIS_MNEMONIC_TZCNT: /* these are bsf and bsr to older CPUs */
	case ZYDIS_MNEMONIC_LZCNT:
	case ZYDIS_MNEMONIC_LAR:
	case ZYDIS_MNEMONIC_LSL:
	case ZYDIS_MNEMONIC_RDSSPD: /* nops without a shadow stack */
	case ZYDIS_MNEMONIC_RDSSPQ:
		a->gpr_read |= gpr(a->op[0].reg.value);
		break;
	default:
		break;
	}
}

/* Memory operands that are addresses only. */
static bool allow_no_access(const ZydisDecodedInstruction *i)
{
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB:
	case ZYDIS_CATEGORY_CLDEMOTE:
		return true;
	case ZYDIS_CATEGORY_MPX:
		return i->mnemonic != ZYDIS_MNEMONIC_BNDMOV;
	default:
		return i->mnemonic == ZYDIS_MNEMONIC_CLFLUSH || i->mnemonic == ZYDIS_MNEMONIC_LEA ||
		       i->mnemonic == ZYDIS_MNEMONIC_UD0 || i->mnemonic == ZYDIS_MNEMONIC_UD1 ||
		       i->mnemonic == ZYDIS_MNEMONIC_INVLPG;
	}
}

static const char *compare_shape(const struct ap_insn *s, const struct answer *a)
{
	const ZydisDecodedInstruction *i = &a->i;
	bool suffix = i->opcode_map == ZYDIS_OPCODE_MAP_0F0F; /* 3DNow!: ours calls it immediate */
	u8 imm_size = suffix ? 1 : i->raw.imm[0].size / 8;
	u8 imm_off = suffix ? i->length - 1 : i->raw.imm[0].offset;

	if (s->len != i->length)
		return "length";
	if (s->kind != expected_kind(i))
		return "kind";
	if (!(s->flags & AP_INSN_RIP_REL) != !a->rip_rel)
		return "rip_rel";
	if (s->disp_size != i->raw.disp.size / 8 || s->disp_off != i->raw.disp.offset)
		return "displacement";
	if (s->disp_size && s->disp != a->disp && !a->rip_rel)
		return "displacement's value";
	if (s->imm_size != imm_size || (imm_size && s->imm_off != imm_off))
		return "immediate";
	if (!suffix && imm_size && i->raw.imm[0].is_signed && s->imm != i->raw.imm[0].value.s)
		return "signed immediate's value";
	if (!suffix && imm_size && imm_size < 8 &&
	    (u64)s->imm << (64 - 8 * imm_size) != i->raw.imm[0].value.u << (64 - 8 * imm_size))
		return "immediate's value";
	if (!(s->flags & AP_INSN_HAS_MODRM) != !(i->attributes & ZYDIS_ATTRIB_HAS_MODRM) ||
	    ((s->flags & AP_INSN_HAS_MODRM) && s->modrm_off != i->raw.modrm.offset))
		return "modrm";
	if (!(s->flags & AP_INSN_HAS_SIB) != !(i->attributes & ZYDIS_ATTRIB_HAS_SIB))
		return "sib";
	if (!suffix && s->opcode != i->opcode)
		return "opcode";
	return NULL;
}

static const char *compare_memory(const struct ap_insn *s, const struct answer *a)
{
	bool none = allow_no_access(&a->i);
	bool enter = a->i.mnemonic == ZYDIS_MNEMONIC_ENTER; /* copies frame pointers if nested */

	if (!(s->flags & AP_INSN_MEM) != !a->explicit_mem)
		return "mem";
	if ((s->flags & AP_INSN_NO_ACCESS) && !none)
		return "no_access";
	if (none && a->explicit_mem && !(s->flags & AP_INSN_NO_ACCESS))
		return "no_access missing";
	if (!none && !(s->flags & AP_INSN_MEM_READ) != !(a->mem_read || enter))
		return "mem_read";
	/* clzero writes a line, of which Zydis knows nothing */
	if (!none && !(s->flags & AP_INSN_MEM_WRITE) !=
			     !(a->mem_write || a->i.mnemonic == ZYDIS_MNEMONIC_CLZERO))
		return "mem_write";
	if (!(s->flags & AP_INSN_VSIB) != !a->vsib)
		return "vsib";
	if (s->seg != a->seg)
		return "segment";
	return NULL;
}

static bool has_prefix(const ZydisDecodedInstruction *i, u8 prefix)
{
	unsigned n;

	for (n = 0; n < i->raw.prefix_count; n++)
		if (i->raw.prefixes[n].value == prefix)
			return true;
	return false;
}

static const char *compare_prefixes(const struct ap_insn *s, const struct answer *a)
{
	u64 attr = a->i.attributes;
	u64 rep = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
	bool string = a->i.meta.category == ZYDIS_CATEGORY_STRINGOP ||
		      a->i.meta.category == ZYDIS_CATEGORY_IOSTRINGOP ||
		      a->i.meta.category == ZYDIS_CATEGORY_PADLOCK;

	if (!(s->flags & AP_INSN_LOCK) != !(attr & ZYDIS_ATTRIB_HAS_LOCK))
		return "lock";
	/* f2 repeats ins, movs and the like as f3 does; Zydis does not say so */
	if ((attr & rep) && !(s->flags & AP_INSN_REP))
		return "rep missing";
	if ((s->flags & AP_INSN_REP) && !string)
		return "rep";
	if (!(s->flags & AP_INSN_ADDR32) != !(attr & ZYDIS_ATTRIB_HAS_ADDRESSSIZE))
		return "addr32";
	/* Zydis' attribute leaves out a mandatory 66 */
	if (!(s->flags & AP_INSN_OPSIZE) != !has_prefix(&a->i, 0x66))
		return "opsize";
	if (!(s->flags & AP_INSN_EVEX) != (a->i.encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX))
		return "evex";
	if (!(s->flags & AP_INSN_VEX) != (a->i.encoding != ZYDIS_INSTRUCTION_ENCODING_VEX &&
					  a->i.encoding != ZYDIS_INSTRUCTION_ENCODING_XOP))
		return "vex";
	return NULL;
}

/*
 * Flags that the decoder is to call certain: Zydis' defined results, but for what Zydis cannot say
 * of one encoding.  *some: may be fewer, as values decide.
 */
static u16 expected_fl_write(const struct ap_insn *s, const struct answer *a, bool *some)
{
	const ZydisAccessedFlags *fl = a->i.cpu_flags;
	u16 certain = 0;

	if (fl)
		certain = (fl->modified | fl->set_0 | fl->set_1) & ~fl->undefined & AP_FL_ALL;
	*some = false;
	switch (a->i.mnemonic) {
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_TEST: /* AF is undefined on paper, always cleared */
	case ZYDIS_MNEMONIC_SBB:  /* Zydis is wrong about AF */
		return certain | AP_FL_AF;
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
		if (a->i.opcode >= 0xd2) /* by cl */
			return 0;
		if (a->i.opcode >= 0xd0) /* by 1: OF is defined */
			return certain | AP_FL_OF;
		*some = true;
		return s->imm & (a->op[0].size == 64 ? 63 : 31) ? certain : 0;
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		*some = true;
		return s->imm_size ? certain : 0;
	case ZYDIS_MNEMONIC_FCOMI:
	case ZYDIS_MNEMONIC_FCOMIP:
	case ZYDIS_MNEMONIC_FUCOMI:
	case ZYDIS_MNEMONIC_FUCOMIP: /* not everyone clears the others */
		return AP_FL_ZF | AP_FL_PF | AP_FL_CF;
	case ZYDIS_MNEMONIC_TZCNT:
	case ZYDIS_MNEMONIC_LZCNT: /* bsf, bsr to older CPUs */
		return AP_FL_ZF;
	case ZYDIS_MNEMONIC_BEXTR: /* Zydis leaves out those that are cleared */
		return AP_FL_ZF | AP_FL_CF | AP_FL_OF;
	case ZYDIS_MNEMONIC_VMCALL:
	case ZYDIS_MNEMONIC_VMMCALL:
	case ZYDIS_MNEMONIC_VMFUNC: /* up to the hypervisor */
		return 0;
	default:
		return s->flags & AP_INSN_REP ? 0 : certain; /* rcx may be 0 */
	}
}

static const char *compare_effects(const struct ap_insn *s, const struct answer *a)
{
	const ZydisAccessedFlags *fl = a->i.cpu_flags;
	u16 certain;
	bool some;

	if (s->gpr_read != a->gpr_read)
		return "gpr_read";
	if (s->gpr_write != a->gpr_write)
		return "gpr_write";
	if (leaves_program(s->kind))
		return s->fl_read == AP_FL_ALL && s->fl_write == 0 ? NULL : "flags of a trap";
	if (fl && (fl->tested & AP_FL_ALL & ~s->fl_read))
		return "fl_read";
	certain = expected_fl_write(s, a, &some);
	if (some ? s->fl_write & ~certain : s->fl_write != certain)
		return "fl_write";
	return NULL;
}

static void show(const u8 *code, const char *what, int ret, const struct ap_insn *s,
		 const struct answer *a)
{
	static struct {
		const char *what;
		ZydisMnemonic mnemonic;
	} seen[SHOWN];
	static unsigned shown;
	ZydisMnemonic mnemonic = a ? a->i.mnemonic : ZYDIS_MNEMONIC_INVALID;
	char hex[64], *p = hex;
	unsigned n;

	oracle_count.wrong++;
	for (n = 0; n < shown; n++)
		if (seen[n].what == what && seen[n].mnemonic == mnemonic)
			return;
	if (shown == SHOWN)
		return;
	seen[shown].what = what;
	seen[shown++].mnemonic = mnemonic;
	for (n = 0; n < AP_INSN_MAX; n++)
		p += sprintf(p, "%02x ", code[n]);
	tap_note("%s: %s", hex, what);
	if (ret)
		tap_note("   ours: error %d", ret);
	else
		tap_note("   ours: len %u kind %u flags %x disp %u@%u imm %u@%u r %x w %x fl %x/%x "
			 "seg %u",
			 s->len, s->kind, s->flags, s->disp_size, s->disp_off, s->imm_size,
			 s->imm_off, s->gpr_read, s->gpr_write, s->fl_read, s->fl_write, s->seg);
	if (!a)
		return;
	tap_note(
		"  zydis: %s len %u kind %u disp %u@%u imm %u@%u r %x w %x fl %x/%x mem %d%d seg %u",
		ZydisMnemonicGetString(a->i.mnemonic), a->i.length, expected_kind(&a->i),
		a->i.raw.disp.size / 8, a->i.raw.disp.offset, a->i.raw.imm[0].size / 8,
		a->i.raw.imm[0].offset, a->gpr_read, a->gpr_write,
		a->i.cpu_flags ? a->i.cpu_flags->tested & AP_FL_ALL : 0,
		a->i.cpu_flags ? (a->i.cpu_flags->modified | a->i.cpu_flags->set_0 |
				  a->i.cpu_flags->set_1) &
					 AP_FL_ALL
			       : 0,
		a->mem_read, a->mem_write, a->seg);
}

/* A valid instruction cut short must ask for more, however short. */
static const char *compare_truncated(const u8 *code, unsigned len)
{
	struct ap_insn s;
	unsigned n;

	for (n = 0; n < len; n++)
		if (ap_insn_decode(&s, code, n) != -61)
			return "truncated";
	return ap_insn_decode(&s, code, len) == 0 && s.len == len ? NULL : "exact length";
}

/* Instructions of Knights Corner alone: every CPU that we run on raises #UD. */
static bool allow_invalid(const ZydisDecodedInstruction *i)
{
	return i->meta.isa_ext == ZYDIS_ISA_EXT_KNC || i->meta.isa_ext == ZYDIS_ISA_EXT_KNCE ||
	       i->meta.isa_ext == ZYDIS_ISA_EXT_KNCV;
}

static const ZydisDecoder *decoder(void)
{
	static ZydisDecoder dec;
	static bool ready;

	if (!ready)
		ZydisDecoderInit(&dec, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ready = true;
	return &dec;
}

unsigned oracle_check(const u8 *code)
{
	struct answer a;
	struct ap_insn s;
	const char *what;
	int ret = ap_insn_decode(&s, code, AP_INSN_MAX);
	bool valid;

	memset(&a, 0, offsetof(struct answer, op));
	a.gpr_read = a.gpr_write = a.partial = a.seg = 0;
	a.mem_read = a.mem_write = a.rip_rel = a.vsib = a.explicit_mem = false;
	a.disp = 0;
	valid = ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder(), code, AP_INSN_MAX, &a.i, a.op)) &&
		!allow_invalid(&a.i);
	oracle_count.checked++;
	if (!valid) {
		if (ret != -84)
			show(code, "zydis: invalid", ret, &s, NULL);
		return 1;
	}
	oracle_count.valid++;
	gather(&a);
	if (ret) {
		show(code, "ours: invalid", ret, &s, &a);
		return a.i.length;
	}
	allow_registers(&a);
	what = compare_shape(&s, &a);
	what = what ? what : compare_memory(&s, &a);
	what = what ? what : compare_prefixes(&s, &a);
	what = what ? what : compare_effects(&s, &a);
	what = what ? what : access_check(&s, code, &a.i, a.op);
	if (!what && oracle_count.checked % 16 == 0)
		what = compare_truncated(code, a.i.length);
	if (what)
		show(code, what, ret, &s, &a);
	return a.i.length;
}
