/* SPDX-License-Identifier: MIT */
/* The CPU's vendor as CPUID has it, before and after the program has asked that CPUID fault; 2: this CPU can do that. */
#include <asm/prctl.h>
#include <cpuid.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012
#endif

static void print_vendor(const char *when)
{
	unsigned int a, b = 0, c = 0, d = 0;
	char vendor[13] = "";

	__get_cpuid(0, &a, &b, &c, &d);
	memcpy(vendor, &b, 4);
	memcpy(vendor + 4, &d, 4);
	memcpy(vendor + 8, &c, 4);
	printf("%s: %s\n", when, vendor);
}

int main(void)
{
	print_vendor("before");
	if (!syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0))
		return syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1) ? 1 : 2;
	print_vendor("after");
	return 0;
}
