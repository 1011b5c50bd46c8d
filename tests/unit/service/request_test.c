/* SPDX-License-Identifier: MIT */
/* Calls on perf descriptors as requests: what is asked, what comes back, and what if nobody is there. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "abi/perf.h"
#include "fake.h"
#include "tap/tap.h"

static s64 open_event(struct ap_perf_attr *attr, s32 pid, s32 cpu, s32 group, u64 flags)
{
	return fake_call(SYS_perf_event_open, (u64)attr, (u64)(u32)pid, (u64)(u32)cpu,
			 (u64)(u32)group, flags, 0);
}

static s64 read_event(s32 fd, void *buf, u64 size)
{
	return fake_call(SYS_read, (u64)fd, (u64)buf, size, 0, 0, 0);
}

static s64 control(s32 fd, u64 cmd, u64 arg)
{
	return fake_call(SYS_ioctl, (u64)fd, cmd, arg, 0, 0, 0);
}

static void answers(struct ap_svc *svc)
{
	svc->ret = 0;
	switch (svc->op) {
	case AP_SVC_READ:
		if (svc->arg[1] < 8) {
			svc->ret = -ENOSPC;
			break;
		}
		memcpy(svc->data, "abcdefgh", 8);
		svc->out_size = 8;
		svc->ret = 8;
		break;
	case AP_SVC_IOCTL:
		if (svc->arg[1] == AP_PERF_IOC_ID) {
			memcpy(svc->data, &(u64){ 4711 }, 8);
			svc->out_size = 8;
		} else if (svc->arg[1] == AP_PERF_IOC_REFRESH) {
			svc->ret = -EINVAL;
		}
		break;
	}
}

static void refuses(struct ap_svc *svc)
{
	svc->ret = -EACCES;
}

static void an_event_is_a_pipe_without_a_writer(void)
{
	struct ap_perf_attr attr = { .type = 1, .size = sizeof(attr), .config = 9 }, asked;
	struct pollfd p = { .events = -1 };
	s32 lowest = dup(0), fd, member;

	close(lowest);
	fake_start(answers);
	fd = (s32)open_event(&attr, 0, -1, -1, 0);
	EXPECT(fd == lowest);
	EXPECT(fake.session->perf_used);
	EXPECT_U64(fcntl(fd, F_GETFD), 0);
	p.fd = fd;
	EXPECT(poll(&p, 1, 0) == 1 && p.revents == POLLHUP);
	EXPECT_U64(fake.last.op, AP_SVC_OPEN);
	EXPECT_U64(fake.last.arg[0], 0);
	EXPECT_U64(fake.last.arg[1], ~0ULL);
	EXPECT_U64(fake.last.arg[2], 0);
	EXPECT_U64(fake.last.arg[3], 0);
	EXPECT_U64(fake.last.arg[4], fd);
	EXPECT_U64(fake.last.arg[6], fake_inode(fd));
	EXPECT_U64(fake.last.in_size, sizeof(attr));
	memcpy(&asked, fake.last.data, sizeof(asked));
	EXPECT_MEM(&asked, &attr, sizeof(attr));
	EXPECT(fake.last.cpu_time > 0);

	member = (s32)open_event(&attr, -1, 3, fd, AP_PERF_FLAG_FD_CLOEXEC);
	EXPECT(member > fd);
	EXPECT_U64(fcntl(member, F_GETFD), FD_CLOEXEC);
	EXPECT_U64(fake.last.arg[0], ~0ULL);
	EXPECT_U64(fake.last.arg[1], 3);
	EXPECT_U64(fake.last.arg[2], fake_inode(fd));
	EXPECT_U64(fake.last.arg[3], AP_PERF_FLAG_FD_CLOEXEC);
	EXPECT(open_event(&attr, 0, -1, 0, 0) > member);
	EXPECT_U64(fake.last.arg[2], ~0ULL);
	EXPECT_U64(fake.held, fake.released);
}

static void a_refusal_leaves_no_descriptor(void)
{
	struct ap_perf_attr attr = { .size = sizeof(attr) };
	s32 lowest = dup(0);

	close(lowest);
	fake_start(refuses);
	EXPECT(open_event(&attr, 0, -1, -1, 0) == -EACCES);
	EXPECT(dup(0) == lowest);
	EXPECT_U64(fake.requests, 1);
}

/* Sizes as Linux takes them; what is wrong before the event matters asks nobody. */
static void attrs_are_copied_by_their_size(void)
{
	u8 page[8192] = { 0 };
	struct ap_perf_attr *attr = (struct ap_perf_attr *)page, got;

	fake_start(answers);
	EXPECT(open_event(attr, 0, -1, -1, 16) == -EINVAL);
	EXPECT(open_event(NULL, 0, -1, -1, 16) == -EINVAL);
	EXPECT(open_event(NULL, 0, -1, -1, 0) == -EFAULT);
	attr->size = 63;
	EXPECT(open_event(attr, 0, -1, -1, 0) == -E2BIG);
	EXPECT_U64(attr->size, 136);
	attr->size = 4097;
	EXPECT(open_event(attr, 0, -1, -1, 0) == -E2BIG);
	EXPECT_U64(attr->size, 136);
	attr->size = 4096;
	page[4095] = 1;
	EXPECT(open_event(attr, 0, -1, -1, 0) == -E2BIG);
	EXPECT_U64(attr->size, 136);
	EXPECT_U64(fake.requests, 0);

	attr->size = 4095;
	EXPECT(open_event(attr, 0, -1, -1, 0) >= 0);
	attr->size = 0;
	attr->config1 = 5; /* inside VER0 */
	attr->config2 = 7; /* beyond */
	EXPECT(open_event(attr, 0, -1, -1, 0) >= 0);
	memcpy(&got, fake.last.data, sizeof(got));
	EXPECT_U64(got.size, 64);
	EXPECT_U64(got.config1, 5);
	EXPECT_U64(got.config2, 0);
	attr->size = 68;
	EXPECT(open_event(attr, 0, -1, -1, 0) >= 0);
	memcpy(&got, fake.last.data, sizeof(got));
	EXPECT_U64(got.config2, 7);
}

