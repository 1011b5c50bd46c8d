/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Iterations of rep instructions: counted as they are done, whatever comes in between.
 *
 *	100 rounds of
 *		16, given up after 8 by a handler that skips it	8
 *		16, over a page that the handler gives back	16
 *		16 backwards					16
 *		none						0
 *		10 by ecx, with more in rcx			10
 *		5 through %gs					5
 *		compares up to a difference			3
 *
 * EXPECT rep-iterations 5800
 */
#include "asm.h"

#define ARCH_SET_GS 0x1001
#define ROUNDS	    100
#define PAGE	    4096

	.data
	.balign 8
action:
	.quad handler, SA_SIGINFO | SA_RESTORER, restorer, 0
text:	.ascii "abc-"
other:	.ascii "abd-"
	.balign PAGE
low:	.skip PAGE
/* this page is taken away again and again */
high:	.skip PAGE

	.text
_start:
	sys4 __NR_rt_sigaction, $SIGSEGV, $action, $0, $8
	sys2 __NR_arch_prctl, $ARCH_SET_GS, $text
	xor %r15d, %r15d
	mov $ROUNDS, %ebx
.Lagain:
	sys3 __NR_mprotect, $high, $PAGE, $0
	mov $1f - .Lskipped, %r13d
	lea high - 8(%rip), %rdi
	mov $16, %ecx
.Lskipped:
	rep stosb
1:	check_eq $8, %ecx, "stosb faulted elsewhere"

	xor %r13d, %r13d
	lea high - 4(%rip), %rdi
	mov $4, %ecx
	lea low(%rip), %rsi
	mov $16, %ecx
	rep movsb
	check_eq $0, %ecx, "movsb did not end"

	std
	lea high + 15(%rip), %rdi
	mov $16, %ecx
	rep stosb
	cld

	rep stosb

	mov $1, %rcx
	shl $40, %rcx
	add $10, %rcx
	lea low(%rip), %rdi
	addr32 rep stosb
	check_eq $0, %ecx, "stosb by ecx did not end"

	xor %esi, %esi
	lea low(%rip), %rdi
	mov $5, %ecx
	rep movsb %gs:(%rsi), %es:(%rdi)
	check_eq $5, %rsi, "movsb through gs"

	lea text(%rip), %rsi
	lea other(%rip), %rdi
	mov $4, %ecx
	repe cmpsb
	check_eq $1, %ecx, "cmpsb stopped elsewhere"
	dec %ebx
	jne .Lagain
	check_eq $(2 * ROUNDS), %r15d, "not two faults in each round"
	pass "rep_iter: ok"

/* skips what r13 says, or gives the page back */
handler:
	inc %r15
	mov %r15, UC_R15(%rdx)
	mov UC_R13(%rdx), %rax
	add %rax, UC_RIP(%rdx)
	test %rax, %rax
	jne 1f
	sys3 __NR_mprotect, $high, $PAGE, $3
1:	ret
restorer:
	sys __NR_rt_sigreturn
