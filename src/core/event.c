/* SPDX-License-Identifier: MIT */
/*
 * One event's numbers: times, intervals of counting, and what enable, disable and reset do to them.
 * A reader anywhere computes count + (raw now - raw at the open interval's start), so that nothing
 * has to be done while an event counts.
 */
#include "abi/errno.h"
#include "core/internal.h"

/* --- times */

bool ap_event_on_cpu(const struct ap_event *e)
{
	return e->cpu < 0 || !e->ctx->task || e->ctx->task->cpu == e->cpu;
}

/* Its time runs: the event and its leader are enabled, a cgroup's task is on the CPU. */
bool ap_event_is_enabled(const struct ap_event *e)
{
	if (e->state < AP_STATE_INACTIVE || e->leader->state < AP_STATE_INACTIVE)
		return false;
	if (!e->ctx || ap_event_is_template(e))
		return false;
	return !(e->parent && e->parent->cgroup) || ap_event_on_cpu(e);
}

void ap_event_update(struct ap_event *e, u64 now)
{
	u64 delta = now - e->stamp;

	if (ap_event_is_enabled(e)) {
		e->enabled += delta;
		if (e->state == AP_STATE_ACTIVE)
			e->running += delta;
	}
	e->stamp = now;
}

void ap_group_update(struct ap_event *leader, u64 now)
{
	struct ap_list *l;

	/* members look at their leader's state, so all are of the same moment */
	ap_event_update(leader, now);
	ap_list_for_each(l, &leader->siblings) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, sibling);

		if (e->ctx)
			ap_event_update(e, now);
	}
}

/* --- intervals */

static u64 raw_now(const struct ap_event *e)
{
	struct ap_core *core = e->core;

	if (core->at && core->at->event == e)
		return core->at->raw;
	if (e->ctx->task)
		return core->ops.raw(core->world, e->ctx->task->host, e->hw.kinds);
	return core->ops.cpu_raw(core->world, e->cpu, e->hw.kinds);
}

static u64 interval(const struct ap_event *e)
{
	struct ap_event *w = (struct ap_event *)(uintptr_t)e;

	if (e->hw.counts_nothing)
		return 0;
	if (e->hw.kinds)
		return raw_now(e) - e->hw.start;
	return e->pmu->read ? e->pmu->read(e->core, &w->hw, e->ctx->task, e->cpu) : 0;
}

static int interval_open(struct ap_event *e)
{
	if (e->hw.counts_nothing)
		return 0;
	if (e->hw.kinds) {
		e->hw.start = raw_now(e);
		return 0;
	}
	return e->pmu->start ? e->pmu->start(e->core, &e->hw, e->ctx->task, e->cpu) : 0;
}

static void interval_stop(struct ap_event *e)
{
	if (!e->hw.counts_nothing && !e->hw.kinds && e->pmu->stop)
		e->pmu->stop(e->core, &e->hw, e->ctx->task, e->cpu);
}

u64 ap_event_own_count(const struct ap_event *e)
{
	return e->count + (e->state == AP_STATE_ACTIVE ? interval(e) : 0);
}

/* --- groups on and off their PMU */

/* Unlimited counters are numbered, too, as long as numbers last: a control page names one. */
static void take_number(struct ap_event *e)
{
	struct ap_sched *s = e->leader->sched;
	u64 free = ~s->used & e->hw.constraint;

	if (ap_event_is_soft(e) || s->limit)
		return;
	e->hw.counter = free ? (s32)__builtin_ctzll(free) : -1;
	if (free)
		s->used |= free & -free;
}

static void give_number(struct ap_event *e)
{
	if (ap_event_is_soft(e))
		return;
	if (!e->leader->sched->limit && e->hw.counter >= 0)
		e->leader->sched->used &= ~(1ULL << e->hw.counter);
	e->hw.counter = -1;
}

static bool event_in(struct ap_event *e)
{
	if (e->state != AP_STATE_INACTIVE)
		return true;
	if (interval_open(e))
		return false;
	if (!ap_samplers_arm(e)) {
		ap_samplers_disarm(e);
		e->count += interval(e);
		interval_stop(e);
		return false;
	}
	e->state = AP_STATE_ACTIVE;
	take_number(e);
	ap_event_changed(e);
	return true;
}

