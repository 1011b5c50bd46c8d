/* SPDX-License-Identifier: MIT */
/*
 * Explicit operands are taken from generated tables (gen/accesses.inc) by the selector that the
 * decoder left; implicit ones, which are stack, strings and a few oddities, are told by opcode here.
 *
 * Reference: Intel SDM vol. 2, AMD APM vol. 3; what depends on the CPU is as Intel has it.
 */
#include "x86/access.h"

#include "x86/table.h"

#include "x86/gen/accesses.inc"

#define RAX 0
#define RCX 1
#define RDX 2
#define RBX 3
#define RSP 4
#define RBP 5
#define RSI 6
#define RDI 7

#define R  AP_ACCESS_READ
#define W  AP_ACCESS_WRITE
#define RW (AP_ACCESS_READ | AP_ACCESS_WRITE)

/* A list under way. */
struct access_list {
	const struct ap_insn *i;
	const u8 *code;
	struct ap_access *out;
	u32 n;
};

static bool is_vector(const struct ap_insn *i)
{
	return i->flags & (AP_INSN_VEX | AP_INSN_EVEX);
}

/* An implicit operand at [base + disp]; the stack's segment and es cannot be overridden. */
static struct ap_access *add(struct access_list *l, u8 base, s64 disp, u32 size, u8 flags)
{
	struct ap_access *a = &l->out[l->n++];

	*a = (struct ap_access){ .flags = flags,
				 .base = base,
				 .index = AP_ACCESS_NONE,
				 .bits = AP_ACCESS_NONE,
				 .size = size,
				 .disp = disp };
	return a;
}

/* 2, 4 or 8 by 66 and REX.W. */
static u32 operand_size(const struct ap_insn *i)
{
	return i->rex & 8 ? 8 : i->flags & AP_INSN_OPSIZE ? 2 : 4;
}

/* Of push, pop and their kind: 8, or 2 with 66 alone. */
static u32 stack_size(const struct ap_insn *i)
{
	return i->flags & AP_INSN_OPSIZE && !(i->rex & 8) ? 2 : 8;
}

static void push(struct access_list *l, u32 size)
{
	add(l, RSP, -(s64)size, size, W);
}

static void pop(struct access_list *l, u32 size)
{
	add(l, RSP, 0, size, R);
}

/* --- explicit operands */

static u16 find_entry(const struct ap_insn *i)
{
	const u16 *root;
	u16 entry;

	if (i->flags & AP_INSN_EVEX)
		root = ap_x86_a_evex[i->map > 4 ? i->map - 2 : i->map - 1];
	else if (i->flags & AP_INSN_VEX)
		root = i->map >= 8 ? ap_x86_a_xop[i->map - 8] : ap_x86_a_vex[i->map - 1];
	else
		root = ap_x86_a_legacy[i->map];
	for (entry = root[i->opcode]; entry >= AP_X86_NODE;) {
		const struct ap_x86_node *node = &ap_x86_a_nodes[entry - AP_X86_NODE];

		entry = ap_x86_a_children[node->base + (i->sel >> node->shift & node->mask)];
	}
	return entry;
}

/* Register extensions: 8 for B and X, 16 for V' which belongs to a vector index. */
struct ext {
	u8 base, index, high;
};

static struct ext extensions(const struct ap_insn *i, const u8 *code)
{
	const u8 *end = code + i->opcode_off; /* VEX and EVEX end right before the opcode */
	struct ext e = { i->rex & 1 ? 8 : 0, i->rex & 2 ? 8 : 0, 0 };
	u8 p;

	if (!is_vector(i))
		return e;
	if (i->flags & AP_INSN_EVEX) {
		p = end[-3];
		e.high = end[-1] & 8 ? 0 : 16;
	} else {
		/* 0xc5 says map 5, which three-byte forms do not have */
		p = end[-2] == 0xc5 ? 0xff : end[-2];
	}
	e.base = p & 0x20 ? 0 : 8;
	e.index = p & 0x40 ? 0 : 8;
	return e;
}

