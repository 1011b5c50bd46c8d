/* SPDX-License-Identifier: MIT */
/* The table of descriptor numbers: looked at once, forgotten by what closes a number. */
#include "service/fds.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake.h"
#include "tap/tap.h"

static void each_number_is_looked_at_once(void)
{
	s32 fd, other, pipes[2];

	fake_start(NULL);
	fd = fake_perf_fd();
	REQUIRE(!pipe(pipes));
	other = open("/dev/null", O_RDONLY);
	for (u32 i = 0; i < 3; i++) {
		EXPECT_U64(ap_fds_event(fd), fake_inode(fd));
		EXPECT_U64(ap_fds_event(other), 0);
		EXPECT_U64(ap_fds_event(pipes[0]), 0);
	}
	EXPECT_U64(fake.fstats, 3);
	EXPECT_U64(ap_fds_event(-1), 0);
	EXPECT_U64(ap_fds_event(1 << 20), 0);
}

/* A number after its close is what it is then: by close, dup2, dup3 and close_range. */
static void a_closed_number_means_something_else(void)
{
	s32 a, b, null;

	fake_start(NULL);
	fake.session->perf_used = 1;
	fake.session->supervisor = 0; /* no answers, and none waited for */
	a = fake_perf_fd();
	null = open("/dev/null", O_RDONLY);
	EXPECT(ap_fds_event(a) != 0);
	EXPECT(!fake_call(SYS_close, (u64)a, 0, 0, 0, 0, 0));
	EXPECT_U64(ap_fds_event(a), 0);
	EXPECT(dup(null) == a); /* the lowest: nothing was closed, so nothing is to be forgotten */
	EXPECT_U64(ap_fds_event(a), 0);

	b = fake_perf_fd();
	EXPECT(fake_call(SYS_dup2, (u64)b, (u64)a, 0, 0, 0, 0) == a);
	EXPECT_U64(ap_fds_event(a), fake_inode(b));
	EXPECT(fake_call(SYS_dup3, (u64)null, (u64)a, O_CLOEXEC, 0, 0, 0) == a);
	EXPECT_U64(ap_fds_event(a), 0);
	EXPECT(fake_call(SYS_dup2, (u64)b, (u64)b, 0, 0, 0, 0) == b);
	EXPECT_U64(ap_fds_event(b), fake_inode(b));
	EXPECT(!fake_call(SYS_close_range, (u64)a, ~0U, CLOSE_RANGE_CLOEXEC, 0, 0, 0));
	EXPECT_U64(ap_fds_event(b), fake_inode(b));
	EXPECT(!fake_call(SYS_close_range, (u64)a, ~0U, 0, 0, 0, 0));
	EXPECT_U64(ap_fds_event(b), 0);
}

/* A number can be opened without anything that closes it: nothing is remembered of a closed one. */
static void a_number_that_nobody_has_may_be_anything_next(void)
{
	s32 fd, again;

	fake_start(NULL);
	fd = fake_perf_fd();
	close(fd); /* the table knows nothing of it */
	EXPECT_U64(ap_fds_event(fd), 0);
	EXPECT_U64(ap_fds_tree(fd), 0);
	again = fake_perf_fd();
	EXPECT(again == fd);
	EXPECT_U64(ap_fds_event(again), fake_inode(again));
}

static s32 raced;

/* Between the look's decision and its fstat's answer: the number becomes another file. */
static void close_and_open(void)
{
	fake.at_fstat = NULL;
	fake_call(SYS_close, (u64)raced, 0, 0, 0, 0, 0);
}

static void what_was_seen_before_a_close_is_not_kept(void)
{
	struct ap_service_call c = { .nr = SYS_close };
	s32 fd;

	fake_start(NULL);
	fake.session->perf_used = 1;
	fake.session->supervisor = 0;
	/* closed between the load of the entry and the fstat: the fstat is right, nothing is kept */
	raced = fake_perf_fd();
	fake.at_fstat = close_and_open;
	EXPECT_U64(ap_fds_event(raced), 0);
	fd = fake_perf_fd();
	EXPECT(fd == raced);
	EXPECT_U64(ap_fds_event(fd), fake_inode(fd));

	/* while another thread is in close, what is seen is not kept either */
	c.a[0] = (u64)fd;
	EXPECT(!ap_service_before(&c));
	EXPECT_U64(ap_fds_event(fd), fake_inode(fd));
	close(fd);
	EXPECT_U64(ap_fds_event(fd), 0);
	ap_service_after(&c);
	fd = fake_perf_fd();
	EXPECT_U64(ap_fds_event(fd), fake_inode(fd));
}

static void own_descriptors_do_not_use_the_table(void)
{
	s32 fd;

	fake_start(NULL);
	fd = fake_perf_fd();
	fake.own_files = true;
	EXPECT(ap_fds_event(fd) && ap_fds_event(fd));
	EXPECT_U64(fake.fstats, 2);
	fake.own_files = false;
	ap_service_files_shared();
	EXPECT(ap_fds_event(fd) && ap_fds_event(fd));
	EXPECT_U64(fake.fstats, 4);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(each_number_is_looked_at_once),
		TAP(a_closed_number_means_something_else),
		TAP(a_number_that_nobody_has_may_be_anything_next),
		TAP(what_was_seen_before_a_close_is_not_kept),
		TAP(own_descriptors_do_not_use_the_table),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
