/* SPDX-License-Identifier: MIT */
/*
 * Tasks that the core knows: where they count, and what becomes of that over fork, exec and end.
 *
 * A task's raw counters are what its slot has, after what its former images had.  They are read at
 * most once per moment (ap_host.epoch), so that all members of a group, and all that one request
 * does, see the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/slot_sum.h"
#include "inject/proc.h"
#include "linux/host/host_internal.h"

/* --- segments */

struct ap_host_seg *ap_host_seg_known(const struct ap_host *host, u32 seg)
{
	struct ap_host_seg *s = host->segs[seg % AP_HOST_BUCKETS];

	while (s && s->index != seg)
		s = s->next;
	return s;
}

struct ap_host_seg *ap_host_seg(struct ap_host *host, u32 seg)
{
	struct ap_host_seg **bucket = &host->segs[seg % AP_HOST_BUCKETS], *s;
	const struct ap_session_file *f;

	s = ap_host_seg_known(host, seg);
	if (s)
		return s;
	/* one that nobody has gets no memory by being named */
	f = ap_session_party(host->ses, seg);
	if (!f || !ap_session_is_taken(host->ses, seg))
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->index = seg;
	s->head = mmap(NULL, AP_SEG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, f->fd,
		       (off_t)AP_SEG_OFF(seg));
	if (s->head == MAP_FAILED) {
		free(s);
		return NULL;
	}
	s->next = *bucket;
	*bucket = s;
	return s;
}

static void drop_seg(struct ap_host *host, struct ap_host_seg *s)
{
	struct ap_host_seg **p = &host->segs[s->index % AP_HOST_BUCKETS];

	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
	munmap(s->head, AP_SEG_SIZE);
	free(s);
}

struct ap_slot *ap_host_slot(const struct ap_host_seg *seg, u32 slot)
{
	return (struct ap_slot *)((char *)seg->head + AP_SLOT_OFF(slot));
}

void ap_host_sum_slot(const struct ap_host_seg *seg, u32 slot, u64 sum[AP_RAW_N])
{
	const struct ap_slot *s = ap_host_slot(seg, slot);
	const struct ap_slot_view view = {
		.slot = s,
		.counts = (const u64 *)((const char *)s + AP_SLOT_COUNTS_OFF),
		.shapes = (const u64 *)((const char *)seg->head + AP_SHAPES_OFF),
		.nshapes = __atomic_load_n(&seg->head->nshapes, __ATOMIC_ACQUIRE),
		.carry = __atomic_load_n(&seg->head->carry, __ATOMIC_ACQUIRE),
	};

	ap_slot_sum(&view, sum);
}

/* --- counts */

bool ap_host_task_is_in_slot(const struct ap_host_task *t)
{
	const struct ap_slot *s;

	if (!t->seg)
		return false;
	s = ap_host_slot(t->seg, t->slot);
	return !t->gen || (s->gen == t->gen && s->state != AP_SLOT_FREE);
}

/* As of before an exec, whose image has another slot. */
static void note_unseen(struct ap_host_task *t)
{
	if (ap_host_task_is_in_slot(t) && !t->has_parting)
		t->is_unseen =
			!t->was_seen &&
			__atomic_load_n(&ap_host_slot(t->seg, t->slot)->unseen, __ATOMIC_RELAXED);
}

const u64 *ap_host_task_raw(struct ap_host *host, struct ap_host_task *t)
{
	u64 sum[AP_RAW_N];

	if (t->raw_at == host->epoch)
		return t->raw;
	t->raw_at = host->epoch;
	if (ap_host_task_is_in_slot(t))
		ap_host_sum_slot(t->seg, t->slot, sum);
	note_unseen(t);
	/* looked at again: a parent may have cleared up after its vfork child meanwhile */
	if (!ap_host_task_is_in_slot(t)) {
		if (!t->has_parting)
			return t->raw;
		memcpy(sum, t->parting, sizeof(sum));
	}
	for (u32 k = 0; k < AP_RAW_N; k++) {
		u64 now = t->carried[k] + sum[k];

		/* a running task may be in the middle of a correction: never backwards */
		if ((s64)(now - t->raw[k]) > 0)
			t->raw[k] = now;
	}
	return t->raw;
}

static bool has_models(const u64 raw[AP_RAW_N])
{
	for (u32 k = AP_KIND_CYCLES; k < AP_RAW_N; k++)
		if (raw[k])
			return true;
	return false;
}

