/* SPDX-License-Identifier: MIT */
/*
 * The kernel as oracle: software events and breakpoints need no PMU, so the same attr is opened
 * natively and given to the drivers, and both must answer alike.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "abi/errno.h"
#include "fake.h"
#include "tap/tap.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>

static int native(const struct ap_perf_attr *attr, s32 pid, s32 cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, 0);

	return fd < 0 ? -errno : fd;
}

/* Paths that ask for less privilege than root has still need a kernel that lets us ask. */
static void need_kernel(void)
{
	struct ap_perf_attr attr = { .type = AP_PERF_TYPE_SOFTWARE,
				     .size = AP_PERF_ATTR_SIZE_VER7,
				     .config = AP_PERF_COUNT_SW_DUMMY,
				     .flags = AP_PERF_EXCLUDE_KERNEL };
	int fd = native(&attr, 0, -1);

	if (fd < 0)
		tap_lack("the kernel refuses perf_event_open");
	close(fd);
}
#else
static int native(const struct ap_perf_attr *attr, s32 pid, s32 cpu)
{
	(void)attr;
	(void)pid;
	(void)cpu;
	return -ENOSYS;
}

static void need_kernel(void)
{
	tap_lack("not the ABI that is compared");
}
#endif

static struct fake f;

static void begin(void)
{
	fake_prepare(&f);
	fake_start(&f, AP_CPU_SKYLAKE);
}

static void compare(const struct ap_perf_attr *attr)
{
	struct ap_event *e;
	int want = native(attr, 0, -1), got = fake_open(&f, attr, 0, -1, &e);

	if (!EXPECT_U64(got, want < 0 ? want : 0))
		tap_note("type %u config %llx flags %llx bp %u %llx/%llx", attr->type,
			 (unsigned long long)attr->config, (unsigned long long)attr->flags,
			 attr->bp_type, (unsigned long long)attr->config1,
			 (unsigned long long)attr->config2);
	if (want >= 0)
		close(want);
	if (!got)
		fake_close(&f, e);
}

static struct ap_perf_attr attr_of(u32 type, u64 config)
{
	/* as any user may ask at perf_event_paranoid 2 */
	return (struct ap_perf_attr){ .type = type,
				      .size = AP_PERF_ATTR_SIZE_VER7,
				      .config = config,
				      .flags = AP_PERF_EXCLUDE_KERNEL };
}

static void software_errnos_are_the_kernels(void)
{
	static const u64 configs[] = { 0, 1, 2,	 3,  4,	 5,    6,	   7,
				       8, 9, 10, 11, 99, 1000, 1ULL << 32, ~0ULL };
	u32 i;

	need_kernel();
	begin();
	for (i = 0; i < AP_ARRAY_SIZE(configs); i++) {
		struct ap_perf_attr attr = attr_of(AP_PERF_TYPE_SOFTWARE, configs[i]);

		compare(&attr);
		attr.flags |= AP_PERF_EXCLUDE_USER | AP_PERF_EXCLUDE_HV | AP_PERF_EXCLUDE_IDLE |
			      AP_PERF_EXCLUDE_HOST;
		compare(&attr);
		attr.config1 = attr.config2 = ~0ULL;
		compare(&attr);
		attr.flags |= AP_PERF_PRECISE_IP;
		compare(&attr);
		attr.sample_type = AP_PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = 8 | AP_PERF_SAMPLE_BRANCH_USER;
		compare(&attr);
	}
}

static u64 watched[4];

static struct ap_perf_attr watch(u32 type, u64 addr, u64 len)
{
	struct ap_perf_attr attr = attr_of(AP_PERF_TYPE_BREAKPOINT, 0);

	attr.bp_type = type;
	attr.config1 = addr;
	attr.config2 = len;
	return attr;
}

static void breakpoint_errnos_are_the_kernels(void)
{
	static const u64 addrs[] = { 0,
				     1,
				     4096,
				     0x7fffffffeff8,
				     0x7fffffffeff9,
				     0x7ffffffff000,
				     0x800000000000,
				     0xfffffffffffffff8,
				     ~0ULL };
	struct ap_perf_attr attr;
	u32 type, len, i;

	need_kernel();
	begin();
	for (type = 0; type < 10; type++) {
		for (len = 0; len < 16; len++) {
			for (i = 0; i < 9; i++) {
				attr = watch(type, (uintptr_t)watched + i, len);
				compare(&attr);
			}
			for (i = 0; i < AP_ARRAY_SIZE(addrs); i++) {
				attr = watch(type, addrs[i], len);
				compare(&attr);
			}
		}
		attr = watch(type, (uintptr_t)watched, 0x100000008);
		compare(&attr);
		attr = watch(type, (uintptr_t)watched, 8);
		attr.config = 7;
		compare(&attr);
		attr.flags |= AP_PERF_EXCLUDE_USER;
		compare(&attr);
		attr.sample_type = AP_PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = 8 | AP_PERF_SAMPLE_BRANCH_USER;
		compare(&attr);
	}
	EXPECT(!f.drivers.slots);
}

/* Opened natively and in the core, and kept. */
struct both {
	int fd;
	struct ap_event *e;
};

