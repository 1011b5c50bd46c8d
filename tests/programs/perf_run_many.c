/* SPDX-License-Identifier: MIT */
/*
 * Ten thousand events open at once, all of which count; argument: the pid whose memory they cost.
 * Prints whether that is at most 2 KiB for each, and whether it is given back.
 */
#include <sys/resource.h>

#include "../tests/programs/perf_run.h"
#include "../tests/programs/task_test.h"

#define MANY 10000

static int fds[MANY];

/* Its own memory, and what it has touched of the session's. */
static long resident_kb(const char *pid)
{
	char path[64], line[256];
	long kb = 0, n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %ld", &n) == 1 || sscanf(line, "RssShmem: %ld", &n) == 1)
			kb += n;
	if (f)
		fclose(f);
	return kb;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	struct rlimit lim;
	long before;
	int bad = 0;

	if (argc < 2 || getrlimit(RLIMIT_NOFILE, &lim))
		return 2;
	lim.rlim_cur = lim.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &lim) || lim.rlim_cur < MANY + 100) {
		puts("no room");
		return 77;
	}
	before = resident_kb(argv[1]);
	for (int i = 0; i < MANY; i++)
		fds[i] = perf_run_open(&attr, 0, -1, -1);
	for (int i = 0; i < MANY; i++)
		bad += fds[i] < 0;
	CHECK(!bad, "ten thousand opens");
	CHECK(resident_kb(argv[1]) - before <= MANY * 2, "2 KiB for each");
	for (int i = 0; i < MANY; i += 97)
		bad += perf_run_read(fds[i]) <= perf_run_read(fds[i < MANY - 97 ? i + 97 : i]);
	CHECK(bad <= 1, "who was opened earlier has counted more");
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
	fds[0] = perf_run_open(&attr, 0, -1, -1);
	CHECK(fds[0] >= 0 && perf_run_read(fds[0]) < 1000000, "one more after all are closed");
	return task_failed;
}
