/* SPDX-License-Identifier: MIT */
/*
 * What perf_event_open says to its arguments and to the fields of the attr: pid, cpu, group_fd, flags, versions, bits, and
 * what each kind of event can be.  An answer is 0 or an errno; nothing is counted here (abi_count.c does).
 */
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <stddef.h>

#include "../tests/programs/abi.h"

/* --- who, where, in which group, with which flags */

/* a: pid, b: cpu */
static long place(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();

	return abi_try(&attr, c->a, c->b, -1, 0);
}

/* a: flags; b: 0 without a group, 1 in the group of a leader, 2 of a descriptor of another kind */
static long flags(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();
	long group = c->b == 1 ? abi_open(&attr, -1) : c->b == 2 ? open("/dev/null", O_RDWR) : -1;

	return abi_try(&attr, c->a & PERF_FLAG_PID_CGROUP ? group : 0,
		       c->a & PERF_FLAG_PID_CGROUP ? 0 : -1,
		       c->a & PERF_FLAG_PID_CGROUP ? -1 : group, (unsigned long)c->a);
}

/* a: which bit a member has; b: its leader is a member itself */
enum { PINNED = 1, EXCLUSIVE };

static long member(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy(), odd = attr;
	long leader = abi_open(&attr, -1);

	if (c->b)
		leader = abi_open(&attr, leader);
	odd.pinned = c->a == PINNED;
	odd.exclusive = c->a == EXCLUSIVE;
	return abi_try(&odd, 0, -1, leader, 0);
}

static long leader(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();

	attr.pinned = c->a == PINNED;
	attr.exclusive = c->a == EXCLUSIVE;
	return abi_try(&attr, 0, -1, -1, 0);
}

/* A user who is nobody's kin counts itself; a: and not its parent, who is another. */
static long as_user(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();
	pid_t parent = getppid();

	if (c->a && geteuid())
		return ABI_LACKS;
	abi_be_user();
	return abi_try(&attr, c->a ? parent : 0, -1, -1, 0);
}

/* The folder of a cgroup, where there are any. */
static int cgroup(void)
{
	char at[256], type[64];
	FILE *f = fopen("/proc/mounts", "r");
	int fd = -1;

	while (f && fd < 0 && fscanf(f, "%*s %255s %63s %*[^\n]", at, type) == 2)
		if (!strcmp(type, "cgroup2"))
			fd = open(at, O_RDONLY | O_DIRECTORY);
	return fd;
}

/* Where nobody may count a CPU: a user, an event of one, or of a cgroup there */
static long as_user_on_cpu(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	int level = 2, dir = cgroup();

	if (f && fscanf(f, "%d", &level) == 1 && level < 1)
		return ABI_LACKS;
	if ((c->a && dir < 0) || geteuid())
		return ABI_LACKS;
	abi_be_user();
	return c->a ? abi_try(&attr, dir, 0, -1, PERF_FLAG_PID_CGROUP)
		    : abi_try(&attr, -1, 0, -1, 0);
}

/* a: levels of branches that a user asks for */
static long as_user_branches(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_instructions();

	attr.sample_period = 1000;
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = (uint64_t)c->a;
	if (geteuid())
		return ABI_LACKS;
	abi_be_user();
	return abi_try(&attr, 0, -1, -1, 0);
}

/* --- the attr as bytes: nothing here knows its names */

struct bytes {
	unsigned char b[4096];
};

static void put(struct bytes *a, unsigned int at, unsigned int size, uint64_t v)
{
	memcpy(a->b + at, &v, size);
}

/* PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY; exclude_kernel, exclude_hv */
static void dummy_bytes(struct bytes *a, unsigned int size)
{
	memset(a, 0, sizeof(*a));
	put(a, 0, 4, 1);
	put(a, 4, 4, size);
	put(a, 8, 8, 9);
	put(a, 40, 8, 1 << 5 | 1 << 6);
}

