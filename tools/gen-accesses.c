/* SPDX-License-Identifier: MIT */
/*
 * Writes src/x86/gen/accesses.inc: how many bytes the explicit memory operand of each encoding has,
 * and whether it is read or written.  Apart from the decoder's own tables, because sizes depend on
 * more prefixes than anything that the decoder has to know, and nobody asks for them at its pace.
 *
 * Run by `make gen`.  Implicit operands (stack, strings) are few and regular: src/x86/access.c has
 * them.
 */
#include "opcode-forms.h"

static struct ap_x86_access accesses[1024] = { { 0 } }; /* the first: none */
static unsigned naccesses = 1;

static u16 add_access(const struct ap_x86_access *a)
{
	unsigned n;

	for (n = 0; n < naccesses; n++)
		if (!memcmp(&accesses[n], a, sizeof(*a)))
			return n;
	if (naccesses == AP_ARRAY_SIZE(accesses))
		die("too many accesses");
	accesses[naccesses] = *a;
	return naccesses++;
}

/* Its size is up to what the CPU's extended state or the program's tiles are. */
static bool is_open(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op)
{
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
		return true;
	case ZYDIS_CATEGORY_AMX_TILE:
		return op->size == 0;
	default:
		return false;
	}
}

static u16 leaf_of(const struct probe *pr)
{
	struct ap_x86_access a = { 0 };
	unsigned n;

	for (n = 0; n < pr->i.operand_count; n++) {
		const ZydisDecodedOperand *op = &pr->op[n];

		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    (op->encoding != ZYDIS_OPERAND_ENCODING_MODRM_RM &&
		     op->encoding != ZYDIS_OPERAND_ENCODING_DISP16_32_64))
			continue;
		if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			a.flags |= AP_XA_READ;
		if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			a.flags |= AP_XA_WRITE;
		if (!a.flags)
			continue;
		a.size = op->size / 8;
		a.element = op->element_size / 8;
		a.flags |= is_open(&pr->i, op) ? AP_XA_OPEN : 0;
	}
	return add_access(&a);
}

/* Finds a valid way to fill the fields that a form leaves open. */
static bool ask_some(struct form f, struct probe *pr)
{
	u8 reg = f.modrm >> 3 & 7;
	int aaa, v;

	f.sib = 1 | ((reg + 1) & 7) << 3;
	for (aaa = 0; aaa < (f.enc == EVEX ? 2 : 1); aaa++) {
		f.aaa = aaa;
		for (v = 0; v < (f.enc == LEGACY ? 1 : 8); v++) {
			f.vvvv = v;
			if (v == ((reg + 1) & 7) && v)
				continue;
			if (ask(&f, pr))
				return true;
		}
	}
	return false;
}

static u16 build_modrm(struct form f)
{
	struct probe pr;
	u16 entries[8];
	unsigned reg;

	for (reg = 0; reg < 8; reg++) {
		bool found;

		f.modrm = reg << 3 | 1;
		found = ask_some(f, &pr);
		if (!found) {
			f.modrm = reg << 3 | 4;
			found = ask_some(f, &pr);
		}
		entries[reg] = found ? leaf_of(&pr) : 0;
	}
	return add_node(entries, 8, AP_SEL_REG, 7);
}

int main(void)
{
	unsigned n;

	init_decoder();
	printf("/* SPDX-License-Identifier: MIT */\n"
	       "/* Written by tools/gen-accesses.c; do not edit. */\n");
	print_all_roots("a_", build_modrm);
	print_tree("a_");
	printf("\nstatic const struct ap_x86_access ap_x86_accesses[%u] = {\n", naccesses);
	for (n = 0; n < naccesses; n++)
		printf("\t{ %u, %u, %u },\n", accesses[n].size, accesses[n].element,
		       accesses[n].flags);
	printf("};\n");
	fprintf(stderr, "%u accesses, %u nodes, %u children\n", naccesses, nnodes, nchildren);
	if (fflush(stdout) || ferror(stdout))
		die("cannot write");
	return 0;
}
