/* SPDX-License-Identifier: MIT */
/*
 * For the assembly programs: start, system calls, checks, and a fixed last line.
 *
 * A check costs two instructions and one untaken branch. What it does when it fails lies in a
 * section of its own, so a good run's counts can be added up by reading the source: `pass` is 8
 * instructions, 2 of them system calls; `sys` is 2; `sys1`..`sys6` one more per argument.
 */
/* clang-format off */
#ifndef PROGRAMS_ASM_H
#define PROGRAMS_ASM_H

#include <asm/unistd.h>

/* <asm/signal.h> is for C only */
#define SIG_BLOCK 0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2
#define SIGILL 4
#define SIGTRAP 5
#define SIGFPE 8
#define SIGUSR1 10
#define SIGSEGV 11
#define SIGUSR2 12
#define SIGCHLD 17
#define SA_SIGINFO 4
#define SA_RESTORER 0x04000000
#define SA_ONSTACK 0x08000000
#define SA_RESTART 0x10000000
#define SA_NODEFER 0x40000000

/* offsets in the ucontext of a signal frame */
#define UC_R12 72
#define UC_R13 80
#define UC_R14 88
#define UC_R15 96
#define UC_RAX 144
#define UC_RSP 160
#define UC_RIP 168
#define UC_RFLAGS 176

.macro sys nr:req
	mov $\nr, %eax
	syscall
.endm

.macro sys1 nr:req, a:req
	mov \a, %rdi
	sys \nr
.endm

.macro sys2 nr:req, a:req, b:req
	mov \a, %rdi
	mov \b, %rsi
	sys \nr
.endm

.macro sys3 nr:req, a:req, b:req, c:req
	mov \a, %rdi
	mov \b, %rsi
	mov \c, %rdx
	sys \nr
.endm

.macro sys4 nr:req, a:req, b:req, c:req, d:req
	mov \d, %r10
	sys3 \nr, \a, \b, \c
.endm

.macro sys6 nr:req, a:req, b:req, c:req, d:req, e:req, f:req
	mov \e, %r8
	mov \f, %r9
	sys4 \nr, \a, \b, \c, \d
.endm

/* write(fd, text) and exit_group(status) */
.macro finish fd:req, status:req, text:req
	.pushsection .rodata
.Ltext\@:
	.ascii "\text\n"
.Lend\@:
	.popsection
	mov $\fd, %edi
	lea .Ltext\@(%rip), %rsi
	mov $.Lend\@ - .Ltext\@, %edx
	sys __NR_write
	mov $\status, %edi
	sys __NR_exit_group
.endm

.macro pass text:req
	finish 1, 0, "\text"
.endm

/* jumps away when condition \cc holds */
.macro fail_if cc:req, text:req
	j\cc .Lfail\@
	.pushsection .text.fail, "ax"
.Lfail\@:
	finish 2, 1, "\text"
	.popsection
.endm

.macro check_eq a:req, b:req, text:req
	cmp \a, \b
	fail_if ne, "\text"
.endm

/*
 * For a program that execs itself with one argument more: where it is the new image it goes on at
 * \execed, else argv[0] is in r12 and in new_argv, the environment in r13.  7 instructions, 1 branch
 * in the first image; 3 and a taken one in the new.
 */
.macro begin_or execed:req
	mov (%rsp), %rcx
	cmp $1, %ecx
	jne \execed
	mov 8(%rsp), %r12 /* the path this was started with */
	lea 16(%rsp), %r13
	mov %r12, new_argv(%rip)
	.pushsection .data
	.balign 8
new_argv:
	.quad 0, again, 0
again:
	.asciz "again"
	.popsection
.endm

/* vfork, in the child on to \child; waits for its end with status 7: 12 instructions, 2 branches. */
.macro vfork_and_wait child:req
	sys __NR_vfork
	test %eax, %eax
	je \child
	sys4 __NR_wait4, $-1, $status, $0, $0
	cmpl $(7 << 8), status(%rip)
	fail_if ne, "the new image's exit status is wrong"
.endm

/* What that child does: 5 instructions. */
.macro exec_again
	sys3 __NR_execve, %r12, $new_argv, %r13
	finish 2, 9, "execve failed"
.endm

	.section .note.GNU-stack, "", @progbits
	.text
	.globl _start

#endif /* PROGRAMS_ASM_H */
