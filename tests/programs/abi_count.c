/* SPDX-License-Identifier: MIT */
/*
 * What counts and when: switches, groups, inheritance, resets, what read(2) gives, software events.  What a session alone can
 * count is the instructions of a loop, known by reading it; a kernel without a PMU shows the same with its clocks.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "../tests/programs/abi.h"

/* c->b of the functions that can do with either */
enum { INSTRUCTIONS, CLOCK };

static struct perf_event_attr attr_of(long kind)
{
	return kind == CLOCK ? abi_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK)
			     : abi_instructions();
}

static int counts(long fd)
{
	uint64_t from = abi_count(fd);

	abi_work(1000);
	return abi_count(fd) > from;
}

/* --- switches */

enum { LEADER = 1, MEMBER = 2 };

/*
 * a: a word of calls, one letter each: L and l enable and disable the leader, M and m the member, G and g the group by its member,
 * P and p all that the caller opened.  Answers which of them count then; both begin disabled.
 */
static long switches(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c->b);
	long leader, member;

	attr.disabled = 1;
	leader = abi_open(&attr, -1);
	member = abi_open(&attr, leader);
	if (member < 0)
		return member;
	for (const char *s = (const char *)c->a; *s; s++) {
		long fd = *s == 'L' || *s == 'l' ? leader : member;
		int on = *s < 'a';
		long ret;

		if (*s == 'P' || *s == 'p')
			ret = prctl(on ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE,
				    0, 0, 0, 0);
		else
			ret = abi_ioctl(fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE,
					*s == 'G' || *s == 'g' ? ABI_WHOLE : NULL);
		HOLDS(!ret);
	}
	return (counts(leader) ? LEADER : 0) | (counts(member) ? MEMBER : 0);
}

static long zeroed_counts_at_once(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c->b);
	long fd = abi_open(&attr, -1);

	return fd < 0 ? fd : counts(fd);
}

/* What it had when it was switched off, and no time either. */
static long off_keeps_its_value(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c->b);
	uint64_t v[3], w[3];
	long fd;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = abi_open(&attr, -1);
	abi_work(1000);
	HOLDS(!abi_ioctl(fd, PERF_EVENT_IOC_DISABLE, NULL));
	HOLDS(read((int)fd, v, sizeof(v)) == sizeof(v));
	abi_work(1000);
	HOLDS(read((int)fd, w, sizeof(w)) == sizeof(w));
	HOLDS(v[0] && !memcmp(v, w, sizeof(v)));
	HOLDS(!abi_ioctl(fd, PERF_EVENT_IOC_ENABLE, NULL));
	abi_work(1000);
	HOLDS(read((int)fd, w, sizeof(w)) == sizeof(w));
	HOLDS(w[0] > v[0] && w[1] > v[1] && w[2] > v[2]);
	return 0;
}

static long times_are_equal(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c->b);
	uint64_t v[3];
	long fd;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = abi_open(&attr, -1);
	for (int i = 0; i < 100; i++) {
		abi_work(10000);
		HOLDS(read((int)fd, v, sizeof(v)) == sizeof(v));
		HOLDS(v[1] && v[1] == v[2]);
	}
	return 0;
}

/* RESET of the leader; a: of the group.  Times go on.  Answers which have kept a count. */
static long resets(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c->b);
	uint64_t v[2], w[2];
	long leader, member;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	leader = abi_open(&attr, -1);
	member = abi_open(&attr, leader);
	abi_work(1000);
	HOLDS(!abi_ioctl(leader, PERF_EVENT_IOC_DISABLE, NULL));
	HOLDS(read((int)leader, v, sizeof(v)) == sizeof(v) && v[0]);
	HOLDS(!abi_ioctl(leader, PERF_EVENT_IOC_RESET, c->a ? ABI_WHOLE : NULL));
	HOLDS(read((int)leader, w, sizeof(w)) == sizeof(w));
	HOLDS(w[1] == v[1]);
	return (w[0] ? LEADER : 0) | (abi_count(member) ? MEMBER : 0);
}

/* --- exact counts */

