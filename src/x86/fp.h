/* SPDX-License-Identifier: MIT */
/*
 * Which floating-point operations an instruction performs, as FP_ARITH_INST_RETIRED counts them.
 * Source: Intel's published event list (BriefDescription of FP_ARITH_INST_RETIRED.*); the class of
 * each opcode from the SDM vol. 2.
 */
#ifndef AP_X86_FP_H
#define AP_X86_FP_H

#include "base/types.h"
#include "x86/insn.h"

/* In the order of AP_KIND_FP_* (abi/raw.h). */
enum ap_fp_class {
	AP_FP_SCALAR_DOUBLE,
	AP_FP_SCALAR_SINGLE,
	AP_FP_128_DOUBLE,
	AP_FP_128_SINGLE,
	AP_FP_256_DOUBLE,
	AP_FP_256_SINGLE,
	AP_FP_512_DOUBLE,
	AP_FP_512_SINGLE,
};

struct ap_fp {
	u8 count; /* 0: none of them; 2 for fused multiply-add and dot products; else 1 */
	u8 class; /* enum ap_fp_class, valid with count */
};

/* insn as ap_insn_decode gave it for these bytes. */
struct ap_fp ap_insn_fp(const struct ap_insn *insn, const u8 *code);

#endif