static void event_out(struct ap_event *e)
{
	if (e->state != AP_STATE_ACTIVE)
		return;
	/* to read a CPU is to look where tasks are, and the event is still on where one is found */
	e->count += interval(e);
	ap_samplers_disarm(e);
	interval_stop(e);
	e->state = AP_STATE_INACTIVE;
	give_number(e);
	ap_event_changed(e);
}

/* From here on it counts another thing. */
int ap_event_set_filter(struct ap_event *e, const char *filter)
{
	bool is_on = e->state == AP_STATE_ACTIVE;
	int r;

	if (is_on)
		ap_event_stop(e, ap_ctx_now(e->ctx));
	r = e->pmu->set_filter(e->core, &e->hw, filter);
	if (!is_on || event_in(e))
		return r;
	/* its PMU limits nobody: only memory can be wanting.  It is as one that waits */
	ap_list_del(&e->active);
	return r ? r : -AP_ENOMEM;
}

void ap_event_stop(struct ap_event *e, u64 now)
{
	ap_event_update(e, now);
	event_out(e);
}

bool ap_group_in_members(struct ap_event *leader, u64 now)
{
	struct ap_list *l;

	ap_list_for_each(l, &leader->siblings) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, sibling);

		if (e->state != AP_STATE_INACTIVE)
			continue;
		ap_event_update(e, now);
		if (!event_in(e)) {
			ap_group_out(leader, now);
			return false;
		}
	}
	return true;
}

bool ap_group_in(struct ap_event *leader, u64 now)
{
	ap_group_update(leader, now);
	if (!event_in(leader))
		return false;
	ap_list_add_tail(&leader->sched->active, &leader->active);
	return ap_group_in_members(leader, now);
}

void ap_group_out(struct ap_event *leader, u64 now)
{
	struct ap_list *l;

	if (leader->state != AP_STATE_ACTIVE)
		return;
	ap_group_update(leader, now);
	ap_list_for_each(l, &leader->siblings)
		event_out(ap_list_entry(l, struct ap_event, sibling));
	event_out(leader);
	ap_list_del(&leader->active);
}

/* --- what programs ask for */

void ap_event_enable(struct ap_event *e)
{
	bool was_error = e->state == AP_STATE_ERROR;
	u64 now;

	if (!e->ctx || e->state >= AP_STATE_INACTIVE)
		return;
	now = ap_ctx_now(e->ctx);
	ap_group_update(e, now);
	e->state = AP_STATE_INACTIVE;
	if (e->leader == e)
		ap_sched_queue(e);
	ap_group_changed(e);
	if (e->leader->state >= AP_STATE_INACTIVE)
		ap_sched_update(e->leader->sched, e->leader, now);
	if (was_error)
		ap_event_poll_changed(e);
}

void ap_event_disable(struct ap_event *e)
{
	bool was_error = e->state == AP_STATE_ERROR;
	u64 now;

	if (!e->ctx || (e->state < AP_STATE_INACTIVE && e->state != AP_STATE_ERROR))
		return;
	now = ap_ctx_now(e->ctx);
	if (e->leader == e)
		ap_sched_unqueue(e, now);
	ap_group_update(e, now);
	event_out(e);
	e->state = AP_STATE_OFF;
	ap_group_changed(e);
	/* what it leaves may serve others */
	if (e->leader->sched)
		ap_sched_update(e->leader->sched, e->leader, now);
	if (was_error)
		ap_event_poll_changed(e);
}

/* The open interval goes on: what it has counted so far is taken off in advance. */
void ap_event_reset(struct ap_event *e)
{
	e->count = e->state == AP_STATE_ACTIVE ? -interval(e) : 0;
	e->child_count = 0; /* Linux keeps or drops it, as its scheduler has it: zero is zero */
	ap_event_changed(e);
}

bool ap_event_is_simple(const struct ap_event *e)
{
	const u64 odd = AP_PERF_INHERIT | AP_PERF_PINNED | AP_PERF_EXCLUSIVE;

	if (!e->ctx || !e->ctx->task || e->cpu >= 0 || e->parent || e->cgroup)
		return false;
	if (e->leader != e || e->nr_siblings || !ap_list_empty(&e->children))
		return false;
	if (e->attr.flags & odd || e->attr.sample_period || e->page)
		return false;
	if (!e->hw.kinds || e->hw.counts_nothing)
		return false;
	return e->sched && ap_sched_all_fits(e->sched) &&
	       (e->state == AP_STATE_OFF || e->state == AP_STATE_ACTIVE);
}

