/* SPDX-License-Identifier: MIT */
/* Random instructions for the decoder's tests. */
#ifndef AP_TESTS_X86_RANDOM_H
#define AP_TESTS_X86_RANDOM_H

#include "base/types.h"

void random_seed(u64 seed);
u64 random_bits(void);

/* Bytes that reach far: a few prefixes, an escape now and then, the rest random. */
void random_code(u8 code[16]);

#endif
