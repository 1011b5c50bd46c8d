/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Four children by fork, each with its own known work, one after the other; the third forks once
 * more. The parent waits for each.
 *
 * The system call that forks retires once, in the parent.
 *
 *			instructions		branches	taken
 *	parent		1 + 4 * 17 + 8		12		3
 *	children 1, 2, 4	8 + 2000 * k	2 + 1000 * k	1 + 1000 * k
 *	child 3		18 + 6000		3 + 3000	3000
 *	grandchild	6 + 6000		1 + 3000	3000
 *
 * EXPECT instructions 26125
 * EXPECT branches 13022
 * EXPECT cond-branches 13022
 * EXPECT taken-branches 13006
 * EXPECT calls 0
 * EXPECT returns 0
 * EXPECT indirect-branches 0
 * EXPECT syscalls 17
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
	cmp $5, %ebx
	jne .Lagain
	pass "fork_count: ok"

.Lchild:
	cmp $3, %ebx
	jne 1f
	sys __NR_fork
	test %eax, %eax
	je 1f
	sys4 __NR_wait4, $-1, $status, $0, $0
1:	imul $1000, %ebx, %ecx
2:	dec %ecx
	jne 2b
	mov %ebx, %edi
	sys __NR_exit_group

	.bss
status:
	.skip 8
