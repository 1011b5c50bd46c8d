/* SPDX-License-Identifier: MIT */
/*
 * Diaries: what the kernel writes down of a task for us, where it permits, in the ring of an event
 * of its own.  That is when the task is on a CPU, and samples of what happens inside the kernel.
 * Where a CPU's event wants to know of switches, and the kernel permits, there is a diary of that
 * CPU as well, which names the next task.  All are read together, by the time of what they say.
 * Read at ticks, before each request is served and at the task's end;  told to the core with the
 * kernel's time, which is the clock that ours follows.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "linux/host/host_internal.h"
#include "sampling/record.h"

#define DATA_PAGES	   16U /* some 1600 switches until it is read */
#define RING_BYTES	   ((u64)DATA_PAGES * AP_PAGE_SIZE)
#define DIARY_NS	   4000000ULL
#define SW_CGROUP_SWITCHES 11 /* newer than some headers */

struct ap_host_diary {
	struct ap_host_task *task; /* NULL: of a CPU */
	s32 cpu;
	int fd;
	int counters[AP_WORLD_N]; /* events that are sampled, with the output of fd; -1 */
	u64 ids[AP_WORLD_N];
	struct perf_event_mmap_page *page; /* NULL: not mapped in this process yet */
	bool is_known, is_out;		   /* the task, by what has been told */
	u64 at, head, time; /* while they are read: up to there; of the next record */
	struct ap_host_diary *next, **prev;
};

/* PERF_RECORD_SWITCH with sample_id_all of TID | TIME | CPU. */
struct switch_record {
	struct perf_event_header header;
	u32 pid, tid;
	u64 time;
	u32 cpu, reserved;
};

/* PERF_RECORD_SWITCH_CPU_WIDE: the task that has the CPU is in the latter names. */
struct cpu_record {
	struct perf_event_header header;
	u32 other_pid, other_tid;
	u32 pid, tid;
	u64 time;
	u32 cpu, reserved;
};

#define CHAIN_MAX 128

/* Of the others. */
struct sample_record {
	struct perf_event_header header;
	u64 id, ip;
	u32 pid, tid;
	u64 time;
	u32 cpu, reserved;
	u64 nr, chain[CHAIN_MAX];
};

