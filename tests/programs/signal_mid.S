/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Signals that land at known places: sent to oneself by kill and tgkill, nested, blocked and then
 * delivered by rt_sigprocmask, and on an alternate stack. The handlers restore what they count in
 * r14 and r15 through their frames.
 *
 *			instructions	branches	taken	system calls
 *	before		22				4
 *	50 rounds	36		5		1, but 0 in the last	5
 *	100 USR1	9 + 2		1		1	2
 *	150 USR2	8 + 2		3		1	1
 *	after		4 + 8		2			2
 *
 * EXPECT instructions 4434
 * EXPECT branches 802
 * EXPECT cond-branches 552
 * EXPECT taken-branches 299
 * EXPECT calls 0
 * EXPECT returns 250
 * EXPECT indirect-branches 0
 * EXPECT syscalls 606
 */
#include "asm.h"

.macro catch sig, action
	sys4 __NR_rt_sigaction, $\sig, $\action, $0, $8
.endm

	.data
	.balign 8
on_usr1_action:
	.quad on_usr1, SA_SIGINFO | SA_RESTORER, restorer, 0
on_usr2_action:
	.quad on_usr2, SA_SIGINFO | SA_RESTORER | SA_ONSTACK, restorer, 0
just_usr1:
	.quad 1 << (SIGUSR1 - 1)
alternate_stack:
	.quad stack, 0, stack_end - stack
pid:
	.quad 0

	.bss
	.balign 16
stack:
	.skip 32768
stack_end:

	.text
_start:
	catch SIGUSR1, on_usr1_action
	catch SIGUSR2, on_usr2_action
	sys2 __NR_sigaltstack, $alternate_stack, $0
	sys __NR_getpid
	mov %rax, pid(%rip)
	xor %r14d, %r14d
	xor %r15d, %r15d
	mov $50, %ebx
.Lagain:
	sys2 __NR_kill, pid(%rip), $SIGUSR1
	check_eq $0, %rax, "kill failed"
	sys3 __NR_tgkill, pid(%rip), pid(%rip), $SIGUSR2
	check_eq $0, %rax, "tgkill failed"

	/* blocked: it comes when the system call that unblocks it returns */
	sys4 __NR_rt_sigprocmask, $SIG_BLOCK, $just_usr1, $0, $8
	mov %r14, %r12
	sys2 __NR_kill, pid(%rip), $SIGUSR1
	check_eq %r12, %r14, "a blocked signal was delivered"
	sys4 __NR_rt_sigprocmask, $SIG_UNBLOCK, $just_usr1, $0, $8
	check_eq $0, %rax, "rt_sigprocmask failed"
	dec %ebx
	jne .Lagain

	check_eq $100, %r14, "not 100 times SIGUSR1"
	check_eq $150, %r15, "not 150 times SIGUSR2"
	pass "signal_mid: ok"

on_usr1:
	incq UC_R14(%rdx)
	mov %rdx, %rbp
	sys3 __NR_tgkill, pid(%rip), pid(%rip), $SIGUSR2
	mov %r15, UC_R15(%rbp)
	ret
on_usr2:
	incq UC_R15(%rdx)
	lea stack(%rip), %rax
	cmp %rax, %rsp
	fail_if b, "not on the alternate stack"
	lea stack_end(%rip), %rax
	cmp %rax, %rsp
	fail_if a, "not on the alternate stack"
	ret
restorer:
	sys __NR_rt_sigreturn
