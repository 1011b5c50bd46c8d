/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Fixed work under a timer's signals, which land anywhere: each costs the 2 instructions of its
 * handler (1 branch, taken, a return) and the 2 that return from it (1 system call), nothing else.
 * The number of signals goes to stdout as 8 bytes.
 *
 * Two digits as arguments: the timer's period in 100 microseconds, where 0 runs the same instructions
 * without a signal, and how often to halve the work.
 *
 * The work has what an engine rewrites: memory operands relative to rip, calls, returns and jumps
 * through registers and memory, string instructions, flags that live across branches, system calls.
 */
#include "asm.h"

	.data
	.balign 8
action:
	.quad on_tick, SA_RESTORER | SA_RESTART, restorer, 0
timer:
	.quad 0, 0, 0, 0
stop:
	.quad 0, 0, 0, 0
sum:
	.quad 0
through:
	.quad sub_b
table:
	.quad case_0, case_1, case_2, case_3

	.bss
	.balign 16
hits:
	.skip 8
left:
	.skip 256
right:
	.skip 256

	.text
_start:
	mov 16(%rsp), %rdx
	movzbl (%rdx), %eax
	sub $'0', %eax
	imul $100, %rax, %rax
	mov %rax, timer+8(%rip)
	mov %rax, timer+24(%rip)
	sys4 __NR_rt_sigaction, $14, $action, $0, $8
	sys3 __NR_setitimer, $0, $timer, $0
	mov 24(%rsp), %rdx
	movzbl (%rdx), %ecx
	sub $'0', %ecx
	mov $2000000, %ebx
	shr %cl, %ebx
	xor %r12d, %r12d
.Lagain:
	add %rbx, sum(%rip)
	mov sum(%rip), %rax
	adc $0, %r12
	call sub_a
	mov $sub_a, %edx
	call *%rdx
	call *through(%rip)
	mov %ebx, %eax
	and $3, %eax
	jmp *table(,%rax,8)
case_0:
	lea left(%rip), %rdi
	mov $200, %ecx
	rep stosb
	jmp .Ljoin
case_1:
	lea left(%rip), %rsi
	lea right(%rip), %rdi
	mov $25, %ecx
	rep movsq
	jmp .Ljoin
case_2:
	push %rax
	pushfq
	popfq
	pop %rax
	cmp %rax, %r12
	sbb %rdx, %rdx
	jmp .Ljoin
case_3:
	test $0xff0, %ebx
	jne .Ljoin
	sys __NR_getppid
.Ljoin:
	mov %ebx, %ecx
	and $7, %ecx
	jrcxz .Lskip
1:	xor %rcx, %r12
	loop 1b
.Lskip:
	dec %ebx
	jne .Lagain

	sys3 __NR_setitimer, $0, $stop, $0
	sys3 __NR_write, $1, $hits, $8
	sys1 __NR_exit_group, $0

sub_a:
	lea (%r12,%rbx,2), %rcx
	rol $5, %rcx
	xor %rcx, %r12
	ret
sub_b:
	push $7
	pop %rcx
	cmp %rcx, %rbx
	cmovb %rbx, %rcx
	add %rcx, %r12
	ret $0

on_tick:
	incq hits(%rip)
	ret
restorer:
	sys __NR_rt_sigreturn
