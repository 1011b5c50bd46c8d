// SPDX-License-Identifier: MIT
/*
 * Memory operands as Zydis lists them, implicit ones included, and floating-point classes by what
 * the mnemonic says.
 */
#include "access.h"

#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>

/* Memory operands that are addresses only. */
static bool touches_nothing(const ZydisDecodedInstruction *i)
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
	default:
		return i->mnemonic == ZYDIS_MNEMONIC_CLFLUSH;
	}
}

static void add_operands(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *op,
			 struct access *access)
{
	if (i->mnemonic == ZYDIS_MNEMONIC_CLZERO) /* which has no operand in Zydis */
		access->stores = true;
	for (unsigned n = 0; n < i->operand_count; n++) {
		if (op[n].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    op[n].mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			continue;
		access->loads |= (op[n].actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
		access->stores |= (op[n].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
	}
}

static unsigned operations(const char *stem)
{
	static const char *const once[] = { "add",  "sub",  "mul",    "div",	"min",
					    "max",  "sqrt", "rcp",    "rcp14",	"rsqrt",
					    "hadd", "hsub", "addsub", "rsqrt14" };
	static const char *const fused[] = { "fmadd", "fmsub", "fnmadd", "fnmsub" };

	for (size_t n = 0; n < sizeof(once) / sizeof(once[0]); n++)
		if (strcmp(stem, once[n]) == 0)
			return 1;
	for (size_t n = 0; n < sizeof(fused) / sizeof(fused[0]); n++)
		if (strncmp(stem, fused[n], strlen(fused[n])) == 0)
			return 2;
	return strcmp(stem, "dp") == 0 ? 2 : 0;
}

/* vfmadd231sd is v, fmadd231, scalar, double. */
static void add_arithmetic(const ZydisDecodedInstruction *i, struct access *access)
{
	const char *name = ZydisMnemonicGetString(i->mnemonic);
	size_t len;
	char stem[64], how, type;

	snprintf(stem, sizeof(stem), "%s", name + (name[0] == 'v'));
	len = strlen(stem);
	if (len < 4)
		return;
	how = stem[len - 2];
	type = stem[len - 1];
	if ((how != 'p' && how != 's') || (type != 's' && type != 'd'))
		return;
	stem[len - 2] = '\0';
	access->fp_count = (uint8_t)operations(stem);
	if (how == 's')
		access->fp_class = ACCESS_SCALAR_DOUBLE;
	else if (i->avx.vector_length == 512)
		access->fp_class = ACCESS_512_DOUBLE;
	else
		access->fp_class =
			i->avx.vector_length == 256 ? ACCESS_256_DOUBLE : ACCESS_128_DOUBLE;
	access->fp_class += type == 's';
}

void access_classify(const uint8_t *bytes, size_t n, struct access *access)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	ZydisDecoder decoder;

	*access = (struct access){ 0 };
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, n, &i, op)))
		return;
	if (!touches_nothing(&i))
		add_operands(&i, op, access);
	access->locked = i.attributes & ZYDIS_ATTRIB_HAS_LOCK ||
			 (i.mnemonic == ZYDIS_MNEMONIC_XCHG && access->loads);
	add_arithmetic(&i, access);
}
