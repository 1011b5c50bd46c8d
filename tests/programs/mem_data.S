/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * One load and one store for each line of two arrays that have names: 1024 lines each, once, in their order.  As no cache has
 * them, each is a miss of every level, on a machine without prefetchers.
 */
#define LINES 1024

	.data
	.balign 4096
	.globl	read_from
	.type	read_from, @object
	.size	read_from, LINES * 64
read_from:
	.skip	LINES * 64
	.globl	written_to
	.type	written_to, @object
	.size	written_to, LINES * 64
written_to:
	.skip	LINES * 64

	.text
	.globl	_start
	.type	_start, @function
_start:
	xor	%ecx, %ecx
	.globl	touch
	.type	touch, @function
touch:
	mov	read_from(%rcx), %rax
	mov	%rax, written_to(%rcx)
	add	$64, %rcx
	cmp	$LINES * 64, %rcx
	jne	touch
	.size	touch, . - touch
	mov	$60, %eax
	xor	%edi, %edi
	syscall
	.section .note.GNU-stack, "", @progbits
