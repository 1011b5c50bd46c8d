/* SPDX-License-Identifier: MIT */
/* Control pages of events that are not plainly the reader's own, and times that go on in them. */
#include <string.h>

#include "tap/tap.h"
#include "world.h"

static struct world W;

static void map(int fd, struct ap_perf_page *page)
{
	memset(page, 0, sizeof(*page));
	EXPECT_U64(ap_core_mmap(W.core, W.tasks[0].task, W.fds[fd], 1, true, page), 0);
}

static u64 by_page(int fd, const struct ap_perf_page *page)
{
	u64 value = 0;

	if (page->index)
		EXPECT(ap_core_pmc(W.core, W.fds[fd], page->index - 1, &value));
	return page->offset + value;
}

static void events_of_cpus_have_numbers_of_their_own(void)
{
	struct ap_perf_attr a = attr_kind(0, 0);
	static struct ap_perf_page own_page, page[2];
	int own, fd[2];
	u64 v;

	world_begin(&W, 0);
	own = open_on(&W, &a, -1);
	map(own, &own_page);
	for (int cpu = 0; cpu < 2; cpu++) {
		fd[cpu] = world_open(&W, &a, -1, cpu, -1, 0);
		map(fd[cpu], &page[cpu]);
	}
	EXPECT_U64(own_page.index, 1);
	EXPECT_U64(page[0].index, 65);
	EXPECT_U64(page[1].index, 66);
	world_run(&W, 0, MS, 5);
	EXPECT_U64(by_page(own, &own_page), read_count(&W, own));
	for (int cpu = 0; cpu < 2; cpu++) {
		EXPECT_U64(by_page(fd[cpu], &page[cpu]), read_count(&W, fd[cpu]));
		EXPECT(page[cpu].capabilities & AP_PERF_CAP_USER_RDPMC);
	}
	EXPECT(!ap_core_pmc(W.core, W.fds[own], 64, &v));
	EXPECT(!ap_core_pmc(W.core, W.fds[fd[0]], 65, &v));
	world_ioctl(&W, fd[0], AP_PERF_IOC_DISABLE, 0);
	EXPECT_U64(page[0].index, 0);
	EXPECT(!ap_core_pmc(W.core, W.fds[fd[0]], 64, &v));
	/* the number is free when the page goes */
	ap_core_munmap(W.core, W.fds[fd[0]]);
	map(fd[0], &page[0]);
	world_ioctl(&W, fd[0], AP_PERF_IOC_ENABLE, 0);
	EXPECT_U64(page[0].index, 65);
	world_end(&W);
}

static void a_page_that_others_have_has_no_index(void)
{
	struct ap_perf_attr a = attr_kind(0, 0);
	static struct ap_perf_page page;
	int fd;

	world_begin(&W, 0);
	world_task(&W, 1);
	fd = world_open(&W, &a, 101, -1, -1, 0);
	map(fd, &page);
	EXPECT_U64(page.index, 1);
	ap_event_set_others(W.fds[fd], true);
	EXPECT_U64(page.index, 0);
	world_run(&W, 1, MS, 7);
	EXPECT_U64(read_count(&W, fd), 7); /* which its page says as well */
	EXPECT_U64(page.offset, 7);
	ap_event_set_others(W.fds[fd], false);
	EXPECT_U64(page.index, 1);
	world_end(&W);
}

static void times_go_on_in_pages(void)
{
	struct ap_perf_attr a = attr_kind(0, 0);
	static struct ap_perf_page page;
	int fd;

	world_begin(&W, 0);
	a.flags |= AP_PERF_DISABLED;
	fd = open_on(&W, &a, -1);
	EXPECT_U64(ap_core_tick(W.core), 0); /* nothing to be done */
	map(fd, &page);
	EXPECT_U64(ap_core_tick(W.core), 0);
	EXPECT_U64(page.time_enabled, 0);
	world_ioctl(&W, fd, AP_PERF_IOC_ENABLE, 0);
	EXPECT_U64(page.time_enabled, 1); /* it counts */
	EXPECT_U64(page.time_running, 1);
	world_run(&W, 0, 20 * MS, 1);
	EXPECT_U64(ap_core_tick(W.core), 10 * MS);
	EXPECT_U64(page.time_enabled, 20 * MS);
	EXPECT_U64(page.time_running, 20 * MS);
	world_run(&W, 0, 4 * MS, 1);
	EXPECT_U64(ap_core_tick(W.core), 6 * MS); /* not yet */
	EXPECT_U64(page.time_enabled, 20 * MS);
	W.clock += 6 * MS;
	EXPECT_U64(ap_core_tick(W.core), 10 * MS);
	EXPECT_U64(page.time_enabled, 24 * MS);
	/* it sleeps */
	for (u64 ms = 20; ms <= 320; ms *= 2) {
		W.clock += ms * MS / 2;
		EXPECT_U64(ap_core_tick(W.core), ms <= 160 ? ms * MS : 160 * MS);
	}
	world_run(&W, 0, 160 * MS, 1);
	EXPECT_U64(ap_core_tick(W.core), 10 * MS);
	EXPECT_U64(page.time_enabled, 184 * MS);
	world_end(&W);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(events_of_cpus_have_numbers_of_their_own),
						 TAP(a_page_that_others_have_has_no_index),
						 TAP(times_go_on_in_pages),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
