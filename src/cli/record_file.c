/* SPDX-License-Identifier: MIT */
/*
 * The file of a recording: what stands in front of the records, what behind them, and the change
 * from one file to the next (--switch-output).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/memory.h"
#include "cli/record.h"
#include "cli/version.h"
#include "files/error.h"
#include "print/print.h"
#include "profile/data/format.h"
#include "profile/data/origin.h"

static void forget_tracepoints(struct record *r)
{
	for (size_t i = 0; i < r->ntracing; i++)
		free((char *)r->tracing[i].format);
	r->ntracing = 0;
}

/* One that the session does not make is the kernel's, whose tracefs readers ask then. */
static void describe_tracepoints(struct record *r)
{
	forget_tracepoints(r);
	r->tracing = ap_xgrow(r->tracing, r->nevents, sizeof(*r->tracing));
	for (size_t i = 0; i < r->nevents; i++) {
		const struct ap_perf_attr *attr = &r->event[i].attr;
		struct ap_tracing_event *t = &r->tracing[r->ntracing];
		char *format;

		if (attr->type != AP_PERF_TYPE_TRACEPOINT ||
		    ap_client_tracepoint(attr->config, &t->system, &format))
			continue;
		t->format = format;
		r->ntracing++;
	}
}

static void describe_events(struct record *r)
{
	r->described = ap_xgrow(r->described, r->nevents, sizeof(*r->described));
	for (size_t i = 0; i < r->nevents; i++) {
		struct record_event *ev = &r->event[i];

		r->described[i] = (struct ap_write_event){ .attr = ev->attr,
							   .name = ev->name,
							   .ids = ev->ids,
							   .nids = ev->nids,
							   .leader = ev->leader };
	}
	describe_tracepoints(r);
}

static struct ap_origin origin_of(const struct record *r)
{
	return (struct ap_origin){ .version = ap_version,
				   .argv = r->opts->argv,
				   .events = r->described,
				   .nevents = r->nevents,
				   .tracing = r->tracing,
				   .ntracing = r->ntracing,
				   .header_page = ap_client_header_page(),
				   .header_event = ap_client_header_event(),
				   .has_cpu_pmu = !r->opts->run.no_engine,
				   .first_time = r->first_time,
				   .last_time = r->last_time };
}

/* --- in front of the records */

static void put_places(struct record *r, struct ap_buf *to)
{
	size_t n = 0, total = 0;
	struct ap_id_place *place;

	for (size_t i = 0; i < r->nevents; i++)
		total += r->event[i].nids;
	place = ap_xgrow(NULL, total, sizeof(*place));
	for (size_t i = 0; i < r->nevents; i++) {
		struct record_event *ev = &r->event[i];
		size_t next = 0;

		for (size_t k = 0; k < ev->nfds; k++) {
			if (!ev->fd[k])
				continue;
			place[n++] = (struct ap_id_place){ .id = ev->ids[next++],
							   .index = k / r->ntasks,
							   .cpu = ev->cpus->cpu[k / r->ntasks],
							   .tid = r->task[k % r->ntasks] };
		}
	}
	ap_record_id_index(to, place, n);
	free(place);
}

static void put_threads(struct record *r, struct ap_buf *to)
{
	struct ap_thread_name *name;
	const struct ap_client_task *task;
	u32 n;

	task = ap_client_tasks(r->client, &n);
	if (r->opts->system_wide)
		n = 0;
	name = ap_xgrow(NULL, n + 1, sizeof(*name));
	memset(name, 0, (n + 1) * sizeof(*name));
	name[0].tid = -1;
	for (u32 i = 0; i < n; i++) {
		name[i].tid = task[i].tid;
		if (!task[i].is_command)
			memcpy(name[i].comm, task[i].comm, sizeof(name[i].comm));
	}
	ap_record_thread_map(to, name, n ? n : 1);
	free(name);
}

static void put_cpus(struct record *r, struct ap_buf *to)
{
	const struct record_cpus *cpus = r->event[0].cpus;
	u16 *cpu = ap_xgrow(NULL, cpus->n, sizeof(*cpu));

	for (size_t i = 0; i < cpus->n; i++)
		cpu[i] = (u16)cpus->cpu[i];
	ap_record_cpu_map(to, cpu, cpus->n);
	free(cpu);
}

static bool counts_kernel(const struct record *r)
{
	for (size_t i = 0; i < r->nevents; i++)
		if (!(r->event[i].attr.flags & AP_PERF_EXCLUDE_KERNEL))
			return true;
	return false;
}

/* Of the command nothing is there yet but a name; a thread brings all of its process. */
static void put_tasks(struct record *r, const struct ap_running *running)
{
	const struct ap_client_task *task;
	pid_t done = 0;
	u32 n;

	for (size_t i = 0; i < r->tasks.n; i++)
		ap_running_process(running, r->tasks.pid[i]);
	if (r->is_next)
		return;
	task = ap_client_tasks(r->client, &n);
	for (u32 i = 0; i < n; i++) {
		if (task[i].is_command)
			ap_running_comm(running, task[i].pid, task[i].tid, task[i].comm);
		else if (task[i].pid != done)
			ap_running_process(running, task[i].pid);
		if (r->opts->do_switch)
			record_tasks_add(&r->tasks, task[i].pid);
		done = task[i].pid;
	}
}

