/* SPDX-License-Identifier: MIT */
/*
 * A JIT compiler's process: code without frame pointers that is described in jit-PID.dump of the folder given, its
 * unwinding tables included.  main calls jit_outer, that calls middle, that calls jit_inner, and that calls burn; and
 * all of it once more when jit_inner has moved, and jit_other is where it was; then middle calls that.
 */
/* FLAGS: -fomit-frame-pointer */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOAD, MOVE, UNWINDING = 4 };

/* push %rbp; mov $1,%ebp; sub $0x20,%rsp; call *%rdi; add $0x20,%rsp; pop %rbp; ret */
static const uint8_t code[] = { 0x55, 0xbd, 1,	  0,	0,    0,    0x48, 0x83, 0xec,
				0x20, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3 };

/* It lies 24 bytes behind the code's start. */
static const uint8_t tables[] = {
	/* CIE: "zR", pcrel sdata4; CFA is rsp + 8, the return address below it */
	20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0,
	/* FDE: 18 bytes, 56 before this; rbp is saved, then 0x20 more */
	24, 0, 0, 0, 28, 0, 0, 0, 0xc8, 0xff, 0xff, 0xff, 18, 0, 0, 0, 0, 0x41, 0x0e, 16, 0x86, 2,
	0x49, 0x0e, 48, 0, 0, 0,
	/* the end of .eh_frame, then .eh_frame_hdr */
	0, 0, 0, 0, 1, 0x1b, 3, 0x3b, 0xc4, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0xb0, 0xff, 0xff, 0xff,
	0xe0, 0xff, 0xff, 0xff
};
#define HEADER_SIZE 20

static volatile unsigned long sum;
static int dump;

typedef void jit_fn(void (*)(void));
static jit_fn *inner;

__attribute__((noinline)) static void burn(void)
{
	for (int i = 0; i < 100000; i++)
		sum += (unsigned long)i;
}

__attribute__((noinline)) static void middle(void)
{
	inner(burn);
	sum++; /* no tail call */
}

static void put(const void *bytes, size_t n)
{
	if (write(dump, bytes, n) != (ssize_t)n)
		_exit(1);
}

static void put_head(uint32_t id, size_t size)
{
	struct {
		uint32_t id, size;
		uint64_t time;
	} head = { id, (uint32_t)(sizeof(head) + size), 0 };
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	head.time = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	put(&head, sizeof(head));
}

static void put_load(const char *name, const void *where, uint64_t index)
{
	const struct {
		uint64_t size, header, mapped;
	} unwinding = { sizeof(tables), HEADER_SIZE, sizeof(tables) };
	const struct {
		uint32_t pid, tid;
		uint64_t vma, addr, size, index;
	} load = { (uint32_t)getpid(), (uint32_t)getpid(), (uintptr_t)where,
		   (uintptr_t)where,   sizeof(code),	   index };

	put_head(UNWINDING, sizeof(unwinding) + sizeof(tables));
	put(&unwinding, sizeof(unwinding));
	put(tables, sizeof(tables));
	put_head(LOAD, sizeof(load) + strlen(name) + 1 + sizeof(code));
	put(&load, sizeof(load));
	put(name, strlen(name) + 1);
	put(code, sizeof(code));
}

static void put_move(const void *from, const void *to, uint64_t index)
{
	const struct {
		uint32_t pid, tid;
		uint64_t vma, old, new, size, index;
	} move = { (uint32_t)getpid(), (uint32_t)getpid(), (uintptr_t)to, (uintptr_t)from,
		   (uintptr_t)to,      sizeof(code),	   index };

	put_head(MOVE, sizeof(move));
	put(&move, sizeof(move));
}

static int open_dump(const char *folder)
{
	const struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} head = { 0x4a695444, 1, sizeof(head), 62, 0, (uint32_t)getpid(), 0, 0 };
	char path[4096];

	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, getpid());
	dump = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
	/* by which a profile knows of it */
	if (dump < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) == MAP_FAILED)
		return 1;
	put(&head, sizeof(head));
	return 0;
}

int main(int argc, char **argv)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	jit_fn *outer = (jit_fn *)(uintptr_t)(p + 64);

	if (argc != 2 || p == MAP_FAILED || open_dump(argv[1]))
		return 1;
	memcpy(p + 64, code, sizeof(code));
	put_load("jit_outer", p + 64, 1);
	memcpy(p + 192, code, sizeof(code));
	put_load("jit_inner", p + 192, 2);
	inner = (jit_fn *)(uintptr_t)(p + 192);
	outer(middle);
	memcpy(p + 5000, code, sizeof(code));
	memset(p + 192, 0xcc, sizeof(code));
	put_move(p + 192, p + 5000, 2);
	inner = (jit_fn *)(uintptr_t)(p + 5000);
	outer(middle);
	memcpy(p + 192, code, sizeof(code));
	put_load("jit_other", p + 192, 3);
	inner = (jit_fn *)(uintptr_t)(p + 192);
	outer(middle);
	printf("%lu\n", sum);
	return 0;
}
