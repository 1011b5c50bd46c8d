/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * The 128 bytes below rsp belong to the program: they keep their values across branches, flag
 * juggling, system calls, and signals; and rsp may be used as an ordinary register meanwhile.
 */
#include "asm.h"

/* no call here: it would write there itself */
.macro check_zone text
	mov $-128, %rcx
.Lcheck\@:
	lea (%r12,%rcx), %rax
	cmp %rax, (%rsp,%rcx)
	fail_if ne, "the red zone changed \text"
	add $8, %rcx
	jne .Lcheck\@
.endm

	.data
	.balign 8
action:
	.quad handler, SA_SIGINFO | SA_RESTORER, restorer, 0
pointer:
	.quad .Lfour

	.text
_start:
	sys4 __NR_rt_sigaction, $SIGUSR1, $action, $0, $8
	sys __NR_getpid
	mov %rax, %r13
	xor %r15d, %r15d
	mov $20, %ebx
.Lagain:
	mov %rbx, %r12
	shl $32, %r12
	mov $-128, %rcx
.Lfill:
	lea (%r12,%rcx), %rax
	mov %rax, (%rsp,%rcx)
	add $8, %rcx
	jne .Lfill
	check_zone "across a loop"

	lea .Lone(%rip), %rax
	jmp *%rax
.Lone:
	check_zone "across an indirect jump"
	/* flags stay live, so a counter that must save them has no place on the stack */
	cmp %rbx, %rbx
	jmp .Ltwo
.Ltwo:
	lea .Lthree(%rip), %rdx
	jmp *%rdx
.Lthree:
	fail_if ne, "flags lost"
	jmp *pointer(%rip)
.Lfour:
	fail_if ne, "flags lost"
	check_zone "with live flags"
	sys __NR_getpid
	check_zone "across a system call"
	sys2 __NR_kill, %r13, $SIGUSR1
	check_zone "across a signal"
	dec %rbx
	jne .Lagain
	check_eq $20, %r15, "not every signal came"

	/* rsp as a pointer that must not be pushed to */
	mov %rsp, %rbp
	mov $1000, %ecx
	mov $0x10, %esp /* page 0 */
.Lwild:
	lea 8(%rsp), %rsp
	lea .Lnext(%rip), %rax
	jmp *%rax
.Lnext:
	dec %ecx
	jne .Lwild
	cmp $0x1f50, %rsp
	mov %rbp, %rsp
	fail_if ne, "rsp went astray"
	pass "redzone: ok"

handler:
	incq UC_R15(%rdx)
	ret
restorer:
	sys __NR_rt_sigreturn
