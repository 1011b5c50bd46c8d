/* SPDX-License-Identifier: MIT */
/* read formats, ioctls, prctl, output redirection, control pages, what is published. */
#include <string.h>

#include "tap/tap.h"
#include "world.h"

static struct world W;

static struct ap_perf_attr with(u64 read_format, u64 flags)
{
	struct ap_perf_attr a = attr_instr();

	a.read_format = read_format;
	a.flags |= flags;
	return a;
}

static void every_format_has_its_layout(void)
{
	for (u64 format = 0; format < AP_PERF_FORMAT_MAX; format++) {
		struct ap_perf_attr a = with(format, 0);
		u64 want[16], got[16];
		int fd[2];
		u32 n = 0;
		bool group = format & AP_PERF_FORMAT_GROUP;

		world_begin(&W, 0);
		fd[0] = open_on(&W, &a, -1);
		fd[1] = open_on(&W, &a, fd[0]);
		world_run(&W, 0, MS, 5);
		if (group)
			want[n++] = 2;
		else
			want[n++] = 5;
		if (format & AP_PERF_FORMAT_TOTAL_TIME_ENABLED)
			want[n++] = MS;
		if (format & AP_PERF_FORMAT_TOTAL_TIME_RUNNING)
			want[n++] = MS;
		for (u32 i = 0; i < (group ? 2 : 1); i++) {
			if (group)
				want[n++] = 5;
			if (format & AP_PERF_FORMAT_ID)
				want[n++] = ap_event_id(W.fds[group ? fd[i] : fd[1]]);
			if (format & AP_PERF_FORMAT_LOST)
				want[n++] = 0;
		}
		EXPECT_U64(read_words(&W, fd[1], got, 16), n * 8);
		EXPECT_MEM(got, want, n * 8);
		EXPECT_U64(ap_core_read(W.core, W.fds[fd[1]], got, n * 8 - 1), -AP_ENOSPC);
		EXPECT_U64(ap_core_read(W.core, W.fds[fd[1]], got, 0), -AP_ENOSPC);
		EXPECT_U64(ap_core_read(W.core, W.fds[fd[1]], (char *)got + 1, n * 8), n * 8);
		world_end(&W);
	}
}

static void ids_are_of_each_event(void)
{
	struct ap_perf_attr a = with(0, 0);
	u64 id = 0;
	struct ap_ioctl_args args = { .cmd = AP_PERF_IOC_ID, .out = &id, .out_size = 8 };
	int x, y;

	world_begin(&W, 0);
	x = open_on(&W, &a, -1);
	y = open_on(&W, &a, x);
	EXPECT(ap_event_id(W.fds[x]) && ap_event_id(W.fds[x]) != ap_event_id(W.fds[y]));
	EXPECT_U64(ap_core_ioctl(W.core, W.tasks[0].task, W.fds[y], &args), 0);
	EXPECT_U64(id, ap_event_id(W.fds[y]));
	EXPECT(ap_event_sibling(W.fds[x], 0) == W.fds[y]);
	EXPECT(!ap_event_sibling(W.fds[x], 1));
	world_end(&W);
}

static void reset_takes_one_or_the_group(void)
{
	struct ap_perf_attr a = with(0, 0);
	int x, y;

	world_begin(&W, 0);
	x = open_on(&W, &a, -1);
	y = open_on(&W, &a, x);
	world_run(&W, 0, MS, 5);
	world_ioctl(&W, x, AP_PERF_IOC_RESET, 0);
	EXPECT_U64(read_count(&W, x), 0);
	EXPECT_U64(read_count(&W, y), 5);
	world_run(&W, 0, MS, 5);
	world_ioctl(&W, y, AP_PERF_IOC_RESET, AP_PERF_IOC_FLAG_GROUP);
	EXPECT_U64(read_count(&W, x), 0);
	EXPECT_U64(read_count(&W, y), 0);
	world_end(&W);
}

/* A driver's open interval is not disturbed: it might not get another. */
static void reset_needs_no_driver(void)
{
	struct ap_perf_attr a = attr_task_clock();
	int fd;

	world_begin(&W, 0);
	fd = open_on(&W, &a, -1);
	world_run(&W, 0, MS, 5);
	W.refuse_start = true;
	world_ioctl(&W, fd, AP_PERF_IOC_RESET, 0);
	EXPECT_U64(read_count(&W, fd), 0);
	world_run(&W, 0, 3 * MS, 5);
	EXPECT_U64(read_count(&W, fd), 3 * MS);
	world_ioctl(&W, fd, AP_PERF_IOC_DISABLE, 0);
	EXPECT_U64(read_count(&W, fd), 3 * MS);
	world_end(&W);
}

