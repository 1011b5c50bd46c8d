/* SPDX-License-Identifier: MIT */
/* FLAGS: -Wall */
/*
 * A program written against perfctr 2.6, from its interface alone: what a device answers, and a thread's own counters by
 * system calls, by the mapped page, by rdpmc.  Counts are exact: the differences of two measurements of loops
 * whose lengths differ are compared with ==.
 */
#include "perfctr26.h"

#include <errno.h>
#include <stdlib.h>

static void say(const char *what, long ret)
{
	if (ret < 0)
		printf("%s: %s\n", what, strerror(errno));
	else
		printf("%s: %s\n", what, ret ? "more than 0" : "0");
}

static void info(void)
{
	struct info i;
	uint32_t masks[8] = { 0 }, few[1] = { 0 };
	int dev = open("/dev/perfctr", O_RDONLY), fds[2];
	uint32_t abi = 0;
	struct statx stx;
	struct stat st;

	if (dev < 0)
		fail("open");
	if (stat("/dev/perfctr", &st) || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(10, 182))
		fail("stat");
	if (statx(AT_FDCWD, "/dev/perfctr", 0, STATX_BASIC_STATS, &stx) || !S_ISCHR(stx.stx_mode) ||
	    stx.stx_rdev_major != 10 || stx.stx_rdev_minor != 182)
		fail("statx");
	if (access("/dev/perfctr", R_OK) || !access("/dev/perfctr", X_OK))
		fail("access");
	if (ioctl(dev, PERFCTR_ABI, &abi))
		fail("abi");
	if (get_info(dev, &i))
		fail("info");
	printf("abi %x %x type %u features %u mult %u khz %s\n", abi, i.abi, i.type, i.features,
	       i.mult, i.khz > 100000 ? "some" : "none");
	say("cpus", ioctl(dev, PERFCTR_CPUS, few));
	printf("needs %u\n", few[0] ? 1 : 0);
	masks[0] = few[0];
	if (ioctl(dev, PERFCTR_CPUS, masks) || !(masks[1] & 1))
		fail("cpus");
	masks[1] = 7;
	if (ioctl(dev, PERFCTR_FORBIDDEN, masks))
		fail("forbidden");
	printf("forbidden %u\n", masks[1]);
	say("read", read(dev, &abi, 4));
	say("no such ioctl", ioctl(dev, 0xd0ff, 0));
	say("one of perf's", ioctl(dev, 0x2400, 0));
	say("a state's", ioctl(dev, VPERFCTR_IRESUME, 0));
	say("mmap", mmap(NULL, 4096, PROT_READ, MAP_SHARED, dev, 0) == MAP_FAILED ? -1 : 0);
	if (pipe(fds))
		fail("pipe");
	say("on a pipe", ioctl(fds[0], PERFCTR_ABI, &abi));
}

static void calls(void)
{
	struct control c = { 0 }, back;
	struct sum s;
	int dev = device(), none = ioctl(dev, VPERFCTR_OPEN, 0), fd, again;

	say("a handle", none);
	say("read", read_sum(none, &s));
	fd = creat_state(dev);
	say("again", ioctl(dev, VPERFCTR_CREAT, 0));
	again = ioctl(dev, VPERFCTR_OPEN, 0);
	say("iresume", ioctl(fd, VPERFCTR_IRESUME, 0));
	one_counter(&c, 0);
	c.preserve = 4;
	if (set_control(again, &c) || read_control(fd, &back))
		fail("control");
	printf("control %s\n", memcmp(&c, &back, sizeof(c)) ? "differs" : "comes back");
	c.cpu.nractrs = 100;
	say("many", set_control(fd, &c));
	say("an unknown tag", raw_control(fd, 45 << 16, 1));
	say("unlink", ioctl(fd, VPERFCTR_UNLINK, 0));
	one_counter(&c, 0);
	say("control", set_control(fd, &c));
	say("read", read_sum(fd, &s));
	say("unlink", ioctl(fd, VPERFCTR_UNLINK, 0));
	close(creat_state(dev));
	fd = ioctl(dev, VPERFCTR_OPEN, 0);
	say("without descriptors it lives", ioctl(fd, VPERFCTR_UNLINK, 0));
	say("no such thread", ioctl(dev, VPERFCTR_CREAT, 0x3fffffff));
}

/* 2n instructions. */
static uint64_t counted(int fd, uint64_t n)
{
	struct sum from, to;

	if (read_sum(fd, &from))
		fail("read");
	work(n);
	if (read_sum(fd, &to))
		fail("read");
	return to.pmc[0] - from.pmc[0];
}

