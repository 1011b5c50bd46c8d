/* SPDX-License-Identifier: MIT */
/*
 * What a program asks the CPU that is another each time, and is answered alike in each run: which instructions these are.  They end a
 * block, and the dispatcher does them (dispatch/emulate.c).
 */
#include "engine/translate/fixed.h"
#include "engine/runtime/engine.h"

#define VDSO_SIZE (4 * AP_PAGE_SIZE)

static bool has_prefix(const struct ap_insn *i, const u8 *bytes, u8 which)
{
	for (u32 k = 0; k < i->nprefix; k++) {
		if (bytes[k] == which)
			return true;
	}
	return false;
}

/* rdrand and rdseed: 0f c7 /6 and /7 of a register; rep makes others of them. */
static bool is_random(const struct ap_insn *i, const u8 *bytes)
{
	return i->opcode == 0xc7 && i->modrm >= 0xf0 && !has_prefix(i, bytes, 0xf3) &&
	       ap_pmc_has(i->modrm >= 0xf8 ? AP_CPU_RDSEED : AP_CPU_RDRAND);
}

/* 0f 31, and 0f 01 f9. */
static bool is_tsc(const struct ap_insn *i, u64 pc)
{
	if (i->opcode != 0x31 && !(i->opcode == 0x01 && i->modrm == 0xf9))
		return false;
	return pc - ap_proc.boot->vdso >= VDSO_SIZE;
}

enum ap_special ap_fixed_special(const struct ap_insn *i, const u8 *bytes, u64 pc)
{
	const u32 flags = ap_proc.session->flags;

	if (flags & AP_F_DETERMINISTIC && is_random(i, bytes))
		return AP_SPECIAL_RANDOM;
	return flags & AP_F_FIXED_TSC && is_tsc(i, pc) ? AP_SPECIAL_TSC : AP_SPECIAL_NONE;
}
