/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Sixty children that are all there at once: each waits until the parent has made the last one and slept a little, and
 * works then.  Whoever takes one of them for dead in that time misses what it does.
 *
 *			instructions		branches	taken
 *	parent		3 + 1 + 60 * 7 + 4 +	60 * 3 +	59
 *			3 + 1 + 60 * 10 + 8	60 * 2		59
 *	each child	2 + 3 + 5 + 2 +		2 +		1
 *			1 + 2000 + 3		1000		999
 *
 * EXPECT instructions 122000
 * EXPECT branches 60420
 * EXPECT cond-branches 60420
 * EXPECT taken-branches 60118
 * EXPECT calls 0
 * EXPECT returns 0
 * EXPECT indirect-branches 0
 * EXPECT syscalls 305
 */
#include "asm.h"

_start:
	sys1 __NR_pipe, $ends
	mov $60, %ebx
1:	sys __NR_fork
	test %eax, %eax
	je .Lchild
	fail_if s, "fork failed"
	dec %ebx
	jne 1b

	sys2 __NR_nanosleep, $moment, $0
	/* the last writing end: they read the end of the pipe */
	mov ends+4(%rip), %edi
	sys __NR_close
	mov $60, %ebx
2:	sys4 __NR_wait4, $-1, $status, $0, $0
	cmpl $0, status(%rip)
	fail_if ne, "a child's exit status is wrong"
	dec %ebx
	jne 2b
	pass "fork_crowd: ok"

.Lchild:
	mov ends+4(%rip), %edi
	sys __NR_close
	mov ends(%rip), %edi
	lea ends(%rip), %rsi
	mov $1, %edx
	sys __NR_read
	check_eq $0, %eax, "read did not wait for the end of the pipe"
	mov $1000, %ecx
3:	dec %ecx
	jne 3b
	xor %edi, %edi
	sys __NR_exit_group

	.data
	.balign 8
moment:
	.quad 0, 300000000

	.bss
	.balign 16
status:
	.skip 8
ends:
	.skip 8