static s64 ioctl_in(int fd, u32 cmd, const void *in, u64 size)
{
	struct ap_ioctl_args args = { .cmd = cmd, .arg = 0x1000, .in = in, .in_size = size };

	return ap_core_ioctl(W.core, W.tasks[0].task, W.fds[fd], &args);
}

static void ioctls_refuse_as_linux(void)
{
	struct ap_perf_attr a = with(0, 0), b;
	int count, sample, freq, inherit, dyn;
	u64 v;

	world_begin(&W, 0);
	count = open_on(&W, &a, -1);
	a.sample_period = 1000;
	sample = open_on(&W, &a, -1);
	a.flags |= AP_PERF_INHERIT;
	inherit = open_on(&W, &a, -1);
	a = with(0, AP_PERF_FREQ);
	a.sample_period = 4000;
	freq = open_on(&W, &a, -1);
	a = (struct ap_perf_attr){ .type = TYPE_DYN, .size = 136 };
	dyn = open_on(&W, &a, -1);

	EXPECT_U64(world_ioctl(&W, count, 0x2499, 0), -AP_ENOTTY);
	EXPECT_U64(world_ioctl(&W, count, AP_PERF_IOC_REFRESH, 1), -AP_EINVAL);
	EXPECT_U64(world_ioctl(&W, inherit, AP_PERF_IOC_REFRESH, 1), -AP_EINVAL);
	EXPECT_U64(world_ioctl(&W, sample, AP_PERF_IOC_REFRESH, 0), 0);
	EXPECT_U64(world_ioctl(&W, sample, AP_PERF_IOC_REFRESH, 3), 0);

	EXPECT_U64(ioctl_in(count, AP_PERF_IOC_PERIOD, NULL, 0), -AP_EFAULT);
	v = 5;
	EXPECT_U64(ioctl_in(count, AP_PERF_IOC_PERIOD, &v, 8), -AP_EINVAL);
	EXPECT_U64(ioctl_in(sample, AP_PERF_IOC_PERIOD, &v, 7), -AP_EFAULT);
	EXPECT_U64(ioctl_in(sample, AP_PERF_IOC_PERIOD, &v, 8), 0);
	EXPECT_U64(ioctl_in(inherit, AP_PERF_IOC_PERIOD, &v, 8), 0);
	v = 0;
	EXPECT_U64(ioctl_in(sample, AP_PERF_IOC_PERIOD, &v, 8), -AP_EINVAL);
	v = 1ULL << 63;
	EXPECT_U64(ioctl_in(sample, AP_PERF_IOC_PERIOD, &v, 8), -AP_EINVAL);
	v = 100001;
	EXPECT_U64(ioctl_in(sample, AP_PERF_IOC_PERIOD, &v, 8), 0);
	EXPECT_U64(ioctl_in(freq, AP_PERF_IOC_PERIOD, &v, 8), -AP_EINVAL);
	v = 100000;
	EXPECT_U64(ioctl_in(freq, AP_PERF_IOC_PERIOD, &v, 8), 0);

	EXPECT_U64(ioctl_in(count, AP_PERF_IOC_ID, NULL, 0), -AP_EFAULT);
	EXPECT_U64(ioctl_in(count, AP_PERF_IOC_SET_FILTER, NULL, 0), -AP_EFAULT);
	EXPECT_U64(ioctl_in(count, AP_PERF_IOC_SET_FILTER, "x", 2), -AP_EINVAL);
	EXPECT_U64(ioctl_in(dyn, AP_PERF_IOC_SET_FILTER, "xy", 2), -AP_EINVAL); /* no end */
	EXPECT_U64(ioctl_in(dyn, AP_PERF_IOC_SET_FILTER, "bad", 4), -AP_EINVAL);
	EXPECT_U64(ioctl_in(dyn, AP_PERF_IOC_SET_FILTER, "good", 5), 0);
	EXPECT_U64(world_ioctl(&W, count, AP_PERF_IOC_SET_BPF, 3), -AP_EOPNOTSUPP);
	EXPECT_U64(world_ioctl(&W, count, AP_PERF_IOC_QUERY_BPF, 3), -AP_EINVAL);
	EXPECT_U64(world_ioctl(&W, count, AP_PERF_IOC_PAUSE_OUTPUT, 1), -AP_EINVAL);

	EXPECT_U64(ioctl_in(count, AP_PERF_IOC_MODIFY_ATTRIBUTES, NULL, 0), -AP_EFAULT);
	b = with(0, 0);
	EXPECT_U64(ioctl_in(count, AP_PERF_IOC_MODIFY_ATTRIBUTES, &b, sizeof(b)), -AP_EOPNOTSUPP);
	b.type = AP_PERF_TYPE_BREAKPOINT;
	EXPECT_U64(ioctl_in(count, AP_PERF_IOC_MODIFY_ATTRIBUTES, &b, sizeof(b)), -AP_EINVAL);
	EXPECT_U64(ioctl_in(count, AP_PERF_IOC_MODIFY_ATTRIBUTES, &b, 64), -AP_EFAULT);
	world_end(&W);
}

