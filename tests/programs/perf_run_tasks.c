/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * Counters on oneself, threads, children, descendants and strangers.  Each way of counting is tried
 * with more and with less work: what differs must be that work, to the instruction.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../tests/programs/perf_run.h"
#include "../tests/programs/task_test.h"

#define LESS 1000
#define MORE 31000

static const char *self_path;
static int gate[2]; /* a task that is to be counted waits for a byte */

static void open_gate(void)
{
	if (write(gate[1], "", 1) != 1)
		abort();
}

static void wait_at_gate(void)
{
	char c;

	if (read(gate[0], &c, 1) != 1)
		_exit(9);
}

/* Until the task has arrived there: what it executes on its way would be counted at times. */
static void await(pid_t tid)
{
	char path[64], want[32], line[128];

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)tid);
	snprintf(want, sizeof(want), "0 0x%x ", (unsigned int)gate[0]);
	for (;;) {
		FILE *f = fopen(path, "r");
		bool there =
			f && fgets(line, sizeof(line), f) && !strncmp(line, want, strlen(want));

		if (f)
			fclose(f);
		if (there)
			return;
		usleep(500);
	}
}

static int open_on(pid_t pid, int more)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);

	if (pid)
		await(pid);
	attr.inherit = more == 'i';
	attr.enable_on_exec = attr.disabled = more == 'x';
	return perf_run_open(&attr, pid, -1, -1);
}

static uint64_t on_self(uint64_t n)
{
	int fd = open_on(0, 0);
	uint64_t v;

	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	perf_run_work(n);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	v = perf_run_read(fd);
	close(fd);
	return v;
}

static pid_t forked(uint64_t n, int sig)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	wait_at_gate();
	perf_run_work(n);
	if (sig)
		kill(getpid(), sig);
	_exit(0);
}

/* A child at the gate is counted to its end: from outside, so that nothing of the measuring is in it. */
static uint64_t count_of(pid_t pid, int more)
{
	int fd = open_on(pid, more);
	uint64_t v;

	open_gate();
	waitpid(pid, NULL, 0);
	v = perf_run_read(fd);
	close(fd);
	return v;
}

static uint64_t on_child_that(uint64_t n, int sig)
{
	return count_of(forked(n, sig), 0);
}

static uint64_t on_child(uint64_t n)
{
	return on_child_that(n, 0);
}

static uint64_t on_killed_child(uint64_t n)
{
	return on_child_that(n, SIGKILL);
}

static uint64_t on_aborted_child(uint64_t n)
{
	return on_child_that(n, SIGSEGV);
}

