/* SPDX-License-Identifier: MIT */
/*
 * Forks of a process under a userfaultfd that is told of them.  The forking thread waits in the kernel until another one has read
 * the event; that one runs code for the first time before it does, and a third one changes memory all the while.
 */
/* CASE: counted -- */
/* CASE: counted --stress evict -- */
#include "check.h"

#include <linux/userfaultfd.h>

#define PAGES 16
#define FORKS 24
#define CODES 8192
#define EACH  16 /* bytes of a function */

typedef int (*code)(void);

static char *area, *codes, page[4096] __attribute__((aligned(4096)));
static struct pollfd uf[1 + FORKS];
static volatile int nforks, is_over;
static int ncold;

/* Code that nobody has run yet: mov eax, N; ret. */
static void run_cold(void)
{
	int n = __atomic_fetch_add(&ncold, 1, __ATOMIC_RELAXED) % CODES;

	failed |= ((code)(codes + n * EACH))() != n;
}

static void write_codes(void)
{
	codes = mmap(NULL, CODES * EACH, RW | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int n = 0; n < CODES; n++) {
		codes[n * EACH] = (char)0xb8;
		memcpy(codes + n * EACH + 1, &n, sizeof(n));
		codes[n * EACH + 5] = (char)0xc3;
	}
}

static void answer(int fd)
{
	struct uffdio_copy c = { .src = (u64)page, .len = 4096 };
	struct uffd_msg m;

	run_cold();
	if (read(fd, &m, sizeof(m)) != sizeof(m))
		return;
	run_cold();
	if (m.event == UFFD_EVENT_FORK) {
		uf[1 + nforks] = (struct pollfd){ .fd = (int)m.arg.fork.ufd, .events = POLLIN };
		nforks++;
	} else if (m.event == UFFD_EVENT_PAGEFAULT) {
		c.dst = m.arg.pagefault.address & ~4095UL;
		ioctl(fd, UFFDIO_COPY, &c);
	}
}

static void *server(void *arg)
{
	int n;

	for (;;) {
		n = 1 + nforks;
		if (poll(uf, (nfds_t)n, -1) < 1)
			return arg;
		for (int k = 0; k < n; k++) {
			/* a child that is gone: POLLERR from then on */
			if (uf[k].revents & POLLIN)
				answer(uf[k].fd);
			else if (uf[k].revents)
				uf[k].fd = -1;
		}
	}
}

static void *changer(void *arg)
{
	while (!is_over) {
		char *p = mmap(NULL, 8192, RW | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memcpy(p, page, 64);
		failed |= ((code)p)() != 7;
		mprotect(p, 4096, PROT_READ | PROT_EXEC);
		failed |= ((code)p)() != 7;
		munmap(p, 8192);
	}
	return arg;
}

static bool start(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_EVENT_FORK };
	struct uffdio_register r = { .range = { 0, PAGES * 4096 },
				     .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		return false;
	uf[0] = (struct pollfd){ .fd = fd, .events = POLLIN };
	area = mmap(NULL, PAGES * 4096, RW | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	r.range.start = (u64)area;
	return !ioctl(fd, UFFDIO_REGISTER, &r);
}

/* Its own code, code of the area, and memory that it changes. */
static void child(int n)
{
	pthread_t t;
	char *p;

	failed |= ((code)(area + n % PAGES * 4096))() != 7;
	for (int k = 0; k < 50; k++)
		run_cold();
	p = mmap(NULL, 4096, RW | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p, page, 64);
	failed |= ((code)p)() != 7;
	is_over = 1;
	failed |= pthread_create(&t, NULL, changer, NULL) || pthread_join(t, NULL);
	_exit(failed);
}

int main(void)
{
	pthread_t s, c;
	int st, good = 0;
	pid_t pid;

	memset(page, 0x90, sizeof(page));
	memcpy(page, "\xb8\x07\0\0\0\xc3", 6);
	write_codes();
	if (!start()) {
		printf("no userfaultfd that is told of forks\n");
		return 0;
	}
	pthread_create(&s, NULL, server, NULL);
	pthread_create(&c, NULL, changer, NULL);
	for (int k = 0; k < FORKS; k++) {
		pid = k % 3 ? fork() : (pid_t)syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
		if (!pid)
			child(k);
		good += waitpid(pid, &st, 0) == pid && !st;
	}
	is_over = 1;
	pthread_join(c, NULL);
	printf("forks: %d, told of: %d, good: %d\n", FORKS, nforks, good);
	return failed;
}