static void attributes_are_judged_by_who_changes_them(void)
{
	struct ap_perf_attr b = with(0, 0);
	int fd;

	world_begin(&W, 0);
	fd = open_on(&W, &b, -1);
	b.sample_type = AP_PERF_SAMPLE_BRANCH_STACK;
	b.branch_sample_type = 8 | AP_PERF_SAMPLE_BRANCH_KERNEL;
	EXPECT_U64(ioctl_in(fd, AP_PERF_IOC_MODIFY_ATTRIBUTES, &b, sizeof(b)), -AP_EOPNOTSUPP);
	W.privileged = false;
	EXPECT_U64(ioctl_in(fd, AP_PERF_IOC_MODIFY_ATTRIBUTES, &b, sizeof(b)), -AP_EACCES);
	world_end(&W);
}

/* Linux, since 6.6, has changed their type to that of a PMU of their own. */
static void clocks_are_not_of_the_type_they_were_opened_with(void)
{
	struct ap_perf_attr clock = attr_task_clock(), dummy = clock;
	int fd[2];

	world_begin(&W, 0);
	dummy.config = AP_PERF_COUNT_SW_DUMMY;
	fd[0] = open_on(&W, &clock, -1);
	fd[1] = open_on(&W, &dummy, -1);
	EXPECT_U64(ioctl_in(fd[0], AP_PERF_IOC_MODIFY_ATTRIBUTES, &clock, sizeof(clock)),
		   -AP_EINVAL);
	EXPECT_U64(ioctl_in(fd[1], AP_PERF_IOC_MODIFY_ATTRIBUTES, &clock, sizeof(clock)),
		   -AP_EOPNOTSUPP);
	world_end(&W);
}

static void breakpoints_can_be_moved(void)
{
	struct ap_perf_attr a = { .type = AP_PERF_TYPE_BREAKPOINT,
				  .size = 136,
				  .config1 = 0x1000,
				  .config2 = 4,
				  .bp_type = AP_HW_BREAKPOINT_W,
				  .flags = AP_PERF_EXCLUDE_KERNEL },
			    b = a;
	int fd, more[3];
	u64 v[3];

	world_begin(&W, 0);
	a.read_format = b.read_format = 3;
	fd = open_on(&W, &a, -1);
	for (int i = 0; i < 3; i++)
		more[i] = open_on(&W, &a, -1);
	b.config1 = 0x2000;
	EXPECT_U64(ioctl_in(fd, AP_PERF_IOC_MODIFY_ATTRIBUTES, &b, sizeof(b)), 0);
	EXPECT_U64(W.bp_used, 4);
	b.bp_type = AP_HW_BREAKPOINT_R; /* the driver refuses it: all as it was */
	EXPECT_U64(ioctl_in(fd, AP_PERF_IOC_MODIFY_ATTRIBUTES, &b, sizeof(b)), -AP_EINVAL);
	world_run(&W, 0, MS, 1);
	EXPECT_U64(read_words(&W, fd, v, 3), 24);
	EXPECT_U64(v[2], MS);
	b.bp_type = AP_HW_BREAKPOINT_W;
	b.read_format = 1; /* nothing else may differ */
	EXPECT_U64(ioctl_in(fd, AP_PERF_IOC_MODIFY_ATTRIBUTES, &b, sizeof(b)), -AP_EINVAL);
	b.read_format = 3;
	b.size = 128; /* nor the size */
	EXPECT_U64(ioctl_in(fd, AP_PERF_IOC_MODIFY_ATTRIBUTES, &b, sizeof(b)), -AP_EINVAL);
	b.size = 136;
	b.flags |= AP_PERF_DISABLED;
	EXPECT_U64(ioctl_in(fd, AP_PERF_IOC_MODIFY_ATTRIBUTES, &b, sizeof(b)), 0);
	world_run(&W, 0, MS, 1);
	EXPECT_U64(read_words(&W, fd, v, 3), 24);
	EXPECT_U64(v[2], MS);
	b.flags &= ~AP_PERF_DISABLED;
	EXPECT_U64(ioctl_in(fd, AP_PERF_IOC_MODIFY_ATTRIBUTES, &b, sizeof(b)), 0);
	world_run(&W, 0, MS, 1);
	EXPECT_U64(read_words(&W, fd, v, 3), 24);
	EXPECT_U64(v[2], 2 * MS);
	EXPECT_U64(read_words(&W, more[0], v, 3), 24);
	world_end(&W);
}