static void the_limit_counts_one_descriptor(void)
{
	struct ap_perf_attr attr = { .size = sizeof(attr) };
	struct rlimit lim, now;
	s32 lowest = dup(0);

	close(lowest);
	fake_start(answers);
	getrlimit(RLIMIT_NOFILE, &lim);
	lim.rlim_cur = (rlim_t)lowest + 1;
	lim.rlim_max = lim.rlim_cur + 8;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &lim));
	EXPECT(open_event(&attr, 0, -1, -1, 0) == lowest);
	EXPECT(open_event(&attr, 0, -1, -1, 0) == -EMFILE);
	EXPECT(!getrlimit(RLIMIT_NOFILE, &now) && now.rlim_cur == lim.rlim_cur);
	EXPECT_U64(fake.requests, 1);
}

static void reads_copy_what_is_answered(void)
{
	struct ap_perf_attr attr = { .size = sizeof(attr) };
	char buf[32] = { 0 };
	struct iovec v[2] = { { buf + 8, 8 }, { buf + 16, 16 } };
	s32 fd;

	fake_start(answers);
	fd = (s32)open_event(&attr, 0, -1, -1, 0);
	EXPECT(read_event(fd, buf, 8) == 8);
	EXPECT_MEM(buf, "abcdefgh\0", 9);
	EXPECT_U64(fake.last.arg[0], fake_inode(fd));
	EXPECT(read_event(fd, buf, 7) == -ENOSPC);
	EXPECT(read_event(fd, NULL, 8) == -EFAULT);
	EXPECT(fake_call(SYS_readv, (u64)fd, (u64)v, 2, 0, 0, 0) == 16);
	EXPECT_MEM(buf, "abcdefghabcdefghabcdefgh\0", 25);
	EXPECT(fake_call(SYS_readv, (u64)fd, (u64)v, 0, 0, 0, 0) == 0);
	v[1].iov_len = 7;
	EXPECT(fake_call(SYS_readv, (u64)fd, (u64)v, 2, 0, 0, 0) == 8);
	v[0].iov_len = 0;
	EXPECT(fake_call(SYS_readv, (u64)fd, (u64)v, 2, 0, 0, 0) == -ENOSPC);
	EXPECT(fake_call(SYS_preadv2, (u64)fd, (u64)v, 0, ~0ULL, 0, 0) == 0);
	EXPECT(fake_call(SYS_preadv2, (u64)fd, (u64)v, 1, 0, 0, 0) == -ESPIPE);
	EXPECT_U64(fake.held, fake.released);
}

#define LONG_SIZE (3 * AP_SVC_DATA_MAX / 8 * 8 + 8)

static void answers_long(struct ap_svc *svc)
{
	u64 from = svc->op == AP_SVC_READ_MORE ? svc->arg[0] : 0;
	u64 n = LONG_SIZE - from < AP_SVC_DATA_MAX ? LONG_SIZE - from : AP_SVC_DATA_MAX;

	for (u64 i = 0; i < n; i++)
		svc->data[i] = (u8)((from + i) * 7 >> 3);
	svc->out_size = (u32)n;
	svc->ret = svc->op == AP_SVC_READ ? (s64)LONG_SIZE : 0;
}

