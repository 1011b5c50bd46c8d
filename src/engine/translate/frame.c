/* SPDX-License-Identifier: MIT */
/*
 * Instructions by which code with frame pointers makes a frame or drops one.
 */
#include "engine/translate/frame.h"

#include "engine/translate/sb.h"

#define BIT_RBP (1u << AP_RBP)

static bool is_one_byte(const struct ap_insn *i, u8 opcode)
{
	return !i->map && i->opcode == opcode && !(i->rex & 1) && !(i->flags & AP_INSN_OPSIZE);
}

static bool is_mov_bp_sp(const struct ap_insn *i)
{
	return !i->map && i->rex == 0x48 &&
	       ((i->opcode == 0x89 && i->modrm == 0xe5) || (i->opcode == 0x8b && i->modrm == 0xec));
}

bool ap_frame_is_dropped(const struct ap_insn *i)
{
	return is_one_byte(i, 0xc9) || is_one_byte(i, 0x5d); /* leave, pop rbp */
}

bool ap_frame_is_made(const struct ap_insn *i, const struct ap_insn *before)
{
	return is_mov_bp_sp(i) && is_one_byte(before, 0x55); /* push rbp */
}

u8 ap_sb_frame(const struct ap_sb *sb)
{
	for (u32 k = sb->n; k > 0; k--) {
		const struct ap_insn *i = &sb->insns[k - 1].i;

		/* each block that is made where there are lanes is asked: most of its instructions by this alone */
		if (ap_likely(!(i->gpr_write & BIT_RBP)))
			continue;
		if (ap_frame_is_dropped(i) || (k > 1 && ap_frame_is_made(i, &sb->insns[k - 2].i)))
			return (u8)k;
	}
	return 0;
}
