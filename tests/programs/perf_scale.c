/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * Many at once.
 *
 *	perf_scale inherit N	threads that all live at the same time, counted by one inherited event
 *	perf_scale rotate N MS	events on few counters, for so long: estimates within 10 % of the truth
 *	perf_scale limit	as many as the process may have descriptors; each counts, and all are gone when closed
 */
#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include "../tests/programs/perf_run.h"
#include "../tests/programs/task_test.h"

#define LESS 1000
#define MORE 31000

struct times {
	uint64_t value, enabled, running;
};

static int open_event(int inherit)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);

	attr.inherit = (unsigned int)inherit & 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return perf_run_open(&attr, 0, -1, -1);
}

static struct times read_event(int fd)
{
	struct times t = { 0 };

	if (read(fd, &t, sizeof(t)) != sizeof(t))
		perror("read");
	return t;
}

/* --- inherit */

static pthread_barrier_t all_live;

static void *work(void *arg)
{
	perf_run_work(*(uint64_t *)arg);
	pthread_barrier_wait(&all_live);
	return NULL;
}

static uint64_t on_threads(uint64_t n, unsigned int threads)
{
	pthread_t *t = calloc(threads, sizeof(*t));
	uint64_t all, own;
	int fd, mine;

	pthread_barrier_init(&all_live, NULL, threads);
	fd = open_event(1);
	mine = open_event(0);
	for (unsigned int i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, work, &n))
			abort();
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	own = read_event(mine).value;
	all = read_event(fd).value;
	close(fd);
	close(mine);
	free(t);
	return all - own;
}

/* What they execute beside their work can depend on who waits for whom, and is never less than this. */
static uint64_t least(uint64_t n, unsigned int threads)
{
	uint64_t best = UINT64_MAX, v;

	for (int round = 0; round < 3; round++) {
		v = on_threads(n, threads);
		best = v < best ? v : best;
	}
	return best;
}

static void inherit(unsigned int threads)
{
	uint64_t expected = 2ULL * (MORE - LESS) * threads, got;

	got = least(MORE, threads) - least(LESS, threads);
	CHECK(got == expected, "one event, many threads");
	if (task_failed)
		fprintf(stderr, "got %llu, not %llu\n", (unsigned long long)got,
			(unsigned long long)expected);
}

/* --- rotate */

/* Of CPU time: rotation goes by it. */
static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void rotate(unsigned int events, uint64_t ms)
{
	int *fds = calloc(events, sizeof(*fds));
	uint64_t begun = now_ms(), slices = 0;
	unsigned int off = 0, never = 0;

	for (unsigned int i = 0; i < events; i++) {
		fds[i] = open_event(0);
		ioctl(fds[i], PERF_EVENT_IOC_RESET, 0);
	}
	for (; now_ms() - begun < ms; slices++)
		perf_run_work(1000000);
	for (unsigned int i = 0; i < events; i++) {
		struct times t = read_event(fds[i]);
		double truth = 2e6 * (double)slices;
		double guess = (double)t.value * (double)t.enabled / (double)t.running;

		if (!t.running)
			never++;
		else if (guess < 0.9 * truth || guess > 1.1 * truth)
			off++;
		if (t.running && (guess < 0.9 * truth || guess > 1.1 * truth))
			fprintf(stderr, "event %u: %.0f for %.0f, ran %.1f ms of %.1f\n", i, guess,
				truth, (double)t.running / 1e6, (double)t.enabled / 1e6);
		close(fds[i]);
	}
	fprintf(stderr, "%u off, %u never on\n", off, never);
	CHECK(!never, "every event had its turn");
	CHECK(!off, "estimates within 10 %");
	free(fds);
}

/* --- limit */

#define SPARE 16 /* descriptors that are the process' own, and the engine's at the top */

/* How many could be opened, and why no more. */
static unsigned int fill(int *fds, unsigned int most, int *err)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	unsigned int n = 0;

	attr.disabled = 1;
	while (n < most && (fds[n] = perf_run_open(&attr, 0, -1, -1)) >= 0)
		n++;
	*err = errno;
	return n;
}

__attribute__((noinline, noclone)) static uint64_t counted(int fd, uint64_t n)
{
	uint64_t before = perf_run_read(fd);

	perf_run_work(n);
	return perf_run_read(fd) - before;
}

static bool counts(int fd)
{
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return counted(fd, LESS + 3000) - counted(fd, LESS) == 2 * 3000;
}

static void limit(void)
{
	unsigned int n, again, good = 0;
	struct rlimit lim;
	int *fds, err;

	getrlimit(RLIMIT_NOFILE, &lim);
	fds = calloc(lim.rlim_cur, sizeof(*fds));
	n = fill(fds, (unsigned int)lim.rlim_cur, &err);
	CHECK(err == EMFILE, "the process' limit ends it");
	CHECK(n + SPARE >= lim.rlim_cur, "and nothing before");
	for (unsigned int i = 0; i < n; i++)
		good += counts(fds[i]);
	CHECK(good == n, "each of them counts");
	/* the last one goes on under the first one's number */
	dup2(fds[n - 1], fds[0]);
	close(fds[n - 1]);
	CHECK(counts(fds[0]), "a copy counts on");
	for (unsigned int i = 0; i < n - 1; i++)
		close(fds[i]);
	again = fill(fds, (unsigned int)lim.rlim_cur, &err);
	CHECK(err == EMFILE && again == n, "as many again");
	free(fds);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "limit"))
		limit();
	else if (argc == 3 && !strcmp(argv[1], "inherit"))
		inherit((unsigned int)atoi(argv[2]));
	else if (argc == 4 && !strcmp(argv[1], "rotate"))
		rotate((unsigned int)atoi(argv[2]), strtoull(argv[3], NULL, 10));
	else
		return 2;
	return task_failed;
}
