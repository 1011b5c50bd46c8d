/* SPDX-License-Identifier: MIT */
/*
 * Code of a file whose pages are not in memory when it is called: they are read then, one after the other, as execution
 * reaches them.
 */
/* CASE: counted -- */
#include "check.h"

#define SIZE 16384

int main(void)
{
	char name[] = "/tmp/code_cold.XXXXXX", b[SIZE];
	int fd = mkstemp(name), sum = 0;

	/* mov eax, 7, many nops, and a jmp over the end of a page; ret */
	memset(b, 0x90, sizeof(b));
	memcpy(b, "\xb8\x07\0\0\0", 5);
	memcpy(b + 4094, "\xe9\0\0\0\0", 5);
	b[SIZE - 1] = (char)0xc3;
	if (write(fd, b, sizeof(b)) != sizeof(b) || fsync(fd))
		return 1;
	for (int i = 0; i < 20; i++) {
		char *p;

		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		p = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		sum += ((int (*)(void))p)();
		munmap(p, SIZE);
	}
	unlink(name);
	printf("%d\n", sum);
	return 0;
}
