/* SPDX-License-Identifier: MIT */
/*
 * The whole 64-bit opcode space, form by form, and decision trees over it: what gen-opcodes.c and
 * gen-accesses.c share.  Every map, mandatory prefix, operand size, vector length and ModRM.reg is
 * handed to the caller, whose answers (numbers below AP_X86_NODE) become the leaves of one tree per
 * opcode (src/x86/table.h).  Equal subtrees are stored once.
 */
#ifndef AP_TOOLS_OPCODE_FORMS_H
#define AP_TOOLS_OPCODE_FORMS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "x86/insn.h"
#include "x86/table.h"

struct probe {
	ZydisDecodedInstruction i;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

enum enc { LEGACY, VEX, XOP, EVEX };

/* One encoding to ask about; extension bits are stored positive. */
struct form {
	u8 enc, map, opcode;
	u8 pfx; /* legacy: 66 | rep << 1; else pp */
	u8 lock, gs, w, len, b, z, aaa;
	u8 r, x, bb, r2, v2, vvvv;
	u8 modrm, sib;
};

static ZydisDecoder decoder;

static struct ap_x86_node nodes[8192];
static unsigned nnodes;
static u16 children[65536];
static unsigned nchildren;

static void die(const char *what)
{
	fprintf(stderr, "gen-opcodes: %s\n", what);
	exit(1);
}

static size_t emit_legacy(const struct form *f, u8 *p)
{
	static const u8 rep[] = { 0, 0xf3, 0xf2 };
	u8 *start = p;

	if (f->pfx & 1)
		*p++ = 0x66;
	if (f->pfx >> 1)
		*p++ = rep[f->pfx >> 1];
	if (f->w || f->r || f->x || f->bb)
		*p++ = 0x40 | f->w << 3 | f->r << 2 | f->x << 1 | f->bb;
	if (f->map)
		*p++ = 0x0f;
	if (f->map > 1)
		*p++ = f->map == 2 ? 0x38 : 0x3a;
	return p - start;
}

static size_t emit_vector(const struct form *f, u8 *p)
{
	u8 rxb = (!f->r << 7) | (!f->x << 6) | (!f->bb << 5);
	u8 vvvv = (~f->vvvv & 15) << 3;

	if (f->enc == EVEX) {
		p[0] = 0x62;
		p[1] = rxb | (!f->r2 << 4) | f->map;
		p[2] = f->w << 7 | vvvv | 4 | f->pfx;
		p[3] = f->z << 7 | f->len << 5 | f->b << 4 | (!f->v2 << 3) | f->aaa;
		return 4;
	}
	p[0] = f->enc == VEX ? 0xc4 : 0x8f;
	p[1] = rxb | f->map;
	p[2] = f->w << 7 | vvvv | f->len << 2 | f->pfx;
	return 3;
}

/* Encodes f with zero displacement and immediates. */
static void emit(const struct form *f, u8 buf[32])
{
	u8 *p = buf;

	memset(buf, 0, 32);
	if (f->lock)
		*p++ = 0xf0;
	if (f->gs)
		*p++ = 0x65;
	p += f->enc == LEGACY ? emit_legacy(f, p) : emit_vector(f, p);
	*p++ = f->opcode;
	*p++ = f->modrm;
	if ((f->modrm & 7) == 4 && f->modrm < 0xc0)
		*p++ = f->sib;
	if (f->enc == LEGACY && f->map == 1 && f->opcode == 0x0f)
		memset(p, 0x9e, buf + 32 - p); /* pfadd */
	else if (f->modrm >> 6 == 1)
		*p = 1;
}

/* Zydis knows the jumps and mask operations of Knights Corner, which share VEX with everyone. */
static bool is_foreign(const ZydisDecodedInstruction *i)
{
	return i->meta.isa_ext == ZYDIS_ISA_EXT_KNC || i->meta.isa_ext == ZYDIS_ISA_EXT_KNCE ||
	       i->meta.isa_ext == ZYDIS_ISA_EXT_KNCV;
}

static bool ask(const struct form *f, struct probe *pr)
{
	u8 buf[32];

	emit(f, buf);
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, buf, 15, &pr->i, pr->op)) &&
	       !is_foreign(&pr->i);
}