/* a: size */
static long of_size(const struct abi_case *c)
{
	struct bytes a;

	dummy_bytes(&a, (unsigned int)c->a);
	return abi_try((void *)&a, 0, -1, -1, 0);
}

/* A later version with something that nobody knows is told the size of the one that is. */
static long too_new(const struct abi_case *c)
{
	struct bytes a;
	uint32_t size;
	long ret;

	dummy_bytes(&a, 4096);
	put(&a, 4088, 8, 1);
	ret = abi_try((void *)&a, 0, -1, -1, 0);
	memcpy(&size, a.b + 4, 4);
	HOLDS(size >= 112 && size <= 4096 && !(size % 8));
	(void)c;
	return ret;
}

/* a: position of the word, b: bit that is set in it beside those that are needed */
static long bit_of(const struct abi_case *c)
{
	struct bytes a;
	uint64_t v;

	dummy_bytes(&a, 136);
	memcpy(&v, a.b + c->a, 8);
	put(&a, (unsigned int)c->a, 8, v | 1ULL << c->b);
	return abi_try((void *)&a, 0, -1, -1, 0);
}

/* a: size of an attr whose sample_regs_user, at 80, has a register; with REGS_USER (bit 12) one is needed */
static long behind_the_end(const struct abi_case *c)
{
	struct bytes a;

	dummy_bytes(&a, (unsigned int)c->a);
	put(&a, 24, 8, 1 << 12);
	put(&a, 80, 8, 1);
	return abi_try((void *)&a, 0, -1, -1, 0);
}

/* Reserved words: 48 bits behind sample_max_stack, and the 32 behind aux_sample_size. */
static long reserved_word(const struct abi_case *c)
{
	struct bytes a;

	dummy_bytes(&a, 136);
	put(&a, (unsigned int)c->a, (unsigned int)c->b, 1);
	return abi_try((void *)&a, 0, -1, -1, 0);
}

/* The bit of a flag in the word at 40, by what it does to a member: pinned and exclusive are for leaders. */
static long member_bit(const struct abi_case *c)
{
	struct bytes a;
	long group;

	dummy_bytes(&a, 136);
	group = abi_call(&a, 0, -1, -1, 0);
	put(&a, 40, 8, 1 << 5 | 1 << 6 | 1ULL << c->a);
	return abi_try((void *)&a, 0, -1, group, 0);
}

/* Each type with a config that it has; b: its config. */
static long type_bytes(const struct abi_case *c)
{
	struct bytes a;

	dummy_bytes(&a, 136);
	put(&a, 0, 4, (uint64_t)c->a);
	put(&a, 8, 8, (uint64_t)c->b);
	return abi_try((void *)&a, 0, -1, -1, 0);
}

/* --- fields */

/* a: type, b: config */
static long event(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr((uint32_t)c->a, (uint64_t)c->b);

	return abi_try(&attr, 0, -1, -1, 0);
}

/* The same of a type that is not ours: the kernel is asked, where it may be. */
static long foreign(const struct abi_case *c)
{
	long ret = event(c);

	return ret == -EPERM || ret == -EACCES ? ABI_LACKS : ret;
}

/* a: type, b: config, of one that samples with a period of 1000 */
static long sampled(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr((uint32_t)c->a, (uint64_t)c->b);

	attr.sample_period = 1000;
	attr.sample_type = PERF_SAMPLE_IP;
	return abi_try(&attr, 0, -1, -1, 0);
}

static long period(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();

	attr.sample_period = (uint64_t)c->a;
	return abi_try(&attr, 0, -1, -1, 0);
}

/* a: how much above perf_event_max_sample_rate */
static long frequency(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "r");
	long rate = 0;

	HOLDS(f && fscanf(f, "%ld", &rate) == 1 && rate > 0);
	attr.freq = 1;
	attr.sample_freq = (uint64_t)(rate + c->a);
	return abi_try(&attr, 0, -1, -1, 0);
}

