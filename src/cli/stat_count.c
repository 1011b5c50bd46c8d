/* SPDX-License-Identifier: MIT */
/*
 * One event per row and task or CPU, inherited, read as they stand: what perf stat does.
 *
 * A group is opened where the engine's events are, if it has any.  A software event by itself is
 * the kernel's; where the kernel refuses it, the account that the kernel keeps of every command
 * says as much when the command has ended, and /proc while it runs.
 */
#include "cli/stat_count.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cgroups.h"
#include "cli/commands.h"
#include "cli/evfilter.h"
#include "cli/memory.h"
#include "print/print.h"

#define NS_PER_MS 1000000ULL

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ULL + (u64)ts.tv_nsec;
}

/* --- opening */

/* Where an event of a row is opened. */
struct spot {
	pid_t pid;
	s32 cpu;
	size_t place;
	u32 task;
	bool is_command;
};

static bool has_command(const struct ap_stat_count *c)
{
	return c->run->argv && !c->run->ntargets;
}

/* Rows of threads that nobody knows before they are there. */
static bool is_of_threads(const struct ap_stat_count *c)
{
	return has_command(c) && c->opts->split == AP_STAT_THREADS;
}

/* Only a final number of a whole command is in the kernel's account. */
static bool has_account(const struct ap_stat_count *c)
{
	return has_command(c) && !is_of_threads(c) && !c->opts->is_of_cpus &&
	       !c->opts->interval_ms && !c->opts->delay_ms && !c->control;
}

static bool is_with_engine(const struct ap_stat_count *c, size_t i)
{
	const struct ap_evlist *list = c->opts->events;
	size_t leader = list->sel[i].leader;

	if (list->sel[i].desc->from == AP_FROM_RAW)
		return true;
	for (i = leader; leader != AP_EVSEL_ALONE && i < list->n; i++) {
		const struct ap_evsel *sel = &list->sel[i];

		if (sel->leader == leader && !sel->why && sel->desc->from == AP_FROM_RAW)
			return true;
	}
	return false;
}

static void fill_attr(const struct ap_stat_count *c, size_t i, const struct spot *spot, bool leads,
		      struct ap_perf_attr *attr)
{
	bool on_exec = spot->is_command && !c->opts->delay_ms;

	*attr = c->opts->events->sel[i].attr;
	attr->read_format = AP_PERF_FORMAT_TOTAL_TIME_ENABLED | AP_PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (is_of_threads(c))
		attr->flags |= AP_PERF_COMM;
	if (leads)
		attr->flags |= AP_PERF_DISABLED | (on_exec ? AP_PERF_ENABLE_ON_EXEC : 0);
	if (!c->opts->no_inherit)
		attr->flags |= AP_PERF_INHERIT;
	else if (spot->is_command)
		attr->flags |= AP_PERF_INHERIT | AP_PERF_INHERIT_THREAD;
}

/* Every command's account has these, of all modes. */
static bool is_in_account(const struct ap_stat_count *c, const struct ap_evsel *sel)
{
	return sel->desc->from == AP_FROM_SW && sel->desc->index < AP_SW_N && has_account(c);
}

/*
 * Who is not root is told of user mode alone (perf_event_paranoid 2): as perf does, that is counted
 * then, and the name says so.  Clocks are the same all the same; of what happens in the kernel
 * nothing would be left.
 */
static bool leave_kernel_out(struct ap_evsel *sel)
{
	bool is_clock = ap_event_is_clock(sel->desc);
	char *name;

	if (sel->attr.type != AP_PERF_TYPE_SOFTWARE || sel->attr.flags & AP_EVSEL_MODES)
		return false;
	switch (sel->attr.config) {
	case AP_PERF_COUNT_SW_CONTEXT_SWITCHES:
	case AP_PERF_COUNT_SW_CPU_MIGRATIONS:
	case AP_PERF_COUNT_SW_CGROUP_SWITCHES:
		return false;
	default:
		break;
	}
	sel->attr.flags |= AP_PERF_EXCLUDE_KERNEL;
	if (is_clock)
		return true;
	name = ap_evsel_user_name(sel);
	free(sel->name);
	sel->name = name;
	return true;
}

