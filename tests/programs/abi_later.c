/* SPDX-License-Identifier: MIT */
/*
 * What came after the manual page of 2012: modes of rings, flags of attr and their conditions, SIGTRAP, fields of samples, clocks.
 */
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "../tests/programs/sample.h"

#include "../tests/programs/abi.h"

#define RW (PROT_READ | PROT_WRITE)

/* Bits of the flags word by number: headers of old systems lack some names. */
enum {
	ENABLE_ON_EXEC = 12,
	WRITE_BACKWARD = 27,
	CONTEXT_SWITCH = 26,
	NAMESPACES = 28,
	KSYMBOL = 29,
	BPF_EVENT = 30,
	CGROUP = 32,
	TEXT_POKE = 33,
	BUILD_ID = 34,
	INHERIT_THREAD = 35,
	REMOVE_ON_EXEC = 36,
	SIGTRAP_BIT = 37,
	INHERIT = 1,
	USE_CLOCKID = 25,
	MMAP_BIT = 8,
	MMAP2 = 23,
	COMM = 9,
	DISABLED = 0,
};

#define BIT(n) (1L << (n))

static struct perf_event_attr with_bits(struct perf_event_attr attr, uint64_t bits)
{
	uint64_t word;

	memcpy(&word, (char *)&attr + 40, 8);
	word |= bits;
	memcpy((char *)&attr + 40, &word, 8);
	return attr;
}

/* a: bits of the flags; b: sample_type */
static long opens(const struct abi_case *c)
{
	struct perf_event_attr attr = with_bits(abi_dummy(), (uint64_t)c->a);

	attr.sample_type = (uint64_t)c->b;
	return abi_try(&attr, 0, -1, -1, 0);
}

/* a: a clock's number */
static long clock_of(const struct abi_case *c)
{
	struct perf_event_attr attr = with_bits(abi_dummy(), BIT(USE_CLOCKID));

	attr.clockid = (int32_t)c->a;
	return abi_try(&attr, 0, -1, -1, 0);
}

static void names(int n)
{
	char name[16];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "n%06d", i);
		prctl(PR_SET_NAME, name, 0, 0, 0);
	}
}

/* Paused, a ring takes nothing; then it goes on.  Records of what was done in each third. */
static long paused(const struct abi_case *c)
{
	struct perf_event_attr attr = with_bits(abi_dummy(), BIT(COMM));
	char rec[4096];
	struct ring r;
	long n = 0;

	(void)c;
	map_or_die(&r, (int)abi_open(&attr, -1), 4, RW);
	names(2);
	HOLDS(!abi_ioctl(r.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, (void *)1));
	names(7);
	HOLDS(!abi_ioctl(r.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, NULL));
	names(3);
	while (sample_next(&r, rec, sizeof(rec)))
		n += ((struct perf_event_header *)rec)->type == PERF_RECORD_COMM;
	return n;
}

/* Backward: the newest record is where the head says, and each older one behind it. */
static long backward(const struct abi_case *c)
{
	struct perf_event_attr attr = with_bits(abi_dummy(), BIT(COMM) | BIT(WRITE_BACKWARD));
	struct ring r;
	uint64_t head;
	long n = 0;

	(void)c;
	map_or_die(&r, (int)abi_open(&attr, -1), 1, PROT_READ);
	names(500);
	HOLDS(!abi_ioctl(r.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, (void *)1));
	head = r.page->data_head;
	HOLDS(head == -(uint64_t)(500 * 24));
	for (uint64_t at = head; at + 24 <= head + r.size; at += 24, n++) {
		char rec[24];

		for (unsigned int i = 0; i < 24; i++)
			rec[i] = r.data[(at + i) % r.size];
		HOLDS(atoi(rec + 17) == 499 - n);
	}
	return n;
}

/* Its output cannot be its own, nor a ring of another direction or clock. */
enum { ITSELF, OTHER_WAY, OTHER_CLOCK };

static long no_output(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy(), odd = attr;
	struct ring r;
	long fd;

	map_or_die(&r, (int)abi_open(&attr, -1), 1, RW);
	if (c->a == OTHER_WAY)
		odd = with_bits(odd, BIT(WRITE_BACKWARD));
	if (c->a == OTHER_CLOCK) {
		odd = with_bits(odd, BIT(USE_CLOCKID));
		odd.clockid = CLOCK_MONOTONIC;
	}
	fd = c->a == ITSELF ? r.fd : abi_open(&odd, -1);
	return abi_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (void *)(uintptr_t)r.fd);
}

/* Two mappings of one event are one ring; a: of another size. */
static long mapped_twice(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_dummy();
	struct ring r;

	map_or_die(&r, (int)abi_open(&attr, -1), 4, RW);
	return mmap(NULL, (size_t)(c->a * 4096), RW, MAP_SHARED, r.fd, 0) == MAP_FAILED ? -errno
											: 0;
}

/* --- threads and children */

static void *busy(void *unused)
{
	abi_work(1000000);
	return unused;
}