/* Measured on Linux: it acts on what the caller opened, members and events on others included. */
static void prctl_switches_what_the_caller_opened(void)
{
	struct ap_perf_attr a = with(0, 0);
	int mine, member, on_other, of_other;

	world_begin(&W, 0);
	world_task(&W, 1);
	mine = open_on(&W, &a, -1);
	member = open_on(&W, &a, mine);
	on_other = world_open(&W, &a, 101, -1, -1, 0);
	of_other = open_as(&W, 1, &a, 100, -1, -1, 0);
	ap_core_prctl(W.core, W.tasks[0].task, false);
	world_run(&W, 0, MS, 1);
	world_run(&W, 1, MS, 10);
	EXPECT_U64(read_count(&W, mine), 0);
	EXPECT_U64(read_count(&W, on_other), 0);
	EXPECT_U64(read_count(&W, of_other), 1);
	world_ioctl(&W, mine, AP_PERF_IOC_ENABLE, 0);
	world_run(&W, 0, MS, 1);
	EXPECT_U64(read_count(&W, member), 0);
	ap_core_prctl(W.core, W.tasks[0].task, true);
	world_run(&W, 0, MS, 1);
	world_run(&W, 1, MS, 10);
	EXPECT_U64(read_count(&W, mine), 2);
	EXPECT_U64(read_count(&W, member), 1);
	EXPECT_U64(read_count(&W, on_other), 10);
	world_exit(&W, 0); /* the owner ends, the event on the other stays */
	world_run(&W, 1, MS, 10);
	EXPECT_U64(read_count(&W, on_other), 20);
	world_end(&W);
}

/* --- mappings */

static int map(int fd, u64 pages, struct ap_perf_page *page)
{
	return ap_core_mmap(W.core, W.tasks[0].task, W.fds[fd], pages, true, page);
}

