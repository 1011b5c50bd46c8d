/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Job control: a child stops itself ten times, its parent sees that by wait4 and continues it.
 *
 *			instructions	branches	taken
 *	fork		4 + 2		1
 *	10 rounds	6 + 2 + 4 + 2	2		1, but 0 in the last
 *	the end		8 + 8		1
 *	in the child	6 + 3		1		1
 *	10 stops	4 + 2		1		1, but 0 in the last
 *
 * EXPECT instructions 231
 * EXPECT branches 33
 * EXPECT cond-branches 33
 * EXPECT taken-branches 19
 * EXPECT calls 0
 * EXPECT returns 0
 * EXPECT indirect-branches 0
 * EXPECT syscalls 36
 */
#include "asm.h"

#define WUNTRACED 2
#define SIGCONT 18
#define SIGSTOP 19
#define STATUS_STOPPED 0x137f

	.bss
	.balign 8
status:
	.skip 8

	.text
_start:
	sys __NR_fork
	test %eax, %eax
	je .Lchild
	mov %rax, %r12
	mov $10, %ebx
.Lagain:
	sys4 __NR_wait4, %r12, $status, $WUNTRACED, $0
	cmpl $STATUS_STOPPED, status(%rip)
	fail_if ne, "the child is not stopped"
	sys2 __NR_kill, %r12, $SIGCONT
	dec %ebx
	jne .Lagain
	sys4 __NR_wait4, %r12, $status, $0, $0
	cmpl $(3 << 8), status(%rip)
	fail_if ne, "the child's exit status"
	pass "stop_cont: ok"

.Lchild:
	sys __NR_getpid
	mov %rax, %r12
	mov $10, %ebx
1:	sys2 __NR_kill, %r12, $SIGSTOP
	dec %ebx
	jne 1b
	mov $3, %edi
	sys __NR_exit_group
