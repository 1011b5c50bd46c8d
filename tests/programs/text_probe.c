/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -no-pie -static -D_GNU_SOURCE */
/*
 * Probes in text: events of the kernel's uprobe PMU on our own function, found in our file.  All that is printed is known from
 * reading this, and the same natively.  Argument: another name of our file for what is mapped a second time.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf_offset.h"

#define PAGE 4096UL

static char self[512];
static uint64_t offset; /* of called() in it */
static unsigned int type;

__attribute__((noinline, aligned(16))) static int called(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

__attribute__((noinline)) static void call(int times)
{
	for (int i = 0; i < times; i++)
		called(i);
}

static int open_probe_of(pid_t pid, const char *path, uint64_t config, int inherit, int period)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = type, .config = config };

	attr.config1 = (uintptr_t)path;
	attr.config2 = offset;
	attr.inherit = inherit;
	attr.disabled = 1;
	attr.sample_period = period;
	attr.sample_type = period ? PERF_SAMPLE_IP | PERF_SAMPLE_TID : 0;
	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);
}

static int open_probe(const char *path, uint64_t config, int inherit, int period)
{
	return open_probe_of(0, path, config, inherit, period);
}

static unsigned long long count_of(int fd)
{
	unsigned long long n = 0;

	return read(fd, &n, sizeof(n)) == sizeof(n) ? n : ~0ULL;
}

static void counts(void)
{
	int fd = open_probe(self, 0, 0, 0), child = open_probe(self, 0, 1, 0);

	call(7);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(child, PERF_EVENT_IOC_ENABLE, 0);
	call(1234);
	printf("counted: %llu\n", count_of(fd));
	if (!fork()) {
		call(100);
		_exit(0);
	}
	wait(NULL);
	printf("with a child: %llu, without: %llu\n", count_of(child), count_of(fd));
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	call(5);
	printf("off: %llu\n", count_of(fd));
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	call(3);
	printf("from zero: %llu\n", count_of(fd));
	close(fd);
	close(child);
}

/* The code once more, at another address, by a second name of the file. */
static void second_mapping(const char *name)
{
	int fd = open_probe(self, 0, 0, 0), file = open(name, O_RDONLY);
	char *map = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file,
			 (off_t)(offset & ~(PAGE - 1)));
	int (*again)(int);

	if (map == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	map += offset & (PAGE - 1);
	memcpy(&again, &map, sizeof(again));
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 40; i++)
		again(i);
	call(2);
	printf("two mappings: %llu\n", count_of(fd));
	munmap(map - (offset & (PAGE - 1)), 2 * PAGE);
	close(fd);
	close(file);
}

/* A breakpoint at the same place, and two probes there. */
static void beside_others(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = PERF_TYPE_BREAKPOINT };
	int one = open_probe(self, 0, 0, 0), two = open_probe(self, 0, 0, 0), breakpoint;

	attr.bp_type = HW_BREAKPOINT_X;
	attr.bp_addr = (uintptr_t)called;
	attr.bp_len = sizeof(long);
	attr.exclude_kernel = 1;
	breakpoint = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	ioctl(one, PERF_EVENT_IOC_ENABLE, 0);
	call(11);
	ioctl(two, PERF_EVENT_IOC_ENABLE, 0);
	call(13);
	printf("together: %llu %llu, a breakpoint: %llu\n", count_of(one), count_of(two),
	       count_of(breakpoint));
	close(one);
	close(two);
	close(breakpoint);
}

#define RETURNS 1 /* config: of the function */

__attribute__((noinline, aligned(16))) static int recurse(int n)
{
	int m = n ? recurse(n - 1) : 0;

	__asm__ volatile("" : "+r"(m));
	return m + 1;
}

static jmp_buf out;

__attribute__((noinline, aligned(16))) static void leave(int by_jump)
{
	if (by_jump)
		longjmp(out, 1);
	__asm__ volatile("");
}

/* Forks in the probed function: the child returns from it, too. */
__attribute__((noinline, aligned(16))) static pid_t split(void)
{
	return (pid_t)syscall(SYS_fork);
}

static int open_return(void (*of)(void), int inherit, int period)
{
	uint64_t called_at = offset;
	int fd;

	offset = offset_of((const void *)(uintptr_t)of);
	fd = open_probe(self, RETURNS, inherit, period);
	offset = called_at;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return fd;
}

static void jump_out(int times)
{
	for (volatile int i = 0; i < times; i++)
		if (!setjmp(out))
			leave(1);
}

static void returns(void)
{
	int fd = open_return((void (*)(void))(uintptr_t)called, 0, 0),
	    entries = open_probe(self, 0, 0, 0);

	ioctl(entries, PERF_EVENT_IOC_ENABLE, 0);
	call(123);
	printf("returns: %llu, entries: %llu\n", count_of(fd), count_of(entries));
	close(entries);
	close(fd);
	fd = open_return((void (*)(void))(uintptr_t)recurse, 0, 0);
	recurse(9);
	printf("returns of a recursion: %llu", count_of(fd));
	recurse(99);
	printf(", of a deep one: %llu\n", count_of(fd));
	close(fd);
	fd = open_return((void (*)(void))(uintptr_t)leave, 0, 0);
	jump_out(20);
	for (int i = 0; i < 7; i++)
		leave(0);
	jump_out(100);
	leave(0);
	printf("returns, not by jumps: %llu\n", count_of(fd));
	close(fd);
	fd = open_return((void (*)(void))(uintptr_t)split, 1, 0);
	if (!split())
		_exit(0);
	wait(NULL);
	printf("returns of a fork: %llu\n", count_of(fd));
	close(fd);
}

