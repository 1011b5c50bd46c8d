/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * For gates: 20,000 instructions, and 100 more (half a percent) for each argument.
 *
 *	3 + 2 * (9,947 + 50 * argc) + 3 to exit
 *
 * EXPECT instructions 20000
 * EXPECT branches 9997
 * EXPECT cond-branches 9997
 * EXPECT taken-branches 9996
 * EXPECT calls 0
 * EXPECT returns 0
 * EXPECT indirect-branches 0
 * EXPECT syscalls 1
 */
#include "asm.h"

_start:
	mov (%rsp), %rax /* argc */
	imul $50, %eax, %ecx
	add $9947, %ecx
.Lagain:
	dec %ecx
	jne .Lagain

	mov $__NR_exit, %eax
	xor %edi, %edi
	syscall
