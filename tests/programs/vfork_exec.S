/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * vfork and execve of this same program with one argument more, ten times; and once a vfork whose
 * child writes to the memory that it shares with the parent, and exits.
 *
 * execve retires in the old image; the new one begins with its first instruction.
 *
 *			instructions	branches	taken
 *	before		7		1
 *	10 rounds	14		3		1, but 0 in the last
 *	10 children	2 + 5		1		1
 *	10 new images	507		501		500
 *	the writer	13 + 6		3		1
 *	pass		8
 *
 * EXPECT instructions 5314
 * EXPECT branches 5054
 * EXPECT cond-branches 5054
 * EXPECT taken-branches 5020
 * EXPECT calls 0
 * EXPECT returns 0
 * EXPECT indirect-branches 0
 * EXPECT syscalls 45
 */
#include "asm.h"

_start:
	begin_or .Lexeced
	mov $10, %ebx
.Lagain:
	vfork_and_wait .Lchild
	dec %ebx
	jne .Lagain

	xor %r14d, %r14d
	sys __NR_vfork
	test %eax, %eax
	je .Lwriter
	cmpl $1, shared(%rip)
	fail_if ne, "memory is not shared with a vfork child"
	sys4 __NR_wait4, $-1, $status, $0, $0
	pass "vfork_exec: ok"

.Lchild:
	exec_again
.Lwriter:
	movl $1, shared(%rip)
	xor %edi, %edi
	sys __NR_exit

.Lexeced:
	mov $500, %ecx
1:	loop 1b
	mov $7, %edi
	sys __NR_exit_group

	.bss
status:
	.skip 8
shared:
	.skip 8
