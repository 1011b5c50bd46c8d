/* SPDX-License-Identifier: MIT */
/*
 * A page of 2 MB that is mapped over code that has run, by a length of 4 KB: the kernel rounds it up, and what was there
 * is gone.  Says what became of the next call.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PLACE ((void *)0x200000000000)

static sigjmp_buf back;

static void handler(int sig)
{
	siglongjmp(back, sig);
}

int main(void)
{
	static const unsigned char code[] = { 0xb8, 42, 0, 0, 0, 0xc3 }; /* mov $42, %eax; ret */
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, sum = 0, sig;
	char *p = mmap(PLACE, 4 << 20, PROT_READ | PROT_WRITE | PROT_EXEC, flags, -1, 0);
	int (*f)(void);

	if (p == MAP_FAILED)
		return 1;
	memcpy(p + 0x3000, code, sizeof(code));
	*(void **)&f = p + 0x3000;
	for (int i = 0; i < 100; i++)
		sum += f();
	printf("%d\n", sum);
	signal(SIGBUS, handler);
	signal(SIGSEGV, handler);
	/* of its pages there may be none: then who touches one gets SIGBUS */
	if (mmap(p, 4096, PROT_READ | PROT_EXEC, flags | MAP_HUGETLB | MAP_NORESERVE, -1, 0) ==
	    MAP_FAILED) {
		printf("none: %s\n", strerror(errno));
		return 0;
	}
	sig = sigsetjmp(back, 1);
	if (sig)
		printf("signal %d\n", sig);
	else
		printf("still %d\n", f());
	return 0;
}
