/* SPDX-License-Identifier: MIT */
/* LIBS: -lpthread */
/*
 * Code that is written through another mapping than the one that runs it: by the same process,
 * which then needs no serializing instruction, and by others, after which it executes one.
 * Each line is the same natively and counted.
 */
#include <cpuid.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "task_test.h"

#define PAGE   4096UL
#define ROUNDS 3000
#define RW     (PROT_READ | PROT_WRITE)
#define RX     (PROT_READ | PROT_EXEC)
#define RWX    (RW | PROT_EXEC)

typedef int (*code_fn)(void);

struct views {
	char *w, *x;
	int fd;
};

static void serialize(void)
{
	unsigned int a, b, c, d;

	__cpuid(0, a, b, c, d);
	(void)(a + b + c + d);
}

static void put(char *at, int value)
{
	const unsigned char code[] = {
		0xb8, (unsigned char)value, (unsigned char)(value >> 8), 0, 0, 0xc3
	}; /* mov $value, %eax; ret */

	memcpy(at, code, sizeof(code));
}

__attribute__((noinline)) static int call(char *at)
{
	code_fn fn;

	memcpy(&fn, &at, sizeof(fn));
	return fn();
}

static char *map(int fd, int prot, int flags)
{
	char *p = mmap(NULL, 2 * PAGE, prot, flags, fd, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	return p;
}

static int new_file(void)
{
	int fd = memfd_create("code", 0);

	if (fd < 0 || ftruncate(fd, 2 * PAGE))
		exit(2);
	return fd;
}

static struct views make(int x_flags)
{
	struct views v = { .fd = new_file() };

	v.w = map(v.fd, RW, MAP_SHARED);
	v.x = map(v.fd, RX, x_flags);
	return v;
}

static void drop(struct views *v)
{
	munmap(v->w, 2 * PAGE);
	munmap(v->x, 2 * PAGE);
	close(v->fd);
}

static int rewrite(char *w, char *x, int rounds)
{
	int good = 0;

	for (int i = 0; i < rounds; i++) {
		put(w, i);
		good += call(x) == i;
		good += call(x) == i;
	}
	return good == 2 * rounds;
}

static void test_two_views(void)
{
	struct views v = make(MAP_SHARED);
	char *second;

	CHECK(rewrite(v.w, v.x, ROUNDS), "a memfd mapped twice");
	CHECK(rewrite(v.w + PAGE - 3, v.x + PAGE - 3, ROUNDS), "across a page");
	second = map(v.fd, RW, MAP_SHARED);
	CHECK(rewrite(second, v.x, ROUNDS), "a third view");
	CHECK(rewrite(v.w, v.x, 10), "the first one again");
	munmap(second, 2 * PAGE);
	second = mmap(NULL, PAGE, RX, MAP_SHARED, v.fd, PAGE);
	put(v.w + PAGE, 1);
	CHECK(call(second) == 1 && call(v.x + PAGE) == 1, "two views that run");
	CHECK(rewrite(v.w + PAGE, second, 100) && rewrite(v.w + PAGE, v.x + PAGE, 100),
	      "by either address");
	munmap(second, PAGE);
	drop(&v);
}

static void test_private(void)
{
	struct views v = make(MAP_PRIVATE);
	unsigned char code[] = { 0xb8, 0, 0, 0, 0, 0xc3 };
	int good = 0;

	CHECK(rewrite(v.w, v.x, ROUNDS), "a private view of a shared file");
	for (int i = 0; i < 200; i++) {
		code[1] = (unsigned char)i;
		good += pwrite(v.fd, code, sizeof(code), 0) == sizeof(code) && call(v.x) == i;
	}
	CHECK(good == 200, "the file is written to");
	drop(&v);
}

static void test_protections(void)
{
	struct views v = make(MAP_SHARED);
	char *w = map(-1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS);
	int good = 0;

	put(v.w, 1);
	CHECK(call(v.x) == 1, "before the view goes");
	for (int i = 0; i < 100; i++) { /* as .NET does */
		char *q = map(v.fd, RW, MAP_SHARED);

		put(q, i);
		good += call(v.x) == i;
		munmap(q, 2 * PAGE);
		good += call(v.x) == i;
	}
	CHECK(good == 200, "views that come and go");
	mprotect(v.w, 2 * PAGE, PROT_READ);
	CHECK(call(v.x) == 99, "read-only view");
	mprotect(v.w, 2 * PAGE, RW);
	CHECK(rewrite(v.w, v.x, 100), "writable again");
	CHECK(mremap(v.w, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, w) == w, "moved");
	v.w = w;
	CHECK(rewrite(v.w, v.x, 100), "a view that moved");
	mprotect(v.x, PAGE, PROT_READ);
	mprotect(v.x, PAGE, RX);
	CHECK(rewrite(v.w, v.x, 100), "the other's protection went and came");
	drop(&v);
}

/* The kernel writes through the view. */
static void test_kernel(void)
{
	struct views v = make(MAP_SHARED);
	int fds[2], good = 0;

	if (pipe(fds))
		exit(2);
	for (int i = 0; i < 100; i++) {
		unsigned char code[] = { 0xb8, (unsigned char)i, 0, 0, 0, 0xc3 };
		struct iovec io = { v.w, sizeof(code) };

		if (write(fds[1], code, sizeof(code)) != sizeof(code))
			exit(2);
		good += (i & 1 ? read(fds[0], v.w, sizeof(code)) : readv(fds[0], &io, 1)) ==
			sizeof(code);
		good += call(v.x) == i;
	}
	CHECK(good == 200, "read into the view");
	close(fds[0]);
	close(fds[1]);
	drop(&v);
}

static void test_anonymous(void)
{
	char *x = map(-1, RWX, MAP_SHARED | MAP_ANONYMOUS), *w;
	int id = shmget(IPC_PRIVATE, 2 * PAGE, IPC_CREAT | 0700);

	CHECK(rewrite(x, x, ROUNDS), "anonymous shared memory");
	w = mremap(x, 0, 2 * PAGE, MREMAP_MAYMOVE);
	CHECK(w != MAP_FAILED && rewrite(w, x, 100), "and its duplicate");
	munmap(w, 2 * PAGE);
	munmap(x, 2 * PAGE);
	w = shmat(id, NULL, 0);
	x = shmat(id, NULL, SHM_EXEC | SHM_RDONLY);
	CHECK(rewrite(w, x, ROUNDS), "a segment attached twice");
	shmdt(w);
	CHECK(call(x) == (ROUNDS - 1), "detached once");
	w = shmat(id, NULL, 0);
	CHECK(rewrite(w, x, 100), "and attached again");
	shmdt(w);
	shmdt(x);
	shmctl(id, IPC_RMID, NULL);
}

static void test_file(const char *folder)
{
	char name[256];
	struct views v;

	snprintf(name, sizeof(name), "%s/code_alias.%d", folder, (int)getpid());
	v.fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0700);
	if (v.fd < 0 || ftruncate(v.fd, 2 * PAGE))
		exit(2);
	unlink(name);
	v.w = map(v.fd, RW, MAP_SHARED);
	v.x = map(v.fd, RX, MAP_SHARED);
	CHECK(rewrite(v.w, v.x, ROUNDS), "a file in /dev/shm");
	drop(&v);
}

