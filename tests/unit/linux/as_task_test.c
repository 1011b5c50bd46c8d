/* SPDX-License-Identifier: MIT */
/* Paths as a task finds them: by its rights, below its root, and in time. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/task/as_task.h"
#include "tap/tap.h"

#define NOBODY 65534

static char top[64];
static struct ap_as_task as;

static bool is_still_itself = true;

static bool is_itself(const struct ap_as_task *task)
{
	return task->pid > 0 && is_still_itself;
}

static void make_file(const char *name, mode_t mode)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, mode);
	REQUIRE(fd >= 0);
	close(fd);
}

static void make_folder(const char *name, mode_t mode)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	REQUIRE(!mkdir(path, 0700) && !chmod(path, mode));
}

/* top/open/file, top/closed/file, both the same to root, and top/open/link to /file */
static void make_tree(void)
{
	char path[128];

	strcpy(top, "/tmp/as_task.XXXXXX");
	REQUIRE(mkdtemp(top) && !chmod(top, 0755));
	make_folder("open", 0755);
	make_folder("closed", 0700);
	make_file("open/file", 0600);
	make_file("closed/file", 0644);
	snprintf(path, sizeof(path), "%s/open/link", top);
	REQUIRE(!symlink("/file", path));
}

static void end(void)
{
	char path[128];
	static const char *const names[] = { "open/file", "open/link", "closed/file",
					     "open",	  "closed",    "" };

	kill(as.pid, SIGKILL);
	waitpid(as.pid, NULL, 0);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", top, names[i]);
		(void)remove(path);
	}
}

/* A task in top/open, with that for its root, or in the same as we; of another user. */
static void make_task(bool has_root)
{
	char path[128];
	int told[2];
	char c;

	if (getuid())
		tap_lack("only root can become another user");
	make_tree();
	REQUIRE(!pipe(told));
	as.pid = as.tid = fork();
	as.is_less = true;
	as.is_itself = is_itself;
	REQUIRE(as.pid >= 0);
	if (!as.pid) {
		snprintf(path, sizeof(path), "%s/open", top);
		if (!chdir(path) && !(has_root && chroot(".")) &&
		    !syscall(SYS_setgroups, 0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) &&
		    !setresuid(NOBODY, NOBODY, NOBODY))
			(void)!write(told[1], "", 1);
		close(told[1]);
		pause();
		_exit(0);
	}
	close(told[1]);
	REQUIRE(read(told[0], &c, 1) == 1);
	close(told[0]);
}

static int found(s32 dirfd, const char *path)
{
	struct stat got, want;
	char file[128];
	int fd = ap_as_open(&as, dirfd, path);

	if (fd < 0)
		return fd;
	snprintf(file, sizeof(file), "%s/open/file", top);
	REQUIRE(!fstat(fd, &got) && !stat(file, &want));
	close(fd);
	return got.st_ino == want.st_ino;
}

static void it_has_the_tasks_rights(void)
{
	char path[128];
	int fd;

	make_task(false);
	snprintf(path, sizeof(path), "%s/open/file", top);
	EXPECT(found(AT_FDCWD, path) == 1);
	EXPECT(found(AT_FDCWD, "file") == 1);
	snprintf(path, sizeof(path), "%s/closed/file", top);
	EXPECT(found(AT_FDCWD, path) == -EACCES);
	EXPECT(found(AT_FDCWD, "../closed/file") == -EACCES);
	EXPECT(found(AT_FDCWD, "none") == -ENOENT);
	EXPECT(found(77, "file") == -ENOENT);
	/* ours are as they were, in all threads */
	snprintf(path, sizeof(path), "%s/closed/file", top);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	EXPECT(fd >= 0 && !geteuid() && syscall(SYS_setfsuid, -1) == 0);
	as.is_less = false;
	EXPECT(found(AT_FDCWD, path) == 0);
	end();
}

static void it_has_the_tasks_root(void)
{
	make_task(true);
	EXPECT(found(AT_FDCWD, "/file") == 1);
	EXPECT(found(AT_FDCWD, "file") == 1);
	EXPECT(found(AT_FDCWD, "/link") == 1);
	EXPECT(found(AT_FDCWD, "../../file") == 1);
	EXPECT(found(AT_FDCWD, "/etc/passwd") == -ENOENT);
	end();
}

/* /proc/self and /proc/PID/root lead to where we are, or to anywhere. */
static void no_way_leads_through_the_kernels_links(void)
{
	make_task(false);
	EXPECT(found(AT_FDCWD, "/proc/self/exe") == -ELOOP);
	EXPECT(found(AT_FDCWD, "/proc/1/root/etc/passwd") < 0);
	end();
}

/* It has executed a set-uid program, say, between what was read of it and the lookup. */
static void what_has_another_number_finds_nothing(void)
{
	make_task(false);
	EXPECT(found(AT_FDCWD, "file") == 1);
	is_still_itself = false;
	EXPECT(found(AT_FDCWD, "file") == -ESRCH);
	end();
}

static int held[2];
static u32 dropped;

static s64 hold(void *arg)
{
	char c;

	(void)arg;
	return read(held[0], &c, 1);
}

static void drop(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&dropped, 1, __ATOMIC_SEQ_CST);
}

static s64 time_out(void *arg)
{
	(void)arg;
	return -ETIMEDOUT;
}

/* A file system's own word is not that somebody else drops the job. */
static void an_answer_is_an_answer(void)
{
	as.is_less = true;
	EXPECT(ap_as_wait(&as, time_out, drop, NULL) == -EIO);
	as.is_less = false;
	EXPECT(ap_as_wait(&as, time_out, drop, NULL) == -EIO);
	EXPECT_U64(dropped, 0);
}

static s64 answer(void *arg)
{
	return *(s64 *)arg;
}

/* Nobody waits for a file system for long, and not for many; parties are looked at each by itself. */
static void what_does_not_answer_is_left(void)
{
	struct ap_as_task other = { .is_less = true, .party = AP_PARTY_MAX - 1 };
	s64 ret = 0, want = 7;

	REQUIRE(!pipe(held));
	as.is_less = true;
	as.party = 1;
	for (u32 i = 0; i < 4; i++)
		EXPECT(ap_as_wait(&as, hold, drop, NULL) == -ETIMEDOUT);
	EXPECT(ap_as_wait(&as, hold, drop, NULL) == -EAGAIN);
	EXPECT(ap_as_wait(&other, answer, drop, &want) == want);
	other.party = 0;
	EXPECT(ap_as_wait(&other, answer, drop, &want) == want);
	EXPECT_U64(dropped, 0);
	close(held[1]);
	while (__atomic_load_n(&dropped, __ATOMIC_SEQ_CST) < 4)
		sched_yield();
	while ((ret = ap_as_wait(&as, hold, drop, NULL)) == -EAGAIN)
		sched_yield();
	EXPECT(!ret);
	EXPECT_U64(dropped, 4);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(it_has_the_tasks_rights),
		TAP(it_has_the_tasks_root),
		TAP(no_way_leads_through_the_kernels_links),
		TAP(what_has_another_number_finds_nothing),
		TAP(an_answer_is_an_answer),
		TAP(what_does_not_answer_is_left),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
