/* SPDX-License-Identifier: MIT */
/*
 * The client's events, wherever they are, and what the loop has for it.
 *
 * In the kernel an event is a descriptor of ours; in the session it is the core's, which host_client.c
 * reaches.  Which of both is decided once, at the opening.
 */
#include "linux/client/client.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/core.h"
#include "inject/proc.h"
#include "linux/client/client_internal.h"
#include "linux/host/host.h"
#include "sampling/ring.h"

/* --- the client */

struct ap_event_client *ap_client_new(struct ap_supervisor *sv, const struct ap_run_client *run)
{
	struct ap_event_client *c = calloc(1, sizeof(*c));

	if (c) {
		c->sv = sv;
		c->run = run;
		sv->tell_part = ap_client_tell_part;
	}
	return c;
}

void ap_client_free(struct ap_event_client *c)
{
	if (!c)
		return;
	while (c->events)
		ap_client_close(c->events);
	free(c->tasks);
	free(c);
}

static int add_task(struct ap_event_client *c, pid_t pid, pid_t tid, bool is_command)
{
	struct ap_client_task *more = realloc(c->tasks, (c->ntasks + 1) * sizeof(*more)), *t;
	char name[64], comm[64] = "";
	s64 got;

	if (!more)
		return -ENOMEM;
	c->tasks = more;
	t = &more[c->ntasks++];
	*t = (struct ap_client_task){ .pid = pid, .tid = tid, .is_command = is_command };
	snprintf(name, sizeof(name), "task/%d/comm", (int)tid);
	got = ap_proc_read(pid, name, comm, sizeof(comm));
	if (got > 0 && comm[got - 1] == '\n')
		comm[got - 1] = '\0';
	if (got > 0)
		memcpy(t->comm, comm, sizeof(t->comm) - 1);
	return 0;
}

int ap_client_add_command(struct ap_event_client *c, pid_t pid)
{
	int ret = c->sv->host ? ap_host_client_command(c->sv->host, pid) : 0;

	return ret ? ret : add_task(c, pid, pid, true);
}

static int by_number(const void *a, const void *b)
{
	const struct ap_client_task *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

int ap_client_add_threads(struct ap_event_client *c, pid_t pid, pid_t tid)
{
	char path[AP_PROC_PATH];
	u32 first = c->ntasks;
	struct dirent *entry;
	int ret = 0;
	DIR *dir;

	if (tid)
		return add_task(c, pid, tid, false);
	dir = opendir(ap_proc_path(path, pid, "task"));
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!ret && (entry = readdir(dir)))
		if (atoi(entry->d_name) > 0)
			ret = add_task(c, pid, atoi(entry->d_name), false);
	closedir(dir);
	qsort(c->tasks + first, c->ntasks - first, sizeof(*c->tasks), by_number);
	return ret || c->ntasks > first ? ret : -ESRCH;
}

const struct ap_client_task *ap_client_tasks(const struct ap_event_client *c, u32 *n)
{
	*n = c->ntasks;
	return c->tasks;
}

u32 ap_client_ncpus(void)
{
	return ap_host_count_cpus();
}

/* --- opening and closing */

static int open_in_kernel(struct ap_event_client *c, const struct ap_client_open *args, int *fd)
{
	struct ap_perf_attr attr = *args->attr;
	u64 flags = AP_PERF_FLAG_FD_CLOEXEC | (args->cgroup ? AP_PERF_FLAG_PID_CGROUP : 0);
	pid_t pid = args->cgroup ? *args->cgroup : args->pid;

	/* a session around us knows its tasks; the kernel would count everybody's */
	if (pid == -1 && attr.type == AP_PERF_TYPE_SOFTWARE && c->ntasks == 1)
		pid = c->tasks[0].tid;
	attr.size = sizeof(attr);
	*fd = (int)syscall(SYS_perf_event_open, &attr, pid, args->cpu,
			   args->leader ? args->leader->fd : -1, flags);
	return *fd < 0 ? -errno : 0;
}

static int open_in_session(struct ap_event_client *c, const struct ap_client_open *args,
			   struct ap_event **out)
{
	struct ap_perf_attr attr = *args->attr;
	const struct ap_open_args open = { .attr = &attr,
					   .pid = args->cgroup ? *args->cgroup : args->pid,
					   .cpu = args->cpu,
					   .flags = args->cgroup ? AP_PERF_FLAG_PID_CGROUP : 0 };

	attr.size = sizeof(attr);
	return ap_host_client_open(c->sv->host, &open, args->leader ? args->leader->core : NULL,
				   out);
}