static void set_address(struct ap_access *a, const struct ap_insn *i, const u8 *code)
{
	struct ext e = extensions(i, code);
	u8 rm = i->modrm & 7, mod = i->modrm >> 6;

	a->disp = i->disp;
	a->seg = i->seg;
	if (!(i->flags & AP_INSN_HAS_MODRM)) /* moffs */
		return;
	if (i->flags & AP_INSN_RIP_REL) {
		a->base = AP_ACCESS_RIP;
		return;
	}
	if (!(i->flags & AP_INSN_HAS_SIB)) {
		a->base = rm | e.base;
		return;
	}
	if ((i->sib & 7) != 5 || mod != 0)
		a->base = (i->sib & 7) | e.base;
	a->index = (i->sib >> 3 & 7) | e.index;
	a->scale = i->sib >> 6;
	if (i->flags & AP_INSN_VSIB)
		a->index |= e.high;
	else if (a->index == RSP)
		a->index = AP_ACCESS_NONE;
}

/* Vector length in bytes. */
static u32 vector_size(const struct ap_insn *i)
{
	if (i->flags & AP_INSN_EVEX)
		return 16u << (i->sel >> AP_SEL_LEN & 3);
	return i->sel >> AP_SEL_LEN & 1 ? 32 : 16;
}

/* Gathers and scatters: even opcodes have indices of 4 bytes, odd ones of 8. */
static u8 count_elements(const struct ap_insn *i, u32 size)
{
	u32 index = i->opcode & 1 ? 8 : 4;

	return (u8)(vector_size(i) / (index > size ? index : size));
}

/* vmaskmov, vpmaskmov: under the sign bits of a vector. */
static bool has_vector_mask(const struct ap_insn *i)
{
	if (!(i->flags & AP_INSN_VEX) || i->map != 2)
		return false;
	return (i->opcode >= 0x2c && i->opcode <= 0x2f) || i->opcode == 0x8c || i->opcode == 0x8e ||
	       i->flags & AP_INSN_VSIB;
}

static bool is_masked(const struct ap_insn *i, const u8 *code)
{
	if (i->flags & AP_INSN_EVEX)
		return code[i->opcode_off - 1] & 7;
	return has_vector_mask(i);
}

static bool is_bit_string(const struct ap_insn *i)
{
	return i->map == 1 && !is_vector(i) &&
	       (i->opcode == 0xa3 || i->opcode == 0xab || i->opcode == 0xb3 || i->opcode == 0xbb);
}

#if defined(__x86_64__)
static bool is_intels(void)
{
	u32 max, ebx, ecx, edx;

	__asm__ volatile("cpuid" : "=a"(max), "=b"(ebx), "=c"(ecx), "=d"(edx) : "a"(0), "c"(0));
	return ebx == 0x756e6547; /* "Genu" */
}
#else
static bool is_intels(void)
{
	return false;
}
#endif

/* movsxd to a register of 16 bits: its source has as many on Intel's CPUs, and 32 on AMD's. */
static bool is_narrow(const struct ap_insn *i)
{
	return i->map == 0 && i->opcode == 0x63 && operand_size(i) == 2 && is_intels();
}

static void add_explicit(struct access_list *l)
{
	const struct ap_insn *i = l->i;
	const struct ap_x86_access *x;
	struct ap_access *a;
	u8 flags;

	if (!(i->flags & AP_INSN_MEM) || i->flags & AP_INSN_NO_ACCESS || i->kind == AP_I_UD)
		return;
	x = &ap_x86_accesses[find_entry(i)];
	flags = (x->flags & AP_XA_READ ? R : 0) | (x->flags & AP_XA_WRITE ? W : 0);
	if (!flags)
		return;
	flags |= x->flags & AP_XA_OPEN ? AP_ACCESS_OPEN : 0;
	flags |= i->flags & AP_INSN_ADDR32 ? AP_ACCESS_ADDR32 : 0;
	flags |= is_masked(i, l->code) ? AP_ACCESS_MASKED : 0;
	a = add(l, AP_ACCESS_NONE, 0, is_narrow(i) ? 2 : x->size, flags);
	set_address(a, i, l->code);
	a->element = flags & AP_ACCESS_MASKED ? x->element : 0;
	if (i->flags & AP_INSN_VSIB) {
		a->flags |= AP_ACCESS_VSIB;
		a->elements = count_elements(i, x->size);
	}
	if (is_bit_string(i))
		a->bits = (i->modrm >> 3 & 7) | (i->rex & 4 ? 8 : 0);
}

