// SPDX-License-Identifier: MIT
/*
 * Children that execute code at an address where their parent has other code, or none: each executes its own, though the engine has a
 * parent learn what its children come to.  Prints what they returned.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 12

static void *place;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* mov $n, %eax; test %edi, %edi; je 1f; neg %eax; 1: ret */
static void put_code(int n)
{
	unsigned char code[] = { 0xb8, 0, 0, 0, 0, 0x85, 0xff, 0x74, 0x02, 0xf7, 0xd8, 0xc3 };

	memcpy(code + 1, &n, sizeof(n));
	if (mmap(place, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != place)
		fail("mmap");
	memcpy(place, code, sizeof(code));
	if (mprotect(place, 4096, PROT_READ | PROT_EXEC))
		fail("mprotect");
}

static int call(int negate)
{
	int (*fn)(int);

	memcpy(&fn, &place, sizeof(fn));
	return fn(negate);
}

static int sum_of(int n, int own)
{
	int sum = 0, k;

	if (own)
		put_code(n);
	for (k = 0; k < 4; k++)
		sum += call(0) + call(k & 1);
	return sum;
}

static int child(int n, int own)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (!pid)
		_exit(sum_of(n, own) & 0x7f);
	if (waitpid(pid, &status, 0) != pid)
		fail("waitpid");
	return status;
}

int main(void)
{
	int k;

	place = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED)
		fail("mmap");
	for (k = 1; k <= ROUNDS; k++) {
		printf("child %d: %x\n", k, child(k, 1));
		if (k % 4 == 0) { /* its own code, of which a child tells next */
			put_code(40 + k);
			printf("as its parent: %x\n", child(k, 0));
			printf("parent: %d\n", sum_of(0, 0));
		}
		if (k % 4 == 1 && mprotect(place, 4096, PROT_NONE))
			fail("mprotect");
		fflush(stdout);
	}
	return 0;
}
