/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Instructions that cross from one page to the next, at every split: a movabs, branches of each
 * kind, a system call, a rep string instruction; and one that ends just before an unmapped page.
 */
#include "asm.h"

/* a function of \len bytes ahead of a page's end, reached by falling through from nothing */
.macro at_page_end label, len
	.balign 4096, 0xcc
	.skip 4096 - \len, 0xcc
\label:
.endm

	.text
_start:
	mov $20, %ebx
.Lagain:
	.irp split, 1, 2, 3, 4, 5, 6, 7, 8, 9
	xor %eax, %eax
	call movabs_\split
	cmp %r12, %rax
	fail_if ne, "movabs split after \split"
	.endr
	.irp split, 1, 2, 3, 4
	call call_\split
	.endr
	.irp split, 1, 2, 3, 4, 5
	xor %eax, %eax
	call jcc_\split
	.endr
	call syscall_1
	check_eq $-38, %eax, "the split system call"
	call jmp_indirect_1
	lea bytes(%rip), %rdi
	mov $5, %ecx
	call rep_1
	check_eq $0, %ecx, "the split rep stosb"
	call last_byte
	dec %ebx
	jne .Lagain
	pass "page_cross: ok"

leaf:
	ret

	.irp split, 1, 2, 3, 4, 5, 6, 7, 8, 9
	at_page_end movabs_\split, \split
	movabs $0x1122334455667788, %rax
	mov %rax, %r12
	ret
	.endr

	.irp split, 1, 2, 3, 4
	at_page_end call_\split, \split
	call leaf
	ret
	.endr

	.irp split, 1, 2, 3, 4, 5
	at_page_end jcc_\split, 2 + \split
	test %eax, %eax
	{disp32} je 1f
	ud2
1:	ret
	.endr

	at_page_end syscall_1, 6
	mov $0xfff, %eax
	syscall
	ret

	at_page_end jmp_indirect_1, 8
	lea leaf(%rip), %rax
	jmp *%rax

	at_page_end rep_1, 1
	rep stosb
	ret

/* the last byte of all code, which the linker puts behind the other: no executable page follows */
	.section .last, "ax", @progbits
	at_page_end last_byte, 1
	ret

	.bss
bytes:
	.skip 16
