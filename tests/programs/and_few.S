/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * and_loop.S with 5,000 iterations, for who looks at each instruction: single steps and samples.
 *
 * EXPECT instructions 20006
 * EXPECT branches 10000
 * EXPECT cond-branches 10000
 * EXPECT taken-branches 9999
 * EXPECT calls 0
 * EXPECT returns 0
 * EXPECT indirect-branches 0
 * EXPECT syscalls 1
 */
#define AND_TIMES 5000
#include "and_loop.S"