static long more(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_instructions();

	attr.config = (uint64_t)c->b;
	return abi_more(abi_open(&attr, -1), (uint64_t)c->a);
}

/* a: bits of the attr's flags that change nothing */
static long more_with(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_instructions();
	uint64_t bits;

	attr.exclude_hv = 0;
	memcpy(&bits, (char *)&attr + 40, 8);
	bits |= (uint64_t)c->a;
	memcpy((char *)&attr + 40, &bits, 8);
	return abi_more(abi_open(&attr, -1), 1000);
}

/* By numbers: type, size, config and the word of flags, in which exclude_kernel is bit 5. */
static long more_of_bytes(const struct abi_case *c)
{
	unsigned char attr[136] = { 0 };
	uint64_t config = 1, flags = 1 << 5 | (uint64_t)c->a;
	uint32_t size = sizeof(attr);

	memcpy(attr + 4, &size, 4);
	memcpy(attr + 8, &config, 8);
	memcpy(attr + 40, &flags, 8);
	return abi_more(abi_call(attr, 0, -1, -1, 0), 1000);
}

/* type RAW, config, config1 */
static long more_raw(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr(PERF_TYPE_RAW, (uint64_t)c->a);

	attr.config1 = (uint64_t)c->b;
	return abi_more(abi_open(&attr, -1), 1000);
}

/* Iterations of string instructions, config1 12 of type RAW: 4096 times a MiB. */
static long beyond_32_bits(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr(PERF_TYPE_RAW, 0);
	static char room[1 << 20];
	uint64_t from;
	long fd;

	attr.config1 = 12;
	fd = abi_open(&attr, -1);
	from = abi_count(fd);
	for (int i = 0; i < 4096; i++) {
		void *to = room;
		uint64_t n = sizeof(room);

		__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
	}
	(void)c;
	return (long)(abi_count(fd) - from);
}

/* Its own loop, as a sum of two events: a task's and a CPU's, which has all tasks' of the session. */
static long of_a_cpu(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_instructions();
	long mine, all, ncpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t sum = 0, own;
	long fds[1024];

	HOLDS(ncpus <= 1024);
	for (long i = 0; i < ncpus; i++) {
		fds[i] = abi_call(&attr, -1, i, -1, 0);
		HOLDS(fds[i] >= 0 || fds[i] == -ENODEV);
	}
	mine = abi_open(&attr, -1);
	abi_work(100000);
	own = abi_count(mine);
	for (long i = 0; i < ncpus; i++) {
		all = fds[i];
		sum += all < 0 ? 0 : abi_count(all);
	}
	HOLDS(own >= 200000 && sum >= own);
	(void)c;
	return 0;
}

/* --- a task on one CPU */

static long pinned_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

/* Two CPUs that the caller may use; 0 where there are none. */
static int two_cpus(int cpus[2])
{
	cpu_set_t set;
	int n = 0;

	sched_getaffinity(0, sizeof(set), &set);
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &set))
			cpus[n++] = i;
	return n == 2;
}

/* Counts while it is there, and nothing elsewhere. */
static long of_one_cpu(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c->b);
	long here, there, any;
	int cpus[2];

	if (!two_cpus(cpus))
		return ABI_LACKS;
	HOLDS(!pinned_to(cpus[0]));
	here = abi_call(&attr, 0, cpus[0], -1, 0);
	there = abi_call(&attr, 0, cpus[1], -1, 0);
	any = abi_open(&attr, -1);
	HOLDS(counts(here) && !counts(there) && counts(any));
	HOLDS(!abi_count(there));
	HOLDS(!pinned_to(cpus[1]));
	HOLDS(!counts(here) && counts(there) && counts(any));
	return 0;
}

/* a: how often it is moved to the other CPU and back */
static long migrations(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS);
	int cpus[2];
	uint64_t from;
	long fd;

	attr.exclude_kernel = attr.exclude_hv = 0;
	fd = abi_or_lacks(abi_open(&attr, -1));
	if (!two_cpus(cpus))
		return ABI_LACKS;
	HOLDS(!pinned_to(cpus[0]));
	from = abi_count(fd);
	for (int i = 0; i < c->a; i++)
		HOLDS(!pinned_to(cpus[!(i % 2)]));
	return (long)(abi_count(fd) - from);
}

