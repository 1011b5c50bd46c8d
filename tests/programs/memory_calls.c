/* SPDX-License-Identifier: MIT */
/* Corners of the calls that change mappings and limits, and /proc/self/maps while they happen. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "code_call.h"
#include "task_test.h"

#define PAGE 4096UL
#define RW   (PROT_READ | PROT_WRITE)
#define RX   (PROT_READ | PROT_EXEC)
#define RWX  (RW | PROT_EXEC)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static char *area(unsigned long pages, int prot)
{
	char *p = mmap(NULL, pages * PAGE, prot, ANON, -1, 0);

	if (p == MAP_FAILED)
		exit(2);
	return p;
}

/* Where a segment was there is something else, or nothing. */
static void test_shmdt(void)
{
	int id = shmget(IPC_PRIVATE, 3 * PAGE, IPC_CREAT | 0700);
	char *hole = area(8, PROT_NONE), *x, *y;

	munmap(hole, 8 * PAGE);
	x = shmat(id, hole, SHM_EXEC);
	y = shmat(id, hole + 3 * PAGE, SHM_EXEC);
	if (x != hole || y != hole + 3 * PAGE)
		exit(2);
	put(x + 2 * PAGE, 1);
	put(y + PAGE, 2);
	CHECK(call(x + 2 * PAGE) == 1 && call(y + PAGE) == 2 && call(x + PAGE) == 2,
	      "attached side by side");
	CHECK(!shmdt(x) && call(x + 2 * PAGE) == -SIGSEGV, "the first is gone");
	CHECK(call(y + PAGE) == 2, "the second is not");
	x = mmap(hole, 3 * PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0);
	put(x, 3);
	CHECK(x == hole && call(x) == -SIGSEGV, "data in its place");
	mprotect(x, PAGE, RX);
	CHECK(call(x) == 3, "code in its place");
	shmdt(y);
	shmctl(id, IPC_RMID, NULL);
	munmap(x, 3 * PAGE);
}

static void test_mprotect(void)
{
	char *p = area(8, RW);
	unsigned long stack;

	for (int i = 0; i < 8; i++)
		put(p + (unsigned long)i * PAGE, i);
	munmap(p + 4 * PAGE, PAGE);
	CHECK(mprotect(p + 2 * PAGE, 5 * PAGE, RX) && errno == ENOMEM, "mprotect up to a hole");
	CHECK(call(p + 2 * PAGE) == 2 && call(p + 3 * PAGE) == 3, "done before the hole");
	CHECK(call(p + PAGE) == -SIGSEGV && call(p + 5 * PAGE) == -SIGSEGV, "not around it");
	CHECK(mprotect(p + 2 * PAGE, 5 * PAGE, RW) && call(p + 2 * PAGE) == -SIGSEGV, "taken back");
	CHECK(mprotect(p, PAGE, RX | PROT_GROWSDOWN) && errno == EINVAL, "no stack");
	CHECK(call(p) == -SIGSEGV, "nothing done");
	munmap(p, 8 * PAGE);
	/* The lower part of the stack, by an address in its middle. */
	stack = ((unsigned long)__builtin_frame_address(0) & -PAGE) - 3 * PAGE;
	p = (char *)stack;
	memset(p, 0, 2 * PAGE);
	put(p, 4);
	CHECK(!mprotect(p + PAGE, PAGE, RWX | PROT_GROWSDOWN), "PROT_GROWSDOWN");
	CHECK(call(p) == 4, "code below");
	put(p, 5);
	CHECK(call(p) == 5, "changed");
	CHECK(!mprotect(p + PAGE, PAGE, RW | PROT_GROWSDOWN) && call(p) == -SIGSEGV, "data again");
}

static void test_growsdown(void)
{
	char *p = area(2048, PROT_NONE), *low;

	munmap(p, 2048 * PAGE);
	p = mmap(p + 2040 * PAGE, 2 * PAGE, RWX, ANON | MAP_GROWSDOWN | MAP_FIXED_NOREPLACE, -1, 0);
	if (p == MAP_FAILED)
		exit(2);
	put(p, 6);
	CHECK(call(p) == 6, "MAP_GROWSDOWN");
	for (int i = 1; i < 40; i++) {
		low = p - (unsigned long)i * PAGE;
		put(low, i);
		if (call(low) != i || call(p) != 6)
			exit(3);
		put(low, i + 1);
		if (call(low) != i + 1)
			exit(4);
	}
	CHECK(1, "code where it grew");
	low = p - 39 * PAGE;
	CHECK(!munmap(low, 41 * PAGE) && call(low) == -SIGSEGV && call(p) == -SIGSEGV, "unmapped");
}

static void test_mremap(void)
{
	char *p = area(4, RWX), *to = area(4, RWX), *q;

	put(p, 7);
	put(to, 8);
	CHECK(call(p) == 7 && call(to) == 8, "two pieces of code");
	q = mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	CHECK(q == to && call(to) == 7 && call(p) == -SIGSEGV, "one over the other");
	put(to, 9);
	CHECK(call(to) == 9, "changed");
	p = area(1, RWX);
	put(p, 10);
	CHECK(call(p) == 10, "code to move");
	q = mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to + PAGE);
	CHECK(q == to + PAGE && call(q) == 10, "moved with MREMAP_DONTUNMAP");
	CHECK(call(p) == -SIGSEGV, "zeroes are left");
	put(p, 11);
	CHECK(call(p) == 11 && call(q) == 10, "and filled");
	put(to + 2 * PAGE, 12);
	CHECK(call(to + 2 * PAGE) == 12, "code in the way");
	CHECK(mremap(area(1, PROT_NONE) + PAGE * 1024 * 1024, PAGE, PAGE,
		     MREMAP_MAYMOVE | MREMAP_FIXED, to + 2 * PAGE) == MAP_FAILED,
	      "a move of nothing");
	q = mmap(to + 2 * PAGE, PAGE, RWX, ANON | MAP_FIXED, -1, 0);
	put(q, 13);
	CHECK(call(q) == 13, "over what it left");
	munmap(to, 4 * PAGE);
	munmap(p, PAGE);
}