/* --- implicit operands */

/* rsi, whose segment can be overridden, and rdi, whose cannot. */
static void add_string(struct access_list *l, u8 reg, u32 size, u8 flags)
{
	struct ap_access *a = add(l, reg, 0, size, flags | AP_ACCESS_STRING);

	a->flags |= l->i->flags & AP_INSN_ADDR32 ? AP_ACCESS_ADDR32 : 0;
	a->seg = reg == RDI ? AP_SEG_NONE : l->i->seg;
}

static void list_string(struct access_list *l)
{
	u8 op = l->i->opcode;
	u32 size = op & 1 ? operand_size(l->i) : 1;

	switch (op & 0xfe) {
	case 0x6c: /* ins, outs: never of 8 bytes */
		add_string(l, RDI, size == 8 ? 4 : size, W);
		break;
	case 0x6e:
		add_string(l, RSI, size == 8 ? 4 : size, R);
		break;
	case 0xa4: /* movs */
		add_string(l, RSI, size, R);
		add_string(l, RDI, size, W);
		break;
	case 0xa6: /* cmps */
		add_string(l, RSI, size, R);
		add_string(l, RDI, size, R);
		break;
	case 0xaa: /* stos */
		add_string(l, RDI, size, W);
		break;
	case 0xac: /* lods */
		add_string(l, RSI, size, R);
		break;
	default: /* scas */
		add_string(l, RDI, size, R);
		break;
	}
}

/*
 * enter: rbp is pushed; of a nested procedure the enclosing frames' pointers are copied below it,
 * and the new frame's.
 */
static void list_enter(struct access_list *l)
{
	u32 size = stack_size(l->i), level = l->code[l->i->imm_off + 2] & 31;
	u32 copies = level ? level - 1 : 0, pushes = level + 1;

	if (copies)
		add(l, RBP, -(s64)(size * copies), size * copies, R);
	add(l, RSP, -(s64)(size * pushes), size * pushes, W);
}

static void list_xlat(struct access_list *l)
{
	struct ap_access *a = add(l, RBX, 0, 1, R);

	a->index = AP_ACCESS_AL;
	a->seg = l->i->seg;
	a->flags |= l->i->flags & AP_INSN_ADDR32 ? AP_ACCESS_ADDR32 : 0;
}

/* pop [m]: an address with rsp in it is computed after the pop. */
static void list_pop_memory(struct access_list *l)
{
	u32 first = l->n;

	pop(l, stack_size(l->i));
	add_explicit(l);
	if (l->n > first + 1 && l->out[first + 1].base == RSP)
		l->out[first + 1].disp += l->out[first].size;
}

/* Far transfers: two words to or from the stack; explicit pointers come first. */
static void list_far(struct access_list *l)
{
	const struct ap_insn *i = l->i;
	u32 size = operand_size(i);

	add_explicit(l);
	if (i->map != 0)
		return;
	if (i->opcode == 0xff && (i->modrm >> 3 & 7) == 3)
		add(l, RSP, -(s64)(2 * size), 2 * size, W);
	else if (i->opcode == 0xca || i->opcode == 0xcb)
		pop(l, 2 * size);
}

static void list_group5(struct access_list *l)
{
	add_explicit(l);
	switch (l->i->modrm >> 3 & 7) {
	case 2: /* call */
		push(l, 8);
		break;
	case 6: /* push */
		push(l, stack_size(l->i));
		break;
	default:
		break;
	}
}