/* More pages of code than anybody would want a table of views for. */
static void test_many(void)
{
	const int pages = 3000;
	int fd = memfd_create("many", 0), good = 0;
	char *w, *x;

	if (ftruncate(fd, pages * (off_t)PAGE))
		exit(2);
	w = mmap(NULL, pages * PAGE, RW, MAP_SHARED, fd, 0);
	x = mmap(NULL, pages * PAGE, RX, MAP_SHARED, fd, 0);
	for (int round = 0; round < 3; round++) {
		for (unsigned long i = 0; i < pages; i += 2) {
			put(w + i * PAGE, (int)i + round);
			good += call(x + i * PAGE) == (int)i + round;
		}
		munmap(mmap(NULL, PAGE, RW, MAP_SHARED, fd, 0), PAGE);
	}
	CHECK(good == 3 * pages / 2, "many pages");
	munmap(w, pages * PAGE);
	munmap(x, pages * PAGE);
	close(fd);
}

/* A file that is mapped first, read-only, and opened for writing later. */
static void test_rewritten(void)
{
	const char *folder = getenv("TMPDIR");
	unsigned char code[] = { 0xb8, 1, 0, 0, 0, 0xc3 };
	struct views v = { .fd = -1 };
	char name[4096];
	int fd, good = 0;

	snprintf(name, sizeof(name), "%s/code_alias.%d", folder ? folder : "/tmp", (int)getpid());
	fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0700);
	if (fd < 0 || ftruncate(fd, 2 * PAGE) || write(fd, code, sizeof(code)) != sizeof(code))
		exit(2);
	close(fd);
	v.fd = open(name, O_RDONLY);
	v.x = map(v.fd, RX, MAP_PRIVATE);
	CHECK(call(v.x) == 1, "a file");
	fd = open(name, O_RDWR);
	for (int i = 0; i < 100; i++) {
		code[1] = (unsigned char)i;
		good += pwrite(fd, code, sizeof(code), 0) == sizeof(code) && call(v.x) == i;
	}
	CHECK(good == 100, "opened again and written to");
	v.w = map(fd, RW, MAP_SHARED);
	CHECK(rewrite(v.w, v.x, 100), "and mapped again");
	close(fd);
	unlink(name);
	drop(&v);
}

