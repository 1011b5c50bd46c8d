/* SPDX-License-Identifier: MIT */
/*
 * Breakpoints: the session's list of watched addresses, one entry for all that watch the same, and
 * what each watch has counted.  engine/watch/watch.c and data.c count, per thread.
 *
 * A CPU's breakpoint is a watch of every task, whose count goes to the CPU where its task is.  All
 * CPUs' on the same share these.
 */
#include <errno.h>
#include <stdlib.h>

#include "linux/host/host_internal.h"

#define PLACES_EACH 8 /* that a party has at most, and that others leave the session owner's */

static bool is_counter(const struct ap_host *host, u32 place);

/* One place for CPUs. */
struct ap_host_cpu_watch {
	u32 place;
	u32 users;
	u64 *total; /* of each CPU */
	struct ap_host_cpu_watch *next;
};

struct ap_host_watch {
	struct ap_host_task *task;     /* NULL: a CPU's */
	struct ap_host_cpu_watch *all; /* a CPU's, and those of tasks for CPUs */
	s32 cpu;
	u64 given;   /* to CPUs */
	u32 place;   /* in ap_session.watch */
	u32 party;   /* of its task, as it was last known */
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
	u32 how = AP_WATCH_HOW(bp->type, bp->type == AP_HW_BREAKPOINT_X ? 1 : bp->len);

	return how | (bp->ino ? AP_WATCH_FILE : 0) | (bp->is_return ? AP_WATCH_RETURN : 0) |
	       (bp->is_counter ? AP_WATCH_COUNTER : 0) | (bp->is_locked ? AP_WATCH_LOCKED : 0);
}

static bool is_same(const struct ap_session *s, u32 k, const struct ap_world_bp *bp)
{
	return s->watch[k] == bp->addr && s->watch_how[k] == how_of(bp) &&
	       (!bp->ino || (s->watch_dev[k] == bp->dev && s->watch_ino[k] == bp->ino)) &&
	       (!bp->is_counter || s->watch_counter[k] == bp->counter);
}

/*
 * The watch's place, or one for it; AP_WATCH_MAX where there is none.  Places are given in turn: a
 * thread that has found its hit when the watch ends counts in the place a little later, where the
 * next watch must not have begun.
 */
static u32 find_place(const struct ap_host *host, const struct ap_world_bp *bp)
{
	const struct ap_session *s = host->ses->head;
	u32 place = AP_WATCH_MAX;

	for (u32 i = AP_WATCH_MAX; i-- > 0;) {
		u32 k = (host->next_watch + i) % AP_WATCH_MAX;

		if (!host->watch_users[k])
			place = k;
		else if (is_same(s, k, bp))
			return k;
	}
	return place;
}

/*
 * Those that tasks of the party watch; of all parties but the session owner's where party is 0.  As
 * bits.
 */
static u32 places_of(const struct ap_host *host, u32 party)
{
	u32 places = 0, of;

	for (const struct ap_host_watch *w = host->watches; w; w = w->next) {
		of = w->task && w->task->seg ? ap_host_party_of(w->task) : w->party;
		if (!w->all && of && (!party || of == party))
			places |= 1U << w->place;
	}
	return places;
}

/* The session owner's party can have all that others have left, and they leave it some. */
static bool is_beyond_share(const struct ap_host *host, u32 party, u32 place)
{
	u32 own;

	if (!party)
		return false;
	own = places_of(host, party);
	if (own & 1U << place)
		return false;
	return __builtin_popcount(own) >= PLACES_EACH ||
	       __builtin_popcount(places_of(host, 0) | 1U << place) > AP_WATCH_MAX - PLACES_EACH;
}

int ap_host_bp_can(void *world, void *host_task, s32 cpu, const struct ap_world_bp *bp)
{
	const struct ap_host *host = world;
	const struct ap_host_task *t = host_task;
	u32 place;

	if (!t && (!host->cpus || cpu < 0))
		return -EOPNOTSUPP;
	place = find_place(host, bp);
	if (place == AP_WATCH_MAX || is_beyond_share(host, ap_host_party_of(t), place))
		return -ENOSPC;
	/* a process that makes no call of ours takes no new code either */
	if (t && t->seg && t->seg->head->mute && !host->watch_users[place])
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
	const struct ap_host_seg *seg = ap_host_seg_known(host, index);

	if (head->watch_ack == s->watch_gen && head->data_ack == s->data_gen)
		return false;
	/* it was told of other counters, or of none any more */
	if (seg && (s32)(head->watch_ack - seg->told_gen) < 0)
		return true;
	while (w && !(w->task && w->task->seg && w->task->seg->index == index))
		w = w->next;
	return w;
}

