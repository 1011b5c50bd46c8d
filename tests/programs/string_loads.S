/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * String instructions over pages that were never touched: each is one load, and misses by its lines.
 *
 * EXPECT loads 256
 */
#include "asm.h"

	.bss
	.balign 4096
to:	.skip 4096
from:	.skip 256 * 4096

	.text
_start:
	lea from(%rip), %rsi
	mov $256, %ebx
.Lagain:
	lea to(%rip), %rdi
	mov $4096, %ecx
	rep movsb
	dec %ebx
	jnz .Lagain
	xor %edi, %edi
	mov $60, %eax
	syscall
