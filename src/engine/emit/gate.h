/* SPDX-License-Identifier: MIT */
/* For the assembler: the program's registers, and what stands around a system call of the program's. */
#ifndef AP_ENGINE_GATE_H
#define AP_ENGINE_GATE_H

#include "engine/emit/offsets.h"

/* clang-format off */
#define GPR(n) %gs:AP_T_GPR + 8 * (n)

	.macro enter_call
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, %gs:AP_T_CALL_SP
	mov GPR(3), %rbx
	mov GPR(5), %rbp
	mov GPR(12), %r12
	mov GPR(13), %r13
	mov GPR(14), %r14
	mov GPR(15), %r15
	.endm

	.macro leave_call
	mov %gs:AP_T_CALL_SP, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	.endm

#endif