/* By the system call: the kernel's answer, or that of the session around us. */
bool ap_client_kernel_samples(void)
{
	struct ap_perf_attr attr = { .type = AP_PERF_TYPE_SOFTWARE,
				     .size = sizeof(attr),
				     .config = AP_PERF_COUNT_SW_CPU_CLOCK,
				     .sample_period = 1ULL << 40,
				     .flags = AP_PERF_DISABLED | AP_PERF_EXCLUDE_KERNEL };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, AP_PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool may_be_in_kernel(const struct ap_event_client *c, const struct ap_client_open *args)
{
	if (args->leader)
		return !args->leader->core;
	if (c->is_around || args->place == AP_CLIENT_KERNEL)
		return true;
	return args->place == AP_CLIENT_ANYWHERE && args->attr->type == AP_PERF_TYPE_SOFTWARE;
}

static bool may_be_in_session(const struct ap_event_client *c, const struct ap_client_open *args)
{
	return c->sv->host && args->place != AP_CLIENT_KERNEL &&
	       (!args->leader || args->leader->core);
}

int ap_client_open(struct ap_event_client *c, const struct ap_client_open *args,
		   struct ap_client_event **out)
{
	struct ap_client_event *e = calloc(1, sizeof(*e));
	int ret = -ENODEV;

	if (!e)
		return -ENOMEM;
	/* all that is opened at the start is of one moment */
	if (!c->is_starting)
		ap_client_moment(c);
	*e = (struct ap_client_event){ .client = c, .fd = -1, .is_of_cpu = args->cpu >= 0 };
	if (may_be_in_kernel(c, args))
		ret = open_in_kernel(c, args, &e->fd);
	if (ret && may_be_in_session(c, args))
		ret = open_in_session(c, args, &e->core);
	if (ret) {
		free(e);
		return ret;
	}
	e->next = c->events;
	e->prev = &c->events;
	if (e->next)
		e->next->prev = &e->next;
	c->events = e;
	*out = e;
	return 0;
}

void ap_client_close(struct ap_client_event *e)
{
	if (!e)
		return;
	if (e->npages)
		ap_host_client_unmap(e->client->sv->host, e->core, e->npages, &e->pages);
	if (e->core)
		ap_host_client_close(e->client->sv->host, e->core, e->is_of_cpu);
	if (e->map)
		munmap(e->map, e->map_size);
	/* which takes it out of the epoll set as well */
	if (e->fd >= 0)
		close(e->fd);
	*e->prev = e->next;
	if (e->next)
		e->next->prev = e->prev;
	free(e);
}

bool ap_client_is_in_kernel(const struct ap_client_event *e)
{
	return !e->core;
}

/* --- calls on them */

void ap_client_moment(struct ap_event_client *c)
{
	if (c->sv->host)
		ap_host_client_moment(c->sv->host);
}

s64 ap_client_read(struct ap_client_event *e, void *buf, u64 size)
{
	ssize_t got;

	if (e->core)
		return ap_host_client_read(e->client->sv->host, e->core, buf, size);
	got = read(e->fd, buf, size);
	return got < 0 ? -errno : got;
}

int ap_client_split(struct ap_client_event *e)
{
	if (!e->core)
		return -EXDEV;
	ap_host_client_split(e->client->sv->host, e->core);
	return 0;
}

void ap_client_tell_parts(struct ap_client_event *e)
{
	if (e->core)
		ap_host_client_tell_parts(e->client->sv->host, e->core);
}

void ap_client_tell_part(struct ap_event_client *c, const struct ap_event *event,
			 const struct ap_part *part)
{
	const struct ap_client_part out = { .task = part->task,
					    .tid = part->tid,
					    .comm = part->comm,
					    .count = part->count,
					    .enabled = part->enabled,
					    .running = part->running };
	struct ap_client_event *e = c->events;

	while (e && e->core != event)
		e = e->next;
	if (e && c->run->part)
		c->run->part(c->run->arg, e, &out);
}

static s64 ioctl_in_kernel(struct ap_client_event *e, const struct ap_client_ioctl *args)
{
	unsigned long arg = (unsigned long)args->arg;
	int ret;

	if (args->cmd == AP_PERF_IOC_SET_OUTPUT)
		arg = args->target ? (unsigned long)args->target->fd : (unsigned long)-1;
	else if (args->in)
		arg = (unsigned long)args->in;
	else if (args->out)
		arg = (unsigned long)args->out;
	ret = ioctl(e->fd, args->cmd, arg);
	return ret < 0 ? -errno : ret;
}

s64 ap_client_ioctl(struct ap_client_event *e, struct ap_client_ioctl *args)
{
	struct ap_ioctl_args core = { .cmd = args->cmd,
				      .arg = args->arg,
				      .in = args->in,
				      .in_size = args->in_size,
				      .out = args->out,
				      .out_size = args->out_size };
	const struct ap_client_event *to = args->target;

	if (to && !to->core != !e->core)
		return -EINVAL;
	if (!e->core)
		return ioctl_in_kernel(e, args);
	if (args->cmd == AP_PERF_IOC_SET_OUTPUT)
		core.arg = to ? 0 : ~0ULL;
	ap_host_client_moment(e->client->sv->host);
	return ap_host_client_ioctl(e->client->sv->host, e->core, &core, to ? to->core : NULL);
}

int ap_client_enable(struct ap_client_event *e, bool on)
{
	struct ap_client_ioctl args = { .cmd = on ? AP_PERF_IOC_ENABLE : AP_PERF_IOC_DISABLE,
					.arg = AP_PERF_IOC_FLAG_GROUP };

	return (int)ap_client_ioctl(e, &args);
}

static int map_in_session(struct ap_client_event *e, u64 data_pages, bool is_writable,
			  struct ap_client_map *out)
{
	int ret = ap_host_client_map(e->client->sv->host, e->core, data_pages + 1, is_writable,
				     &e->pages);

	if (ret)
		return ret;
	e->npages = data_pages + 1;
	*out = (struct ap_client_map){ .page = (struct ap_perf_page *)e->pages.page,
				       .data = e->pages.page + AP_PAGE_SIZE,
				       .size = data_pages * AP_PAGE_SIZE };
	return 0;
}

int ap_client_mmap(struct ap_client_event *e, u64 data_pages, bool is_writable,
		   struct ap_client_map *out)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE), size = (data_pages + 1) * page;
	void *map;
	int ret;

	if (e->map || e->npages)
		return -EBUSY;
	if (e->core)
		return map_in_session(e, data_pages, is_writable, out);
	map = mmap(NULL, size, PROT_READ | (is_writable ? PROT_WRITE : 0), MAP_SHARED, e->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	ret = ap_client_watch(e->client, e->fd);
	if (ret) {
		munmap(map, size);
		return ret;
	}
	e->is_watched = true;
	e->map = map;
	e->map_size = size;
	*out = (struct ap_client_map){ .page = map,
				       .data = (u8 *)map + page,
				       .size = data_pages * page };
	return 0;
}

