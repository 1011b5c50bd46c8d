/* SPDX-License-Identifier: MIT */
/* Reading in place: base and own counters, in every read format, and who may not. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "abi/perf.h"
#include "abi/raw.h"
#include "fake.h"
#include "tap/tap.h"

#define ASKED 0xa5a5a5a5ULL

static void answers(struct ap_svc *svc)
{
	memcpy(svc->data, &(u64){ ASKED }, 8);
	svc->out_size = 8;
	svc->ret = 8;
}

static struct ap_pub *e;
static s32 fd;

/* An event of the calling thread, active, that counts instructions and system calls. */
static void publish(u64 format, u32 way)
{
	u64 inode;

	fake_start(answers);
	fake.session->perf_used = 1;
	fd = fake_perf_fd();
	inode = fake_inode(fd);
	fake.slot->gen = 9;
	fake.slot->extra[AP_RAW_SYSCALL] = 3;
	fake.slot->extra[AP_VEC_INSTR] = -2;
	fake.shapes[1] = 5 * AP_VEC_ONE(AP_VEC_INSTR) + AP_VEC_ONE(AP_VEC_BRANCH);
	fake.counts[1] = 1000;
	fake.shapes[2] = 7 * AP_VEC_ONE(AP_VEC_INSTR);
	fake.counts[2] = 10;
	e = &fake.pub[(ap_pub_home(inode) + way) % AP_PUB_MAX];
	*e = (struct ap_pub){ .inode = inode,
			      .id = 77,
			      .flags = AP_PUB_ENABLED | AP_PUB_ACTIVE,
			      .kinds = AP_KIND_BIT(AP_KIND_INSTR) | AP_KIND_BIT(AP_KIND_SYSCALL),
			      .base = 100000,
			      .read_format = format,
			      .seg = fake.seg_index,
			      .slot = fake.slot_index,
			      .gen = 9 };
}

#define VALUE (100000 + 5000 + 70 - 2 + 3)

static s64 get(u64 *buf, u64 size)
{
	return fake_call(SYS_read, (u64)fd, (u64)buf, size, 0, 0, 0);
}

static void a_value_is_base_and_own_counters(void)
{
	u64 v[2] = { 0, 0 };

	publish(0, 0);
	EXPECT(get(v, 8) == 8);
	EXPECT_U64(v[0], VALUE);
	fake.counts[1]++;
	EXPECT(get(v, 16) == 8);
	EXPECT_U64(v[0], VALUE + 5);
	EXPECT_U64(v[1], 0);
	e->kinds = AP_KIND_BIT(AP_KIND_BRANCH);
	EXPECT(get(v, 8) == 8);
	EXPECT_U64(v[0], 101001);
	e->flags = AP_PUB_ENABLED; /* not on the PMU: the base says all */
	EXPECT(get(v, 8) == 8);
	EXPECT_U64(v[0], 100000);
	EXPECT(get(v, 7) == -ENOSPC);
	EXPECT(get(NULL, 8) == -EFAULT);
	EXPECT_U64(fake.requests, 0);
	EXPECT_U64(fake.held, 0);
}

static void it_is_found_in_all_its_places(void)
{
	u64 v;

	publish(0, AP_PUB_WAYS - 1);
	EXPECT(get(&v, 8) == 8);
	EXPECT_U64(v, VALUE);
}

static u64 cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

static void times_are_the_threads_own(void)
{
	u64 v[4], before, after;

	publish(AP_PERF_FORMAT_TOTAL_TIME_ENABLED | AP_PERF_FORMAT_TOTAL_TIME_RUNNING |
			AP_PERF_FORMAT_ID,
		0);
	e->enabled_base = 1ULL << 40;
	e->running_base = 1ULL << 41;
	before = cpu_time();
	EXPECT(get(v, 32) == 32);
	after = cpu_time();
	EXPECT_U64(v[0], VALUE);
	EXPECT(v[1] >= (1ULL << 40) + before && v[1] <= (1ULL << 40) + after);
	EXPECT_U64(v[2] - v[1], 1ULL << 40);
	EXPECT_U64(v[3], 77);
	e->flags = 0;
	EXPECT(get(v, 32) == 32);
	EXPECT_U64(v[0], 100000);
	EXPECT_U64(v[1], 1ULL << 40);
	EXPECT_U64(v[2], 1ULL << 41);
	EXPECT(get(v, 31) == -ENOSPC);
	EXPECT_U64(fake.requests, 0);
}

static void a_group_of_one_is_read_in_place(void)
{
	u64 v[3];

	publish(AP_PERF_FORMAT_GROUP | AP_PERF_FORMAT_ID, 0);
	EXPECT(get(v, 24) == 8); /* nobody says what group: asked */
	EXPECT_U64(v[0], ASKED);
	e->members = 1;
	e->leader = (u32)(e - fake.pub) + 1;
	EXPECT(get(v, 24) == 24);
	EXPECT_U64(v[0], 1);
	EXPECT_U64(v[1], VALUE);
	EXPECT_U64(v[2], 77);
}

static void expect_asked(void)
{
	u64 v = 0;

	EXPECT(get(&v, 8) == 8);
	EXPECT_U64(v, ASKED);
}

static void what_is_not_the_threads_is_asked(void)
{
	publish(0, 0);
	e->seg++;
	expect_asked();
	e->seg--;
	e->slot++;
	expect_asked();
	e->slot--;
	e->gen++;
	expect_asked();
	e->gen--;
	e->kinds = 0;
	expect_asked();
	e->kinds = AP_KIND_BIT(AP_KIND_INSTR);
	e->seq = 1; /* left behind by who was killed */
	expect_asked();
	e->seq = 2;
	e->inode++;
	expect_asked();
	EXPECT_U64(fake.requests, 6);
}

static void without_a_supervisor_nothing_is_read(void)
{
	u64 v;

	publish(0, 0);
	EXPECT(get(&v, 8) == 8);
	fake.session->supervisor = 0;
	EXPECT(get(&v, 8) == -ENODEV);
}

/* What is read often shall be counted so that reading is cheap; then shapes have only what was before. */
static void often_read_kinds_are_counted_directly(void)
{
	u64 v = 0;

	publish(0, 0);
	for (u32 i = 0; i < 1000 && !fake.asked_directly; i++)
		EXPECT(get(&v, 8) == 8);
	EXPECT_U64(fake.asked_directly, AP_KIND_BIT(AP_KIND_INSTR)); /* system calls are anyway */
	fake.direct = AP_KIND_BIT(AP_KIND_INSTR);
	fake.direct_sums[AP_KIND_INSTR] = 5070;
	fake.asked_directly = 0;
	EXPECT(get(&v, 8) == 8);
	EXPECT_U64(v, VALUE);
	fake.slot->extra[AP_KIND_INSTR] += 9;
	fake.counts[1]++; /* of another kind, as far as anybody knows */
	EXPECT(get(&v, 8) == 8);
	EXPECT_U64(v, VALUE + 9);
	e->kinds |= AP_KIND_BIT(AP_KIND_BRANCH);
	EXPECT(get(&v, 8) == 8);
	EXPECT_U64(v, VALUE + 9 + 1001);
	EXPECT_U64(fake.asked_directly, 0);
	EXPECT_U64(fake.requests, 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(a_value_is_base_and_own_counters),
		TAP(it_is_found_in_all_its_places),
		TAP(times_are_the_threads_own),
		TAP(a_group_of_one_is_read_in_place),
		TAP(what_is_not_the_threads_is_asked),
		TAP(without_a_supervisor_nothing_is_read),
		TAP(often_read_kinds_are_counted_directly),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