/* Does the text of a descriptor, read in one of the ways, name [p, p + PAGE)? */
static bool names(const char *text, const char *p)
{
	char want[64];

	snprintf(want, sizeof(want), "%08lx-%08lx r--p", (unsigned long)p, (unsigned long)p + PAGE);
	return strstr(text, want) != NULL;
}

static char text[1 << 16];

static void test_maps_are_of_now(void)
{
	int fd = open("/proc/self/maps", O_RDONLY), other, status;
	char *guard = area(3, PROT_NONE), *p = guard + PAGE;
	ssize_t n;

	mprotect(p, PAGE, PROT_READ);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	CHECK(n > 0 && names(text, p), "pread");
	mprotect(p, PAGE, PROT_NONE);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	CHECK(n > 0 && !names(text, p), "pread again");
	mprotect(p, PAGE, PROT_READ);
	other = dup(fd);
	n = read(other, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	CHECK(n > 0 && names(text, p), "read of a duplicate");
	mprotect(p, PAGE, PROT_NONE);
	CHECK(lseek(fd, 0, SEEK_SET) == 0, "lseek");
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	CHECK(n > 0 && !names(text, p), "read after lseek");
	mprotect(p, PAGE, PROT_READ);
	CHECK(pread(fd, text, 1, 1) == 1, "pread behind the beginning");
	n = pread(fd, text, sizeof(text) - 1, 1);
	text[n > 0 ? n : 0] = 0;
	CHECK(n > 0 && names(text, p), "is of now, too");
	mprotect(p, PAGE, PROT_NONE);
	n = preadv(fd, &(struct iovec){ text, sizeof(text) - 1 }, 1, 3);
	text[n > 0 ? n : 0] = 0;
	CHECK(n > 0 && !names(text, p), "preadv");
	mprotect(p, PAGE, PROT_READ);
	CHECK(lseek(fd, 2, SEEK_SET) == 2, "lseek to a place");
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	CHECK(n > 0 && names(text, p), "read from there");
	mprotect(p, PAGE, PROT_NONE);
	if (!fork()) {
		other = open("/proc/self/maps", O_RDONLY);
		mprotect(p, PAGE, PROT_READ);
		n = read(other, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = 0;
		_exit(n > 0 && names(text, p));
	}
	wait(&status);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status), "in a child");
	munmap(guard, 3 * PAGE);
	close(fd);
}

static bool is_limit(int which, rlim_t cur, rlim_t max)
{
	struct rlimit lim;

	return !getrlimit(which, &lim) && lim.rlim_cur == cur && lim.rlim_max == max;
}

#define MB (1UL << 20)

static int lower(void *arg)
{
	struct rlimit lim = { 700 * MB, 800 * MB };
	int *result = arg;

	*result = is_limit(RLIMIT_AS, 1000 * MB, 1500 * MB) && !setrlimit(RLIMIT_AS, &lim) &&
		  is_limit(RLIMIT_AS, 700 * MB, 800 * MB);
	return 0;
}

/* Nobody may raise a hard limit here: not the engine either, by what it keeps for itself. */
static void test_limits(void)
{
	struct rlimit lim = { 1000 * MB, 1500 * MB };
	static char stack[1 << 16];
	int result = 0, status;
	pid_t pid;

	if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
		exit(2);
	CHECK(!setrlimit(RLIMIT_AS, &lim) && is_limit(RLIMIT_AS, 1000 * MB, 1500 * MB), "set");
	lim.rlim_max = 1501 * MB;
	CHECK(setrlimit(RLIMIT_AS, &lim) && errno == EPERM, "one more is too much");
	lim.rlim_max = 1700 * MB;
	CHECK(setrlimit(RLIMIT_AS, &lim) && errno == EPERM, "much more as well");
	CHECK(is_limit(RLIMIT_AS, 1000 * MB, 1500 * MB), "it stays");
	lim.rlim_cur = 1501 * MB;
	lim.rlim_max = 1500 * MB;
	CHECK(setrlimit(RLIMIT_AS, &lim) && errno == EINVAL, "soft above hard");
	pid = clone(lower, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &result);
	waitpid(pid, &status, 0);
	CHECK(result == 1, "a vfork child lowers its own");
	CHECK(is_limit(RLIMIT_AS, 1000 * MB, 1500 * MB), "the parent's is as it was");
	lim.rlim_cur = lim.rlim_max = 1500 * MB;
	CHECK(!setrlimit(RLIMIT_AS, &lim) && is_limit(RLIMIT_AS, 1500 * MB, 1500 * MB),
	      "up to the hard one");
	lim.rlim_cur = lim.rlim_max = 1400 * MB;
	CHECK(!setrlimit(RLIMIT_AS, &lim) && is_limit(RLIMIT_AS, 1400 * MB, 1400 * MB), "down");
	lim.rlim_cur = lim.rlim_max = 1450 * MB;
	CHECK(setrlimit(RLIMIT_AS, &lim) && errno == EPERM, "and not up again");
}

int main(void)
{
	signal(SIGSEGV, on_code_segv);
	test_shmdt();
	test_mprotect();
	test_growsdown();
	test_mremap();
	test_maps_are_of_now();
	test_limits();
	return task_failed;
}
