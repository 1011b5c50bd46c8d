/* SPDX-License-Identifier: MIT */
/* CASE: nobody counted -- */
/* CASE: nobody counted --stress far -- */
/* CASE: nobody counted --machine skylake -- */
/* CASE: counted -- */
/*
 * mlockall locks what the program has, and with MCL_FUTURE what it maps, grows and attaches later, all of which counts for
 * RLIMIT_MEMLOCK; memory that somebody else has put there does not.  Key keepers and real-time programs do it.  Locks are not
 * inherited by fork.
 */
#include "check.h"
#include <sys/ipc.h>
#include <sys/shm.h>

#define MIB   (1UL << 20)
#define LIMIT (8 * MIB)

static void set_limit(rlim_t size)
{
	struct rlimit lim;

	getrlimit(RLIMIT_MEMLOCK, &lim);
	lim.rlim_cur = size < lim.rlim_max ? size : lim.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &lim);
}

/* VmLck of /proc/self/status, in KiB. */
static long locked(void)
{
	char text[4096], *at;
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	if (n <= 0)
		return -1;
	text[n] = 0;
	at = strstr(text, "VmLck:");
	return at ? strtol(at + 6, NULL, 10) : -1;
}

static int try_lock(int flags)
{
	return mlockall(flags) ? errno : 0;
}

static void *map(size_t size)
{
	return mmap(NULL, size, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* How many of its pages are there? */
static int resident(void *p, size_t size)
{
	static unsigned char vec[1024];
	int n = 0;

	if (mincore(p, size, vec))
		return -1;
	for (size_t k = 0; k < size / 4096; k++)
		n += vec[k] & 1;
	return n;
}

/* What is mapped from now on, in KiB that are locked. */
static void maps(const char *what)
{
	long before = locked();
	char *p = map(MIB), *big = map(2 * LIMIT);

	printf("%s: map %ld KiB, %d pages, too much: %s\n", what, locked() - before,
	       resident(p, MIB), big == MAP_FAILED ? strerror(errno) : "mapped");
	if (big != MAP_FAILED)
		munmap(big, 2 * LIMIT);
	p = mremap(p, MIB, 2 * MIB, MREMAP_MAYMOVE);
	printf("%s: grown to %ld KiB\n", what, locked() - before);
	munmap(p, 2 * MIB);
	printf("%s: unmapped, %ld KiB\n", what, locked() - before);
}

static void heap(const char *what)
{
	long before = locked();
	char *old = sbrk(0);

	printf("%s: brk %s, ", what, sbrk(MIB) == old ? "grows" : strerror(errno));
	printf("%ld KiB, ", locked() - before);
	if (sbrk(2 * LIMIT) == (void *)-1)
		printf("too much: %s\n", strerror(errno));
	else
		printf("much: grows\n");
	printf("heap is as it was: %d\n", brk(old));
}

static void shared(const char *what)
{
	int id = shmget(IPC_PRIVATE, MIB, 0600), big = shmget(IPC_PRIVATE, 2 * LIMIT, 0600);
	long before = locked();
	void *p = shmat(id, NULL, 0), *q;

	printf("%s: shmat %ld KiB, ", what, locked() - before);
	q = shmat(big, NULL, 0);
	printf("too much: %s\n", q == (void *)-1 ? strerror(errno) : "attached");
	shmdt(p);
	shmctl(id, IPC_RMID, NULL);
	shmctl(big, IPC_RMID, NULL);
}

/* MAP_DROPPABLE, where the kernel knows it, cannot be locked. */
static void droppable(const char *what)
{
	void *p = mmap(NULL, MIB, RW, 8 | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		printf("%s: droppable %s\n", what, strerror(errno));
	else
		printf("%s: droppable, %d pages\n", what, resident(p, MIB));
	if (p != MAP_FAILED)
		munmap(p, MIB);
}

static void *thread(void *arg)
{
	char text[4096];

	memset(text, 1, sizeof(text));
	*(int *)arg += text[17];
	return NULL;
}

static void threads(void)
{
	pthread_attr_t attr;
	pthread_t id;
	int n = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	for (int k = 0; k < 8; k++) {
		if (pthread_create(&id, &attr, thread, &n))
			break;
		pthread_join(id, NULL);
	}
	printf("threads: %d\n", n);
}

static void child(void)
{
	int status;

	fflush(stdout);
	if (!fork()) {
		char *p = map(MIB);

		printf("child: %ld KiB locked, %d pages\n", locked(), resident(p, MIB));
		fflush(stdout);
		_exit(0);
	}
	wait(&status);
}

int main(void)
{
	static const int flags[] = { 0, 4, 8, 16, -1 };
	long before;

	for (unsigned int k = 0; k < sizeof(flags) / sizeof(flags[0]); k++)
		printf("flags %x: %s\n", (unsigned int)flags[k], strerror(try_lock(flags[k])));
	set_limit(0);
	printf("without a limit's leave: %s\n", strerror(try_lock(MCL_CURRENT)));
	munlockall();
	set_limit(65536);
	printf("more than may be: %s\n", strerror(try_lock(MCL_CURRENT | MCL_FUTURE)));
	munlockall();
	set_limit(LIMIT);
	printf("all: %s\n", strerror(try_lock(MCL_CURRENT | MCL_FUTURE)));
	printf("locked: %d\n", locked() > 0);
	maps("future");
	heap("future");
	shared("future");
	droppable("future");
	threads();
	child();
	printf("current: %s\n", strerror(try_lock(MCL_CURRENT)));
	maps("current alone");
	printf("on fault: %s\n", strerror(try_lock(MCL_FUTURE | MCL_ONFAULT)));
	maps("on fault");
	heap("on fault");
	printf("munlockall: %d, ", munlockall());
	printf("%ld KiB\n", locked());
	before = locked();
	maps("unlocked");
	printf("and %ld\n", locked() - before);
	return 0;
}
