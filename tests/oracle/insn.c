// SPDX-License-Identifier: MIT
/*
 * Instruction classes, read off the opcode bytes.
 *
 * Only what docs/counting.md tells apart is recognised; everything else is one plain instruction.
 * Prefixes are skipped in any order: a REX that is not last is ignored by the processor, and no
 * class here depends on REX. VEX, EVEX and XOP instructions begin with bytes that are no prefix of
 * this list, and none of them is a branch, so they fall out as plain.
 */
#include "insn.h"

#define RFLAGS_CF (1u << 0)
#define RFLAGS_PF (1u << 2)
#define RFLAGS_ZF (1u << 6)
#define RFLAGS_SF (1u << 7)
#define RFLAGS_OF (1u << 11)

struct prefixes {
	size_t len;
	bool rep;
	bool address32;
	bool operand16;
};

static struct prefixes skip_prefixes(const uint8_t *bytes, size_t n)
{
	struct prefixes p = { 0 };

	for (; p.len < n; p.len++) {
		switch (bytes[p.len]) {
		case 0x66:
			p.operand16 = true;
			continue;
		case 0x67:
			p.address32 = true;
			continue;
		case 0xf2:
		case 0xf3:
			p.rep = true;
			continue;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0xf0:
			continue;
		default:
			if ((bytes[p.len] & 0xf0) == 0x40)
				continue;
			return p;
		}
	}
	return p;
}

static bool is_string_opcode(uint8_t op)
{
	return (op >= 0x6c && op <= 0x6f) || (op >= 0xa4 && op <= 0xa7) ||
	       (op >= 0xaa && op <= 0xaf);
}

static void set_class(struct insn *insn, enum insn_class class, size_t len)
{
	insn->class = class;
	insn->len = (uint8_t)len;
}

/* Length of ModRM, SIB and displacement at @modrm; 0 when they do not fit in @n bytes. */
static size_t modrm_len(const uint8_t *modrm, size_t n)
{
	unsigned int mod = modrm[0] >> 6;
	unsigned int rm = modrm[0] & 7;
	size_t len = 1;

	if (mod == 3)
		return 1;
	if (rm == 4) {
		if (n < 2)
			return 0;
		len++;
		if (mod == 0 && (modrm[1] & 7) == 5)
			len += 4;
	} else if (mod == 0 && rm == 5) {
		len += 4;
	}
	if (mod == 1)
		len += 1;
	if (mod == 2)
		len += 4;
	return len <= n ? len : 0;
}

static void classify_two_byte(uint8_t op, size_t len, struct insn *insn)
{
	if (op == 0x05) {
		set_class(insn, INSN_SYSCALL, len);
	} else if ((op & 0xf0) == 0x80) {
		set_class(insn, INSN_JCC, len + 4);
		insn->condition = op & 15;
	}
}

/*
 * Loads of ss hold off the step trap. So do, under UMIP, the instructions that the kernel emulates:
 * sldt, str, sgdt, sidt and smsw.
 */
static bool may_skip_trap(const uint8_t *op, size_t n)
{
	uint8_t modrm = op[n - 1];
	unsigned int reg = modrm >> 3 & 7;
	bool is_memory = modrm >> 6 != 3;

	if (n == 2)
		return op[0] == 0x8e && reg == 2;
	if (op[1] == 0x00)
		return reg <= 1;
	return op[1] == 0x01 && (reg == 4 || (reg <= 1 && is_memory));
}

static void classify_no_trap(const uint8_t *op, size_t left, size_t prefixes, struct insn *insn)
{
	size_t opcode_len = op[0] == 0x0f ? 2 : 1;
	size_t operand_len;

	if ((op[0] != 0x8e && op[0] != 0x0f) || left <= opcode_len ||
	    !may_skip_trap(op, opcode_len + 1))
		return;
	operand_len = modrm_len(op + opcode_len, left - opcode_len);
	if (operand_len > 0)
		set_class(insn, INSN_NO_TRAP, prefixes + opcode_len + operand_len);
}

static void classify_group5(uint8_t modrm, struct insn *insn)
{
	switch (modrm >> 3 & 7) {
	case 2:
		insn->class = INSN_CALL_INDIRECT;
		break;
	case 4:
		insn->class = INSN_JMP_INDIRECT;
		break;
	default: /* inc, dec, push, and the far forms, which are not near branches */
		break;
	}
}

static void classify_one_byte(uint8_t op, size_t len, struct insn *insn)
{
	switch (op) {
	case 0x70 ... 0x7f:
		set_class(insn, INSN_JCC, len + 1);
		insn->condition = op & 15;
		break;
	case 0x9c:
		set_class(insn, INSN_PUSHF, len);
		break;
	case 0xc2:
		set_class(insn, INSN_RET, len + 2);
		break;
	case 0xc3:
		set_class(insn, INSN_RET, len);
		break;
	case 0xcc:
	case 0xf1:
		set_class(insn, INSN_SOFT_INT, len);
		break;
	case 0xe0 ... 0xe2:
		set_class(insn, INSN_LOOP, len + 1);
		insn->condition = op & 3;
		break;
	case 0xe3:
		set_class(insn, INSN_JRCXZ, len + 1);
		break;
	case 0xe8:
		set_class(insn, INSN_CALL, len + 4);
		break;
	case 0xe9:
		set_class(insn, INSN_JMP, len + 4);
		break;
	case 0xeb:
		set_class(insn, INSN_JMP, len + 1);
		break;
	default:
		break;
	}
}

void insn_classify(const uint8_t *bytes, size_t n, struct insn *insn)
{
	struct prefixes p = skip_prefixes(bytes, n);
	const uint8_t *op = bytes + p.len;
	size_t left = n - p.len;

	*insn = (struct insn){ .class = INSN_PLAIN,
			       .address32 = p.address32,
			       .operand16 = p.operand16 };
	if (left == 0)
		return;
	if (p.rep && is_string_opcode(op[0])) {
		set_class(insn, INSN_REP_STRING, p.len + 1);
		return;
	}
	classify_one_byte(op[0], p.len + 1, insn);
	if (insn->class != INSN_PLAIN || left < 2)
		return;
	if (op[0] == 0x0f)
		classify_two_byte(op[1], p.len + 2, insn);
	else if (op[0] == 0xff)
		classify_group5(op[1], insn);
	else if (op[0] == 0xcd)
		set_class(insn, op[1] == 0x80 ? INSN_SYSCALL : INSN_SOFT_INT, p.len + 2);
	if (p.len == 0 && op[0] == 0x0f && op[1] == 0xa2)
		set_class(insn, INSN_CPUID, 2);
	if (insn->class == INSN_PLAIN)
		classify_no_trap(op, left, p.len, insn);
}

static bool condition_holds(unsigned int condition, uint64_t f)
{
	bool less = !(f & RFLAGS_SF) != !(f & RFLAGS_OF);
	bool value;

	switch (condition >> 1) {
	case 0:
		value = f & RFLAGS_OF;
		break;
	case 1:
		value = f & RFLAGS_CF;
		break;
	case 2:
		value = f & RFLAGS_ZF;
		break;
	case 3:
		value = f & (RFLAGS_CF | RFLAGS_ZF);
		break;
	case 4:
		value = f & RFLAGS_SF;
		break;
	case 5:
		value = f & RFLAGS_PF;
		break;
	case 6:
		value = less;
		break;
	default:
		value = less || (f & RFLAGS_ZF);
		break;
	}
	return (condition & 1) ? !value : value;
}

bool insn_is_taken(const struct insn *insn, const struct insn_flags *in)
{
	uint64_t mask = insn->address32 ? UINT32_MAX : UINT64_MAX;
	bool again;

	switch (insn->class) {
	case INSN_JCC:
		return condition_holds(insn->condition, in->rflags);
	case INSN_JRCXZ:
		return (in->rcx & mask) == 0;
	case INSN_LOOP:
		again = ((in->rcx - 1) & mask) != 0;
		if (insn->condition == 2)
			return again;
		return again && !!(in->rflags & RFLAGS_ZF) == (insn->condition == 1);
	default:
		return insn_is_branch(insn);
	}
}
