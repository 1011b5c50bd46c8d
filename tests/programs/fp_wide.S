/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib */
/* Arithmetic of AVX, FMA and AVX-512 registers, as far as the CPU has them. */
#include "asm.h"

#define FMA	  (1 << 12)
#define OSXSAVE	  (1 << 27)
#define AVX512F	  (1 << 16)
#define YMM_STATE 0x06
#define ZMM_STATE 0xe6

	.data
	.balign 64
ones:	.fill 16, 4, 0x3f800000

	.text
_start:
	mov $1, %eax
	xor %ecx, %ecx
	cpuid
	and $(OSXSAVE | FMA), %ecx
	cmp $(OSXSAVE | FMA), %ecx
	jne .Ldone
	xor %ecx, %ecx
	xgetbv
	mov %eax, %r12d
	and $YMM_STATE, %eax
	cmp $YMM_STATE, %eax
	jne .Ldone
	mov $100, %r13d
.Lymm:
	vmovaps ones(%rip), %ymm0
	vaddsd %xmm0, %xmm0, %xmm1
	vmulss %xmm0, %xmm0, %xmm1
	vaddpd %xmm0, %xmm0, %xmm1
	vaddps %ymm0, %ymm0, %ymm1
	vmulpd ones(%rip), %ymm0, %ymm1
	vhaddps %ymm0, %ymm0, %ymm1
	vaddsubpd %ymm0, %ymm0, %ymm1
	vdpps $0xff, %ymm0, %ymm0, %ymm1
	vdppd $0xff, %xmm0, %xmm0, %xmm1
	vroundps $0, %ymm0, %ymm1
	vfmadd231sd %xmm0, %xmm0, %xmm1
	vfmadd213ps %ymm0, %ymm0, %ymm1
	vfnmsub132pd ones(%rip), %ymm0, %ymm1
	vfmaddsub231ps %xmm0, %xmm0, %xmm1
	dec %r13d
	jne .Lymm

	and $ZMM_STATE, %r12d
	cmp $ZMM_STATE, %r12d
	jne .Ldone
	mov $7, %eax
	xor %ecx, %ecx
	cpuid
	test $AVX512F, %ebx
	jz .Ldone
	mov $0x55, %eax
	kmovw %eax, %k1
	mov $100, %r13d
.Lzmm:
	vmovaps ones(%rip), %zmm0
	vaddps %zmm0, %zmm0, %zmm1
	vaddpd (ones){1to8}, %zmm0, %zmm1
	vmulpd %zmm0, %zmm0, %zmm1{%k1}
	vaddps {rn-sae}, %zmm0, %zmm0, %zmm1
	vrcp14ps %zmm0, %zmm1
	vfmadd231pd %zmm0, %zmm0, %zmm1{%k1}{z}
	vfmadd231ss %xmm0, %xmm0, %xmm1{%k1}
	vsqrtsd {rn-sae}, %xmm0, %xmm0, %xmm1
	vpaddd %zmm0, %zmm0, %zmm1
	dec %r13d
	jne .Lzmm
.Ldone:
	pass "fp_wide: ok"
