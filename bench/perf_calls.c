/* SPDX-License-Identifier: MIT */
/*
 * What calls on perf descriptors cost, in cycles of rdtsc: the least of some rounds' averages.  The
 * event is the one named on the command line by type and config.  A line per call: its name, cycles.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#define ROUNDS 7
#define READS  150000 /* a million in all rounds */

static struct perf_event_attr attr;
static int one, group;
static volatile struct perf_event_mmap_page *page;
static uint64_t buf[32];

static int open_event(int leader, uint64_t format)
{
	int fd;

	attr.read_format = format;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, 0);
	if (fd < 0) {
		perror("perf_event_open");
		exit(1);
	}
	return fd;
}

static void open_close(void)
{
	close(open_event(-1, 0));
}

static void disable_enable(void)
{
	ioctl(one, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(one, PERF_EVENT_IOC_ENABLE, 0);
}

static void reset(void)
{
	ioctl(one, PERF_EVENT_IOC_RESET, 0);
}

static void read_one(void)
{
	if (read(one, buf, sizeof(buf)) != 8)
		exit(1);
}

static void read_group(void)
{
	if (read(group, buf, sizeof(buf)) != 9 * 8)
		exit(1);
}

/* As perf_event_open(2) has it; where there is no counter to read, all but that. */
static void read_page(void)
{
	uint32_t seq, index;
	uint64_t count;

	do {
		seq = page->lock;
		__asm__ volatile("" ::: "memory");
		index = page->index;
		count = (uint64_t)page->offset;
		if (page->cap_user_rdpmc && index)
			count += __rdpmc((int)index - 1);
		__asm__ volatile("" ::: "memory");
	} while (page->lock != seq);
	buf[0] = count;
}

struct row {
	const char *name;
	void (*call)(void);
	unsigned int n; /* calls of a round */
};

static const struct row rows[] = {
	{ "open+close", open_close, 300 },  { "disable+enable", disable_enable, 3000 },
	{ "reset", reset, 3000 },	    { "read", read_one, READS },
	{ "group-read", read_group, 5000 }, { "page-read", read_page, READS },
};

static void measure(const struct row *row)
{
	uint64_t best = UINT64_MAX, t;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		t = __rdtsc();
		for (unsigned int i = 0; i < row->n; i++)
			row->call();
		t = __rdtsc() - t;
		best = t < best ? t : best;
	}
	printf("%s %.1f\n", row->name, (double)best / row->n);
}

int main(int argc, char **argv)
{
	int mapped;

	if (argc != 3) {
		fprintf(stderr, "usage: perf_calls TYPE CONFIG\n");
		return 2;
	}
	attr.size = sizeof(attr);
	attr.type = (uint32_t)strtoul(argv[1], NULL, 0);
	attr.config = strtoul(argv[2], NULL, 0);
	attr.exclude_kernel = attr.exclude_hv = 1;
	one = open_event(-1, 0);
	group = open_event(-1, PERF_FORMAT_GROUP);
	for (int i = 1; i < 8; i++)
		open_event(group, PERF_FORMAT_GROUP);
	mapped = open_event(-1, 0);
	page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, mapped, 0);
	if (page == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		measure(&rows[i]);
	return 0;
}
