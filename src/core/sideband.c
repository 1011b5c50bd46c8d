/* SPDX-License-Identifier: MIT */
/*
 * Side-band records: what the host tells of tasks, for each event that wants it, into the buffer
 * that the event writes to.  As in Linux those are the enabled events of the task, clones among
 * them, and those of the CPU that the task is on; an event of a task and a CPU wants it while the
 * task is on that CPU.
 */
#include "abi/errno.h"
#include "core/internal.h"
#include "sampling/overflow.h"
#include "sampling/record.h"

/* Beside attr's flags, of which it is none. */
#define MUNMAP (1ULL << 63)

#define ANY_TASK (AP_PERF_COMM | AP_PERF_MMAP | AP_PERF_MMAP2 | AP_PERF_MMAP_DATA | AP_PERF_TASK)

static u64 flags_of(const struct ap_event *e)
{
	return e->attr.flags | (ap_event_opened(e)->records_munmap ? MUNMAP : 0);
}

/* --- one record of one event */

/* Where a record is to go. */
struct record_place {
	struct ap_core *core;
	const struct ap_ring_map *map;
};

static void yield(void *arg, u32 holder, u32 n)
{
	const struct record_place *at = arg;
	const struct ap_core_ops *ops = &at->core->ops;

	if (AP_RING_IS_LONG(n) && ops->writer_is_dead &&
	    ops->writer_is_dead(at->core->world, at->map, holder))
		(void)ap_ring_clear(at->map, holder);
	else if (ops->yield)
		ops->yield(at->core->world, n);
}

static u64 time_for(const struct ap_event *e)
{
	struct ap_core *core = e->core;

	if ((e->attr.flags & AP_PERF_USE_CLOCKID) && core->ops.clock_id)
		return core->ops.clock_id(core->world, e->attr.clockid);
	return core->ops.clock(core->world);
}

struct ap_task_names ap_names_of(const struct ap_event *e, const struct ap_task *task)
{
	struct ap_task_names n = { 0 };

	if (!task)
		return n;
	if (e->core->ops.task_names) {
		e->core->ops.task_names(e->core->world, ap_event_opened(e), task->host, &n);
		return n;
	}
	n.pid = task->id.pid;
	n.tid = task->id.tid;
	return n;
}

static void format_of(const struct ap_event *e, struct ap_record_format *f)
{
	const struct ap_perf_attr *a = &e->attr;

	*f = (struct ap_record_format){ .sample_type = a->sample_type,
					.read_format = a->read_format,
					.flags = a->flags,
					.id = ap_event_opened(e)->id,
					.stream_id = e->id };
}

/* What a record is of, and what writes it. */
struct telling {
	u64 flags;	       /* of attr: any of them wants it */
	struct ap_task *task;  /* whose doing it is; NULL: nobody's */
	struct ap_task *child; /* or another task that it is about */
	const void *what;
	u64 n;
	bool bit;
	const struct ap_switch *at; /* NULL: here and now */
	int (*write)(const struct ap_record_to *to, const struct ap_event *e,
		     const struct telling *t);
};

/* A task that nobody has seen on a CPU yet must be somewhere. */
static s32 cpu_of(const struct ap_task *task)
{
	return task->cpu >= 0 ? task->cpu : 0;
}

static s32 cpu_for(const struct telling *t)
{
	return t->at ? t->at->cpu : cpu_of(t->task);
}

/*
 * The CPU that a record names.  Nobody may have looked for a long time where the task is: it is
 * asked then.
 */
static u32 cpu_named(const struct ap_event *e, const struct telling *t)
{
	const struct ap_core_ops *ops = &e->core->ops;
	s32 cpu = -1;

	if (!t->at && (e->attr.sample_type & AP_PERF_SAMPLE_CPU) &&
	    (flags_of(e) & AP_PERF_SAMPLE_ID_ALL) && ops->cpu_of)
		cpu = ops->cpu_of(e->core->world, t->task->host);
	return (u32)(cpu >= 0 ? cpu : cpu_for(t));
}

/* How long ago it was, whatever clock the event has. */
static u64 age_of(const struct ap_event *e, const struct telling *t)
{
	u64 now = t->at ? e->core->ops.clock(e->core->world) : 0;

	return t->at && now > t->at->time ? now - t->at->time : 0;
}

