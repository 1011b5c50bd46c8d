/* SPDX-License-Identifier: MIT */
/* FLAGS: -no-pie -fno-pie */
/* A program at low addresses whose heap grows to a gigabyte, and that maps in the low 2 GB. */
#include <sys/mman.h>

#include "task_test.h"

#define STEP (16L << 20)

int main(void)
{
	char *start = sbrk(0), *p;
	static char buf[4096];
	long got = 0;

	setvbuf(stdout, buf, _IOFBF, sizeof(buf)); /* no heap but ours */
	while (got < 1L << 30) {
		p = sbrk(STEP);
		if (p == (char *)-1)
			break;
		*p = 1;
		p[STEP - 1] = 1;
		got += STEP;
	}
	printf("%ld MiB\n", got >> 20);
	CHECK(start < (char *)0x7fffffff, "low");
	CHECK(sbrk(-got) != (char *)-1, "given back");
	p = mmap(NULL, 256L << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	CHECK(p != MAP_FAILED, "MAP_32BIT");
	return task_failed;
}
