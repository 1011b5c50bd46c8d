/* SPDX-License-Identifier: MIT */
/*
 * Raw counter kinds: what an engine can count, as the core and the PMU drivers name it.  An event
 * selects a set of them (bits of a u64) and its count is their sum.  docs/counting.md defines each.
 * The first ones are the fields of the base count vector (abi/vec.h), in its order.
 */
#ifndef AP_ABI_RAW_H
#define AP_ABI_RAW_H

#include "base/types.h"

enum ap_kind {
	AP_KIND_INSTR,
	AP_KIND_COND,
	AP_KIND_TAKEN,
	AP_KIND_CALL,
	AP_KIND_RET,
	AP_KIND_IND,
	AP_KIND_BRANCH,
	AP_KIND_SPARE,
	AP_KIND_SYSCALL,  /* syscall instructions */
	AP_KIND_LOAD,	  /* instructions that read memory at least once */
	AP_KIND_STORE,	  /* instructions that write memory at least once */
	AP_KIND_REP_ITER, /* iterations of rep string instructions */
	AP_KIND_FP_SCALAR_DOUBLE,
	AP_KIND_FP_SCALAR_SINGLE,
	AP_KIND_FP_128_DOUBLE,
	AP_KIND_FP_128_SINGLE,
	AP_KIND_FP_256_DOUBLE,
	AP_KIND_FP_256_SINGLE,
	AP_KIND_FP_512_DOUBLE,
	AP_KIND_FP_512_SINGLE,
	AP_KIND_MEM, /* instructions that read or write memory: each once */
	AP_KIND_N = 32
};

#define AP_KIND_BIT(k) (1ULL << (k))
/* Counted by every session that counts at all; the others are switched on by who needs them. */
#define AP_KINDS_BASE 0x1ffULL
#define AP_KINDS_FP                                                                                \
	((AP_KIND_BIT(AP_KIND_FP_512_SINGLE) << 1) - AP_KIND_BIT(AP_KIND_FP_SCALAR_DOUBLE))
/* All that an engine can count. */
#define AP_KINDS_ALL (((AP_KIND_BIT(AP_KIND_MEM) << 1) - 1) & ~AP_KIND_BIT(AP_KIND_SPARE))

#endif
