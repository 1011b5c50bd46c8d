/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Prefixes that mean nothing, little, or something else than usual: doubled, in odd order, a REX
 * that another prefix makes void, on branches, and up to the limit of 15 bytes.
 */
#include "asm.h"

_start:
	mov $50, %ebx
.Lagain:
	/* nops */
	.byte 0x66, 0x90
	.byte 0xf3, 0x90 /* pause */
	.byte 0xf2, 0x90
	.byte 0x48, 0x90
	.byte 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
	.fill 14, 1, 0x66
	.byte 0x90 /* 15 bytes */
	.byte 0x2e, 0x3e, 0x26, 0x36, 0x90

	/* a REX before another prefix is void: mov %ax, %cx, not %rax, %rcx */
	mov $-1, %rcx
	mov $0x12345678, %eax
	.byte 0x48, 0x66, 0x89, 0xc1
	mov $0xffffffffffff5678, %rdx
	check_eq %rdx, %rcx, "a void REX.W had an effect"

	/* of two REX the last counts: mov %eax, %r9d */
	.byte 0x48, 0x41, 0x89, 0xc1
	check_eq $0x12345678, %r9, "the first REX of two had an effect"

	/* REX.W beats 66: mov %rax, %rcx */
	.byte 0x66, 0x48, 0x89, 0xc1
	check_eq %rax, %rcx, "66 beat REX.W"

	/* 67 on register forms does nothing, on memory it cuts the address */
	.byte 0x67, 0x01, 0xc0
	lea bytes(%rip), %rsi
	bts $40, %rsi
	movzbl 1(%esi), %eax
	check_eq $2, %eax, "a 32-bit address was not cut"
	lea 8(%rsi), %edx /* 32-bit result of a 64-bit address */
	shr $32, %rdx
	check_eq $0, %rdx, "lea kept the high half"
	addr32 mov bytes+2(%eip), %al
	check_eq $3, %al, "rip-relative with 67"

	/* segment prefixes without a meaning in 64-bit mode */
	lea bytes(%rip), %rsi
	.byte 0x2e, 0x36, 0x8a, 0x06 /* mov %ss:(%rsi), %al */
	check_eq $1, %al, "cs and ss prefixes had an effect"

	/* branches */
	cmp %eax, %eax
	.byte 0x2e
	je 1f /* not taken, said the hint */
	ud2
1:	.byte 0x3e
	jne .Lwrong
	.byte 0x40
	jmp 1f
	ud2
1:	.byte 0xf2, 0xeb, 0x02 /* bnd jmp */
	ud2
	.byte 0x4f, 0xe8 /* rex.WRXB call */
	.long leaf - . - 4
	.byte 0xf2, 0xe8 /* bnd call */
	.long ss_leaf - . - 4
	.byte 0xf3, 0x36, 0xe8
	.long rep_leaf - . - 4
	lea leaf(%rip), %r11
	.byte 0x3e, 0x49, 0xff, 0xd3 /* notrack rex.WB call *%r11 */
	lea 1f(%rip), %rax
	.byte 0x48, 0xff, 0xe0 /* rex.W jmp *%rax */
	ud2
1:	mov $2, %ecx
1:	.byte 0x48, 0xe2, 0xfd /* rex.W loop: to itself */
	xor %ecx, %ecx
	.byte 0x2e, 0x67, 0xe3, 0x02 /* jecxz over */
	ud2
	push %rbx
	.byte 0x66, 0x48, 0x5a /* 66 and REX.W pop %rdx */
	check_eq %rbx, %rdx, "66 rex.W pop"

	/* string instructions: the last of f2 and f3 counts for movs; both repeat */
	lea bytes(%rip), %rsi
	lea copy(%rip), %rdi
	mov $4, %ecx
	.byte 0xf2, 0xa4
	check_eq $0, %ecx, "repne movsb did not repeat"
	lea bytes(%rip), %rsi
	mov $2, %ecx
	.byte 0xf3, 0x48, 0xad /* rep lodsq */
	lea bytes(%rip), %rsi
	mov $1, %ecx
	bts $33, %rcx
	.byte 0xf3, 0x67, 0xac /* ecx and esi count */
	check_eq $0, %rcx, "addr32 rep did not use ecx"

	/* lock, and lock with xacquire */
	lock incl counter(%rip)
	.byte 0xf2
	lock incl counter(%rip)
	.byte 0x66, 0xf0, 0x66, 0xff, 0x05 /* lock incw */
	.long counter - . - 4

	/* an immediate's size follows 66, but not on REX.W */
	.byte 0x66, 0xb8, 0x34, 0x12 /* mov $0x1234, %ax */
	.byte 0x66, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8 /* movabs */
	.byte 0x66, 0x48, 0x05, 1, 0, 0, 0 /* add $1, %rax */
	movabs $0x0807060504030202, %rdx
	check_eq %rdx, %rax, "an immediate's size is wrong"
	dec %ebx
	jne .Lagain

	cmpl $150, counter(%rip)
	fail_if ne, "the locked counter is wrong"
	pass "odd_prefixes: ok"
.Lwrong:
	finish 2, 1, "a jcc with a prefix went wrong"

leaf:
	ret
ss_leaf:
	.byte 0x36, 0xc3
rep_leaf:
	.byte 0xf2, 0xf3, 0xc3

	.data
	.balign 16
bytes:
	.byte 1, 2, 3, 4
	.skip 28
copy:
	.skip 16
counter:
	.long 0