static void keep(u32 type, s32 pid, s32 cpu, struct both *b)
{
	struct ap_perf_attr attr = watch(type, (uintptr_t)watched, 8);
	int got;

	b->fd = native(&attr, pid, cpu);
	if (b->fd == -EACCES)
		tap_lack("the kernel lets nobody watch a whole CPU");
	got = fake_open(&f, &attr, pid, cpu, &b->e);
	if (!EXPECT_U64(got, b->fd < 0 ? b->fd : 0))
		tap_note("type %u pid %d cpu %d", type, pid, cpu);
}

static void drop(struct both *b)
{
	if (b->fd >= 0) {
		close(b->fd);
		fake_close(&f, b->e);
	}
	b->fd = -1;
}

static void debug_registers_are_counted_as_the_kernel_does(void)
{
	static const struct {
		u32 type;
		s32 pid, cpu;
	} first[] = {
		{ 2, 0, -1 }, { 4, 0, -1 }, { 3, 0, -1 }, { 2, 0, -1 }, { 2, 0, -1 },
		{ 1, 0, -1 }, { 0, 0, -1 }, { 7, 0, -1 }, { 6, 0, -1 }, { 2, 0, 0 },
	}, second[] = {
		{ 2, 0, 0 },  { 2, 0, 0 },  { 2, 0, 0 }, { 2, 0, 0 }, { 2, 0, 0 },
		{ 2, 0, -1 }, { 2, -1, 0 }, { 2, 0, 0 }, { 1, 0, 0 },
	}, third[] = {
		{ 2, -1, 0 }, { 2, -1, 0 }, { 2, 0, -1 }, { 2, 0, -1 }, { 2, 0, -1 },
		{ 2, -1, 0 }, { 2, 0, 0 },
	};
	struct both b[10];
	u32 i;

	need_kernel();
	begin();
	for (i = 0; i < AP_ARRAY_SIZE(first); i++)
		keep(first[i].type, first[i].pid, first[i].cpu, &b[i]);
	for (i = 0; i < AP_ARRAY_SIZE(first); i++)
		drop(&b[i]);
	EXPECT(!f.drivers.slots);
	for (i = 0; i < AP_ARRAY_SIZE(second); i++)
		keep(second[i].type, second[i].pid, second[i].cpu, &b[i]);
	/* out of order: the list has to stand that */
	drop(&b[2]);
	drop(&b[0]);
	keep(2, 0, -1, &b[0]);
	keep(2, -1, 0, &b[2]);
	keep(2, 0, 0, &b[9]);
	for (i = 0; i < AP_ARRAY_SIZE(b); i++)
		drop(&b[i]);
	EXPECT(!f.drivers.slots);
	for (i = 0; i < AP_ARRAY_SIZE(third); i++)
		keep(third[i].type, third[i].pid, third[i].cpu, &b[i]);
	for (i = 0; i < AP_ARRAY_SIZE(third); i++)
		drop(&b[i]);
	EXPECT(!f.drivers.slots);
}

/* Which of them counts at all under exclude_user, exclude_kernel, as the kernel shows it. */
static void excludes_hide_what_the_kernel_hides(void)
{
	static const struct {
		u32 config;
		enum ap_world_counter counter;
	} rows[] = { { AP_PERF_COUNT_SW_CONTEXT_SWITCHES, AP_WORLD_CONTEXT_SWITCHES },
		     { AP_PERF_COUNT_SW_CPU_CLOCK, AP_WORLD_N },
		     { AP_PERF_COUNT_SW_TASK_CLOCK, AP_WORLD_N },
		     { AP_PERF_COUNT_SW_DUMMY, AP_WORLD_N } };
	u32 i, e;

	need_kernel();
	begin();
	for (i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		for (e = 0; e < 4; e++) {
			struct ap_perf_attr attr = attr_of(AP_PERF_TYPE_SOFTWARE, rows[i].config);
			struct ap_event *event;
			u64 n = 0;
			int fd;

			attr.flags = (e & 1 ? AP_PERF_EXCLUDE_USER : 0) |
				     (e & 2 ? AP_PERF_EXCLUDE_KERNEL : 0);
			fd = native(&attr, 0, -1);
			if (fd == -EACCES)
				continue; /* not root: only exclude_kernel may be asked */
			REQUIRE(fd >= 0);
			usleep(1); /* leaves the CPU */
			REQUIRE(read(fd, &n, sizeof(n)) == sizeof(n));
			close(fd);
			REQUIRE(!fake_open(&f, &attr, 0, -1, &event));
			f.host.time += 5;
			if (rows[i].counter != AP_WORLD_N)
				f.host.counter[rows[i].counter] += 5;
			if (!EXPECT_U64(fake_read(&f, event), n ? 5 : 0))
				tap_note("config %u excludes %u: the kernel counted %llu",
					 rows[i].config, e, (unsigned long long)n);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(software_errnos_are_the_kernels),
		TAP(breakpoint_errnos_are_the_kernels),
		TAP(debug_registers_are_counted_as_the_kernel_does),
		TAP(excludes_hide_what_the_kernel_hides),
		{ 0 }
	};
	return tap_main(tests, argc, argv);
}