bool ap_host_is_unseen(void *world, void *task, u64 kinds)
{
	struct ap_host_task *t = task;

	if (!(kinds & AP_KINDS_MODEL))
		return false;
	(void)ap_host_task_raw(world, t);
	return t->is_unseen;
}

/* --- known tasks */

static u32 tid_bucket(pid_t tid)
{
	return (u32)tid % AP_HOST_BUCKETS;
}

static void forget_tid(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_host_task **p = &host->tids[tid_bucket(t->tid)];

	if (!t->tid)
		return;
	while (*p && *p != t)
		p = &(*p)->tid_next;
	if (*p)
		*p = t->tid_next;
	t->tid = 0;
	ap_host_clock_forget(t);
}

/* It has a name, or will have none. */
static void is_nameless_no_more(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_host_seg *s = t->maker_seg ? ap_host_seg_known(host, t->maker_seg - 1) : NULL;

	if (s)
		s->nameless--;
	t->maker_seg = 0;
}

int ap_host_task_made_in(struct ap_host_task *t, struct ap_host_seg *maker)
{
	if (maker->nameless >= AP_HOST_NAMELESS_MAX)
		return -EAGAIN;
	maker->nameless++;
	t->maker_seg = maker->index + 1;
	return 0;
}

void ap_host_task_name(struct ap_host *host, struct ap_host_task *t, pid_t pid, pid_t tid)
{
	struct ap_host_task **bucket = &host->tids[tid_bucket(tid)];

	is_nameless_no_more(host, t);
	t->pid = pid;
	if (t->tid == tid)
		return;
	forget_tid(host, t);
	t->tid = tid;
	t->tid_next = *bucket;
	*bucket = t;
	ap_host_samplers_named(host, t);
}

struct ap_host_task *ap_host_task_by_tid(struct ap_host *host, pid_t tid)
{
	struct ap_host_task *t = host->tids[tid_bucket(tid)];

	while (t && t->tid != tid)
		t = t->tid_next;
	return t;
}

/* The bit is the supervisor's to set; an engine that cleared its slot is told again. */
void ap_host_task_order(struct ap_host_task *t)
{
	bool is_switched;
	u32 orders;

	if (!ap_host_task_is_in_slot(t))
		return;
	is_switched = ap_task_tells(t->core) & AP_TELL_SWITCH;
	ap_host_diary_set(t->host, t, is_switched);
	orders = ap_task_is_watched(t->core) ? AP_ORDER_WATCHED | ap_host_tell_orders(t) : 0;
	if (ap_task_counts_on_a_cpu(t->core))
		orders |= AP_ORDER_CPU;
	if (ap_task_samples_on_a_cpu(t->core))
		orders |= AP_ORDER_CPU | (t->is_unborn ? AP_ORDER_BORN : 0);
	if (t->is_unborn && (t->is_awaited || t->samplers || is_switched))
		orders |= AP_ORDER_BORN;
	/* calls are shown to who reports them */
	if (orders & ~(u32)(AP_ORDER_WATCHED | AP_ORDER_CPU))
		t->host->ses->head->perf_used = 1;
	__atomic_store_n(&ap_host_slot(t->seg, t->slot)->orders, orders, __ATOMIC_RELEASE);
}

static void place(struct ap_host *host, struct ap_host_task *t, struct ap_host_seg *seg, u32 slot)
{
	ap_host_log_leaves(host, t);
	if (t->seg)
		t->seg->by_slot[t->slot] = NULL;
	t->seg = seg;
	t->slot = slot;
	if (seg)
		seg->by_slot[slot] = t;
}

static struct ap_host_task *new_task(struct ap_host *host, struct ap_host_seg *seg, u32 slot,
				     pid_t pid, pid_t tid, bool is_born)
{
	const struct ap_task_id id = { .pid = pid, .tid = tid };
	struct ap_host_task *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->host = host;
	t->cpu = t->words_cpu = t->words_next = -1;
	t->clock_fd = AP_HOST_FD_NONE;
	t->times_fd = -1;
	for (u32 i = 0; i < AP_WORLD_N; i++)
		t->world_fd[i] = AP_HOST_FD_NONE;
	for (u32 i = 0; i < AP_PROMPT_N; i++)
		t->prompt_fd[i] = AP_HOST_FD_NONE;
	if (ap_core_task_new(host->core, &id, t, &t->core)) {
		free(t);
		return NULL;
	}
	place(host, t, seg, slot);
	if (tid)
		ap_host_task_name(host, t, pid, tid);
	t->next = host->tasks;
	t->prev = &host->tasks;
	if (t->next)
		t->next->prev = &t->next;
	host->tasks = t;
	host->ntasks++;
	if (ap_host_trace_task(host, t, is_born) || ap_host_watch_task(host, t, is_born)) {
		ap_host_task_end_as(host, t, AP_HOST_LEFT);
		return NULL;
	}
	return t;
}

