/* SPDX-License-Identifier: MIT */
/*
 * Every crossing between translated code and the engine's C code.
 *
 * Translated code runs on the program's stack with the program's registers; the engine runs on
 * its own stack, which is empty at each crossing: ap_dispatch never returns, it ends in
 * ap_gate_enter.  %gs:0 is the thread in both worlds.
 */
#include "engine/emit/gate.h"

	.macro save_gprs
	mov %rax, GPR(0)
	mov %rcx, GPR(1)
	mov %rdx, GPR(2)
	mov %rbx, GPR(3)
	mov %rsp, GPR(4)
	mov %rbp, GPR(5)
	mov %rsi, GPR(6)
	mov %rdi, GPR(7)
	mov %r8, GPR(8)
	mov %r9, GPR(9)
	mov %r10, GPR(10)
	mov %r11, GPR(11)
	mov %r12, GPR(12)
	mov %r13, GPR(13)
	mov %r14, GPR(14)
	mov %r15, GPR(15)
	.endm

	.macro load_gprs_but_rsp
	mov GPR(0), %rax
	mov GPR(1), %rcx
	mov GPR(2), %rdx
	mov GPR(3), %rbx
	mov GPR(5), %rbp
	mov GPR(6), %rsi
	mov GPR(7), %rdi
	mov GPR(8), %r8
	mov GPR(9), %r9
	mov GPR(10), %r10
	mov GPR(11), %r11
	mov GPR(12), %r12
	mov GPR(13), %r13
	mov GPR(14), %r14
	mov GPR(15), %r15
	.endm

	.section .text.gate, "ax"

/* The injector starts the blob here; every register of the program is in the boot page. */
	.globl ap_blob_entry
	.hidden ap_blob_entry
ap_blob_entry:
	lea ap_boot_stack_end(%rip), %rsp
	lea ap_boot_page(%rip), %rdi
	cld
	xor %ebp, %ebp
	call ap_start
	ud2

/* A further thread of a running process: rdi is its struct ap_boot_thread, which leads to its stack. */
	.globl ap_blob_attach
	.hidden ap_blob_attach
ap_blob_attach:
	mov (%rdi), %rax
	mov AP_T_ENGINE_SP(%rax), %rsp
	pushq $0x202
	popfq
	xor %ebp, %ebp
	call ap_attach_thread
	ud2

/* In the program's system call, stopped: it is not made.  rdi says how it would be restarted. */
	.globl ap_blob_leave, ap_blob_borrow, ap_leave_wait, ap_leave_parked
	.hidden ap_blob_leave, ap_blob_borrow, ap_leave_wait, ap_leave_parked
ap_blob_leave:
	mov %gs:AP_T_ENGINE_SP, %rsp
	pushq $0x202
	popfq
	xor %ebp, %ebp
	call ap_leave_call
	ud2

/* In translated code or parked: the engine's stack is free.  rdi says what for. */
ap_blob_borrow:
	mov %gs:AP_T_ENGINE_SP, %rsp
	sub $4096, %rsp /* a parked thread's frame */
	pushq $0x202
	popfq
	xor %ebp, %ebp
	call ap_leave_borrowed
	ud2

/*
 * ap_leave_wait(record, timeout): until a tracer takes the thread; returns when the time is over.  ppoll,
 * since others that wait so long make the kernel forget how the program's call is to be restarted.
 */
ap_leave_wait:
	push %rbx
	mov %rdi, %rbx
	mov %rsi, %rdx
	xor %edi, %edi
	xor %esi, %esi
	xor %r10d, %r10d
	mov $8, %r8d
	mov $271, %eax
ap_leave_parked:
	syscall
	pop %rbx
	ret

/* From a block's stub: exit_id and exit_kind are set, everything else is the program's. */
	.globl ap_gate_exit, ap_gate_exit_saved
	.hidden ap_gate_exit, ap_gate_exit_saved
ap_gate_exit:
	save_gprs
ap_gate_exit_saved:
	mov %gs:AP_T_ENGINE_SP, %rsp
	pushfq
	popq %gs:AP_T_RFLAGS
	cld
	testl $0x40000, %gs:AP_T_RFLAGS /* AC: the engine's own accesses may be unaligned */
	jz 1f
	pushq $0x202
	popfq
1:	mov %gs:AP_T_SELF, %rdi
	xor %ebp, %ebp
	call ap_dispatch
	ud2

