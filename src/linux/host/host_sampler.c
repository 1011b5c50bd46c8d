/* SPDX-License-Identifier: MIT */
/*
 * Samplers in the session file: which thread has which, and threads told of changes.  The core
 * fills them (ops->sampler_*); here is where they lie, in which slot's list they are, and what
 * becomes of that when their task gets another slot.  docs/design/sampling.md.
 *
 * A sampler's marks are of `carried` + the slot's count, which is the task's count as the core has
 * it:  so an exec changes carried, and nothing else.
 *
 * What a process writes into its samplers is its own loss: links and numbers are ours, in private
 * memory, and never read back from there.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "abi/trace.h"
#include "linux/host/host_internal.h"
#include "linux/task/now.h"
#include "pmu/tracepoint.h"
#include "sampling/overflow.h"
#include "sampling/ring.h"

#define ROB_NS	 50000000ULL /* then the lock's holder is stopped or dead */
#define ROBS_MAX 16	     /* each time in a row it is waited for half as long */
#define SPINS	 200
#define KICK_NS	 1000000ULL /* between kicks of a thread that has not seen one */

static struct ap_sampler *at(struct ap_host_samplers *all, u32 i)
{
	return (struct ap_sampler *)(all->area + (u64)i * AP_SAMPLER_SIZE);
}

static u32 index_of(const struct ap_host_samplers *all, const struct ap_sampler *s)
{
	return (u32)(((const u8 *)s - all->area) / AP_SAMPLER_SIZE);
}

