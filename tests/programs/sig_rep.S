/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Long rep instructions under a timer's signals every 100 microseconds, most of which interrupt one
 * in the middle.  Whatever the signals do, its iterations are 1000 times 1 Mi and, by ecx, 1000 times
 * 64 Ki.  Fails where no signal came.
 */
#include "asm.h"

#define LONG_ONE  (1 << 20)
#define SHORT_ONE (1 << 16)

	.data
	.balign 8
action:
	.quad on_tick, SA_RESTORER | SA_RESTART, restorer, 0
timer:
	.quad 0, 100, 0, 100
hits:
	.quad 0
	.bss
	.balign 4096
buffer:
	.skip LONG_ONE

	.text
_start:
	sys4 __NR_rt_sigaction, $14, $action, $0, $8
	sys3 __NR_setitimer, $0, $timer, $0
	mov $1000, %ebx
.Lagain:
	lea buffer(%rip), %rdi
	mov $LONG_ONE, %ecx
	rep stosb
	mov $3, %rcx
	shl $33, %rcx
	add $SHORT_ONE, %rcx
	lea buffer(%rip), %rsi
	addr32 repe lodsb
	dec %ebx
	jne .Lagain
	cmpq $0, hits(%rip)
	fail_if e, "no signal came"
	pass "sig_rep: ok"
on_tick:
	incq hits(%rip)
	ret
restorer:
	sys __NR_rt_sigreturn
