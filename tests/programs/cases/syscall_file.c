/* SPDX-License-Identifier: MIT */
/* CASE: counted -- */
/* CASE: nobody counted -- */
/*
 * /proc/PID/task/TID/syscall says in which call a thread waits: number, arguments, stack pointer, and the address behind its
 * instruction.  Profilers and supervisors of a program's own look there.
 */
#include "check.h"

__asm__(".text\n"
	".globl wait_here, wait_end\n"
	"wait_here:\n"
	"	mov %rsp, sp_then(%rip)\n"
	"	xor %eax, %eax\n"
	"	syscall\n"
	"wait_end:\n"
	"	ret\n");
extern const char wait_end[];
long wait_here(int fd, char *buf, long n);
volatile unsigned long sp_then;

static int ends[2];
static volatile pid_t tid;
static char byte;

static void *waiter(void *arg)
{
	tid = (pid_t)syscall(SYS_gettid);
	*(long *)arg = wait_here(ends[0], &byte, 1);
	return NULL;
}

static int get(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = 0;
	close(fd);
	return (int)n;
}

/* Until it waits: what the kernel says of one that runs is "running". */
static void look(const char *path, const char *what)
{
	unsigned long a[6], sp, pc;
	char text[256];
	int nr, n;

	do {
		sched_yield();
		get(path, text, sizeof(text));
	} while (strncmp(text, "0 ", 2));
	n = sscanf(text, "%d %lx %lx %lx %lx %lx %lx %lx %lx", &nr, &a[0], &a[1], &a[2], &a[3],
		   &a[4], &a[5], &sp, &pc);
	CHECK(n == 9 && a[0] == (unsigned long)ends[0] && a[1] == (unsigned long)&byte && a[2] == 1,
	      "%s: its arguments", what);
	CHECK(sp == sp_then, "%s: its stack pointer", what);
	CHECK(pc == (unsigned long)wait_end, "%s: behind its instruction", what);
}

/* Who asks is in the call by which it does. */
static void check_own(const char *text, int fd, unsigned long buf, unsigned long size)
{
	unsigned long a[6], sp, pc;
	int nr, n = sscanf(text, "%d %lx %lx %lx %lx %lx %lx %lx %lx", &nr, &a[0], &a[1], &a[2],
			   &a[3], &a[4], &a[5], &sp, &pc);

	CHECK(n == 9 && nr == 0 && a[0] == (unsigned long)fd && a[1] == buf && a[2] == size,
	      "itself: its arguments");
	CHECK(sp == sp_then && pc == (unsigned long)wait_end, "itself: where it is");
}

int main(void)
{
	char path[64], text[256], again[256];
	long got = 0;
	pthread_t thread;
	int fd;

	CHECK(!pipe(ends), "pipe");
	pthread_create(&thread, NULL, waiter, &got);
	while (!tid)
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	look(path, "self");
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", getpid(), tid);
	look(path, "by number");
	fd = open(path, O_RDONLY);
	CHECK(read(fd, text, sizeof(text)) > 10 && read(fd, again, 1) == 0, "one record");
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && read(fd, again, sizeof(again)) > 10 &&
		      !memcmp(text, again, 10),
	      "the same again");
	fd = open("/proc/self/syscall", O_RDONLY);
	sp_then = wait_here(fd, text, sizeof(text)) > 0 ? sp_then : 0;
	check_own(text, fd, (unsigned long)text, sizeof(text));
	fd = open("/proc/thread-self/syscall", O_RDONLY);
	sp_then = wait_here(fd, text, sizeof(text)) > 0 ? sp_then : 0;
	check_own(text, fd, (unsigned long)text, sizeof(text));
	CHECK(write(ends[1], "x", 1) == 1 && !pthread_join(thread, NULL) && got == 1, "it ends");
	return done();
}
