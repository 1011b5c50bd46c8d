/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Four threads by clone, of which two wait in a read and two are in a loop when the main thread changes its credentials, which
 * fails where they may not be changed; then each changes its own, in the middle of its work.
 *
 *			instructions				branches	taken
 *	before		8
 *	4 clones	14					3		1, but 0 in the last
 *	main		5 + 15 + 29 + 33 + 2001 + 8		1010		1006
 *	threads		4 + 1 + 2000000 + 5 + 2001 + 5 + 3	1001002		1001000
 *	two of them	5 more							one less
 *
 * EXPECT instructions 8010241
 * EXPECT branches 4005030
 * EXPECT cond-branches 4005030
 * EXPECT taken-branches 4005007
 * EXPECT calls 0
 * EXPECT returns 0
 * EXPECT indirect-branches 0
 * EXPECT syscalls 33
 */
#include "asm.h"

#define N_THREADS 4
#define STACK_SIZE 16384
/*
 * CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID:
 * each one's number is there from its beginning to its end, and one call waits for that.
 */
#define CLONE_AS_THREAD 0x00350f00

	.bss
	.balign 16
stacks:
	.skip STACK_SIZE * N_THREADS
begin:
	.skip 8
end:
	.skip 8
byte:
	.skip 8
tids:
	.skip 4 * (N_THREADS + 1)
was:
	.skip 4 * (N_THREADS + 1)

	.text

_start:
	sys1 __NR_pipe, $begin
	sys1 __NR_pipe, $end
	mov $N_THREADS, %ebx
	lea stacks + STACK_SIZE(%rip), %r12
.Lagain:
	mov $CLONE_AS_THREAD, %edi
	mov %r12, %rsi
	lea tids(,%rbx,4), %rdx
	mov %rdx, %r10
	xor %r8d, %r8d
	sys __NR_clone
	test %eax, %eax
	je thread
	fail_if s, "clone failed"
	mov %eax, was(,%rbx,4)
	add $STACK_SIZE, %r12
	dec %ebx
	jne .Lagain

	sys3 __NR_setresuid, $65534, $65534, $65534
	mov $2, %ebx
1:	mov begin+4(%rip), %edi
	lea byte(%rip), %rsi
	mov $1, %edx
	sys __NR_write
	dec %ebx
	jne 1b
	mov $N_THREADS, %ebx
2:	mov end(%rip), %edi
	lea byte(%rip), %rsi
	mov $1, %edx
	sys __NR_read
	dec %ebx
	jne 2b
	mov $N_THREADS, %ebx
3:	lea tids(,%rbx,4), %rdi
	xor %esi, %esi
	mov was(,%rbx,4), %edx
	xor %r10d, %r10d
	sys __NR_futex
	dec %ebx
	jne 3b
	mov $1000, %ecx
4:	dec %ecx
	jne 4b
	pass "setuid_threads: ok"

thread:
	test $1, %bl
	je 1f
	mov begin(%rip), %edi
	lea byte(%rip), %rsi
	mov $1, %edx
	sys __NR_read
1:	mov $1000000, %ecx
2:	dec %ecx
	jne 2b
	sys3 __NR_setresuid, $65534, $65534, $65534
	mov $1000, %ecx
3:	dec %ecx
	jne 3b
	mov end+4(%rip), %edi
	lea byte(%rip), %rsi
	mov $1, %edx
	sys __NR_write
	xor %edi, %edi
	sys __NR_exit