static void a_long_answer_comes_in_parts(void)
{
	u8 buf[LONG_SIZE];
	u32 wrong = 0;

	fake_start(answers_long);
	fake.session->perf_used = 1;
	EXPECT(read_event(fake_perf_fd(), buf, sizeof(buf)) == LONG_SIZE);
	for (u32 i = 0; i < LONG_SIZE; i++)
		wrong += buf[i] != (u8)(i * 7 >> 3);
	EXPECT_U64(wrong, 0);
	EXPECT_U64(fake.requests, 4);
}

static void commands_carry_what_they_point_to(void)
{
	struct ap_perf_attr attr = { .size = sizeof(attr) };
	u64 id = 0, period = 99;
	s32 fd, target;

	fake_start(answers);
	fd = (s32)open_event(&attr, 0, -1, -1, 0);
	target = (s32)open_event(&attr, 0, -1, -1, 0);
	EXPECT(control(fd, AP_PERF_IOC_ENABLE, 1) == 0);
	EXPECT_U64(fake.last.arg[0], fake_inode(fd));
	EXPECT_U64(fake.last.arg[1], AP_PERF_IOC_ENABLE);
	EXPECT_U64(fake.last.arg[2], 1);
	EXPECT(control(fd, AP_PERF_IOC_REFRESH, 0) == -EINVAL);
	EXPECT(control(fd, AP_PERF_IOC_ID, (u64)&id) == 0);
	EXPECT_U64(id, 4711);
	EXPECT(control(fd, AP_PERF_IOC_ID, 8) == -EFAULT);
	EXPECT(control(fd, AP_PERF_IOC_PERIOD, (u64)&period) == 0);
	EXPECT_MEM(fake.last.data, &period, 8);
	EXPECT(control(fd, AP_PERF_IOC_PERIOD, 8) == -EFAULT);
	EXPECT(control(fd, AP_PERF_IOC_SET_OUTPUT, (u64)target) == 0);
	EXPECT_U64(fake.last.arg[2], fake_inode(target));
	EXPECT(control(fd, AP_PERF_IOC_SET_OUTPUT, ~0ULL) == 0);
	EXPECT_U64(fake.last.arg[2], 0);
	EXPECT(control(fd, AP_PERF_IOC_SET_OUTPUT, 0) == 0);
	EXPECT_U64(fake.last.arg[2], ~0ULL);
	EXPECT(control(fd, AP_PERF_IOC_SET_FILTER, (u64) "x > 1") == 0);
	EXPECT_STR((char *)fake.last.data, "x > 1");
	EXPECT_U64(fake.last.in_size, 6);
}

static void other_commands_are_those_of_any_file(void)
{
	struct ap_perf_attr attr = { .size = sizeof(attr) };
	u32 asked;
	int v = 1;
	s32 fd;

	fake_start(answers);
	fd = (s32)open_event(&attr, 0, -1, -1, 0);
	asked = fake.requests;
	EXPECT(control(fd, 0x541b /* FIONREAD */, (u64)&v) == -ENOTTY);
	EXPECT(control(fd, 0x5401 /* TCGETS */, (u64)&v) == -ENOTTY);
	EXPECT(control(fd, 0x240c, 0) == -ENOTTY);
	EXPECT(control(fd, 0x80042407, (u64)&v) == -ENOTTY);
	EXPECT(control(fd, 0x5421 /* FIONBIO */, (u64)&v) == 0);
	EXPECT(fcntl(fd, F_GETFL) & O_NONBLOCK);
	EXPECT_U64(fake.requests, asked);
}

static void a_close_is_told(void)
{
	struct ap_perf_attr attr = { .size = sizeof(attr) };
	u64 inode;
	s32 fd;

	fake_start(answers);
	fd = (s32)open_event(&attr, 0, -1, -1, 0);
	inode = fake_inode(fd);
	EXPECT(!fake_call(SYS_close, (u64)fd, 0, 0, 0, 0, 0));
	EXPECT_U64(fake.last.op, AP_SVC_CLOSE);
	EXPECT_U64(fake.last.arg[0], inode);
	EXPECT(fake_call(SYS_close, (u64)fd, 0, 0, 0, 0, 0) == -EBADF);
	EXPECT_U64(fake.requests, 2);
}

static void a_waiting_signal_comes_first(void)
{
	struct ap_perf_attr attr = { .size = sizeof(attr) };
	s32 lowest = dup(0);

	close(lowest);
	fake_start(answers);
	fake.again = true;
	EXPECT(open_event(&attr, 0, -1, -1, 0) == -100001);
	EXPECT(dup(0) == lowest);
	EXPECT_U64(fake.requests, 0);
	EXPECT_U64(fake.released, 0);
}

static void without_a_supervisor_there_is_no_device(void)
{
	struct ap_perf_attr attr = { .size = sizeof(attr) };
	char buf[8];
	s32 fd;

	fake_start(NULL);
	fake.session->perf_used = 1;
	fd = fake_perf_fd();
	fake.dead = true;
	EXPECT(read_event(fd, buf, 8) == -ENODEV);
	EXPECT(open_event(&attr, 0, -1, -1, 0) == -ENODEV);
	EXPECT(control(fd, AP_PERF_IOC_ENABLE, 0) == -ENODEV);
	EXPECT(!fake_call(SYS_close, (u64)fd, 0, 0, 0, 0, 0));
	EXPECT_U64(fake.held, fake.released);
}