static int make(struct ap_host *host)
{
	struct ap_host_samplers *all;

	if (host->samplers)
		return 0;
	all = calloc(1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	all->area = ap_session_part(host->ses, AP_SAMPLER_OFF);
	host->samplers = all;
	/* asked with the first: it takes an event of the kernel's to know */
	ap_core_config(host->core)->clocks_are_prompted = ap_host_can_prompt(host);
	return 0;
}

void ap_host_samplers_fini(struct ap_host *host)
{
	free(host->samplers);
	host->samplers = NULL;
}

static struct ap_slot *slot_of(const struct ap_host_task *t)
{
	return t && ap_host_task_is_in_slot(t) ? ap_host_slot(t->seg, t->slot) : NULL;
}

/* The descriptor of what was opened; NULL where it has none. */
static struct ap_host_file *file_of(const struct ap_host_sampler *o)
{
	return ap_event_host(ap_event_opened(o->event));
}

/* --- lanes */

/*
 * One that nobody samples by.  Not the lane of instructions: it may carry their counts, and clocks
 * are looked at by it.  Each in its turn, as what was just given up is likely to be asked for
 * again.
 */
static int find_unused(struct ap_host *host, u32 *lane)
{
	for (u32 n = 0; n < AP_LANE_MAX; n++) {
		u32 i = host->lane_next++ % AP_LANE_MAX;

		if (host->lane_users[i] || host->lanes[i] == AP_KIND_BIT(AP_KIND_INSTR))
			continue;
		*lane = i;
		return 0;
	}
	return -ENOSPC;
}

static int find_lane(struct ap_host *host, u64 kinds, u32 *lane)
{
	struct ap_session *head = host->ses->head;
	u32 n = head->nlanes < AP_LANE_MAX ? head->nlanes : AP_LANE_MAX;
	int ret;

	for (u32 i = 0; i < n; i++) {
		if (host->lanes[i] != kinds)
			continue;
		*lane = i;
		return 0;
	}
	*lane = n;
	if (n == AP_LANE_MAX) {
		ret = find_unused(host, lane);
		if (ret)
			return ret;
	}
	ret = ap_host_add_kinds(host, kinds);
	if (ret)
		return ret;
	host->lanes[*lane] = kinds;
	__atomic_store_n(&head->lanes[*lane], kinds, __ATOMIC_RELAXED);
	/* pair with the loads of a thread that translates */
	if (n == AP_LANE_MAX)
		__atomic_store_n(&head->lane_gen, head->lane_gen + 1, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&head->nlanes, n + 1, __ATOMIC_RELEASE);
	host->has_new_kinds = true;
	return 0;
}

int ap_host_want_lane(void *world, u64 kinds, u32 *lane)
{
	struct ap_host *host = world;
	int ret = find_lane(host, kinds, lane);

	if (!ret)
		host->lane_users[*lane]++;
	return ret;
}

/* It stays what it is until another set is wanted: code of it is everywhere. */
void ap_host_put_lane(void *world, u32 lane)
{
	struct ap_host *host = world;

	if (lane < AP_LANE_MAX && host->lane_users[lane])
		host->lane_users[lane]--;
}

/* --- the lock of a slot's samplers */

/* A holder has less to do than the time after which it is robbed; it notices by its own release. */
void ap_host_sampler_lock(void *world, void *host_task)
{
	struct ap_host_task *t = host_task;
	struct ap_slot *slot = slot_of(t);
	u64 until = 0;
	u32 was;

	(void)world;
	for (u32 n = 0; slot; n++) {
		was = 0;
		if (__atomic_compare_exchange_n(&slot->sampler_lock, &was, AP_RING_CORE, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED) ||
		    was == AP_RING_CORE) {
			t->robs = 0;
			return;
		}
		__builtin_ia32_pause();
		if (n < SPINS)
			continue;
		if (!until)
			until = ap_now_ns() + (ROB_NS >> t->robs);
		sched_yield();
		if (ap_now_ns() >= until)
			break;
	}
	if (!slot)
		return;
	/* whoever it is by now: a word that changes all the time would be waited for without end */
	__atomic_store_n(&slot->sampler_lock, AP_RING_CORE, __ATOMIC_RELEASE);
	t->robs += t->robs < ROBS_MAX;
}

static void kick(const struct ap_host *host, struct ap_slot *slot)
{
	for (u32 i = 0; i < host->ses->head->nlanes && i < AP_LANE_MAX; i++)
		for (u32 j = 0; j < AP_LANE_WORDS; j++)
			ap_budget_kick(&slot->budget[i][j]);
}

static bool has_seen(const struct ap_host_task *t)
{
	const struct ap_slot *slot = slot_of(t);

	return !slot || __atomic_load_n(&slot->sampler_ack, __ATOMIC_ACQUIRE) == slot->sampler_gen;
}

/* The thread looks at its samplers before it goes on for long: told again until it has. */
static void tell(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_slot *slot = slot_of(t);

	ap_host_prompts_set(host, t);
	if (!slot)
		return;
	__atomic_fetch_add(&slot->sampler_gen, 1, __ATOMIC_SEQ_CST);
	kick(host, slot);
	if (t->is_kicked)
		return;
	t->is_kicked = true;
	t->kicked_next = host->kicked;
	host->kicked = t;
}

void ap_host_sampler_unlock(void *world, void *host_task, bool told)
{
	struct ap_slot *slot = slot_of(host_task);
	u32 ours = AP_RING_CORE;

	if (!slot)
		return;
	(void)__atomic_compare_exchange_n(&slot->sampler_lock, &ours, 0, false, __ATOMIC_RELEASE,
					  __ATOMIC_RELAXED);
	if (told)
		tell(world, host_task);
}

void ap_host_kick_forget(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_host_task **p = &host->kicked;

	if (!t->is_kicked)
		return;
	while (*p != t)
		p = &(*p)->kicked_next;
	*p = t->kicked_next;
	t->is_kicked = false;
}

/* --- samplers of tasks */

/* What former images have counted of the source. */
static u64 carried(const struct ap_host_sampler *o, const struct ap_sampler *s)
{
	u64 sum = 0;

	if (s->source != AP_SAMPLE_LANE && s->source != AP_SAMPLE_MODEL)
		return o->former;
	for (u32 k = 0; k < AP_RAW_N; k++)
		if (s->kinds & AP_KIND_BIT(k))
			sum += o->task->carried[k];
	return sum;
}

/* The slot's count of a source that has words of its own there. */
static u64 slot_count(const struct ap_host_task *t, const struct ap_sampler *s)
{
	const struct ap_slot *slot = slot_of(t);
	const u64 *trace;
	u32 index;

	if (!slot)
		return 0;
	if (s->source == AP_SAMPLE_WATCH)
		return s->which < AP_WATCH_MAX ? slot->watch[s->which] : 0;
	if (s->source == AP_SAMPLE_FAULT)
		return s->which < AP_FAULT_N ? slot->faults[s->which] : 0;
	if (s->source != AP_SAMPLE_TRACE)
		return 0;
	index = ap_trace_index(s->which);
	trace = (const u64 *)((const char *)slot + AP_SLOT_TRACE_OFF);
	return index < AP_TRACE_N ? trace[index] : 0;
}

/* Names as records have them; a task that has not run yet has none, and is asked to say so. */
static void name(const struct ap_host *host, const struct ap_host_sampler *o, struct ap_sampler *s)
{
	struct ap_task_names names = { 0 };

	ap_host_task_names((void *)(uintptr_t)host, o->event, o->task, &names);
	s->pid = (u32)names.pid;
	s->tid = (u32)names.tid;
}

/* Threads ask for a wakeup at each overflow while the descriptor has O_ASYNC. */
static void set_file(struct ap_sampler *s, const struct ap_host_file *f)
{
	s->inode = f ? f->inode : 0;
	__atomic_store_n(&s->signals, f && f->is_async, __ATOMIC_RELEASE);
}

static void into_list(struct ap_host *host, struct ap_host_sampler *o)
{
	struct ap_host_samplers *all = host->samplers;
	u32 i = (u32)(o - all->of);
	struct ap_slot *slot = slot_of(o->task);
	struct ap_sampler *s = at(all, i);

	if (!slot)
		return;
	s->carried = carried(o, s);
	name(host, o, s);
	s->next_of_slot = slot->samplers;
	__atomic_store_n(&slot->samplers, i + 1, __ATOMIC_RELEASE);
}

/* The slot's list anew, from ours.  Under its lock. */
static void write_list(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_slot *slot = slot_of(t);

	if (!slot)
		return;
	__atomic_store_n(&slot->samplers, AP_SAMPLER_NONE, __ATOMIC_RELEASE);
	for (struct ap_host_sampler *o = t->samplers; o; o = o->next)
		into_list(host, o);
}

/* The ring may be of another party's file than the task's. */
u64 ap_host_sampler_ring(void *world, struct ap_sampler *s, const struct ap_ring_map *map, u64 at)
{
	struct ap_host *host = world;
	struct ap_host_carry *former;
	struct ap_host_sampler *o;
	u32 party;

	/* what the core keeps of one that is made later is no task's */
	if (!host->samplers || (u8 *)s < host->samplers->area ||
	    (u8 *)s >= host->samplers->area + AP_SAMPLERS_READ)
		return at;
	o = &host->samplers->of[index_of(host->samplers, s)];
	former = o->carry;
	party = ap_host_party_of(o->task);
	o->ring = map ? *map : (struct ap_ring_map){ 0 };
	o->ring_at = at;
	o->carry = NULL;
	if (map && map->party != party) {
		o->carry = ap_host_carry_get(host, party, o->event, map->size);
		at = o->carry ? ap_host_carry_ring(o->carry) : 0;
		s->ring_flags = 0;
	}
	ap_host_carry_put(host, former);
	return at;
}

/* Its task has come to another party. */
static void change_party(struct ap_host *host, struct ap_host_sampler *o, struct ap_sampler *s)
{
	s64 live = AP_SAMPLER_LIVE(index_of(host->samplers, s), ap_host_party_of(o->task));
	struct ap_sampling now = *ap_sampling_of(s);

	if (s->live == live)
		return;
	host->samplers->of_party[o->party]--;
	o->party = ap_host_party_of(o->task);
	host->samplers->of_party[o->party]++;
	s->live = live;
	*ap_sampling_of(s) = now;
	s->ring_flags = o->ring.flags;
	s->ring = ap_host_sampler_ring(host, s, o->ring.ring ? &o->ring : NULL, o->ring_at);
}

/* Half of them for one party, and a quarter kept for the session owner's. */
static bool is_full_for(const struct ap_host_samplers *all, u32 party)
{
	u32 used = all->used - all->nfree;

	if (used == AP_SAMPLER_MAX)
		return true;
	return party && (all->of_party[party] >= AP_SAMPLER_MAX / 2 ||
			 used - all->of_party[0] >= AP_SAMPLER_MAX / 4 * 3);
}

int ap_host_sampler_new(void *world, void *host_task, struct ap_event *event,
			struct ap_sampler **out)
{
	struct ap_host *host = world;
	struct ap_host_samplers *all;
	struct ap_sampler *s;
	u32 i;
	int ret = make(host);

	if (ret)
		return ret;
	all = host->samplers;
	if (is_full_for(all, ap_host_party_of(host_task)))
		return -ENOSPC;
	i = all->nfree ? all->free[--all->nfree] : all->used++;
	ap_host_now_use(host);
	all->of[i] = (struct ap_host_sampler){ .task = host_task,
					       .event = event,
					       .is_used = true,
					       .party = ap_host_party_of(host_task) };
	all->of_party[all->of[i].party]++;
	s = at(all, i);
	memset(s, 0, sizeof(*s));
	s->live = AP_SAMPLER_LIVE(i, ap_host_party_of(host_task));
	memset(ap_sampling_of(s), 0, sizeof(struct ap_sampling));
	*out = s;
	return 0;
}

void ap_host_sampler_link(void *world, void *host_task, struct ap_sampler *s)
{
	struct ap_host *host = world;
	struct ap_host_sampler *o = &host->samplers->of[index_of(host->samplers, s)];
	struct ap_host_task *t = host_task;

	if (!t)
		return;
	o->task = t;
	o->next = t->samplers;
	t->samplers = o;
	set_file(s, file_of(o));
	if (s->source == AP_SAMPLE_TRACE)
		s->trace_args = ap_tracepoint_args(ap_trace_unfiltered(host->ses->head, s->which));
	if (s->sample_type & AP_PERF_SAMPLE_BRANCH_STACK)
		__atomic_fetch_or(&host->ses->head->branches,
				  s->branch_sample_type & AP_PERF_SAMPLE_BRANCH_CALL_STACK
					  ? AP_BRANCHES_CALLS
					  : AP_BRANCHES_LAST,
				  __ATOMIC_RELEASE);
	if (s->source == AP_SAMPLE_CLOCK && ap_host_can_prompt(host))
		s->lane = AP_LANE_MAX;
	else if (s->source == AP_SAMPLE_CLOCK &&
		 ap_host_want_lane(host, AP_KIND_BIT(AP_KIND_INSTR), &s->lane))
		s->lane = AP_LANE_MAX; /* it is sampled where it is found */
	ap_host_sampler_lock(host, t);
	into_list(host, o);
	ap_host_sampler_unlock(host, t, true);
	ap_host_cgroup_note(host, t);
	ap_host_task_order(t);
}

static void out_of_list(struct ap_host *host, struct ap_host_sampler *o)
{
	struct ap_host_task *t = o->task;
	struct ap_host_sampler **p = t ? &t->samplers : NULL;

	while (p && *p && *p != o)
		p = &(*p)->next;
	if (!p || !*p)
		return;
	ap_host_sampler_lock(host, t);
	*p = o->next;
	write_list(host, t);
	ap_host_sampler_unlock(host, t, true);
}

void ap_host_sampler_free(void *world, void *host_task, struct ap_sampler *s)
{
	struct ap_host *host = world;
	struct ap_host_samplers *all = host->samplers;
	u32 i = index_of(all, s);

	(void)host_task;
	out_of_list(host, &all->of[i]);
	ap_host_carry_put(host, all->of[i].carry);
	all->of_party[all->of[i].party]--;
	all->of[i] = (struct ap_host_sampler){ 0 };
	all->free[all->nfree++] = i;
}

/* As the thread computes it. */
u64 ap_host_sampler_value(void *world, void *host_task, const struct ap_sampler *s)
{
	struct ap_host *host = world;
	struct ap_host_task *t = host_task;
	const u64 *raw;
	u64 sum = 0;

	if (!t)
		return 0;
	switch (s->source) {
	case AP_SAMPLE_LANE:
	case AP_SAMPLE_MODEL:
		raw = ap_host_task_raw(host, t);
		for (u32 k = 0; k < AP_RAW_N; k++)
			if (s->kinds & AP_KIND_BIT(k))
				sum += raw[k];
		return sum;
	case AP_SAMPLE_CLOCK:
		return ap_host_task_time(host, t);
	case AP_SAMPLE_WORLD:
		return s->which < AP_WORLD_N ? t->told[s->which] : 0;
	default:
		return s->carried + slot_count(t, s);
	}
}

/* --- slots come and go */

void ap_host_samplers_parting(struct ap_host *host, struct ap_host_task *t)
{
	for (struct ap_host_sampler *o = t->samplers; o; o = o->next)
		o->parting = slot_count(t, ap_host_sampler_at(host, o));
}

/* The task's slot is given up; what it has counted is in t->carried, or was read at the parting. */
void ap_host_samplers_leave(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_slot *slot = slot_of(t);

	ap_host_prompts_end(t->host, t);
	for (struct ap_host_sampler *o = t->samplers; o; o = o->next)
		o->former +=
			t->has_parting ? o->parting : slot_count(t, ap_host_sampler_at(host, o));
	if (slot && t->samplers)
		__atomic_store_n(&slot->samplers, AP_SAMPLER_NONE, __ATOMIC_RELEASE);
}

/* It is known by other names than before, or by some at last. */
void ap_host_samplers_named(struct ap_host *host, struct ap_host_task *t)
{
	for (struct ap_host_sampler *o = t->samplers; o; o = o->next)
		name(host, o, ap_host_sampler_at(host, o));
	ap_host_cgroup_note(host, t);
	ap_host_prompts_set(host, t);
}

void ap_host_samplers_placed(struct ap_host *host, struct ap_host_task *t)
{
	if (!t->samplers)
		return;
	for (struct ap_host_sampler *o = t->samplers; o; o = o->next)
		change_party(host, o, ap_host_sampler_at(host, o));
	ap_host_sampler_lock(host, t);
	write_list(host, t);
	ap_host_sampler_unlock(host, t, true);
	ap_host_cgroup_note(host, t);
}

/* --- by the clock */

u64 ap_host_samplers_tick(struct ap_host *host, u64 now)
{
	struct ap_host_task **p = &host->kicked;

	if (!host->kicked)
		return 0;
	if (now < host->kick_ns)
		return host->kick_ns - now;
	while (*p) {
		struct ap_host_task *t = *p;

		if (has_seen(t)) {
			*p = t->kicked_next;
			t->is_kicked = false;
			continue;
		}
		kick(host, slot_of(t));
		p = &t->kicked_next;
	}
	host->kick_ns = now + KICK_NS;
	return host->kicked ? KICK_NS : 0;
}

/* --- wakeups */

void ap_host_writer_ended(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_slot *slot;
	u32 name;

	if (!t->seg || !host->samplers)
		return;
	slot = ap_host_slot(t->seg, t->slot);
	/* the place, and its name with it, may be another task's by now, which writes */
	if (slot->state == AP_SLOT_LIVE && t->gen && slot->gen != t->gen)
		return;
	name = AP_RING_NAME(t->seg->index, t->slot);
	ap_core_writer_died(host->core, AP_PARTY_OF(t->seg->index), name);
	/* records are written under the lock of the slot's samplers */
	(void)!__atomic_compare_exchange_n(&slot->sampler_lock, &name, 0, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static struct ap_event *event_of(struct ap_host *host, u64 index)
{
	if (!host->samplers || index >= host->samplers->used || !host->samplers->of[index].is_used)
		return NULL;
	return ap_event_opened(host->samplers->of[index].event);
}

struct ap_event *ap_host_sampler_wake(struct ap_host *host, struct ap_host_task *t, u64 index)
{
	struct ap_event *event = event_of(host, index);

	if (!event || host->samplers->of[index].task != t)
		return NULL;
	/* the signal's byte says POLLIN as well, where that is due */
	ap_core_overflowed(host->core, event);
	ap_core_rings_woken(host->core);
	return event;
}

s64 ap_host_sampler_read(struct ap_host *host, struct ap_host_task *t, u64 index, void *buf,
			 u64 size)
{
	if (!event_of(host, index) || host->samplers->of[index].task != t)
		return -EINVAL;
	return ap_core_read_sample(host->core, host->samplers->of[index].event, buf, size);
}

/* What was opened has its descriptor by now, or O_ASYNC has changed. */
void ap_host_sampler_file(struct ap_host *host, const struct ap_host_file *f)
{
	struct ap_host_samplers *all = host->samplers;

	for (u32 i = 0; all && i < all->used; i++) {
		struct ap_host_sampler *o = &all->of[i];

		if (!o->is_used || file_of(o) != f)
			continue;
		set_file(at(all, i), f);
		if (o->task)
			name(host, o, at(all, i));
	}
}
