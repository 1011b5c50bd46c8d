/* SPDX-License-Identifier: MIT */
/*
 * clone with a child that shares memory: it finds itself on the new engine stack that the kernel
 * was given, where nothing can be returned to, with the parent's other registers.
 */
#include "engine/emit/gate.h"

	.section .text.gate, "ax"

/* s64 ap_task_clone(nr, raw[5], child); the child finds its thread in r9, of which no clone takes notice */
	.globl ap_task_clone
	.hidden ap_task_clone
ap_task_clone:
	mov %rdi, %rax
	mov %rdx, %r9
	mov %rsi, %r11
	mov (%r11), %rdi
	mov 8(%r11), %rsi
	mov 16(%r11), %rdx
	mov 24(%r11), %r10
	mov 32(%r11), %r8
	enter_call
	cmp $58, %rax /* vfork takes no stack: the child has the caller's */
	jne 2f
	mov %rsi, %rsp
	jmp 3f
2:	mov GPR(4), %rsp
3:	syscall
	.globl ap_task_cloned
	.hidden ap_task_cloned
ap_task_cloned: /* a tracer's engine finds the child here, whose thread is in r9 */
	test %rax, %rax
	jz 1f
	leave_call
	ret
1:	xor %ebp, %ebp
	mov %r9, %rdi
	call ap_task_child
	ud2

/* s64 ap_helper_clone(flags, end of its stack, helper, where its number goes): it begins in ap_helper_main(helper) */
	.globl ap_helper_clone
	.hidden ap_helper_clone
ap_helper_clone:
	push %rbx
	mov %rcx, %r10
	mov %rdx, %rbx
	xor %edx, %edx
	xor %r8d, %r8d
	mov $56, %eax
	syscall
	test %rax, %rax
	jz 1f
	pop %rbx
	ret
1:	xor %ebp, %ebp
	mov %rbx, %rdi
	call ap_helper_main
	ud2

	.section .note.GNU-stack, "", @progbits
