/* SPDX-License-Identifier: MIT */
/*
 * How often tasks passed tracepoints: what the engine counts in their slots, carried over execs,
 * and what only their end tells, since the kernel passes it in their place: sched_process_exit, the
 * signal that ends a thread, and sys_exit of the call that it was in.  docs/design/tracepoints.md.
 *
 * A task remembers something of those tracepoints only that somebody has asked for.  CPUs have what
 * their tasks have counted there, all of it or none: so all tasks are known while events of CPUs
 * want that (ap_hw_event.wants_tasks), and an ending one is looked at for the last time.
 */
#include <errno.h>
#include <stdlib.h>

#include "linux/host/host_internal.h"

#define NR_EXECVE     59
#define NR_EXIT	      60
#define NR_EXIT_GROUP 231
#define NR_EXECVEAT   322

/* Of one task and one tracepoint. */
struct ap_host_point {
	u64 carried; /* by former images */
	u64 parting; /* by the slot, when an exec was asked for */
	u64 seen;    /* by all of them; never backwards */
	u64 given;   /* to CPUs */
};

/* Which tracepoints tasks have points of. */
struct ap_host_trace {
	u32 n;
	u16 place[AP_TRACE_N];	  /* of a tracepoint's index: in ap_host_task.points, + 1 */
	u16 index[AP_TRACE_N];	  /* and back */
	u64 *of_cpus[AP_TRACE_N]; /* by place: of each CPU; NULL: nobody asked */
};

static bool find(struct ap_host *host, u32 index, u32 *place)
{
	struct ap_host_trace *tr = host->trace;

	if (!tr) {
		tr = calloc(1, sizeof(*tr));
		if (!tr)
			return false;
		host->trace = tr;
	}
	if (!tr->place[index]) {
		tr->index[tr->n] = (u16)index;
		tr->place[index] = (u16)++tr->n;
	}
	*place = tr->place[index] - 1U;
	return true;
}

static struct ap_host_point *point_of(struct ap_host *host, struct ap_host_task *t, u32 index)
{
	struct ap_host_point *more;
	u32 place;

	if (!find(host, index, &place))
		return NULL;
	if (place < t->npoints)
		return &t->points[place];
	more = realloc(t->points, (place + 1) * sizeof(*more));
	if (!more)
		return NULL;
	for (u32 i = t->npoints; i <= place; i++)
		more[i] = (struct ap_host_point){ 0 };
	t->points = more;
	t->npoints = place + 1;
	return &more[place];
}

