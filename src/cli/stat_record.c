/* SPDX-License-Identifier: MIT */
/*
 * A value of the file is what one event has counted at one CPU or thread, from the beginning on:
 * readers take the differences themselves.  Each has an id of its own, as with perf, but they are
 * numbers of the file alone: that way what has no event behind it (the kernel's account, times,
 * threads that were told apart at the end) is written like all else.
 */
#include "cli/stat_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/stat_remarks.h"
#include "cli/version.h"
#include "linux/run/run.h"
#include "print/print.h"
#include "profile/data/format.h"
#include "profile/data/origin.h"
#include "profile/data/stat_data.h"
#include "profile/data/write.h"
#include "profile/symbols/running.h"

#define CLOCK_SCALE 1e-6 /* perf shows ns as msec */

struct stat_point {
	size_t sel;
	s32 cpu;
	u32 thread;
	u64 now[3];  /* count, enabled, running: as read */
	u64 told[3]; /* as written */
};

struct ap_stat_recorder {
	const char *path;
	char *const *argv;
	struct ap_writer *writer;
	struct ap_write_event *event;
	u64 *ids; /* of all events, one event's behind each other */
	size_t nevents;
	struct stat_point *point; /* its id is its index and 1 */
	size_t npoints, next;
	struct ap_buf buf;
	int error;
};

struct ap_stat_recorder *ap_stat_recorder_new(const char *path, char *const *argv)
{
	struct ap_stat_recorder *r = ap_xgrow(NULL, 1, sizeof(*r));

	*r = (struct ap_stat_recorder){ .path = path, .argv = argv };
	return r;
}

void ap_stat_recorder_free(struct ap_stat_recorder *r)
{
	if (!r)
		return;
	/* a run that failed: what was written can be read, and the file is closed */
	if (r->writer)
		(void)!ap_writer_finish(r->writer);
	ap_buf_fini(&r->buf);
	free(r->event);
	free(r->ids);
	free(r->point);
	free(r);
}

/* --- what was read */

/* Points come in the same order each time. */
static void add_point(struct ap_stat_recorder *r, const struct stat_point *p)
{
	if (r->next == r->npoints) {
		r->point = ap_xgrow(r->point, r->npoints + 1, sizeof(*r->point));
		r->point[r->npoints++] = *p;
	}
	memcpy(r->point[r->next++].now, p->now, sizeof(p->now));
}

static void add_reading(struct ap_stat_recorder *r, size_t sel, u32 thread,
			const struct ap_stat_reading *v)
{
	const struct stat_point p = {
		.sel = sel, .cpu = -1, .thread = thread, .now = { v->count, v->enabled, v->running }
	};

	if (v->is_open)
		add_point(r, &p);
}

/* The measurement's own time is at the first of its places. */
static void add_time(struct ap_stat_recorder *r, const struct ap_stat_count *c, size_t sel, u64 ns)
{
	const struct ap_stat_row *row = &c->st->row[sel * c->st->nplaces];
	bool is_wall = row->sel->desc->index == AP_TIME_WALL;
	u64 value = is_wall ? ns : row->agg.last;
	const struct stat_point p = {
		.sel = sel,
		.cpu = c->opts->is_of_cpus ? ap_stat_count_cpu(c, 0) : -1,
		.now = { value, value ? value : 1, value ? value : 1 },
	};

	if (is_wall || row->agg.n)
		add_point(r, &p);
}

static bool has_threads_of_command(const struct ap_stat_count *c)
{
	return c->threads.n && c->st->split == AP_STAT_THREADS;
}

static void collect(struct ap_stat_recorder *r, const struct ap_stat_count *c, u64 ns)
{
	size_t nevents = c->opts->events->n, nplaces = c->st->nplaces;

	r->next = 0;
	if (has_threads_of_command(c)) {
		for (size_t i = 0; i < c->st->nrows; i++)
			add_reading(r, i / nplaces, (u32)(i % nplaces), &c->now[i]);
	} else {
		for (size_t i = 0; i < c->ncounters; i++) {
			const struct ap_stat_counter *from = &c->counter[i];
			struct stat_point p = { .sel = from->sel,
						.cpu = from->cpu,
						.thread = from->task };

			memcpy(p.now, from->value, sizeof(p.now));
			add_point(r, &p);
		}
	}
	for (size_t i = 0; i < nevents; i++) {
		const struct ap_evsel *sel = &c->opts->events->sel[i];

		if (c->from_account[i])
			add_reading(r, i, 0, &c->now[i * nplaces]);
		else if (!sel->why && sel->desc->from == AP_FROM_TIME)
			add_time(r, c, i, ns);
	}
}

/*
 * Readers call a count of no time not counted, and forget it.  As in the report that is printed
 * (ap_stat_interval_part), such a count is told with the time that follows, or at the end as if it
 * had taken some.
 */
