/* SPDX-License-Identifier: MIT */
/* FLAGS: -z execstack */
/*
 * A loop of 2,000,000 instructions on a stack that has grown since exec: no system call announced
 * that memory as executable.  The argument is the depth in pages.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* mov $1000000, %ecx; 1: dec %ecx; jnz 1b; mov $7, %eax; ret */
static const unsigned char loop[] = { 0xb9, 0x40, 0x42, 0x0f, 0, 0xff, 0xc9, 0x75,
				      0xfc, 0xb8, 7,	0,    0, 0,    0xc3 };

__attribute__((noinline)) static int deep(int pages)
{
	volatile unsigned char page[4096];

	page[0] = (unsigned char)pages;
	if (pages > 0)
		return deep(pages - 1) + page[0] * 0;
	memcpy((void *)page, loop, sizeof(loop));
	return ((int (*)(void))(void *)page)();
}

int main(int argc, char **argv)
{
	if (deep(argc > 1 ? atoi(argv[1]) : 300) != 7)
		return 1;
	puts("stack_code: ok");
	return 0;
}
