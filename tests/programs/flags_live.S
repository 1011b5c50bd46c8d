/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Flags that live across every kind of transfer: for all 32 states of CF, PF, ZF, SF and OF they
 * are set before a transfer and read behind it by pushf, lahf, setcc, cmovcc, adc and jcc.
 *
 * Counting must not disturb them, wherever it puts its own instructions.
 */
#include "asm.h"

#define STATUS_FLAGS 0x8c5

/* flags := state in %r12 */
.macro set_flags
	push %r12
	popf
.endm

/* %rax = the status flags */
.macro check_flags text
	pushf
	pop %rax
	and $STATUS_FLAGS, %eax
	check_eq %r13, %rax, "\text"
.endm

	.text
_start:
	lea target_in_memory(%rip), %r14
	mov $31, %ebx
.Lstate:
	/* bits 0..4 of ebx to CF, PF, ZF, SF, OF */
	mov $0x1f, %eax
	and %ebx, %eax
	mov states(,%rax,8), %r13
	lea 0x202(%r13), %r12

	set_flags
	jmp 1f
	ud2
1:	check_flags "flags across jmp"

	lea 1f(%rip), %rcx
	set_flags
	jmp *%rcx
	ud2
1:	check_flags "flags across jmp through a register"

	lea 1f(%rip), %rcx
	mov %rcx, (%r14)
	set_flags
	jmp *(%r14)
	ud2
1:	check_flags "flags across jmp through memory"

	set_flags
	call leaf
	check_flags "flags across call and ret"

	lea leaf(%rip), %rcx
	set_flags
	call *%rcx
	check_flags "flags across call through a register"

	lea 1f(%rip), %rcx
	push $0
	push %rcx
	set_flags
	ret $8
	ud2
1:	check_flags "flags across ret n"

	mov $3, %ecx
	set_flags
1:	loop 1b
	check_flags "flags across loop"

	mov $2, %ecx /* compared with 2, then with 1 */
	mov $1, %eax
1:	cmp %rcx, %rax
	loop 1b
	sete %dl /* not of the comparison with what loop has left */
	check_eq $1, %dl, "flags of a comparison with the counter of loop"

	mov $2, %ecx
	mov $2, %eax
	cmp %rcx, %rax
	loop 1f
	ud2
1:	sete %dl
	check_eq $1, %dl, "the same across loop taken"

	xor %ecx, %ecx
	set_flags
	jrcxz 1f
	ud2
1:	check_flags "flags across jrcxz"

	set_flags
	jc 1f
1:	jo 1f
1:	js 1f
1:	jp 1f
1:	jz 1f
1:	check_flags "flags across jcc"

	set_flags
	call sets_bytes /* reads them one by one */
	check_eq %r13, %rax, "setcc behind a call"

	xor %eax, %eax
	set_flags
	call *lahf_pointer(%rip)
	movzbl %ah, %eax
	and $STATUS_FLAGS & 0xff, %eax
	mov %r13d, %ecx
	and $STATUS_FLAGS & 0xff, %ecx
	check_eq %rcx, %rax, "lahf behind a call"

	mov $0, %eax
	set_flags
	call adds_carry
	adc $0, %eax /* both add CF, which the callee's adc of small numbers clears */
	mov %r13d, %ecx
	and $1, %ecx
	check_eq %rcx, %rax, "adc behind a call"

	set_flags
	mov $__NR_getpid, %eax
	syscall
	check_flags "flags across a system call"

	set_flags
	inc %ecx /* all but CF */
	jmp 1f
	ud2
1:	setc %al
	mov %r13d, %ecx
	and $1, %ecx
	check_eq %cl, %al, "CF behind inc and jmp"

	set_flags
	lea leaf(%rip), %rcx
	mov $2, %edx
1:	call *%rcx /* one call site, different flags */
	lea -1(%rdx), %rdx
	xchg %rdx, %rcx
	jrcxz 2f
	xchg %rdx, %rcx
	jmp 1b
2:	check_flags "flags across a loop of calls"

	dec %ebx
	jns .Lstate

	/* the direction flag across a call */
	std
	call leaf
	lea bytes + 3(%rip), %rsi
	lodsb
	lodsb
	cld
	check_eq $3, %al, "the direction flag across a call"

	/* a long carry chain across branches */
	mov $1000, %ecx
	xor %eax, %eax
	xor %edx, %edx
	mov $-1, %r8
	clc
1:	adc %r8, %rax
	jmp 2f
	ud2
2:	adc $0, %rdx
	call leaf
	dec %ecx /* keeps CF */
	jne 1b
	check_eq $-1000, %rax, "the carry chain's sum"
	check_eq $999, %rdx, "the carry chain's carries"

	/* the alignment and identification bits stay as set */
	pushf
	orl $(1 << 21), (%rsp)
	popf
	call leaf
	pushf
	testl $(1 << 21), (%rsp)
	fail_if e, "the ID flag is lost"
	andl $~(1 << 21), (%rsp)
	popf
	pushf
	testl $(1 << 8), (%rsp)
	fail_if ne, "a trap flag is seen"
	popf
	pass "flags_live: ok"

leaf:
	ret

sets_bytes:
	setc %al
	setp %cl
	setz %dl
	sets %sil
	seto %dil
	movzbl %al, %eax
	movzbl %cl, %ecx
	movzbl %dl, %edx
	movzbl %sil, %esi
	movzbl %dil, %edi
	shl $2, %ecx
	shl $6, %edx
	shl $7, %esi
	shl $11, %edi
	or %ecx, %eax
	or %edx, %eax
	or %esi, %eax
	or %edi, %eax
	ret

loads_ah:
	lahf
	ret

adds_carry:
	adc $0, %eax
	ret

	.data
	.balign 8
target_in_memory:
	.quad 0
lahf_pointer:
	.quad loads_ah
bytes:
	.byte 1, 2, 3, 4

	.section .rodata
	.balign 8
states:
	.irp of, 0, 0x800
	.irp sf, 0, 0x80
	.irp zf, 0, 0x40
	.irp pf, 0, 4
	.irp cf, 0, 1
	.quad \of + \sf + \zf + \pf + \cf
	.endr
	.endr
	.endr
	.endr
	.endr
