/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * A thousand probes for an instruction that no CPU has: lock in front of a nop.  It does not retire; its handler steps over it
 * and returns, in 4 instructions.  With dec and jnz that is 6,000, and 15 for all the rest.
 *
 * EXPECT instructions 6015
 * EXPECT branches 2000
 * EXPECT cond-branches 1000
 * EXPECT taken-branches 1999
 * EXPECT returns 1000
 * EXPECT syscalls 1003
 */
#include "asm.h"

	.data
	.balign 8
action:
	.quad on_ill, SA_SIGINFO | SA_RESTORER, restorer, 0

	.text
_start:
	sys4 __NR_rt_sigaction, $SIGILL, $action, $0, $8
	mov $1000, %ebx
1:	.byte 0xf0, 0x90
	dec %ebx
	jnz 1b
	pass "undefined: ok"

on_ill:
	addq $2, UC_RIP(%rdx)
	ret
restorer:
	sys __NR_rt_sigreturn
