/* SPDX-License-Identifier: MIT */
/*
 * Page faults by mode: touches USER fresh pages itself and has read(2) touch KERNEL others, in a child
 * where there is a third argument.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

static void touch(size_t user, size_t kernel)
{
	size_t size = (user + kernel) * PAGE;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	size_t i;

	if (p == MAP_FAILED || fd < 0)
		_exit(2);
	/* one fault a page; a kernel without huge pages has no such advice */
	(void)madvise(p, size, MADV_NOHUGEPAGE);
	for (i = 0; i < user; i++)
		*(volatile char *)(p + i * PAGE) = 1;
	for (; i < user + kernel; i++)
		if (read(fd, p + i * PAGE, 1) != 1)
			_exit(3);
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: %s USER KERNEL [child]\n", argv[0]);
		return 129;
	}
	if (argc > 3 && fork())
		return wait(&status) < 0 || status ? 1 : 0;
	touch(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
	return 0;
}
