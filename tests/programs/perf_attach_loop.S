/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Waits for a byte on its standard input, then retires a number of instructions that is known:
 *
 *	1 + 2 * 1,000,000 + 5 to write + 3 to exit with status 7
 *
 * From the return of read on that is 2,000,009, of them 1,000,000 branches.
 */
#include "asm.h"

_start:
	sub $16, %rsp
	sys3 __NR_read, $0, %rsp, $1

	mov $1000000, %ecx
.Lagain:
	dec %ecx
	jne .Lagain

	sys3 __NR_write, $1, %rsp, $1
	mov $7, %edi
	sys __NR_exit_group