static void output_goes_where_it_is_sent(void)
{
	struct ap_perf_attr a = attr_task_clock(), other;
	static struct ap_perf_page page, page2;
	int x, y, z, w;

	world_begin(&W, 0);
	world_task(&W, 1);
	x = open_on(&W, &a, -1);
	y = open_on(&W, &a, -1);
	z = open_on(&W, &a, -1);
	EXPECT_U64(ap_core_poll(W.core, W.fds[x]), 0x10);
	EXPECT_U64(map(x, 0, &page), -AP_EINVAL);
	EXPECT_U64(map(x, 4, &page), -AP_EINVAL);
	EXPECT_U64(map(x, 3, &page), 0);
	EXPECT_U64(ap_core_poll(W.core, W.fds[x]), 0);
	EXPECT_U64(map(x, 5, &page), -AP_EINVAL);
	EXPECT_U64(map(x, 3, &page), 0);
	ap_core_munmap(W.core, W.fds[x]);
	EXPECT_U64(world_ioctl(&W, x, AP_PERF_IOC_SET_OUTPUT, x), -AP_EINVAL);
	EXPECT_U64(world_ioctl(&W, x, AP_PERF_IOC_SET_OUTPUT, ~0ULL), -AP_EINVAL); /* mapped */
	EXPECT_U64(world_ioctl(&W, y, AP_PERF_IOC_SET_OUTPUT, 40), -AP_EBADF);
	EXPECT_U64(world_ioctl(&W, y, AP_PERF_IOC_SET_OUTPUT, 0xffffffff), -AP_EBADF);
	EXPECT_U64(world_ioctl(&W, y, AP_PERF_IOC_SET_OUTPUT, z), -AP_EINVAL);
	EXPECT_U64(world_ioctl(&W, y, AP_PERF_IOC_SET_OUTPUT, x), 0);
	EXPECT_U64(world_ioctl(&W, y, AP_PERF_IOC_SET_OUTPUT, x), 0);
	EXPECT_U64(world_ioctl(&W, z, AP_PERF_IOC_SET_OUTPUT, y), 0);
	EXPECT_U64(map(y, 3, &page2), -AP_EBUSY);
	EXPECT_U64(map(y, 5, &page2), -AP_EINVAL);
	EXPECT_U64(world_ioctl(&W, z, AP_PERF_IOC_SET_OUTPUT, ~0ULL), 0);
	EXPECT_U64(map(z, 1, &page2), 0);
	EXPECT_U64(world_ioctl(&W, z, AP_PERF_IOC_PAUSE_OUTPUT, 1), -AP_EINVAL);
	EXPECT_U64(world_ioctl(&W, x, AP_PERF_IOC_PAUSE_OUTPUT, 1), 0);
	EXPECT_U64(world_ioctl(&W, y, AP_PERF_IOC_PAUSE_OUTPUT, 0), 0);
	w = open_as(&W, 0, &a, 101, -1, -1, 0); /* of another task */
	EXPECT_U64(world_ioctl(&W, w, AP_PERF_IOC_SET_OUTPUT, x), -AP_EINVAL);
	w = world_open(&W, &a, 0, 0, -1, 0); /* of one CPU */
	EXPECT_U64(world_ioctl(&W, w, AP_PERF_IOC_SET_OUTPUT, x), -AP_EINVAL);
	other = a;
	other.flags |= AP_PERF_WRITE_BACKWARD;
	w = open_on(&W, &other, -1);
	EXPECT_U64(world_ioctl(&W, w, AP_PERF_IOC_SET_OUTPUT, x), -AP_EINVAL);
	other = a;
	other.flags |= AP_PERF_USE_CLOCKID;
	w = open_on(&W, &other, -1);
	EXPECT_U64(world_ioctl(&W, w, AP_PERF_IOC_SET_OUTPUT, x), -AP_EINVAL);
	w = world_open(&W, &a, 0, -1, x, AP_PERF_FLAG_FD_OUTPUT);
	EXPECT(w >= 0);
	/* the last mapping goes, and with it everybody's output */
	ap_core_munmap(W.core, W.fds[x]);
	EXPECT_U64(ap_core_poll(W.core, W.fds[y]), 0x10);
	EXPECT_U64(ap_core_poll(W.core, W.fds[w]), 0x10);
	EXPECT_U64(map(y, 5, &page), 0);
	world_close(&W, y); /* a mapping that outlives its event */
	world_end(&W);
}

static void inherited_task_events_cannot_be_mapped(void)
{
	struct ap_perf_attr a = with(0, AP_PERF_INHERIT);
	static struct ap_perf_page page;

	world_begin(&W, 0);
	EXPECT_U64(map(open_on(&W, &a, -1), 1, &page), -AP_EINVAL);
	EXPECT_U64(map(world_open(&W, &a, 0, 0, -1, 0), 1, &page), 0);
	world_end(&W);
}

/* As a program reads it: rdpmc(n) is the raw count, cut to the width. */
static u64 self_read(const struct ap_perf_page *page, u64 raw)
{
	u64 count = page->offset;
	s64 pmc;

	EXPECT(page->lock % 2 == 0);
	if (!page->index)
		return count;
	pmc = raw << (64 - page->pmc_width);
	return count + (u64)(pmc >> (64 - page->pmc_width));
}

