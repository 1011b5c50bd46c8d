/* SPDX-License-Identifier: MIT */
/* A gs operand with 32-bit address size, and with EVEX's scaled displacement, above 4 GB. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARCH_SET_GS 0x1001

int main(void)
{
	long *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long near = 0, far = 0, wide[8] = { 16000 };

	if (p == MAP_FAILED)
		return 1;
	for (int i = 0; i < 512; i++)
		p[i] = i * 1000L;
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, p) != 0)
		return 1;
	__asm__ volatile("mov %%gs:8(%%rdi), %0" : "=r"(near) : "D"(8L));
	__asm__ volatile("addr32 mov %%gs:8(%%edi), %0" : "=r"(far) : "D"(8L));
	if (__builtin_cpu_supports("avx512f"))
		__asm__ volatile("vmovdqu64 %%gs:64(%1), %%zmm1; vmovdqu64 %%zmm1, %0"
				 : "=m"(wide)
				 : "r"(64L)
				 : "xmm1");
	if (near != 2000 || far != 2000 || wide[0] != 16000) {
		printf("gs_addr32: %ld %ld %ld\n", near, far, wide[0]);
		return 1;
	}
	puts("gs_addr32: ok");
	return 0;
}
