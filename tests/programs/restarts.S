/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * System calls that signals interrupt while they block: restarted behind a handler with
 * SA_RESTART (executed twice), ended with EINTR without it, and not disturbed at all by a signal
 * that is ignored, be it by choice or by default.
 *
 * A timer makes the signals, 15 ms later, twice as much with each argument: the program needs only a few instructions to
 * be blocked by then, and on a busy machine a CPU.  Who finds that it says nothing starts it anew with one argument more.
 *
 *			instructions		branches	taken	system calls
 *	start		3
 *	pipe		4					1
 *	read		6 + 5 + 5 + 1 + 2	1			4
 *	pause		6 + 5 + 2 + 2		1			3
 *	nanosleep	5 + 4 + 2		1			2
 *	futex		5 + 8 + 2 + 2		2			2
 *	4 handlers	7 + 2			1		1	2
 *	ignored alarm	6 + 5 + 4 + 2		1			3
 *	child		4 + 7 + 6 + 8		4			4
 *	in the child	10			1		1	2
 *	pass		8					2
 *
 * EXPECT instructions 165
 * EXPECT branches 15
 * EXPECT cond-branches 11
 * EXPECT taken-branches 5
 * EXPECT calls 0
 * EXPECT returns 4
 * EXPECT indirect-branches 0
 * EXPECT syscalls 31
 */
#include "asm.h"

#define ITIMER_REAL 0
#define SIGALRM 14
#define EINTR 4

.macro alarm_soon
	sys3 __NR_setitimer, $ITIMER_REAL, $timer, $0
.endm

.macro on_alarm action
	sys4 __NR_rt_sigaction, $SIGALRM, $\action, $0, $8
.endm

	.data
	.balign 8
restarting:
	.quad handler, SA_SIGINFO | SA_RESTORER | SA_RESTART, restorer, 0
interrupting:
	.quad handler, SA_SIGINFO | SA_RESTORER, restorer, 0
ignoring:
	.quad 1, SA_RESTORER, restorer, 0
timer:
	.quad 0, 0, 0, 7500
twice_as_long:
	.quad 0, 15000000
ends:
	.quad 0
byte:
	.quad 0
zero:
	.quad 0

	.text
_start:
	mov (%rsp), %ecx /* words of the command */
	shlq %cl, timer+24(%rip)
	shlq %cl, twice_as_long+8(%rip)
	sys1 __NR_pipe, $ends
	xor %r15d, %r15d

	/* the handler writes what the restarted read gets */
	on_alarm restarting
	alarm_soon
	mov ends(%rip), %edi
	lea byte(%rip), %rsi
	mov $1, %edx
	sys __NR_read
	check_eq $1, %rax, "read was not restarted"

	on_alarm interrupting
	alarm_soon
	sys __NR_pause
	check_eq $-EINTR, %rax, "pause did not end"
	alarm_soon
	sys2 __NR_nanosleep, $twice_as_long, $0
	check_eq $-EINTR, %rax, "nanosleep did not end"
	alarm_soon
	sys6 __NR_futex, $zero, $0, $0, $0, $0, $0 /* FUTEX_WAIT */
	check_eq $-EINTR, %rax, "futex did not end"
	check_eq $4, %r15, "not four alarms"

	on_alarm ignoring
	alarm_soon
	sys2 __NR_nanosleep, $twice_as_long, $0
	check_eq $0, %rax, "an ignored alarm ended nanosleep"

	/* SIGCHLD is ignored by default */
	sys __NR_fork
	test %eax, %eax
	je .Lchild
	mov ends(%rip), %edi
	lea byte(%rip), %rsi
	mov $3, %edx
	sys __NR_read /* what the handler has written in the meantime */
	check_eq $3, %rax, "read got something else"
	sys2 __NR_nanosleep, $twice_as_long, $0
	check_eq $0, %rax, "a child's end ended nanosleep"
	sys4 __NR_wait4, $-1, $byte, $0, $0
	cmpl $0, byte(%rip)
	fail_if ne, "the child failed"
	pass "restarts: ok"

.Lchild:
	shrq $1, twice_as_long+8(%rip)
	sys2 __NR_nanosleep, $twice_as_long, $0
	mov %rax, %rdi
	sys __NR_exit_group

handler:
	incq UC_R15(%rdx)
	mov ends+4(%rip), %edi
	lea byte(%rip), %rsi
	mov $1, %edx
	sys __NR_write
	ret
restorer:
	sys __NR_rt_sigreturn