/* --- inheritance */

/* A child that works, ends and is waited for, by calls that are the same each time. */
static void child_of(uint64_t n)
{
	int status;
	long pid = syscall(SYS_fork);

	if (!pid) {
		abi_work(n);
		syscall(SYS_exit_group, 0);
	}
	syscall(SYS_wait4, pid, &status, 0, NULL);
}

static __attribute__((noinline)) uint64_t with_child(long fd, uint64_t n)
{
	uint64_t from = abi_count(fd);

	child_of(n);
	return abi_count(fd) - from;
}

/* a: bit of the flags, whatever it is called.  Answers what more work of a child adds. */
static long of_children(const struct abi_case *c)
{
	unsigned char attr[136] = { 0 };
	uint64_t config = 1, flags = 1 << 5 | (uint64_t)c->a, few;
	uint32_t size = sizeof(attr);
	long fd;

	memcpy(attr + 4, &size, 4);
	memcpy(attr + 8, &config, 8);
	memcpy(attr + 40, &flags, 8);
	fd = abi_call(attr, 0, -1, -1, 0);
	if (fd < 0)
		return fd;
	with_child(fd, 1);
	few = with_child(fd, 1000);
	return (long)(with_child(fd, 4000) - few);
}

/* A child that lives is counted as well, and what it had is there when it has ended. */
static long lives_and_dies(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_instructions();
	int said[2], go[2];
	uint64_t alive;
	char byte;
	pid_t pid;
	long fd;

	attr.inherit = 1;
	HOLDS(!pipe(said) && !pipe(go));
	fd = abi_open(&attr, -1);
	pid = fork();
	if (!pid) {
		abi_work(1000000);
		_exit(write(said[1], "", 1) != 1 || read(go[0], &byte, 1) != 1);
	}
	HOLDS(read(said[0], &byte, 1) == 1);
	alive = abi_count(fd);
	HOLDS(alive >= 2000000);
	HOLDS(write(go[1], "", 1) == 1 && waitpid(pid, NULL, 0) == pid);
	HOLDS(abi_count(fd) >= alive);
	(void)c;
	return 0;
}

static long reset_of_children(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_instructions();
	long fd;

	attr.inherit = 1;
	fd = abi_open(&attr, -1);
	child_of(100000);
	HOLDS(abi_count(fd) >= 200000);
	HOLDS(!abi_ioctl(fd, PERF_EVENT_IOC_RESET, NULL));
	HOLDS(abi_count(fd) < 100000);
	(void)c;
	return 0;
}

static long never_back(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(c->b);
	uint64_t was = 0, now;
	long fd;

	attr.inherit = 1;
	fd = abi_open(&attr, -1);
	for (int i = 0; i < 200; i++) {
		if (i % 50 == 7)
			child_of(1000);
		now = abi_count(fd);
		HOLDS(now > was);
		was = now;
	}
	return 0;
}

/* --- clocks */

