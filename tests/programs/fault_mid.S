/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Faults in the middle of straight code, each skipped by a handler that moves rip in its frame.
 *
 * A faulting instruction does not retire, so it counts 0; int3 traps after it has retired and
 * counts 1. The handler's 10 instructions and 2 to return through rt_sigreturn count as any. Each
 * fault is checked to report its exact rip, and the registers around it to be untouched.
 *
 *			instructions	branches	taken
 *	before		4 * 6 + 5 + 3 = 32
 *	100 rounds	66		6		1, but 0 in the last
 *	1000 faults	12		3		1
 *	after		4 + 8		2
 *
 * EXPECT instructions 18644
 * EXPECT branches 3602
 * EXPECT cond-branches 2602
 * EXPECT taken-branches 1099
 * EXPECT calls 0
 * EXPECT returns 1000
 * EXPECT indirect-branches 0
 * EXPECT syscalls 1007
 */
#include "asm.h"

.macro catch sig
	sys4 __NR_rt_sigaction, $\sig, $action, $0, $8
.endm

/* the instruction between the labels 1 and 2 below is going to fault */
.macro faults_next
	lea 1f(%rip), %r12
	mov $2f - 1f, %r13
	inc %r14
.endm

/* the instruction before the label 2 is going to trap: nothing to skip */
.macro traps_next
	lea 2f(%rip), %r12
	mov $0, %r13
	inc %r14
.endm

	.data
	.balign 8
action:
	.quad handler, SA_SIGINFO | SA_RESTORER, restorer, 0
zero:
	.quad 0
/* this page will be taken away */
	.balign 4096
	.skip 4096
page_end:
	.skip 4096

	.text
_start:
	catch SIGSEGV
	catch SIGFPE
	catch SIGILL
	catch SIGTRAP
	sys3 __NR_mprotect, $page_end, $4096, $0
	xor %r14d, %r14d
	xor %r15d, %r15d
	mov $100, %ebx
.Lagain:
	xor %ebp, %ebp
	mov $7, %eax
	stc

	faults_next /* load from page 0 */
	add $1, %eax
	stc
1:	mov (%rbp), %rax
2:	jnc .Lwrong
	adc $1, %eax /* 7 + 1 + 1 + carry */
	check_eq $10, %eax, "registers or flags changed by a fault on a load"

	faults_next /* store to code */
	mov $3, %ecx
1:	mov %eax, .Lagain(%rip)
2:	add $4, %ecx
	check_eq $7, %ecx, "registers changed by a fault on a store"

	faults_next /* division by zero */
	mov $9, %eax
	xor %edx, %edx
1:	div %ebp
2:	check_eq $9, %eax, "registers changed by a division fault"

	faults_next /* division by zero in memory */
	lea zero(%rip), %rsi
1:	divl (%rsi)
2:	nop

	faults_next
	nop
1:	ud2
2:	nop

	traps_next
	nop
1:	int3
2:	nop

	faults_next /* privileged */
	nop
1:	hlt
2:	nop

	faults_next /* a call whose target cannot be read */
	nop
1:	call *(%rbp)
2:	nop

	faults_next /* a string instruction after 8 of 16 iterations */
	lea page_end - 8(%rip), %rdi
	mov $16, %ecx
1:	rep stosb
2:	check_eq $8, %ecx, "rep stosb faulted elsewhere"

	faults_next /* non-canonical address */
	movabs $0x8000000000000000, %rdi
1:	mov %eax, 1(%rdi)
2:	nop

	dec %ebx
	jne .Lagain
	check_eq %r14, %r15, "not every fault came to the handler"
	check_eq $1000, %r15, "not 1000 faults"
	pass "fault_mid: ok"
.Lwrong:
	finish 2, 1, "the carry flag was lost"

handler:
	mov UC_RIP(%rdx), %rax
	check_eq %r12, %rax, "the frame has another rip than the faulting one"
	check_eq %r13, UC_R13(%rdx), "the frame has another r13"
	add %r13, %rax
	mov %rax, UC_RIP(%rdx)
	inc %r15
	mov %r15, UC_R15(%rdx) /* or the return would restore it */
	ret
restorer:
	sys __NR_rt_sigreturn