static void list_one_byte(struct access_list *l)
{
	const struct ap_insn *i = l->i;

	switch (i->opcode) {
	case 0x50 ... 0x57:
	case 0x68:
	case 0x6a:
	case 0x9c:
		push(l, stack_size(i));
		break;
	case 0x58 ... 0x5f:
	case 0x9d:
		pop(l, stack_size(i));
		break;
	case 0x6c ... 0x6f:
	case 0xa4 ... 0xa7:
	case 0xaa ... 0xaf:
		list_string(l);
		break;
	case 0x8f:
		list_pop_memory(l);
		break;
	case 0xc2:
	case 0xc3:
		pop(l, 8);
		break;
	case 0xc8:
		list_enter(l);
		break;
	case 0xc9: /* leave: rsp is rbp by then */
		add(l, RBP, 0, stack_size(i), R);
		break;
	case 0xcf:
		pop(l, 5 * operand_size(i));
		break;
	case 0xd7:
		list_xlat(l);
		break;
	case 0xe8:
		push(l, 8);
		break;
	case 0xff:
		list_group5(l);
		break;
	default:
		add_explicit(l);
		break;
	}
}

/* maskmovq, maskmovdqu, vmaskmovdqu: bytes at rdi under the sign bits of the other register. */
static void list_maskmov(struct access_list *l)
{
	const struct ap_insn *i = l->i;
	bool is_mmx = !is_vector(i) && !(i->flags & AP_INSN_OPSIZE);
	struct ap_access *a = add(l, RDI, 0, is_mmx ? 8 : 16, W | AP_ACCESS_MASKED);

	a->element = 1;
	a->seg = i->seg;
	a->flags |= i->flags & AP_INSN_ADDR32 ? AP_ACCESS_ADDR32 : 0;
}

/* VIA's engines: as many bytes as registers say, at all of these. */
static void list_padlock(struct access_list *l)
{
	u8 flags = AP_ACCESS_OPEN | (l->i->flags & AP_INSN_ADDR32 ? AP_ACCESS_ADDR32 : 0);
	bool is_store = l->i->opcode == 0xa7 && l->i->modrm == 0xc0;

	if (!is_store) {
		add(l, RSI, 0, 1, flags | R);
		add(l, RDX, 0, 1, flags | R);
		add(l, RBX, 0, 1, flags | R);
		add(l, RAX, 0, 1, flags | RW);
	}
	add(l, RDI, 0, 1, flags | RW);
}

static void list_group7(struct access_list *l)
{
	const struct ap_insn *i = l->i;
	struct ap_access *a;

	if (i->modrm == 0xfc) { /* clzero */
		a = add(l, RAX, 0, 64, W | AP_ACCESS_LINE);
		a->seg = i->seg;
		a->flags |= i->flags & AP_INSN_ADDR32 ? AP_ACCESS_ADDR32 : 0;
		return;
	}
	add_explicit(l);
}

static void list_two_byte(struct access_list *l)
{
	switch (l->i->opcode) {
	case 0x01:
		list_group7(l);
		break;
	case 0x1a: /* bndmov: nops since no kernel lets MPX be */
	case 0x1b:
		break;
	case 0xa0:
	case 0xa8:
		push(l, stack_size(l->i));
		break;
	case 0xa1:
	case 0xa9:
		pop(l, stack_size(l->i));
		break;
	case 0xa6:
	case 0xa7:
		list_padlock(l);
		break;
	case 0xf7:
		list_maskmov(l);
		break;
	default:
		add_explicit(l);
		break;
	}
}

/* movdir64b, enqcmd, enqcmds: 64 bytes from the operand to where a register says, in es. */
static bool is_wide_store(const struct ap_insn *i)
{
	return i->map == 2 && !is_vector(i) && i->opcode == 0xf8;
}

static void list_wide_store(struct access_list *l)
{
	const struct ap_insn *i = l->i;
	u8 reg = (i->modrm >> 3 & 7) | (i->rex & 4 ? 8 : 0);

	add_explicit(l);
	add(l, reg, 0, 64, W | (i->flags & AP_INSN_ADDR32 ? AP_ACCESS_ADDR32 : 0));
}

u32 ap_insn_accesses(const struct ap_insn *insn, const u8 *code,
		     struct ap_access out[AP_ACCESS_MAX])
{
	struct access_list l = { insn, code, out, 0 };

