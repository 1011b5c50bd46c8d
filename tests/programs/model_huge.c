/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 */
/*
 * Loads of one page of 4 KB after the other, of memory at the same place each time:
 *
 *	model_huge small PAGES ROUNDS	ordinary memory
 *	model_huge huge PAGES ROUNDS	in pages of 2 MB; says so, and exits with 77, where there are none to be had
 *	model_huge moved PAGES ROUNDS	the same, from where it was mapped first
 *	model_huge over PAGES ROUNDS	ordinary memory that replaces such (which nobody has touched: it takes none)
 *	model_huge gone PAGES ROUNDS	likewise, of what was unmapped
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE  4096
#define PLACE ((char *)0x100000000000)
#define FIRST ((char *)0x110000000000)
#define ANON  (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED)

static void *map(char *at, size_t size, int flags)
{
	return mmap(at, size, PROT_READ | PROT_WRITE, ANON | flags, -1, 0);
}

static void *lay_out(const char *what, size_t size)
{
	void *p;

	if (!strcmp(what, "huge"))
		return map(PLACE, size, MAP_HUGETLB);
	if (!strcmp(what, "moved")) {
		p = map(FIRST, size, MAP_HUGETLB);
		return p == MAP_FAILED
			       ? p
			       : mremap(p, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, PLACE);
	}
	if (strcmp(what, "small") != 0) {
		p = map(PLACE, size, MAP_HUGETLB | MAP_NORESERVE);
		if (p == MAP_FAILED || (!strcmp(what, "gone") && munmap(p, size)))
			return MAP_FAILED;
	}
	return map(PLACE, size, 0);
}

int main(int argc, char **argv)
{
	size_t pages, rounds;
	volatile char *p;

	if (argc != 4)
		return 2;
	pages = (size_t)atoi(argv[2]);
	rounds = (size_t)atoi(argv[3]);
	p = lay_out(argv[1], pages * PAGE);
	if (p == MAP_FAILED) {
		puts("no huge pages");
		return 77;
	}
	for (size_t i = 0; i < pages * rounds; i++)
		(void)p[i % pages * PAGE];
	return 0;
}
