/* SPDX-License-Identifier: MIT */
/*
 * Where counters are short: a session that has two for each task.  Pinned events, exclusive groups, turns, groups that cannot be,
 * and the error state, in which read(2) gives 0 bytes.
 */
#include <sys/prctl.h>

#include "../tests/programs/abi.h"

struct reading {
	uint64_t count, enabled, running;
};

static long open_timed(long group, int pinned, int exclusive)
{
	struct perf_event_attr attr = abi_instructions();

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.pinned = !!pinned;
	attr.exclusive = !!exclusive;
	return abi_open(&attr, group);
}

static struct reading read_of(long fd)
{
	struct reading r = { 0, 0, 0 };

	if (read((int)fd, &r, sizeof(r)) != sizeof(r))
		memset(&r, 0xff, sizeof(r));
	return r;
}

/* All have had a counter for a while. */
static void until_all_ran(const long *fds, int n)
{
	int ran = 0;

	while (ran < n) {
		abi_work(100000);
		ran = 0;
		for (int i = 0; i < n; i++)
			ran += !!read_of(fds[i]).running;
	}
	prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0);
}

/* Two groups of two: the members of each have run as long as their leader, and seen as much. */
static long groups_as_a_whole(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_instructions();
	long fds[2], member;
	uint64_t v[2][5];

	attr.disabled = 1;
	attr.read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	for (int i = 0; i < 2; i++) {
		attr.disabled = 1;
		fds[i] = abi_open(&attr, -1);
		attr.disabled = 0;
		member = abi_open(&attr, fds[i]);
		HOLDS(fds[i] >= 0 && member >= 0);
	}
	prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0);
	do {
		abi_work(100000);
		for (int i = 0; i < 2; i++) {
			HOLDS(read((int)fds[i], v[i], sizeof(v[i])) == sizeof(v[i]));
			HOLDS(v[i][0] == 2 && v[i][3] == v[i][4]);
		}
	} while (!v[0][2] || !v[1][2]);
	prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0);
	for (int i = 0; i < 2; i++) {
		HOLDS(read((int)fds[i], v[i], sizeof(v[i])) == sizeof(v[i]));
		HOLDS(v[i][2] < v[i][1] && v[i][3] && v[i][3] == v[i][4]);
	}
	/* one at a time */
	HOLDS(v[0][2] + v[1][2] <= (v[0][1] > v[1][1] ? v[0][1] : v[1][1]));
	(void)c;
	return 0;
}

static long turns(const struct abi_case *c)
{
	struct reading r;
	uint64_t ran = 0;
	long fds[5];

	for (int i = 0; i < 5; i++)
		fds[i] = open_timed(-1, 0, 0);
	until_all_ran(fds, 5);
	for (int i = 0; i < 5; i++) {
		r = read_of(fds[i]);
		HOLDS(r.count && r.running && r.running < r.enabled);
		ran += r.running;
	}
	/* two at a time */
	HOLDS(ran <= 2 * read_of(fds[0]).enabled);
	(void)c;
	return 0;
}

/* The pinned one is on all the time; the others share what is left, and have no more than it has. */
static long pinned_first(const struct abi_case *c)
{
	struct reading all, r;
	long fds[4];
	uint64_t counts = 0;

	for (int i = 1; i < 4; i++)
		fds[i] = open_timed(-1, 0, 0);
	fds[0] = open_timed(-1, 1, 0);
	until_all_ran(fds, 4);
	all = read_of(fds[0]);
	HOLDS(all.running == all.enabled);
	for (int i = 1; i < 4; i++) {
		r = read_of(fds[i]);
		HOLDS(r.running < r.enabled && r.count);
		counts += r.count;
	}
	/* what ran before the pinned one was opened is some calls */
	HOLDS(counts <= all.count + 100000);
	(void)c;
	return 0;
}

static long exclusive_alone(const struct abi_case *c)
{
	struct reading a, b;
	long fds[2];

	fds[0] = open_timed(-1, 0, 1);
	fds[1] = open_timed(-1, 0, 0);
	until_all_ran(fds, 2);
	a = read_of(fds[0]);
	b = read_of(fds[1]);
	HOLDS(a.count && b.count && a.running < a.enabled && b.running < b.enabled);
	HOLDS(a.running + b.running <= a.enabled);
	(void)c;
	return 0;
}

/* a: events of a group; what the last one's open says */
static long too_large(const struct abi_case *c)
{
	long leader = open_timed(-1, 0, 0), fd = leader;

	for (int i = 1; i < c->a; i++)
		fd = open_timed(leader, 0, 0);
	return fd < 0 ? fd : 0;
}

