/* SPDX-License-Identifier: MIT */
/*
 * MADV_DONTFORK: a child has nothing at these addresses, and calling code there is SIGSEGV.  MADV_WIPEONFORK: it has zeros
 * there, which are other code.  Both go with the mapping where it is moved, and end by DOFORK and KEEPONFORK.
 */
/* CASE: counted -- */
#include "check.h"

typedef int (*code)(void);

/* mov eax, 7; ret */
static char *page_of_code(int prot)
{
	char *p = mmap(NULL, 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(p, "\xb8\x07\0\0\0\xc3", 6);
	mprotect(p, 4096, prot);
	return p;
}

static void run(char *p)
{
	for (int i = 0; i < 10; i++)
		failed |= ((code)p)() != 7;
}

/* What a child makes of it: "exit n" or "signal n". */
static void child(const char *name, char *p)
{
	int st;

	if (!fork())
		_exit(((code)p)());
	wait(&st);
	printf("%s: %s %d\n", name, WIFSIGNALED(st) ? "signal" : "exit",
	       WIFSIGNALED(st) ? WTERMSIG(st) : WEXITSTATUS(st));
	failed |= ((code)p)() != 7;
}

static char *moved(char *p)
{
	char *to = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, to);
}

static void with_prot(int prot, const char *how)
{
	char *p = page_of_code(prot), *q = page_of_code(prot), *r = page_of_code(prot);

	printf("%s\n", how);
	run(p);
	run(q);
	run(r);
	madvise(p, 4096, MADV_DONTFORK);
	madvise(q, 4096, MADV_WIPEONFORK);
	child("dontfork", p);
	child("wipeonfork", q);
	child("beside them", r);
	p = moved(p);
	q = moved(q);
	run(p);
	run(q);
	child("dontfork, moved", p);
	child("wipeonfork, moved", q);
	madvise(p, 4096, MADV_DOFORK);
	madvise(q, 4096, MADV_KEEPONFORK);
	child("dofork", p);
	child("keeponfork", q);
	/* what is mapped over it has no advice */
	madvise(p, 4096, MADV_DONTFORK);
	mmap(p, 4096, RW | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memcpy(p, "\xb8\x07\0\0\0\xc3", 6);
	run(p);
	child("mapped over", p);
}

/* In the child of a child as well, and where there are more such ranges than anybody counts. */
static void many(void)
{
	char *p[200];
	int st;

	for (int i = 0; i < 200; i++) {
		p[i] = page_of_code(RW | PROT_EXEC);
		mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		run(p[i]);
		madvise(p[i], 4096, i % 2 ? MADV_WIPEONFORK : MADV_DONTFORK);
	}
	if (!fork()) {
		child("not ours", (char *)page_of_code(PROT_READ | PROT_EXEC));
		if (!fork())
			_exit(((code)p[198])());
		wait(&st);
		printf("grandchild: %d\n", WTERMSIG(st));
		fflush(stdout);
		_exit(0);
	}
	wait(&st);
	child("the last but one", p[198]);
	child("the last", p[199]);
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	with_prot(PROT_READ | PROT_EXEC, "executable");
	with_prot(RW | PROT_EXEC, "writable");
	many();
	return failed;
}
