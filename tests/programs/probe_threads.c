/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -no-pie -static -pthread -D_GNU_SOURCE */
/*
 * Probes in text, beside threads.  Some call the probed function many times while others make new code that reaches it; a probe is
 * closed and another one opened while a thread goes on; and one recurses while signals come.  All that is printed is known from
 * reading this.  2: there are no probes here.  With "without-descriptors": one call, where the process may open nothing.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elf_offset.h"

#define PAGE 4096

enum { CALLERS = 3, CALLS = 60000, CODES = 400, ENTRIES = 24 };
enum { ROUNDS = 60, CALLS_OF_ROUND = 300 };
enum { RECURSIONS = 40000, DEEP = 50 };

static char self[512];
static unsigned int type;

__attribute__((noinline, aligned(PAGE))) static int called(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

__attribute__((noinline, aligned(16))) static int never_called(int n)
{
	__asm__ volatile("nop" : "+r"(n));
	return n + 2;
}

static int open_probe(int (*fn)(int), pid_t tid, int inherit)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = type };

	attr.config1 = (uintptr_t)self;
	attr.config2 = offset_of((const void *)(uintptr_t)fn);
	attr.inherit = inherit;
	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, 0);
}

static unsigned long long count_of(int fd)
{
	unsigned long long n = 0;

	return read(fd, &n, sizeof(n)) == sizeof(n) ? n : ~0ULL;
}

/* --- many threads, and new code */

typedef int (*function)(int);

static uint8_t *pages; /* one for new code, which goes on into the other: called()'s, of the file */

static function function_at(uint8_t *at)
{
	function f;

	memcpy(&f, &at, sizeof(f));
	return f;
}

static bool map_pages(void)
{
	int file = open(self, O_RDONLY);
	void *second;

	pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (file < 0 || pages == MAP_FAILED)
		return false;
	second = mmap(pages + PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file,
		      (off_t)offset_of((const void *)(uintptr_t)called));
	close(file);
	return second != MAP_FAILED;
}

static void *call_often(void *arg)
{
	function f = function_at(pages + PAGE);

	for (int i = 0; i < CALLS; i++)
		f(i);
	return arg;
}

static void *make_code(void *arg)
{
	for (int round = 0; round < CODES; round++) {
		if (mmap(pages, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			return NULL;
		memset(pages, 0x90, PAGE);
		for (int i = 1; i <= ENTRIES; i++)
			function_at(pages + PAGE - i)(i);
	}
	return arg;
}

static bool count_threads(void)
{
	pthread_t thread[CALLERS + 1];
	int fd = open_probe(called, 0, 1);
	void *end;

	if (fd < 0)
		return false;
	if (!map_pages())
		printf("there is no memory\n");
	for (int i = 0; i <= CALLERS; i++)
		pthread_create(&thread[i], NULL, i < CALLERS ? call_often : make_code, self);
	for (int i = 0; i <= CALLERS; i++) {
		pthread_join(thread[i], &end);
		if (!end)
			printf("a thread had no memory\n");
	}
	printf("threads: %lld missing\n",
	       (long long)(CALLERS * CALLS + CODES * ENTRIES - count_of(fd)));
	close(fd);
	return true;
}

/* --- another probe in the place of one that is closed */

static unsigned int ncalls;
static pid_t caller;
static bool is_over;

static void *call_until_over(void *arg)
{
	__atomic_store_n(&caller, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
		called(0);
		__atomic_fetch_add(&ncalls, 1, __ATOMIC_RELEASE);
	}
	return arg;
}

static void wait_for_calls(unsigned int n)
{
	unsigned int from = __atomic_load_n(&ncalls, __ATOMIC_ACQUIRE);

	while (__atomic_load_n(&ncalls, __ATOMIC_ACQUIRE) - from < n)
		usleep(100);
}

static void reopen(void)
{
	unsigned long long wrong = 0;
	pthread_t thread;
	int fd;

	pthread_create(&thread, NULL, call_until_over, NULL);
	while (!__atomic_load_n(&caller, __ATOMIC_ACQUIRE))
		usleep(100);
	for (int i = 0; i < ROUNDS; i++) {
		fd = open_probe(called, caller, 0);
		/* another thread's probe may begin late */
		while (!count_of(fd))
			usleep(100);
		close(fd);
		fd = open_probe(never_called, caller, 0);
		wait_for_calls(CALLS_OF_ROUND);
		wrong += count_of(fd);
		close(fd);
	}
	__atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	printf("reopened: %llu of a function that is never called\n", wrong);
}

/* --- calls within calls, while signals come and code is made anew */

static volatile bool is_enough;

__attribute__((noinline, aligned(16))) static int recurse(int n);
static int (*volatile again)(int) = recurse;

static int recurse(int n)
{
	int m = n ? again(n - 1) : 0;

	__asm__ volatile("" : "+r"(m));
	return m + 1;
}

static void on_signal(int sig)
{
	(void)sig;
}

/* A breakpoint that is never reached has all code made anew. */
static void *disturb(void *arg)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = PERF_TYPE_BREAKPOINT };
	int fd;

	attr.bp_type = HW_BREAKPOINT_X;
	attr.bp_addr = (uintptr_t)never_called;
	attr.bp_len = sizeof(long);
	attr.exclude_kernel = 1;
	while (!is_enough) {
		fd = (int)syscall(SYS_perf_event_open, &attr, caller, -1, -1, 0);
		if (fd >= 0)
			close(fd);
		syscall(SYS_tgkill, getpid(), caller, SIGUSR1);
	}
	return arg;
}

static void count_recursion(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = type, .config = 1 };
	int entries = open_probe(recurse, 0, 0), returns;
	pthread_t thread;
	long long calls = 0;

	attr.config1 = (uintptr_t)self;
	attr.config2 = offset_of((const void *)(uintptr_t)recurse);
	returns = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	signal(SIGUSR1, on_signal);
	caller = (pid_t)syscall(SYS_gettid);
	pthread_create(&thread, NULL, disturb, NULL);
	for (int i = 0; i < RECURSIONS; i++)
		calls += recurse(DEEP);
	is_enough = true;
	pthread_join(thread, NULL);
	printf("recursion: %lld entries missing, %lld returns\n",
	       calls - (long long)count_of(entries), calls - (long long)count_of(returns));
	close(entries);
	close(returns);
}

/* --- where nothing says which file lies at an address */

static int without_descriptors(void)
{
	const struct rlimit none = { 0, 0 };
	int fd = open_probe(called, 0, 0);

	if (fd < 0)
		return errno == EACCES ? 2 : 1;
	setrlimit(RLIMIT_NOFILE, &none);
	called(1);
	printf("without descriptors: %llu\n", count_of(fd));
	return 0;
}

int main(int argc, char **argv)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (!f || fscanf(f, "%u", &type) != 1 || n <= 0)
		return 2;
	fclose(f);
	if (argc > 1)
		return strcmp(argv[1], "without-descriptors") ? 1 : without_descriptors();
	if (!count_threads())
		return errno == EACCES ? 2 : 1;
	reopen();
	count_recursion();
	return 0;
}
