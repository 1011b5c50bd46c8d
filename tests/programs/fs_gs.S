/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * The program's own use of %fs and %gs: bases set by arch_prctl and, where the kernel allows them
 * (AT_HWCAP2), by wrfsbase and wrgsbase; loads, stores and branches through them; and both kept
 * across system calls, a fork and a signal. Selectors read as the kernel leaves them.
 */
#include "asm.h"

#define ARCH_SET_GS 0x1001
#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003
#define ARCH_GET_GS 0x1004
#define AT_HWCAP2 26
#define HWCAP2_FSGSBASE 2

	.data
	.balign 8
action:
	.quad handler, SA_SIGINFO | SA_RESTORER, restorer, 0
fs_block:
	.quad 0x1111, .Lby_fs, 0
gs_block:
	.quad 0x2222, .Lby_gs, leaf
other:
	.quad 0x3333, 0, leaf
value:
	.quad 0
status:
	.quad 0

	.text
_start:
	mov %rsp, %r12
	sys2 __NR_arch_prctl, $ARCH_SET_FS, $fs_block
	check_eq $0, %rax, "ARCH_SET_FS"
	sys2 __NR_arch_prctl, $ARCH_SET_GS, $gs_block
	check_eq $0, %rax, "ARCH_SET_GS"
	sys2 __NR_arch_prctl, $ARCH_GET_FS, $value
	mov value(%rip), %rax
	check_eq $fs_block, %rax, "ARCH_GET_FS"
	sys2 __NR_arch_prctl, $ARCH_GET_GS, $value
	mov value(%rip), %rax
	check_eq $gs_block, %rax, "ARCH_GET_GS"
	sys4 __NR_rt_sigaction, $SIGUSR1, $action, $0, $8

	mov $50, %ebx
.Lagain:
	mov %fs:0, %rax
	check_eq $0x1111, %rax, "a load through fs"
	mov %gs:0, %rax
	check_eq $0x2222, %rax, "a load through gs"
	incq %gs:0
	lock decq %gs:0
	jmp *%fs:8
	ud2
.Lby_fs:
	jmp *%gs:8
	ud2
.Lby_gs:
	call *%gs:16
	xor %ecx, %ecx
	push %gs:(%rcx)
	pop %rax
	check_eq $0x2222, %rax, "push through gs"
	.byte 0x65 /* lea %gs:16(%rcx), %rax */
	lea 16(%rcx), %rax
	check_eq $16, %rax, "lea added a base"
	xor %esi, %esi
	lodsq %gs:(%rsi), %rax
	check_eq $0x2222, %rax, "lods through gs"
	sys __NR_getppid
	cmpq $0x2222, %gs:0
	fail_if ne, "gs lost in a system call"
	dec %ebx
	jne .Lagain

	/* auxv: behind argv and envp */
	mov (%r12), %rcx
	lea 16(%r12,%rcx,8), %rsi
1:	lodsq
	test %rax, %rax
	jne 1b
2:	lodsq
	mov %rax, %rdx
	lodsq
	test %rdx, %rdx
	je .Lno_fsgsbase
	cmp $AT_HWCAP2, %rdx
	jne 2b
	test $HWCAP2_FSGSBASE, %eax
	je .Lno_fsgsbase

	rdfsbase %rax
	check_eq $fs_block, %rax, "rdfsbase"
	rdgsbase %rax
	check_eq $gs_block, %rax, "rdgsbase"
	lea other(%rip), %rax
	wrgsbase %rax
	mov %gs:0, %rcx
	check_eq $0x3333, %rcx, "wrgsbase has no effect"
	call *%gs:16
	rdgsbase %rcx
	check_eq %rax, %rcx, "rdgsbase behind wrgsbase"
	rdgsbase %ecx
	check_eq %eax, %ecx, "rdgsbase with 32 bits"
	wrfsbase %rax
	rdfsbase %rcx
	check_eq %rax, %rcx, "rdfsbase behind wrfsbase"
	sys2 __NR_arch_prctl, $ARCH_GET_GS, $value
	mov value(%rip), %rax
	check_eq $other, %rax, "ARCH_GET_GS behind wrgsbase"
	lea gs_block(%rip), %rax
	wrgsbase %rax
.Lno_fsgsbase:

	/* a child has the same base */
	sys __NR_fork
	test %eax, %eax
	je .Lchild
	sys4 __NR_wait4, $-1, $status, $0, $0
	cmpl $0, status(%rip)
	fail_if ne, "gs is another in a child"

	/* a handler too, and it may change it for good */
	sys __NR_getpid
	mov %rax, %rdi
	mov $SIGUSR1, %esi
	sys __NR_kill
	cmpq $0x3333, %gs:0
	fail_if ne, "gs set by a handler is lost"

	/* selectors: a null selector zeroes the base */
	mov %gs, %eax
	check_eq $0, %eax, "the gs selector is not null"
	sys2 __NR_arch_prctl, $ARCH_SET_GS, $0
	sys2 __NR_arch_prctl, $ARCH_GET_GS, $value
	cmpq $0, value(%rip)
	fail_if ne, "gs base is not zero"
	pass "fs_gs: ok"

.Lchild:
	mov %gs:0, %rdi
	xor $0x2222, %rdi
	sys __NR_exit_group

leaf:
	ret

handler:
	cmpq $0x2222, %gs:0
	fail_if ne, "gs is another in a handler"
	sys2 __NR_arch_prctl, $ARCH_SET_GS, $other
	ret
restorer:
	sys __NR_rt_sigreturn