struct ap_host_task *ap_host_task_new(struct ap_host *host, pid_t pid, pid_t tid)
{
	return new_task(host, NULL, 0, pid, tid, true);
}

void ap_host_task_end(struct ap_host *host, struct ap_host_task *t)
{
	ap_host_carry_all(host);
	/* what is written about its end may go where it was writing */
	ap_host_writer_ended(host, t);
	ap_host_births(host, t);
	/* what it has counted is looked at for the last time */
	host->epoch++;
	ap_host_sync(host, t);
	(void)ap_host_task_raw(host, t);
	ap_host_trace_end(t);
	ap_host_trace_to_cpus(host, t);
	ap_host_watch_to_cpus(host, t);
	if (t != host->asker || !host->asker_is_timed)
		ap_host_clock_last(t);
	t->time_at = host->epoch;
	t->is_ending = true;
	ap_host_prompts_end(t);
	ap_host_diary_end(host, t);
	ap_host_world_last(t);
	ap_host_perfctr_exit(t);
	ap_core_exit(host->core, t->core);
	ap_host_watch_forget(host, t);
	ap_host_kick_forget(host, t);
	ap_host_world_fini(t);
	ap_host_clock_fini(t);
	if (ap_host_task_is_in_slot(t) && t->gen)
		ap_host_slot(t->seg, t->slot)->orders = 0;
	place(host, t, NULL, 0);
	is_nameless_no_more(host, t);
	forget_tid(host, t);
	*t->prev = t->next;
	if (t->next)
		t->next->prev = t->prev;
	host->ntasks--;
	if (host->asker == t)
		host->asker = NULL;
	ap_host_unmapping_forget(t);
	free(t->points);
	free(t->more);
	free(t);
}

void ap_host_task_end_as(struct ap_host *host, struct ap_host_task *t, enum ap_host_ending ending)
{
	t->ending = ending;
	ap_host_task_end(host, t);
}

static bool is_alive(const struct ap_host_task *t)
{
	return t->pid > 0 && !ap_has_ended(t->pid);
}

bool ap_host_task_waits(struct ap_host *host, struct ap_host_task *t)
{
	if (!t->has_parting || !is_alive(t))
		return false;
	place(host, t, NULL, 0);
	return true;
}

void ap_host_tasks_tick(struct ap_host *host)
{
	struct ap_host_task *t, *next;

	for (t = host->tasks; t; t = next) {
		next = t->next;
		if (!t->seg && !is_alive(t))
			ap_host_task_end(host, t);
	}
}

/* An image that a helper put in place: its task is known by its former segment. */
static struct ap_host_task *take_over(struct ap_host *host, struct ap_host_seg *seg, u32 slot,
				      pid_t pid, pid_t tid)
{
	struct ap_host_task *t = NULL;

	if (slot || pid != tid)
		return NULL;
	for (struct ap_host_task *o = host->tasks; o; o = o->next) {
		if (o->pid != pid || o->seg == seg)
			continue;
		if (o->has_parting || !t)
			t = o;
	}
	if (!t || (!t->has_parting && (!t->seg || t->seg->index != seg->head->parent_seg)))
		return NULL;
	ap_host_task_exec(host, t, seg, pid);
	return t;
}

struct ap_host_task *ap_host_task_take_over(struct ap_host *host, struct ap_host_seg *seg)
{
	pid_t pid, tid;

	if (ap_host_names(host, seg, 0, &pid, &tid))
		return NULL;
	return take_over(host, seg, 0, pid, tid);
}

/* A thread counts in one place: that of many is a claim of one that gets no second task for it. */
static bool is_elsewhere(struct ap_host *host, pid_t tid)
{
	const struct ap_host_task *t = ap_host_task_by_tid(host, tid);

	return t && t->seg && t->gen && !t->has_parting && ap_host_task_is_in_slot(t);
}