static void descend(uint64_t n, int generations)
{
	pid_t pid;

	perf_run_work(n);
	if (!generations)
		return;
	pid = fork();
	if (!pid) {
		descend(n, generations - 1);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* The eldest is counted. */
static uint64_t on_four_generations(uint64_t n)
{
	pid_t pid = fork();

	if (!pid) {
		wait_at_gate();
		descend(n, 3);
		_exit(0);
	}
	return count_of(pid, 'i');
}

static uint64_t on_exec(uint64_t n)
{
	pid_t pid = fork();
	char arg[32];

	snprintf(arg, sizeof(arg), "%010llu", (unsigned long long)n);
	if (!pid) {
		wait_at_gate();
		execl(self_path, self_path, arg, NULL);
		_exit(127);
	}
	return count_of(pid, 'x');
}

/* A vfork child that execs, inherited. */
static uint64_t on_spawned(uint64_t n)
{
	char arg[32], path[512], *argv[] = { path, arg, NULL };
	pid_t pid, inner;

	snprintf(arg, sizeof(arg), "%010llu", (unsigned long long)n);
	snprintf(path, sizeof(path), "%s", self_path);
	pid = fork();
	if (!pid) {
		wait_at_gate();
		if (posix_spawn(&inner, path, NULL, NULL, argv, environ))
			_exit(1);
		waitpid(inner, NULL, 0);
		_exit(0);
	}
	return count_of(pid, 'i');
}

struct job {
	uint64_t n;
	pid_t tid;
	int told[2];
};

static void *threads_work(void *arg)
{
	struct job *job = arg;

	job->tid = (pid_t)syscall(SYS_gettid);
	if (write(job->told[1], "", 1) != 1)
		abort();
	wait_at_gate();
	perf_run_work(job->n);
	return NULL;
}

static uint64_t on_thread(uint64_t n)
{
	struct job job = { .n = n };
	pthread_t thread;
	uint64_t v;
	char c;
	int fd;

	if (pipe(job.told) || pthread_create(&thread, NULL, threads_work, &job) ||
	    read(job.told[0], &c, 1) != 1)
		abort();
	fd = open_on(job.tid, 0);
	open_gate();
	pthread_join(thread, NULL);
	v = perf_run_read(fd);
	close(fd);
	close(job.told[0]);
	close(job.told[1]);
	return v;
}

/* Sibling processes: one counts the other, by its pid. */
static uint64_t on_sibling(uint64_t n)
{
	pid_t worker = forked(n, 0), other;
	int said[2];
	uint64_t v = 0;

	if (pipe(said))
		abort();
	other = fork();
	if (!other) {
		int fd = open_on(worker, 0);
		siginfo_t si;

		open_gate();
		/* the parent reaps it */
		while (waitid(P_PID, (id_t)worker, &si, WEXITED | WNOWAIT) && errno == EINTR)
			;
		while (kill(worker, 0) == 0)
			usleep(1000);
		v = perf_run_read(fd);
		_exit(write(said[1], &v, sizeof(v)) != sizeof(v));
	}
	waitpid(worker, NULL, 0);
	if (read(said[0], &v, sizeof(v)) != sizeof(v))
		v = 0;
	waitpid(other, NULL, 0);
	close(said[0]);
	close(said[1]);
	return v;
}

static void *thread_of_many(void *arg)
{
	perf_run_work(*(uint64_t *)arg);
	return NULL;
}

#define CPUS 64
/* Everything of the session, CPU by CPU: how it is split is chance, the sum is not. */
static uint64_t on_all_cpus(uint64_t n)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	int fds[CPUS], ncpus = (int)sysconf(_SC_NPROCESSORS_CONF);
	uint64_t sum = 0;

	attr.disabled = 1;
	for (int i = 0; i < ncpus && i < CPUS; i++)
		fds[i] = perf_run_open(&attr, -1, i, -1);
	/* all at once: of one after the other it depends on the CPU what is counted between them */
	prctl(PR_TASK_PERF_EVENTS_ENABLE);
	perf_run_work(n);
	prctl(PR_TASK_PERF_EVENTS_DISABLE);
	for (int i = 0; i < ncpus && i < CPUS; i++) {
		sum += perf_run_read(fds[i]);
		close(fds[i]);
	}
	return sum;
}

#define MANY 200
/* Threads of a child, inherited; those who are joined are joined in their order. */
static uint64_t on_many_threads(uint64_t n)
{
	pid_t pid = fork();
	pthread_t threads[MANY];
	uint64_t v;
	int fd;

	if (!pid) {
		int own;

		wait_at_gate();
		/* what the joining costs depends on who is faster: it is counted and taken off */
		own = open_on(0, 0);
		for (int i = 0; i < MANY; i++)
			if (pthread_create(&threads[i], NULL, thread_of_many, &n))
				abort();
		for (int i = 0; i < MANY; i++)
			pthread_join(threads[i], NULL);
		v = perf_run_read(own);
		if (write(gate[1], &v, sizeof(v)) != sizeof(v))
			abort();
		_exit(0);
	}
	fd = open_on(pid, 'i');
	open_gate();
	waitpid(pid, NULL, 0);
	if (read(gate[0], &v, sizeof(v)) != sizeof(v))
		abort();
	v = perf_run_read(fd) - v;
	close(fd);
	return v;
}

/* A child is there for others as soon as fork has returned. */
static void just_forked(void)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	int opened = 0;

	for (int i = 0; i < 50; i++) {
		pid_t pid = forked((uint64_t)i + 1, 0);
		int fd = perf_run_open(&attr, pid, -1, -1);
		uint64_t v;

		open_gate();
		waitpid(pid, NULL, 0);
		v = perf_run_read(fd);
		opened += fd >= 0 && v > 2 * (uint64_t)i && v < 1000000;
		if (fd < 0 || v <= 2 * (uint64_t)i || v >= 1000000)
			fprintf(stderr, "child %d: fd %d, count %lld\n", i, fd, (long long)v);
		close(fd);
	}
	CHECK(opened == 50, "children that were just forked");
}

struct group {
	uint64_t nr;
	struct {
		uint64_t value, id;
	} of[2];
};

