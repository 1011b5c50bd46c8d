/* SPDX-License-Identifier: MIT */
/* LIBS: -pthread */
/*
 * What is recorded of names that are written to files, of cgroups, and of switches on a CPU; printed so
 * that it is the same natively and counted.  Argument: the case; of those with cgroups the folder of cgroup2.
 */
#include "sample.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define RW (PROT_READ | PROT_WRITE)

static uint64_t buf[1024];
static pid_t thread_tid;
static int go[2], done[2];

static int open_or_die(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = sample_open(attr, pid, cpu, -1);

	if (fd >= 0)
		return fd;
	printf("open: %s\n", strerror(errno));
	exit(2);
}

/* 0: it cannot be opened or written to */
static long put(const char *path, int flags, const char *text)
{
	int fd = open(path, flags | O_CLOEXEC);
	long n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n;
}

static const char *who(uint32_t tid)
{
	return tid == (uint32_t)thread_tid ? "thread" : tid == (uint32_t)getpid() ? "me" : "?";
}

/* --- names */

static void *named_thread(void *unused)
{
	char c;

	thread_tid = gettid();
	if (write(done[1], "", 1) != 1 || read(go[0], &c, 1) != 1)
		exit(3);
	return unused;
}

static void names(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = 1,
					.comm = 1,
					.sample_id_all = 1,
					.sample_type = PERF_SAMPLE_TID };
	int plain, fd = open_or_die(&attr, 0, -1);
	pthread_t thread;
	char path[64], c;
	struct ring r;

	map_or_die(&r, fd, 8, RW);
	if (pipe(go) || pipe(done) || pthread_create(&thread, NULL, named_thread, NULL) ||
	    read(done[0], &c, 1) != 1)
		exit(3);
	prctl(PR_SET_NAME, "by prctl");
	printf("self: %ld\n", put("/proc/self/comm", O_WRONLY, "by file"));
	snprintf(path, sizeof(path), "/proc/%d/comm", getpid());
	printf("pid: %ld\n", put(path, O_RDWR, "by pid\n"));
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", thread_tid);
	printf("task: %ld\n", put(path, O_WRONLY, "the other"));
	printf("pthread: %d\n", pthread_setname_np(thread, "pthread"));
	/* other files, and one of the same name elsewhere, are of no account */
	plain = open("comm", O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	printf("plain: %ld\n", (long)write(plain, "nobody", 6));
	close(plain);
	unlink("comm");
	printf("failed: %d\n", put("/proc/1/comm", O_WRONLY, "x") > 0 && getpid() != 1);
	if (write(go[1], "", 1) != 1 || pthread_join(thread, NULL))
		exit(3);
	while (sample_next(&r, buf, sizeof(buf))) {
		const struct perf_event_header *h = (const void *)buf;
		const uint32_t *w = (const uint32_t *)&buf[1];
		const uint32_t *end = (const uint32_t *)((char *)buf + h->size);

		if (h->type == PERF_RECORD_COMM)
			printf("COMM misc %#x %s of %s by %s\n", h->misc, (const char *)&buf[2],
			       who(w[1]), who(end[-1]));
		else
			printf("record %u\n", h->type);
	}
	sample_unmap(&r);
}

/* --- cgroups */

static uint64_t id_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

static void spin(void)
{
	for (volatile int i = 0; i < 400000;)
		i = i + 1;
}

