/* SPDX-License-Identifier: MIT */
/*
 * Regions: what lies between AP_REGION_BEGIN("name") and AP_REGION_END("name") is counted by
 *
 *	anyperf stat --regions -- program
 *
 * No library is needed.  Natively each of the two is six instructions that do nothing; when it is counted, these are subtracted, so
 * that an empty region counts 0 instructions.  Regions may lie within each other, and each thread has its own.
 *
 * The name is a string literal of at most 127 bytes, part of an asm statement: % { | } in it are written %% %{ %| %}.
 * A region that is left by a return, a goto or an exception has to be ended there as well.
 */
#ifndef ANYPERF_REGION_H
#define ANYPERF_REGION_H

#if defined(__x86_64__) && !defined(__ILP32__) && defined(__GNUC__)

/* The record is beside the code: the compiler stores nothing and puts nothing between these instructions. */
#define AP_REGION_MARK_(request, name)                                                             \
	do {                                                                                       \
		(void)sizeof(char[sizeof("" name) <= 128 ? 1 : -1]);                               \
		__asm__ volatile(".pushsection .rodata.anyperf,\"a\",@progbits\n\t"                \
				 ".balign 8\n"                                                     \
				 "771:\t.quad " request ", 772f - 771b, 0, 0, 0, 0\n"              \
				 "772:\t.asciz " #name "\n\t"                                      \
				 ".popsection\n\t"                                                 \
				 "leaq 771b(%%rip), %%rax\n\t"                                     \
				 "rolq $3, %%rdi\n\t"                                              \
				 "rolq $13, %%rdi\n\t"                                             \
				 "rolq $61, %%rdi\n\t"                                             \
				 "rolq $51, %%rdi\n\t"                                             \
				 "xchgq %%rbx, %%rbx"                                              \
				 :                                                                 \
				 :                                                                 \
				 : "rax", "rdx", "cc", "memory");                                  \
	} while (0)

#define AP_REGION_BEGIN(name) AP_REGION_MARK_("0x41500000", name)
#define AP_REGION_END(name)   AP_REGION_MARK_("0x41500001", name)

#else

#define AP_REGION_BEGIN(name) ((void)sizeof(name))
#define AP_REGION_END(name)   ((void)sizeof(name))

#endif

#endif