enum { WITH_TID = 1, WITH_READ = 2, WITH_GROUP = 4 };

static long inherited(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();

	attr.inherit = 1;
	attr.read_format = c->a & WITH_GROUP ? PERF_FORMAT_GROUP : 0;
	attr.sample_type =
		(c->a & WITH_READ ? PERF_SAMPLE_READ : 0) | (c->a & WITH_TID ? PERF_SAMPLE_TID : 0);
	return abi_try(&attr, 0, -1, -1, 0);
}

/* a: bits that the attr has beside those it needs, as in the word at 40 */
static long excludes(const struct abi_case *c)
{
	struct perf_event_attr attr = c->b ? abi_instructions() : abi_dummy();
	uint64_t bits;

	memcpy(&bits, (char *)&attr + 40, 8);
	bits |= (uint64_t)c->a;
	memcpy((char *)&attr + 40, &bits, 8);
	return abi_try(&attr, 0, -1, -1, 0);
}

#define EXCLUDE_IDLE  (1L << 7)
#define EXCLUDE_HOST  (1L << 19)
#define EXCLUDE_GUEST (1L << 20)
#define CHAIN_KERNEL  (1L << 21)
#define CHAIN_USER    (1L << 22)

static long kernel_mode(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_instructions();

	attr.exclude_kernel = 0;
	attr.exclude_user = !!c->a;
	return abi_try(&attr, 0, -1, -1, 0);
}

/* a: precise_ip, b: period */
static long precise(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_instructions();

	attr.precise_ip = c->a & 3;
	attr.sample_period = (uint64_t)c->b;
	return abi_try(&attr, 0, -1, -1, 0);
}

static long read_format(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();

	attr.read_format = (uint64_t)c->a;
	return abi_try(&attr, 0, -1, -1, 0);
}

static long sample_type(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();

	attr.sample_type = (uint64_t)c->a;
	attr.sample_regs_user = attr.sample_regs_intr = 1;
	attr.branch_sample_type = (uint64_t)c->b;
	return abi_try(&attr, 0, -1, -1, 0);
}

/* --- breakpoints */

static char watched[64] __attribute__((aligned(64)));

/* a: bp_type, b: bp_len; addr: offset in watched */
static long breakpoint_at(long type, long len, uint64_t addr, uint64_t config)
{
	struct perf_event_attr attr = abi_attr(PERF_TYPE_BREAKPOINT, config);

	attr.bp_type = (uint32_t)type;
	attr.bp_len = (uint64_t)len;
	attr.bp_addr = addr;
	return abi_open(&attr, -1);
}

static long breakpoint(const struct abi_case *c)
{
	long fd = breakpoint_at(c->a, c->b, (uintptr_t)watched, 0);

	return fd < 0 ? fd : 0;
}

static long breakpoint_place(const struct abi_case *c)
{
	long fd = breakpoint_at(HW_BREAKPOINT_W, c->b, (uintptr_t)watched + (uint64_t)c->a, 0);

	return fd < 0 ? fd : 0;
}

static long breakpoint_of_kernel(const struct abi_case *c)
{
	long fd = breakpoint_at(HW_BREAKPOINT_W, 8, 0xffffffff81000000, 0);

	(void)c;
	return fd < 0 ? fd : 0;
}

static long breakpoint_config(const struct abi_case *c)
{
	long fd = breakpoint_at(HW_BREAKPOINT_W, 8, (uintptr_t)watched, (uint64_t)c->a);

	return fd < 0 ? fd : 0;
}

static long breakpoint_config2(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr(PERF_TYPE_BREAKPOINT, 0);

	attr.bp_type = HW_BREAKPOINT_W;
	attr.config1 = (uintptr_t)watched;
	attr.config2 = (uint64_t)c->a;
	return abi_try(&attr, 0, -1, -1, 0);
}

