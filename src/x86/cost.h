/* SPDX-License-Identifier: MIT */
/*
 * What an instruction is to a pipeline: its class (which machine takes how long for a class, the model
 * says: model/cost.h), and what it waits for and produces.  docs/design/cycles.md.
 */
#ifndef AP_X86_COST_H
#define AP_X86_COST_H

#include "base/types.h"
#include "x86/insn.h"

enum ap_cost_class {
	AP_COST_NOTHING, /* a slot and no more: nop, a zeroing idiom, what is a load or store alone */
	AP_COST_MOVE,	 /* between registers; renaming does it */
	AP_COST_ALU,
	AP_COST_LEA, /* of three parts, or a scaled index */
	AP_COST_SHIFT,
	AP_COST_SHIFT_CL,
	AP_COST_BITS, /* popcnt, tzcnt and their like */
	AP_COST_MUL,
	AP_COST_DIV32,
	AP_COST_DIV64,
	AP_COST_BRANCH,
	AP_COST_VLOGIC, /* bitwise, blends */
	AP_COST_VINT,	/* adds, compares, shifts */
	AP_COST_VMUL,
	AP_COST_SHUFFLE,
	AP_COST_CROSS,	/* a shuffle between 128-bit lanes */
	AP_COST_TO_GPR, /* a vector register's element */
	AP_COST_FROM_GPR,
	AP_COST_FADD,
	AP_COST_FMUL,
	AP_COST_FMA,
	AP_COST_FDIV32,
	AP_COST_FDIV64,
	AP_COST_FSQRT32,
	AP_COST_FSQRT64,
	AP_COST_CONVERT,
	AP_COST_ROUND,
	AP_COST_X87,
	AP_COST_ATOMIC,
	AP_COST_STRING,
	AP_COST_SLOW, /* microcode: cpuid, xgetbv, fences */
	AP_COST_CLASSES
};

/* What values flow through: general registers, then vector registers, then the status flags. */
#define AP_COST_VEC   16
#define AP_COST_FLAGS 48

struct ap_cost {
	u8 class;
	bool load, store;
	bool fuses; /* with a conditional branch right behind it */
	u64 read;   /* by the operation; addresses are apart, where there is a load */
	u64 address;
	u64 write;
};

/* insn as ap_insn_decode gave it for these bytes. */
void ap_insn_cost(const struct ap_insn *insn, const u8 *code, struct ap_cost *cost);

#endif