static void in_a_group(void)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	struct group g[2];
	int fd[2];

	attr.disabled = 1;
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	fd[0] = perf_run_open(&attr, 0, -1, -1);
	attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	attr.disabled = 0;
	fd[1] = perf_run_open(&attr, 0, -1, fd[0]);
	for (int i = 0; i < 2; i++) {
		ioctl(fd[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
		ioctl(fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
		perf_run_work(i ? MORE : LESS);
		ioctl(fd[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
		CHECK(read(fd[0], &g[i], sizeof(g[i])) == sizeof(g[i]) && g[i].nr == 2,
		      "group read");
	}
	CHECK(g[1].of[0].value - g[0].of[0].value == 2 * (MORE - LESS), "its instructions");
	CHECK(g[1].of[1].value - g[0].of[1].value == MORE - LESS, "its branches");
	CHECK(g[0].of[0].id != g[0].of[1].id && g[0].of[0].id == g[1].of[0].id, "its ids");
	close(fd[1]);
	close(fd[0]);
}

/* Where this is, and stays. */
static int stay_here(cpu_set_t *before)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	sched_getaffinity(0, sizeof(*before), before);
	if (cpu < 0 || !CPU_ISSET(cpu, before))
		for (cpu = 0; cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, before);)
			cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0, "stays on a CPU");
	return cpu;
}

static int open_bound(int cpu, bool inherit)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);

	attr.inherit = inherit;
	return perf_run_open(&attr, 0, cpu, -1);
}

/* And little else. */
static bool is_work(uint64_t v, uint64_t n)
{
	if (v < 2 * n || v > 2 * n + 1000000)
		fprintf(stderr, "%llu instructions\n", (unsigned long long)v);
	return v >= 2 * n && v <= 2 * n + 1000000;
}

/* Events that count on one CPU only, where their tasks stay: all that they do is there. */
static void on_one_cpu(void)
{
	uint64_t n = 1000000;
	cpu_set_t before;
	int cpu = stay_here(&before), fd, status, nfull = 0;
	pthread_t thread;
	pid_t pid;

	fd = open_bound(cpu, true);
	pid = fork();
	if (!pid) {
		perf_run_work(n);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	CHECK(is_work(perf_run_read(fd), n), "on one CPU: a child");
	close(fd);

	fd = open_bound(cpu, true);
	if (pthread_create(&thread, NULL, thread_of_many, &n))
		abort();
	pthread_join(thread, NULL);
	CHECK(is_work(perf_run_read(fd), n), "on one CPU: a thread");
	close(fd);

	/* nobody knew where they are when they opened their own */
	fd = open_bound(cpu, false);
	for (int i = 0; i < 10; i++) {
		pid = fork();
		if (!pid) {
			int own = open_bound(cpu, false);

			perf_run_work(LESS);
			_exit(!is_work(perf_run_read(own), LESS));
		}
		waitpid(pid, &status, 0);
		nfull += status == 0;
	}
	CHECK(nfull == 10, "on one CPU: children with events of their own");
	close(fd);
	sched_setaffinity(0, sizeof(before), &before);
}

struct way {
	const char *name;
	uint64_t (*count)(uint64_t);
	uint64_t tasks; /* that do the work */
};

static const struct way ways[] = {
	{ "self", on_self, 1 },
	{ "child", on_child, 1 },
	{ "killed child", on_killed_child, 1 },
	{ "child that dies of a fault signal", on_aborted_child, 1 },
	{ "four generations", on_four_generations, 4 },
	{ "exec", on_exec, 1 },
	{ "vfork and exec, inherited", on_spawned, 1 },
	{ "thread", on_thread, 1 },
	{ "sibling", on_sibling, 1 },
	{ "all CPUs", on_all_cpus, 1 },
	{ "200 threads, inherited", on_many_threads, MANY },
};

static void compare(const struct way *way)
{
	const uint64_t expected = 2 * (MORE - LESS) * way->tasks;
	uint64_t less, more;

	/* the first time costs more: bindings, caches of stacks */
	way->count(LESS);
	less = way->count(LESS);
	more = way->count(MORE);
	CHECK(more - less == expected, way->name);
	if (task_failed)
		fprintf(stderr, "%s: less %llu more %llu, so %lld for %llu\n", way->name,
			(unsigned long long)less, (unsigned long long)more,
			(long long)(more - less), (unsigned long long)expected);
}

int main(int argc, char **argv)
{
	self_path = argv[0];
	if (argc > 1) {
		perf_run_work(strtoull(argv[1], NULL, 10));
		return 0;
	}
	if (pipe(gate))
		return 2;
	for (unsigned int i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		compare(&ways[i]);
	in_a_group();
	on_one_cpu();
	just_forked();
	return task_failed;
}