/* What is counted of 1 a thread, 2 a child, under a: bits. */
static long inherits(const struct abi_case *c)
{
	struct perf_event_attr attr = with_bits(abi_instructions(), (uint64_t)c->a);
	long fd = abi_open(&attr, -1), ret = 0;
	uint64_t from = abi_count(fd);
	pthread_t t;
	pid_t pid;

	if (fd < 0)
		return fd;
	pthread_create(&t, NULL, busy, NULL);
	pthread_join(t, NULL);
	ret |= abi_count(fd) - from >= 2000000;
	from = abi_count(fd);
	pid = fork();
	if (!pid) {
		abi_work(1000000);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return ret | (abi_count(fd) - from >= 2000000) << 1;
}

/* A child with an event of its parent's on it executes another program; a: bits.  1: it counts then, 0: it is gone */
static long over_exec(const struct abi_case *c)
{
	struct perf_event_attr attr =
		with_bits(abi_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK), (uint64_t)c->a);
	uint64_t before, after;
	int go[2], out[2];
	char byte;
	pid_t pid;
	long fd;

	HOLDS(!pipe(go) && !pipe(out));
	pid = fork();
	if (!pid) {
		dup2(go[0], 0);
		dup2(out[1], 1);
		execl("/bin/sh", "sh", "-c", "read a; exec sh -c 'echo x; read a'", NULL);
		_exit(1);
	}
	/* it waits for its first line: the exec of the first shell may be before or after the open, that of the second is after */
	HOLDS(write(go[1], "\n", 0) == 0);
	fd = abi_call(&attr, pid, -1, -1, 0);
	HOLDS(fd >= 0);
	HOLDS(write(go[1], "\n", 1) == 1);
	HOLDS(read(out[0], &byte, 1) == 1);
	before = abi_count(fd);
	HOLDS(write(go[1], "\n", 1) == 1);
	HOLDS(waitpid(pid, NULL, 0) == pid);
	after = abi_count(fd);
	return after > before;
}

/* --- SIGTRAP */

static volatile int traps;
static volatile long trap_data, trap_type;

static void on_trap(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)uc;
	/* behind si_addr: si_perf_data, si_perf_type */
	trap_data = *(long *)((char *)si + 24);
	trap_type = *(int *)((char *)si + 32);
	traps += si->si_code == 6; /* TRAP_PERF */
}

/* Each overflow is a signal to the thread, at once, with the event's own word. */
static long traps_of(const struct abi_case *c)
{
	union {
		struct perf_event_attr attr;
		uint64_t words[16]; /* sig_data is the last one, of 128 bytes */
	} a = { .attr = with_bits(abi_instructions(),
				  BIT(SIGTRAP_BIT) | BIT(REMOVE_ON_EXEC) | BIT(DISABLED)) };
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	uint64_t word = 0x1122334455667788;
	long fd;

	a.attr.sample_period = 10000;
	a.attr.size = 128;
	a.words[15] = word;
	sigaction(SIGTRAP, &sa, NULL);
	fd = abi_open(&a.attr, -1);
	if (fd < 0)
		return fd;
	(void)c;
	abi_ioctl(fd, PERF_EVENT_IOC_ENABLE, NULL);
	abi_work(52000);
	abi_ioctl(fd, PERF_EVENT_IOC_DISABLE, NULL);
	HOLDS(trap_data == (long)word && trap_type == PERF_TYPE_HARDWARE);
	return traps;
}

/* --- fields of samples of page faults */

/* a: field; what the sample has in it beside the address */
static long field(const struct abi_case *c)
{
	struct perf_event_attr attr =
		with_bits(abi_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS), BIT(DISABLED));
	volatile char *page = mmap(NULL, 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t rec[64];
	struct ring r;

	madvise((void *)page, 4096, MADV_NOHUGEPAGE);
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_ADDR | (uint64_t)c->a;
	map_or_die(&r, (int)abi_or_lacks(abi_open(&attr, -1)), 8, RW);
	abi_ioctl(r.fd, PERF_EVENT_IOC_ENABLE, NULL);
	page[5] = 1;
	abi_ioctl(r.fd, PERF_EVENT_IOC_DISABLE, NULL);
	while (sample_next(&r, rec, sizeof(rec)))
		if (rec[1] == (uintptr_t)page + 5)
			return (long)rec[2];
	return -1;
}

/* --- who switches */

static long switches(const struct abi_case *c)
{
	struct perf_event_attr attr = with_bits(abi_dummy(), BIT(CONTEXT_SWITCH)),
			       switched =
				       abi_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	char rec[4096];
	struct perf_event_header *h = (void *)rec;
	struct timespec t = { 0, 1000000 };
	struct ring r;
	long out = 0, in = 0;

	(void)c;
	/* a session hears of switches where the kernel lets it count them */
	switched.exclude_kernel = 0;
	switched.sample_period = 1;
	abi_or_lacks(abi_open(&switched, -1));
	map_or_die(&r, (int)abi_open(&attr, -1), 16, RW);
	for (int i = 0; i < 20; i++)
		nanosleep(&t, NULL);
	for (int tries = 0; tries < 1000 && (out < 20 || in < 20); tries++) {
		while (sample_next(&r, rec, sizeof(rec)))
			if (h->type == PERF_RECORD_SWITCH) {
				out += !!(h->misc & PERF_RECORD_MISC_SWITCH_OUT);
				in += !(h->misc & PERF_RECORD_MISC_SWITCH_OUT);
			}
		nanosleep(&t, NULL);
	}
	return out >= 20 && in >= 20;
}

