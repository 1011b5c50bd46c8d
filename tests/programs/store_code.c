/* SPDX-License-Identifier: MIT */
/*
 * Code of files that come and go, for the store of translated code (tests/e2e/code_store.sh).  Words are done in turn:
 *
 *	make FILE N K	writes a function that goes N times around a loop with a branch, and makes a number of K
 *	call FILE	maps it where all are mapped, calls it twice, prints what it gives, unmaps it
 *	twice FILE	two mappings of it at once
 *	into FILE BY	maps FILE and calls it, has it written over by BY (as long), with the dates that it had, and calls it again
 *	seccomp, landlock, undumpable	restricts itself
 *	hold FILE GO	says its pid in FILE, and waits until there is GO
 *	used PID	prints how much of the store PID has mapped is used, or none
 *	exec COMMAND...
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "abi/session.h"

#define SIZE  8192
#define PLACE ((void *)0x600000000000)
#define APART 0x1000000

typedef unsigned function(void);

static void die(const char *what)
{
	fprintf(stderr, "store_code: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_or_die(const char *path, int flags)
{
	int fd = open(path, flags, 0755);

	if (fd < 0)
		die(path);
	return fd;
}

/*
 *	mov ecx, N; mov eax, K
 * 1:	add eax, ecx; test al, 4; jz 2f; xor eax, K
 * 2:	dec ecx; jnz 1b; ret
 */
static void make(const char *path, uint32_t n, uint32_t k)
{
	uint8_t code[SIZE] = {
		0xb9, 0,    0,	  0,	0, 0xb8, 0, 0, 0,    0,	   0x01, 0xc8, 0xa8,
		0x04, 0x74, 0x05, 0x35, 0, 0,	 0, 0, 0xff, 0xc9, 0x75, 0xf1, 0xc3
	};
	int fd = open_or_die(path, O_WRONLY | O_CREAT | O_TRUNC);

	memcpy(code + 1, &n, 4);
	memcpy(code + 6, &k, 4);
	memcpy(code + 17, &k, 4);
	if (write(fd, code, SIZE) != SIZE)
		die(path);
	close(fd);
}

static function *map(const char *path, uint64_t further)
{
	int fd = open_or_die(path, O_RDONLY);
	void *at = (char *)PLACE + further;

	if (mmap(at, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) != at)
		die("mmap");
	close(fd);
	return (function *)(uintptr_t)at;
}

static void call(const char *path)
{
	function *f = map(path, 0);

	printf("%x %x\n", f(), f());
	munmap((void *)(uintptr_t)f, SIZE);
}

static void twice(const char *path)
{
	function *f = map(path, 0), *g = map(path, APART);

	printf("%x %x %x\n", f(), g(), f());
	munmap((void *)(uintptr_t)g, SIZE);
	munmap((void *)(uintptr_t)f, SIZE);
}

static void into(const char *path, const char *by)
{
	struct stat st;
	char buf[SIZE];
	int fd, from;

	call(path);
	from = open_or_die(by, O_RDONLY);
	fd = open_or_die(path, O_WRONLY);
	if (fstat(fd, &st) || read(from, buf, SIZE) != SIZE || write(fd, buf, SIZE) != SIZE ||
	    futimens(fd, (struct timespec[]){ st.st_atim, st.st_mtim }))
		die(path);
	close(fd);
	close(from);
	call(path);
}

static void restrict_by_seccomp(void)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_fprog prog = { 1, all };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		die("seccomp");
}

static void restrict_by_landlock(void)
{
	const struct landlock_ruleset_attr attr = { LANDLOCK_ACCESS_FS_MAKE_BLOCK };
	long fd = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	if (fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_landlock_restrict_self, fd, 0))
		exit(77);
}

static void hold(const char *path, const char *go)
{
	const struct timespec step = { .tv_nsec = 20000000 };
	FILE *f = fopen(path, "w");

	if (!f || fprintf(f, "%d\n", (int)getpid()) < 0 || fclose(f))
		die(path);
	while (access(go, F_OK))
		nanosleep(&step, NULL);
}

static void used(const char *pid)
{
	unsigned long lo, hi, off;
	char path[64], line[512];
	FILE *maps;
	uint32_t n;
	int mem;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	maps = fopen(path, "r");
	if (!maps)
		die(path);
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "memfd:anyperf") ||
		    sscanf(line, "%lx-%lx %*s %lx", &lo, &hi, &off) != 3 || off != AP_STORE_OFF)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/mem", pid);
		mem = open_or_die(path, O_RDONLY);
		if (pread(mem, &n, sizeof(n), (off_t)lo) != sizeof(n))
			die(path);
		printf("%u\n", n);
		return;
	}
	puts("none");
}

/* So many words it takes. */
static int word(char **argv)
{
	if (!strcmp(argv[0], "seccomp"))
		return restrict_by_seccomp(), 1;
	if (!strcmp(argv[0], "landlock"))
		return restrict_by_landlock(), 1;
	if (!strcmp(argv[0], "undumpable"))
		return prctl(PR_SET_DUMPABLE, 0), 1;
	if (!argv[1])
		return 0;
	if (!strcmp(argv[0], "exec")) {
		fflush(stdout);
		execvp(argv[1], argv + 1);
		die(argv[1]);
	}
	if (!strcmp(argv[0], "call"))
		return call(argv[1]), 2;
	if (!strcmp(argv[0], "twice"))
		return twice(argv[1]), 2;
	if (!strcmp(argv[0], "used"))
		return used(argv[1]), 2;
	if (!argv[2])
		return 0;
	if (!strcmp(argv[0], "into"))
		return into(argv[1], argv[2]), 3;
	if (!strcmp(argv[0], "hold"))
		return hold(argv[1], argv[2]), 3;
	if (strcmp(argv[0], "make") || !argv[3])
		return 0;
	return make(argv[1], (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3])), 4;
}

int main(int argc, char **argv)
{
	for (int i = 1, n; i < argc; i += n) {
		n = word(argv + i);
		if (!n)
			return 2;
	}
	return 0;
}