static int open_event(struct ap_stat_count *c, size_t i, const struct spot *spot,
		      struct ap_client_event *leader, struct ap_client_event **out)
{
	struct ap_evsel *sel = &c->opts->events->sel[i];
	const struct ap_evcgroup *cgroup = sel->cgroup;
	bool in_session = cgroup || is_of_threads(c) || is_with_engine(c, i);
	enum ap_client_place place = in_session	      ? AP_CLIENT_SESSION
				     : has_account(c) ? AP_CLIENT_KERNEL
						      : AP_CLIENT_ANYWHERE;
	struct ap_perf_attr attr;
	const struct ap_client_open args = { .attr = &attr,
					     .pid = spot->pid,
					     .cpu = spot->cpu,
					     .cgroup = cgroup ? &cgroup->fd : NULL,
					     .leader = leader,
					     .place = place };
	int ret;

	fill_attr(c, i, spot, !leader, &attr);
	ret = ap_client_open(c->client, &args, out);
	if (ret == -EACCES && !is_in_account(c, sel) && leave_kernel_out(sel)) {
		fill_attr(c, i, spot, !leader, &attr);
		ret = ap_client_open(c->client, &args, out);
	}
	if (ret != -EINVAL || !(attr.flags & AP_PERF_INHERIT_THREAD))
		return ret;
	/* kernels before 5.13 */
	attr.flags &= ~(AP_PERF_INHERIT | AP_PERF_INHERIT_THREAD);
	return ap_client_open(c->client, &args, out);
}

/*
 * Only the kernel's own event can leave modes out; of what counts nothing there is nothing to leave
 * out.
 */
static bool is_of_modes(const struct ap_evsel *sel)
{
	return sel->desc->from == AP_FROM_SW && sel->desc->index != AP_SW_DUMMY &&
	       !ap_event_is_clock(sel->desc) && sel->attr.flags & AP_EVSEL_MODES;
}

static void add_counter(struct ap_stat_count *c, const struct ap_stat_counter *counter)
{
	struct ap_stat_reading *r = &c->now[counter->row];
	const struct ap_evsel *sel = &c->opts->events->sel[counter->sel];

	c->counter = ap_xgrow(c->counter, c->ncounters + 1, sizeof(*c->counter));
	c->counter[c->ncounters++] = *counter;
	r->is_open = true;
	r->source = AP_SRC_KERNEL;
	/* the core asks /proc where the kernel has refused its own event */
	if (sel->desc->from == AP_FROM_SW && !is_of_modes(sel) &&
	    !ap_client_is_in_kernel(counter->event) && !is_with_engine(c, counter->sel))
		r->source = AP_SRC_PROC;
}

static bool is_unsupported(int ret)
{
	switch (-ret) {
	case ENOENT:
	case EOPNOTSUPP:
	case EINVAL:
	case ENOSYS:
	case ENXIO:
	case ENODEV:
	case EACCES:
	case EPERM:
	case ENOSPC:
		return true;
	default:
		return false;
	}
}

/* 0, or an exit status: not that an event cannot be counted, which its row says. */
static int refused(struct ap_stat_count *c, size_t i, size_t row, int ret)
{
	const struct ap_evsel *sel = &c->opts->events->sel[i];
	struct ap_stat_reading *r = &c->now[row];

	if (ret == -ESRCH) /* a thread that has ended meanwhile */
		return 0;
	if (ret == -ENODEV && sel->desc->from == AP_FROM_RAW) {
		r->is_open = true;
		return 0;
	}
	if (ret == -EXDEV) {
		fputs("anyperf: --per-thread of a command: a session around this one does not tell its threads apart\n",
		      stderr);
		return AP_EXIT_FAILURE;
	}
	if (!is_unsupported(ret)) {
		ap_print(stderr, "anyperf: cannot open '%s': %s%s\n", sel->name, strerror(-ret),
			 ap_run_remedy(-ret));
		return AP_EXIT_FAILURE;
	}
	if (is_of_modes(sel)) {
		if (!r->is_open)
			r->why = "only the kernel's own event knows modes, and is refused";
		return 0;
	}
	if (is_in_account(c, sel)) {
		c->from_account[i] = true;
		ap_client_wants_account(c->client);
		return 0;
	}
	if (!r->is_open && sel->filter && ret == -ENOSPC)
		r->why = "a session has room for 64 filters";
	else if (!r->is_open && sel->filter)
		r->why = "what it records is not known where it is counted";
	else if (!r->is_open && sel->kinds && ret == -ENOENT)
		r->why = ap_event_why_absent;
	else if (!r->is_open && sel->desc->from == AP_FROM_RAW)
		r->why = strerror(-ret);
	else if (!r->is_open && sel->desc->from == AP_FROM_SW)
		r->why = "only the kernel's own event counts it, and is refused";
	return 0;
}

