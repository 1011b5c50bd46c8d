/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -static */
/*
 * What is done with one line, as often as asked for:
 *
 *	model_flush load TIMES		a load
 *	model_flush flush TIMES		a load and clflush
 *	model_flush opt TIMES		a load and clflushopt
 *	model_flush written TIMES	a load, a store and clflush
 *	model_flush kept TIMES		a load, a store and clwb
 *	model_flush clean TIMES		a load and clwb
 *
 * Exits with 77 where the CPU has no such instruction.
 */
#include <cpuid.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLFLUSHOPT (1u << 23)
#define CLWB	   (1u << 24)

static volatile long line[16] __attribute__((aligned(128)));

static bool has(unsigned feature)
{
	unsigned eax, ebx = 0, ecx, edx;

	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && ebx & feature;
}

enum how { LEAVE, FLUSH, FLUSH_OPT, WRITE_BACK };

static const struct way {
	const char *name;
	unsigned feature;
	bool writes;
	enum how how;
} ways[] = {
	{ "load", 0, false, LEAVE },
	{ "flush", 0, false, FLUSH },
	{ "opt", CLFLUSHOPT, false, FLUSH_OPT },
	{ "written", 0, true, FLUSH },
	{ "kept", CLWB, true, WRITE_BACK },
	{ "clean", CLWB, false, WRITE_BACK },
};

static void go(const struct way *w, long times)
{
	const bool writes = w->writes; /* loaded once: loads are counted */
	const enum how how = w->how;

	for (long i = 0; i < times; i++) {
		(void)line[1];
		if (writes)
			line[1] = i;
		if (how == FLUSH)
			__asm__ volatile("clflush %0" : "+m"(line[2]));
		else if (how == FLUSH_OPT)
			__asm__ volatile("clflushopt %0" : "+m"(line[2]));
		else if (how == WRITE_BACK)
			__asm__ volatile("clwb %0" : "+m"(line[2]));
	}
}

int main(int argc, char **argv)
{
	for (size_t k = 0; argc == 3 && k < sizeof(ways) / sizeof(ways[0]); k++) {
		if (strcmp(argv[1], ways[k].name))
			continue;
		if (ways[k].feature && !has(ways[k].feature)) {
			puts("no such instruction");
			return 77;
		}
		go(&ways[k], atol(argv[2]));
		return 0;
	}
	return 2;
}
