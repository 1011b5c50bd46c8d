/* SPDX-License-Identifier: MIT */
/*
 * The kernel as judge: the rows of the core's open test that software events can show, asked of the
 * running kernel.  Rows of other types, or of cgroups that would have to exist, are left out.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/errno.h"
#include "rows.h"
#include "tap/tap.h"
#include "world.h"

/* Checks have come and gone: this is the oldest kernel that was seen to agree in all. */
#define KERNEL_MAJOR 6
#define KERNEL_MINOR 18

static pid_t other;

static int native_open(struct ap_perf_attr *a, pid_t pid, int cpu, int group, u64 flags)
{
	long r = syscall(SYS_perf_event_open, a, pid, cpu, group, (unsigned long)flags);

	return r < 0 ? -errno : (int)r;
}

static void group_at(int at, struct ap_perf_attr a, pid_t pid, int cpu, int group, u64 flags)
{
	int fd = native_open(&a, pid, cpu, group, flags);

	REQUIRE(fd >= 0 && dup2(fd, at) == at);
	close(fd);
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
		for (;;)
			pause();
	}
	REQUIRE(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void make_groups(void)
{
	struct ap_perf_attr soft = { .type = AP_PERF_TYPE_SOFTWARE,
				     .size = sizeof(soft),
				     .config = AP_PERF_COUNT_SW_DUMMY,
				     .flags = AP_PERF_EXCLUDE_KERNEL };
	struct ap_perf_attr inherit = soft, clock = soft;
	pid_t dead = sleeper();

	inherit.flags |= AP_PERF_INHERIT;
	clock.flags |= AP_PERF_USE_CLOCKID;
	clock.clockid = AP_CLOCK_MONOTONIC;
	group_at(G_SOFT, soft, 0, -1, -1, 0);
	group_at(G_MEMBER, soft, 0, -1, G_SOFT, 0);
	group_at(G_CPU, soft, -1, 0, -1, 0);
	group_at(G_INHERIT, inherit, 0, -1, -1, 0);
	group_at(G_CLOCK, clock, 0, -1, -1, 0);
	group_at(G_DEAD, soft, dead, -1, -1, 0);
	end(dead);
	REQUIRE(dup2(2, NOT_PERF) == NOT_PERF);
}

static bool can_ask(const struct row *r)
{
	bool cgroup = r->call_flags & AP_PERF_FLAG_PID_CGROUP;

	return r->type == AP_PERF_TYPE_SOFTWARE && r->group != G_HARD && r->group != G_CG &&
	       !(cgroup && r->pid >= 500 && r->cpu >= 0);
}

static pid_t pid_of(const struct row *r)
{
	switch (r->pid) {
	case 100:
		return getpid();
	case 101:
		return other;
	case 9999:
		return 0x7ffffff0; /* more than any kernel has */
	default:
		return r->pid;
	}
}

static int cpu_of(const struct row *r)
{
	return r->cpu == NCPUS ? 1 << 20 : r->cpu > 1 ? 0 : r->cpu;
}

static void need_a_kernel_that_answers(void)
{
	struct ap_perf_attr a = { .type = AP_PERF_TYPE_SOFTWARE,
				  .size = sizeof(a),
				  .config = AP_PERF_COUNT_SW_DUMMY };
	struct utsname u;
	char *rest;
	long major, minor;
	int fd;

	uname(&u);
	major = strtol(u.release, &rest, 10);
	minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
	if (major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR))
		tap_lack("a kernel older than 6.18");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		tap_lack("one CPU only");
	fd = native_open(&a, -1, 0, -1, 0);
	if (fd < 0)
		tap_lack("no privilege for events of a CPU");
	close(fd);
}

static void the_kernel_says_the_same(void)
{
	u32 asked = 0;

	need_a_kernel_that_answers();
	other = sleeper();
	make_groups();
	for (u32 i = 0; i < nr_open_rows; i++) {
		const struct row *r = &open_rows[i];
		struct ap_perf_attr a = attr_of(r);
		int fd;

		if (!can_ask(r))
			continue;
		fd = native_open(&a, pid_of(r), cpu_of(r), r->group ? r->group : -1, r->call_flags);
		asked++;
		if (!EXPECT_U64(fd < 0 ? -fd : 0, r->want))
			tap_note("row of line %d", r->line);
		if (fd >= 0)
			close(fd);
	}
	end(other);
	EXPECT(asked > 60);
}

/* How many events a group takes, by what a read of it would be long. */
static void groups_end_where_the_cores_do(void)
{
	struct ap_perf_attr a = { .type = AP_PERF_TYPE_SOFTWARE,
				  .size = sizeof(a),
				  .config = AP_PERF_COUNT_SW_DUMMY,
				  .flags = AP_PERF_EXCLUDE_KERNEL,
				  .read_format = AP_PERF_FORMAT_GROUP | AP_PERF_FORMAT_ID };
	struct rlimit files = { 4096, 4096 };
	int leader, r;
	u32 n = 1;

	need_a_kernel_that_answers();
	if (setrlimit(RLIMIT_NOFILE, &files))
		tap_lack("no 4096 descriptors");
	leader = native_open(&a, 0, -1, -1, 0);
	REQUIRE(leader >= 0);
	while ((r = native_open(&a, 0, -1, leader, 0)) >= 0)
		n++;
	EXPECT_U64(n, 1023);
	EXPECT_U64(r, -AP_E2BIG);
}