/* Made ones, by each of the calls; a folder that is none; then samples, before and after a move. */
static void cgroups(const char *mount)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_TASK_CLOCK,
					.sample_period = 100000,
					.exclude_kernel = 1,
					.cgroup = 1,
					.disabled = 1,
					.sample_type = PERF_SAMPLE_CGROUP };
	char a[256], b[300], procs[320];
	uint64_t id_a, id_b, before, seen[2] = { 0, 0 };
	int dir = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = open_or_die(&attr, 0, -1);
	const char *name;
	struct ring r;

	map_or_die(&r, fd, 64, RW);
	snprintf(a, sizeof(a), "%s/sample_told.%d", mount, getpid());
	snprintf(b, sizeof(b), "%s/below", a);
	name = a + strlen(mount) + 1;
	before = id_of(mount);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (mkdirat(dir, name, 0700))
		exit(printf("mkdir: %s\n", strerror(errno)) ? 2 : 3);
	if (mkdir(b, 0700) || mkdir("told.dir", 0700) || chdir(a) || mkdir("relative", 0700) ||
	    !mkdir("relative", 0700))
		printf("FAILED: mkdir: %s\n", strerror(errno));
	id_a = id_of(a);
	id_b = id_of(b);
	spin();
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", b);
	printf("moved: %d\n", put(procs, O_WRONLY, "0") == 1);
	spin();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while (sample_next(&r, buf, sizeof(buf))) {
		const struct perf_event_header *h = (const void *)buf;
		const char *path = (const char *)&buf[2];

		if (h->type == PERF_RECORD_CGROUP)
			printf("CGROUP %s %s%s\n",
			       buf[1] == id_a	? "a"
			       : buf[1] == id_b ? "b"
						: "other",
			       path[0] == '/' && !strncmp(path + 1, name, strlen(name)) ? "name"
											: "?",
			       path[0] == '/' ? path + 1 + strlen(name) : "");
		else if (h->type == PERF_RECORD_SAMPLE && buf[1] == before && !seen[1])
			seen[0]++;
		else if (h->type == PERF_RECORD_SAMPLE && buf[1] == id_b)
			seen[1]++;
		else
			printf("FAILED: record %u with %lu\n", h->type, (unsigned long)buf[1]);
	}
	printf("samples before %d, in the other %d\n", seen[0] > 0, seen[1] > 0);
	sample_unmap(&r);
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", mount);
	put(procs, O_WRONLY, "0");
	if (chdir("/") || rmdir(b) || unlinkat(dir, name, 0) == 0)
		printf("FAILED: rmdir\n");
	snprintf(b, sizeof(b), "%s/relative", a);
	if (rmdir(b) || rmdir(a))
		printf("FAILED: rmdir\n");
}

/* An event of a cgroup counts who is in it, and nobody else. */
static void moves(const char *mount)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_TASK_CLOCK,
					.exclude_kernel = 1 };
	char path[256], in[300], out[300];
	uint64_t before, inside, at_end, after;
	int cpu = sched_getcpu(), dir, fd;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	snprintf(path, sizeof(path), "%s/sample_moves.%d", mount, getpid());
	snprintf(in, sizeof(in), "%s/cgroup.procs", path);
	snprintf(out, sizeof(out), "%s/cgroup.procs", mount);
	if (mkdir(path, 0700)) {
		printf("mkdir: %s\n", strerror(errno));
		exit(2);
	}
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = (int)syscall(SYS_perf_event_open, &attr, dir, cpu, -1,
			  PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		printf("open: %s\n", strerror(errno));
		rmdir(path);
		exit(2);
	}
	spin();
	before = sample_count(fd);
	put(in, O_WRONLY, "0");
	spin();
	inside = sample_count(fd);
	put(out, O_WRONLY, "0");
	at_end = sample_count(fd);
	spin();
	after = sample_count(fd);
	printf("before %d, inside %d, then the same %d\n", before > 0, inside > 0, at_end == after);
	close(fd);
	close(dir);
	if (rmdir(path))
		printf("FAILED: rmdir\n");
}

/* --- switches of a CPU */

/* Ours alone, because others use the CPU as well: out and in by turns, as often as we slept. */
static void switches(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = 1,
					.context_switch = 1,
					.sample_id_all = 1,
					.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CPU };
	int fd, cpu = sched_getcpu(), n = 0, wide = 0, odd = 0, others = 0;
	int is_out, was_out = 0;
	struct timespec ms = { .tv_nsec = 2000000 };
	cpu_set_t set;
	struct ring r;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	fd = open_or_die(&attr, -1, cpu);
	map_or_die(&r, fd, 256, RW);
	for (int i = 0; i < 5; i++)
		nanosleep(&ms, NULL);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while (sample_next(&r, buf, sizeof(buf))) {
		const struct perf_event_header *h = (const void *)buf;
		const uint32_t *end = (const uint32_t *)((char *)buf + h->size);

		if (end[-3] != (uint32_t)getpid())
			continue;
		wide += h->type == PERF_RECORD_SWITCH_CPU_WIDE && h->size == 8 + 8 + 16;
		others += end[-2] != (uint32_t)cpu;
		is_out = h->misc & PERF_RECORD_MISC_SWITCH_OUT ? 1 : 0;
		odd += n++ && is_out == was_out;
		was_out = is_out;
	}
	printf("enough %d, wide %d, in turn %d, elsewhere %d\n", n >= 10, wide == n, !odd, others);
	sample_unmap(&r);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2 && !strcmp(argv[1], "cgroups"))
		cgroups(argv[2]);
	else if (argc > 2 && !strcmp(argv[1], "moves"))
		moves(argv[2]);
	else if (argc > 1 && !strcmp(argv[1], "names"))
		names();
	else if (argc > 1 && !strcmp(argv[1], "switches"))
		switches();
	else
		return 2;
	return 0;
}