/* Two pinned ones have the counters; the third is in the error state. */
static long open_third(long fds[3])
{
	for (int i = 0; i < 3; i++) {
		fds[i] = open_timed(-1, 1, 0);
		HOLDS(fds[i] >= 0);
	}
	abi_work(1000);
	return 0;
}

static long bytes_of(long fd)
{
	uint64_t v[3];

	return read((int)fd, v, sizeof(v));
}

/* a: what is done with it then.  Bytes of a read, 24 where it is well. */
enum { NOTHING, ENABLED, DISABLED, RESET, WITH_ROOM, COUNTS };

static long no_room(const struct abi_case *c)
{
	long fds[3];
	uint64_t was;

	HOLDS(!open_third(fds));
	HOLDS(bytes_of(fds[0]) == 24 && bytes_of(fds[1]) == 24);
	if (c->a == NOTHING)
		return bytes_of(fds[2]);
	HOLDS(!bytes_of(fds[2]));
	if (c->a >= WITH_ROOM)
		HOLDS(!abi_ioctl(fds[0], PERF_EVENT_IOC_DISABLE, NULL));
	HOLDS(!bytes_of(fds[2]));
	HOLDS(!abi_ioctl(fds[2],
			 c->a == DISABLED ? PERF_EVENT_IOC_DISABLE
			 : c->a == RESET  ? PERF_EVENT_IOC_RESET
					  : PERF_EVENT_IOC_ENABLE,
			 NULL));
	abi_work(1000);
	if (c->a != COUNTS)
		return bytes_of(fds[2]);
	was = read_of(fds[2]).count;
	abi_work(1000);
	return read_of(fds[2]).count - was >= 2000;
}

static const struct abi_case cases[] = {
	{ "A-032", "a group is on as a whole", groups_as_a_whole, O, 0, 0, 0 },
	{ "C-020", "all of a group or nothing", groups_as_a_whole, O, 0, 0, 0 },
	{ "C-021", "five events take turns on two counters", turns, O, 0, 0, 0 },
	{ "C-001", "inactive: enabled and not running", turns, O, 0, 0, 0 },
	{ "C-024", "pinned first", pinned_first, O, 0, 0, 0 },
	{ "A-110", "always on", pinned_first, O, 0, 0, 0 },
	{ "C-028", "counts that are shared stay within what there was", pinned_first, O, 0, 0, 0 },
	{ "C-024", "exclusive alone", exclusive_alone, O, 0, 0, 0 },
	{ "A-112", "alone on the PMU", exclusive_alone, O, 0, 0, 0 },
	{ "A-113", "also where nothing would disturb it", exclusive_alone, O, 0, 0, 0 },
	{ "C-025", "two in a group", too_large, O, 0, 2, 0 },
	{ "C-025", "three cannot be on together", too_large, O, -EINVAL, 3, 0 },
	{ "C-026", "which is known at open", too_large, O, -EINVAL, 3, 0 },
	{ "C-027", "and enforced for the fourth as well", too_large, O, -EINVAL, 4, 0 },
	{ "G-011", "EINVAL since 3.3", too_large, O, -EINVAL, 3, 0 },
	{ "X-14", "a group without room: EINVAL", too_large, O, -EINVAL, 3, 0 },
	{ "C-004", "a pinned event without room reads 0 bytes", no_room, O, 0, NOTHING, 0 },
	{ "C-004", "while there is none also when it is switched on", no_room, O, 0, ENABLED, 0 },
	{ "C-004", "RESET is no switch", no_room, O, 0, RESET, 0 },
	{ "C-004", "disabling ends it", no_room, O, 24, DISABLED, 0 },
	{ "C-004", "with room enabling ends it", no_room, O, 24, WITH_ROOM, 0 },
	{ "A-111", "0 bytes until it is switched", no_room, O, 0, NOTHING, 0 },
	{ "A-111", "then it counts", no_room, O, 1, COUNTS, 0 },
	{ "C-050", "0 bytes in the error state", no_room, O, 0, NOTHING, 0 },
	{ "G-013", "read gives 0 in the error state", no_room, O, 0, NOTHING, 0 },
	{ "F-014", "ENABLE ends the error state", no_room, O, 1, COUNTS, 0 },
	{ 0 },
};

int main(int argc, char **argv)
{
	return abi_main(cases, "short --counters=2\n", argc, argv);
}
