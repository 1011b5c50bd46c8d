/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * `if (a && b)` in a loop of 100,000 iterations, where a is false. Each iteration retires four
 * instructions, and the test of b none of them: tools that translate the pair of tests as one
 * block count six.
 *
 *	3 before the loop + 4 * 100,000 + 3 to exit
 *
 * EXPECT instructions 400006
 * EXPECT branches 200000
 * EXPECT cond-branches 200000
 * EXPECT taken-branches 199999
 * EXPECT calls 0
 * EXPECT returns 0
 * EXPECT indirect-branches 0
 * EXPECT syscalls 1
 */
#include "asm.h"

#ifndef AND_TIMES
#define AND_TIMES 100000
#endif

_start:
	mov $AND_TIMES, %ecx
	xor %eax, %eax /* a */
	mov $1, %edx /* b */
.Lagain:
	test %eax, %eax
	je .Lelse
	test %edx, %edx
	je .Lelse
	inc %ebx
.Lelse:
	dec %ecx
	jne .Lagain

	mov $__NR_exit, %eax
	xor %edi, %edi
	syscall