void ap_client_catch_up(struct ap_event_client *c)
{
	if (c->sv->host)
		ap_host_client_catch_up(c->sv->host);
}

/* The kernel's writers cannot lose their CPU. */
bool ap_client_has_settled(const struct ap_client_event *e)
{
	return !e->npages ||
	       ap_ring_has_settled((const struct ap_ring *)(e->pages.page - AP_PAGE_SIZE));
}

/* --- the loop */

int ap_client_watch(struct ap_event_client *c, int fd)
{
	return ap_supervisor_watch(c->sv, fd, AP_SV_TAG_CLIENT | (u32)fd, EPOLLIN);
}

void ap_client_unwatch(struct ap_event_client *c, int fd)
{
	(void)epoll_ctl(c->sv->epfd, EPOLL_CTL_DEL, fd, NULL);
}

void ap_client_ready(struct ap_event_client *c, int fd)
{
	struct ap_client_event *e = c->events;

	while (e && !(e->is_watched && e->fd == fd))
		e = e->next;
	if (e && c->run->news)
		c->run->news(c->run->arg, e);
	else if (!e && c->run->ready)
		c->run->ready(c->run->arg, fd);
}

void ap_client_timer(struct ap_event_client *c, u64 at_ns)
{
	c->timer_ns = at_ns;
}

/* The session's rings have no descriptor: a writer that makes a wakeup due rings the doorbell, which led here. */
static void look_at_rings(struct ap_event_client *c)
{
	for (struct ap_client_event *e = c->events; e; e = e->next)
		if (e->npages && ap_host_client_has_news(c->sv->host, e->core))
			c->run->news(c->run->arg, e);
}

u64 ap_client_clock(struct ap_event_client *c, u64 now)
{
	if (c->run->news)
		look_at_rings(c);
	if (c->timer_ns && now >= c->timer_ns) {
		c->timer_ns = 0;
		if (c->run->timer)
			c->run->timer(c->run->arg, now);
	}
	return c->timer_ns;
}

void ap_client_wants_account(struct ap_event_client *c)
{
	c->sv->wants_account = true;
}

void ap_client_stop(struct ap_event_client *c)
{
	c->sv->is_stopped = true;
	if (c->sv->command)
		c->sv->deadline_ns = 1;
}

int ap_client_profile(const struct ap_event_client *c, ap_profile_fn fn, void *arg,
		      struct ap_profile_lost *lost)
{
	return ap_session_profile(&c->sv->ses, fn, arg, lost);
}