static u64 time_late(const void *event)
{
	return time_for(event);
}

static void tell_event(struct ap_event *e, const struct telling *t)
{
	struct ap_event *top = ap_event_opened(e);
	struct ap_buffer *b = top->buffer;
	struct record_place place = { .core = e->core, .map = &b->map };
	struct ap_ring_writer writer = { .name = AP_RING_CORE, .yield = yield, .arg = &place };
	struct ap_record_format format;
	struct ap_task_names names = ap_names_of(e, t->task);
	struct ap_record_origin origin = { .pid = (u32)names.pid, .tid = (u32)names.tid };
	bool wakes = false;
	struct ap_record_to to = { &b->map, &writer, &format, &origin, &wakes };
	int r;

	format_of(e, &format);
	origin.time = time_for(e) - age_of(e, t);
	origin.cpu = t->task ? cpu_named(e, t) : 0;
	origin.now = t->at ? NULL : time_late;
	origin.now_arg = e;
	r = t->write(&to, e, t);
	if (r && r != -AP_ENODEV)
		top->lost++;
	if (!wakes)
		return;
	ap_buffer_woken(b);
	/* Linux signals whose record was the one, whoever has the ring */
	if (e->core->ops.wake)
		e->core->ops.wake(e->core->world, top, AP_WAKE_IN);
}

static bool wants(const struct ap_event *e, const struct telling *t)
{
	const struct ap_buffer *b = ap_event_opened(e)->buffer;

	return (flags_of(e) & t->flags) && e->state >= AP_STATE_INACTIVE && b && b->map.ring;
}

static void tell_task_ctx(const struct telling *t)
{
	struct ap_list *l;

	ap_list_for_each(l, &t->task->ctx.telling) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_telling);

		if (wants(e, t) && (e->cpu < 0 || e->cpu == cpu_for(t)))
			tell_event(e, t);
	}
}

static void tell_cpu(const struct telling *t)
{
	struct ap_core *core = t->task->core;
	struct ap_ctx *ctx = core->cpu_ctx[cpu_for(t)];
	struct ap_list *l;

	if (!ctx)
		return;
	ap_list_for_each(l, &ctx->telling) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_telling);

		if (wants(e, t) && !ap_event_is_template(e))
			tell_event(e, t);
	}
}

static void tell(const struct telling *t)
{
	tell_cpu(t);
	tell_task_ctx(t);
}

/* --- samples that the host has taken */

struct read_words {
	u64 words[AP_READ_SIZE_MAX / 8];
	u32 nr;
};

static void write_sampled(struct ap_event *e, struct ap_sampler *s, u32 what,
			  struct ap_sample_data *d)
{
	const struct ap_buffer *b = ap_event_opened(e)->buffer;
	struct record_place place = { .core = e->core, .map = b ? &b->map : NULL };
	struct ap_ring_writer writer = { .name = AP_RING_CORE, .yield = yield, .arg = &place };
	struct ap_record_format format;
	bool wakes = false;
	struct ap_record_to to = { b ? &b->map : NULL, &writer, &format, &d->origin, &wakes };

	if (!b || !b->map.ring)
		return;
	ap_record_format_of(s, &format);
	if (what & AP_OVERFLOW_THROTTLED)
		(void)!ap_record_throttle(&to, true);
	if (ap_sample_write(&b->map, &writer, &format, d, &wakes) < 0)
		ap_sampling_of(s)->lost++;
	if (wakes)
		ap_buffer_woken(ap_event_opened(e)->buffer);
}

/* Its numbers are the event's, whatever the task has written there. */
static void set_ids(const struct ap_event *top, u64 *words, u32 n)
{
	const u64 type = top->attr.sample_type;
	u32 at = 1 + !!(type & AP_PERF_SAMPLE_IDENTIFIER) + !!(type & AP_PERF_SAMPLE_IP) +
		 !!(type & AP_PERF_SAMPLE_TID) + !!(type & AP_PERF_SAMPLE_TIME) +
		 !!(type & AP_PERF_SAMPLE_ADDR);

	if (type & AP_PERF_SAMPLE_IDENTIFIER && n > 1)
		words[1] = top->id;
	if (type & AP_PERF_SAMPLE_ID && at < n)
		words[at] = top->id;
}

