/* SPDX-License-Identifier: MIT */
/*
 * Where the session's descriptor goes, and how a child that cannot exec says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/run/launch.h"
#include "tap/tap.h"

static void set_limit(rlim_t soft, rlim_t hard)
{
	const struct rlimit lim = { .rlim_cur = soft, .rlim_max = hard };

	if (setrlimit(RLIMIT_NOFILE, &lim))
		tap_lack("RLIMIT_NOFILE cannot be set");
}

static rlim_t soft_limit(void)
{
	struct rlimit lim;

	REQUIRE(getrlimit(RLIMIT_NOFILE, &lim) == 0);
	return lim.rlim_cur;
}

static void the_top_descriptor_is_a_new_one(void)
{
	u32 share = 0;

	set_limit(20, 30);
	EXPECT_U64(ap_fd_to_top(0, &share), 20);
	EXPECT_U64(share, 1);
	EXPECT_U64(soft_limit(), 21);
	EXPECT(!(fcntl(20, F_GETFD) & FD_CLOEXEC));
}

static void at_the_hard_limit_it_is_the_last_one(void)
{
	u32 share = 0;

	set_limit(20, 20);
	EXPECT_U64(ap_fd_to_top(0, &share), 19);
	EXPECT_U64(share, 0);
	EXPECT_U64(soft_limit(), 20);
	/* taken: the one below, and none when there is none */
	EXPECT_U64(ap_fd_to_top(0, &share), 18);
	while (dup(0) >= 0)
		;
	EXPECT(ap_fd_to_top(0, &share) == -EMFILE);
	EXPECT(fcntl(19, F_GETFD) >= 0);
}

static void a_huge_limit_makes_no_huge_table(void)
{
	struct rlimit lim;
	u32 share = 0;
	int fd;

	REQUIRE(getrlimit(RLIMIT_NOFILE, &lim) == 0);
	if (lim.rlim_max < 10000)
		tap_lack("a low hard limit of descriptors");
	set_limit(lim.rlim_max, lim.rlim_max);
	fd = ap_fd_to_top(0, &share);
	EXPECT(fd > 1000 && fd < 10000);
	EXPECT_U64(share, 0);
}

static void keep(const void *arg)
{
	(void)arg;
}

static const char *const extra[] = { "LAUNCH_OLD=2", "LAUNCH_NEW=3" };

/* The step that failed.  with_session: by a child that shares our memory, which gets descriptor 0 as the session's files. */
static enum ap_launch_step launch(const char *path, const char *arg, bool with_session, int *err,
				  int *status)
{
	char *const argv[] = { (char *)(uintptr_t)path, (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t)arg, NULL };
	struct ap_launch l = { .path = path,
			       .argv = argv,
			       .session_fd = with_session ? 0 : -1,
			       .env = extra,
			       .nenv = 2,
			       .sock = -1 };
	enum ap_launch_step step;
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	l.mask = &mask;
	l.restore_signals = keep;
	REQUIRE(ap_launch_fork(&l) == 0);
	REQUIRE(ap_launch_go(&l, !with_session) == 0);
	errno = 0;
	step = ap_launch_failure(&l, err);
	REQUIRE(waitpid(l.pid, status, 0) == l.pid);
	EXPECT_U64(errno, 0);
	ap_launch_fini(&l);
	return step;
}

static void a_child_tells_why_it_could_not_exec(void)
{
	int err, status;

	for (int with = 0; with < 2; with++) {
		EXPECT(launch("/nonexistent", "", with, &err, &status) == AP_LAUNCH_EXEC);
		EXPECT(err == -ENOENT);
		EXPECT(launch("/etc/passwd", "", with, &err, &status) == AP_LAUNCH_EXEC);
		EXPECT(err == -EACCES);
		EXPECT(launch("/bin/true", "", with, &err, &status) == AP_LAUNCH_READY);
		EXPECT_U64(err, 0);
		EXPECT_U64(status, 0);
	}
}

static void what_is_set_for_a_child_is_its_alone(void)
{
	int err, status;

	setenv("LAUNCH_OLD", "1", 1);
	for (int with = 0; with < 2; with++) {
		EXPECT(launch("/bin/sh", "exit 1$LAUNCH_OLD$LAUNCH_NEW", with, &err, &status) ==
		       AP_LAUNCH_READY);
		EXPECT_U64(WEXITSTATUS(status), 123);
		EXPECT_STR(getenv("LAUNCH_OLD"), "1");
		EXPECT(!getenv("LAUNCH_NEW"));
	}
}

static void a_held_child_can_be_aborted(void)
{
	char *const argv[] = { (char *)(uintptr_t) "true", NULL };
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int fd = -1; fd < 1; fd++) {
		struct ap_launch l = { .path = "/bin/true",
				       .argv = argv,
				       .session_fd = fd,
				       .mask = &mask,
				       .restore_signals = keep,
				       .sock = -1 };

		REQUIRE(ap_launch_fork(&l) == 0);
		ap_launch_abort(&l);
		EXPECT(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(the_top_descriptor_is_a_new_one),
						 TAP(at_the_hard_limit_it_is_the_last_one),
						 TAP(a_huge_limit_makes_no_huge_table),
						 TAP(a_child_tells_why_it_could_not_exec),
						 TAP(what_is_set_for_a_child_is_its_alone),
						 TAP(a_held_child_can_be_aborted),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
