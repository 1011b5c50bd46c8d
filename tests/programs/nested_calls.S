/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * fib(15) by recursion, 500 levels of direct recursion, mutual recursion through registers, and
 * a return address that the callee replaces.
 *
 * fib(15) makes 1973 calls, of which 987 are leaves of 4 instructions and 986 have 13. Of the 500
 * levels of `deep` all but the last have 4. even(100) is called 51 times, odd 50 times.
 *
 *		instructions					branches	taken
 *	fib	2 + 987 * 4 + 986 * 13 + 2 to check = 16770	3 * 1973 + 1	4932
 *	deep	2 + 499 * 4 + 3 + 2 to check = 2003		3 * 500 + 1	1001
 *	even	4 + 50 * 6 + 50 * 5 + 4 + 2 to check = 560	253 + 1		153
 *	replace	4						2		2
 *	pass	8
 *
 * EXPECT instructions 19345
 * EXPECT branches 7677
 * EXPECT cond-branches 2577
 * EXPECT taken-branches 6088
 * EXPECT calls 2525
 * EXPECT returns 2525
 * EXPECT indirect-branches 101
 * EXPECT syscalls 2
 */
#include "asm.h"

_start:
	mov $15, %edi
	call fib
	check_eq $610, %eax, "fib(15) is not 610"

	mov $500, %edi
	call deep
	check_eq $0, %edi, "deep recursion went wrong"

	mov $100, %edi
	lea odd(%rip), %r12
	lea even(%rip), %r13
	call *%r13
	check_eq $1, %eax, "100 is not even"

	call replaces_return
	ud2
.Lreplaced:
	pass "nested_calls: ok"

fib:
	cmp $2, %edi
	jae 1f
	mov %edi, %eax
	ret
1:	push %rbx
	push %rdi
	dec %edi
	call fib
	mov %eax, %ebx
	pop %rdi
	sub $2, %edi
	call fib
	add %ebx, %eax
	pop %rbx
	ret

deep:
	dec %edi
	je 1f
	call deep
1:	ret

/* even(n): 1 if n is even; each goes through the other's register */
even:
	mov $1, %eax
	test %edi, %edi
	je 1f
	dec %edi
	call *%r12
1:	ret
odd:
	xor %eax, %eax
	test %edi, %edi
	je 1f
	dec %edi
	jmp *%r13
1:	ret

replaces_return:
	lea .Lreplaced(%rip), %rax
	mov %rax, (%rsp)
	ret
