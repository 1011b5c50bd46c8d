/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Calls through the entries of a PLT, plain and with endbr64 and bnd, that are bound at their first use, and bound anew
 * in the middle: what the jump's slot held when the code was translated is a guess.  The carry is handed on from
 * call to call, so it has to outlive whatever checks the guess.
 *
 * A round has 4 instructions and 2 branches of its own and stc, and goes by 3 calls, 4 jumps of which one has an
 * endbr64, and 3 returns; the functions have 5 instructions more in the first 1001 rounds, 3 in the others.
 *
 *			instructions				branches	taken
 *	rounds		1001 * 21 + 999 * 19 = 40002		2000 * 12	24000 - 2
 *	the change	3
 *	binding		8 + 9					4		4
 *	the rest	2 + 2 to check + 8			1
 *
 * EXPECT instructions 40034
 * EXPECT branches 24005
 * EXPECT cond-branches 4001
 * EXPECT taken-branches 24002
 * EXPECT calls 6000
 * EXPECT returns 6000
 * EXPECT indirect-branches 6002
 * EXPECT syscalls 2
 */
#include "asm.h"

_start:
	mov $2000, %ebx
	xor %r12d, %r12d
1:	stc
	call plain
	call marked
	call tail
	cmp $1000, %ebx
	jne 2f
	lea add_ten(%rip), %rax
	mov %rax, slots(%rip)
	mov %rax, slots + 8(%rip)
2:	dec %ebx
	jne 1b
	check_eq $(3 * 1001 + 30 * 999), %r12d, "the functions that were called are not those of the slots"
	pass "plt_entries: ok"

tail:
	jmp plain

plain:
	jmp *slots(%rip)
marked:
	endbr64
	bnd jmp *slots + 8(%rip)

/* what slots hold at first */
lazy_plain:
	push $0
	jmp resolve
lazy_marked:
	endbr64
	push $1
	bnd jmp resolve
resolve:
	pop %rax
	lea targets(%rip), %rcx
	mov (%rcx,%rax,8), %rdx
	lea slots(%rip), %rcx
	mov %rdx, (%rcx,%rax,8)
	jmp *%rdx

add_carry:
	adc $0, %r12d
	cmc
	ret
add_one_and_carry:
	adc $1, %r12d
	ret
add_ten:
	add $10, %r12d
	ret

	.data
	.balign 8
slots:
	.quad lazy_plain, lazy_marked
targets:
	.quad add_carry, add_one_and_carry
