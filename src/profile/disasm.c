/* SPDX-License-Identifier: MIT */
#include "profile/disasm.h"

#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/intern.h"

struct ap_disasm {
	void *lib;
	ZydisDecoder decoder;
	ZydisFormatter formatter;
	__typeof__(ZydisDecoderDecodeFull) *decode;
	__typeof__(ZydisFormatterFormatInstruction) *format;
	__typeof__(ZydisCalcAbsoluteAddress) *absolute;
};

static bool find(void *lib, const char *name, void *fn)
{
	*(void **)fn = dlsym(lib, name);
	return *(void **)fn;
}

static bool bind(struct ap_disasm *d, bool intel)
{
	__typeof__(ZydisDecoderInit) *decoder_init;
	__typeof__(ZydisFormatterInit) *formatter_init;

	return find(d->lib, "ZydisDecoderInit", &decoder_init) &&
	       find(d->lib, "ZydisFormatterInit", &formatter_init) &&
	       find(d->lib, "ZydisDecoderDecodeFull", &d->decode) &&
	       find(d->lib, "ZydisFormatterFormatInstruction", &d->format) &&
	       find(d->lib, "ZydisCalcAbsoluteAddress", &d->absolute) &&
	       ZYAN_SUCCESS(decoder_init(&d->decoder, ZYDIS_MACHINE_MODE_LONG_64,
					 ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(formatter_init(&d->formatter, intel ? ZYDIS_FORMATTER_STYLE_INTEL
								: ZYDIS_FORMATTER_STYLE_ATT));
}

struct ap_disasm *ap_disasm_new(bool intel, char *why, size_t size)
{
	static const char name[] = "libZydis.so.4.0";
	struct ap_disasm *d = ap_profile_calloc(1, sizeof(*d));

	d->lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (d->lib && bind(d, intel))
		return d;
	snprintf(why, size, "needs %s to show instructions (package libzydis4.0)", name);
	ap_disasm_free(d);
	return NULL;
}

void ap_disasm_free(struct ap_disasm *d)
{
	if (d->lib)
		dlclose(d->lib);
	free(d);
}

u32 ap_disasm_next(struct ap_disasm *d, const u8 *code, size_t size, u64 addr, char *text,
		   size_t room, u64 *target)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZyanU64 where;
	u32 i;

	*target = 0;
	if (!ZYAN_SUCCESS(d->decode(&d->decoder, code, size, &insn, op)))
		return 0;
	if (!ZYAN_SUCCESS(d->format(&d->formatter, &insn, op, insn.operand_count_visible, text,
				    room, addr, NULL)))
		snprintf(text, room, "(bad)");
	for (i = 0; i < insn.operand_count_visible; i++) {
		bool relative = op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && op[i].imm.is_relative;
		bool near_ip = op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			       op[i].mem.base == ZYDIS_REGISTER_RIP;

		if ((relative || near_ip) && ZYAN_SUCCESS(d->absolute(&insn, &op[i], addr, &where)))
			*target = where;
	}
	return insn.length;
}
