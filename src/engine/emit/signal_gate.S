/* SPDX-License-Identifier: MIT */
/*
 * The signal path's assembler: where the master handler returns, how the kernel is asked to load
 * a whole context, entries that the handler sends a thread to, and guarded instructions.
 */
#include "engine/emit/offsets.h"

	.section .text.gate, "ax"

	.macro func name
	.globl \name
	.hidden \name
\name:
	.endm

/* sa_restorer of the master handler */
func ap_sig_restorer
	mov $15, %eax
	syscall
	ud2

/* ap_sig_do_return(uc): rt_sigreturn expects the frame's uc at rsp */
func ap_sig_do_return
	mov %rdi, %rsp
	mov $15, %eax
	syscall
	ud2

/* After the program's own rt_sigreturn; also where the kernel reports that it did not like it. */
func ap_sig_landing
	jmp ap_redispatch

/* From the handler, on the engine's stack: see ap_sig_resume_smc, ap_sig_resume_bug, ap_sig_resume_trial. */
	.macro entry name, resume
func \name
	mov %gs:AP_T_SELF, %rdi
	mov %gs:AP_T_ENGINE_SP, %rsp
	xor %ebp, %ebp
	call \resume
	ud2
	.endm

	entry ap_sig_smc_entry, ap_sig_resume_smc
	entry ap_sig_bug_entry, ap_sig_resume_bug
	entry ap_sig_trial_entry, ap_sig_resume_trial

/* u64 ap_sig_mask_ill(how, set), ap_sig_mask_segv(how, set): ap_sig_change_mask makes them return */
func ap_sig_mask_ill
func ap_sig_ill_insn
	ud2
func ap_sig_mask_segv
func ap_sig_segv_insn
	hlt
func ap_sig_mask_done
	ret

/* Instructions that may fault on the program's memory: then they return -EFAULT. */
func ap_sig_guard_start

func ap_sig_xsave
	mov %esi, %eax
	mov %rsi, %rdx
	shr $32, %rdx
	xsave64 (%rdi)
	xor %eax, %eax
	ret

func ap_sig_fxsave
	fxsave64 (%rdi)
	xor %eax, %eax
	ret

func ap_sig_guard_end
func ap_sig_guard_fixup
	mov $-14, %eax
	ret

	.section .note.GNU-stack, "", @progbits