/* True: it is new. */
static bool take_place(struct ap_host *host, const struct ap_world_bp *bp, u32 place)
{
	struct ap_session *s = host->ses->head;

	if (host->watch_users[place]++)
		return false;
	host->next_watch = (place + 1) % AP_WATCH_MAX;
	s->watch[place] = bp->addr;
	s->watch_dev[place] = bp->dev;
	s->watch_ino[place] = bp->ino;
	s->watch_counter[place] = bp->counter;
	s->watch_how[place] = how_of(bp);
	__atomic_fetch_or(&s->watch_used, 1U << place, __ATOMIC_RELEASE);
	return true;
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

static struct ap_host_watch *new_watch(struct ap_host *host, struct ap_host_task *t, u32 place)
{
	struct ap_host_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->place = place;
	w->task = t;
	w->party = ap_host_party_of(t);
	if (t && !read_slot(w, &w->start))
		w->start = 0;
	w->next = host->watches;
	w->link = &host->watches;
	if (w->next)
		w->next->link = &w->next;
	host->watches = w;
	return w;
}

static void free_watch(struct ap_host_watch *w)
{
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
	free(w);
}

/* --- CPUs */

void ap_host_watch_to_cpus(struct ap_host *host, struct ap_host_task *t)
{
	u64 v;

	for (struct ap_host_watch *w = host->watches; w; w = w->next) {
		if (!w->task || !w->all || (t && w->task != t))
			continue;
		v = counted(w);
		if (v != w->given)
			w->all->total[ap_host_cpu_of_words(host, w->task)] += v - w->given;
		w->given = v;
	}
}

static int watch_for_cpus(struct ap_host *host, struct ap_host_cpu_watch *all,
			  struct ap_host_task *t, bool is_born)
{
	struct ap_host_watch *w = new_watch(host, t, all->place);

	if (!w)
		return -ENOMEM;
	w->all = all;
	if (is_born)
		w->start = 0;
	return 0;
}

int ap_host_watch_task(struct ap_host *host, struct ap_host_task *t, bool is_born)
{
	int ret = 0;

	for (struct ap_host_cpu_watch *all = host->cpu_watches; all && !ret; all = all->next)
		ret = watch_for_cpus(host, all, t, is_born);
	return ret;
}

/* Of one task, or (NULL) for these CPUs. */
static void forget(struct ap_host *host, const struct ap_host_task *t,
		   const struct ap_host_cpu_watch *all)
{
	struct ap_host_watch *w, *next;

	for (w = host->watches; w; w = next) {
		next = w->next;
		if (w->task && w->all && (t ? w->task == t : w->all == all))
			free_watch(w);
	}
}

void ap_host_watch_forget(struct ap_host *host, struct ap_host_task *t)
{
	/* counters are raised until their event is closed, which may outlive the task */
	for (struct ap_host_watch *w = host->watches; w; w = w->next)
		if (w->task == t && !w->all && is_counter(host, w->place)) {
			w->party = t->seg ? ap_host_party_of(t) : w->party;
			w->task = NULL;
		}
	forget(host, t, NULL);
}

static void put_cpu_watch(struct ap_host *host, struct ap_host_cpu_watch *all)
{
	struct ap_host_cpu_watch **p = &host->cpu_watches;

	if (--all->users)
		return;
	forget(host, NULL, all);
	while (*p != all)
		p = &(*p)->next;
	*p = all->next;
	free(all->total);
	free(all);
}

static struct ap_host_cpu_watch *new_cpu_watch(struct ap_host *host, u32 place)
{
	struct ap_host_cpu_watch *all = calloc(1, sizeof(*all));
	u64 *total = calloc(ap_host_count_cpus(), sizeof(*total));

	if (!all || !total) {
		free(all);
		free(total);
		return NULL;
	}
	all->place = place;
	all->total = total;
	all->next = host->cpu_watches;
	host->cpu_watches = all;
	return all;
}

static int get_cpu_watch(struct ap_host *host, u32 place, struct ap_host_cpu_watch **out)
{
	struct ap_host_cpu_watch *all = host->cpu_watches;
	int ret = 0;

	while (all && all->place != place)
		all = all->next;
	*out = all;
	if (all) {
		all->users++;
		return 0;
	}
	all = new_cpu_watch(host, place);
	if (!all)
		return -ENOMEM;
	all->users = 1;
	for (struct ap_host_task *t = host->tasks; t && !ret; t = t->next)
		ret = watch_for_cpus(host, all, t, false);
	if (ret)
		put_cpu_watch(host, all);
	*out = ret ? NULL : all;
	return ret;
}

/* --- counters */

static bool is_counter(const struct ap_host *host, u32 place)
{
	return host->ses->head->watch_how[place] & AP_WATCH_COUNTER;
}

static void tell(const struct ap_host *host, const struct ap_host_task *t)
{
	u32 mask = 0;

	for (const struct ap_host_watch *w = host->watches; w; w = w->next)
		if (w->task && w->task->seg == t->seg && is_counter(host, w->place))
			mask |= 1U << w->place;
	if (t->seg->head->counters != mask)
		t->seg->told_gen = host->ses->head->watch_gen + 1; /* announced next */
	__atomic_store_n(&t->seg->head->counters, mask, __ATOMIC_RELEASE);
}

void ap_host_watch_tell(struct ap_host *host, struct ap_host_task *t)
{
	if (t && t->seg)
		tell(host, t);
	for (const struct ap_host_task *o = t ? NULL : host->tasks; o; o = o->next)
		if (o->seg)
			tell(host, o);
}

/*
 * It is raised in one more process, or one fewer, which may be in code that is linked in a loop.
 * Told first: a process that acknowledges what is announced has raised and lowered what was told
 * before.
 */
static void tell_counters(struct ap_host *host, u32 place)
{
	ap_host_watch_tell(host, NULL);
	announce(host, host->ses->head->watch_how[place]);
}

/* --- what the core asks */

static int arm_cpu(struct ap_host *host, struct ap_host_watch *w, s32 cpu)
{
	int ret = get_cpu_watch(host, w->place, &w->all);

	if (ret)
		return ret;
	w->cpu = cpu;
	ap_host_cpus_look(host);
	w->start = w->all->total[cpu];
	return 0;
}

int ap_host_bp_arm(void *world, void *host_task, s32 cpu, const struct ap_world_bp *bp, u64 *watch)
{
	struct ap_host *host = world;
	struct ap_host_watch *w;
	bool is_new;
	u32 place;
	int ret = ap_host_bp_can(world, host_task, cpu, bp);

	if (ret)
		return ret;
	place = find_place(host, bp);
	w = new_watch(host, host_task, place);
	if (!w)
		return -ENOMEM;
	ret = host_task ? 0 : arm_cpu(host, w, cpu);
	if (ret) {
		free_watch(w);
		return ret;
	}
	is_new = take_place(host, bp, place);
	if (bp->is_counter)
		tell_counters(host, place);
	else if (is_new)
		announce(host, host->ses->head->watch_how[place]);
	*watch = (uintptr_t)w;
	return 0;
}

u64 ap_host_bp_count(void *world, u64 watch)
{
	struct ap_host_watch *w = (struct ap_host_watch *)(uintptr_t)watch;
	struct ap_host *host = world;

	if (w->task)
		return counted(w);
	if (host->cpus)
		ap_host_cpus_look(host);
	return w->all->total[w->cpu] - w->start;
}

u32 ap_host_bp_place(void *world, u64 watch)
{
	(void)world;
	return ((const struct ap_host_watch *)(uintptr_t)watch)->place;
}

void ap_host_bp_disarm(void *world, u64 watch)
{
	struct ap_host_watch *w = (struct ap_host_watch *)(uintptr_t)watch;
	u32 place = w->place;
	bool was_counter = is_counter(world, place);

	give_place(world, place);
	if (!w->task && w->all)
		put_cpu_watch(world, w->all);
	free_watch(w);
	if (was_counter)
		tell_counters(world, place);
}

/* Code need not mind data any more: it is made again, without. */
void ap_host_bp_no_data(void *world)
{
	struct ap_host *host = world;

	if (host->has_data_watch)
		__atomic_fetch_add(&host->ses->head->watch_gen, 1, __ATOMIC_RELEASE);
	host->has_data_watch = false;
}

void ap_host_watch_parting(struct ap_host *host, struct ap_host_task *t)
{
	for (struct ap_host_watch *w = host->watches; w; w = w->next)
		if (w->task == t && !read_slot(w, &w->parting))
			w->parting = w->start;
}

void ap_host_watch_leave(struct ap_host *host, struct ap_host_task *t)
{
	for (struct ap_host_watch *w = host->watches; w; w = w->next) {
		if (w->task != t)
			continue;
		w->former = counted(w);
		w->start = 0;
	}
}