/* False: the slot is not the task's any more; looked at before and after. */
static bool read_slot(const struct ap_host_task *t, u32 index, u64 *v)
{
	const u64 *words;

	if (!ap_host_task_is_in_slot(t))
		return false;
	words = (const u64 *)((const char *)ap_host_slot(t->seg, t->slot) + AP_SLOT_TRACE_OFF);
	*v = __atomic_load_n(&words[index], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return ap_host_task_is_in_slot(t);
}

static u64 counted(const struct ap_host_task *t, struct ap_host_point *p, u32 index)
{
	u64 v;

	if (!read_slot(t, index, &v)) {
		if (!t->has_parting)
			return p->seen;
		v = p->parting;
	}
	v += p->carried;
	/* a call that turns out not to have been made is taken back */
	if ((s64)(v - p->seen) > 0)
		p->seen = v;
	return p->seen;
}

/* What the kernel passed for it while it ended. */
static u64 at_end(const struct ap_host_task *t, u32 index)
{
	u64 n = 0;

	if (t->ending == AP_HOST_LIVES || t->ending == AP_HOST_LEFT)
		return 0;
	if (index == ap_trace_index(AP_TRACE_SCHED_EXIT))
		return 1;
	if (t->ending != AP_HOST_KILLED)
		return 0;
	if (index == ap_trace_index(AP_TRACE_SIGNAL_DELIVER))
		return 1;
	if (!t->last_call)
		return 0;
	n += index == ap_trace_index(AP_TRACE_RAW_SYS_EXIT);
	n += t->last_call <= AP_TRACE_NR_MAX &&
	     index == ap_trace_index(ap_trace_sys_exit((u32)t->last_call - 1));
	return n;
}

static u64 call_of(const struct ap_host_task *t)
{
	if (!ap_host_task_is_in_slot(t))
		return 0;
	return __atomic_load_n(&ap_host_slot(t->seg, t->slot)->call, __ATOMIC_RELAXED);
}

/* Without a word it was killed, unless the call that it was in says better. */
void ap_host_trace_end(struct ap_host *host, struct ap_host_task *t)
{
	u64 call = call_of(t);

	(void)host;
	if (t->ending != AP_HOST_LIVES)
		return;
	t->last_call = call;
	if (call == NR_EXIT + 1 || call == NR_EXIT_GROUP + 1)
		t->ending = AP_HOST_EXITED;
	else if (!t->seg || call == NR_EXECVE + 1 || call == NR_EXECVEAT + 1 ||
		 t->seg->head->state == AP_SEG_NATIVE)
		t->ending = AP_HOST_LEFT;
	else
		t->ending = AP_HOST_KILLED;
}

/* --- CPUs */

static void give(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_host_trace *tr = host->trace;
	u64 v;

	for (u32 i = 0; i < tr->n && i < t->npoints; i++) {
		if (!tr->of_cpus[i])
			continue;
		v = counted(t, &t->points[i], tr->index[i]) + at_end(t, tr->index[i]);
		if (v != t->points[i].given)
			tr->of_cpus[i][ap_host_cpu_of_words(host, t)] += v - t->points[i].given;
		t->points[i].given = v;
	}
}

static void look_for_end(struct ap_host *host, struct ap_host_task *t)
{
	if (t->ending == AP_HOST_LIVES && t->points_at != host->epoch &&
	    ap_host_task_is_gone(host, t))
		ap_host_trace_end(host, t);
	t->points_at = host->epoch;
}

static bool any_of_cpus(const struct ap_host *host)
{
	const struct ap_host_trace *tr = host->trace;

	for (u32 i = 0; tr && i < tr->n; i++)
		if (tr->of_cpus[i])
			return true;
	return false;
}

void ap_host_trace_to_cpus(struct ap_host *host, struct ap_host_task *t)
{
	if (!any_of_cpus(host))
		return;
	if (t) {
		give(host, t);
		return;
	}
	for (t = host->tasks; t; t = t->next) {
		look_for_end(host, t);
		give(host, t);
	}
}

/* From here on the task's passes are CPUs'; all that it ever made where it was born just now. */
static int begin_to_give(struct ap_host *host, struct ap_host_task *t, u32 index, bool is_born)
{
	struct ap_host_point *p = point_of(host, t, index);

	if (!p)
		return -ENOMEM;
	p->given = is_born ? 0 : counted(t, p, index) + at_end(t, index);
	return 0;
}

int ap_host_trace_task(struct ap_host *host, struct ap_host_task *t, bool is_born)
{
	const struct ap_host_trace *tr = host->trace;
	int ret = 0;

	for (u32 i = 0; tr && i < tr->n && !ret; i++)
		if (tr->of_cpus[i])
			ret = begin_to_give(host, t, tr->index[i], is_born);
	return ret;
}

static int count_of_cpu(struct ap_host *host, s32 cpu, u32 index, u64 *v)
{
	u32 place, n = ap_host_count_cpus();
	int ret = 0;

	if (!host->cpus || cpu < 0 || (u32)cpu >= n)
		return -ENOENT;
	if (!find(host, index, &place))
		return -ENOMEM;
	if (!host->trace->of_cpus[place]) {
		for (struct ap_host_task *t = host->tasks; t && !ret; t = t->next)
			ret = begin_to_give(host, t, index, false);
		host->trace->of_cpus[place] = ret ? NULL : calloc(n, sizeof(u64));
		if (!host->trace->of_cpus[place])
			return -ENOMEM;
	}
	__atomic_store_n(&host->ses->head->trace_on, 1, __ATOMIC_RELAXED);
	ap_host_cpus_look(host);
	*v = host->trace->of_cpus[place][cpu];
	return 0;
}

void ap_host_trace_fini(struct ap_host *host)
{
	for (u32 i = 0; host->trace && i < host->trace->n; i++)
		free(host->trace->of_cpus[i]);
	free(host->trace);
}

/* --- what the core asks */

int ap_host_trace_count(void *world, void *host_task, s32 cpu, u32 id, u64 *v)
{
	struct ap_host *host = world;
	struct ap_host_task *t = host_task;
	u32 index = ap_trace_index(id);
	struct ap_host_point *p;

	if (index == AP_TRACE_N)
		return -ENOENT;
	if (!t)
		return count_of_cpu(host, cpu, index, v);
	p = point_of(host, t, index);
	if (!p)
		return -ENOMEM;
	__atomic_store_n(&host->ses->head->trace_on, 1, __ATOMIC_RELAXED);
	look_for_end(host, t);
	*v = counted(t, p, index) + at_end(t, index);
	return 0;
}

void ap_host_trace_parting(struct ap_host *host, struct ap_host_task *t)
{
	for (u32 i = 0; i < t->npoints; i++)
		if (!read_slot(t, host->trace->index[i], &t->points[i].parting))
			t->points[i].parting = 0;
	t->last_call = call_of(t);
}

void ap_host_trace_leave(struct ap_host *host, struct ap_host_task *t)
{
	if (!t->has_parting)
		t->last_call = call_of(t);
	for (u32 i = 0; i < t->npoints; i++)
		t->points[i].carried = counted(t, &t->points[i], host->trace->index[i]);
}

static void add(const struct ap_host *host, struct ap_host_task *t, u32 id)
{
	u32 place = host->trace->place[ap_trace_index(id)];

	if (place && place <= t->npoints)
		t->points[place - 1].carried++;
}

void ap_host_trace_execed(struct ap_host *host, struct ap_host_task *t)
{
	u64 call = t->last_call, passed;

	t->last_call = 0;
	t->ending = AP_HOST_LIVES;
	if (!t->npoints)
		return;
	add(host, t, AP_TRACE_SCHED_EXEC);
	add(host, t, AP_TRACE_RAW_SYS_EXIT);
	if (call != NR_EXECVE + 1 && call != NR_EXECVEAT + 1)
		return;
	add(host, t, ap_trace_sys_exit((u32)call - 1));
	passed = ap_host_trace_passed(host->ses->head, (u32)t->tid, call - 1, 0);
	for (; passed; passed &= passed - 1)
		add(host, t, AP_TRACE_FILTERED + (u32)__builtin_ctzll(passed));
}
