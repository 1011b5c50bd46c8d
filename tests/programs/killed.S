/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Loops and ends itself by SIGKILL, which nobody can prepare for.
 *
 *	1 before the loop + 2 * 1,000 + 2 for getpid + 4 for kill
 *
 * EXPECT instructions 2007
 * EXPECT branches 1000
 */
#include "asm.h"

_start:
	mov $1000, %ecx
.Lagain:
	dec %ecx
	jne .Lagain

	sys __NR_getpid
	mov $9, %esi
	mov %eax, %edi
	sys __NR_kill
	hlt
