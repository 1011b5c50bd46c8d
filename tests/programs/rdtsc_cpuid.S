/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Instructions that ask the processor: rdtsc and rdtscp run forward, cpuid clobbers all four
 * registers and answers the same each time, xgetbv reads what the kernel has enabled. Each is one
 * instruction, in a virtual machine too.
 */
#include "asm.h"

_start:
	xor %eax, %eax
	cpuid
	mov %ebx, %r12d
	mov %ecx, %r13d
	mov %edx, %r14d
	xor %r15d, %r15d /* the last time stamp */
	mov $50, %ebp
.Lagain:
	mov $-1, %rax
	mov $-1, %rdx
	rdtsc
	mov %rax, %rcx
	shr $32, %rcx
	jne .Lhigh
	shl $32, %rdx
	or %rdx, %rax
	cmp %r15, %rax
	jb .Lback
	mov %rax, %r15

	xor %eax, %eax
	mov $-1, %rbx
	mov $-1, %rcx
	mov $-1, %rdx
	cpuid
	cmp %rbx, %r12
	jne .Lother
	cmp %rcx, %r13
	jne .Lother
	cmp %rdx, %r14
	jne .Lother

	mov $1, %eax
	xor %ecx, %ecx
	cpuid
	bt $27, %ecx /* OSXSAVE */
	jnc 1f
	xor %ecx, %ecx
	xgetbv
	and $3, %eax
	cmp $3, %eax
	fail_if ne, "xgetbv: no x87 or SSE state"
1:
	mov $0x80000001, %eax
	cpuid
	bt $27, %edx /* RDTSCP */
	jnc 1f
	rdtscp
	shl $32, %rdx
	or %rdx, %rax
	cmp %r15, %rax
	jb .Lback
1:	dec %ebp
	jne .Lagain
	pass "rdtsc_cpuid: ok"

.Lhigh:
	finish 2, 1, "rdtsc left the high half of rax"
.Lback:
	finish 2, 1, "time stamps run backwards"
.Lother:
	finish 2, 1, "cpuid answers differently or keeps high halves"