static void a_control_page_reads_without_a_call(void)
{
	struct ap_perf_attr a = with(0, 0);
	static struct ap_perf_page page;
	int fd, second;
	u32 lock;

	world_begin(&W, 0);
	W.config.counters = 0;
	fd = open_on(&W, &a, -1);
	world_run(&W, 0, MS, 1000);
	second = open_on(&W, &a, -1);
	memset(&page, 0, sizeof(page));
	EXPECT_U64(map(second, 9, &page), 0);
	EXPECT_U64(page.version, 0);
	EXPECT_U64(page.compat_version, 0);
	EXPECT_U64(page.lock, 2); /* measured */
	EXPECT_U64(page.size, 96);
	EXPECT_U64(page.data_offset, 4096);
	EXPECT_U64(page.data_size, 8 * 4096);
	EXPECT_U64(page.index, 2); /* the second counter */
	EXPECT_U64(page.capabilities, AP_PERF_CAP_BIT0_IS_DEPRECATED | AP_PERF_CAP_USER_RDPMC);
	EXPECT_U64(page.pmc_width, 64);
	world_run(&W, 0, MS, 23);
	EXPECT_U64(self_read(&page, W.tasks[0].raw[0]), 23);
	lock = page.lock;
	world_ioctl(&W, second, AP_PERF_IOC_DISABLE, 0);
	EXPECT(page.lock > lock && page.lock % 2 == 0);
	EXPECT_U64(page.index, 0);
	world_run(&W, 0, MS, 5);
	EXPECT_U64(self_read(&page, 0), 23);
	EXPECT_U64(page.time_enabled, MS);
	EXPECT_U64(page.time_running, MS);
	world_ioctl(&W, second, AP_PERF_IOC_ENABLE, 0);
	world_run(&W, 0, MS, 1);
	EXPECT_U64(self_read(&page, W.tasks[0].raw[0]), 24);
	world_ioctl(&W, second, AP_PERF_IOC_RESET, 0);
	world_run(&W, 0, MS, 2);
	EXPECT_U64(self_read(&page, W.tasks[0].raw[0]), 2);
	for (u32 i = 0; i < sizeof(page.reserved); i++)
		EXPECT(!page.reserved[i]);
	world_exit(&W, 0);
	EXPECT_U64(page.index, 0);
	EXPECT_U64(self_read(&page, 0), 2);
	ap_core_munmap(W.core, W.fds[second]);
	EXPECT_U64(read_count(&W, fd), 1031);
	world_end(&W);
}

static void a_control_page_tells_the_time(void)
{
	struct ap_perf_attr a = attr_task_clock();
	static struct ap_perf_page page;

	world_init(&W);
	W.config.time_mult = 1 << 20;
	W.config.time_shift = 20;
	W.config.time_zero = 1000;
	W.config.pmc_width = 48;
	world_start(&W);
	memset(&page, 0, sizeof(page));
	EXPECT_U64(map(open_on(&W, &a, -1), 1, &page), 0);
	EXPECT_U64(page.capabilities, AP_PERF_CAP_BIT0_IS_DEPRECATED | AP_PERF_CAP_USER_TIME |
					      AP_PERF_CAP_USER_TIME_ZERO);
	EXPECT_U64(page.index, 0);
	EXPECT_U64(page.pmc_width, 0);
	EXPECT_U64(page.time_zero, 1000);
	/* 7 ns later: cycles are clock - time_zero here */
	EXPECT_U64(page.time_offset + (W.clock + 7 - 1000), 7);
	a = attr_instr();
	memset(&page, 0, sizeof(page));
	EXPECT_U64(map(open_on(&W, &a, -1), 1, &page), 0);
	EXPECT_U64(page.pmc_width, 48);
	a.flags |= AP_PERF_USE_CLOCKID;
	a.clockid = AP_CLOCK_MONOTONIC;
	memset(&page, 0, sizeof(page));
	EXPECT_U64(map(open_on(&W, &a, -1), 1, &page), 0);
	EXPECT(!(page.capabilities & AP_PERF_CAP_USER_TIME_ZERO));
	world_end(&W);
}

/* Counters have different numbers at any time, whether they are short or not. */
static void indexes_name_different_counters(void)
{
	struct ap_perf_attr a = with(0, 0);
	static struct ap_perf_page page[4];

	for (u32 counters = 0; counters <= 4; counters += 4) {
		u32 seen = 0;

		world_begin(&W, counters);
		memset(page, 0, sizeof(page));
		for (u32 i = 0; i < 4; i++) {
			a.type = AP_PERF_TYPE_RAW;
			a.config = 1;
			a.config1 = i == 3 ? 1 : 0; /* the last one needs counter 0 */
			EXPECT_U64(map(open_on(&W, &a, -1), 1, &page[i]), 0);
		}
		world_run(&W, 0, MS, 9);
		for (u32 i = 0; i < 4; i++) {
			EXPECT(page[i].index <= 4);
			seen |= 1U << page[i].index;
			EXPECT_U64(self_read(&page[i], W.tasks[0].raw[0]), page[i].index ? 9 : 0);
		}
		if (counters)
			EXPECT_U64(seen, 0x1e);
		world_end(&W);
	}
}

