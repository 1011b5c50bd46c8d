/* SPDX-License-Identifier: MIT */
/* CASE: counted -- sweep */
/* CASE: counted -- fixed */
/* CASE: counted -- all */
/* CASE: counted --stress far -- all */
/* CASE: counted --stress far,checks -- all */
/* CASE: counted -- hint */
/* CASE: counted -- grow */
/*
 * What /proc/self/maps does not show is free: a program may have any place below 4 GiB by MAP_FIXED_NOREPLACE, MAP_FIXED, as a hint, by
 * mremap, shmat and brk.  Windows programs (Wine), emulators and managed runtimes that compress pointers do.  The files
 * low_addresses_*.c are this program at other addresses.
 */
#include "check.h"
#include <sys/ipc.h>
#include <sys/personality.h>
#include <sys/shm.h>

#define LOWEST 0x10000UL
#define END    (1UL << 32)
#define MIB    (1UL << 20)

struct range {
	unsigned long start, end;
};

static struct range used[128];
static int nused;
static int bad;

/* What is mapped below 4 GiB; the same buffer each time, so that reading maps nothing. */
static void read_maps(void)
{
	static char text[65536];
	int fd = open("/proc/self/maps", O_RDONLY);
	ssize_t n, len = 0;

	while ((n = read(fd, text + len, sizeof(text) - 1 - (size_t)len)) > 0)
		len += n;
	close(fd);
	text[len] = 0;
	nused = 0;
	for (char *line = text; line && *line && nused < 128; line = strchr(line, '\n') + 1) {
		struct range r;

		r.start = strtoul(line, &line, 16);
		r.end = strtoul(line + 1, &line, 16);
		if (r.start < END)
			used[nused++] = r;
	}
}

static int is_used(unsigned long start, unsigned long end)
{
	for (int k = 0; k < nused; k++)
		if (start < used[k].end && end > used[k].start)
			return 1;
	return 0;
}

static void complain(const char *what, unsigned long at, unsigned long size)
{
	if (bad++ < 10)
		printf("%s: no %lx bytes at %lx: %s\n", what, size, at, strerror(errno));
}

static void try(unsigned long at, unsigned long size)
{
	void *p = mmap((void *)at, size, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		       0);
	int used_there = is_used(at, at + size);

	if (p == (void *)at)
		munmap(p, size);
	if (used_there ? p != MAP_FAILED || errno != EEXIST : p != (void *)at)
		complain(used_there ? "taken, but not EEXIST" : "free", at, size);
}

static int twice(int n)
{
	return 2 * n;
}

static int once(int n)
{
	return n;
}

/* Calls by pointers, and returns: they lead through the table that may have moved. */
static int work(int n)
{
	static int (*volatile f[2])(int) = { twice, once };
	int sum = 0;

	for (int k = 0; k < n; k++)
		sum += f[k & 1](k);
	return sum;
}

static volatile int stop;

static void *runner(void *arg)
{
	(void)arg;
	while (!stop)
		if (work(100) != 7400)
			abort();
	return NULL;
}

static void sweep(void)
{
	for (unsigned long at = LOWEST; at < END; at += MIB)
		try(at, MIB);
	for (unsigned long at = END - 4 * MIB; at; at -= 4 * MIB)
		try(at, MIB);
}

/* Takes all that is free in [start, end), which is then the program's. */
static void take(unsigned long start, unsigned long end, int flags, const char *what)
{
	unsigned long at = start;

	while (at < end) {
		unsigned long next = end;
		void *p;

		for (int k = 0; k < nused; k++) {
			if (at >= used[k].start && at < used[k].end)
				at = used[k].end;
			if (used[k].start > at && used[k].start < next)
				next = used[k].start;
		}
		if (at >= next)
			continue;
		p = mmap((void *)at, next - at, RW,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
		if (p != (void *)at)
			complain(what, at, next - at);
		at = next;
	}
}

static void take_all(int flags, const char *what)
{
	take(LOWEST, END, flags, what);
}

/* What Wine, and what a loader of Windows programs, asks for. */
static void wine(void)
{
	static const struct range demands[] = {
		{ 0x10000, 0x110000 },
		{ 0x110000, 0x68000000 },
		{ 0x7ff00000, 0x7fff0000 },
		{ 0x7ffe0000, 0x7fff0000 },
	};

	for (unsigned int k = 0; k < sizeof(demands) / sizeof(demands[0]); k++) {
		take(demands[k].start, demands[k].end, MAP_FIXED, "MAP_FIXED");
		read_maps();
	}
}

/* A mapping moves to, and a shared segment begins at, each place in turn. */
static void move(void)
{
	char *p = mmap(NULL, MIB, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int id = shmget(IPC_PRIVATE, MIB, 0600);

	for (unsigned long at = 0x60000000; at < 0x80000000; at += MIB) {
		if (is_used(at, at + MIB))
			continue;
		if (mremap(p, MIB, MIB, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)at) != (void *)at)
			complain("mremap", at, MIB);
		else
			p = (char *)at;
	}
	munmap(p, MIB);
	read_maps();
	for (unsigned long at = 0x60000000; at < 0x80000000; at += MIB) {
		if (is_used(at, at + MIB))
			continue;
		if (shmat(id, (void *)at, 0) != (void *)at)
			complain("shmat", at, MIB);
		else
			shmdt((void *)at);
	}
	shmctl(id, IPC_RMID, NULL);
}

/* The heap ends a page before what the maps show behind it. */
static void grow(void)
{
	unsigned long brk = (unsigned long)sbrk(0), next = 1UL << 47, want;
	char *p, *q;

	read_maps();
	for (int k = 0; k < nused; k++)
		if (used[k].start >= brk && used[k].start < next)
			next = used[k].start;
	want = next - brk > 256 * MIB ? 256 * MIB : next - brk - 0x2000;
	if (sbrk((intptr_t)want) == (void *)-1)
		complain("brk", brk, want);
	for (unsigned long at = 0x60000000; at < 0x7fd00000; at += 3 * MIB) {
		if (is_used(at, at + 3 * MIB) || (at < brk + want && at + 3 * MIB > brk))
			continue;
		p = mmap((void *)at, MIB, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			 0);
		q = mremap(p, MIB, 3 * MIB, 0);
		if (p != q)
			complain("mremap", at + MIB, 2 * MIB);
		munmap(p, 3 * MIB);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "sweep";
	pthread_t thread;
	int status;

	/* once more with addresses that are not random */
	if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE) && !getenv("CASE_FIXED") && !fork()) {
		setenv("CASE_FIXED", "1", 1);
		personality(ADDR_NO_RANDOMIZE);
		execv("/proc/self/exe", argv);
	}
	wait(&status);
	pthread_create(&thread, NULL, runner, NULL);
	(void)!malloc(100);
	read_maps();
	if (!strcmp(how, "sweep"))
		sweep();
	else if (!strcmp(how, "all"))
		take_all(MAP_FIXED_NOREPLACE, "all of it");
	else if (!strcmp(how, "hint"))
		take_all(0, "a hint");
	else if (!strcmp(how, "grow"))
		grow();
	else {
		wine();
		read_maps();
		move();
	}
	if (!fork())
		_exit(work(1000) & 63);
	wait(&status);
	stop = 1;
	pthread_join(thread, NULL);
	printf("%s: %d bad, %d, child %d\n", how, bad, work(1000), WEXITSTATUS(status));
	return bad != 0;
}