static long breakpoint_config1(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr(PERF_TYPE_BREAKPOINT, 0);

	(void)c;
	attr.bp_type = HW_BREAKPOINT_W;
	attr.config1 = 0xffffffff81000000;
	attr.config2 = 8;
	return abi_try(&attr, 0, -1, -1, 0);
}

/* How many fit; the next one's errno is where c->a says so. */
static long breakpoint_slots(const struct abi_case *c)
{
	long fd, n = 0;

	while ((fd = breakpoint_at(HW_BREAKPOINT_W, 8, (uintptr_t)watched, 0)) >= 0 && n < 100)
		n++;
	return c->a ? fd : n;
}

/* A number that is a PMU's in sysfs is a type; its own config 0 is an event, or what no event is. */
static long pmu_type(const struct abi_case *c)
{
	static const char *const names[] = { "software", "tracepoint", "breakpoint", "cpu" };
	char path[96];
	long type = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", names[c->a]);
	f = fopen(path, "r");
	if (!f)
		return -ENOENT;
	if (fscanf(f, "%ld", &type) != 1)
		type = -1;
	fclose(f);
	return type;
}

#define CACHE(cache, op, result) ((cache) | (op) << 8 | (result) << 16)
#define HIGH			 ((long)(1UL << 63))

static const struct abi_case cases[] = {
	{ "A-022", "pid -2", place, N | S, -ESRCH, -2, -1 },
	{ "A-022", "pid -2 on a CPU", place, N | S, -ESRCH, -2, 0 },
	{ "A-023", "cpu 0 of itself", place, N | S, 0, 0, 0 },
	{ "A-023", "cpu -2", place, N | S, -EINVAL, 0, -2 },
	{ "A-023", "cpu 100000", place, N | S, -EINVAL, 0, 100000 },
	{ "A-024", "pid -1 and cpu -1", place, N | S, -EINVAL, -1, -1 },
	{ "A-021", "a pid that nobody has", place, N | S, -ESRCH, 0x3fffffff, -1 },
	{ "A-028", "any user counts itself", as_user, N | S, 0, 0, 0 },
	{ "G-001", "any user counts itself", as_user, N | S, 0, 0, 0 },
	{ "G-002", "but not a task of root", as_user, R | S, -EACCES, 1, 0 },
	{ "G-004", "and hears EACCES", as_user, R | S, -EACCES, 1, 0 },
	{ "G-003", "a CPU is not for every user", as_user_on_cpu, R | S, -EACCES, 0, 0 },
	{ "X-05", "a CPU is not for every user", as_user_on_cpu, R | S, -EACCES, 0, 0 },
	{ "G-006", "nor is a cgroup on a CPU", as_user_on_cpu, R | S, -EACCES, 1, 0 },
	{ "G-005", "branches of kernel mode", as_user_branches, R | S, -EACCES, 8 | 2, 0 },
	{ "G-005", "of a hypervisor", as_user_branches, R | S, -EACCES, 8 | 4, 0 },
	{ "D-070", "of user mode", as_user_branches, S, 0, 8 | 1, 0 },
	{ "D-070", "no level is that of the excludes", as_user_branches, S, 0, 8, 0 },
	{ "D-070", "a kernel's needs permission", as_user_branches, R | S, -EACCES, 8 | 1 | 2, 0 },
	{ "X-06", "2: user mode alone", as_user, N | S, 0, 0, 0 },
	{ "A-030", "group_fd -1 makes a leader", leader, N | S, 0, 0, 0 },
	{ "A-033", "a group of a member", member, N | S, -EINVAL, 0, 1 },
	{ "A-033", "a group of no event", flags, N | S, -EBADF, 0, 2 },
	{ "A-041", "FD_NO_GROUP with an event", flags, N | S, 0, PERF_FLAG_FD_NO_GROUP, 1 },
	{ "Y-01", "FD_NO_GROUP with no event", flags, N | S, -EBADF, PERF_FLAG_FD_NO_GROUP, 2 },
	{ "A-044", "a cgroup that is none", flags, R | S, -EBADF, PERF_FLAG_PID_CGROUP, 2 },
	{ "A-045", "CLOEXEC", flags, N | S, 0, PERF_FLAG_FD_CLOEXEC, 0 },
	{ "A-045", "flag 16", flags, N | S, -EINVAL, 16, 0 },
	{ "A-045", "flag 1 << 31", flags, N | S, -EINVAL, 1L << 31, 0 },
	{ "A-070", "an attr by its bytes", of_size, N | S, 0, 136, 0 },
	{ "A-071", "size 64", of_size, N | S, 0, 64, 0 },
	{ "A-071", "size 72", of_size, N | S, 0, 72, 0 },
	{ "A-071", "size 80", of_size, N | S, 0, 80, 0 },
	{ "A-071", "size 96", of_size, N | S, 0, 96, 0 },
	{ "A-071", "size 104", of_size, N | S, 0, 104, 0 },
	{ "A-071", "size 112", of_size, N | S, 0, 112, 0 },
	{ "A-071", "size 120", of_size, N | S, 0, 120, 0 },
	{ "A-071", "size 128", of_size, N | S, 0, 128, 0 },
	{ "A-072", "size 4096", of_size, N | S, 0, 4096, 0 },
	{ "A-073", "size 0 is 64", of_size, N | S, 0, 0, 0 },
	{ "A-073", "size 63", of_size, N | S, -E2BIG, 63, 0 },
	{ "A-073", "size 4097", of_size, N | S, -E2BIG, 4097, 0 },
	{ "A-073", "a byte that nobody knows", too_new, N | S, -E2BIG, 0, 0 },
	{ "G-040", "the size that is known is told", too_new, N | S, -E2BIG, 0, 0 },
	{ "A-074", "bit 63 of the flags", bit_of, N | S, -EINVAL, 40, 63 },
	{ "A-074", "the word behind sample_max_stack", reserved_word, N | S, -EINVAL, 110, 2 },
	{ "X-35", "bit 60 of the flags", bit_of, N | S, -EINVAL, 40, 60 },
	{ "A-075", "bit 2 of the word at 40 is pinned", member_bit, N | S, -EINVAL, 2, 0 },
	{ "A-075", "bit 3 of the word at 40 is exclusive", member_bit, N | S, -EINVAL, 3, 0 },
	{ "A-075", "bit 9 is none of them", member_bit, N | S, 0, 9, 0 },
	{ "A-077", "bit 63 of read_format", bit_of, N | S, -EINVAL, 32, 63 },
	{ "A-077", "bit 32 of read_format", bit_of, N | S, -EINVAL, 32, 32 },
	{ "A-077", "bit 63 of sample_type", bit_of, N | S, -EINVAL, 24, 63 },
	{ "A-077", "bit 40 of sample_type", bit_of, N | S, -EINVAL, 24, 40 },
	{ "A-079", "registers behind the end of 80 bytes are 0", behind_the_end, N | S, -EINVAL, 80,
	  0 },
	{ "A-079", "those within 96 bytes are seen", behind_the_end, N | S, 0, 96, 0 },
	{ "X-01", "the attr of 2010 in today's call", behind_the_end, N | S, -EINVAL, 64, 0 },
	{ "X-34", "72 bytes: without registers", behind_the_end, N | S, -EINVAL, 72, 0 },
	{ "A-100", "a type that nobody is", foreign, N | S, -ENOENT, 9999, 0 },
	{ "A-101", "config says which software event", event, N | S, 0, 1, 9 },
	{ "A-102", "bit 63 of a software config", event, N | S, -ENOENT, 1, HIGH | 9 },
	{ "X-36", "bit 63 of config is no raw bit", event, S, -ENOENT, 0, HIGH | 1 },
	{ "A-103", "bit 63 of a period", period, N | S, -EINVAL, HIGH, 0 },
	{ "A-103", "the longest period", period, N | S, 0, 0x7fffffffffffffff, 0 },
	{ "A-104", "the maximal rate", frequency, N | S, 0, 0, 0 },
	{ "A-104", "one above it", frequency, N | S, -EINVAL, 1, 0 },
	{ "G-023", "one above the maximal rate", frequency, N | S, -EINVAL, 1, 0 },
	{ "A-108", "inherited, read as a group", inherited, N | S, 0, WITH_GROUP, 0 },
	{ "A-108", "sampled reads of what is inherited", inherited, N | S, -EINVAL, WITH_READ, 0 },
	{ "A-108", "with ids", inherited, N | S | FROM(6, 13), 0, WITH_READ | WITH_TID, 0 },
	{ "X-30", "inherited, read as a group", inherited, N | S, 0, WITH_GROUP, 0 },
	{ "A-110", "a pinned leader", leader, N | S, 0, PINNED, 0 },
	{ "A-110", "a pinned member", member, N | S, -EINVAL, PINNED, 0 },
	{ "A-112", "an exclusive leader", leader, N | S, 0, EXCLUSIVE, 0 },
	{ "A-112", "an exclusive member", member, N | S, -EINVAL, EXCLUSIVE, 0 },
	{ "A-114", "instructions of kernel mode", kernel_mode, S, -EACCES, 0, 0 },
	{ "A-114", "of kernel mode alone", kernel_mode, S, -EACCES, 1, 0 },
	{ "A-114", "of both where user mode is asked for", kernel_mode, O, 0, 0, 0 },
	{ "A-116", "exclude_idle", excludes, N | S, 0, EXCLUDE_IDLE, 0 },
	{ "A-116", "exclude_idle of instructions", excludes, S, 0, EXCLUDE_IDLE, 1 },
	{ "A-117", "exclude_guest", excludes, N | S, 0, EXCLUDE_GUEST, 0 },
	{ "A-117", "exclude_host", excludes, N | S, 0, EXCLUDE_HOST, 0 },
	{ "A-117", "exclude_guest of instructions", excludes, S, 0, EXCLUDE_GUEST, 1 },
	{ "A-128", "chains without kernel and user", excludes, N | S, 0, CHAIN_KERNEL | CHAIN_USER,
	  0 },
	{ "A-126", "skid 0 asked for, with a period", precise, S, 0, 3, 1000 },
	{ "A-126", "skid 2 asked for, with a period", precise, S, 0, 1, 1000 },
	{ "A-126", "without a period", precise, S, -EINVAL, 2, 0 },
	{ "D-033", "any skid may be asked for", precise, S, 0, 2, 1000 },
	{ "A-137", "all of 2011", read_format, N | S, 0, 15, 0 },
	{ "C-041", "all of 2011", read_format, N | S, 0, 15, 0 },
	{ "C-041", "LOST", read_format, N | S | FROM(6, 0), 0, 16, 0 },
	{ "A-139", "bit 20 of read_format", read_format, N | S, -EINVAL, 1 << 20, 0 },
	{ "A-138", "all of 3.7", sample_type, N | S, 0, (1 << 14) - 1 - (1 << 11) - (1 << 13), 0 },
	{ "A-139", "bit 50 of sample_type", sample_type, N | S, -EINVAL, 1L << 50, 0 },
	{ "A-139", "bit 40 of branches", sample_type, N | S, -EINVAL, 1 << 11, 1L << 40 | 1 },
	{ "D-073", "a level without a kind", sample_type, N | S, -EINVAL, 1 << 11, 1 },
	{ "X-27", "no branches at all", sample_type, N | S, -EINVAL, 1 << 11, 0 },
	{ "D-073", "branches of a software event", sample_type, N | S, -EOPNOTSUPP, 1 << 11,
	  8 | 1 },
	{ "B-001", "0: hardware", type_bytes, S, 0, 0, 1 },
	{ "B-001", "1: software", type_bytes, N | S, 0, 1, 9 },
	{ "B-001", "2: a tracepoint with an id that nobody has", foreign, R | S, -EINVAL, 2,
	  0xffffffff },
	{ "B-001", "3: caches", type_bytes, S, 0, 3, 0 },
	{ "B-001", "4: raw", type_bytes, S, 0, 4, 0xc0 },
	{ "B-003", "CPU_CYCLES", event, S, 0, 0, 0 },
	{ "B-003", "INSTRUCTIONS", event, S, 0, 0, 1 },
	{ "B-003", "CACHE_REFERENCES", event, S, 0, 0, 2 },
	{ "B-003", "CACHE_MISSES", event, S, 0, 0, 3 },
	{ "B-003", "BRANCH_INSTRUCTIONS", event, S, 0, 0, 4 },
	{ "B-003", "BRANCH_MISSES", event, S, 0, 0, 5 },
	{ "B-003", "BUS_CYCLES", event, S, 0, 0, 6 },
	{ "B-003", "STALLED_CYCLES_FRONTEND", event, S, 0, 0, 7 },
	{ "B-003", "STALLED_CYCLES_BACKEND", event, S, 0, 0, 8 },
	{ "B-003", "REF_CPU_CYCLES", event, S, 0, 0, 9 },
	{ "B-021", "all of them, the last too", event, S, 0, 0, 9 },
	{ "B-020", "HARDWARE 10", event, S, -EINVAL, 0, 10 },
	{ "B-004", "malformed: HARDWARE 10", event, S, -EINVAL, 0, 10 },
	{ "B-004", "what nobody counts: a software event 100", event, N | S, -ENOENT, 1, 100 },
	{ "G-010", "what nobody counts: a software event 100", event, N | S, -ENOENT, 1, 100 },
	{ "X-16", "a raw code that nobody counts", event, S, -ENOENT, 4, 0x4064 },
	{ "B-005", "CPU_CLOCK without a PMU", event, N | S, 0, 1, 0 },
	{ "B-005", "TASK_CLOCK", event, N | S, 0, 1, 1 },
	{ "B-008", "software is 1", pmu_type, N | S, 1, 0, 0 },
	{ "B-008", "tracepoint is 2", pmu_type, N | S, 2, 1, 0 },
	{ "B-008", "breakpoint is 5", pmu_type, N | S, 5, 2, 0 },
	{ "B-008", "cpu is 4", pmu_type, S, 4, 3, 0 },
	{ "X-31", "several PMUs beside each other", pmu_type, N | S, 2, 1, 0 },
	{ "B-009", "a type above those of sysfs", foreign, N | S, -ENOENT, 1000000, 0 },
	{ "B-030", "L1D loads: 0, 0 << 8, 0 << 16", event, S, 0, 3, CACHE(0, 0, 0) },
	{ "B-030", "a bit above the three is not looked at", event, S, 0, 3, 1 << 24 },
	{ "B-031", "L1D 0", event, S, 0, 3, CACHE(0, 0, 1) },
	{ "B-031", "L1I 1", event, S, 0, 3, CACHE(1, 0, 1) },
	{ "B-031", "LL 2", event, S, 0, 3, CACHE(2, 0, 1) },
	{ "B-031", "DTLB 3", event, S, 0, 3, CACHE(3, 0, 1) },
	{ "B-031", "ITLB 4", event, S, 0, 3, CACHE(4, 0, 1) },
	{ "B-031", "BPU 5", event, S, 0, 3, CACHE(5, 0, 1) },
	{ "B-031", "7 is none", event, S, -EINVAL, 3, CACHE(7, 0, 0) },
	{ "B-032", "write", event, S, 0, 3, CACHE(0, 1, 0) },
	{ "B-032", "3 is no operation", event, S, -EINVAL, 3, CACHE(0, 3, 0) },
	{ "B-033", "2 is no result", event, S, -EINVAL, 3, CACHE(0, 0, 2) },
	{ "B-034", "L1I is not written", event, S, -EINVAL, 3, CACHE(1, 1, 0) },
	{ "B-035", "out of range", event, S, -EINVAL, 3, CACHE(255, 0, 0) },
	{ "B-035", "prefetches of pages", event, S, -ENOENT, 3, CACHE(3, 2, 0) },
	{ "B-049", "SOFTWARE 12", event, N | S, -ENOENT, 1, 12 },
	{ "A-012", "emulation faults do not sample in a session", sampled, S, -EOPNOTSUPP, 1, 8 },
	{ "A-012", "clocks do", sampled, N | S, 0, 1, 1 },
	{ "A-129", "EMPTY", breakpoint, N | S, -EINVAL, HW_BREAKPOINT_EMPTY, 8 },
	{ "A-129", "W", breakpoint, N | S, 0, HW_BREAKPOINT_W, 8 },
	{ "A-129", "RW", breakpoint, N | S, 0, HW_BREAKPOINT_RW, 8 },
	{ "A-129", "X", breakpoint, N | S, 0, HW_BREAKPOINT_X, sizeof(long) },
	{ "A-008", "a program with <linux/hw_breakpoint.h>", breakpoint, N | S, 0, HW_BREAKPOINT_RW,
	  4 },
	{ "B-070", "1: R alone", breakpoint, N | S, -EINVAL, 1, 8 },
	{ "B-070", "2: W", breakpoint, N | S, 0, 2, 8 },
	{ "B-070", "3: RW", breakpoint, N | S, 0, 3, 8 },
	{ "B-070", "4: X", breakpoint, N | S, 0, 4, 8 },
	{ "B-071", "W with X", breakpoint, N | S, -EINVAL, 6, 8 },
	{ "B-071", "R with X", breakpoint, N | S, -EINVAL, 5, 8 },
	{ "B-072", "a config that is not 0", breakpoint_config, N | S, 0, 7, 0 },
	{ "A-130", "an address of the kernel", breakpoint_of_kernel, N | S, -EINVAL, 0, 0 },
	{ "A-131", "length 1", breakpoint, N | S, 0, HW_BREAKPOINT_W, 1 },
	{ "A-131", "length 2", breakpoint, N | S, 0, HW_BREAKPOINT_W, 2 },
	{ "A-131", "length 3", breakpoint, N | S, -EINVAL, HW_BREAKPOINT_W, 3 },
	{ "A-131", "length 4 of X", breakpoint, N | S, -EINVAL, HW_BREAKPOINT_X, 4 },
	{ "A-133", "config2 of 3 is a bp_len of 3", breakpoint_config2, N | S, -EINVAL, 3, 0 },
	{ "A-133", "of 2", breakpoint_config2, N | S, 0, 2, 0 },
	{ "A-132", "config1 is bp_addr: one of the kernel", breakpoint_config1, N | S, -EINVAL, 0,
	  0 },
	{ "B-073", "8 bytes at 4", breakpoint_place, N | S, -EINVAL, 4, 8 },
	{ "B-073", "4 bytes at 4", breakpoint_place, N | S, 0, 4, 4 },
	{ "B-073", "four slots", breakpoint_slots, N | S, 4, 0, 0 },
	{ "B-073", "and then ENOSPC", breakpoint_slots, N | S, -ENOSPC, 1, 0 },
	{ "G-011", "breakpoints: ENOSPC", breakpoint_slots, N | S, -ENOSPC, 1, 0 },
	{ "X-14", "breakpoints: ENOSPC", breakpoint_slots, N | S, -ENOSPC, 1, 0 },
	{ 0 },
};

int main(int argc, char **argv)
{
	return abi_main(cases, "user-only --user-only\n", argc, argv);
}
