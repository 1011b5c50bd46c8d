/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Branches to where nothing can be executed: no page, a page without permission, code that goes on
 * into such a page. The branch itself has completed and counts, what it leads to has not. Where the
 * target is no address at all the branch itself faults and does not count. The handler checks the pc
 * in its frame and goes back to where r12 says.
 *
 *			instructions	branches	taken
 *	before		6 + 3
 *	50 rounds	9 * 2 + 16	7		7, but 6 in the last
 *	450 faults	5 + 2		2		1
 *	after		2 + 8		1
 *
 * EXPECT instructions 4869
 * EXPECT branches 1251
 * EXPECT cond-branches 551
 * EXPECT taken-branches 799
 * EXPECT calls 100
 * EXPECT returns 500
 * EXPECT indirect-branches 200
 * EXPECT syscalls 453
 */
#include "asm.h"

#define NOWHERE 0x10000
#define NO_ADDRESS 0x8000000000000000

/* the next fault is to be at %r13 = \at, and to be continued at the label 1 */
.macro faults_at at
	mov \at, %r13
	lea 1f(%rip), %r12
.endm

	.data
	.balign 8
action:
	.quad handler, SA_SIGINFO | SA_RESTORER, restorer, 0
nowhere:
	.quad NOWHERE
no_address:
	.quad NO_ADDRESS
not_code:
	.byte 0xc3

	.text
_start:
	sys4 __NR_rt_sigaction, $SIGSEGV, $action, $0, $8
	xor %r15d, %r15d
	mov $50, %ebx
	lea runs_out(%rip), %rbp
.Lagain:
	faults_at $NOWHERE
	jmp *%r13
	ud2
1:	faults_at $NOWHERE
	call *nowhere(%rip)
	ud2
1:	faults_at $NOWHERE
	push %r13
	ret
1:	faults_at $not_code
	jmp *%r13
	ud2
1:	faults_at $NOWHERE
	cmp %r13, %r13
	je NOWHERE /* a fixed address, far away */
	ud2
1:	faults_at $end_of_text
	call *%rbp /* some instructions, then the end of the page */
	ud2
1:	faults_at $2f
	movabs $NO_ADDRESS, %rdx
2:	jmp *%rdx
	ud2
1:	faults_at $2f
2:	call *no_address(%rip)
	ud2
1:	faults_at $2f
	push %rdx
2:	ret
	ud2
1:	pop %rdx /* it is there still */
	dec %ebx
	jne .Lagain
	check_eq $450, %r15, "not 450 faults"
	pass "wild_jump: ok"

handler:
	cmp %r13, UC_RIP(%rdx)
	fail_if ne, "the frame's rip is not where the branch led to"
	mov %r12, UC_RIP(%rdx)
	incq UC_R15(%rdx)
	ret
restorer:
	sys __NR_rt_sigreturn

/* the linker puts this behind all other code */
	.section .last, "ax", @progbits
	.balign 4096, 0xcc
	.skip 4096 - 5, 0xcc
runs_out:
	nop
	mov %rax, %rcx
	nop
end_of_text:
