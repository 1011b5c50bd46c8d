/* SPDX-License-Identifier: MIT */
/*
 * Opening: each event on each CPU for each task, as perf does, because the kernel shares no ring
 * between CPUs of an event that children inherit.  The session's core has no such limit, so there
 * an event follows its task wherever it goes and its period is one, not one per CPU.
 *
 * The first event of a place maps a ring, the others write into it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/record.h"
#include "cli/cgroups.h"
#include "cli/memory.h"
#include "cli/record.h"
#include "print/print.h"

#define OPEN_ON_CPUS -1		  /* not an exit status: another try */
#define DEFAULT_RING (512U << 10) /* bytes: what perf takes, and what an ordinary user may lock */

static struct ap_client_event **slot_of(const struct record *r, const struct record_event *ev,
					size_t cpu, size_t task)
{
	return &ev->fd[cpu * r->ntasks + task];
}

/* --- what to say when it fails */

static int explain(const struct record *r, const struct record_event *ev, int error)
{
	const char *hint = "";

	if (error == -EACCES || error == -EPERM)
		hint = "; ask for user mode (:u), or see perf_event_paranoid";
	else if (error == -ENOENT && ap_client_event_kinds(&ev->attr))
		hint = "; the modelled machine has no such thing";
	else if (error == -EOPNOTSUPP && ap_client_event_kinds(&ev->attr))
		hint = "; it can be counted ('anyperf stat') and has no samples of its own";
	else if (error == -ENOENT || error == -EOPNOTSUPP)
		hint = "; 'anyperf list' shows what there is";
	else if (error == -ENOMEM)
		hint = "; a smaller ring (-m) would help";
	else if (error == -EMFILE)
		hint = "; raise the limit of open files (ulimit -n)";
	else if (error == -ENODEV)
		hint = "; it runs natively, as set-uid and 32-bit programs do, and nothing of it can be sampled";
	else if (error == -ESRCH)
		hint = "; it has ended";
	ap_print(stderr, "anyperf record: cannot sample %s: %s%s\n", ev->name, strerror(-error),
		 hint);
	(void)r;
	return AP_EXIT_FAILURE;
}

/* --- one event */

static int open_one(struct record *r, struct record_event *ev, size_t cpu, size_t task)
{
	struct record_event *leader = &r->event[ev->leader];
	struct ap_client_open args = { .attr = &ev->attr,
				       .pid = r->task[task],
				       .cpu = ev->cpus->cpu[cpu],
				       .cgroup = ev->cgroup ? &ev->cgroup->fd : NULL,
				       .place = ev->place };

	int ret;

	if (leader != ev)
		args.leader = *slot_of(r, leader, cpu, task);
	ret = ap_client_open(r->client, &args, slot_of(r, ev, cpu, task));
	return ret ? ret : record_filter_set(r, ev, *slot_of(r, ev, cpu, task));
}

/* Something newer than the kernel, which can be done without; true: try again. */
static bool do_without(struct record *r, struct record_event *ev, int error)
{
	if ((error == -EACCES || error == -EPERM) && !ev->has_modifier &&
	    !(ev->attr.flags & (AP_PERF_EXCLUDE_KERNEL | AP_PERF_EXCLUDE_USER))) {
		char *name = ap_xasprintf("%s:u", ev->name);

		free(ev->name);
		ev->name = name;
		ev->attr.flags |= AP_PERF_EXCLUDE_KERNEL | AP_PERF_EXCLUDE_HV;
		return true;
	}
	if (error == -EINVAL && ev->attr.read_format & AP_PERF_FORMAT_LOST) {
		for (size_t i = 0; i < r->nevents; i++)
			r->event[i].attr.read_format &= ~AP_PERF_FORMAT_LOST;
		return true;
	}
	return false;
}

static int open_event(struct record *r, struct record_event *ev)
{
	size_t n = ev->cpus->n * r->ntasks;
	int ret;

	ev->fd = ap_xgrow(NULL, n, sizeof(*ev->fd));
	ev->nfds = n;
	memset(ev->fd, 0, n * sizeof(*ev->fd));
	for (size_t i = 0; i < n; i++) {
		ret = open_one(r, ev, i / r->ntasks, i % r->ntasks);
		while (ret && do_without(r, ev, ret))
			ret = open_one(r, ev, i / r->ntasks, i % r->ntasks);
		if (ret == -ESRCH && n > 1)
			continue; /* a thread that ended meanwhile */
		if (ret)
			return explain(r, ev, ret);
	}
	return 0;
}

