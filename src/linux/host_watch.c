/* SPDX-License-Identifier: MIT */
/*
 * Breakpoints of tasks: the session's list of watched addresses, one entry for all that watch the
 * same, and what each watch has counted.  engine/watch.c and data.c count, per thread.
 */
#include <errno.h>
#include <stdlib.h>

#include "linux/host_internal.h"

struct ap_host_watch {
	struct ap_host_task *task;
	u32 place;   /* in ap_session.watch */
	u64 start;   /* of the slot's count */
	u64 former;  /* counted in former images */
	u64 parting; /* of the slot, when an exec was asked for */
	u64 seen;    /* never backwards */
	struct ap_host_watch *next, **link;
};

static bool is_data(u32 how)
{
	return AP_WATCH_TYPE(how) != AP_HW_BREAKPOINT_X;
}

/* Of code the length says nothing. */
static u32 how_of(const struct ap_world_bp *bp)
{
	return AP_WATCH_HOW(bp->type, bp->type == AP_HW_BREAKPOINT_X ? 1 : bp->len);
}

/* The watch's place, or one for it; AP_WATCH_MAX where there is none. */
static u32 find_place(const struct ap_host *host, const struct ap_world_bp *bp)
{
	const struct ap_session *s = host->ses->head;
	u32 place = AP_WATCH_MAX;

	for (u32 k = AP_WATCH_MAX; k-- > 0;) {
		if (!host->watch_users[k])
			place = k;
		else if (s->watch[k] == bp->addr && s->watch_how[k] == how_of(bp))
			return k;
	}
	return place;
}

int ap_host_bp_can(void *world, void *host_task, s32 cpu, const struct ap_world_bp *bp)
{
	const struct ap_host *host = world;
	const struct ap_host_task *t = host_task;
	u32 place;

	(void)cpu;
	if (!t)
		return -EOPNOTSUPP;
	place = find_place(host, bp);
	if (place == AP_WATCH_MAX)
		return -ENOSPC;
	/* a process that makes no call of ours takes no new code either */
	if (t->seg && t->seg->head->mute && !host->watch_users[place])
		return -EPERM;
	return 0;
}

/* Code that is there already minds each data watch, once it minds any. */
static void announce(struct ap_host *host, u32 how)
{
	struct ap_session *s = host->ses->head;

	if (is_data(how))
		__atomic_fetch_add(&s->data_gen, 1, __ATOMIC_RELEASE);
	if (!is_data(how) || !host->has_data_watch)
		__atomic_fetch_add(&s->watch_gen, 1, __ATOMIC_RELEASE);
	host->has_data_watch |= is_data(how);
	host->has_new_kinds = true;
}

bool ap_host_watch_is_due(const struct ap_host *host, u32 index, const struct ap_seg *head)
{
	const struct ap_session *s = host->ses->head;
	const struct ap_host_watch *w = host->watches;

	if (head->watch_ack == s->watch_gen && head->data_ack == s->data_gen)
		return false;
	while (w && !(w->task->seg && w->task->seg->index == index))
		w = w->next;
	return w;
}

static void take_place(struct ap_host *host, const struct ap_world_bp *bp, u32 place)
{
	struct ap_session *s = host->ses->head;

	if (host->watch_users[place]++)
		return;
	s->watch[place] = bp->addr;
	s->watch_how[place] = how_of(bp);
	__atomic_fetch_or(&s->watch_used, 1U << place, __ATOMIC_RELEASE);
	announce(host, s->watch_how[place]);
}

static void give_place(struct ap_host *host, u32 place)
{
	struct ap_session *s = host->ses->head;

	if (--host->watch_users[place])
		return;
	__atomic_fetch_and(&s->watch_used, ~(1U << place), __ATOMIC_RELEASE);
	if (is_data(s->watch_how[place]))
		__atomic_fetch_add(&s->data_gen, 1, __ATOMIC_RELEASE);
}

/* False: the slot is not the task's any more; looked at before and after. */
static bool read_slot(const struct ap_host_watch *w, u64 *v)
{
	const struct ap_host_task *t = w->task;

	if (!ap_host_task_is_in_slot(t))
		return false;
	*v = __atomic_load_n(&ap_host_slot(t->seg, t->slot)->watch[w->place], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return ap_host_task_is_in_slot(t);
}

static u64 counted(struct ap_host_watch *w)
{
	u64 v;

	if (!read_slot(w, &v)) {
		if (!w->task->has_parting)
			return w->seen;
		v = w->parting;
	}
	v += w->former - w->start;
	/* what a signal came before is taken back */
	if ((s64)(v - w->seen) > 0)
		w->seen = v;
	return w->seen;
}

int ap_host_bp_arm(void *world, void *host_task, s32 cpu, const struct ap_world_bp *bp, u64 *watch)
{
	struct ap_host *host = world;
	struct ap_host_watch *w;
	int ret = ap_host_bp_can(world, host_task, cpu, bp);

	if (ret)
		return ret;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->place = find_place(host, bp);
	take_place(host, bp, w->place);
	w->task = host_task;
	if (!read_slot(w, &w->start))
		w->start = 0;
	w->next = host->watches;
	w->link = &host->watches;
	if (w->next)
		w->next->link = &w->next;
	host->watches = w;
	*watch = (uintptr_t)w;
	return 0;
}

u64 ap_host_bp_count(void *world, u64 watch)
{
	(void)world;
	return counted((struct ap_host_watch *)(uintptr_t)watch);
}

u32 ap_host_bp_place(void *world, u64 watch)
{
	(void)world;
	return ((const struct ap_host_watch *)(uintptr_t)watch)->place;
}

void ap_host_bp_disarm(void *world, u64 watch)
{
	struct ap_host_watch *w = (struct ap_host_watch *)(uintptr_t)watch;

	give_place(world, w->place);
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
	free(w);
}

/* Code need not mind data any more: it is made again, without. */
void ap_host_bp_no_data(void *world)
{
	struct ap_host *host = world;

	if (host->has_data_watch)
		__atomic_fetch_add(&host->ses->head->watch_gen, 1, __ATOMIC_RELEASE);
	host->has_data_watch = false;
}

void ap_host_watch_parting(struct ap_host *host, const struct ap_host_task *t)
{
	for (struct ap_host_watch *w = host->watches; w; w = w->next)
		if (w->task == t && !read_slot(w, &w->parting))
			w->parting = w->start;
}

void ap_host_watch_leave(struct ap_host *host, const struct ap_host_task *t)
{
	for (struct ap_host_watch *w = host->watches; w; w = w->next) {
		if (w->task != t)
			continue;
		w->former = counted(w);
		w->start = 0;
	}
}