static const struct abi_case cases[] = {
	{ "Z-001", "PAUSE_OUTPUT: five of twelve names", paused, N | S, 5, 0, 0 },
	{ "Z-002", "backward: the newest of 500 at the head", backward, N | S, 170, 0, 0 },
	{ "Z-003", "SET_OUTPUT to itself", no_output, N | S, -EINVAL, ITSELF, 0 },
	{ "Z-003", "to a ring that is written forward", no_output, N | S, -EINVAL, OTHER_WAY, 0 },
	{ "Z-003", "of another clock", no_output, N | S, -EINVAL, OTHER_CLOCK, 0 },
	{ "Z-004", "a second mapping of the same size", mapped_twice, N | S, 0, 5, 0 },
	{ "Z-004", "of another", mapped_twice, N | S, -EINVAL, 9, 0 },
	{ "Z-010", "CLOCK_REALTIME", clock_of, N | S, 0, CLOCK_REALTIME, 0 },
	{ "Z-010", "CLOCK_MONOTONIC_RAW", clock_of, N | S, 0, CLOCK_MONOTONIC_RAW, 0 },
	{ "Z-010", "CLOCK_BOOTTIME", clock_of, N | S, 0, CLOCK_BOOTTIME, 0 },
	{ "Z-010", "CLOCK_TAI", clock_of, N | S, 0, CLOCK_TAI, 0 },
	{ "Z-010", "CLOCK_REALTIME_COARSE", clock_of, N | S, -EINVAL, CLOCK_REALTIME_COARSE, 0 },
	{ "Z-010", "99", clock_of, N | S, -EINVAL, 99, 0 },
	{ "Z-011", "inherit_thread without inherit", opens, N | S | FROM(5, 13), -EINVAL,
	  BIT(INHERIT_THREAD), 0 },
	{ "Z-011", "with it", opens, N | S | FROM(5, 13), 0, BIT(INHERIT_THREAD) | BIT(INHERIT),
	  0 },
	{ "Z-011", "threads are counted, children not", inherits, S, 1,
	  BIT(INHERIT_THREAD) | BIT(INHERIT), 0 },
	{ "Z-011", "without the bit both are", inherits, S, 3, BIT(INHERIT), 0 },
	{ "Z-012", "remove_on_exec with enable_on_exec", opens, N | S | FROM(5, 13), -EINVAL,
	  BIT(REMOVE_ON_EXEC) | BIT(ENABLE_ON_EXEC), 0 },
	{ "Z-012", "sigtrap without remove_on_exec", opens, N | S | FROM(5, 13), -EINVAL,
	  BIT(SIGTRAP_BIT), 0 },
	{ "Z-012", "an event goes on over an exec", over_exec, N | S, 1, 0, 0 },
	{ "Z-012", "with remove_on_exec it does not", over_exec, N | S | FROM(5, 13), 0,
	  BIT(REMOVE_ON_EXEC), 0 },
	{ "Z-013", "a signal for each overflow, with its word", traps_of, S, 10, 0, 0 },
	{ "Z-014", "build_id, ksymbol, bpf_event, cgroup", opens, N | S | FROM(5, 12), 0,
	  BIT(BUILD_ID) | BIT(CGROUP) | BIT(MMAP_BIT) | BIT(MMAP2), 0 },
	{ "Z-014", "ksymbol and bpf_event", opens, R | S, 0, BIT(KSYMBOL) | BIT(BPF_EVENT), 0 },
	{ "Z-015", "PHYS_ADDR and page sizes", opens, R | S | FROM(5, 11), 0, 0,
	  1L << 19 | 1L << 22 | 1L << 23 },
	{ "Z-015", "WEIGHT beside WEIGHT_STRUCT", opens, N | S | FROM(5, 12), -EINVAL, 0,
	  1L << 14 | 1L << 24 },
	{ "Z-015", "the size of a page that is not there", field, N | S | FROM(5, 11), 0, 1L << 22,
	  0 },
	{ "Z-015", "code in pages of 4 KiB", field, N | FROM(5, 11), 4096, 1L << 23, 0 },
	{ "Z-015", "which nobody knows in a session", field, S, 0, 1L << 23, 0 },
	{ "Z-015", "a weight of nothing", field, N | S, 0, 1L << 14, 0 },
	{ "Z-015", "where data came from is not known", field, N | S | FROM(6, 1), 0x1e05080021,
	  1L << 15, 0 },
	{ "Z-016", "SWITCH: out and in, as often as it slept", switches, R | S, 1, 0, 0 },
	{ 0 },
};

int main(int argc, char **argv)
{
	return abi_main(cases, "", argc, argv);
}