/* --- rings */

static u64 ring_pages(const struct record *r)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE);

	return r->opts->pages ? r->opts->pages : DEFAULT_RING / page;
}

/* An inherited event without a CPU has a ring in our own session, and nowhere else. */
static bool wants_cpus(const struct record *r, const struct record_event *ev, int error)
{
	return error == -EINVAL && ev->cpus == &r->any && ev->attr.flags & AP_PERF_INHERIT;
}

static int map_ring(struct record *r, struct record_event *ev, struct record_ring *ring)
{
	u64 pages = ring_pages(r);
	int ret = ap_client_mmap(ring->event, pages, !ring->is_backward, &ring->map);

	/* what may be locked is used up: less will do, if nobody asked for so much */
	while (ret == -EPERM && !r->opts->pages && pages > 1) {
		pages /= 2;
		ret = ap_client_mmap(ring->event, pages, !ring->is_backward, &ring->map);
	}
	if (!ret)
		return 0;
	if (wants_cpus(r, ev, ret))
		return OPEN_ON_CPUS;
	if (ret != -EPERM)
		return explain(r, ev, ret);
	fprintf(stderr,
		"anyperf record: cannot map a ring of %llu pages: ask for fewer (-m), or raise "
		"perf_event_mlock_kb\n",
		(unsigned long long)pages);
	return AP_EXIT_FAILURE;
}

static int share_ring(struct record_event *ev, struct ap_client_event *e,
		      struct ap_client_event *with)
{
	struct ap_client_ioctl args = { .cmd = AP_PERF_IOC_SET_OUTPUT, .target = with };
	s64 ret = ap_client_ioctl(e, &args);

	if (!ret)
		return 0;
	ap_print(stderr, "anyperf record: cannot share a ring with %s: %s\n", ev->name,
		 strerror((int)-ret));
	return AP_EXIT_FAILURE;
}

static struct record_ring *find_ring(struct record *r, const struct record_ring *want)
{
	for (size_t i = 0; i < r->nrings; i++) {
		struct record_ring *ring = &r->ring[i];

		if (ring->is_in_kernel == want->is_in_kernel &&
		    ring->is_backward == want->is_backward && ring->cpu == want->cpu &&
		    (want->cpu >= 0 || ring->task == want->task))
			return ring;
	}
	return NULL;
}

/* The kth of an event: into the ring of its place, or that is its own. */
static int map_one(struct record *r, struct record_event *ev, size_t k)
{
	struct record_ring want = { .event = ev->fd[k],
				    .is_in_kernel = ap_client_is_in_kernel(ev->fd[k]),
				    .is_backward = ev->attr.flags & AP_PERF_WRITE_BACKWARD,
				    .cpu = ev->cpus->cpu[k / r->ntasks],
				    .task = k % r->ntasks };
	struct record_ring *ring = find_ring(r, &want);
	int ret;

	if (ring)
		return share_ring(ev, ev->fd[k], ring->event);
	ret = map_ring(r, ev, &want);
	if (ret)
		return ret;
	r->ring = ap_xgrow(r->ring, r->nrings + 1, sizeof(*r->ring));
	r->ring[r->nrings++] = want;
	return 0;
}

static int map_rings(struct record *r)
{
	int ret = 0;

	for (size_t i = 0; i < r->nevents; i++)
		for (size_t k = 0; k < r->event[i].nfds && !ret; k++)
			if (r->event[i].fd[k])
				ret = map_one(r, &r->event[i], k);
	return ret;
}

/* --- ids */

static int read_ids(struct record *r, struct record_event *ev)
{
	size_t n = ev->nfds;

	ev->ids = ap_xgrow(NULL, n, sizeof(*ev->ids));
	ev->nids = 0;
	for (size_t i = 0; i < n; i++) {
		struct ap_client_ioctl args = { .cmd = AP_PERF_IOC_ID,
						.out = &ev->ids[ev->nids],
						.out_size = sizeof(u64) };
		s64 ret;

		if (!ev->fd[i])
			continue;
		ret = ap_client_ioctl(ev->fd[i], &args);
		if (ret)
			return explain(r, ev, (int)ret);
		ev->nids++;
	}
	return 0;
}