static void put_front(struct record *r)
{
	struct ap_buf buf = { 0 };
	struct ap_running running = { .to = &buf,
				      .trailer = ap_trailer_size(&r->event[0].attr),
				      .data = r->event[0].attr.flags & AP_PERF_MMAP_DATA,
				      .build_id = r->opts->mmap_build_ids,
				      .no_tasks = r->opts->no_tasks,
				      .no_mappings = r->opts->no_mappings };

	put_places(r, &buf);
	for (size_t i = 0; i < r->nevents; i++)
		if (r->event[i].nids)
			ap_record_event_name(&buf, r->event[i].ids[0], r->event[i].name);
	put_threads(r, &buf);
	put_cpus(r, &buf);
	if (r->nrings)
		ap_record_time_conv(&buf, r->ring[0].map.page);
	if (counts_kernel(r))
		ap_running_kernel(&running);
	if (r->opts->with_cgroups && !r->opts->no_cgroups)
		ap_running_cgroups(&running);
	put_tasks(r, &running);
	record_account(r, buf.data, buf.size);
	r->error = buf.failed ? -ENOMEM : ap_writer_put(r->writer, buf.data, buf.size);
	if (!r->error)
		r->error = ap_writer_flush(r->writer);
	ap_buf_fini(&buf);
}

static int complain(struct record *r, int error)
{
	ap_print(stderr, "anyperf record: cannot write %s: %s%s\n",
		 r->path ? r->path : "the stream", ap_file_error(error), ap_run_remedy(-error));
	return AP_EXIT_FAILURE;
}

int record_file_begin(struct record *r)
{
	struct ap_write_options options = {
		.path = r->path, .fd = r->stream, .level = r->opts->level, .nevents = r->nevents
	};
	struct ap_origin origin;
	int ret;

	describe_events(r);
	options.events = r->described;
	ret = ap_writer_open(&r->writer, &options);
	if (ret)
		return complain(r, ret);
	origin = origin_of(r);
	ret = ap_origin_put(r->writer, &origin);
	if (!ret)
		put_front(r);
	if (ret || r->error)
		return complain(r, ret ? ret : r->error);
	return 0;
}

void record_file_put(struct record *r, const char *records, size_t size)
{
	if (r->writer && !r->error)
		r->error = ap_writer_put(r->writer, records, size);
}

/* --- behind them */

static int end_file(struct record *r)
{
	struct ap_origin origin = origin_of(r);
	int ret = r->error, last;

	if (!r->writer)
		return 0;
	if (!ret)
		ret = ap_origin_put_times(r->writer, &origin);
	if (!ret && !r->opts->no_build_ids)
		ret = record_dsos_write(&r->dsos, r->writer);
	r->written += ap_writer_size(r->writer);
	last = ap_writer_finish(r->writer);
	r->writer = NULL;
	ret = ret ? ret : last;
	return ret ? complain(r, ret) : 0;
}

/* --- from one file to the next */

/*
 * As perf names them, year to second and hundredths; of two in one hundredth the second is later.
 */
static char *dated_name(const char *path)
{
	struct timespec now;
	struct tm tm;
	char date[32];
	char *name = NULL;

	clock_gettime(CLOCK_REALTIME, &now);
	do {
		free(name);
		localtime_r(&now.tv_sec, &tm);
		strftime(date, sizeof(date), "%Y%m%d%H%M%S", &tm);
		name = ap_xasprintf("%s.%s%02ld", path, date, now.tv_nsec / 10000000);
		now.tv_nsec += 10000000;
		if (now.tv_nsec >= 1000000000) {
			now.tv_nsec -= 1000000000;
			now.tv_sec++;
		}
	} while (!access(name, F_OK));
	return name;
}

static void keep_newest(struct record *r)
{
	while (r->opts->switch_files && r->nold > r->opts->switch_files) {
		unlink(r->old[0]);
		free(r->old[0]);
		memmove(r->old, r->old + 1, --r->nold * sizeof(*r->old));
	}
}

static int rename_dated(struct record *r)
{
	char *name = dated_name(r->path);

	if (rename(r->path, name)) {
		int ret = -errno;

		free(name);
		return ret;
	}
	if (!r->opts->quiet)
		ap_print(stderr, "[ anyperf record: Dump %s ]\n", name);
	r->old = ap_xgrow(r->old, r->nold + 1, sizeof(*r->old));
	r->old[r->nold++] = name;
	keep_newest(r);
	return 0;
}

int record_file_end(struct record *r)
{
	bool was_open = r->writer;
	int ret = end_file(r);

	if (!ret && was_open && r->path && (r->opts->do_switch || r->opts->dated))
		ret = rename_dated(r);
	return ret;
}

void record_file_switch(struct record *r)
{
	if (!r->writer || r->error)
		return;
	record_rings_dump(r);
	if (record_file_end(r)) {
		r->error = r->error ? r->error : -EIO;
		return;
	}
	r->is_next = true;
	r->first_time = r->last_time = 0;
	if (record_file_begin(r) && !r->error)
		r->error = -EIO;
}

void record_file_fini(struct record *r)
{
	for (size_t i = 0; i < r->nold; i++)
		free(r->old[i]);
	free(r->old);
	free(r->described);
	forget_tracepoints(r);
	free(r->tracing);
	ap_buf_fini(&r->scratch);
	free(r->tasks.pid);
	record_dsos_fini(&r->dsos);
}