static void sums(void)
{
	struct control c = { 0 };
	int fd = creat_state(device());
	struct sum s;
	uint64_t a, b;

	one_counter(&c, 0);
	if (set_control(fd, &c))
		fail("control");
	a = counted(fd, 1000);
	b = counted(fd, 1001000);
	printf("a million more: %llu\n", (unsigned long long)(b - a));
	memset(&c, 0, sizeof(c));
	if (set_control(fd, &c) || read_sum(fd, &s) || s.pmc[0] < 2 * 1002000ULL)
		fail("stopped");
	a = s.pmc[0];
	work(1000);
	if (read_sum(fd, &s) || s.pmc[0] != a)
		fail("not stopped");
	one_counter(&c, 0);
	if (set_control(fd, &c) || read_sum(fd, &s) || s.pmc[0] > 10000)
		fail("not zeroed");
	puts("stopped, kept, zeroed");
}

/* The same without privileges. */
static void nobody(void)
{
	if (!geteuid() && (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
		fail("setresuid");
	sums();
}

static uint64_t mapped(const volatile struct vperfctr_state *k, unsigned i, uint64_t n)
{
	uint64_t from = read_pmc(k, i);

	work(n);
	return read_pmc(k, i) - from;
}

/* A million instructions and branches more, by system calls, on whatever CPU it is. */
static void both(void)
{
	int fd = creat_state(device()), two;
	struct control c;
	struct sum s[3];

	two = two_counters(&c);
	if (set_control(fd, &c))
		fail("control");
	for (unsigned i = 0; i < 3; i++) {
		work(i == 2 ? 1001000 : 1000);
		if (read_sum(fd, &s[i]))
			fail("read");
	}
	for (int i = 0; i < 1 + two; i++)
		printf("%s: %llu\n", i ? "branches" : "instructions",
		       (unsigned long long)(s[2].pmc[i] - s[1].pmc[i] -
					    (s[1].pmc[i] - s[0].pmc[i])));
}

static int is_refused(int fd, size_t size, int prot, int flags, off_t at)
{
	errno = 0;
	return mmap(NULL, size, prot, flags, fd, at) == MAP_FAILED && errno == EPERM;
}

static const volatile struct vperfctr_state *map(int fd)
{
	void *k;

	if (!is_refused(fd, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 0) ||
	    !is_refused(fd, 8192, PROT_READ, MAP_SHARED, 0) ||
	    !is_refused(fd, 4096, PROT_READ, MAP_SHARED, 4096) ||
	    !is_refused(fd, 4096, PROT_READ, MAP_PRIVATE, 0))
		fail("a mapping that is none");
	k = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (k == MAP_FAILED)
		fail("mmap");
	/* nor may it be written to later */
	if (!mprotect(k, 4096, PROT_READ | PROT_WRITE) || errno != EACCES)
		fail("mprotect");
	if (mprotect(k, 4096, PROT_NONE) || mprotect(k, 4096, PROT_READ))
		fail("mprotect for reading");
	return k;
}

/* What the page says, and the call, is the same; and it goes on without a descriptor. */
static void agree(const volatile struct vperfctr_state *k, int fd)
{
	uint64_t tsc, before = read_pmc(k, 0);
	struct sum s;

	if (read_sum(fd, &s) || s.pmc[0] < before || read_pmc(k, 0) < s.pmc[0])
		fail("the page and the call do not agree");
	tsc = k->cpu_state.tsc_sum + (uint32_t)((uint32_t)rdtsc() - k->cpu_state.tsc_start);
	if (read_sum(fd, &s) || !s.tsc || !tsc)
		fail("no time");
	close(fd);
	if (mapped(k, 0, 1001000) < 2002000)
		fail("closed");
	puts("the page goes on");
}

static void page(void)
{
	const volatile struct vperfctr_state *k;
	struct control c;
	struct info info;
	int fd = creat_state(device());
	uint64_t before;

	k = map(fd);
	printf("cstatus %x\n", k->cpu_state.cstatus);
	two_counters(&c);
	if (set_control(fd, &c))
		fail("control");
	this_cpu(&info);
	if (!(info.features & 1)) {
		printf("no rdpmc: cstatus %x\n", k->cpu_state.cstatus);
		return;
	}
	mapped(k, 0, 1000);
	for (unsigned i = 0; i < c.cpu.nractrs; i++) {
		before = mapped(k, i, 1000);
		printf("%s: %llu\n", i ? "branches" : "instructions",
		       (unsigned long long)(mapped(k, i, 1001000) - before));
	}
	if (c.cpu.tsc_on)
		agree(k, fd);
}

int main(int argc, char **argv)
{
	static const struct named tests[] = { { "info", info }, { "calls", calls },
					      { "sums", sums }, { "nobody", nobody },
					      { "both", both }, { "page", page } };

	return run_named(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