/* The one for that, or the first. */
static size_t tracking_event(const struct record *r)
{
	for (size_t i = 0; i < r->nevents; i++)
		if (r->event[i].is_tracking)
			return i;
	return 0;
}

static int open_all(struct record *r)
{
	int ret = 0;

	for (size_t i = 0; i < r->nevents && !ret; i++)
		ret = open_event(r, &r->event[i]);
	if (!ret)
		ret = map_rings(r);
	for (size_t i = 0; i < r->nevents && !ret; i++)
		ret = read_ids(r, &r->event[i]);
	return ret;
}

int record_events_open(struct record *r)
{
	int ret;

	for (size_t i = 0; i < r->nevents; i++)
		record_attr_fill(r, &r->event[i], i == tracking_event(r));
	ret = open_all(r);
	if (ret != OPEN_ON_CPUS)
		return ret;
	record_events_close(r);
	for (size_t i = 0; i < r->nevents; i++)
		r->event[i].cpus = &r->each;
	return open_all(r);
}

static bool starts_by_itself(const struct record_event *ev)
{
	return ev->is_tracking && ev->attr.flags & AP_PERF_ENABLE_ON_EXEC;
}

int record_events_track(struct record *r)
{
	struct record_event *ev = &r->event[tracking_event(r)];
	int ret = 0;

	if (!ev->is_tracking || starts_by_itself(ev))
		return 0;
	for (size_t k = 0; k < ev->nfds && !ret; k++)
		ret = ev->fd[k] ? ap_client_enable(ev->fd[k], true) : 0;
	return ret;
}

int record_events_enable(struct record *r, const char *name, bool on)
{
	for (size_t i = 0; i < r->nevents; i++) {
		struct record_event *ev = &r->event[i];

		if (ev->is_tracking || (name ? strcmp(name, ev->name) != 0 : ev->leader != i))
			continue;
		for (size_t k = 0; k < ev->nfds; k++) {
			int ret = ev->fd[k] ? ap_client_enable(ev->fd[k], on) : 0;

			if (ret)
				return ret;
		}
	}
	return 0;
}

void record_events_list(const struct record *r, FILE *f)
{
	for (size_t i = 0; i < r->nevents; i++)
		ap_print(f, "%s\n", r->event[i].name);
}

/* value, id, lost: read_format is ID|LOST, or else nobody can tell */
static u64 lost_of(struct ap_client_event *e)
{
	u64 words[3];

	return ap_client_read(e, words, sizeof(words)) == sizeof(words) ? words[2] : 0;
}

static void put_lost(struct record *r, u64 lost)
{
	size_t trailer = ap_trailer_size(&r->event[0].attr), start;

	r->scratch.size = 0;
	start = ap_buf_begin(&r->scratch, AP_PERF_RECORD_LOST_SAMPLES, 0);
	ap_buf_u64(&r->scratch, lost);
	ap_buf_zero(&r->scratch, trailer);
	if (ap_buf_end(&r->scratch, start))
		record_file_put(r, r->scratch.data, r->scratch.size);
	r->lost += lost;
}

void record_events_lost(struct record *r)
{
	u64 lost = 0;

	if (!(r->event[0].attr.read_format & AP_PERF_FORMAT_LOST))
		return;
	for (size_t i = 0; i < r->nevents; i++)
		for (size_t k = 0; k < r->event[i].nfds; k++)
			lost += r->event[i].fd[k] ? lost_of(r->event[i].fd[k]) : 0;
	if (lost > r->lost)
		put_lost(r, lost - r->lost);
}

void record_events_close(struct record *r)
{
	for (size_t i = 0; i < r->nevents; i++) {
		struct record_event *ev = &r->event[i];

		for (size_t k = 0; k < ev->nfds; k++)
			ap_client_close(ev->fd[k]);
		free(ev->fd);
		free(ev->ids);
		ev->fd = NULL;
		ev->ids = NULL;
		ev->nfds = ev->nids = 0;
	}
	free(r->ring);
	r->ring = NULL;
	r->nrings = 0;
}
