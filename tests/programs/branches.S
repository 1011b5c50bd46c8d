/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Every class of branch, taken and not.
 *
 * The jcc part runs all 16 conditions, short and near, for all 32 states of the five flags. Each
 * condition and its opposite stand side by side, so just half of the 32 branches of one round are
 * taken, each of them over a nop.
 *
 *			instructions		branches	taken	indirect
 *	jcc		2 + 32 * 52 = 1666	1056		543
 *	jrcxz		9			4		2
 *	loop		11			10		9
 *	loopne		7 + 2 to check		3 + 1		2
 *	loope		5 + 2 to check		2 + 1		1
 *	addr32 loop	3 + 2			2		1
 *	jmp		10			6		6	3
 *	call, ret	16			5 + 6		11	2
 *	pass		8
 *
 * EXPECT instructions 1741
 * EXPECT branches 1096
 * EXPECT cond-branches 1079
 * EXPECT taken-branches 575
 * EXPECT calls 5
 * EXPECT returns 6
 * EXPECT indirect-branches 5
 * EXPECT syscalls 2
 */
#include "asm.h"

.macro jcc_round width
	.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	\width j\cc 1f
	nop
1:
	.endr
.endm

	.section .rodata
	.balign 8
flag_states:
	.irp of, 0, 0x800
	.irp sf, 0, 0x80
	.irp zf, 0, 0x40
	.irp pf, 0, 4
	.irp cf, 0, 1
	.quad 0x202 + \of + \sf + \zf + \pf + \cf
	.endr
	.endr
	.endr
	.endr
	.endr

	.text
_start:
	lea flag_states(%rip), %r12
	mov $31, %ebx
.Lstate:
	push (%r12,%rbx,8)
	popf
	jcc_round {disp8}
	jcc_round {disp32}
	dec %ebx
	jns .Lstate

/* jrcxz */
	xor %ecx, %ecx
	jrcxz 2f
1:	ud2
2:	inc %ecx
	jrcxz 1b
	shl $32, %rcx
	jecxz 2f
1:	ud2
2:	jrcxz 1b
	nop
	nop

/* loop */
	mov $10, %ecx
1:	loop 1b
	mov $5, %ecx
1:	cmp $3, %ecx /* equal once: loopne leaves with rcx = 2 */
	loopne 1b
	check_eq $2, %ecx, "loopne"
	mov $5, %ecx
1:	cmp $5, %ecx /* equal once: loope goes round once */
	loope 1b
	check_eq $3, %ecx, "loope"
	mov $1, %ecx
	bts $32, %rcx /* only ecx counts: not taken */
1:	addr32 loop 1b
	xor %ecx, %ecx
	addr32 loop 1f /* ecx wraps: taken */
	ud2
1:
/* jmp */
	jmp 1f
	ud2
1:	{disp32} jmp 1f
	ud2
1:	lea 1f(%rip), %rax
	jmp *%rax
	ud2
1:	lea 1f(%rip), %rax
	push %rax
	jmp *(%rsp)
	ud2
1:	notrack jmp *2f(%rip)
	ud2
	.pushsection .data
2:	.quad 3f
	.popsection
3:	bnd jmp 1f
	ud2
1:	pop %rax

/* call, ret */
	call .Lleaf
	lea .Lleaf(%rip), %rax
	call *%rax
	call *2f(%rip)
	.pushsection .data
2:	.quad .Lleaf
	.popsection
	push %rax
	push %rax
	call .Lpop_two
	call .Lrep_ret
	lea 1f(%rip), %rax
	push %rax
	ret /* a return without a call */
	ud2
1:
	pass "branches: ok"

.Lleaf:
	ret
.Lpop_two:
	ret $16
.Lrep_ret:
	repz ret
