/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/*
 * Arithmetic of SSE registers, beside what is none: moves, conversions, comparisons, logic,
 * rounding, integers, x87.
 *
 * EXPECT fp-scalar-double 500
 * EXPECT fp-scalar-single 400
 * EXPECT fp-128-double 300
 * EXPECT fp-128-single 500
 * EXPECT fp-256-double 0
 * EXPECT fp-256-single 0
 * EXPECT fp-512-double 0
 * EXPECT fp-512-single 0
 * EXPECT flops 3500
 */
#include "asm.h"

	.data
	.balign 16
ones:	.double 1, 1
floats:	.float 1, 1, 1, 1

	.text
_start:
	mov $100, %ebx
.Lagain:
	/* none */
	movapd ones(%rip), %xmm0
	movaps floats(%rip), %xmm1
	cvtsd2ss %xmm0, %xmm2
	ucomisd %xmm0, %xmm0
	cmppd $0, %xmm0, %xmm3
	xorps %xmm3, %xmm3
	paddd %xmm3, %xmm3
	unpcklpd %xmm0, %xmm3
	fld1
	fadd %st(0), %st(0)
	fstp %st(0)
	/* scalar double: 5 */
	addsd %xmm0, %xmm0
	subsd ones(%rip), %xmm0
	mulsd %xmm0, %xmm0
	sqrtsd %xmm0, %xmm0
	maxsd %xmm0, %xmm0
	/* scalar single: 4 */
	divss %xmm1, %xmm1
	minss %xmm1, %xmm1
	rcpss %xmm1, %xmm4
	rsqrtss floats(%rip), %xmm4
	/* 128 double: 3 */
	addpd %xmm0, %xmm0
	sqrtpd %xmm0, %xmm0
	divpd ones(%rip), %xmm0
	/* 128 single: 5 */
	mulps %xmm1, %xmm1
	subps %xmm4, %xmm1
	rsqrtps %xmm4, %xmm5
	maxps %xmm1, %xmm1
	minps floats(%rip), %xmm1
	dec %ebx
	jne .Lagain
	pass "fp_ops: ok"
