/* SPDX-License-Identifier: MIT */
/*
 * Counting without a call, by the control page and rdpmc, in a first image and in its successor: what
 * the former image counted is nobody's business there.
 */
#include <sys/mman.h>

#include "../tests/programs/perf_run.h"
#include "../tests/programs/task_test.h"

static uint64_t by_page(const volatile struct perf_event_mmap_page *page)
{
	uint32_t seq, index, lo, hi;
	uint64_t count;

	do {
		seq = page->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		index = page->index;
		count = (uint64_t)page->offset;
		if (index) {
			uint32_t shift = 64U - page->pmc_width;
			int64_t pmc;

			__asm__ volatile("rdpmc" : "=a"(lo), "=d"(hi) : "c"(index - 1));
			pmc = (int64_t)(((uint64_t)hi << 32 | lo) << shift) >> shift;
			count += (uint64_t)pmc;
		}
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (page->lock != seq);
	return count;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = perf_run_open(&attr, 0, -1, -1);
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint64_t at[4];

	CHECK(map != MAP_FAILED, "mapping");
	if (map == MAP_FAILED)
		return 1;
	CHECK(((struct perf_event_mmap_page *)map)->index != 0, "index");
	at[0] = by_page(map);
	perf_run_work(1000);
	at[1] = by_page(map);
	perf_run_work(4000);
	at[2] = by_page(map);
	at[3] = perf_run_read(fd);
	CHECK((at[2] - at[1]) - (at[1] - at[0]) == 2 * 3000, "work by the page");
	CHECK(at[3] > at[2] && at[3] - at[2] < 1000, "read agrees with the page");
	CHECK(at[3] < 100000, "nothing of a former image");
	if (argc == 1 && !task_failed)
		execl(argv[0], argv[0], "again", NULL);
	return task_failed;
}
