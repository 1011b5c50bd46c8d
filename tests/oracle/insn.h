/* SPDX-License-Identifier: MIT */
/*
 * The oracle's own idea of an instruction: how docs/counting.md classifies it.
 *
 * This is written by hand from the opcode maps in the manuals and shares nothing with the
 * engine's decoder on purpose: two independent readings of the same table have to agree.
 */
#ifndef ORACLE_INSN_H
#define ORACLE_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"

enum insn_class {
	INSN_PLAIN,
	INSN_JCC,
	INSN_LOOP, /* loopne, loope, loop */
	INSN_JRCXZ,
	INSN_JMP,
	INSN_JMP_INDIRECT,
	INSN_CALL,
	INSN_CALL_INDIRECT,
	INSN_RET,
	INSN_SYSCALL,
	INSN_REP_STRING,
	/* The rest count as plain instructions; the stepper must know them by their effects. */
	INSN_SOFT_INT, /* int3, int n, int1: the signal comes with rip already past it */
	INSN_PUSHF,
	INSN_CPUID,   /* has no prefixes: rep changes nothing, lock would fault */
	INSN_NO_TRAP, /* may be followed by another instruction before the step trap */
};

#define INSN_MAX_LEN 15

struct insn {
	enum insn_class class;
	uint8_t len;	   /* prefixes and opcode and operands; 0 where nobody needs it */
	uint8_t condition; /* low opcode nibble of a jcc; low two bits of loop */
	bool address32;	   /* prefix 67: loop and jrcxz look at ecx */
	bool operand16;	   /* prefix 66 */
	struct access access;
};

struct insn_flags {
	uint64_t rflags;
	uint64_t rcx;
};

/*
 * Classify the instruction at @bytes, of which @n are readable. Too few bytes give INSN_PLAIN: such
 * an instruction faults when it is fetched, so it is never counted.
 */
void insn_classify(const uint8_t *bytes, size_t n, struct insn *insn);

/* True if the branch @insn transfers control when it starts with @in. */
bool insn_is_taken(const struct insn *insn, const struct insn_flags *in);

static inline bool insn_is_cond_branch(const struct insn *insn)
{
	return insn->class == INSN_JCC || insn->class == INSN_LOOP || insn->class == INSN_JRCXZ;
}

static inline bool insn_is_branch(const struct insn *insn)
{
	return insn->class >= INSN_JCC && insn->class <= INSN_RET;
}

#endif /* ORACLE_INSN_H */