/* From the table of indirect branches: rcx is the target, rcx and rdx are in their spill slots. */
	.globl ap_ibl_miss
	.hidden ap_ibl_miss
ap_ibl_miss:
	mov %rcx, %gs:AP_T_RIP
	mov %gs:AP_T_SPILL_RDX, %rdx
	mov %gs:AP_T_SPILL_RCX, %rcx
	movl $1, %gs:AP_T_EXIT_KIND /* AP_EXIT_IBL */
	jmp ap_gate_exit

/* Into the cache.  A signal that arrives in here makes the handler abandon that. */
	.globl ap_gate_enter, ap_gate_enter_start, ap_gate_enter_end
	.hidden ap_gate_enter, ap_gate_enter_start, ap_gate_enter_end
ap_gate_enter:
ap_gate_enter_start:
	cmpl $0, %gs:AP_T_PENDING
	jne ap_gate_abandon
	pushq %gs:AP_T_RFLAGS
	popfq
	load_gprs_but_rsp
	mov GPR(4), %rsp
	jmp *%gs:AP_T_ENTRY
ap_gate_enter_end:
	nop

	.globl ap_gate_abandon
	.hidden ap_gate_abandon
ap_gate_abandon:
	mov %gs:AP_T_SELF, %rdi
	mov %gs:AP_T_ENGINE_SP, %rsp
	pushq $0x202
	popfq
	movl $7, %gs:AP_T_EXIT_KIND /* AP_EXIT_ABANDONED */
	xor %ebp, %ebp
	call ap_dispatch
	ud2

	.globl ap_redispatch
	.hidden ap_redispatch
ap_redispatch:
	mov %gs:AP_T_SELF, %rdi
	mov %gs:AP_T_ENGINE_SP, %rsp
	pushq $0x202
	popfq
	movl $4, %gs:AP_T_EXIT_KIND /* AP_EXIT_NONE */
	movl $0, %gs:AP_T_IN_CODE
	xor %ebp, %ebp
	call ap_dispatch
	ud2

/*
 * Natively, to let the hardware raise the fault that the program's pc has coming.  The engine keeps
 * %gs, so its handler finds the thread.
 */
	.globl ap_gate_native_fault
	.hidden ap_gate_native_fault
ap_gate_native_fault:
	pushq %gs:AP_T_RFLAGS
	popfq
	load_gprs_but_rsp
	mov GPR(4), %rsp
	jmp *%gs:AP_T_RIP

/*
 * One instruction natively: what the CPU does not execute faults, what it does is followed by a single-step trap.
 * iretq loads TF such that the first trap is behind the instruction that it leads to.  rdi is the thread.
 */
	.globl ap_gate_native_step
	.hidden ap_gate_native_step
ap_gate_native_step:
	mov %ss, %eax
	push %rax
	push AP_T_GPR + 32(%rdi)
	mov AP_T_RFLAGS(%rdi), %rax
	or $0x100, %eax /* TF */
	push %rax
	mov %cs, %eax
	push %rax
	push AP_T_RIP(%rdi)
	load_gprs_but_rsp
	iretq

/*
 * Natively for good.  The pc goes through memory below the program's red zone, the only place left
 * once %gs and all registers are the program's.
 */
	.globl ap_gate_native
	.hidden ap_gate_native
ap_gate_native:
	mov %rdi, %rbx
	mov $158, %eax /* arch_prctl(ARCH_SET_GS) */
	mov $0x1001, %edi
	mov AP_T_APP_GS(%rbx), %rsi
/* Likewise, where %gs is the program's already, behind a call whose arguments are there.  rbx is the thread. */
	.globl ap_gate_native_call
	.hidden ap_gate_native_call
ap_gate_native_call:
	syscall
	mov AP_T_GPR + 32(%rbx), %rax
	mov AP_T_RIP(%rbx), %rcx
	mov %rcx, -144(%rax)
	mov AP_T_RFLAGS(%rbx), %rcx
	mov %rcx, -152(%rax)
	lea -152(%rax), %rsp
	mov AP_T_GPR + 8(%rbx), %rcx
	mov AP_T_GPR + 16(%rbx), %rdx
	mov AP_T_GPR + 40(%rbx), %rbp
	mov AP_T_GPR + 48(%rbx), %rsi
	mov AP_T_GPR + 56(%rbx), %rdi
	mov AP_T_GPR + 64(%rbx), %r8
	mov AP_T_GPR + 72(%rbx), %r9
	mov AP_T_GPR + 80(%rbx), %r10
	mov AP_T_GPR + 88(%rbx), %r11
	mov AP_T_GPR + 96(%rbx), %r12
	mov AP_T_GPR + 104(%rbx), %r13
	mov AP_T_GPR + 112(%rbx), %r14
	mov AP_T_GPR + 120(%rbx), %r15
	mov AP_T_GPR + 0(%rbx), %rax
	mov AP_T_GPR + 24(%rbx), %rbx
	popfq
	ret $136