static void tell(struct stat_point *p, bool of_intervals, bool is_final)
{
	bool is_later = of_intervals && p->now[2] <= p->told[2] && p->now[0] != p->told[0];

	if (!is_later) {
		memcpy(p->told, p->now, sizeof(p->told));
	} else if (is_final) {
		p->told[0] = p->now[0];
		p->told[1]++;
		p->told[2]++;
	}
}

/* --- the file */

static void describe_events(struct ap_stat_recorder *r, const struct ap_stat_count *c)
{
	const struct ap_evlist *list = c->opts->events;
	u64 *id;

	r->nevents = list->n;
	r->event = ap_xgrow(NULL, list->n + 1, sizeof(*r->event));
	r->ids = id = ap_xgrow(NULL, r->npoints + 1, sizeof(*r->ids));
	for (size_t i = 0; i < list->n; i++) {
		const struct ap_evsel *sel = &list->sel[i];
		struct ap_write_event *e = &r->event[i];

		*e = (struct ap_write_event){ .attr = sel->attr,
					      .name = sel->name,
					      .ids = id,
					      .leader = sel->leader == AP_EVSEL_ALONE
								? i
								: sel->leader };
		if (sel->desc->from == AP_FROM_TIME) {
			e->attr.type = AP_PERF_TYPE_SOFTWARE;
			e->attr.config = AP_PERF_COUNT_SW_DUMMY;
		}
		e->attr.read_format =
			AP_PERF_FORMAT_TOTAL_TIME_ENABLED | AP_PERF_FORMAT_TOTAL_TIME_RUNNING;
		e->attr.sample_type = AP_PERF_SAMPLE_IDENTIFIER;
		for (size_t k = 0; k < r->npoints; k++)
			if (r->point[k].sel == i)
				*id++ = k + 1;
		e->nids = (size_t)(id - e->ids);
	}
}

static void put_units(struct ap_stat_recorder *r, const struct ap_stat_count *c)
{
	for (size_t i = 0; i < r->nevents; i++) {
		const struct ap_event_desc *desc = c->opts->events->sel[i].desc;
		const struct ap_write_event *e = &r->event[i];

		if (!e->nids)
			continue;
		if (*desc->unit)
			ap_record_event_unit(&r->buf, e->ids[0], desc->unit);
		if (ap_event_is_clock(desc))
			ap_record_event_scale(&r->buf, e->ids[0], CLOCK_SCALE);
		if (!strcmp(r->path, "-"))
			ap_record_event_name(&r->buf, e->ids[0], e->name);
	}
}

static void put_threads(struct ap_stat_recorder *r, const struct ap_stat_count *c)
{
	u32 n = has_threads_of_command(c) ? (u32)c->st->nplaces
		: c->opts->is_of_cpus	  ? 0
					  : c->ntasks;
	struct ap_thread_name *name = ap_xgrow(NULL, n + 1, sizeof(*name));

	memset(name, 0, (n + 1) * sizeof(*name));
	name[0].tid = -1; /* of CPUs: none in particular */
	for (u32 i = 0; i < n; i++) {
		const char *thread = c->st->place[i % c->st->nplaces].thread;
		const char *dash = strrchr(thread, '-');

		if (!has_threads_of_command(c)) {
			name[i].tid = c->tasks[i].tid;
			memcpy(name[i].comm, c->tasks[i].comm, sizeof(name[i].comm));
		} else if (dash) {
			name[i].tid = atoi(dash + 1);
			snprintf(name[i].comm, sizeof(name[i].comm), "%.*s", (int)(dash - thread),
				 thread);
		}
	}
	ap_record_thread_map(&r->buf, name, n ? n : 1);
	free(name);
}

static void put_cpus(struct ap_stat_recorder *r, const struct ap_stat_count *c)
{
	u32 n = c->opts->is_of_cpus ? ap_stat_count_ncpus(c) : 1;
	u16 *cpu = ap_xgrow(NULL, n, sizeof(*cpu));

	for (u32 i = 0; i < n; i++)
		cpu[i] = c->opts->is_of_cpus ? (u16)ap_stat_count_cpu(c, i) : 0xffff;
	ap_record_cpu_map(&r->buf, cpu, n);
	free(cpu);
}

static void put_config(struct ap_stat_recorder *r, const struct ap_stat_count *c)
{
	static const u8 aggr[] = {
		[AP_STAT_ALL] = AP_AGGR_GLOBAL,	    [AP_STAT_CPUS] = AP_AGGR_NONE,
		[AP_STAT_THREADS] = AP_AGGR_THREAD, [AP_STAT_CORES] = AP_AGGR_CORE,
		[AP_STAT_DIES] = AP_AGGR_DIE,	    [AP_STAT_SOCKETS] = AP_AGGR_SOCKET,
		[AP_STAT_NODES] = AP_AGGR_NODE,
	};
	const struct ap_stat_config config = { .aggr = aggr[c->st->split],
					       .interval = c->opts->interval_ms,
					       .scale = !c->st->is_unscaled };

	ap_record_stat_config(&r->buf, &config);
}

