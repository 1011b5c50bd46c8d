/* SPDX-License-Identifier: MIT */
/*
 * A part of a file is taken away from under those who execute it: by truncate, by opening it with O_TRUNC, by ftruncate through any
 * descriptor, by this process or another one.  Calling code behind the file's end is SIGBUS, private mappings
 * included; where a hole was punched there are zeros, and a private page that was written to stays.
 */
/* CASE: counted -- */
#include "check.h"

#include <linux/falloc.h>
#include <setjmp.h>

typedef int (*code)(void);

static char name[] = "/tmp/code_truncate.XXXXXX";
static sigjmp_buf back;
static volatile int signal_seen;

static void on_signal(int sig)
{
	signal_seen = sig;
	siglongjmp(back, 1);
}

/* What calling it does: 7, or the signal's number and 1000. */
static int call(char *p)
{
	if (sigsetjmp(back, 1))
		return 1000 + signal_seen;
	return ((code)p)();
}

static void fill(int fd)
{
	char b[8192] = { 0 };

	memcpy(b, "\xb8\x07\0\0\0\xc3", 6);
	memcpy(b + 4096, "\xb8\x07\0\0\0\xc3", 6);
	if (pwrite(fd, b, sizeof(b), 0) != sizeof(b))
		exit(1);
}

/* Zeros are `add %al, (%rax)`: with rax 0, SIGSEGV. */
static int call_at_0(char *p)
{
	int (*volatile f)(void) = (code)p;
	int ret;

	if (sigsetjmp(back, 1))
		return 1000 + signal_seen;
	__asm__ volatile("xor %%eax, %%eax; call *%1" : "=&a"(ret) : "c"(f) : "memory");
	return ret;
}

enum { TRUNCATE, OPEN, OPENAT, CREAT, FTRUNCATE, FALLOCATE, REMOVE, SHORTEN, WAYS };
static const char *const ways[] = { "truncate",	   "open",
				    "openat",	   "creat",
				    "ftruncate",   "punch a hole",
				    "MADV_REMOVE", "ftruncate by 1 page" };

/* MADV_REMOVE is given a mapping that is no code. */
static void take(int way, int fd, char *view)
{
	switch (way) {
	case TRUNCATE:
		failed |= truncate(name, 0);
		break;
	case OPEN:
		close(open(name, O_RDWR | O_TRUNC));
		break;
	case OPENAT:
		close(openat(AT_FDCWD, name, O_WRONLY | O_TRUNC | O_CREAT, 0600));
		break;
	case CREAT:
		close((int)syscall(SYS_creat, name, 0600));
		break;
	case FTRUNCATE:
		failed |= ftruncate(fd, 0);
		break;
	case FALLOCATE:
		if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8192))
			failed |= ftruncate(fd, 0) || ftruncate(fd, 8192);
		break;
	case REMOVE:
		if (madvise(view, 8192, MADV_REMOVE))
			failed |= ftruncate(fd, 0) || ftruncate(fd, 8192);
		break;
	default:
		failed |= ftruncate(fd, 4096);
	}
}

static void try(int way, int flags, bool by_child, const char *how)
{
	int fd = open(name, O_RDWR), again = open(name, O_RDWR), st;
	char *p, *view;

	fill(fd);
	p = mmap(NULL, 8192, PROT_READ | PROT_EXEC, flags, fd, 0);
	view = mmap(NULL, 8192, RW, MAP_SHARED, fd, 0);
	for (int i = 0; i < 10; i++)
		failed |= call(p) != 7 || call(p + 4096) != 7;
	close(fd);
	if (by_child && !fork()) {
		take(way, again, view);
		_exit(failed);
	} else if (by_child) {
		wait(&st);
		failed |= st;
	} else {
		take(way, again, view);
	}
	printf("%s, %s: %d %d\n", ways[way], how, call_at_0(p), call_at_0(p + 4096));
	/* and there again */
	fill(again);
	printf("again: %d %d\n", call(p), call(p + 4096));
	munmap(p, 8192);
	munmap(view, 8192);
	close(again);
}

int main(void)
{
	const struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_NODEFER };

	close(mkstemp(name));
	sigaction(SIGBUS, &a, NULL);
	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGILL, &a, NULL);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int way = 0; way < WAYS; way++) {
		try(way, MAP_SHARED, false, "shared");
		try(way, MAP_PRIVATE, false, "private");
		try(way, MAP_SHARED, true, "shared, by a child");
		try(way, MAP_PRIVATE, true, "private, by a child");
	}
	unlink(name);
	return failed;
}
