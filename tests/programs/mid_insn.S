/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Jumps into the middle of an instruction: the same bytes are two programs, depending on where
 * they are entered.
 *
 * Each of the 100 rounds:
 *
 *	overlap		1 + 2 + 2 to check, and 2 + 2 + 2 to check = 11
 *	islands		1 + 4 + 1, and 1 + 3 + 1 = 11
 *	lock prefix	2 + 1, and 2 to loop = 5
 *
 * and 2 before, 4 to check and 8 to pass. Taken: 4 calls and 4 returns, one jmp, every second jump
 * over the lock, and 99 times the loop's.
 *
 * EXPECT instructions 2714
 * EXPECT branches 1302
 * EXPECT cond-branches 402
 * EXPECT taken-branches 1049
 * EXPECT calls 400
 * EXPECT returns 400
 * EXPECT indirect-branches 0
 * EXPECT syscalls 2
 */
#include "asm.h"

_start:
	mov $100, %ebx
	xor %r12d, %r12d
.Lagain:
	/* from the front: mov $0x90c3c8ff, %eax; ret */
	call overlap
	check_eq $0x90c3c8ff, %eax, "overlap from the front"
	/* from the middle: dec %eax; ret */
	mov $8, %eax
	call overlap + 1
	check_eq $7, %eax, "overlap from the middle"
	/* movabs over a jump, a call and a ret */
	call islands
	add %eax, %r12d
	call islands + 2
	add %eax, %r12d
	/* every second time over the lock prefix */
	test $1, %bl
	jne .Llock + 1
.Llock:
	lock incl counter(%rip)
	dec %ebx
	jne .Lagain
	check_eq $900, %r12d, "the islands' sum is wrong"
	cmpl $100, counter(%rip)
	fail_if ne, "the counter is wrong"
	pass "mid_insn: ok"

overlap:
	.byte 0xb8, 0xff, 0xc8, 0xc3, 0x90 /* mov $0x90c3c8ff, %eax */
	ret

/* From the front: movabs, then mov $1, %eax; ret. From + 2: mov $8, %eax; jmp over one byte. */
islands:
	.byte 0x49, 0xbb /* movabs $..., %r11 */
	.byte 0xb8, 0x08, 0x00, 0x00, 0x00 /* mov $8, %eax */
	.byte 0xeb, 0x07 /* jmp .Lout */
	.byte 0x90
	mov $1, %eax
	nop
.Lout:
	ret

	.data
counter:
	.long 0
