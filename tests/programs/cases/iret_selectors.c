/* SPDX-License-Identifier: MIT */
/* CASE: counted -- */
/*
 * iretq takes two bytes of the words for cs and ss, whatever is above them.  Wine returns from its system calls so, with what lies
 * next to the selectors in its frame.
 */
#include "check.h"

/* Flags that are set, behind an iretq to the next instruction, with this above the selectors. */
static unsigned long turn(unsigned long above, unsigned long flags)
{
	unsigned long cs = above << 16, ss = above << 16, got;

	__asm__ volatile("mov %%cs, %%ax\n"
			 "	mov %%ax, %w[cs]\n"
			 "	mov %%ss, %%ax\n"
			 "	mov %%ax, %w[ss]\n"
			 "	sub $128, %%rsp\n" /* past the red zone */
			 "	mov %%rsp, %%rcx\n"
			 "	push %[ss]\n"
			 "	push %%rcx\n"
			 "	push %[flags]\n"
			 "	push %[cs]\n"
			 "	lea 1f(%%rip), %%rax\n"
			 "	push %%rax\n"
			 "	iretq\n"
			 "1:	pushfq\n"
			 "	pop %[got]\n"
			 "	add $128, %%rsp\n"
			 "	cld\n"
			 : [got] "=&r"(got), [cs] "+&r"(cs), [ss] "+&r"(ss)
			 : [flags] "r"(flags)
			 : "rax", "rcx", "memory", "cc");
	return got & 0xcd5;
}

int main(void)
{
	static const unsigned long above[] = { 0, 1, 0x2b, 0xffffffffffffUL, 0x123456789abcUL };

	for (unsigned int k = 0; k < sizeof(above) / sizeof(above[0]); k++) {
		CHECK(turn(above[k], 0x202) == 0, "%lx above: no flags", above[k]);
		CHECK(turn(above[k], 0xed7) == 0xcd5, "%lx above: all of them", above[k]);
	}
	return done();
}
