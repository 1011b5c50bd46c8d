/* SPDX-License-Identifier: MIT */
/* Code that comes, goes and moves by system calls, and what they answer. */
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "code_call.h"
#include "task_test.h"

#define PAGE 4096UL
#define RW   (PROT_READ | PROT_WRITE)
#define RX   (PROT_READ | PROT_EXEC)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static void test_mprotect(char *p)
{
	int good = 0;

	for (int i = 0; i < 100; i++) {
		mprotect(p, PAGE, RW);
		put(p, i);
		mprotect(p, PAGE, RX);
		good += call(p) == i;
	}
	CHECK(good == 100, "mprotect back and forth");
	mprotect(p, PAGE, RW);
	CHECK(call(p) == -SIGSEGV, "not executable");
	mprotect(p, PAGE, PROT_NONE);
	CHECK(call(p) == -SIGSEGV, "not accessible");
	mprotect(p, PAGE, RX);
	CHECK(call(p) == 99, "executable again");
	CHECK(mprotect(p + 1, PAGE, RX) && errno == EINVAL, "mprotect unaligned");
	CHECK(!mprotect(p, 0, RX), "mprotect of nothing");
}

static void test_mmap(char *p)
{
	char *q;

	mprotect(p, PAGE, RW | PROT_EXEC);
	put(p, 1);
	CHECK(call(p) == 1, "rwx");
	q = mmap(p, PAGE, RW | PROT_EXEC, ANON | MAP_FIXED, -1, 0);
	CHECK(q == p && call(p) == -SIGSEGV, "mapped over with zeroes");
	put(p, 2);
	CHECK(call(p) == 2, "and filled");
	munmap(p, PAGE);
	CHECK(call(p) == -SIGSEGV, "unmapped");
	q = mmap(p, PAGE, RW | PROT_EXEC, ANON | MAP_FIXED_NOREPLACE, -1, 0);
	put(p, 3);
	CHECK(q == p && call(p) == 3, "mapped again");
	CHECK(mmap(p, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED && errno == EEXIST,
	      "MAP_FIXED_NOREPLACE");
	CHECK(!madvise(p, PAGE, MADV_DONTNEED) && call(p) == -SIGSEGV, "MADV_DONTNEED");
	CHECK(munmap(p + 1, PAGE) && errno == EINVAL, "munmap unaligned");
	CHECK(munmap(p, 0) && errno == EINVAL, "munmap of nothing");
	CHECK(munmap((char *)-PAGE, PAGE) && errno == EINVAL, "munmap of the kernel's");
	CHECK(mmap(NULL, 0, RW, ANON, -1, 0) == MAP_FAILED && errno == EINVAL, "mmap of nothing");
	CHECK(mmap(NULL, PAGE, RW, MAP_PRIVATE, 777, 0) == MAP_FAILED && errno == EBADF,
	      "mmap of a bad descriptor");
}

static void test_mremap(char *p)
{
	char *area, *q;

	put(p, 4);
	CHECK(call(p) == 4, "before mremap");
	area = mmap(NULL, 8 * PAGE, PROT_NONE, ANON, -1, 0);
	q = mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, area + 2 * PAGE);
	CHECK(q == area + 2 * PAGE && call(q) == 4, "moved");
	CHECK(call(p) == -SIGSEGV, "gone from where it was");
	put(q, 5);
	CHECK(call(q) == 5, "writable there");
	CHECK(mremap(q, 2 * PAGE, PAGE, 0) == q && call(q) == 5 && call(q + PAGE) == -SIGSEGV,
	      "shrunk");
	CHECK(mremap((void *)PAGE, PAGE, 2 * PAGE, 0) == MAP_FAILED && errno == EFAULT,
	      "mremap of nothing");
	munmap(area, 8 * PAGE);
	CHECK(call(q) == -SIGSEGV, "unmapped with what is around it");
}

static void test_shared(void)
{
	int fd = memfd_create("code", 0), id;
	char *w, *x;

	if (ftruncate(fd, PAGE))
		exit(2);
	w = mmap(NULL, PAGE, RW, MAP_SHARED, fd, 0);
	x = mmap(NULL, PAGE, RX, MAP_SHARED, fd, 0);
	put(w, 6);
	CHECK(call(x) == 6, "code of a file");
	munmap(x, PAGE);
	put(w, 7);
	x = mmap(x, PAGE, RX, MAP_SHARED | MAP_FIXED, fd, 0);
	CHECK(call(x) == 7, "mapped again after a change");
	munmap(x, PAGE);
	munmap(w, PAGE);
	close(fd);
	id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0700);
	x = shmat(id, NULL, SHM_EXEC);
	put(x, 8);
	CHECK(call(x) == 8, "shmat with SHM_EXEC");
	put(x, 9);
	CHECK(call(x) == 9, "changed");
	shmdt(x);
	CHECK(call(x) == -SIGSEGV, "shmdt");
	shmctl(id, IPC_RMID, NULL);
}

/* The kernel writes into a page of code that has been executed. */
static void test_kernel_writes(void)
{
	char *p = mmap(NULL, 2 * PAGE, RW | PROT_EXEC, ANON, -1, 0), code[8];
	int fds[2];

	put(p, 10);
	put(p + PAGE, 11);
	CHECK(call(p) == 10 && call(p + PAGE) == 11, "before the kernel writes");
	if (pipe(fds))
		exit(2);
	put(code, 12);
	CHECK(write(fds[1], code, 6) == 6 && read(fds[0], p, 6) == 6 && call(p) == 12, "read");
	put(code, 13);
	CHECK(write(fds[1], code, 6) == 6 && read(fds[0], p + PAGE, 6) == 6 && call(p + PAGE) == 13,
	      "read into the next page");
	CHECK(call(p) == 12, "the first is as it was");
	munmap(p, 2 * PAGE);
}

/* A hole far above everything is as empty as ever: nothing of ours answers. */
static void test_sweep(void)
{
	char *p = mmap(NULL, PAGE, RW, ANON, -1, 0);
	unsigned long found = 0;

	for (char *q = p - (1UL << 32); q < p - (1UL << 30); q += 16 * PAGE)
		found += mprotect(q, PAGE, PROT_READ) == 0 || errno != ENOMEM;
	for (char *q = p - (1UL << 32); q < p - (1UL << 30); q += 16 * PAGE)
		found += munmap(q, PAGE) != 0;
	CHECK(!found, "nothing where nothing is mapped");
	CHECK(madvise(p - (1UL << 31), 1UL << 29, MADV_DONTNEED) && errno == ENOMEM,
	      "madvise of a hole");
	munmap(p, PAGE);
}

int main(void)
{
	char *p;

	signal(SIGSEGV, on_code_segv);
	p = mmap(NULL, PAGE, RW, ANON, -1, 0);
	test_mprotect(p);
	test_mmap(p);
	test_mremap(p);
	test_shared();
	test_kernel_writes();
	test_sweep();
	return task_failed;
}
