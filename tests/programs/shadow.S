/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Instructions behind a load of ss, which holds off traps and interrupts for one instruction: both
 * count, whatever the second is. Single-steppers see one step for the two.
 *
 *			instructions	branches	taken
 *	before		2
 *	100 rounds	16		5		5, but 4 in the last
 *	pass		8
 *
 * EXPECT instructions 1610
 * EXPECT branches 500
 * EXPECT cond-branches 200
 * EXPECT taken-branches 499
 * EXPECT calls 100
 * EXPECT returns 100
 * EXPECT indirect-branches 0
 * EXPECT syscalls 2
 */
#include "asm.h"

_start:
	mov %ss, %eax
	mov $100, %ebx
.Lagain:
	mov %eax, %ss
	nop
	mov %eax, %ss
	jmp 1f
	ud2
1:	cmp %eax, %eax
	mov %eax, %ss
	je 1f
	ud2
1:	mov %eax, %ss
	call leaf
	push %rax
	mov (%rsp), %ss
	pop %rcx
	mov %ss, %ecx
	dec %ebx
	jne .Lagain
	pass "shadow: ok"
leaf:
	ret