static int open_filtered(struct ap_stat_count *c, size_t i, const struct spot *spot,
			 struct ap_client_event *leader, struct ap_client_event **out)
{
	int ret = open_event(c, i, spot, leader, out);

	if (ret)
		return ret;
	ret = ap_evsel_set_filter(&c->opts->events->sel[i], *out);
	if (!ret && is_of_threads(c))
		ret = ap_client_split(*out);
	if (ret)
		ap_client_close(*out);
	return ret;
}

/* One event at one spot; *leader is its group's, set by the first that could be opened. */
static int open_at(struct ap_stat_count *c, size_t i, const struct spot *spot,
		   struct ap_client_event **leader)
{
	const struct ap_evsel *sel = &c->opts->events->sel[i];
	struct ap_stat_counter counter = { .sel = i, .row = i * c->st->nplaces + spot->place };
	struct ap_client_event *first = leader ? *leader : NULL;
	int ret;

	if (sel->why || sel->desc->from == AP_FROM_TIME || sel->desc->from == AP_FROM_NOTHING)
		return 0;
	ret = open_filtered(c, i, spot, first, &counter.event);
	if (ret && first && sel->is_weak) {
		first = NULL;
		ret = open_filtered(c, i, spot, NULL, &counter.event);
	} else if (!ret && leader && !*leader) {
		*leader = counter.event;
	}
	if (ret)
		return refused(c, i, counter.row, ret);
	counter.leads = !first;
	counter.cpu = spot->cpu;
	counter.task = spot->task;
	counter.is_of_place = spot->pid < 0 && sel->attr.type == AP_PERF_TYPE_SOFTWARE &&
			      ap_client_is_in_kernel(counter.event);
	counter.on_exec = spot->is_command && !c->opts->delay_ms &&
			  (spot->cpu < 0 || ap_client_is_in_kernel(counter.event)) &&
			  (spot->pid >= 0 || sel->attr.type == AP_PERF_TYPE_SOFTWARE);
	add_counter(c, &counter);
	return 0;
}

/* All events at one spot, group by group. */
static int open_spot(struct ap_stat_count *c, const struct spot *spot)
{
	const struct ap_evlist *list = c->opts->events;
	struct ap_client_event *leader = NULL;
	size_t group = AP_EVSEL_ALONE;
	int ret = 0;

	for (size_t i = 0; i < list->n && !ret; i++) {
		bool is_alone = list->sel[i].leader == AP_EVSEL_ALONE;

		if (list->sel[i].leader != group)
			leader = NULL;
		group = list->sel[i].leader;
		ret = open_at(c, i, spot, is_alone ? NULL : &leader);
	}
	return ret;
}

s32 ap_stat_count_cpu(const struct ap_stat_count *c, u32 i)
{
	return c->opts->cpus ? c->opts->cpus[i] : (s32)i;
}

u32 ap_stat_count_ncpus(const struct ap_stat_count *c)
{
	return c->opts->cpus ? c->opts->ncpus : ap_client_ncpus();
}

/* Of n CPUs; the number of parts. */
static u32 set_parts(struct ap_stat_count *c, u32 n, struct ap_stat_place *places)
{
	s32 *cpus = ap_xgrow(NULL, n, sizeof(*cpus));

	for (u32 i = 0; i < n; i++)
		cpus[i] = ap_stat_count_cpu(c, i);
	free(c->part_of);
	c->part_of = ap_xgrow(NULL, n, sizeof(*c->part_of));
	n = ap_stat_parts(NULL, c->opts->split, cpus, n, places, c->part_of);
	free(cpus);
	return n;
}