/* --- what is published for readers in the task */

static u64 computed(int fd, u64 *enabled, u64 *running)
{
	struct ap_event_public p;
	const struct fake_task *t = &W.tasks[0];
	u64 raw = 0;

	ap_event_public(W.fds[fd], &p);
	for (u32 k = 0; k < NKINDS; k++)
		raw += (p.kinds >> k & 1) ? t->raw[k] : 0;
	*enabled = p.enabled_base + (p.is_enabled ? t->time : 0);
	*running = p.running_base + (p.is_active ? t->time : 0);
	return p.base + (p.is_active ? raw : 0);
}

static void what_is_published_gives_what_read_gives(void)
{
	struct ap_perf_attr a = with(3, 0);
	int fd[3];
	u64 v[3], enabled, running;

	world_begin(&W, 2);
	for (int i = 0; i < 3; i++) {
		world_run(&W, 0, MS, 7);
		fd[i] = open_on(&W, &a, -1);
	}
	for (u32 step = 0; step < 40; step++) {
		world_run(&W, 0, MS + step, 7 + step);
		ap_core_tick(W.core);
		if (step % 5 == 1)
			world_ioctl(&W, fd[step % 3], AP_PERF_IOC_DISABLE, 0);
		if (step % 7 == 3)
			world_ioctl(&W, fd[step % 3], AP_PERF_IOC_ENABLE, 0);
		if (step % 9 == 5)
			world_ioctl(&W, fd[step % 3], AP_PERF_IOC_RESET, 0);
		for (int i = 0; i < 3; i++) {
			EXPECT_U64(read_words(&W, fd[i], v, 3), 24);
			EXPECT_U64(computed(fd[i], &enabled, &running), v[0]);
			EXPECT_U64(enabled, v[1]);
			EXPECT_U64(running, v[2]);
		}
	}
	world_end(&W);
}

static void only_what_a_task_can_compute_is_published(void)
{
	struct ap_perf_attr a = with(0, AP_PERF_INHERIT);
	struct ap_event_public p;
	int fd, cpu, soft;
	u32 child;

	world_begin(&W, 0);
	fd = open_on(&W, &a, -1);
	cpu = world_open(&W, &a, -1, 0, -1, 0);
	a = attr_task_clock();
	soft = open_on(&W, &a, -1);
	ap_event_public(W.fds[fd], &p);
	EXPECT_U64(p.kinds, AP_KIND_BIT(AP_KIND_INSTR));
	ap_event_public(W.fds[cpu], &p);
	EXPECT_U64(p.kinds, 0);
	ap_event_public(W.fds[soft], &p);
	EXPECT_U64(p.kinds, 0);
	W.nr_published = 0;
	child = world_fork(&W, 0, false); /* from here on others count for it */
	EXPECT(W.nr_published);
	ap_event_public(W.fds[fd], &p);
	EXPECT_U64(p.kinds, 0);
	W.nr_published = 0;
	world_exit(&W, child);
	EXPECT(W.nr_published);
	ap_event_public(W.fds[fd], &p);
	EXPECT_U64(p.kinds, AP_KIND_BIT(AP_KIND_INSTR));
	world_exit(&W, 0);
	ap_event_public(W.fds[fd], &p);
	EXPECT_U64(p.kinds, 0);
	EXPECT(!p.is_active && !p.is_enabled);
	world_end(&W);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(every_format_has_its_layout),
		TAP(ids_are_of_each_event),
		TAP(reset_takes_one_or_the_group),
		TAP(reset_needs_no_driver),
		TAP(ioctls_refuse_as_linux),
		TAP(attributes_are_judged_by_who_changes_them),
		TAP(clocks_are_not_of_the_type_they_were_opened_with),
		TAP(breakpoints_can_be_moved),
		TAP(prctl_switches_what_the_caller_opened),
		TAP(output_goes_where_it_is_sent),
		TAP(inherited_task_events_cannot_be_mapped),
		TAP(a_control_page_reads_without_a_call),
		TAP(a_control_page_tells_the_time),
		TAP(indexes_name_different_counters),
		TAP(what_is_published_gives_what_read_gives),
		TAP(only_what_a_task_can_compute_is_published),
		{ 0 }
	};
	return tap_main(tests, argc, argv);
}
