/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Work, a change of credentials, which fails where they may not be changed, a child, and work again.
 *
 *			instructions			branches	taken
 *	parent		1 + 2000 + 9 + 6 + 1 + 2000 + 8	2001		1998
 *	child		2 + 1 + 1000 + 3		501		500
 *
 * EXPECT instructions 5031
 * EXPECT branches 2502
 * EXPECT cond-branches 2502
 * EXPECT taken-branches 2498
 * EXPECT calls 0
 * EXPECT returns 0
 * EXPECT indirect-branches 0
 * EXPECT syscalls 6
 */
#include "asm.h"

_start:
	mov $1000, %ecx
1:	dec %ecx
	jne 1b
	sys3 __NR_setresuid, $65534, $65534, $65534
	sys __NR_fork
	test %eax, %eax
	je .Lchild
	sys4 __NR_wait4, $-1, $0, $0, $0
	mov $1000, %ecx
2:	dec %ecx
	jne 2b
	pass "setuid_count: ok"

.Lchild:
	mov $500, %ecx
3:	dec %ecx
	jne 3b
	xor %edi, %edi
	sys __NR_exit_group