static void set_places(struct ap_stat_count *c, const struct ap_client_task *tasks, u32 ntasks)
{
	bool of_cpus = c->opts->split != AP_STAT_THREADS;
	u32 n = of_cpus ? ap_stat_count_ncpus(c) : ntasks;
	struct ap_stat_place *places;

	if (c->opts->split == AP_STAT_ALL || c->st->split != AP_STAT_ALL || is_of_threads(c))
		return;
	places = ap_xgrow(NULL, n, sizeof(*places));
	memset(places, 0, n * sizeof(*places));
	if (ap_stat_is_of_parts(c->opts->split)) {
		n = set_parts(c, n, places);
		ap_stat_set_places(c->st, c->opts->events, c->opts->split, places, n);
		free(places);
		return;
	}
	for (u32 i = 0; i < n; i++) {
		places[i].cpu = of_cpus ? ap_stat_count_cpu(c, i) : -1;
		if (!of_cpus)
			snprintf(places[i].thread, sizeof(places[i].thread), "%s-%d", tasks[i].comm,
				 (int)tasks[i].tid);
	}
	ap_stat_set_places(c->st, c->opts->events, c->opts->split, places, n);
	free(places);
}

static int open_all(struct ap_stat_count *c)
{
	bool is_split = c->opts->split != AP_STAT_ALL && !is_of_threads(c);
	const struct ap_client_task *tasks;
	u32 ntasks, n;
	int ret = 0;

	tasks = ap_client_tasks(c->client, &ntasks);
	n = c->opts->is_of_cpus ? ap_stat_count_ncpus(c) : ntasks;
	for (u32 i = 0; i < n && !ret; i++) {
		struct spot spot = { .pid = -1, .cpu = -1, .place = is_split ? i : 0 };

		if (ap_stat_is_of_parts(c->opts->split))
			spot.place = c->part_of[i];
		spot.is_command = c->opts->is_of_cpus || tasks[i].is_command;
		if (c->opts->is_of_cpus)
			spot.cpu = ap_stat_count_cpu(c, i);
		else
			spot.pid = tasks[i].tid;
		spot.task = c->opts->is_of_cpus ? 0 : i;
		ret = open_spot(c, &spot);
	}
	return ret;
}

static void forget(struct ap_stat_count *c)
{
	free(c->tasks);
	free(c->counter);
	free(c->now);
	free(c->before);
	free(c->from_account);
	c->tasks = NULL;
	c->counter = NULL;
	c->ncounters = 0;
	c->now = c->before = NULL;
	c->from_account = NULL;
}

static int start(void *arg, struct ap_event_client *client)
{
	struct ap_stat_count *c = arg;
	const struct ap_client_task *tasks;
	size_t nrows;
	u32 ntasks;
	int ret;

	forget(c);
	c->client = client;
	c->is_over = c->is_stopped = c->is_last = false;
	c->nth = 0;
	tasks = ap_client_tasks(client, &ntasks);
	c->tasks = ap_xgrow(NULL, ntasks + 1, sizeof(*tasks));
	memcpy(c->tasks, tasks, ntasks * sizeof(*tasks));
	c->ntasks = ntasks;
	set_places(c, tasks, ntasks);
	nrows = c->st->nrows + 1; /* never none */
	c->now = ap_xgrow(NULL, nrows, sizeof(*c->now));
	c->before = ap_xgrow(NULL, nrows, sizeof(*c->before));
	c->from_account = ap_xgrow(NULL, nrows, sizeof(*c->from_account));
	memset(c->now, 0, nrows * sizeof(*c->now));
	memset(c->before, 0, nrows * sizeof(*c->before));
	memset(c->from_account, 0, nrows * sizeof(*c->from_account));
	ret = open_all(c);
	if (!ret && c->control && ap_client_watch(client, c->control->fd)) {
		ap_print(stderr, "anyperf: cannot wait for commands at descriptor %d: %s\n",
			 c->control->fd, strerror(errno));
		ret = AP_EXIT_FAILURE;
	}
	return ret;
}

/* --- enabling */

static void enable(struct ap_stat_count *c, const char *name, bool on)
{
	for (size_t i = 0; i < c->ncounters; i++) {
		const struct ap_stat_counter *counter = &c->counter[i];
		const struct ap_evsel *sel = &c->opts->events->sel[counter->sel];

		if (name ? !strcmp(name, sel->name) : counter->leads)
			/* of what has ended there is nothing to enable */
			(void)!ap_client_enable(counter->event, on);
	}
}

static void say(const struct ap_stat_count *c, bool on)
{
	if (c->opts->is_quiet)
		return;
	ap_print(stderr, "Events %s\n", on ? "enabled" : "disabled");
}

static void arm(struct ap_stat_count *c)
{
	u64 next = c->delay_until;

	if (c->interval_at && (!next || c->interval_at < next))
		next = c->interval_at;
	ap_client_timer(c->client, next);
}

