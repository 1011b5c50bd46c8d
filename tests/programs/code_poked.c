/* SPDX-License-Identifier: MIT */
/*
 * process_vm_readv and process_vm_writev: code of another process, and one's own, that has been executed is
 * read as it was written, and what is written there is executed.  A write to /proc/self/mem that fails has written up to
 * where its source cannot be read.
 */
#include <cpuid.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "code_call.h"
#include "task_test.h"

#define PAGE 4096UL
#define RWX  (PROT_READ | PROT_WRITE | PROT_EXEC)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static int to_child[2], from_child[2];

/* Calls p whenever it is asked to; the answer is what p returns. */
static void be_child(char *p)
{
	unsigned int a, b, c, d;
	char byte;
	int ret;

	while (read(to_child[0], &byte, 1) == 1) {
		__cpuid(0, a, b, c, d); /* as whoever executes code that others change */
		ret = call(p);
		if (write(from_child[1], &ret, sizeof(ret)) != sizeof(ret))
			break;
	}
	_exit(0);
}

static int call_there(void)
{
	int ret = -1;

	if (write(to_child[1], "", 1) != 1 || read(from_child[0], &ret, sizeof(ret)) != sizeof(ret))
		return -1;
	return ret;
}

static ssize_t move(pid_t pid, void *here, const char *there, size_t size, bool writes)
{
	struct iovec local = { here, size }, remote = { (void *)there, size };

	return writes ? process_vm_writev(pid, &local, 1, &remote, 1, 0)
		      : process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

static bool reads_as(pid_t pid, const char *there, const void *what, size_t size)
{
	char got[PAGE];

	return move(pid, got, there, size, false) == (ssize_t)size && !memcmp(got, what, size);
}

/* own: a copy of what the child has, to be changed and sent */
static void test_other(pid_t pid, char *p, char *own)
{
	int good = 0, same = 0;

	CHECK(call_there() == 1, "runs");
	CHECK(reads_as(pid, p, own, PAGE), "its made code is read as it was written");
	CHECK(reads_as(pid, (const char *)(uintptr_t)be_child, (const void *)(uintptr_t)be_child,
		       256),
	      "and that of its file");
	for (int i = 2; i < 200; i++) {
		put(own, i);
		good += move(pid, own, p, 16, true) == 16;
		same += call_there() == i;
		good += call_there() == i;
	}
	CHECK(good == 396, "writes are made");
	CHECK(same == 198, "and executed");
	CHECK(reads_as(pid, p, own, PAGE), "and read");
}

/* By pwrite and by write. */
static bool fails(int fd, const char *from, char *to, bool by_position)
{
	if (!by_position)
		return pwrite(fd, from, 2 * PAGE, (off_t)(uintptr_t)to) != (ssize_t)(2 * PAGE);
	return lseek(fd, (off_t)(uintptr_t)to, SEEK_SET) != (off_t)(uintptr_t)to ||
	       write(fd, from, 2 * PAGE) != (ssize_t)(2 * PAGE);
}

/* The source's second page cannot be read.  Kernels differ in what they have written by then: what is there counts. */
static void test_failed(void)
{
	char *p = mmap(NULL, 2 * PAGE, RWX, ANON, -1, 0);
	char *from = mmap(NULL, 2 * PAGE, RWX, ANON, -1, 0);
	int fd = open("/proc/self/mem", O_RDWR), failed = 0, good = 0, value;

	put(p, 0);
	/* such a page is not protected from a write, which could give the code away otherwise */
	mprotect(p, 2 * PAGE, PROT_READ | PROT_EXEC);
	mprotect(from + PAGE, PAGE, PROT_NONE);
	for (int i = 1; i <= 50; i++) {
		put(from, i);
		failed += fails(fd, from, p, i % 2);
		memcpy(&value, p + 1, sizeof(value));
		good += call(p) == value;
	}
	CHECK(failed == 50, "a write from where nothing can be read is not made in full");
	CHECK(good == 50, "what it has written is executed");
	close(fd);
}

int main(void)
{
	char *p = mmap(NULL, PAGE, RWX, ANON, -1, 0), *own = mmap(NULL, PAGE, RWX, ANON, -1, 0);
	char *rx = mmap(NULL, PAGE, RWX, ANON, -1, 0);
	pid_t pid;
	int good = 0;

	signal(SIGSEGV, on_code_segv);
	put(p, 1);
	put(own, 1);
	put(rx, 7);
	mprotect(rx, PAGE, PROT_READ | PROT_EXEC);
	if (pipe(to_child) || pipe(from_child))
		return 2;
	pid = fork();
	if (!pid) {
		close(to_child[1]);
		be_child(p);
	}
	test_other(pid, p, own);
	CHECK(move(pid, own, rx, 16, true) == -1 && errno == EFAULT, "not where it may not write");
	close(to_child[1]);
	waitpid(pid, NULL, 0);
	CHECK(call(rx) == 7, "not written");
	for (int i = 0; i < 100; i++) {
		put(own, i);
		good += move(getpid(), own, p, 16, true) == 16;
		good += call(p) == i;
	}
	CHECK(good == 200, "to oneself");
	CHECK(reads_as(getpid(), p, own, PAGE), "and read");
	test_failed();
	return task_failed;
}
