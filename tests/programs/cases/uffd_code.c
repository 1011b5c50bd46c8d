/* SPDX-License-Identifier: MIT */
/*
 * Code on pages that another thread of the program brings in (userfaultfd).  That thread runs code of its own for
 * the first time meanwhile, so nobody may wait for a page with a lock in its hands that others need to go on.
 */
/* CASE: counted -- */
/* CASE: counted -- 3 */
/* CASE: counted --stress evict -- 2 */
#include "check.h"

#include <linux/userfaultfd.h>

#define PAGES 64
#define HINT  ((void *)(0x200000000 - 11 * 4096)) /* pages 10 and 11 lie at a round address */

typedef int (*code)(void);

static int uf;
static char *area, page[4096] __attribute__((aligned(4096)));
static volatile int served, handled, is_to_signal;
static pthread_t runner;

/* Cold code at each fault, as far as there is any. */
#define COLD(n)                                                                                    \
	__attribute__((noinline)) static int cold##n(int x)                                        \
	{                                                                                          \
		return x * n + 1;                                                                  \
	}
/* clang-format off */
COLD(1) COLD(2) COLD(3) COLD(4) COLD(5) COLD(6) COLD(7) COLD(8)
	/* clang-format on */
	static int (*const cold[])(int) = {
		cold1, cold2, cold3, cold4, cold5, cold6, cold7, cold8
	};

static void *server(void *arg)
{
	struct uffd_msg m;

	while (read(uf, &m, sizeof(m)) == sizeof(m)) {
		struct uffdio_copy c = { .dst = m.arg.pagefault.address & ~4095UL,
					 .src = (u64)page,
					 .len = 4096 };

		failed |= cold[served % 8](0) != 1;
		if (m.event != UFFD_EVENT_PAGEFAULT)
			continue;
		if (is_to_signal) {
			/* it waits for the page: the handler runs, then it waits again */
			is_to_signal = 0;
			pthread_kill(runner, SIGUSR1);
			while (!handled)
				sched_yield();
		}
		served++;
		if (ioctl(uf, UFFDIO_COPY, &c))
			served--; /* asked for twice */
	}
	return arg;
}

static void on_signal(int sig)
{
	handled = sig;
}

static bool start(u64 features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	struct uffdio_register r = { .range = { 0, PAGES * 4096 },
				     .mode = UFFDIO_REGISTER_MODE_MISSING };

	uf = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uf < 0 || ioctl(uf, UFFDIO_API, &api))
		return false;
	area = mmap(HINT, PAGES * 4096, RW | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	r.range.start = (u64)area;
	return !ioctl(uf, UFFDIO_REGISTER, &r);
}

/* Page by page: the server has one event in its hands when the next one comes. */
static int shrink_heap(void)
{
	char *top = (char *)(((u64)sbrk(0) + 4095) & ~4095UL);
	struct uffdio_register r = { .range = { (u64)top, PAGES * 4096 },
				     .mode = UFFDIO_REGISTER_MODE_MISSING };

	if (brk(top + PAGES * 4096) || ioctl(uf, UFFDIO_REGISTER, &r))
		return -1;
	for (int k = PAGES; k-- > 0;)
		if (brk(top + k * 4096))
			return -1;
	return sbrk(0) == top;
}

int main(int argc, char **argv)
{
	int warm = argc > 1 ? atoi(argv[1]) : 0, sum = 0;
	pthread_t t;
	char *to;

	signal(SIGUSR1, on_signal);
	runner = pthread_self();
	/* mov eax, 7; ret; at the end, one byte of another mov eax */
	memset(page, 0x90, sizeof(page));
	memcpy(page, "\xb8\x07\0\0\0\xc3", 6);
	page[4095] = (char)0xb8;
	if (!start(UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE |
		   UFFD_FEATURE_EVENT_REMAP)) {
		printf("no userfaultfd with events\n");
		return 0;
	}
	pthread_create(&t, NULL, server, NULL);
	for (int i = 0; i < warm; i++)
		sum += area[(40 + i) * 4096] != page[0];
	for (int i = 0; i < 5; i++)
		sum += ((code)(area + i * 4096))();
	printf("%d, served %d\n", sum, served - warm);
	/* of an instruction that begins at the end of a page the next one has the end */
	memcpy(page, "\x07\0\0\0\xc3", 5);
	sum = ((code)(area + 10 * 4096 + 4095))();
	printf("across two pages: %d, served %d\n", sum, served - warm);
	memcpy(page, "\xb8\x07\0\0\0\xc3", 6);
	is_to_signal = 1;
	sum = ((code)(area + 20 * 4096))();
	printf("with a signal: %d, handled %d\n", sum, handled == SIGUSR1);
	/* who makes a call of which the server is told waits until it knows */
	madvise(area, 4096, MADV_DONTNEED);
	sum = ((code)area)();
	printf("dropped: %d\n", sum);
	printf("unmapped: %d\n", munmap(area + 30 * 4096, 4096));
	to = mremap(area + 50 * 4096, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, area + 30 * 4096);
	printf("moved: %d\n", to == area + 30 * 4096);
	printf("heap shrunk: %d\n", shrink_heap());
	to = mmap(area + 60 * 4096, 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	printf("mapped over: %d\n", to == area + 60 * 4096);
	return failed;
}