/* Likewise, where it is mapped many times, so that its mappings follow each other. */
static void test_rewritten_many(void)
{
	enum { VIEWS = 12 };
	const char *folder = getenv("TMPDIR");
	unsigned char code[] = { 0xb8, 1, 0, 0, 0, 0xc3 };
	char name[4096], *x[VIEWS];
	int fd, good = 0;

	snprintf(name, sizeof(name), "%s/code_alias.%d", folder ? folder : "/tmp", (int)getpid());
	fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0700);
	if (fd < 0 || ftruncate(fd, 2 * PAGE) || write(fd, code, sizeof(code)) != sizeof(code))
		exit(2);
	close(fd);
	fd = open(name, O_RDONLY);
	for (int i = 0; i < VIEWS; i++) {
		x[i] = map(fd, RX, MAP_PRIVATE);
		good += call(x[i]) == 1;
	}
	close(fd);
	fd = open(name, O_RDWR);
	code[1] = 2;
	if (pwrite(fd, code, sizeof(code), 0) != sizeof(code))
		exit(2);
	for (int i = 0; i < VIEWS; i++) {
		good += call(x[i]) == 2;
		munmap(x[i], 2 * PAGE);
	}
	CHECK(good == 2 * VIEWS, "many views of a file that is written to");
	close(fd);
	unlink(name);
}

/* A file that is open for writing already when it is mapped by another descriptor. */
static void test_written_before(void)
{
	const char *folder = getenv("TMPDIR");
	unsigned char code[] = { 0xb8, 0, 0, 0, 0, 0xc3 };
	char name[4096], *x;
	int w, r, good = 0;

	snprintf(name, sizeof(name), "%s/code_alias.%d", folder ? folder : "/tmp", (int)getpid());
	w = open(name, O_RDWR | O_CREAT | O_EXCL, 0700);
	r = open(name, O_RDONLY);
	if (w < 0 || r < 0 || ftruncate(w, 2 * PAGE))
		exit(2);
	unlink(name);
	x = map(r, RX, MAP_PRIVATE);
	for (int i = 0; i < 100; i++) {
		code[1] = (unsigned char)i;
		good += pwrite(w, code, sizeof(code), 0) == sizeof(code) && call(x) == i;
	}
	CHECK(good == 100, "a file that was open for writing before it was mapped");
	munmap(x, 2 * PAGE);
	close(r);
	close(w);
}

/* A loop in the view, whose end the loop itself writes. */
static void test_own_block(void)
{
	static const unsigned char code[] = {
		0xb8, 0,    0,	  0, 0,	   /* mov $0, %eax */
		0xc7, 0x07, 0x2a, 0, 0, 0, /* movl $42, (%rdi) */
		0xb8, 7,    0,	  0, 0,	   /* mov $7, %eax: its operand */
		0xc3,
	};
	struct views v = make(MAP_SHARED);
	int (*fn)(char *);
	int good = 0;

	for (int i = 0; i < 100; i++) {
		memcpy(v.w, code, sizeof(code));
		memcpy(&fn, &v.x, sizeof(fn));
		good += fn(v.w + 12) == 42;
	}
	CHECK(good == 100, "code that changes its next instruction through a view");
	drop(&v);
}

static char turn[2]; /* bytes of the pipes */

static void wait_for(int fd)
{
	if (read(fd, turn, 1) != 1)
		exit(3);
}

static void wake(int fd)
{
	if (write(fd, turn, 1) != 1)
		exit(3);
}

/* Another process writes. */
static void test_fork(void)
{
	char *x = map(-1, RWX, MAP_SHARED | MAP_ANONYMOUS);
	int to[2], from[2], good = 0, fresh = 0, status;
	pid_t pid;

	put(x, 0);
	if (call(x) || pipe(to) || pipe(from))
		exit(2);
	pid = fork();
	if (!pid) {
		for (int i = 1; i <= 200; i++) {
			wait_for(to[0]);
			put(x, i);
			put(x + i * 8, i);
			wake(from[1]);
		}
		_exit(0);
	}
	for (int i = 1; i <= 200; i++) {
		wake(to[1]);
		wait_for(from[0]);
		fresh += call(x + i * 8) == i;
		serialize();
		good += call(x) == i && call(x) == i;
	}
	waitpid(pid, &status, 0);
	CHECK(fresh == 200, "a child writes new code");
	CHECK(good == 200, "a child rewrites code");
	munmap(x, 2 * PAGE);
}

#ifndef MEMBARRIER_CMD
#define REGISTER_SYNC_CORE (1 << 6)
#define SYNC_CORE	   (1 << 5)
#endif

