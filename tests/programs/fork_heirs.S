/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Sixteen children by fork, one after the other, which go ways that their parent never goes: by an indirect branch, a
 * call, a loop, and a branch that goes one way in some of them and the other in others.  Whatever a parent learns from its children,
 * and they from it, each counts what it does.
 *
 *				instructions	branches	taken
 *	parent			1 + 16 * 17 + 8	48		15
 *	each child		9		2		2
 *	with an odd k		4 + 200 * k	3 + 100 * k	2 + 100 * k
 *	2, 8, 10, 16		4		1		0
 *	4, 6, 12, 14		2		1		1
 *
 * EXPECT instructions 13281
 * EXPECT branches 6512
 * EXPECT cond-branches 6472
 * EXPECT taken-branches 6467
 * EXPECT calls 8
 * EXPECT returns 8
 * EXPECT indirect-branches 16
 * EXPECT syscalls 50
 */
#include "asm.h"

_start:
	mov $1, %ebx
.Lagain:
	sys __NR_fork
	test %eax, %eax
	je .Lchild
	sys4 __NR_wait4, $-1, $status, $0, $0
	mov %ebx, %eax
	shl $8, %eax
	cmp %eax, status(%rip)
	fail_if ne, "a child's exit status is wrong"
	inc %ebx
	cmp $17, %ebx
	jne .Lagain
	pass "fork_heirs: ok"

.Lchild:
	lea ways(%rip), %rax
	mov %ebx, %ecx
	and $1, %ecx
	jmp *(%rax, %rcx, 8)
.Lodd:
	call .Lwork
	jmp .Lend
.Leven:
	test $4, %bl
	jne .Lend
	nop
	nop
.Lend:
	mov %ebx, %edi
	sys __NR_exit_group
.Lwork:
	imul $100, %ebx, %ecx
1:	dec %ecx
	jne 1b
	ret

	.data
	.balign 8
ways:
	.quad .Leven, .Lodd

	.bss
status:
	.skip 8