struct ap_host_task *ap_host_task_at(struct ap_host *host, struct ap_host_seg *seg, u32 slot)
{
	struct ap_slot *s = ap_host_slot(seg, slot);
	struct ap_host_task *t = seg->by_slot[slot];
	pid_t pid, tid;

	if (t && !ap_host_task_is_in_slot(t)) {
		ap_host_task_end(host, t);
		t = NULL;
	}
	if (t && t->gen && t->tid)
		return t;
	/* a thread's place is known before its clone, its name only when it runs */
	if (s->state != AP_SLOT_LIVE || ap_host_names(host, seg, slot, &pid, &tid))
		return t && t->gen ? t : NULL;
	if (t)
		ap_host_task_name(host, t, pid, tid);
	if (t && t->gen)
		return t;
	if (!t)
		t = take_over(host, seg, slot, pid, tid);
	if (!t && !is_elsewhere(host, tid))
		t = new_task(host, seg, slot, pid, tid, false);
	if (!t)
		return NULL;
	t->gen = s->gen;
	seg->known_gen[slot] = s->gen;
	/* what events of CPUs have given it before it had a place */
	ap_host_samplers_placed(host, t);
	ap_host_task_found_on_cpu(host, t);
	/* what it brought along can be read in place from now on */
	if (ap_task_is_watched(t->core))
		ap_host_publish_task(host, t->core);
	return t;
}

static void know_seg(struct ap_host *host, u32 index)
{
	struct ap_host_seg *seg = ap_host_seg(host, index);
	u32 n = seg ? __atomic_load_n(&seg->head->nslots, __ATOMIC_ACQUIRE) : 0;
	struct ap_host_task *t;

	if (!seg || seg->head->state != AP_SEG_LIVE)
		return;
	for (u32 i = 0; i < n && i < AP_SLOT_MAX; i++) {
		if (ap_host_slot(seg, i)->state != AP_SLOT_LIVE)
			continue;
		t = ap_host_task_at(host, seg, i);
		if (t)
			ap_host_task_order(t);
	}
}

/* Their children are told of by themselves. */
void ap_host_know_all(struct ap_host *host)
{
	struct ap_supervisor *sv = host->sv;

	if (!ap_core_wants_tasks(host->core))
		return;
	ap_tracks_learn(sv);
	for (u32 i = 0; i < sv->ntracks; i++)
		if (!sv->tracks[i]->is_gone)
			know_seg(host, sv->tracks[i]->seg);
}

struct ap_host_task *ap_host_task_child(struct ap_host *host, struct ap_host_seg *seg, u32 slot)
{
	struct ap_host_task *old = seg->by_slot[slot], *t;
	struct ap_slot *s = ap_host_slot(seg, slot);

	if (old)
		ap_host_task_end(host, old);
	t = new_task(host, seg, slot, 0, 0, true);
	/* a thread's slot is in order before its clone, a process has its own to make */
	if (t && s->state == AP_SLOT_LIVE)
		t->gen = seg->known_gen[slot] = s->gen;
	return t;
}

/* --- exec and end */

void ap_host_exec_asked(struct ap_host *host, u32 seg, u32 slot)
{
	struct ap_host_seg *s = ap_host_seg(host, seg);
	struct ap_host_task *t = s ? s->by_slot[slot] : NULL;

	pid_t pid, tid;

	if (!t || !ap_host_task_is_in_slot(t))
		return;
	if (!t->tid && !ap_host_names(host, s, slot, &pid, &tid))
		ap_host_task_name(host, t, pid, tid);
	host->epoch++;
	ap_host_sync(host, t);
	ap_host_let_go(host);
	ap_host_sum_slot(s, slot, t->parting);
	ap_host_samplers_parting(host, t);
	ap_host_world_parting(t);
	ap_host_trace_parting(host, t);
	ap_host_watch_parting(host, t);
	note_unseen(t);
	t->has_parting = true;
}

void ap_host_exec_failed(struct ap_host *host, u32 seg, u32 slot)
{
	struct ap_host_seg *s = ap_host_seg(host, seg);

	if (s && s->by_slot[slot])
		s->by_slot[slot]->has_parting = false;
}

/* Threads of an image that is gone. */
static void end_others(struct ap_host *host, const struct ap_host_task *t, pid_t pid)
{
	struct ap_host_task *o, *next;

	for (o = host->tasks; o; o = next) {
		next = o->next;
		if (o != t && o->pid == pid)
			ap_host_task_end(host, o);
	}
}