/* Of a probe, in a page of data, which has nothing else: how many probes are open that have it. */
__attribute__((section(".counters"), used,
	       aligned(PAGE))) static volatile uint16_t counter[PAGE / 2] = { 0, 0 };

/* By a pointer the compiler knows nothing of: the page is moved. */
static unsigned int counter_at(const volatile char *page)
{
	__asm__ volatile("" : "+r"(page));
	return ((const volatile uint16_t *)page)[1];
}

static unsigned int counter_of(pid_t pid)
{
	uint16_t v = 0;
	struct iovec here = { &v, sizeof(v) },
		     there = { (void *)(uintptr_t)&counter[1], sizeof(v) };

	if (process_vm_readv(pid, &here, 1, &there, 1, 0) != sizeof(v))
		perror("process_vm_readv");
	return v;
}

/* The page goes elsewhere, and back, with what it says; the second time with what is closed there. */
static void move_counter(uint64_t config)
{
	char *page = (char *)(uintptr_t)counter, *other;
	int fd = open_probe(self, config, 0, 0);

	other = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, other) != other) {
		perror("mremap");
		exit(1);
	}
	printf("counter, moved: %u", counter_at(other));
	close(fd);
	printf(", closed: %u", counter_at(other));
	fd = open_probe(self, config, 0, 0);
	printf(", open: %u", counter_at(other));
	if (mremap(other, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page) != page) {
		perror("mremap");
		exit(1);
	}
	printf(", moved back: %u", counter_at(page));
	close(fd);
	printf(", closed: %u\n", counter_at(page));
}

/* Until the process has run on for a while, however long it has to wait for a CPU. */
static void see_turns(const volatile unsigned int *turns)
{
	unsigned int from = *turns;

	while (*turns - from < 100000)
		usleep(100);
}

/* Of a process that makes no calls: it is raised behind the call that opens the probe, and lowered when it is closed. */
static void counter_in_loop(uint64_t config)
{
	volatile unsigned int *turns =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int open = 0, closed = 0;
	pid_t pid = fork();

	while (!pid)
		++*turns;
	for (int i = 0; i < 20; i++) {
		int fd;

		see_turns(turns);
		fd = open_probe_of(pid, self, config, 0, 0);
		see_turns(turns);
		open += counter_of(pid);
		close(fd);
		see_turns(turns);
		closed += counter_of(pid);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("counter, 20 times in a loop: open: %u, closed: %u\n", open, closed);
}

static void counters(void)
{
	uint64_t config = offset_of((const void *)(uintptr_t)&counter[1]) << 32, called_at = offset;
	unsigned int before = counter[1];
	int one = open_probe(self, config, 0, 0), two = open_probe(self, config, 0, 0), three;

	printf("counter: %u, open: %u", before, counter[1]);
	offset = offset_of((const void *)(uintptr_t)recurse);
	three = open_probe(self, config | RETURNS, 0, 0);
	offset = called_at;
	printf(", with another place: %u, beside it: %u", counter[1], counter[0]);
	ioctl(one, PERF_EVENT_IOC_ENABLE, 0);
	call(3);
	printf(", count: %llu", count_of(one));
	close(one);
	printf(", one closed: %u", counter[1]);
	close(two);
	printf(", both: %u", counter[1]);
	close(three);
	printf(", all: %u\n", counter[1]);
	move_counter(config);
	counter_in_loop(config);
}

static void samples(uint64_t config)
{
	int fd = open_probe(self, config, 0, 1), n = 0, right = 0;
	struct perf_event_mmap_page *page =
		mmap(NULL, 17 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	const char *data = (const char *)page + PAGE;

	if (page == MAP_FAILED) {
		printf("samples: %s\n", strerror(errno));
		return;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	call(50);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	for (uint64_t at = 0; at < page->data_head;) {
		const struct perf_event_header *h = (const void *)(data + at);

		if (h->type == PERF_RECORD_SAMPLE) {
			uint64_t ip;

			memcpy(&ip, h + 1, sizeof(ip));
			n++;
			right += config ? ip - (uintptr_t)call < 64 : ip == (uintptr_t)called;
		}
		at += h->size;
	}
	printf("samples%s: %d, of its address: %d, count: %llu\n", config ? " of returns" : "", n,
	       right, count_of(fd));
	munmap(page, 17 * PAGE);
	close(fd);
}

static void refused(const char *name, const char *path, uint64_t config)
{
	int fd = open_probe(path, config, 0, 0);

	printf("%s: %s\n", name, fd < 0 ? strerror(errno) : "opened");
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int fd;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (!f || fscanf(f, "%u", &type) != 1 || n <= 0 || argc < 2)
		return 2;
	fclose(f);
	offset = offset_of((const void *)(uintptr_t)called);
	fd = open_probe(self, 0, 0, 0);
	if (fd < 0 && errno == EACCES)
		return 2;
	close(fd);
	counts();
	second_mapping(argv[1]);
	beside_others();
	samples(0);
	returns();
	samples(RETURNS);
	counters();
	refused("no file", "/nonesuch", 0);
	refused("a folder", "/", 0);
	refused("no path", (const char *)16, 0);
	return 0;
}
