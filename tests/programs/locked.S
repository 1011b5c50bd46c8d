/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Instructions that lock what they access, one by one: ten in each of a thousand rounds, and beside them some that do not.
 *
 * EXPECT instructions 21006
 * EXPECT branches 1000
 * EXPECT locked-instructions 10002
 */
	.text
	.globl _start
_start:
	movl $1000, %ebx
1:
	lock addl $1, word(%rip)
	lock incb word(%rip)
	lock xaddq %rax, word(%rip)
	lock cmpxchgl %ecx, word(%rip)
	lock cmpxchg8b word(%rip)
	lock cmpxchg16b word(%rip)
	lock btsw $3, word(%rip)
	xchgl %eax, word(%rip)
	xchgb %al, word+8(%rip)
	.byte 0xf0		/* lock xchg: once */
	xchgq %rdx, word(%rip)
	/* none of these locks */
	xchgl %eax, %edx
	xaddl %eax, %edx
	cmpxchgl %ecx, word(%rip)
	addl $1, word(%rip)
	btsl $3, word(%rip)
	mfence
	nop
	xchg %rax, %rax
	nop
	decl %ebx
	jnz 1b
	/* across two lines */
	lock addl $1, split+62(%rip)
	xchgl %eax, split+62(%rip)
	movl $231, %eax
	xorl %edi, %edi
	syscall

	.data
	.balign 64
word:
	.quad 0, 0
	.balign 64
split:
	.fill 128