/* A filter of the program's would judge our calls too: there are none but what it made itself. */
static void a_task_with_a_filter_is_mute(void)
{
	struct ap_perf_attr attr = { .size = sizeof(attr) };
	s32 null = open("/dev/null", O_RDONLY), fd;
	char buf[8] = { 0 };

	fake_start(answers);
	fake.session->perf_used = 1;
	__atomic_store_n(&ap_board_of(fake.session)->mute, 1,
			 __ATOMIC_RELEASE); /* in time for the supervisor to see it */
	fd = (s32)open_event(&attr, 0, -1, -1, 0);
	fake.seg->mute = 1;
	fake.calls = 0;
	EXPECT(read_event(fd, buf, 8) == 8);
	EXPECT_MEM(buf, "abcdefgh", 8);
	EXPECT_U64(fake.calls, 1); /* the program's read, of nothing, for its filter to see */
	EXPECT_U64(fake.last.cpu_time, 0);
	EXPECT(control(fd, AP_PERF_IOC_ENABLE, 0) == 0);
	EXPECT_U64(fake.calls, 2);
	EXPECT(read_event(null, buf, 8) == 0);
	EXPECT(open_event(&attr, 0, -1, -1, 0) == -EPERM);
	EXPECT(open_event(&attr, 0, -1, -1, 16) == -EPERM);
	EXPECT(!fake_call(SYS_close, (u64)fd, 0, 0, 0, 0, 0));
	EXPECT_U64(fake.last.op, AP_SVC_CLOSE);
	EXPECT_U64(fake.calls, 2);
	EXPECT_U64(fake.held, 1);
	EXPECT_U64(fake.released, 1);
}

static s32 known;

/* As the request was left, a stranger to the next one. */
static void answers_and_scribbles(struct ap_svc *svc)
{
	bool is_what = svc->op == AP_SVC_WHAT;
	u64 fd = svc->arg[0];

	svc->ret = 0;
	if (!is_what)
		return;
	svc->ret = fd == (u64)known ? (s64)fake_inode(known) : 0;
	memset(svc->data, 0xee, 64);
	memset(svc->arg, 0xee, sizeof(svc->arg));
	svc->in_size = svc->out_size = 8;
}

/* It asks what a descriptor is; the question does not get into the request that needs the answer. */
static void a_mute_task_asks_about_a_descriptor_first(void)
{
	s32 fd, null = open("/dev/null", O_RDONLY);

	fake_start(answers_and_scribbles);
	__atomic_store_n(&ap_board_of(fake.session)->mute, 1, __ATOMIC_RELEASE);
	fake.session->perf_used = 1;
	fd = fake_perf_fd();
	known = fake_perf_fd();
	EXPECT(control(fd, AP_PERF_IOC_ENABLE, 0) == 0);
	fake.seg->mute = 1;
	EXPECT(control(fd, AP_PERF_IOC_SET_OUTPUT, (u64)known) == 0);
	EXPECT_U64(fake.requests, 3);
	EXPECT_U64(fake.last.op, AP_SVC_IOCTL);
	EXPECT_U64(fake.last.arg[0], fake_inode(fd));
	EXPECT_U64(fake.last.arg[1], AP_PERF_IOC_SET_OUTPUT);
	EXPECT_U64(fake.last.arg[2], fake_inode(known));
	EXPECT_U64(fake.last.in_size, 0);
	EXPECT_U64(fake.last.out_size, 0);
	EXPECT(control(fd, AP_PERF_IOC_SET_OUTPUT, (u64)null) == 0);
	EXPECT_U64(fake.last.arg[2], ~0ULL);
	EXPECT(control(fd, AP_PERF_IOC_SET_OUTPUT, ~0ULL) == 0);
	EXPECT_U64(fake.last.arg[2], 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(an_event_is_a_pipe_without_a_writer),
		TAP(a_refusal_leaves_no_descriptor),
		TAP(attrs_are_copied_by_their_size),
		TAP(the_limit_counts_one_descriptor),
		TAP(reads_copy_what_is_answered),
		TAP(a_long_answer_comes_in_parts),
		TAP(commands_carry_what_they_point_to),
		TAP(other_commands_are_those_of_any_file),
		TAP(a_close_is_told),
		TAP(a_waiting_signal_comes_first),
		TAP(a_task_with_a_filter_is_mute),
		TAP(a_mute_task_asks_about_a_descriptor_first),
		TAP(without_a_supervisor_there_is_no_device),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
