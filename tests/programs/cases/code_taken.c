/* SPDX-License-Identifier: MIT */
/*
 * Code that a call takes away while its addresses may stay mapped: it is gone for who calls it next, with what the kernel put in
 * its place.  MADV_DONTNEED and MADV_REMOVE leave zeros, mremap with DONTUNMAP too, brk and shmdt nothing.
 */
/* CASE: counted -- */
#include "check.h"

#include <setjmp.h>
#include <sys/shm.h>

typedef int (*code)(void);

static sigjmp_buf back;
static volatile int signal_seen;

static void on_signal(int sig)
{
	signal_seen = sig;
	siglongjmp(back, 1);
}

/* Zeros are `add %al, (%rax)`: with rax 0, SIGSEGV. */
static int call(char *p)
{
	int (*volatile f)(void) = (code)p;
	int ret;

	if (sigsetjmp(back, 1))
		return 1000 + signal_seen;
	__asm__ volatile("xor %%eax, %%eax; call *%1" : "=&a"(ret) : "c"(f) : "memory");
	return ret;
}

static void fill(char *p)
{
	memcpy(p, "\xb8\x07\0\0\0\xc3", 6);
	for (int i = 0; i < 10; i++)
		failed |= call(p) != 7;
}

static char *map(int flags)
{
	return mmap(NULL, 8192, RW | PROT_EXEC, flags | MAP_ANONYMOUS, -1, 0);
}

static void advise(const char *name, int flags, int advice)
{
	char *p = map(flags);
	int ret;

	fill(p);
	fill(p + 4096);
	ret = madvise(p, 4096, advice);
	printf("%s: %d, %d %d\n", name, ret, ret ? 0 : call(p), call(p + 4096));
}

static void moved(void)
{
	char *p = map(MAP_PRIVATE), *q;

	fill(p);
	q = mremap(p, 8192, 8192, MREMAP_MAYMOVE | 4 /* MREMAP_DONTUNMAP */, NULL);
	if (q == MAP_FAILED)
		printf("mremap: %m\n");
	else
		printf("mremap: %d there, %d\n", call(q), call(p));
	fill(p);
	printf("filled again: %d\n", call(p));
}

static void shrunk(void)
{
	char *p = sbrk(0);

	p = sbrk((4096 - (long)p % 4096) + 8192) + (4096 - (long)p % 4096);
	mprotect(p, 8192, RW | PROT_EXEC);
	fill(p);
	fill(p + 4096);
	sbrk(-4096);
	printf("brk: %d %d\n", call(p), call(p + 4096));
	sbrk(4096);
	printf("and back: %d\n", call(p + 4096));
	sbrk(-8192);
}

/* Also where a piece in the middle is gone already. */
static void detached(void)
{
	int id = shmget(IPC_PRIVATE, 5 * 4096, 0600);
	char *p = shmat(id, NULL, SHM_EXEC), *q = shmat(id, NULL, SHM_EXEC);

	shmctl(id, IPC_RMID, NULL);
	for (int i = 0; i < 5; i++)
		fill(p + i * 4096);
	munmap(p + 2 * 4096, 4096);
	printf("hole: %d %d %d\n", call(p), call(p + 2 * 4096), call(p + 3 * 4096));
	printf("shmdt: %d", shmdt(p));
	for (int i = 0; i < 5; i++)
		printf(" %d", call(p + i * 4096));
	printf(", still there: %d\n", call(q + 4096));
	shmdt(q);
}

int main(void)
{
	const struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_NODEFER };

	sigaction(SIGBUS, &a, NULL);
	sigaction(SIGSEGV, &a, NULL);
	setvbuf(stdout, NULL, _IONBF, 0);
	advise("MADV_DONTNEED", MAP_PRIVATE, MADV_DONTNEED);
	advise("MADV_DONTNEED, shared", MAP_SHARED, MADV_DONTNEED);
	advise("MADV_REMOVE", MAP_SHARED, MADV_REMOVE);
	advise("MADV_REMOVE of private memory", MAP_PRIVATE, MADV_REMOVE);
	advise("MADV_POPULATE_WRITE", MAP_PRIVATE, 23);
	advise("MADV_GUARD_INSTALL", MAP_PRIVATE, 102);
	moved();
	shrunk();
	detached();
	return failed;
}
