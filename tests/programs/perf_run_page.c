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

/* What work adds: the least of some, as a reading begins again where the page is being written. */
static uint64_t added(const volatile struct perf_event_mmap_page *page, uint64_t work)
{
	uint64_t least = ~0ULL, from, n;

	for (int i = 0; i < 8; i++) {
		from = by_page(page);
		perf_run_work(work);
		n = by_page(page) - from;
		least = n < least ? n : least;
	}
	return least;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	int fd = perf_run_open(&attr, 0, -1, -1);
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint64_t few, at[2];

	CHECK(map != MAP_FAILED, "mapping");
	if (map == MAP_FAILED)
		return 1;
	CHECK(((struct perf_event_mmap_page *)map)->index != 0, "index");
	few = added(map, 1000);
	CHECK(added(map, 4000) - few == 2 * 3000, "work by the page");
	at[0] = by_page(map);
	at[1] = perf_run_read(fd);
	CHECK(at[1] > at[0] && at[1] - at[0] < 1000, "read agrees with the page");
	CHECK(at[1] < 200000, "nothing of a former image");
	if (argc == 1 && !task_failed)
		execl(argv[0], argv[0], "again", NULL);
	return task_failed;
}
