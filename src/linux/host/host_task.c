/* SPDX-License-Identifier: MIT */
/*
 * Tasks that the core knows: how they are made, named, placed in slots, and freed.  What else follows from that is in
 * arrays of parts, which host_life.c has.
 */
#include <errno.h>
#include <stdlib.h>

#include "inject/proc.h"
#include "linux/host/host_internal.h"

void ap_host_task_do(struct ap_host *host, struct ap_host_task *t, ap_host_part *const *parts)
{
	for (; *parts; parts++)
		(*parts)(host, t);
}

static void forget_tid(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_host_task **p = ap_host_tids(host, t->tid);

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
	struct ap_host_task **bucket = ap_host_tids(host, tid);

	is_nameless_no_more(host, t);
	t->pid = pid;
	if (t->tid == tid)
		return;
	forget_tid(host, t);
	t->tid = tid;
	t->tid_next = *bucket;
	*bucket = t;
	ap_host_task_do(host, t, host->life->named);
}

void ap_host_task_place(struct ap_host_task *t, struct ap_host_seg *seg, u32 slot)
{
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
	ap_host_task_place(t, seg, slot);
	if (tid)
		ap_host_task_name(host, t, pid, tid);
	t->next = host->tasks;
	t->prev = &host->tasks;
	if (t->next)
		t->next->prev = &t->next;
	host->tasks = t;
	host->ntasks++;
	if (host->life->begin(host, t, is_born)) {
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
	ap_host_task_do(host, t, host->life->ended);
	ap_host_task_place(t, NULL, 0);
	is_nameless_no_more(host, t);
	forget_tid(host, t);
	*t->prev = t->next;
	if (t->next)
		t->next->prev = t->prev;
	host->ntasks--;
	if (host->asker == t)
		host->asker = NULL;
	free(t->points);
	free(t->more);
	free(t);
}

void ap_host_task_end_as(struct ap_host *host, struct ap_host_task *t, enum ap_host_ending ending)
{
	t->ending = ending;
	ap_host_task_end(host, t);
}

bool ap_host_task_is_alive(const struct ap_host_task *t)
{
	return t->pid > 0 && !ap_has_ended(t->pid);
}

void ap_host_tasks_tick(struct ap_host *host)
{
	struct ap_host_task *t, *next;

	for (t = host->tasks; t; t = next) {
		next = t->next;
		if (!t->seg && !ap_host_task_is_alive(t))
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
	ap_host_task_do(host, t, host->life->placed);
	return t;
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

void ap_host_tasks_end_of(struct ap_host *host, pid_t pid, const struct ap_host_task *but)
{
	struct ap_host_task *o, *next;

	for (o = host->tasks; o; o = next) {
		next = o->next;
		if (o != but && o->pid == pid)
			ap_host_task_end(host, o);
	}
}

void ap_host_task_count_from(struct ap_host *host, struct ap_host_task *t, struct ap_host_seg *seg,
			     u32 slot)
{
	ap_host_task_do(host, t, host->life->leaving);
	t->has_parting = false; /* the parts have looked at it */
	ap_host_task_place(t, seg, slot);
	t->gen = 0;
}

void ap_host_task_exec(struct ap_host *host, struct ap_host_task *t, struct ap_host_seg *seg,
		       pid_t pid)
{
	/* threads of the image that is gone */
	ap_host_tasks_end_of(host, pid, t);
	ap_host_task_count_from(host, t, seg, 0);
	ap_host_task_name(host, t, pid, pid);
	ap_host_task_do(host, t, host->life->execed);
}

/*
 * Whoever has waited for a task may read before we hear of its end.  A thread that becomes another
 * image loses its name meanwhile; one that has not run yet has none.
 */
bool ap_host_task_is_gone(struct ap_host *host, struct ap_host_task *t)
{
	pid_t pid, tid;

	if (t->has_parting)
		return false;
	if (!t->tid) {
		if (!ap_host_task_is_in_slot(t) || !ap_host_slot(t->seg, t->slot)->tid)
			return false;
		if (ap_host_names(host, t->seg, t->slot, &pid, &tid))
			return true;
		ap_host_task_name(host, t, pid, tid);
	}
	return ap_has_ended(t->tid);
}
