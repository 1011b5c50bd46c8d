/* SPDX-License-Identifier: MIT */
/*
 * What Zydis says about an instruction, put into the words of struct ap_insn, and the comparison
 * with what the decoder says.  Written from Zydis' decoded operands, not from the generator's
 * code, so that a mistake there shows.
 */
#ifndef AP_TESTS_X86_ORACLE_H
#define AP_TESTS_X86_ORACLE_H

#include <Zydis/Zydis.h>

#include "x86/insn.h"

struct oracle_count {
	u64 checked;
	u64 valid;
	u64 wrong;
};

extern struct oracle_count oracle_count;

/*
 * Decodes code[0..15) both ways (16 bytes must be there).  Prints bytes and both answers of the
 * first few mismatches.  Returns the length to step over: Zydis' or 1 where invalid.
 */
unsigned oracle_check(const u8 *code);

/* access_oracle.c: its memory accesses; NULL or what differs. */
const char *access_check(const struct ap_insn *s, const u8 *code, const ZydisDecodedInstruction *i,
			 const ZydisDecodedOperand *op);

#endif
