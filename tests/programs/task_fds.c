/* SPDX-License-Identifier: MIT */
/* Descriptors and limits: nothing of the engine's is met, taken or lost. */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "task_test.h"

/* The numbers that a folder of /proc lists, without the one that reads it. */
static void list(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int fds[256], n = 0;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(d) && n < 256)
			fds[n++] = atoi(e->d_name);
	printf("%s:", path);
	for (int i = 0; i < n; i++)
		printf(" %d", fds[i]);
	printf("\n");
	if (d)
		closedir(d);
}

static int child_works(void)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	return status == 5 << 8;
}

static void close_all(int how)
{
	int max = (int)sysconf(_SC_OPEN_MAX);
	DIR *d;
	struct dirent *e;

	switch (how) {
	case 0:
		for (int fd = 3; fd < max && fd < 70000; fd++)
			close(fd);
		break;
	case 1:
		close_range(3, ~0U, 0);
		break;
	case 2:
		close_range(3, ~0U, CLOSE_RANGE_UNSHARE);
		break;
	case 3:
		d = opendir("/proc/self/fd");
		while (d && (e = readdir(d)))
			if (atoi(e->d_name) > 2 && atoi(e->d_name) != dirfd(d))
				close(atoi(e->d_name));
		closedir(d);
		break;
	default:
		close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	}
}

static void test_close_all(void)
{
	for (int how = 0; how < 5; how++) {
		pid_t pid = fork();
		int status = 0;

		if (!pid) {
			close_all(how);
			_exit(child_works() && open("/dev/null", O_RDONLY) >= 3 ? 0 : 1);
		}
		waitpid(pid, &status, 0);
		printf("%d: ", how);
		CHECK(status == 0, "close all, then fork and exec");
	}
}

/* How many descriptors a process may really open under a limit. */
static void test_limit(rlim_t cur)
{
	struct rlimit lim, old;
	int n = 0, last = -1, fd;
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid) {
		waitpid(pid, &status, 0);
		printf("status %d\n", status);
		return;
	}
	getrlimit(RLIMIT_NOFILE, &old);
	lim = old;
	lim.rlim_cur = cur;
	if (setrlimit(RLIMIT_NOFILE, &lim) || getrlimit(RLIMIT_NOFILE, &lim))
		_exit(1);
	printf("limit %ld\n", (long)lim.rlim_cur);
	while ((fd = dup(0)) >= 0) {
		n++;
		last = fd;
	}
	printf("opened %d, last %d, errno %d\n", n, last, errno);
	/* every number below is ours to use, the ones above are not */
	fd = dup2(0, (int)cur);
	printf("beyond %d %d\n", fd, errno);
	for (fd = 3; fd < (int)cur; fd++)
		if (dup2(1, fd) != fd)
			printf("dup2 %d: %d\n", fd, errno);
	for (fd = 3; fd < (int)cur; fd++)
		if (close(fd))
			printf("close %d: %d\n", fd, errno);
	printf("works %d\n", child_works());
	fflush(stdout);
	_exit(0);
}

/* Numbers high up: whichever is not open says so, whichever is wanted can be had. */
static void test_high(void)
{
	struct rlimit lim;
	int bad = 0;

	getrlimit(RLIMIT_NOFILE, &lim);
	for (int fd = 3; fd < (int)lim.rlim_cur && fd < 8192; fd++) {
		if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
			bad++;
		if (close(fd) != -1 || errno != EBADF)
			bad++;
	}
	CHECK(!bad, "high numbers are closed");
	for (int fd = 3; fd < (int)lim.rlim_cur && fd < 8192; fd++)
		if (dup2(0, fd) != fd || fcntl(fd, F_GETFD))
			bad++;
	CHECK(!bad, "high numbers can be had");
	CHECK(child_works(), "with all of them open");
	for (int fd = 3; fd < 8192; fd++)
		close(fd);
	CHECK(child_works(), "with all of them closed");
}

