/* SPDX-License-Identifier: MIT */
/*
 * attr.namespaces: the kernel writes a NAMESPACES record of each new task behind its FORK, to the events of the task
 * that makes it, inherited or not (perf_event_fork() calls perf_event_task() and perf_event_namespaces()), threads
 * included; the record is of the new task, its sample_id of the one that made it.  unshare(2) writes one of the caller.
 */
/* CASE: session -- */
#include "check.h"
#define NR_NAMESPACES 7 /* NR_NAMESPACES of the kernel */
static char buf[65536];
static pid_t thread_id;

static void *thread(void *arg)
{
	thread_id = (pid_t)syscall(SYS_gettid);
	return arg;
}

struct seen {
	int forks, namespaces, in_order, links, by;
};

/* Records of one task. */
static struct seen look(struct ring *r, pid_t tid, pid_t by)
{
	struct seen s = { 0 };
	struct stat st;

	if (stat("/proc/self/ns/mnt", &st))
		exit(3);
	while (rnext(r, buf)) {
		const struct perf_event_header *h = (void *)buf;
		const u32 *w = (u32 *)(buf + sizeof(*h));
		const u64 *link = (u64 *)(w + 4);

		if ((pid_t)w[h->type == PERF_RECORD_FORK ? 2 : 1] != tid)
			continue;
		if (h->type == PERF_RECORD_FORK)
			s.forks++;
		if (h->type != PERF_RECORD_NAMESPACES)
			continue;
		s.namespaces++;
		s.in_order += s.forks == 1;
		/* a pair of device and inode for each: net, uts, ipc, pid, user, mnt, cgroup */
		s.links += *(u64 *)(w + 2) == NR_NAMESPACES && link[2 * 5 + 1] == st.st_ino;
		s.by += (pid_t)((u32 *)(buf + h->size))[-1] == by;
	}
	return s;
}

static void event(bool inherit)
{
	struct perf_event_attr a = SWD;
	struct ring r = { 0 };
	struct seen s;
	pthread_t t;
	pid_t pid;
	int fd;

	a.disabled = 0;
	a.namespaces = a.task = a.sample_id_all = 1;
	a.inherit = inherit;
	a.sample_type = PERF_SAMPLE_TID;
	fd = xo(&a, 0, inherit ? pin() : -1, -1, 0);
	CHECK(!rmap(&r, fd, 8, RW), inherit ? "inherited" : "not inherited");
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	s = look(&r, pid, getpid());
	CHECK(s.forks == 1 && s.namespaces == 1 && s.in_order == 1,
	      "child: %d FORK, %d NAMESPACES behind it", s.forks, s.namespaces);
	CHECK(s.links == 1 && s.by == 1, "its namespaces are ours, and the record of our doing");
	if (pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL))
		exit(3);
	s = look(&r, thread_id, getpid());
	CHECK(s.forks == 1 && s.namespaces == 1 && s.in_order == 1 && s.links == 1 && s.by == 1,
	      "thread: %d FORK, %d NAMESPACES behind it", s.forks, s.namespaces);
	close(fd);
}

static void of_its_own(void)
{
	struct perf_event_attr a = SWD;
	struct ring r = { 0 };
	struct seen s;
	int fd;

	a.disabled = 0;
	a.namespaces = a.sample_id_all = 1;
	a.sample_type = PERF_SAMPLE_TID;
	fd = xo(&a, 0, -1, -1, 0);
	CHECK(!rmap(&r, fd, 8, RW) && !unshare(CLONE_FS), "unshare");
	s = look(&r, getpid(), getpid());
	CHECK(s.namespaces == 1 && s.links == 1 && s.by == 1, "%d NAMESPACES of the caller",
	      s.namespaces);
	close(fd);
}

int main(void)
{
	event(false);
	event(true);
	of_its_own();
	return done();
}