/* The boot failed before there was a thread: rdi is the boot page, whose regs have T_GPR's layout. */
	.globl ap_boot_native
	.hidden ap_boot_native
ap_boot_native:
	/* boot->regs is at offset 8, and gs_base follows regs as app_gs_base does in a thread */
	lea 8 - AP_T_GPR(%rdi), %rdi
	jmp ap_gate_native

/*
 * s64 ap_syscall_do(thread, nr, args[6]); see engine.h for the window.  The call may wait for long, and a task that looks at
 * the thread then (a tracer, a core, LeakSanitizer) has to find what the program keeps in registers and
 * where its stack is: those that a call leaves alone are the program's, the engine's are on its stack.
 */
	.globl ap_syscall_do, ap_syscall_window, ap_syscall_insn, ap_syscall_abort
	.hidden ap_syscall_do, ap_syscall_window, ap_syscall_insn, ap_syscall_abort
ap_syscall_do:
	mov %rsi, %rax
	mov %rdx, %r11
	mov (%r11), %rdi
	mov 8(%r11), %rsi
	mov 16(%r11), %rdx
	mov 24(%r11), %r10
	mov 32(%r11), %r8
	mov 40(%r11), %r9
	enter_call
	mov GPR(4), %rsp
	xor %ecx, %ecx /* the instruction sets rcx: tells a restart from "not yet executed" */
	movl $1, %gs:AP_T_IN_CALL
ap_syscall_window:
	cmpl $0, %gs:AP_T_PENDING
	jne ap_syscall_abort
ap_syscall_insn:
	syscall
	movl $0, %gs:AP_T_IN_CALL
	leave_call
	ret
ap_syscall_abort:
	movl $0, %gs:AP_T_IN_CALL
	leave_call
	mov $-100001, %rax
	test %rcx, %rcx
	jz 1f
	mov $-100000, %rax
1:	ret

/* int ap_safe_copy(dst, src, n); int ap_safe_fs_base(out) */
	.globl ap_safe_copy, ap_safe_fs_base, ap_safe_start, ap_safe_end, ap_safe_fixup
	.hidden ap_safe_copy, ap_safe_fs_base, ap_safe_start, ap_safe_end, ap_safe_fixup
	.globl ap_touch, ap_touch_start, ap_touch_insn, ap_touch_abort
	.hidden ap_touch, ap_touch_start, ap_touch_insn, ap_touch_abort
ap_safe_start:
/* int ap_touch(addr): a byte there is read, however long that takes; see engine.h */
ap_touch:
ap_touch_start:
	cmpl $0, %gs:AP_T_PENDING
	jne ap_touch_abort
ap_touch_insn:
	movzbl (%rdi), %eax
	xor %eax, %eax
	ret
ap_touch_abort:
	mov $-4, %eax
	ret
ap_safe_fs_base:
	rdfsbase %rax
	mov %rax, (%rdi)
	xor %eax, %eax
	ret
ap_safe_copy:
	cmp $15, %rdx /* the translator's fetch: rep movsb takes long to start */
	jne 1f
	mov (%rsi), %rax
	mov 7(%rsi), %rcx
	mov %rax, (%rdi)
	mov %rcx, 7(%rdi)
	xor %eax, %eax
	ret
1:	cmp $16, %rdx /* a frame of a callchain */
	jne 2f
	mov (%rsi), %rax
	mov 8(%rsi), %rcx
	mov %rax, (%rdi)
	mov %rcx, 8(%rdi)
	xor %eax, %eax
	ret
2:	mov %rdx, %rcx
	rep movsb
ap_safe_end:
	xor %eax, %eax
	ret
ap_safe_fixup:
	mov $-14, %eax
	ret

	.bss
	.balign 16
	.space 16384
ap_boot_stack_end:

	.section .note.GNU-stack, "", @progbits