static void test_memory_limits(void)
{
	static const int which[] = { RLIMIT_AS, RLIMIT_DATA, RLIMIT_MEMLOCK };
	struct rlimit lim, got;

	for (int i = 0; i < 3; i++) {
		rlim_t unit = i == 2 ? 1 : 1024;
		int status;
		pid_t pid;

		fflush(stdout);
		pid = fork();

		if (!pid) {
			getrlimit((__rlimit_resource_t)which[i], &lim);
			printf("%d\n", lim.rlim_cur == RLIM_INFINITY);
			lim.rlim_cur = 600000 * unit;
			lim.rlim_max = 700000 * unit;
			if (setrlimit((__rlimit_resource_t)which[i], &lim))
				_exit(1);
			getrlimit((__rlimit_resource_t)which[i], &got);
			printf("%ld %ld\n", (long)got.rlim_cur, (long)got.rlim_max);
			fflush(stdout);
			if (i == 0)
				execl("/bin/sh", "sh", "-c", "ulimit -v; ulimit -H -v; exit 5",
				      (char *)NULL);
			_exit(child_works() ? 5 : 1);
		}
		waitpid(pid, &status, 0);
		CHECK(status == 5 << 8, "a memory limit");
	}
}

struct limits {
	struct rlimit as, nofile;
};

static void get_limits(struct limits *l)
{
	getrlimit(RLIMIT_AS, &l->as);
	getrlimit(RLIMIT_NOFILE, &l->nofile);
}

/* On the parent's memory, with limits of its own, which its child has from it. */
static int limit_and_fork(void *arg)
{
	const struct rlimit as = { 600000 << 10, 700000 << 10 }, nofile = { 100, 120 };
	struct limits *got = arg;
	int status = 1;
	pid_t pid;

	if (setrlimit(RLIMIT_AS, &as) || setrlimit(RLIMIT_NOFILE, &nofile))
		_exit(1);
	get_limits(&got[0]);
	pid = (pid_t)syscall(SYS_fork);
	if (!pid) {
		get_limits(&got[1]);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	_exit(status != 0);
}

static void test_limits_of_vfork_child(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct limits before, after;
	int status = 1;
	struct limits *got =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	get_limits(&before);
	pid = clone(limit_and_fork, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, got);
	waitpid(pid, &status, 0);
	CHECK(!status, "a vfork child sets limits and forks");
	for (int i = 0; i < 2; i++)
		printf("%ld %ld %ld %ld\n", (long)got[i].as.rlim_cur, (long)got[i].as.rlim_max,
		       (long)got[i].nofile.rlim_cur, (long)got[i].nofile.rlim_max);
	get_limits(&after);
	CHECK(!memcmp(&before, &after, sizeof(before)), "the parent's limits are as they were");
	munmap(got, 4096);
}

/* On the parent's memory and, until it says otherwise, in its descriptor table. */
static int fill_own_table(void *arg)
{
	if (arg ? close_range(4000, 4001, CLOSE_RANGE_UNSHARE) : unshare(CLONE_FILES))
		_exit(1);
	for (int fd = 20; fd < 4200; fd++)
		dup2(0, fd);
	_exit(0);
}

static void test_unshare(bool by_close_range)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid = clone(fill_own_table, stack + sizeof(stack),
			  CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD,
			  by_close_range ? &stack : NULL);
	int status = 1;

	waitpid(pid, &status, 0);
	CHECK(!status, "a child takes all numbers in a table of its own");
	list("/proc/self/fd");
	CHECK(child_works(), "and the parent's table is as it was");
}

/* What another process has under any number is there. */
static void test_list_of_child(void)
{
	int go[2], ready[2], n = 0;
	char path[64], c;
	struct dirent *e;
	pid_t pid;
	DIR *d;

	if (pipe(go) || pipe(ready))
		exit(2);
	pid = fork();
	if (!pid) {
		for (int fd = 20; fd < 4200; fd++)
			dup2(0, fd);
		(void)!write(ready[1], "x", 1);
		_exit(read(go[0], &c, 1) == 1 ? 0 : 1);
	}
	(void)!read(ready[0], &c, 1);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		n += atoi(e->d_name) >= 4000 && atoi(e->d_name) < 4200;
	printf("%d numbers of the child\n", n);
	closedir(d);
	(void)!write(go[1], "x", 1);
	waitpid(pid, NULL, 0);
	close(go[0]);
	close(go[1]);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	close_range(3, ~0U, 0);
	list("/proc/self/fd");
	list("/proc/self/fdinfo");
	list("/proc/thread-self/fd");
	test_unshare(false);
	test_unshare(true);
	test_list_of_child();
	test_close_all();
	test_limit(20);
	test_limit(64);
	test_limit(500);
	test_high();
	test_memory_limits();
	test_limits_of_vfork_child();
	return task_failed;
}