void ap_core_replay(struct ap_core *core, struct ap_event *e, u32 cmd, u64 raw, u64 now)
{
	const struct ap_stamp at = { .event = e,
				     .now = now > e->stamp ? now : e->stamp,
				     .raw = raw > e->hw.start ? raw : e->hw.start };

	if (!ap_event_is_simple(e))
		return;
	core->at = &at;
	if (cmd == AP_PERF_IOC_ENABLE)
		ap_event_enable(e);
	else if (cmd == AP_PERF_IOC_DISABLE)
		ap_event_disable(e);
	else if (cmd == AP_PERF_IOC_RESET)
		ap_event_reset(e);
	core->at = NULL;
	/* what follows is not older; the published base is the same */
	if (e->state == AP_STATE_ACTIVE)
		e->count += at.raw - e->hw.start;
	e->hw.start = at.raw;
}

/* --- what the host publishes */

void ap_event_changed(struct ap_event *e)
{
	if (e->parent)
		return; /* nobody has a descriptor */
	if (e->page)
		ap_page_update(e);
	if (e->core->ops.publish)
		e->core->ops.publish(e->core->world, e);
}

void ap_group_changed(struct ap_event *leader)
{
	struct ap_list *l;

	ap_event_changed(leader);
	ap_list_for_each(l, &leader->siblings)
		ap_event_changed(ap_list_entry(l, struct ap_event, sibling));
}

void ap_event_public(const struct ap_event *e, struct ap_event_public *out)
{
	bool enabled = ap_event_is_enabled(e), active = e->state == AP_STATE_ACTIVE;
	bool own = e->ctx && e->ctx->task && e->cpu < 0 && ap_list_empty(&e->children);

	out->id = e->id;
	out->kinds = own && !e->hw.counts_nothing ? e->hw.kinds : 0;
	out->base = e->count + e->child_count - (active && e->hw.kinds ? e->hw.start : 0);
	out->enabled_base = e->enabled + e->child_enabled - (enabled ? e->stamp : 0);
	out->running_base = e->running + e->child_running - (active ? e->stamp : 0);
	out->read_format = e->attr.read_format;
	out->is_enabled = enabled;
	out->is_active = active;
	out->nr_siblings = e->leader->nr_siblings;
	out->is_error = e->state == AP_STATE_ERROR;
	out->is_simple = ap_event_is_simple(e);
	out->may_wait = e->sched && !ap_sched_all_fits(e->sched);
	out->may_lose = e->attr.sample_period || ap_event_tells(e);
	out->counts = e->hw.kinds;
	out->cpu = e->cpu;
}

u64 ap_event_id(const struct ap_event *e)
{
	return e->id;
}

void *ap_event_host(const struct ap_event *e)
{
	return e->host;
}

void ap_event_set_host(struct ap_event *e, void *host)
{
	e->host = host;
}

struct ap_event *ap_event_opened(const struct ap_event *e)
{
	return e->parent ? e->parent : (struct ap_event *)(uintptr_t)e;
}

struct ap_task *ap_event_task(const struct ap_event *e)
{
	return e->ctx ? e->ctx->task : NULL;
}

struct ap_event *ap_event_leader(const struct ap_event *e)
{
	return e->leader;
}

struct ap_event *ap_event_next(const struct ap_event *e)
{
	const struct ap_list *end = &e->leader->siblings;
	struct ap_list *next = e->leader == e ? end->next : e->sibling.next;

	return next == end ? NULL : ap_list_entry(next, struct ap_event, sibling);
}

struct ap_event *ap_event_sibling(const struct ap_event *leader, u32 n)
{
	struct ap_list *l;

	ap_list_for_each(l, &leader->siblings)
		if (!n--)
			return ap_list_entry(l, struct ap_event, sibling);
	return NULL;
}

const struct ap_perf_attr *ap_event_attr(const struct ap_event *event)
{
	return &event->attr;
}
