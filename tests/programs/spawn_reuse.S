/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * A vfork child that execs, then a thread, which takes over what the child counted in, then a long
 * loop: whoever still wrote to the child's counters, or read them late, would be seen in the sum.
 *
 *			instructions	branches	taken
 *	before		6		1
 *	vfork, wait	12		2
 *	child		2 + 5		1		1
 *	new image	6		1		1
 *	pipe, clone	3 + 10		2
 *	thread		2 + 3		1		1
 *	close, read	3 + 5 + 2	1
 *	the loop	1 + 2 * 10^8	10^8		10^8 - 1
 *	pass		8
 *
 * In all 200000068 instructions, 100000009 branches, 100000002 of them taken, 11 system calls;
 * tests/e2e/tasks.sh has the numbers, as the loop is too long to be single-stepped.
 */
#include "asm.h"

/* CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM */
#define CLONE_AS_THREAD 0x00050b00

_start:
	begin_or .Lexeced
	vfork_and_wait .Lchild

	/* the thread has its own descriptors: the read ends with its end */
	sys1 __NR_pipe, $ends
	mov $CLONE_AS_THREAD, %edi
	lea stack_end(%rip), %rsi
	xor %edx, %edx
	xor %r10d, %r10d
	xor %r8d, %r8d
	sys __NR_clone
	test %eax, %eax
	je .Lthread
	fail_if s, "clone failed"
	mov ends+4(%rip), %edi
	sys __NR_close
	mov ends(%rip), %edi
	lea ends(%rip), %rsi
	mov $1, %edx
	sys __NR_read
	check_eq $0, %eax, "read did not wait for the end of the thread"

	mov $100000000, %ecx
1:	dec %ecx
	jne 1b
	pass "spawn_reuse: ok"

.Lchild:
	exec_again
.Lthread:
	xor %edi, %edi
	sys __NR_exit
.Lexeced:
	mov $7, %edi
	sys __NR_exit_group

	.bss
	.balign 16
	.skip 16384
stack_end:
	.skip 16
status:
	.skip 8
ends:
	.skip 8