/* The time that is measured begins: with the events, where they wait. */
static void set_zero(struct ap_stat_count *c, u64 ns)
{
	c->zero_ns = c->last_ns = ns;
	if (c->opts->interval_ms)
		c->interval_at = ns + c->opts->interval_ms * NS_PER_MS;
}

static void begin(void *arg, u64 ns)
{
	struct ap_stat_count *c = arg;

	c->begin_ns = ns;
	c->delay_until = c->interval_at = 0;
	set_zero(c, ns);
	if (c->opts->delay_ms) {
		say(c, false);
		if (c->opts->delay_ms > 0) {
			c->delay_until = ns + (u64)c->opts->delay_ms * NS_PER_MS;
			c->interval_at = 0;
		}
	} else {
		for (size_t i = 0; i < c->ncounters; i++)
			if (c->counter[i].leads && !c->counter[i].on_exec)
				(void)!ap_client_enable(c->counter[i].event, true);
	}
	arm(c);
}

/* --- reading */

static void read_all(struct ap_stat_count *c)
{
	for (size_t i = 0; i < c->st->nrows; i++)
		c->now[i].count = c->now[i].enabled = c->now[i].running = 0;
	ap_client_moment(c->client);
	for (size_t i = 0; i < c->ncounters; i++) {
		struct ap_stat_counter *counter = &c->counter[i];
		struct ap_stat_reading *r = &c->now[counter->row];
		u64 *v = counter->value;

		/* a pinned event that could not be counted gives nothing */
		if (ap_client_read(counter->event, v, sizeof(counter->value)) !=
		    sizeof(counter->value)) {
			memset(v, 0, sizeof(counter->value));
			continue;
		}
		/* of a CPU and a task: elsewhere it did not wait, it was not there */
		if (counter->is_of_place)
			v[1] = v[2];
		r->count += v[0];
		r->enabled += v[1];
		r->running += v[2];
	}
}

static u64 less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

struct ap_stat_reading ap_stat_interval_part(const struct ap_stat_reading *now,
					     struct ap_stat_reading *before, bool is_last)
{
	struct ap_stat_reading part = *now;

	part.count = less(now->count, before->count);
	part.enabled = less(now->enabled, before->enabled);
	part.running = less(now->running, before->running);
	if (part.running) {
		*before = *now;
	} else if (is_last && part.count) {
		part.enabled = part.running = 1;
	} else {
		before->enabled = now->enabled;
		part.count = 0;
	}
	return part;
}

static void take_interval(struct ap_stat_count *c, u64 ns, bool is_last)
{
	const struct ap_stat_times times = { .wall_ns = less(ns, c->last_ns) };
	size_t n = c->st->nrows;
	struct ap_stat_reading *part = ap_xgrow(NULL, n + 1, sizeof(*part));

	read_all(c);
	for (size_t i = 0; i < n; i++)
		part[i] = ap_stat_interval_part(&c->now[i], &c->before[i], is_last);
	ap_stat_restart(c->st);
	ap_stat_add(c->st, part, &times);
	c->last_ns = ns;
	c->is_last = is_last || (c->opts->interval_count && c->nth + 1 == c->opts->interval_count);
	c->interval(c, less(ns, c->zero_ns), c->nth++);
	free(part);
	if (c->opts->interval_count && c->nth == c->opts->interval_count) {
		c->is_over = c->is_stopped = true;
		ap_client_stop(c->client);
	}
}

static void timer(void *arg, u64 ns)
{
	struct ap_stat_count *c = arg;

	if (c->delay_until && ns >= c->delay_until) {
		c->delay_until = 0;
		enable(c, NULL, true);
		say(c, true);
		set_zero(c, ns);
	}
	if (c->interval_at && ns >= c->interval_at) {
		/* what is late does not make the next ones late */
		while (c->interval_at <= ns)
			c->interval_at += c->opts->interval_ms * NS_PER_MS;
		if (!c->is_over)
			take_interval(c, ns, false);
		if (c->is_over)
			c->interval_at = 0;
	}
	arm(c);
}

void ap_stat_count_enable(struct ap_stat_count *c, const char *name, bool on, u64 ns)
{
	c->delay_until = 0;
	enable(c, name, on);
	say(c, on);
	if (c->opts->interval_ms && !c->is_over)
		take_interval(c, ns, false);
	arm(c);
}