/* What it has counted stays with it; from now on it counts in this slot, which has counted nothing. */
static void count_from(struct ap_host *host, struct ap_host_task *t, struct ap_host_seg *seg,
		       u32 slot)
{
	host->epoch++;
	ap_host_sync(host, t);
	ap_host_settle_all(host);
	(void)ap_host_task_raw(host, t);
	(void)ap_host_task_time(host, t);
	memcpy(t->carried, t->raw, sizeof(t->carried));
	t->was_seen |= !t->is_unseen && has_models(t->raw);
	ap_host_samplers_leave(host, t);
	ap_host_world_leave(t);
	ap_host_writer_ended(host, t);
	ap_host_trace_leave(host, t);
	ap_host_watch_leave(host, t);
	t->has_parting = false;
	place(host, t, seg, slot);
	ap_host_watch_tell(host, t);
	t->gen = 0;
}

void ap_host_task_exec(struct ap_host *host, struct ap_host_task *t, struct ap_host_seg *seg,
		       pid_t pid)
{
	end_others(host, t, pid);
	count_from(host, t, seg, 0);
	ap_host_task_name(host, t, pid, pid);
	ap_host_samplers_placed(host, t);
	ap_host_task_found_on_cpu(host, t);
	ap_core_exec(host->core, t->core);
	/* it may have put events on, which share counters from now on */
	host->is_changed = true;
	ap_host_image(host, t);
	ap_host_trace_execed(host, t);
	ap_host_task_order(t);
	ap_host_publish_task(host, t->core);
	ap_host_perfctr_exec(t);
	ap_host_files_ended(host);
}

static void move(struct ap_host *host, struct ap_host_seg *old, u32 slot, struct ap_host_seg *seg)
{
	struct ap_host_task *t = old->by_slot[slot];

	ap_host_exec_asked(host, old->index, slot);
	if (!ap_host_task_is_in_slot(t)) {
		ap_host_task_end(host, t);
		return;
	}
	count_from(host, t, seg, slot);
	/* what the core, and others by its records, know of the task stays as it is */
	ap_host_samplers_placed(host, t);
	ap_host_task_found_on_cpu(host, t);
	host->is_changed = true;
	ap_host_task_order(t);
	ap_host_publish_task(host, t->core);
	ap_host_let_go(host);
}

void ap_host_moved(struct ap_host *host, u32 from, u32 to)
{
	struct ap_host_seg *old = ap_host_seg(host, from), *seg = ap_host_seg(host, to);

	for (u32 i = 0; old && seg && i < AP_SLOT_MAX; i++)
		if (old->by_slot[i])
			move(host, old, i, seg);
}

void ap_host_execed(struct ap_host *host, const struct ap_traced *from, pid_t pid, u32 seg)
{
	struct ap_host_seg *old = ap_host_seg(host, from->seg), *s = NULL;
	struct ap_host_task *t = ap_host_task_by_tid(host, from->tid);

	if (!t && old && old->by_slot[from->slot] && old->by_slot[from->slot]->has_parting)
		t = old->by_slot[from->slot];
	if (seg != AP_HOST_NATIVE)
		s = ap_host_seg(host, seg);
	if (!t)
		return;
	if (s) {
		ap_host_task_exec(host, t, s, pid);
	} else {
		end_others(host, t, pid);
		ap_host_task_end_as(host, t, AP_HOST_LEFT);
	}
	ap_host_let_go(host);
}

void ap_host_seg_ended(struct ap_host *host, u32 seg)
{
	struct ap_host_seg *s;

	ap_host_cpu_seg_ended(host, seg);
	s = ap_host_seg_known(host, seg);
	if (!s)
		return;
	/* all of them are dead, and what one leaves may concern the others' records */
	for (u32 i = 0; i < AP_SLOT_MAX; i++)
		if (s->by_slot[i])
			ap_host_writer_ended(host, s->by_slot[i]);
	for (u32 i = 0; i < AP_SLOT_MAX; i++)
		if (s->by_slot[i])
			ap_host_task_end(host, s->by_slot[i]);
	for (struct ap_host_file *f = host->all_files; f; f = f->after)
		ap_host_munmap(host, f, seg);
	ap_host_let_go(host);
	drop_seg(host, s);
}
