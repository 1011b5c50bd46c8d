/* SPDX-License-Identifier: MIT */
/*
 * Instructions by Zydis, for machines without objdump, and written as that does: the library
 * decodes, and the text is made here of what it decoded.
 */
#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/library.h"
#include "profile/symbols/disasm_internal.h"

struct ap_zydis {
	void *lib;
	bool intel;
	ZydisDecoder decoder;
	__typeof__(ZydisDecoderDecodeFull) *decode;
	__typeof__(ZydisMnemonicGetString) *mnemonic;
	__typeof__(ZydisRegisterGetString) *name;
	__typeof__(ZydisCalcAbsoluteAddress) *absolute;
};

/* The text of one instruction as it is made. */
struct insn_writer {
	const struct ap_zydis *z;
	const ZydisDecodedInstruction *insn;
	const ZydisDecodedOperand *op;
	u64 vaddr;
	u64 target;
	bool has_comment;
	char *text;
	size_t room, n;
};

static bool find(void *lib, const char *name, void *fn)
{
	*(void **)fn = dlsym(lib, name);
	return *(void **)fn;
}

static bool bind(struct ap_zydis *z)
{
	__typeof__(ZydisDecoderInit) *init;

	return find(z->lib, "ZydisDecoderInit", &init) &&
	       find(z->lib, "ZydisDecoderDecodeFull", &z->decode) &&
	       find(z->lib, "ZydisMnemonicGetString", &z->mnemonic) &&
	       find(z->lib, "ZydisRegisterGetString", &z->name) &&
	       find(z->lib, "ZydisCalcAbsoluteAddress", &z->absolute) &&
	       ZYAN_SUCCESS(init(&z->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
}

struct ap_zydis *ap_zydis_new(bool intel)
{
	struct ap_zydis *z = ap_profile_calloc(1, sizeof(*z));

	z->intel = intel;
	z->lib = ap_library_open("libZydis.so.4.0");
	if (z->lib && bind(z))
		return z;
	ap_zydis_free(z);
	return NULL;
}

void ap_zydis_free(struct ap_zydis *z)
{
	if (z->lib)
		dlclose(z->lib);
	free(z);
}

static void put(struct insn_writer *w, const char *form, ...) __attribute__((format(printf, 2, 3)));
static void put(struct insn_writer *w, const char *form, ...)
{
	va_list ap;
	int n;

	va_start(ap, form);
	n = vsnprintf(w->text + w->n, w->room - w->n, form, ap);
	va_end(ap);
	if (n > 0)
		w->n += (size_t)n < w->room - w->n ? (size_t)n : w->room - w->n - 1;
}

/* --- mnemonics */

struct pair {
	const char *name, *as;
};

static const char *look_up(const struct pair *p, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(p[i].name, name))
			return p[i].as;
	return NULL;
}

/* Conditions have two names each. */
static const char *condition(const char *name, char *buf, size_t size)
{
	static const struct pair cc[] = { { "z", "e" },	  { "nz", "ne" }, { "nb", "ae" },
					  { "nbe", "a" }, { "nl", "ge" }, { "nle", "g" } };
	static const char *const stem[] = { "j", "set", "cmov" };

	for (size_t i = 0; i < AP_ARRAY_SIZE(stem); i++) {
		size_t n = strlen(stem[i]);
		const char *as =
			strncmp(name, stem[i], n) ? NULL : look_up(cc, AP_ARRAY_SIZE(cc), name + n);

		if (!as)
			continue;
		snprintf(buf, size, "%s%s", stem[i], as);
		return buf;
	}
	return name;
}

static char letter(u32 bits)
{
	switch (bits) {
	case 8:
		return 'b';
	case 16:
		return 'w';
	case 32:
		return 'l';
	default:
		return 'q';
	}
}

/* How much an instruction of the x87 takes from memory. */
static const char *fp_suffix(const char *name, u32 bits)
{
	static const char *const real[] = { "fld",  "fst",   "fstp",  "fadd", "fmul", "fsub",
					    "fdiv", "fsubr", "fdivr", "fcom", "fcomp" };

	for (size_t i = 0; i < AP_ARRAY_SIZE(real); i++)
		if (!strcmp(real[i], name))
			return bits == 32 ? "s" : bits == 64 ? "l" : "t";
	if (!strncmp(name, "fi", 2))
		return bits == 16 ? "s" : bits == 32 ? "l" : "ll";
	return "";
}

/* No register says how large what is in memory is. */
static bool needs_suffix(const struct insn_writer *w, const char *name)
{
	static const char *const sized[] = { "mov", "add", "or",  "adc",  "sbb", "and",
					     "sub", "xor", "cmp", "test", "inc", "dec",
					     "not", "neg", "mul", "imul", "div", "idiv",
					     "rol", "ror", "rcl", "rcr",  "shl", "shr",
					     "sar", "nop", "bt",  "bts",  "btr", "btc" };
	bool is_shift = !strncmp(name, "ro", 2) || !strncmp(name, "rc", 2) ||
			!strncmp(name, "sh", 2) || !strcmp(name, "sar");
	u32 i;

	for (i = 0; i < AP_ARRAY_SIZE(sized) && strcmp(sized[i], name); i++)
		;
	if (i == AP_ARRAY_SIZE(sized) || !w->insn->operand_count_visible ||
	    w->op[0].type != ZYDIS_OPERAND_TYPE_MEMORY)
		return false;
	return w->insn->operand_count_visible == 1 || is_shift || !strcmp(name, "nop") ||
	       w->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* AT&T's assembler once crossed two pairs of names, and so it stayed. */
static const char *crossed(const struct insn_writer *w, const char *name)
{
	static const struct pair pair[] = { { "fsub", "fsubr" },   { "fsubr", "fsub" },
					    { "fdiv", "fdivr" },   { "fdivr", "fdiv" },
					    { "fsubp", "fsubrp" }, { "fsubrp", "fsubp" },
					    { "fdivp", "fdivrp" }, { "fdivrp", "fdivp" } };
	const char *as = w->op[0].encoding == ZYDIS_OPERAND_ENCODING_NONE
				 ? NULL
				 : look_up(pair, AP_ARRAY_SIZE(pair), name);

	return as ? as : name;
}

static void att_mnemonic(struct insn_writer *w, const char *name)
{
	static const struct pair other[] = {
		{ "cbw", "cbtw" },   { "cwde", "cwtl" },  { "cdqe", "cltq" },	{ "cwd", "cwtd" },
		{ "cdq", "cltd" },   { "cqo", "cqto" },	  { "movsd", "movsl" }, { "stosb", "stos" },
		{ "stosw", "stos" }, { "stosd", "stos" }, { "stosq", "stos" },	{ "scasb", "scas" },
		{ "scasw", "scas" }, { "scasd", "scas" }, { "scasq", "scas" },	{ "lodsb", "lods" },
		{ "lodsw", "lods" }, { "lodsd", "lods" }, { "lodsq", "lods" },	{ "cmpsd", "cmpsl" }
	};
	const char *as = w->insn->meta.category == ZYDIS_CATEGORY_STRINGOP ||
					 w->insn->meta.category == ZYDIS_CATEGORY_CONVERT
				 ? look_up(other, AP_ARRAY_SIZE(other), name)
				 : NULL;

	if (w->insn->operand_count_visible == 2 && w->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
		name = crossed(w, name);
	if (!strcmp(name, "movsx") || !strcmp(name, "movzx") || !strcmp(name, "movsxd"))
		put(w, "mov%c%c%c", name[3], letter(w->op[1].size), letter(w->op[0].size));
	else if (as)
		put(w, "%s", as);
	else if ((!strncmp(name, "vcvtsi2s", 8) || !strncmp(name, "cvtsi2s", 7)) &&
		 w->op[w->insn->operand_count_visible - 1].type == ZYDIS_OPERAND_TYPE_MEMORY)
		put(w, "%s%c", name, letter(w->op[w->insn->operand_count_visible - 1].size));
	else if (name[0] == 'f' && w->insn->operand_count_visible &&
		 w->op[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
		put(w, "%s%s", name, fp_suffix(name, w->op[0].size));
	else if (needs_suffix(w, name))
		put(w, "%s%c", name, letter(w->op[0].size));
	else
		put(w, "%s", name);
}

/*
 * vpcmpub $1 is vpcmpltub: how long what stands before the relation is; 0: it is none, or has no
 * such name.
 */
static size_t compares(const struct insn_writer *w)
{
	static const char *const integer[] = { "b", "w", "d", "q", "ub", "uw", "ud", "uq" };
	static const char *const real[] = { "ss", "sd", "ps", "pd" };
	const char *name = w->z->mnemonic(w->insn->mnemonic);
	size_t stem = name[0] == 'v', i;
	u64 which = w->insn->raw.imm[0].value.u;

	if (w->insn->meta.category == ZYDIS_CATEGORY_STRINGOP)
		return 0;
	if (!strncmp(name, "vpcmp", 5)) {
		for (i = 0; i < AP_ARRAY_SIZE(integer) && strcmp(name + 5, integer[i]); i++)
			;
		return i < AP_ARRAY_SIZE(integer) && which < 7 && which != 3 ? 5 : 0;
	}
	if (strncmp(name + stem, "cmp", 3))
		return 0;
	for (i = 0; i < AP_ARRAY_SIZE(real) && strcmp(name + stem + 3, real[i]); i++)
		;
	return i < AP_ARRAY_SIZE(real) && which < 8 ? stem + 3 : 0;
}

static void prefixes(struct insn_writer *w)
{
	static const struct {
		u64 attribute;
		const char *name;
	} prefix[] = {
		{ ZYDIS_ATTRIB_HAS_LOCK, "lock" },	   { ZYDIS_ATTRIB_HAS_REP, "rep" },
		{ ZYDIS_ATTRIB_HAS_REPE, "repz" },	   { ZYDIS_ATTRIB_HAS_REPNE, "repnz" },
		{ ZYDIS_ATTRIB_HAS_BND, "bnd" },	   { ZYDIS_ATTRIB_HAS_NOTRACK, "notrack" },
		{ ZYDIS_ATTRIB_HAS_XACQUIRE, "xacquire" }, { ZYDIS_ATTRIB_HAS_XRELEASE, "xrelease" }
	};
	u32 nwide = 0;
	bool cs = false;

	for (u32 i = 0; i < w->insn->raw.prefix_count; i++) {
		nwide += w->insn->raw.prefixes[i].value == 0x66;
		cs |= w->insn->raw.prefixes[i].value == 0x2e;
	}
	/* padding: what of it says nothing */
	if (w->insn->mnemonic == ZYDIS_MNEMONIC_NOP) {
		while (nwide-- > 1)
			put(w, "data16 ");
		if (cs)
			put(w, "cs ");
	}
	for (u32 i = 0; i < AP_ARRAY_SIZE(prefix); i++)
		if (w->insn->attributes & prefix[i].attribute)
			put(w, "%s ", prefix[i].name);
}

/* A string instruction's operands are all implied, and objdump writes them. */
static u32 string_operands(const struct insn_writer *w)
{
	u32 n = 0;

	if (w->insn->meta.category != ZYDIS_CATEGORY_STRINGOP)
		return 0;
	while (n < w->insn->operand_count && n < 2 &&
	       (w->op[n].type == ZYDIS_OPERAND_TYPE_MEMORY ||
		(w->op[n].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		 w->op[n].reg.value != ZYDIS_REGISTER_RCX)))
		n++;
	return n;
}

static void mnemonic(struct insn_writer *w)
{
	static const char *const relation[] = { "eq",  "lt",  "le",  "unord",
						"neq", "nlt", "nle", "ord" };
	char buf[32];
	const char *name = condition(w->z->mnemonic(w->insn->mnemonic), buf, sizeof(buf));

	prefixes(w);
	if (w->insn->mnemonic == ZYDIS_MNEMONIC_MOV && w->insn->raw.imm[0].size == 64)
		put(w, "movabs");
	else if (compares(w))
		put(w, "%.*s%s%s", (int)compares(w), name, relation[w->insn->raw.imm[0].value.u],
		    name + compares(w));
	else if (w->z->intel && w->insn->meta.category == ZYDIS_CATEGORY_STRINGOP)
		put(w, "%.*s", (int)strlen(name) - 1, name);
	else if (w->z->intel)
		put(w, "%s", name);
	else
		att_mnemonic(w, name);
	if (w->insn->operand_count_visible || string_operands(w))
		put(w, "%*s", w->n < 6 ? (int)(7 - w->n) : 1, "");
}

/* --- operands */

static void put_register(struct insn_writer *w, ZydisRegister reg)
{
	const char *sign = w->z->intel ? "" : "%", *name = w->z->name(reg);

	if (reg >= ZYDIS_REGISTER_ST0 && reg <= ZYDIS_REGISTER_ST7)
		put(w, "%sst(%d)", sign, (int)(reg - ZYDIS_REGISTER_ST0));
	else
		put(w, "%s%s", sign, name);
}

static void signed_hex(struct insn_writer *w, s64 value, bool plus)
{
	put(w, "%s0x%llx",
	    value < 0 ? "-"
	    : plus    ? "+"
		      : "",
	    (unsigned long long)(value < 0 ? -(u64)value : (u64)value));
}

static bool shifts_by_one(const ZydisDecodedInstruction *insn)
{
	return (insn->opcode == 0xd0 || insn->opcode == 0xd1) &&
	       insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
	       insn->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
}

static void immediate(struct insn_writer *w, const ZydisDecodedOperand *op)
{
	u64 value = op->imm.value.u;
	u32 bits = op->imm.is_signed ? w->insn->operand_width : 64;
	ZyanU64 where;

	if (shifts_by_one(w->insn)) {
		put(w, "1");
		return;
	}
	if (op->imm.is_relative && ZYAN_SUCCESS(w->z->absolute(w->insn, op, w->vaddr, &where))) {
		w->target = where;
		put(w, "%llx", (unsigned long long)where);
		return;
	}
	if (bits < 64)
		value &= (1ULL << bits) - 1;
	put(w, "%s0x%llx", w->z->intel ? "" : "$", (unsigned long long)value);
}

static const char *intel_size(const struct insn_writer *w, const ZydisDecodedOperand *op)
{
	if (op->mem.type != ZYDIS_MEMOP_TYPE_MEM)
		return "";
	if (w->insn->avx.broadcast.mode && !w->insn->avx.broadcast.is_static)
		return op->element_size == 64 ? "QWORD BCST " : "DWORD BCST ";
	switch (op->size) {
	case 8:
		return "BYTE PTR ";
	case 16:
		return "WORD PTR ";
	case 32:
		return "DWORD PTR ";
	case 48:
		return "FWORD PTR ";
	case 64:
		return "QWORD PTR ";
	case 80:
		return "TBYTE PTR ";
	case 128:
		return "XMMWORD PTR ";
	case 256:
		return "YMMWORD PTR ";
	case 512:
		return w->insn->avx.vector_length == 512 ? "ZMMWORD PTR " : "";
	default:
		return "";
	}
}

static bool shows_displacement(const struct insn_writer *w, const ZydisDecodedOperand *op)
{
	return op->mem.disp.value || w->insn->raw.disp.size;
}

/* Of an operand that the instruction does not encode (of strings) the segment is told, too. */
static void segment(struct insn_writer *w, const ZydisDecodedOperand *op)
{
	bool is_string = w->insn->meta.category == ZYDIS_CATEGORY_STRINGOP;
	bool is_bare = op->mem.base == ZYDIS_REGISTER_NONE && op->mem.index == ZYDIS_REGISTER_NONE;

	if (op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS ||
	    is_string || (w->z->intel && is_bare)) {
		put_register(w, op->mem.segment);
		put(w, ":");
	}
}

static void att_memory(struct insn_writer *w, const ZydisDecodedOperand *op)
{
	bool is_bare = op->mem.base == ZYDIS_REGISTER_NONE && op->mem.index == ZYDIS_REGISTER_NONE;

	if (w->insn->meta.branch_type)
		put(w, "*");
	segment(w, op);
	if (is_bare) {
		put(w, "0x%llx", (unsigned long long)op->mem.disp.value);
		return;
	}
	if (shows_displacement(w, op))
		signed_hex(w, op->mem.disp.value, false);
	put(w, "(");
	if (op->mem.base != ZYDIS_REGISTER_NONE)
		put_register(w, op->mem.base);
	if (op->mem.index != ZYDIS_REGISTER_NONE) {
		put(w, ",");
		put_register(w, op->mem.index);
		if (op->mem.scale)
			put(w, ",%u", op->mem.scale);
	}
	put(w, ")");
}

static void intel_memory(struct insn_writer *w, const ZydisDecodedOperand *op)
{
	bool has_base = op->mem.base != ZYDIS_REGISTER_NONE;
	bool has_index = op->mem.index != ZYDIS_REGISTER_NONE;

	put(w, "%s", intel_size(w, op));
	segment(w, op);
	if (!has_base && !has_index) {
		put(w, "0x%llx", (unsigned long long)op->mem.disp.value);
		return;
	}
	put(w, "[");
	if (has_base)
		put_register(w, op->mem.base);
	if (has_index) {
		put(w, "%s", has_base ? "+" : "");
		put_register(w, op->mem.index);
		if (op->mem.scale)
			put(w, "*%u", op->mem.scale);
	}
	if (op->mem.base == ZYDIS_REGISTER_RIP)
		put(w, "+0x%llx", (unsigned long long)op->mem.disp.value);
	else if (shows_displacement(w, op))
		signed_hex(w, op->mem.disp.value, true);
	put(w, "]");
}

/* What masks and rounds, of AVX-512. */
static void decorations(struct insn_writer *w, u32 i, const ZydisDecodedOperand *op)
{
	if (w->insn->encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX)
		return;
	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && w->insn->avx.broadcast.mode &&
	    !w->insn->avx.broadcast.is_static && op->element_size)
		put(w, "{1to%u}", w->insn->avx.vector_length / op->element_size);
	if (i || w->insn->avx.mask.reg == ZYDIS_REGISTER_NONE ||
	    w->insn->avx.mask.reg == ZYDIS_REGISTER_K0)
		return;
	put(w, "{");
	put_register(w, w->insn->avx.mask.reg);
	put(w, "}");
	/* a compare's result is a mask itself */
	if (w->insn->avx.mask.mode == ZYDIS_MASK_MODE_ZEROING &&
	    !(op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->reg.value >= ZYDIS_REGISTER_K0 &&
	      op->reg.value <= ZYDIS_REGISTER_K7))
		put(w, "{z}");
}

/* The mask is written behind the first operand. */
static bool is_mask(const struct insn_writer *w, u32 i)
{
	return w->insn->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX && i == 1 &&
	       w->op[i].encoding == ZYDIS_OPERAND_ENCODING_MASK;
}

static void operand(struct insn_writer *w, u32 i)
{
	const ZydisDecodedOperand *op = &w->op[i];

	switch (op->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		if (w->insn->meta.branch_type && !w->z->intel)
			put(w, "*");
		/* the top of the stack where the instruction does not name it */
		if (op->reg.value == ZYDIS_REGISTER_ST0 &&
		    op->encoding == ZYDIS_OPERAND_ENCODING_NONE)
			put(w, w->z->intel ? "st" : "%%st");
		else
			put_register(w, op->reg.value);
		break;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		if (w->z->intel)
			intel_memory(w, op);
		else
			att_memory(w, op);
		if (op->mem.base == ZYDIS_REGISTER_RIP) {
			ZyanU64 where;

			w->has_comment =
				ZYAN_SUCCESS(w->z->absolute(w->insn, op, w->vaddr, &where));
			w->target = w->has_comment ? where : 0;
		}
		break;
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		immediate(w, op);
		break;
	default:
		break;
	}
	decorations(w, i, op);
}

/* Which operands are written: of a nop where it is not, and of a shift by one not the one. */
static u32 operands(const struct insn_writer *w)
{
	u32 n = w->insn->operand_count_visible;

	if (w->insn->mnemonic == ZYDIS_MNEMONIC_NOP && n > 1)
		return 1;
	if (compares(w) || (!w->z->intel && n == 2 && shifts_by_one(w->insn)))
		return n - 1;
	return n;
}

static void write_out(struct insn_writer *w)
{
	u32 n;

	if (w->insn->mnemonic == ZYDIS_MNEMONIC_NOP && w->insn->opcode == 0x90 &&
	    w->insn->operand_width == 16) {
		put(w, w->z->intel ? "xchg   ax,ax" : "xchg   %%ax,%%ax");
		return;
	}
	mnemonic(w);
	n = string_operands(w);
	if (!n)
		n = operands(w);
	for (u32 k = 0, is_next = 0; k < n; k++) {
		u32 i = w->z->intel ? k : n - 1 - k;

		if (is_mask(w, i))
			continue;
		put(w, "%s", is_next++ ? "," : "");
		operand(w, i);
	}
	if (w->has_comment)
		put(w, "        # %llx", (unsigned long long)w->target);
}

u32 ap_zydis_next(struct ap_zydis *z, const u8 *code, size_t size, u64 vaddr, char *text,
		  size_t room, u64 *target)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	struct insn_writer w = {
		.z = z, .insn = &insn, .op = op, .vaddr = vaddr, .text = text, .room = room
	};

	if (!ZYAN_SUCCESS(z->decode(&z->decoder, code, size, &insn, op)))
		return 0;
	text[0] = 0;
	write_out(&w);
	*target = w.target;
	return insn.length;
}
