/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Instructions that read and write memory: each once, whatever its operands' values.
 *
 *	100 rounds of	loads	stores	either
 *	loads		3		3
 *	stores			2	2
 *	both		6	6	7	one a load, one a store
 *	stack		4	4	6
 *	calls		3	2	4
 *	strings		2	2	3
 *
 * EXPECT loads 1800
 * EXPECT stores 1600
 * EXPECT mem-ops 2500
 * EXPECT rep-iterations 800
 * EXPECT syscalls 2
 */
#include "asm.h"

	.data
	.balign 64
word:	.quad 0
other:	.quad 5
there:	.quad leaf
	.bss
	.balign 64
from:	.skip 64
to:	.skip 64

	.text
_start:
	mov $100, %ebx
.Lagain:
	/* neither */
	lea word(%rip), %rdi
	lea other(%rip), %rsi
	nopl (%rdi)
	prefetcht0 (%rdi)
	mfence
	lfence
	clflush (%rdi)
	/* loads */
	mov (%rdi), %rax
	cmp %rax, (%rdi)
	cmovne (%rsi), %rax
	/* stores */
	mov %rax, (%rdi)
	movnti %rax, (%rdi)
	/* both, and one of each */
	incq (%rdi)
	lock xadd %rax, (%rdi)
	xchg %rax, (%rdi)
	mov (%rdi), %rax /* a load */
	lock cmpxchg %rax, (%rdi)
	inc %rax
	lock cmpxchg %rcx, (%rdi) /* fails */
	movq $0, (%rdi)		  /* a store */
	/* the stack: push, pop; push and pop of memory: both; pushf, popf */
	push %rax
	pop %rax
	push (%rdi)
	pop (%rsi)
	pushf
	popf
	/* a call stores, a return loads; through memory it does both */
	call leaf
	call *there(%rip)
	/* strings: one each, also of none; the first of 8 iterations */
	lea from(%rip), %rsi
	lea to(%rip), %rdi
	mov $8, %ecx
	cld
	rep movsb /* both */
	rep stosb /* a store */
	lodsb	  /* a load */
	dec %ebx
	jne .Lagain
	pass "loads_stores: ok"
leaf:
	ret
