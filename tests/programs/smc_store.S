/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib -Wl,--no-warn-rwx-segments */
/*
 * Self-modifying code through one mapping, as x86 shows it: a store is seen by the very next
 * instruction, without any serializing instruction or jump between.
 *
 * Rewritten: a function's immediate, the instruction after the store, a whole function with a
 * longer one, a jump, code beside data that is written all the time, and a page that a
 * system call writes to.
 */
#include "asm.h"

	.section .rwx, "awx", @progbits
	.balign 4096
/* mov $imm32, %eax; ret */
gives:
	mov $0, %eax
	ret

modify_next: /* %cl goes to the immediate of the instruction behind the store */
	xor %eax, %eax
	mov %cl, 1f + 1(%rip)
1:	mov $0xaa, %al
	ret

modify_loop: /* leaves a loop by its jne once, then turns that into nops and goes on */
	mov $5, %ecx
	xor %eax, %eax
	movzwl 2f(%rip), %edx
1:	inc %eax
	dec %ecx
	cmp $2, %ecx
2:	jne 1b
	test %ecx, %ecx
	je 3f
	movw $0x9090, 2b(%rip)
	jmp 1b
3:	mov %dx, 2b(%rip)
	ret

overwrite_ahead: /* turns a ud2 far ahead in the same block into nops */
	movl $0x90909090, 1f(%rip)
	mov $1, %eax
	add $2, %eax
	lea 4(%rax), %eax
1:	ud2
	ud2
	movl $0x0b0f0b0f, 1b(%rip)
	ret

data_beside_code:
	.long 0
counts_beside:
	incl data_beside_code(%rip)
	mov data_beside_code(%rip), %eax
	ret

	.balign 4096
read_target: /* written by read(2) */
	.skip 4096, 0xcc

	.text
_start:
	mov $0, %ebx
.Lagain:
	mov %ebx, gives + 1(%rip)
	call gives
	check_eq %ebx, %eax, "a rewritten immediate is stale"

	mov %bl, %cl
	call modify_next
	movzbl %bl, %edx
	check_eq %edx, %eax, "the very next instruction is stale"

	call overwrite_ahead
	check_eq $7, %eax, "an instruction ahead is stale"

	call counts_beside
	lea 1(%rbx), %ecx
	check_eq %ecx, %eax, "data beside code"

	inc %ebx
	cmp $100, %ebx
	jne .Lagain

	/* a longer function over the first: mov, then add $1, %eax; ret */
	lea longer(%rip), %rsi
	lea gives(%rip), %rdi
	mov $longer_end - longer, %ecx
	rep movsb
	call gives
	check_eq $43, %eax, "an overwritten function is stale"

	mov $20, %r12d
.Lpipe: /* code that arrives by a system call, in a page that has been executed */
	sys1 __NR_pipe, $ends
	mov %r12d, longer + 1(%rip)
	mov ends+4(%rip), %edi
	lea longer(%rip), %rsi
	mov $longer_end - longer, %edx
	sys __NR_write
	mov ends(%rip), %edi
	lea read_target(%rip), %rsi
	mov $64, %edx
	sys __NR_read
	check_eq $(longer_end-longer), %eax, "read(2) into a code page failed"
	call read_target
	lea 1(%r12), %ecx
	check_eq %ecx, %eax, "code written by read(2) is stale"
	mov ends(%rip), %edi
	sys __NR_close
	mov ends+4(%rip), %edi
	sys __NR_close
	dec %r12d
	jne .Lpipe

	mov $20, %ebx
.Ljump:
	call modify_loop
	check_eq $5, %eax, "a rewritten jump is stale"
	dec %ebx
	jne .Ljump
	pass "smc_store: ok"

	.data
longer:
	mov $42, %eax
	add $1, %eax
	ret
longer_end:
	.balign 8
ends:
	.quad 0