	if (!(insn->flags & (AP_INSN_MEM_READ | AP_INSN_MEM_WRITE)))
		return 0;
	if (insn->kind == AP_I_FAR)
		list_far(&l);
	else if (is_vector(insn) && insn->map == 1 && insn->opcode == 0xf7)
		list_maskmov(&l);
	else if (is_vector(insn))
		add_explicit(&l);
	else if (is_wide_store(insn))
		list_wide_store(&l);
	else if (insn->map == 0)
		list_one_byte(&l);
	else if (insn->map == 1)
		list_two_byte(&l);
	else
		add_explicit(&l);
	return l.n;
}

enum ap_flush ap_insn_flush(const struct ap_insn *insn, const u8 *code, struct ap_access *out)
{
	struct access_list l = { insn, code, out, 0 };
	u8 reg = insn->modrm >> 3 & 7;

	if (insn->map != 1 || insn->opcode != 0xae || is_vector(insn) || insn->kind == AP_I_UD ||
	    !(insn->flags & AP_INSN_NO_ACCESS) || reg < 6)
		return AP_FLUSH_NONE;
	set_address(
		add(&l, AP_ACCESS_NONE, 0, 1, insn->flags & AP_INSN_ADDR32 ? AP_ACCESS_ADDR32 : 0),
		insn, code);
	return reg == 7 ? AP_FLUSH_DROPS : AP_FLUSH_KEEPS;
}

/* --- addresses */

static u64 bit_offset(const struct ap_access *a, u64 reg)
{
	s64 bits = a->size == 8 ? (s64)reg : a->size == 4 ? (s32)reg : (s16)reg;

	return (u64)(bits >> (a->size == 8 ? 6 : a->size == 4 ? 5 : 4)) * a->size;
}

u64 ap_access_address(const struct ap_access *a, const u64 gpr[16], u64 next, const u64 seg_base[3])
{
	u64 at = (u64)a->disp;

	if (a->base == AP_ACCESS_RIP)
		at += next;
	else if (a->base != AP_ACCESS_NONE)
		at += gpr[a->base];
	if (a->index == AP_ACCESS_AL)
		at += gpr[RAX] & 0xff;
	else if (a->index != AP_ACCESS_NONE && !(a->flags & AP_ACCESS_VSIB))
		at += gpr[a->index] << a->scale;
	if (a->bits != AP_ACCESS_NONE)
		at += bit_offset(a, gpr[a->bits]);
	if (a->flags & AP_ACCESS_ADDR32)
		at = (u32)at;
	at += seg_base[a->seg];
	return a->flags & AP_ACCESS_LINE ? at & ~(u64)(a->size - 1) : at;
}

/* --- strings */

/* From the first iteration whose end passes the watch to the last that begins before its end. */
static void iterations_of(const struct ap_access_string *s, u64 n, u64 addr, u32 len, s64 span[2])
{
	s64 lo = (s64)(addr - s->size + 1 - s->at), hi = (s64)(addr + len - 1 - s->at);
	s64 from = s->down ? -hi : lo, to = s->down ? -lo : hi, size = s->size;

	span[0] = from <= 0 ? 0 : (from + size - 1) / size;
	span[1] = to < 0 ? 0 : to / size + 1;
	if ((u64)span[1] > n)
		span[1] = (s64)n;
	if (span[0] > span[1])
		span[0] = span[1];
}

u64 ap_access_iterations(const struct ap_access_string *s, u32 count, u64 n, u64 addr, u32 len,
			 bool reads_too)
{
	s64 span[2][2] = { { 0 } }, lo, hi;

	for (u32 k = 0; k < count; k++)
		if (s[k].is_write || reads_too)
			iterations_of(&s[k], n, addr, len, span[k]);
	lo = span[0][0] > span[1][0] ? span[0][0] : span[1][0];
	hi = span[0][1] < span[1][1] ? span[0][1] : span[1][1];
	return (u64)(span[0][1] - span[0][0] + span[1][1] - span[1][0] - (hi > lo ? hi - lo : 0));
}
