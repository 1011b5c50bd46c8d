/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * String instructions with a rep prefix retire once, however often they iterate, and also with
 * rcx = 0.
 *
 *	1000 times stosb of 64 bytes	1 + 1000 * 6 = 6001
 *	movsq, lodsw			5 + 4 = 9
 *	rcx = 0				4
 *	cmpsb to the first difference	6 + 2 to check = 8
 *	scasb to the first match	5 + 2 to check = 7
 *	without a prefix		3 + 1 to check = 4
 *	pass				8
 *
 * EXPECT instructions 6041
 * EXPECT branches 1003
 * EXPECT cond-branches 1003
 * EXPECT taken-branches 999
 * EXPECT calls 0
 * EXPECT returns 0
 * EXPECT indirect-branches 0
 * EXPECT syscalls 2
 */
#include "asm.h"

	.bss
	.balign 64
from:	.skip 64
to:	.skip 64

	.text
_start:
	mov $1000, %ebx
.Lfill:
	lea from(%rip), %rdi
	mov $64, %ecx
	mov $'x', %al
	rep stosb
	dec %ebx
	jne .Lfill

	lea from(%rip), %rsi
	lea to(%rip), %rdi
	mov $8, %ecx
	cld
	rep movsq
	lea from(%rip), %rsi
	mov $32, %ecx
	rep lodsw
	nop

	xor %ecx, %ecx
	rep stosb
	repe cmpsb
	repne scasb

	movb $'y', to+40(%rip)
	lea from(%rip), %rsi
	lea to(%rip), %rdi
	mov $64, %ecx
	repe cmpsb
	check_eq $23, %ecx, "cmpsb stopped elsewhere"
	lea -41(%rsi), %rsi

	lea to(%rip), %rdi
	mov $64, %ecx
	mov $'y', %al
	repne scasb
	check_eq $23, %ecx, "scasb stopped elsewhere"
	nop

	lea from(%rip), %rdi
	stosb
	scasb
	fail_if e, "the byte after stosb's equals y"
	pass "rep_stosb: ok"