/* tid -1: all that are on the CPU. */
static int open_event(pid_t tid, s32 cpu)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr.sample_id_all = 1;
	attr.context_switch = 1;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	return (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_counter(pid_t tid, u32 which)
{
	static const u64 configs[AP_WORLD_N] = {
		[AP_WORLD_CONTEXT_SWITCHES] = PERF_COUNT_SW_CONTEXT_SWITCHES,
		[AP_WORLD_MIGRATIONS] = PERF_COUNT_SW_CPU_MIGRATIONS,
		[AP_WORLD_CGROUP_SWITCHES] = SW_CGROUP_SWITCHES,
	};
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = configs[which];
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			   PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN;
	attr.exclude_callchain_user = 1;
	attr.exclude_hv = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

bool ap_host_can_keep_diaries(struct ap_host *host)
{
	int fd;

	if (!host->keeps_diaries) {
		fd = open_counter(0, AP_WORLD_CONTEXT_SWITCHES);
		host->keeps_diaries = fd < 0 ? -1 : 1;
		if (fd >= 0)
			close(fd);
	}
	return host->keeps_diaries > 0;
}

/* The mapping is not inherited by the process that goes on in the background. */
static bool map(struct ap_host_diary *f)
{
	void *p;

	if (f->page)
		return true;
	p = mmap(NULL, AP_PAGE_SIZE + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	f->page = p == MAP_FAILED ? NULL : p;
	return f->page;
}

static void copy(const struct ap_host_diary *f, u64 at, void *to, u64 n)
{
	const u8 *data = (const u8 *)f->page + AP_PAGE_SIZE;

	for (u64 i = 0; i < n; i++)
		((u8 *)to)[i] = data[(at + i) % RING_BYTES];
}

static bool has_own_diary(const struct ap_host *host, u32 cpu)
{
	return host->cpu_diaries && host->cpu_diaries[cpu];
}

/*
 * Who asks for its own event waits for us, which it would not do natively: it is on a CPU as far as
 * anybody was told.
 */
static void take_switch(struct ap_host *host, struct ap_host_diary *f,
			const struct switch_record *r)
{
	const struct ap_switch sw = {
		.time = r->time,
		.cpu = (s32)r->cpu,
		.is_out = r->header.misc & PERF_RECORD_MISC_SWITCH_OUT,
		.is_preempted = r->header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
		.is_told = r->cpu < ap_host_count_cpus() && has_own_diary(host, r->cpu)
	};

	if (r->cpu >= ap_host_count_cpus() || (f->is_known && sw.is_out == f->is_out))
		return;
	f->is_known = true;
	f->is_out = sw.is_out;
	ap_core_switched(host->core, f->task->core, &sw);
}

/* Of other sessions' tasks, and of the machine's, nobody here hears. */
static void take_cpu_switch(struct ap_host *host, const struct ap_host_diary *f,
			    const struct cpu_record *r)
{
	const struct ap_switch sw = { .time = r->time,
				      .cpu = f->cpu,
				      .is_out = r->header.misc & PERF_RECORD_MISC_SWITCH_OUT,
				      .is_preempted =
					      r->header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
				      .is_named = true,
				      .other_pid = r->other_pid,
				      .other_tid = r->other_tid };
	struct ap_host_task *t = r->tid ? ap_host_task_by_tid(host, (pid_t)r->tid) : NULL;

	if (t)
		ap_core_switched_on_cpu(host->core, t->core, &sw);
}

/* The kernel says where the task was: events of CPUs follow it. */
static void take_sample(struct ap_host *host, const struct ap_host_diary *f,
			const struct sample_record *r)
{
	struct ap_sample_data d = { .misc = r->header.misc & PERF_RECORD_MISC_CPUMODE_MASK,
				    .ip = r->ip,
				    .nr_chain = (u32)(r->nr < CHAIN_MAX ? r->nr : CHAIN_MAX),
				    .chain = r->chain };
	struct ap_host_task *t = f->task;
	struct ap_host_sampler *o, *next;
	u32 which = 0;

	while (which < AP_WORLD_N && (f->counters[which] < 0 || f->ids[which] != r->id))
		which++;
	if (which == AP_WORLD_N || r->cpu >= ap_host_count_cpus())
		return;
	if (t->cpu != (s32)r->cpu)
		ap_host_task_on_cpu(host, t, (s32)r->cpu);
	t->told[which]++;
	d.cgroup = ap_host_task_is_in_slot(t) ? ap_host_slot(t->seg, t->slot)->cgroup : 0;
	for (o = t->samplers; o; o = next) {
		struct ap_sampler *s = ap_host_sampler_at(host, o);

		next = o->next;
		if (s->source != AP_SAMPLE_WORLD || s->which != which)
			continue;
		d.origin = (struct ap_record_origin){ .time = r->time, .cpu = r->cpu };
		if (ap_core_sampled(host->core, t->core, o->event, s, t->told[which], &d))
			break;
	}
}

/*
 * While tasks move and diaries are read their samplers come and go one by one: what their diaries
 * have to tell is looked at when that is over, and none that is being read ends.
 */
void ap_host_diaries_hold(struct ap_host *host)
{
	host->diaries_held++;
}

void ap_host_diaries_let_go(struct ap_host *host)
{
	if (--host->diaries_held)
		return;
	while (host->has_held_diaries) {
		host->has_held_diaries = false;
		for (struct ap_host_task *t = host->tasks; t; t = t->next) {
			if (!t->is_diary_held)
				continue;
			t->is_diary_held = false;
			ap_host_diary_set(host, t, ap_task_tells(t->core) & AP_TELL_SWITCH);
		}
	}
}

union diary_record {
	struct perf_event_header header;
	struct switch_record sw;
	struct cpu_record cpu;
	struct sample_record sample;
};

static u64 time_of(const union diary_record *r)
{
	switch (r->header.type) {
	case PERF_RECORD_SWITCH:
		return r->sw.time;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return r->cpu.time;
	case PERF_RECORD_SAMPLE:
		return r->sample.time;
	default:
		return 0; /* at once: nobody wants it */
	}
}

/* The record at f->at, as far as .. there is one. */
static bool look(struct ap_host_diary *f, union diary_record *r, u64 most)
{
	u64 size;

	if (f->at == f->head)
		return false;
	copy(f, f->at, r, sizeof(r->header));
	size = r->header.size < most ? r->header.size : most;
	copy(f, f->at, r, size < sizeof(r->header) ? sizeof(r->header) : size);
	return true;
}

static void look_ahead(struct ap_host_diary *f)
{
	union diary_record r;

	f->time = look(f, &r, offsetof(struct sample_record, nr)) ? time_of(&r) : ~0ULL;
}

static void begin_reading(struct ap_host_diary *f)
{
	f->at = f->head = 0;
	f->time = ~0ULL;
	if (!map(f))
		return;
	f->head = __atomic_load_n(&f->page->data_head, __ATOMIC_ACQUIRE);
	f->at = f->page->data_tail;
	look_ahead(f);
}

static void take_next(struct ap_host *host, struct ap_host_diary *f)
{
	union diary_record r;

	if (!look(f, &r, sizeof(r)))
		return;
	f->at += r.header.size;
	if (r.header.type == PERF_RECORD_SWITCH)
		take_switch(host, f, &r.sw);
	else if (r.header.type == PERF_RECORD_SWITCH_CPU_WIDE)
		take_cpu_switch(host, f, &r.cpu);
	else if (r.header.type == PERF_RECORD_SAMPLE)
		take_sample(host, f, &r.sample);
	__atomic_store_n(&f->page->data_tail, f->at, __ATOMIC_RELEASE);
	look_ahead(f);
}

static void drain(struct ap_host *host, struct ap_host_diary *f)
{
	begin_reading(f);
	while (f->time != ~0ULL)
		take_next(host, f);
}

/* What happened first is told first, whoever wrote it down. */
void ap_host_diaries_drain(struct ap_host *host)
{
	struct ap_host_diary *f, *next;

	if (!host->diaries)
		return;
	ap_host_diaries_hold(host);
	for (f = host->diaries; f; f = f->next)
		begin_reading(f);
	for (;;) {
		next = NULL;
		for (f = host->diaries; f; f = f->next)
			if (f->time != ~0ULL && (!next || f->time < next->time))
				next = f;
		if (!next)
			break;
		take_next(host, next);
	}
	ap_host_diaries_let_go(host);
}

u64 ap_host_diaries_tick(struct ap_host *host, u64 now)
{
	if (!host->diaries)
		return 0;
	if (now < host->diaries_ns)
		return host->diaries_ns - now;
	ap_host_diaries_drain(host);
	host->diaries_ns = now + DIARY_NS;
	return DIARY_NS;
}

/* NULL: the kernel refuses it. */
static struct ap_host_diary *new_diary(struct ap_host *host, pid_t tid, s32 cpu)
{
	int fd = open_event(tid, cpu);
	struct ap_host_diary *f = fd < 0 ? NULL : calloc(1, sizeof(*f));

	if (!f) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	*f = (struct ap_host_diary){
		.cpu = cpu, .fd = fd, .next = host->diaries, .prev = &host->diaries
	};
	for (u32 i = 0; i < AP_WORLD_N; i++)
		f->counters[i] = -1;
	if (f->next)
		f->next->prev = &f->next;
	host->diaries = f;
	(void)map(f);
	return f;
}

static void end(struct ap_host_diary *f)
{
	*f->prev = f->next;
	if (f->next)
		f->next->prev = f->prev;
}

static void free_diary(struct ap_host_diary *f)
{
	if (f->page)
		munmap(f->page, AP_PAGE_SIZE + RING_BYTES);
	for (u32 i = 0; i < AP_WORLD_N; i++)
		if (f->counters[i] >= 0)
			close(f->counters[i]);
	close(f->fd);
	free(f);
}

static void begin(struct ap_host *host, struct ap_host_task *t)
{
	t->diary = new_diary(host, t->tid, -1);
	/* behind its opening: its number may have been another's */
	if (t->diary && !ap_host_task_is_proven(host, t)) {
		end(t->diary);
		free_diary(t->diary);
		t->diary = NULL;
		return;
	}
	t->is_fed = true; /* or will never be */
	if (!t->diary)
		return;
	t->diary->task = t;
	t->diary->is_known = t == host->asker;
}

/* Those of CPUs follow the events of CPUs. */
static void set_cpus(struct ap_host *host)
{
	u32 n = ap_host_count_cpus();

	for (u32 cpu = 0; cpu < n; cpu++) {
		bool wants = ap_core_cpu_wants_switches(host->core, (s32)cpu);
		struct ap_host_diary *f = host->cpu_diaries ? host->cpu_diaries[cpu] : NULL;

		if (wants == (f != NULL) || (wants && host->has_no_cpu_diaries))
			continue;
		if (!host->cpu_diaries)
			host->cpu_diaries = calloc(n, sizeof(*host->cpu_diaries));
		if (!host->cpu_diaries)
			return;
		if (wants) {
			host->cpu_diaries[cpu] = new_diary(host, -1, (s32)cpu);
			host->has_no_cpu_diaries = !host->cpu_diaries[cpu];
			continue;
		}
		host->cpu_diaries[cpu] = NULL;
		end(f);
		free_diary(f);
	}
}

void ap_host_diaries_fini(struct ap_host *host)
{
	u32 n = host->cpu_diaries ? ap_host_count_cpus() : 0;

	for (u32 cpu = 0; cpu < n; cpu++)
		if (host->cpu_diaries[cpu])
			free_diary(host->cpu_diaries[cpu]);
	free(host->cpu_diaries);
	host->cpu_diaries = NULL;
	host->diaries = NULL;
}

static void begin_counter(struct ap_host_diary *f, u32 which)
{
	int fd = open_counter(f->task->tid, which);

	if (fd >= 0 && (ioctl(fd, PERF_EVENT_IOC_ID, &f->ids[which]) ||
			ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, f->fd))) {
		close(fd);
		fd = -1;
	}
	f->counters[which] = fd;
}

/* What its samplers are told of: bits of enum ap_world_counter. */
static u32 wanted(const struct ap_host *host, const struct ap_host_task *t)
{
	u32 counters = 0;

	for (const struct ap_host_sampler *o = t->samplers; o; o = o->next) {
		const struct ap_sampler *s = ap_host_sampler_at(host, o);

		if (s->source == AP_SAMPLE_WORLD && s->which < AP_WORLD_N)
			counters |= 1U << s->which;
	}
	return counters;
}

void ap_host_diary_set(struct ap_host *host, struct ap_host_task *t, bool is_switched)
{
	u32 counters = wanted(host, t);

	if (host->diaries_held) {
		t->is_diary_held = host->has_held_diaries = true;
		return;
	}
	set_cpus(host);
	if (!counters && !is_switched) {
		ap_host_diary_end(host, t);
		return;
	}
	if (t->tid <= 0 || t->is_ending)
		return;
	if (!t->is_fed)
		begin(host, t);
	for (u32 i = 0; t->diary && i < AP_WORLD_N; i++)
		if (counters & 1U << i && t->diary->counters[i] < 0)
			begin_counter(t->diary, i);
}

void ap_host_diary_end(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_host_diary *f = t->diary;

	t->is_fed = false;
	if (!f)
		return;
	if (!host->diaries_held)
		ap_host_diaries_drain(host);
	if (t->diary != f)
		return;
	/* nobody else finds it while it is read for the last time */
	end(f);
	t->diary = NULL;
	ap_host_diaries_hold(host);
	drain(host, f);
	ap_host_diaries_let_go(host);
	free_diary(f);
}

void ap_host_diaries_each_fd(struct ap_host *host, void (*keep)(void *arg, int fd), void *arg)
{
	for (struct ap_host_diary *f = host->diaries; f; f = f->next) {
		f->page = NULL;
		keep(arg, f->fd);
		for (u32 i = 0; i < AP_WORLD_N; i++)
			if (f->counters[i] >= 0)
				keep(arg, f->counters[i]);
	}
}