void ap_core_carry(struct ap_core *core, struct ap_event *e, u64 *record, u32 size)
{
	const struct ap_perf_event_header *header = (const struct ap_perf_event_header *)record;
	struct ap_event *top = ap_event_opened(e);
	struct ap_buffer *b = top->buffer;
	struct record_place place = { .core = core, .map = b ? &b->map : NULL };
	struct ap_ring_writer writer = { .name = AP_RING_CORE, .yield = yield, .arg = &place };
	u64 trailer[AP_RECORD_TRAILER_MAX / 8];
	const struct ap_record_origin origin = { .time = time_for(top) };
	struct ap_record_format format;
	struct ap_ring_owner owner;
	struct ap_ring_out out;

	if (!b || !b->map.ring)
		return;
	if (header->type == AP_PERF_RECORD_SAMPLE)
		set_ids(top, record, size / 8);
	format_of(top, &format);
	ap_record_owner_of(&format, &origin, trailer, &owner);
	if (ap_ring_begin(&out, &b->map, &writer, &owner, size)) {
		top->lost++;
		return;
	}
	ap_ring_put(&out, record, size);
	if (header->type == AP_PERF_RECORD_SAMPLE && !(top->attr.flags & AP_PERF_WATERMARK))
		ap_ring_count_event(&out, top->attr.wakeup_events);
	if (ap_ring_end(&out))
		ap_buffer_woken(b);
}

bool ap_core_sampled(struct ap_core *core, struct ap_task *task, struct ap_event *e,
		     struct ap_sampler *s, u64 value, struct ap_sample_data *d)
{
	const struct ap_moment m = { .value = value,
				     .now = d->origin.time,
				     .tick = d->origin.time / AP_TICK_NS };
	struct ap_task_names names = ap_names_of(e, task);
	struct read_words w = { .nr = 0 };
	u32 what = 0;

	if (!ap_sampler_is_due(s, value))
		return false;
	what = ap_sampler_overflow(s, &m, &d->period);
	d->origin.pid = (u32)names.pid;
	d->origin.tid = (u32)names.tid;
	if ((e->attr.flags & AP_PERF_USE_CLOCKID))
		d->origin.time = time_for(e) - (core->ops.clock(core->world) - d->origin.time);
	if (e->attr.sample_type & AP_PERF_SAMPLE_READ) {
		w.nr = ap_read_own(e, w.words);
		d->read = w.words;
		d->nr_read = w.nr;
	}
	write_sampled(e, s, what, d);
	if (s->signals || (what & AP_OVERFLOW_LIMIT))
		ap_core_overflowed(core, ap_event_opened(e));
	return what & AP_OVERFLOW_LIMIT;
}

/* --- which events want what */

/* Mappings, names, ... by the flags of events. */
static u32 tells_of(u64 flags)
{
	u32 tells = 0;

	if (flags & (AP_PERF_MMAP | AP_PERF_MMAP2))
		tells |= AP_TELL_MAPPED;
	if (flags & AP_PERF_MMAP_DATA)
		tells |= AP_TELL_MAPPED_ALL;
	if (flags & AP_PERF_COMM)
		tells |= AP_TELL_COMM;
	if (flags & ANY_TASK)
		tells |= AP_TELL_TASK;
	if (flags & AP_PERF_NAMESPACES)
		tells |= AP_TELL_NAMESPACES;
	if (flags & AP_PERF_CONTEXT_SWITCH)
		tells |= AP_TELL_SWITCH;
	if (flags & AP_PERF_CGROUP)
		tells |= AP_TELL_CGROUP;
	if (flags & MUNMAP)
		tells |= AP_TELL_UNMAPPED;
	return tells;
}

bool ap_event_tells(const struct ap_event *e)
{
	return flags_of(e) &
	       (ANY_TASK | AP_PERF_NAMESPACES | AP_PERF_CONTEXT_SWITCH | AP_PERF_CGROUP | MUNMAP);
}

/* Who tells of what happens on a CPU has to know of all tasks. */
void ap_event_begin_telling(struct ap_event *e)
{
	if (!e->ctx || !ap_list_empty(&e->in_telling) || !ap_event_tells(e))
		return;
	ap_list_add_tail(&e->ctx->telling, &e->in_telling);
	e->core->nr_cpu_knowing += !e->ctx->task;
}

