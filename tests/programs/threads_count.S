/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Eight threads by clone, running at once, each adding to a shared counter with lock xadd.
 *
 * The join has to retire the same however the threads are scheduled. So the threads get their own
 * descriptor tables: the main thread closes its writing end of a pipe and reads until the last
 * thread has gone and with it the last writing end. One read, that returns 0.
 *
 *			instructions	branches	taken
 *	before		5
 *	8 clones	13		3		1, but 0 in the last
 *	8 threads	6 + 500 * 8	1 + 500 * 3	500 * 3
 *	after		12 + 8		2
 *
 * EXPECT instructions 32177
 * EXPECT branches 12034
 * EXPECT cond-branches 4034
 * EXPECT taken-branches 12007
 * EXPECT calls 4000
 * EXPECT returns 4000
 * EXPECT indirect-branches 0
 * EXPECT syscalls 21
 */
#include "asm.h"

#define N_THREADS 8
#define N_ROUNDS 500
#define STACK_SIZE 16384
/* CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM */
#define CLONE_AS_THREAD 0x00050b00

	.bss
	.balign 16
stacks:
	.skip STACK_SIZE * N_THREADS
ends:
	.skip 8
counter:
	.skip 8

	.text

_start:
	sys1 __NR_pipe, $ends
	mov $N_THREADS, %ebx
	lea stacks + STACK_SIZE(%rip), %r12
.Lagain:
	mov $CLONE_AS_THREAD, %edi
	mov %r12, %rsi
	xor %edx, %edx
	xor %r10d, %r10d
	xor %r8d, %r8d
	sys __NR_clone
	test %eax, %eax
	je thread
	fail_if s, "clone failed"
	add $STACK_SIZE, %r12
	dec %ebx
	jne .Lagain

	mov ends+4(%rip), %edi
	sys __NR_close
	mov ends(%rip), %edi
	lea ends(%rip), %rsi
	mov $1, %edx
	sys __NR_read
	check_eq $0, %eax, "read did not wait for the end of the threads"
	cmpl $N_THREADS * N_ROUNDS, counter(%rip)
	fail_if ne, "the threads' counter is wrong"
	pass "threads_count: ok"

thread:
	mov $N_ROUNDS, %ecx
1:	mov $1, %eax
	lock xadd %eax, counter(%rip)
	push %rax
	pop %rdx
	call leaf
	dec %ecx
	jne 1b
	xor %edi, %edi
	sys __NR_exit
leaf:
	ret