/*
 * As a record: in front, for a file whose recorder does not come to its end, and at the end of a
 * stream.  It is an update of the first event that was opened, of a type that perf does not know
 * and passes over.
 */
static void put_remarks(struct ap_stat_recorder *r, const struct ap_stat_count *c)
{
	size_t start;

	if (!r->npoints)
		return;
	start = ap_buf_begin(&r->buf, AP_RECORD_EVENT_UPDATE, 0);
	ap_buf_u64(&r->buf, AP_EVENT_UPDATE_REMARKS);
	ap_buf_u64(&r->buf, 1);
	ap_stat_remarks_put(&r->buf, c->st, r->nevents);
	ap_buf_zero(&r->buf, AP_ALIGN_UP(r->buf.size - start, 8) - (r->buf.size - start));
	ap_buf_end(&r->buf, start);
}

static int begin_file(struct ap_stat_recorder *r, const struct ap_stat_count *c)
{
	struct ap_write_options options = { .fd = STDOUT_FILENO };
	struct ap_origin origin = { .version = ap_version,
				    .argv = r->argv,
				    .has_cpu_pmu = !c->run->no_engine };
	int ret;

	describe_events(r, c);
	options.path = strcmp(r->path, "-") ? r->path : NULL;
	options.events = origin.events = r->event;
	options.nevents = origin.nevents = r->nevents;
	ret = ap_writer_open(&r->writer, &options);
	if (!ret)
		ret = ap_origin_put(r->writer, &origin);
	if (!ret)
		ret = ap_writer_feature(r->writer, AP_FEAT_STAT, "", 0);
	put_units(r, c);
	put_threads(r, c);
	put_cpus(r, c);
	put_config(r, c);
	put_remarks(r, c);
	return ret;
}

static void put_round(struct ap_stat_recorder *r, bool of_intervals, u64 ns, bool is_final)
{
	const struct ap_stat_round round = { .is_final = is_final, .time = ns };

	for (size_t i = 0; i < r->npoints; i++) {
		struct stat_point *p = &r->point[i];

		tell(p, of_intervals, is_final);
		ap_record_stat(&r->buf, &(struct ap_stat_value){ .id = i + 1,
								 .cpu = p->cpu,
								 .thread = p->thread,
								 .count = p->told[0],
								 .enabled = p->told[1],
								 .running = p->told[2] });
	}
	ap_record_stat_round(&r->buf, &round);
}

void ap_stat_recorder_round(struct ap_stat_recorder *r, const struct ap_stat_count *c, u64 ns,
			    bool is_final)
{
	if (r->error)
		return;
	r->buf.size = 0;
	collect(r, c, ns);
	if (!r->writer)
		r->error = begin_file(r, c);
	put_round(r, c->opts->interval_ms, ns, is_final);
	if (!r->error)
		r->error = r->buf.failed ? -ENOMEM
					 : ap_writer_put(r->writer, r->buf.data, r->buf.size);
	if (!r->error)
		r->error = ap_writer_flush(r->writer);
}

static int finish_remarks(struct ap_stat_recorder *r, const struct ap_stat_count *c)
{
	bool is_stream = !strcmp(r->path, "-");

	r->buf.size = 0;
	if (is_stream)
		put_remarks(r, c);
	else
		ap_stat_remarks_put(&r->buf, c->st, r->nevents);
	if (r->buf.failed)
		return -ENOMEM;
	return is_stream ? ap_writer_put(r->writer, r->buf.data, r->buf.size)
			 : ap_writer_feature(r->writer, AP_FEAT_REMARKS, r->buf.data, r->buf.size);
}

int ap_stat_recorder_finish(struct ap_stat_recorder *r, const struct ap_stat_count *c)
{
	int ret = r->error, last;

	if (!ret && r->writer)
		ret = finish_remarks(r, c);
	if (r->writer) {
		last = ap_writer_finish(r->writer);
		ret = ret ? ret : last;
		r->writer = NULL;
	}
	if (ret)
		ap_print(stderr, "anyperf stat record: cannot write %s: %s%s\n",
			 strcmp(r->path, "-") ? r->path : "the stream", strerror(-ret),
			 ap_run_remedy(-ret));
	return ret;
}

char **ap_stat_command_line(int argc, char **argv)
{
	static char name[] = "anyperf";
	char **all = ap_xgrow(NULL, (size_t)argc + 2, sizeof(*all));

	all[0] = name;
	memcpy(all + 1, argv, (size_t)argc * sizeof(*all));
	all[argc + 1] = NULL;
	return all;
}