void ap_event_end_telling(struct ap_event *e)
{
	if (ap_list_empty(&e->in_telling))
		return;
	ap_list_del(&e->in_telling);
	e->core->nr_cpu_knowing -= !e->ctx->task;
}

/* Wherever it may be when it happens: events of all CPUs count. */
u32 ap_task_tells(const struct ap_task *task)
{
	const struct ap_core *core = task->core;
	struct ap_list *l;
	u64 flags = 0;
	u32 i;

	ap_list_for_each(l, &task->ctx.telling)
		flags |= flags_of(ap_list_entry(l, struct ap_event, in_telling));
	for (i = 0; i < core->ncpus; i++) {
		if (!core->cpu_ctx[i])
			continue;
		ap_list_for_each(l, &core->cpu_ctx[i]->telling)
			flags |= flags_of(ap_list_entry(l, struct ap_event, in_telling));
	}
	return tells_of(flags);
}

/* --- records */

static int write_mapping(const struct ap_record_to *to, const struct ap_event *e,
			 const struct telling *t)
{
	(void)e;
	return ap_record_mapping(to, t->what);
}

#define PROT_EXECUTE 4U

void ap_core_mapped(struct ap_core *core, struct ap_task *task, const struct ap_record_mapping *m)
{
	bool is_code = m->prot & PROT_EXECUTE;
	const struct telling t = { .flags = is_code ? AP_PERF_MMAP | AP_PERF_MMAP2
						    : AP_PERF_MMAP_DATA,
				   .task = task,
				   .what = m,
				   .write = write_mapping };

	(void)core;
	tell(&t);
}

static int write_unmapping(const struct ap_record_to *to, const struct ap_event *e,
			   const struct telling *t)
{
	(void)e;
	return ap_record_unmapping(to, t->what);
}

void ap_core_unmapped(struct ap_core *core, struct ap_task *task, const struct ap_record_mapping *m)
{
	const struct telling t = {
		.flags = MUNMAP, .task = task, .what = m, .write = write_unmapping
	};

	(void)core;
	tell(&t);
}

static int write_comm(const struct ap_record_to *to, const struct ap_event *e,
		      const struct telling *t)
{
	(void)e;
	return ap_record_comm(to, t->what, t->bit);
}

void ap_core_comm(struct ap_core *core, struct ap_task *task, const char *comm, bool is_exec)
{
	const struct telling t = { .flags = AP_PERF_COMM,
				   .task = task,
				   .what = comm,
				   .bit = is_exec,
				   .write = write_comm };

	(void)core;
	ap_task_set_comm(task, comm);
	tell(&t);
}

static int write_comm_of(const struct ap_record_to *to, const struct ap_event *e,
			 const struct telling *t)
{
	struct ap_task_names of = ap_names_of(e, t->child);

	return ap_record_comm_of(to, (u32)of.pid, (u32)of.tid, t->what);
}

void ap_core_comm_of(struct ap_core *core, struct ap_task *task, struct ap_task *of,
		     const char *comm)
{
	const struct telling t = { .flags = AP_PERF_COMM,
				   .task = task,
				   .child = of,
				   .what = comm,
				   .write = write_comm_of };

	(void)core;
	ap_task_set_comm(of, comm);
	tell(&t);
}

static int write_fork(const struct ap_record_to *to, const struct ap_event *e,
		      const struct telling *t)
{
	struct ap_task_names child = ap_names_of(e, t->child);

	return ap_record_task(to, AP_PERF_RECORD_FORK, (u32)child.pid, (u32)child.tid,
			      to->origin->pid, to->origin->tid);
}

void ap_core_forked(struct ap_core *core, struct ap_task *parent, struct ap_task *child)
{
	const struct telling t = {
		.flags = ANY_TASK, .task = parent, .child = child, .write = write_fork
	};

	(void)core;
	tell(&t);
}

static int write_exit(const struct ap_record_to *to, const struct ap_event *e,
		      const struct telling *t)
{
	struct ap_task_names n = ap_names_of(e, t->task);

	return ap_record_task(to, AP_PERF_RECORD_EXIT, (u32)n.pid, (u32)n.tid, (u32)n.ppid,
			      (u32)n.ptid);
}

