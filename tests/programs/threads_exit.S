/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Threads that are blocked in a system call when another ends them: first by execve of this same
 * program with one argument more, called by a thread that is not the leader; then by exit_group.
 * The system calls that never return have been executed and count.
 *
 * The sleep gives the threads time to get blocked.
 *
 *			instructions	branches	taken
 *	2 images	6 + 2		1		0 and 1
 *	8 clones	13		3		1, but 0 in the last of each image
 *	first image	2
 *	  3 threads	6 + 2		3		1
 *	  1 thread	6 + 4 + 1 + 5	3		2
 *	second image	4 + 8
 *	  4 threads	4 + 2		2		2
 *
 * EXPECT instructions 198
 * EXPECT branches 46
 * EXPECT cond-branches 46
 * EXPECT taken-branches 20
 * EXPECT calls 0
 * EXPECT returns 0
 * EXPECT indirect-branches 0
 * EXPECT syscalls 21
 */
#include "asm.h"

#define N_THREADS 4
#define STACK_SIZE 16384
#define CLONE_AS_THREAD 0x00050f00 /* VM FS FILES SIGHAND THREAD SYSVSEM */

	.data
	.balign 8
half_second:
	.quad 0, 500000000
new_argv:
	.quad 0, again, 0
again:
	.asciz "again"

	.bss
	.balign 16
stacks:
	.skip STACK_SIZE * N_THREADS

	.text
_start:
	mov 8(%rsp), %r14 /* argv[0] */
	mov (%rsp), %rcx
	lea 16(%rsp,%rcx,8), %r15 /* envp */
	mov %rcx, %r13
	mov $N_THREADS, %ebx
	lea stacks + STACK_SIZE(%rip), %r12
.Lagain:
	mov %r12, %rsi
	xor %edx, %edx
	xor %r10d, %r10d
	xor %r8d, %r8d
	mov $CLONE_AS_THREAD, %edi
	sys __NR_clone
	test %eax, %eax
	je thread
	fail_if s, "clone failed"
	add $STACK_SIZE, %r12
	dec %ebx
	jne .Lagain
	cmp $2, %r13
	je .Lsecond_image
	sys __NR_pause /* until the exec */
	ud2
.Lsecond_image:
	sys2 __NR_nanosleep, $half_second, $0
	pass "threads_exit: ok"

thread:
	cmp $1, %r13
	jne 1f
	cmp $1, %ebx
	je .Lexecs
1:	sys __NR_pause /* until the end */
	ud2
.Lexecs:
	sys2 __NR_nanosleep, $half_second, $0
	mov %r14, new_argv(%rip)
	sys3 __NR_execve, %r14, $new_argv, %r15
	finish 2, 9, "execve failed"
