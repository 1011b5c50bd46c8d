/* SPDX-License-Identifier: MIT */
/* CASE: counted -- */
/* CASE: counted --stress far -- */
/*
 * Runtimes reserve address space by the terabyte, and say where they would like it.  The kernel takes an address for a
 * hint only if all of the place is free, MAP_FIXED_NOREPLACE fails, and mremap and brk do not grow, where something
 * is.  So what the maps do not show has to give way to none of these, each of which covers a program's libraries, and
 * the program is counted to its end.
 */
#include "check.h"

#define GUESS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

struct reservation {
	unsigned long at, size;
};

/* From below all that the loader maps to its end, or close to it. */
static const struct reservation reservations[] = {
	{ 0x100000, 0x7ff000000000 },	    { 0x100000, 0x7ffffff00000 },
	{ 0x400000000000, 0x3ffff0000000 }, { 0x100000, 0x800000000000 },
	{ 0x400000000000, ~0xfffUL },
};

static int twice(int n)
{
	return 2 * n;
}

static int once(int n)
{
	return n;
}

/* Calls by pointers, and returns. */
static int work(int n)
{
	static int (*volatile f[2])(int) = { twice, once };
	int sum = 0;

	for (int k = 0; k < n; k++)
		sum += f[k & 1](k);
	return sum;
}

static void reserve(const struct reservation *r)
{
	void *p = mmap((void *)r->at, r->size, PROT_NONE, GUESS, -1, 0);

	CHECK(p != (void *)r->at, "%lx bytes at %lx: not there", r->size, r->at);
	if (p != MAP_FAILED)
		munmap(p, r->size);
	p = mmap((void *)r->at, r->size, PROT_NONE, GUESS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(p == MAP_FAILED, "by MAP_FIXED_NOREPLACE: %s", strerror(errno));
	CHECK(work(100) == 7400, "goes on");
}

int main(void)
{
	const unsigned long size = 0x6fff00000000;
	char *p;
	void *q;

	for (unsigned k = 0; k < sizeof(reservations) / sizeof(reservations[0]); k++)
		reserve(&reservations[k]);

	p = mmap((void *)0x100000000000, 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	q = mremap(p, 4096, size, 0);
	CHECK(q == MAP_FAILED, "grows into them: %s", strerror(errno));
	CHECK(work(100) == 7400, "goes on");

	CHECK(brk((void *)0x7ff000000000) < 0, "heap into them: %s", strerror(errno));
	CHECK(work(100) == 7400, "goes on");
	return done();
}
