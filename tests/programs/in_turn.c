/* SPDX-License-Identifier: MIT */
/*
 * Two functions that do as much as each other, in turn: `in_turn N TURNS`, N additions each time.  The turns are longer than what the
 * models see of them at a time.
 */
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void first(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sum += i * 3;
}

__attribute__((noinline)) static void second(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sum += i * 5;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 2 ? strtoul(argv[1], NULL, 0) : 0;
	unsigned long turns = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

	for (unsigned long i = 0; i < turns; i++) {
		first(n);
		second(n);
	}
	printf("%lu\n", sum);
	return 0;
}