/* The task's own events first: they are still enabled, and end now; then those of its CPU. */
void ap_tell_exit(struct ap_task *task)
{
	const struct telling t = { .flags = ANY_TASK, .task = task, .write = write_exit };

	tell_task_ctx(&t);
	tell_cpu(&t);
}

static int write_namespaces(const struct ap_record_to *to, const struct ap_event *e,
			    const struct telling *t)
{
	struct ap_task_names of = ap_names_of(e, t->child);

	return ap_record_namespaces(to, (u32)of.pid, (u32)of.tid, t->what, (u32)t->n);
}

void ap_core_namespaces(struct ap_core *core, struct ap_task *task, struct ap_task *of,
			const struct ap_perf_ns_link *links, u32 nr)
{
	const struct telling t = { .flags = AP_PERF_NAMESPACES,
				   .task = task,
				   .child = of,
				   .what = links,
				   .n = nr,
				   .write = write_namespaces };

	(void)core;
	tell(&t);
}

/*
 * An event of a CPU also names the next task, or the one before: -1 where nobody knows, or by other
 * names than the host's, as the kernel says of a task that is gone.
 */
static int write_switch(const struct ap_record_to *to, const struct ap_event *e,
			const struct telling *t)
{
	const struct ap_switch *sw = t->at;
	bool is_named = sw->is_named && (s32)to->origin->tid == t->task->id.tid;

	if (e->ctx && e->ctx->task)
		return ap_record_switch(to, sw->is_out, sw->is_preempted);
	return ap_record_switch_cpu_wide(to, sw->is_out, sw->is_preempted,
					 is_named ? sw->other_pid : ~0U,
					 is_named ? sw->other_tid : ~0U);
}

void ap_core_switched(struct ap_core *core, struct ap_task *task, const struct ap_switch *sw)
{
	const struct telling t = {
		.flags = AP_PERF_CONTEXT_SWITCH, .task = task, .at = sw, .write = write_switch
	};

	(void)core;
	if (!sw->is_told)
		tell_cpu(&t);
	tell_task_ctx(&t);
}

void ap_core_switched_on_cpu(struct ap_core *core, struct ap_task *task, const struct ap_switch *sw)
{
	const struct telling t = {
		.flags = AP_PERF_CONTEXT_SWITCH, .task = task, .at = sw, .write = write_switch
	};

	(void)core;
	tell_cpu(&t);
}

bool ap_core_cpu_wants_switches(const struct ap_core *core, s32 cpu)
{
	const struct ap_ctx *ctx = core->cpu_ctx[cpu];
	const struct ap_list *l;

	if (!ctx)
		return false;
	ap_list_for_each(l, &ctx->events)
		if (ap_list_entry(l, struct ap_event, in_ctx)->attr.flags & AP_PERF_CONTEXT_SWITCH)
			return true;
	return false;
}

static int write_cgroup(const struct ap_record_to *to, const struct ap_event *e,
			const struct telling *t)
{
	(void)e;
	return ap_record_cgroup(to, t->n, t->what);
}

void ap_core_cgroup_made(struct ap_core *core, struct ap_task *task, u64 id, const char *path)
{
	const struct telling t = {
		.flags = AP_PERF_CGROUP, .task = task, .what = path, .n = id, .write = write_cgroup
	};

	(void)core;
	tell(&t);
}

/* --- of one event */

static int write_unthrottled(const struct ap_record_to *to, const struct ap_event *e,
			     const struct telling *t)
{
	(void)e;
	(void)t;
	return ap_record_throttle(to, false);
}

static void tell_one(struct ap_event *e, struct telling *t)
{
	const struct ap_buffer *b = ap_event_opened(e)->buffer;

	t->task = e->ctx ? e->ctx->task : NULL;
	if (b && b->map.ring)
		tell_event(e, t);
}

void ap_tell_unthrottled(struct ap_event *e)
{
	struct telling t = { .write = write_unthrottled };

	tell_one(e, &t);
}

static int write_read(const struct ap_record_to *to, const struct ap_event *e,
		      const struct telling *t)
{
	const struct read_words *w = t->what;

	(void)e;
	return ap_record_read(to, w->words, w->nr);
}

void ap_tell_read(struct ap_event *clone)
{
	struct read_words w;
	struct telling t = { .what = &w, .write = write_read };

	w.nr = ap_read_own(clone, w.words);
	tell_one(clone, &t);
}