static void test_membarrier(void)
{
	struct views v = make(MAP_SHARED);
	int good = 0, status;

	CHECK(!syscall(SYS_membarrier, REGISTER_SYNC_CORE, 0), "registered");
	for (int i = 0; i < 20; i++) {
		put(v.w, i);
		good += call(v.x) == i;
		if (!fork()) {
			put(v.w, i + 100);
			_exit(0);
		}
		wait(&status);
		syscall(SYS_membarrier, SYNC_CORE, 0);
		good += call(v.x) == i + 100;
	}
	CHECK(good == 40, "membarrier");
	drop(&v);
}

__attribute__((noinline, aligned(64))) static int poked(void)
{
	int v;

	__asm__ volatile("movl $0x11223344, %0" : "=r"(v));
	return v;
}

/* Where poked() has its operand. */
static char *operand(void)
{
	int (*fn)(void) = poked;
	char *p;

	memcpy(&p, &fn, sizeof(p));
	for (int i = 0; i < 64; i++)
		if (!memcmp(p + i, "\x44\x33\x22\x11", 4))
			return p + i;
	exit(4);
}

static void poke(pid_t pid, char *at, long value, bool by_file)
{
	char path[64];
	long word;
	int fd;

	if (by_file) {
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
		fd = open(path, O_RDWR);
		if (pwrite(fd, &value, 4, (off_t)(unsigned long)at) != 4)
			exit(5);
		close(fd);
		return;
	}
	word = ptrace(PTRACE_PEEKTEXT, pid, at, 0);
	word = (word & ~0xffffffffL) | value;
	if (ptrace(PTRACE_POKETEXT, pid, at, word))
		exit(5);
}

static void test_ptrace(void)
{
	int to[2], from[2], good = 0, got, status;
	char *at = operand();
	pid_t pid;

	if (pipe(to) || pipe(from))
		exit(2);
	pid = fork();
	if (!pid) {
		for (int i = 0; i <= 20; i++) {
			wait_for(to[0]);
			serialize();
			got = poked();
			if (write(from[1], &got, sizeof(got)) != sizeof(got))
				_exit(3);
		}
		_exit(0);
	}
	for (int i = 0; i <= 20; i++) {
		int want = i ? i : 0x11223344;

		if (i) {
			if (ptrace(PTRACE_ATTACH, pid, 0, 0))
				exit(6);
			waitpid(pid, &status, 0);
			poke(pid, at, i, i & 1);
			ptrace(PTRACE_DETACH, pid, 0, 0);
		}
		wake(to[1]);
		good += read(from[0], &got, sizeof(got)) == sizeof(got) && got == want;
	}
	waitpid(pid, &status, 0);
	CHECK(good == 21, "a tracer pokes");
	poke(getpid(), at, 77, true);
	CHECK(poked() == 77, "by its own /proc/PID/mem");
	CHECK(poked() == 77, "and again");
}

static char *thread_w, *thread_x;
static int shown;

static void *writer(void *arg)
{
	(void)arg;
	for (int i = 1; i <= 500; i++) {
		while (__atomic_load_n(&shown, __ATOMIC_ACQUIRE) != -i)
			sched_yield();
		put(thread_w, i);
		__atomic_store_n(&shown, i, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void test_thread(void)
{
	struct views v = make(MAP_SHARED);
	pthread_t t;
	int good = 0;

	thread_w = v.w;
	thread_x = v.x;
	put(v.w, 0);
	pthread_create(&t, NULL, writer, NULL);
	for (int i = 1; i <= 500; i++) {
		good += call(v.x) == i - 1;
		__atomic_store_n(&shown, -i, __ATOMIC_RELEASE);
		while (__atomic_load_n(&shown, __ATOMIC_ACQUIRE) != i)
			sched_yield();
		serialize();
	}
	pthread_join(t, NULL);
	CHECK(good == 500, "a thread writes through the view");
	drop(&v);
}

static int maps_show(char *p, const char *perms)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char got[8], line[4352];
	int found = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &start, &end, got) == 3 &&
		    start == (unsigned long)p && end == start + 2 * PAGE)
			found = !strcmp(perms, got);
	if (f)
		fclose(f);
	return found;
}

static void test_maps(void)
{
	struct views v = make(MAP_SHARED);

	put(v.w, 3);
	CHECK(call(v.x) == 3 && maps_show(v.w, "rw-s") && maps_show(v.x, "r-xs"),
	      "/proc/self/maps");
	drop(&v);
}

int main(void)
{
	test_two_views();
	test_private();
	test_protections();
	test_kernel();
	test_anonymous();
	test_rewritten();
	test_rewritten_many();
	test_written_before();
	test_many();
	test_own_block();
	test_maps();
	test_thread();
	test_fork();
	test_membarrier();
	test_ptrace();
	test_file("/dev/shm"); /* where that may hold no code, here it ends */
	return task_failed;
}