static bool has_event(const struct ap_stat_count *c, const char *name)
{
	for (size_t i = 0; i < c->opts->events->n; i++)
		if (!strcmp(c->opts->events->sel[i].name, name))
			return true;
	return false;
}

static void list_events(const struct ap_stat_count *c)
{
	for (size_t i = 0; i < c->opts->events->n; i++)
		ap_print(stderr, "%s\n", c->opts->events->sel[i].name);
}

static void ready(void *arg, int fd)
{
	struct ap_stat_count *c = arg;
	enum ap_control_command command;
	const char *name;

	if (!c->control || fd != c->control->fd)
		return;
	while ((command = ap_control_next(c->control, &name)) != AP_CONTROL_NONE) {
		switch (command) {
		case AP_CONTROL_CLOSED:
			ap_client_unwatch(c->client, fd);
			return;
		case AP_CONTROL_ENABLE:
		case AP_CONTROL_DISABLE:
			if (*name && !has_event(c, name)) {
				ap_print(stderr, AP_CONTROL_NO_EVENT, name);
				break;
			}
			ap_stat_count_enable(c, *name ? name : NULL, command == AP_CONTROL_ENABLE,
					     now_ns());
			break;
		case AP_CONTROL_EVLIST:
			list_events(c);
			break;
		case AP_CONTROL_STOP:
			c->is_stopped = true;
			ap_client_stop(c->client);
			break;
		default:
			break;
		}
		ap_control_ack(c->control);
	}
}

static void part(void *arg, struct ap_client_event *e, const struct ap_client_part *told)
{
	struct ap_stat_count *c = arg;
	size_t i = 0;

	while (i < c->ncounters && c->counter[i].event != e)
		i++;
	if (i < c->ncounters)
		ap_stat_threads_add(&c->threads, c->opts->events->n, c->counter[i].sel, told);
}

/* All of the command's threads are known: there is a row for each event and thread. */
static void split_rows(struct ap_stat_count *c)
{
	ap_client_moment(c->client);
	for (size_t i = 0; i < c->ncounters; i++)
		ap_client_tell_parts(c->counter[i].event);
	if (c->threads.n)
		c->now = ap_stat_threads_rows(&c->threads, c->st, c->opts->events, c->now);
}

static void end(void *arg, u64 ns)
{
	struct ap_stat_count *c = arg;

	if (c->control)
		ap_client_unwatch(c->client, c->control->fd);
	/* of a time that ended before events were to begin */
	if (c->delay_until)
		set_zero(c, ns);
	if (c->opts->interval_ms && !c->is_over)
		take_interval(c, ns, true);
	else
		read_all(c);
	if (is_of_threads(c))
		split_rows(c);
	c->client = NULL;
	c->last_ns = ns;
}

static void use_account(struct ap_stat_count *c, size_t i, const struct ap_run_account *account)
{
	unsigned int index = c->opts->events->sel[i].desc->index;
	u64 ran = account->value[AP_SW_TASK_CLOCK];
	struct ap_stat_reading *r = &c->now[i * c->st->nplaces];

	r->source = account->source[index];
	r->is_open = r->source != AP_SRC_NONE;
	r->count = account->value[index];
	r->enabled = r->running = ran ? ran : 1;
}

const struct ap_stat_reading *ap_stat_count_readings(struct ap_stat_count *c,
						     const struct ap_run_result *res,
						     struct ap_stat_times *times)
{
	for (size_t i = 0; i < c->opts->events->n; i++)
		if (c->from_account[i])
			use_account(c, i, &res->account);
	*times = (struct ap_stat_times){ .wall_ns = less(c->last_ns, c->zero_ns),
					 .user_ns = res->account.user_ns,
					 .sys_ns = res->account.sys_ns,
					 .has_user_sys = has_command(c) && !c->opts->is_of_cpus };
	return c->now;
}

void ap_stat_count_init(struct ap_stat_count *c, struct ap_run_client *callbacks)
{
	*callbacks = (struct ap_run_client){ .arg = c,
					     .start = start,
					     .begin = begin,
					     .timer = timer,
					     .ready = ready,
					     .part = part,
					     .end = end };
}

void ap_stat_count_fini(struct ap_stat_count *c)
{
	free(c->part_of);
	ap_stat_threads_fini(&c->threads);
	forget(c);
}