static uint64_t wall(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A task's clock stands while it sleeps; a CPU's does not. */
static long clocks(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr(PERF_TYPE_SOFTWARE, (uint64_t)c->a);
	const uint64_t sleep = 200000000;
	struct timespec t = { 0, (long)sleep };
	uint64_t outer, inner, count;
	long fd;

	outer = wall();
	fd = c->b ? abi_call(&attr, -1, 0, -1, 0) : abi_open(&attr, -1);
	if (fd < 0)
		return fd;
	inner = wall();
	abi_work(1000000);
	while (nanosleep(&t, &t) && errno == EINTR)
		;
	inner = wall() - inner;
	count = abi_count(fd);
	outer = wall() - outer;
	HOLDS(count);
	if (c->b)
		HOLDS(count + inner / 100 >= inner && count <= outer + outer / 100);
	else
		HOLDS(count <= outer - sleep + outer / 100);
	return 0;
}

/* --- page faults */

static uint64_t touched(long fd, size_t pages)
{
	size_t size = pages * 4096;
	volatile char *p =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t from;

	madvise((void *)p, size, MADV_NOHUGEPAGE);
	from = abi_count(fd);
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	from = abi_count(fd) - from;
	munmap((void *)p, size);
	return from;
}

/* The least of some: a busy machine may take pages back meanwhile, which only adds. */
static uint64_t least_touched(long fd, size_t pages)
{
	uint64_t least = ~0ULL, n;

	for (int i = 0; i < 8; i++) {
		n = touched(fd, pages);
		least = n < least ? n : least;
	}
	return least;
}

/* a: event.  Faults of 64 more pages of memory. */
static long faults(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr(PERF_TYPE_SOFTWARE, (uint64_t)c->a);
	uint64_t few;
	long fd;

	attr.exclude_kernel = attr.exclude_hv = 0;
	fd = abi_or_lacks(abi_open(&attr, -1));
	few = least_touched(fd, 10);
	return (long)(least_touched(fd, 74) - few);
}

/* A page of a file that is not in memory: one fault with I/O, as getrusage says, which an own kernel event counts too. */
static long major_fault(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	char name[] = "/var/tmp/abi_count.XXXXXX";
	static char page[4096];
	struct rusage before, after;
	unsigned char in = 1;
	uint64_t from, got;
	volatile char *p;
	int file = mkstemp(name);
	long fd;

	attr.exclude_kernel = attr.exclude_hv = 0;
	fd = abi_or_lacks(abi_open(&attr, -1));
	HOLDS(file >= 0 && write(file, page, sizeof(page)) == sizeof(page));
	unlink(name);
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
	HOLDS(!fsync(file));
	for (int i = 0; i < 100 && in & 1; i++) {
		posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
		mincore((void *)p, 4096, &in);
	}
	if (in & 1)
		return ABI_LACKS;
	getrusage(RUSAGE_THREAD, &before);
	from = abi_count(fd);
	(void)*p;
	got = abi_count(fd) - from;
	getrusage(RUSAGE_THREAD, &after);
	HOLDS(after.ru_majflt - before.ru_majflt == (long)got);
	(void)c;
	return (long)got;
}

static long rare(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr(PERF_TYPE_SOFTWARE, (uint64_t)c->a);
	char buf[64] __attribute__((aligned(64))) = { 0 };
	long fd, sum = 0;

	attr.exclude_kernel = attr.exclude_hv = 0;
	fd = abi_or_lacks(abi_open(&attr, -1));
	for (int i = 0; i < 50; i++) { /* x86 reads it in any place */
		uint64_t word;

		memcpy(&word, buf + i, sizeof(word));
		__asm__ volatile("" : "+r"(word));
		sum += (long)word;
	}
	return (long)abi_count(fd) + sum;
}

/* --- what read gives */

/* a: read_format, b: members beside the leader.  Bytes of a read of the last that was opened. */
static long bytes(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();
	uint64_t v[64];
	long fd, leader;
	ssize_t n;

	attr.read_format = (uint64_t)c->a;
	fd = leader = abi_open(&attr, -1);
	for (int i = 0; i < c->b && fd >= 0; i++)
		fd = abi_open(&attr, leader);
	if (fd < 0)
		return fd;
	n = read((int)fd, v, sizeof(v));
	return n < 0 ? -errno : n;
}

/* a: read_format, b: how many bytes there is room for */
static long short_read(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();
	uint64_t v[64];
	ssize_t n;

	attr.read_format = (uint64_t)c->a;
	n = read((int)abi_open(&attr, -1), v, (size_t)c->b);
	return n < 0 ? -errno : n;
}

static uint64_t id_of(long fd)
{
	uint64_t id = 0;

	abi_ioctl(fd, PERF_EVENT_IOC_ID, &id);
	return id;
}

/* The count of a dummy is 0, its times are not. */
static long order_of_one(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();
	uint64_t v[4];
	long fd;

	attr.read_format =
		PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_TOTAL_TIME_ENABLED;
	fd = abi_open(&attr, -1);
	HOLDS(read((int)fd, v, sizeof(v)) == sizeof(v));
	HOLDS(!v[0] && v[1] && v[1] == v[2] && id_of(fd) && v[3] == id_of(fd));
	(void)c;
	return 0;
}

/* a: read from the member; b: LOST as well */
static long order_of_group(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	long leader, member, words = c->b ? 3 : 2;
	uint64_t v[9];

	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_RUNNING |
			   PERF_FORMAT_TOTAL_TIME_ENABLED | (c->b ? PERF_FORMAT_LOST : 0U);
	leader = abi_open(&attr, -1);
	attr.config = PERF_COUNT_SW_DUMMY;
	member = abi_open(&attr, leader);
	abi_work(1000);
	HOLDS(read((int)(c->a ? member : leader), v, sizeof(v)) == 8 * (3 + 2 * words));
	HOLDS(v[0] == 2 && v[1] && v[1] == v[2]);
	HOLDS(v[3] && v[4] == id_of(leader));
	HOLDS(!v[3 + words] && v[4 + words] == id_of(member));
	HOLDS(id_of(leader) && id_of(leader) != id_of(member));
	HOLDS(!c->b || (!v[5] && !v[8]));
	return (long)v[0];
}

/* Counts of a group are of one moment: those of its members differ by nothing. */
static long group_is_of_one_moment(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_instructions();
	uint64_t v[4];
	long leader;

	attr.disabled = 1;
	attr.read_format = PERF_FORMAT_GROUP;
	leader = abi_open(&attr, -1);
	attr.disabled = 0;
	HOLDS(leader >= 0 && abi_open(&attr, leader) >= 0);
	HOLDS(!abi_ioctl(leader, PERF_EVENT_IOC_ENABLE, NULL));
	for (int i = 0; i < 100; i++) {
		abi_work(100);
		HOLDS(read((int)leader, v, sizeof(v)) == 24);
		HOLDS(v[1] && v[1] == v[2]);
	}
	(void)c;
	return 0;
}

#define WORD(s) ((long)(s))
#define ALL	PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID

static const struct abi_case cases[] = {
	{ "A-106", "a zeroed attr counts at once", zeroed_counts_at_once, S, 1, 0, INSTRUCTIONS },
	{ "A-106", "so does a clock", zeroed_counts_at_once, N | S, 1, 0, CLOCK },
	{ "C-005", "disabled=0 counts at once", zeroed_counts_at_once, S, 1, 0, INSTRUCTIONS },
	{ "X-29", "disabled is not the default", zeroed_counts_at_once, N | S, 1, 0, CLOCK },
	{ "A-013", "what is off keeps value and times", off_keeps_its_value, S, 0, 0, 0 },
	{ "A-013", "so does a clock", off_keeps_its_value, N | S, 0, 0, CLOCK },
	{ "C-001", "off and active by the times", off_keeps_its_value, N | S, 0, 0, CLOCK },
	{ "C-002", "what is off keeps its value", off_keeps_its_value, S, 0, 0, 0 },
	{ "C-023", "enabled and running are equal", times_are_equal, S, 0, 0, INSTRUCTIONS },
	{ "C-023", "of a clock as well", times_are_equal, N | S, 0, 0, CLOCK },
	{ "C-003", "a member waits for its leader", switches, S, 0, WORD("M"), INSTRUCTIONS },
	{ "C-003", "and counts with it", switches, S, LEADER | MEMBER, WORD("ML"), INSTRUCTIONS },
	{ "C-003", "a clock waits for its leader", switches, N | S, 0, WORD("M"), CLOCK },
	{ "C-003", "and counts with it", switches, N | S, LEADER | MEMBER, WORD("ML"), CLOCK },
	{ "F-010", "ENABLE with 0 is of this event", switches, S, LEADER, WORD("L"), 0 },
	{ "F-010", "of a clock", switches, N | S, LEADER, WORD("L"), CLOCK },
	{ "F-010", "DISABLE with 0", switches, N | S, LEADER, WORD("LMm"), CLOCK },
	{ "F-002", "with the flag of the whole group", switches, N | S, 3, WORD("G"), CLOCK },
	{ "F-011", "by any member", switches, S, 3, WORD("G"), INSTRUCTIONS },
	{ "F-011", "off by any member", switches, N | S, 0, WORD("Gg"), CLOCK },
	{ "X-11", "the group flag works", switches, N | S, 0, WORD("LMg"), CLOCK },
	{ "F-012", "the leader's switch stops all", switches, S, 0, WORD("Gl"), INSTRUCTIONS },
	{ "F-012", "of clocks", switches, N | S, 0, WORD("Gl"), CLOCK },
	{ "F-013", "a member's is its own", switches, S, LEADER, WORD("Gm"), INSTRUCTIONS },
	{ "F-013", "of clocks", switches, N | S, LEADER, WORD("Gm"), CLOCK },
	{ "F-040", "prctl enables what the caller opened", switches, N | S, 3, WORD("P"), CLOCK },
	{ "F-040", "and disables it", switches, N | S, 0, WORD("Gp"), CLOCK },
	{ "F-042", "members as well", switches, S, 3, WORD("LP"), INSTRUCTIONS },
	{ "F-042", "members are off then, too", switches, N | S, LEADER, WORD("GpL"), CLOCK },
	{ "X-09", "prctl: what the caller opened", switches, N | S, 0, WORD("LMp"), CLOCK },
	{ "F-030", "RESET takes the count, not the times", resets, N | S, MEMBER, 0, CLOCK },
	{ "F-031", "with 0 one event", resets, S, MEMBER, 0, INSTRUCTIONS },
	{ "F-031", "with the flag the group", resets, S, 0, 1, INSTRUCTIONS },
	{ "F-031", "of clocks", resets, N | S, 0, 1, CLOCK },
	{ "F-031", "what ended children had goes, too", reset_of_children, S, 0, 0, 0 },
	{ "X-10", "RESET of a leader is its own", resets, N | S, MEMBER, 0, CLOCK },
	{ "X-10", "with the flag of the group", resets, N | S, 0, 1, CLOCK },
	{ "Y-03", "the argument of RESET", resets, N | S, 0, 1, CLOCK },
	{ "A-101", "config 1: instructions", more, S, 2000, 1000, 1 },
	{ "A-101", "config 4: branches", more, S, 1000, 1000, 4 },
	{ "A-101", "config1 selects what no code names: branches taken", more_raw, S, 1000, 0, 4 },
	{ "A-101", "config1: loads, of which the loop has none", more_raw, S, 0, 0, 9 },
	{ "B-011", "instructions that retired", more, S, 20000, 10000, 1 },
	{ "B-014", "branches that retired", more, S, 10000, 10000, 4 },
	{ "X-33", "branches are right", more, S, 7777, 7777, 4 },
	{ "A-115", "exclude_hv changes nothing", more_with, S, 2000, 1L << 6, 0 },
	{ "A-116", "exclude_idle changes nothing", more_with, S, 2000, 1L << 7, 0 },
	{ "A-117", "exclude_guest changes nothing", more_with, S, 2000, 1L << 20, 0 },
	{ "A-117", "exclude_host counts nothing", more_with, S, 0, 1L << 19, 0 },
	{ "A-070", "an attr of numbers counts", more_of_bytes, S, 2000, 0, 0 },
	{ "A-076", "bit 0 is disabled", more_of_bytes, S, 0, 1, 0 },
	{ "A-076", "bit 4 is exclude_user", more_of_bytes, S, 0, 1 << 4, 0 },
	{ "A-076", "bit 1 is inherit", of_children, S, 6000, 1 << 1, 0 },
	{ "A-076", "bit 11 is not", of_children, S, 0, 1 << 11, 0 },
	{ "A-107", "later children are counted", of_children, S, 6000, 1 << 1, 0 },
	{ "A-107", "without inherit they are not", of_children, S, 0, 0, 0 },
	{ "X-44", "perf_events has inheritance", of_children, S, 6000, 1 << 1, 0 },
	{ "C-051", "counts of children that have ended are in", of_children, S, 6000, 2, 0 },
	{ "C-051", "those of who lives as well", lives_and_dies, S, 0, 0, 0 },
	{ "C-053", "reads do not go back", never_back, S, 0, 0, INSTRUCTIONS },
	{ "C-053", "those of a clock neither", never_back, N | S, 0, 0, CLOCK },
	{ "A-009", "a count of more than 32 bits", beyond_32_bits, S, 1L << 32, 0, 0 },
	{ "A-010", "events of a task and of CPUs", of_a_cpu, S, 0, 0, 0 },
	{ "A-027", "a task while it is on a CPU", of_one_cpu, S, 0, 0, INSTRUCTIONS },
	{ "A-027", "a clock of it", of_one_cpu, N | S, 0, 0, CLOCK },
	{ "A-023", "only there", of_one_cpu, N | S, 0, 0, CLOCK },
	{ "A-025", "cpu -1 follows the task", of_one_cpu, N | S, 0, 0, CLOCK },
	{ "X-03", "pid 0 with a CPU", of_one_cpu, N | S, 0, 0, CLOCK },
	{ "B-040", "CPU_CLOCK of a task stands while it sleeps", clocks, N | S, 0, 0, 0 },
	{ "B-040", "of a CPU it goes on", clocks, R | S, 0, 0, 1 },
	{ "B-041", "TASK_CLOCK stands while it sleeps", clocks, N | S, 0, 1, 0 },
	{ "B-042", "PAGE_FAULTS of 64 pages", faults, R | S, 64, PERF_COUNT_SW_PAGE_FAULTS, 0 },
	{ "B-044", "moved to another CPU and back 20 times", migrations, R | S, 20, 20, 0 },
	{ "B-044", "not at all", migrations, R | S, 0, 0, 0 },
	{ "B-045", "PAGE_FAULTS_MIN", faults, R | S, 64, PERF_COUNT_SW_PAGE_FAULTS_MIN, 0 },
	{ "B-046", "a fault that reads a file", major_fault, R | S, 1, 0, 0 },
	{ "B-046", "memory has none", faults, R | S, 0, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 0 },
	{ "B-047", "x86 has no ALIGNMENT_FAULTS", rare, R | S, 0, PERF_COUNT_SW_ALIGNMENT_FAULTS,
	  0 },
	{ "B-048", "x86 has no EMULATION_FAULTS", rare, R | S, 0, PERF_COUNT_SW_EMULATION_FAULTS,
	  0 },
	{ "C-040", "a value has 64 bits", bytes, N | S, 8, 0, 0 },
	{ "C-040", "so has each extra", bytes, N | S, 32, ALL, 0 },
	{ "C-043", "value, enabled, running, id", order_of_one, N | S, 0, 0, 0 },
	{ "C-044", "nr, times, value and id of each, the leader first", order_of_group, N | S, 2, 0,
	  0 },
	{ "C-044", "with LOST behind each id", order_of_group, N | S | FROM(6, 0), 2, 0, 1 },
	{ "C-044", "values of one moment", group_is_of_one_moment, S, 0, 0, 0 },
	{ "C-045", "nr alone and one value", bytes, N | S, 16, PERF_FORMAT_GROUP, 0 },
	{ "C-045", "four values", bytes, N | S, 40, PERF_FORMAT_GROUP, 3 },
	{ "C-047", "ids differ", order_of_group, N | S, 2, 0, 0 },
	{ "C-048", "a member reads all", order_of_group, N | S, 2, 1, 0 },
	{ "X-19", "FORMAT_ID is the event's", order_of_group, N | S, 2, 1, 0 },
	{ "Y-08", "what ID says is what is read", order_of_one, N | S, 0, 0, 0 },
	{ "C-049", "no room", short_read, N | S, -ENOSPC, 0, 7 },
	{ "C-049", "0 bytes", short_read, N | S, -ENOSPC, 0, 0 },
	{ "C-049", "a byte less than all", short_read, N | S, -ENOSPC, ALL, 31 },
	{ "C-049", "more than all", short_read, N | S, 32, ALL, 400 },
	{ "G-012", "a short read", short_read, N | S, -ENOSPC, ALL, 24 },
	{ "X-15", "ENOSPC at read", short_read, N | S, -ENOSPC, PERF_FORMAT_GROUP, 8 },
	{ 0 },
};

int main(int argc, char **argv)
{
	return abi_main(cases, "", argc, argv);
}