static void init_decoder(void)
{
	if (!ZYAN_SUCCESS(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		die("no Zydis");
}

/* --- trees */

/* One entry that picks among count by the selector's bits at shift; entries that agree collapse. */
static u16 add_node(const u16 *entries, unsigned count, u8 shift, u8 mask)
{
	unsigned n, base;

	for (n = 1; n < count && entries[n] == entries[0]; n++)
		;
	if (n == count)
		return entries[0];
	for (base = 0; base + count <= nchildren; base++)
		if (!memcmp(&children[base], entries, count * sizeof(*entries)))
			break;
	if (base + count > nchildren) {
		base = nchildren;
		if (base + count > AP_ARRAY_SIZE(children))
			die("too many children");
		memcpy(&children[base], entries, count * sizeof(*entries));
		nchildren += count;
	}
	for (n = 0; n < nnodes; n++)
		if (nodes[n].base == base && nodes[n].shift == shift && nodes[n].mask == mask)
			return AP_X86_NODE + n;
	if (nnodes == AP_ARRAY_SIZE(nodes))
		die("too many nodes");
	nodes[nnodes] = (struct ap_x86_node){ .base = base, .shift = shift, .mask = mask };
	return AP_X86_NODE + nnodes++;
}

/* The entry for all ModRM bytes of one opcode under one set of prefixes. */
typedef u16 build_fn(struct form f);

/* Legacy: prefixes, then REX.W, then REX.B (which tells nop from xchg), then ModRM. */
static u16 build_legacy(struct form f, build_fn *build)
{
	u16 pfx[8], w[2], b[2];

	for (f.pfx = 0; f.pfx < 6; f.pfx++) {
		for (f.w = 0; f.w < 2; f.w++) {
			f.bb = 0;
			b[0] = build(f);
			b[1] = b[0];
			if (f.map == 0 && f.opcode == 0x90) {
				f.bb = 1;
				b[1] = build(f);
				f.bb = 0;
			}
			w[f.w] = add_node(b, 2, AP_SEL_B, 1);
		}
		f.w = 0;
		pfx[f.pfx] = add_node(w, 2, AP_SEL_W, 1);
	}
	pfx[6] = pfx[7] = 0;
	if (pfx[0] == pfx[2] && pfx[2] == pfx[4] && pfx[1] == pfx[3] && pfx[3] == pfx[5])
		return add_node(pfx, 2, AP_SEL_PFX, 1);
	return add_node(pfx, 6, AP_SEL_PFX, 7);
}

static u16 build_vector(struct form f, build_fn *build)
{
	u16 pp[4], w[2], len[8];
	unsigned n, lens = f.enc == EVEX ? 8 : 2;

	for (f.pfx = 0; f.pfx < 4; f.pfx++) {
		for (f.w = 0; f.w < 2; f.w++) {
			for (n = 0; n < lens; n++) {
				f.len = n & 3;
				f.b = n >> 2;
				len[n] = build(f);
			}
			w[f.w] = add_node(len, lens, AP_SEL_LEN, lens - 1);
		}
		pp[f.pfx] = add_node(w, 2, AP_SEL_W, 1);
	}
	return add_node(pp, 4, AP_SEL_PFX, 3);
}

static bool is_prefix(const struct form *f)
{
	static const u8 other[] = { 0x0f, 0x26, 0x2e, 0x36, 0x3e, 0x62, 0x64, 0x65,
				    0x66, 0x67, 0xc4, 0xc5, 0xf0, 0xf2, 0xf3 };

	if (f->enc != LEGACY || f->map > 1)
		return false;
	if (f->map == 1)
		return f->opcode == 0x38 || f->opcode == 0x3a;
	return f->opcode >> 4 == 4 || memchr(other, f->opcode, sizeof(other));
}

static void print_roots(const char *name, enum enc enc, const u8 *maps, unsigned count,
			build_fn *build)
{
	unsigned n, opcode;

	printf("\nstatic const u16 ap_x86_%s[%u][256] = {\n", name, count);
	for (n = 0; n < count; n++) {
		printf("\t{ /* map %u */", maps[n]);
		for (opcode = 0; opcode < 256; opcode++) {
			struct form f = { .enc = enc, .map = maps[n], .opcode = opcode };
			u16 entry = 0;

			if (!is_prefix(&f))
				entry = enc == LEGACY ? build_legacy(f, build)
						      : build_vector(f, build);
			printf("%s%u,", opcode % 12 ? " " : "\n\t\t", entry);
		}
		printf("\n\t},\n");
	}
	printf("};\n");
}

static void print_all_roots(const char *prefix, build_fn *build)
{
	static const u8 legacy[] = { 0, 1, 2, 3 }, vex[] = { 1, 2, 3 }, xop[] = { 8, 9, 10 };
	static const u8 evex[] = { 1, 2, 3, 5, 6 };
	char name[32];

	snprintf(name, sizeof(name), "%slegacy", prefix);
	print_roots(name, LEGACY, legacy, 4, build);
	snprintf(name, sizeof(name), "%svex", prefix);
	print_roots(name, VEX, vex, 3, build);
	snprintf(name, sizeof(name), "%sxop", prefix);
	print_roots(name, XOP, xop, 3, build);
	snprintf(name, sizeof(name), "%sevex", prefix);
	print_roots(name, EVEX, evex, 5, build);
}

static void print_tree(const char *prefix)
{
	unsigned n;

	printf("\nstatic const u16 ap_x86_%schildren[%u] = {", prefix, nchildren);
	for (n = 0; n < nchildren; n++)
		printf("%s%u,", n % 12 ? " " : "\n\t", children[n]);
	printf("\n};\n\nstatic const struct ap_x86_node ap_x86_%snodes[%u] = {\n", prefix, nnodes);
	for (n = 0; n < nnodes; n++)
		printf("\t{ %u, %u, %u },\n", nodes[n].base, nodes[n].shift, nodes[n].mask);
	printf("};\n");
}

#endif
