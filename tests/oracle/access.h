/* SPDX-License-Identifier: MIT */
/*
 * What an instruction does to memory and which floating-point operations it performs, as
 * docs/counting.md defines loads, stores and the fp-arith events.  Asks Zydis; the engine asks its
 * own tables.
 */
#ifndef ORACLE_ACCESS_H
#define ORACLE_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum access_fp {
	ACCESS_SCALAR_DOUBLE,
	ACCESS_SCALAR_SINGLE,
	ACCESS_128_DOUBLE,
	ACCESS_128_SINGLE,
	ACCESS_256_DOUBLE,
	ACCESS_256_SINGLE,
	ACCESS_512_DOUBLE,
	ACCESS_512_SINGLE,
	ACCESS_FP_N
};

struct access {
	bool loads, stores;
	bool locked;	  /* by its prefix, or xchg with memory */
	uint8_t fp_count; /* 0: none; 2 for fused multiply-add and dot products */
	uint8_t fp_class; /* enum access_fp */
};

void access_classify(const uint8_t *bytes, size_t n, struct access *access);

#endif /* ORACLE_ACCESS_H */