/* --- rules that the core's tests call measured */

static struct ap_perf_attr clock_attr(u64 flags, u64 read_format)
{
	return (struct ap_perf_attr){ .type = AP_PERF_TYPE_SOFTWARE,
				      .size = sizeof(struct ap_perf_attr),
				      .config = AP_PERF_COUNT_SW_TASK_CLOCK,
				      .flags = flags,
				      .read_format = read_format };
}

static int control(int fd, u32 cmd, const void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

static void work(void)
{
	for (volatile u32 i = 0; i < 1000000; i++)
		;
}

static u64 count_of(int fd)
{
	u64 v = 0;

	REQUIRE(read(fd, &v, sizeof(v)) == sizeof(v));
	return v;
}

static void prctl_switches_members(void)
{
	struct ap_perf_attr a = clock_attr(0, 0);
	int leader, member;
	u64 before;

	need_a_kernel_that_answers();
	leader = native_open(&a, 0, -1, -1, 0);
	member = native_open(&a, 0, -1, leader, 0);
	REQUIRE(!prctl(PR_TASK_PERF_EVENTS_DISABLE));
	control(leader, AP_PERF_IOC_ENABLE, NULL);
	before = count_of(member);
	work();
	EXPECT_U64(count_of(member), before);
}

static void ioctls_are_refused_alike(void)
{
	struct ap_perf_attr a = clock_attr(0, 0), b = a;
	struct pollfd p = { .events = POLLIN };
	u64 five = 5;
	int fd;

	need_a_kernel_that_answers();
	p.fd = fd = native_open(&a, 0, -1, -1, 0);
	EXPECT_U64(control(fd, 0x2499, NULL), -AP_ENOTTY);
	EXPECT_U64(control(fd, AP_PERF_IOC_REFRESH, NULL), -AP_EINVAL);
	EXPECT_U64(control(fd, AP_PERF_IOC_PERIOD, NULL), -AP_EFAULT);
	EXPECT_U64(control(fd, AP_PERF_IOC_PERIOD, &five), -AP_EINVAL);
	EXPECT_U64(control(fd, AP_PERF_IOC_ID, NULL), -AP_EFAULT);
	EXPECT_U64(control(fd, AP_PERF_IOC_SET_FILTER, NULL), -AP_EFAULT);
	EXPECT_U64(control(fd, AP_PERF_IOC_SET_FILTER, "x"), -AP_EINVAL);
	EXPECT_U64(control(fd, AP_PERF_IOC_PAUSE_OUTPUT, NULL), -AP_EINVAL);
	EXPECT_U64(control(fd, AP_PERF_IOC_MODIFY_ATTRIBUTES, NULL), -AP_EFAULT);
	EXPECT_U64(control(fd, AP_PERF_IOC_MODIFY_ATTRIBUTES, &b), -AP_EINVAL);
	EXPECT_U64(control(fd, AP_PERF_IOC_SET_OUTPUT, (void *)(uintptr_t)fd), -AP_EINVAL);
	EXPECT_U64(control(fd, AP_PERF_IOC_SET_OUTPUT, (void *)0xffffffffUL), -AP_EBADF);
	EXPECT_U64(control(fd, AP_PERF_IOC_SET_OUTPUT, (void *)~0UL), 0);
	poll(&p, 1, 0);
	EXPECT_U64(p.revents, POLLHUP);
}

static void outputs_are_redirected_alike(void)
{
	struct ap_perf_attr a = clock_attr(0, 0);
	int x, y, z;

	need_a_kernel_that_answers();
	x = native_open(&a, 0, -1, -1, 0);
	y = native_open(&a, 0, -1, -1, 0);
	z = native_open(&a, 0, -1, -1, 0);
	EXPECT_U64(control(y, AP_PERF_IOC_SET_OUTPUT, (void *)(uintptr_t)x), -AP_EINVAL);
	REQUIRE(mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, x, 0) != MAP_FAILED);
	EXPECT_U64(control(y, AP_PERF_IOC_SET_OUTPUT, (void *)(uintptr_t)x), 0);
	EXPECT_U64(control(z, AP_PERF_IOC_SET_OUTPUT, (void *)(uintptr_t)y), 0);
	EXPECT_U64(control(x, AP_PERF_IOC_SET_OUTPUT, (void *)~0UL), -AP_EINVAL);
	EXPECT(mmap(NULL, 3 * 4096, PROT_READ, MAP_SHARED, y, 0) == MAP_FAILED && errno == EBUSY);
	EXPECT(mmap(NULL, 5 * 4096, PROT_READ, MAP_SHARED, y, 0) == MAP_FAILED && errno == EINVAL);
	EXPECT_U64(control(z, AP_PERF_IOC_SET_OUTPUT, (void *)~0UL), 0);
	EXPECT(mmap(NULL, 4096, PROT_READ, MAP_SHARED, z, 0) != MAP_FAILED);
	EXPECT_U64(control(z, AP_PERF_IOC_PAUSE_OUTPUT, (void *)1), -AP_EINVAL);
	EXPECT_U64(control(y, AP_PERF_IOC_PAUSE_OUTPUT, (void *)1), 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(the_kernel_says_the_same),	   TAP(groups_end_where_the_cores_do),
		TAP(prctl_switches_members),	   TAP(ioctls_are_refused_alike),
		TAP(outputs_are_redirected_alike), { 0 }
	};

	return tap_main(tests, argc, argv);
}
