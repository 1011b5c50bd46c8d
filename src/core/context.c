/* SPDX-License-Identifier: MIT */
/*
 * Who is on a PMU.  A context's part of one PMU has two queues of enabled leaders; a plan says
 * which of their groups fit: pinned ones first, then flexible ones in order until one does not fit,
 * as in Linux, so that rotation gives every group its turn at the head.  Groups that are on and
 * stay on are not disturbed: counters are virtual, and to renumber one costs nothing.
 *
 * Where everything fits (software, or as many counters as anybody asks for and nobody exclusive)
 * there is no plan: a change concerns the one group that changed.
 */
#include "abi/errno.h"
#include "base/mem.h"
#include "core/internal.h"

struct ctx_plan {
	struct ap_event *on[AP_PMU_COUNTERS_MAX]; /* by counter */
	u64 counters;				  /* that exist */
	u32 nr_groups;
	bool has_exclusive;
};

static void sched_init(struct ap_sched *s, struct ap_ctx *ctx, struct ap_pmu *pmu)
{
	s->ctx = ctx;
	s->pmu = pmu;
	ap_list_init(&s->pinned);
	ap_list_init(&s->flexible);
	ap_list_init(&s->active);
	ap_list_init(&s->waiting);
}

void ap_ctx_init(struct ap_ctx *ctx, struct ap_core *core, struct ap_task *task, s32 cpu)
{
	ctx->core = core;
	ctx->task = task;
	ctx->cpu = cpu;
	ap_list_init(&ctx->events);
	ap_list_init(&ctx->telling);
	sched_init(&ctx->soft, ctx, NULL);
}

void ap_ctx_fini(struct ap_ctx *ctx)
{
	struct ap_sched *s, *next;

	for (s = ctx->hard; s; s = next) {
		next = s->next;
		ap_list_del(&s->waiting);
		ap_free(ctx->core, s, sizeof(*s));
	}
	ctx->hard = NULL;
}

u64 ap_ctx_now(const struct ap_ctx *ctx)
{
	const struct ap_core *core = ctx->core;

	if (core->at && core->at->event->ctx == ctx)
		return core->at->now;
	return ctx->task ? core->ops.task_time(core->world, ctx->task->host)
			 : core->ops.clock(core->world);
}

int ap_sched_of(struct ap_ctx *ctx, struct ap_pmu *pmu, struct ap_sched **out)
{
	struct ap_sched *s;

	if (pmu->flags & AP_PMU_SOFTWARE) {
		*out = &ctx->soft;
		return 0;
	}
	for (s = ctx->hard; s && s->pmu != pmu; s = s->next)
		;
	if (!s) {
		s = ap_alloc(ctx->core, sizeof(*s));
		if (!s)
			return -AP_ENOMEM;
		sched_init(s, ctx, pmu);
		s->limit = pmu->counters ? pmu->counters(ctx->core, pmu) : 0;
		s->next = ctx->hard;
		ctx->hard = s;
	}
	*out = s;
	return 0;
}

static u64 counter_mask(u32 limit)
{
	return limit && limit < 64 ? (1ULL << limit) - 1 : ~0ULL;
}

/* --- the plan */

/*
 * A counter for e, moving others to other counters that they fit on if need be: an augmenting
 * path of a matching.  tried has the counters that this search has looked at.
 */
static bool place(struct ctx_plan *p, struct ap_event *e, u64 *tried)
{
	u64 may;
	u32 c;

	while ((may = e->hw.constraint & p->counters & ~*tried)) {
		c = __builtin_ctzll(may);
		*tried |= 1ULL << c;
		if (!p->on[c] || place(p, p->on[c], tried)) {
			p->on[c] = e;
			return true;
		}
	}
	return false;
}

static bool needs_counter(const struct ap_event *e)
{
	return !ap_event_is_soft(e) && e->state >= AP_STATE_INACTIVE;
}

static bool place_group(struct ctx_plan *p, struct ap_event *leader)
{
	struct ctx_plan before = *p;
	struct ap_list *l;
	u64 tried = 0;
	bool ok;

	ok = !needs_counter(leader) || place(p, leader, &tried);
	ap_list_for_each(l, &leader->siblings) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, sibling);

		if (!ok)
			break;
		tried = 0;
		ok = !needs_counter(e) || place(p, e, &tried);
	}
	if (!ok)
		*p = before;
	return ok;
}

static bool is_exclusive(const struct ap_event *leader)
{
	return leader->attr.flags & AP_PERF_EXCLUSIVE;
}

static bool plan_group(struct ap_sched *s, struct ctx_plan *p, struct ap_event *leader)
{
	if (p->has_exclusive || (is_exclusive(leader) && p->nr_groups))
		return false;
	if (s->limit && !place_group(p, leader))
		return false;
	p->has_exclusive = is_exclusive(leader);
	p->nr_groups++;
	leader->planned = s->plan;
	return true;
}

static void set_waiting(struct ap_sched *s, bool waiting, u64 now)
{
	if (waiting == !ap_list_empty(&s->waiting))
		return;
	if (waiting) {
		s->rotated = now;
		ap_list_add_tail(&s->ctx->core->waiting, &s->waiting);
	} else {
		ap_list_del(&s->waiting);
	}
}

/* A pinned group that cannot be on its PMU is given up until it is enabled or disabled. */
static void give_up(struct ap_event *leader, u64 now)
{
	ap_group_update(leader, now);
	ap_list_del(&leader->queue);
	leader->sched->nr_exclusive -= is_exclusive(leader);
	leader->state = AP_STATE_ERROR;
	ap_group_changed(leader);
	ap_event_poll_changed(leader);
}

static void plan_all(struct ap_sched *s, struct ctx_plan *p, u64 now)
{
	struct ap_list *l, *n;
	bool waiting = false;

	memset(p, 0, sizeof(*p));
	p->counters = counter_mask(s->limit);
	s->plan++;
	ap_list_for_each_safe(l, n, &s->pinned) {
		struct ap_event *leader = ap_list_entry(l, struct ap_event, queue);

		if (ap_event_on_cpu(leader) && !plan_group(s, p, leader)) {
			ap_group_out(leader, now);
			give_up(leader, now);
		}
	}
	ap_list_for_each(l, &s->flexible) {
		struct ap_event *leader = ap_list_entry(l, struct ap_event, queue);

		if (ap_event_on_cpu(leader) && !plan_group(s, p, leader)) {
			waiting = true;
			break;
		}
	}
	set_waiting(s, waiting, now);
}

static void number_counters(struct ap_sched *s, const struct ctx_plan *p)
{
	u32 c;

	if (!s->limit)
		return;
	for (c = 0; c < AP_PMU_COUNTERS_MAX; c++) {
		struct ap_event *e = p->on[c];

		if (!e || e->hw.counter == (s32)c)
			continue;
		e->hw.counter = c;
		if (e->state == AP_STATE_ACTIVE)
			ap_event_changed(e);
	}
}

/* Puts one group that may be on its PMU there; a driver may still refuse. */
static void bring_in(struct ap_event *leader, u64 now)
{
	bool ok = leader->state == AP_STATE_ACTIVE ? ap_group_in_members(leader, now)
						   : ap_group_in(leader, now);

	if (!ok && (leader->attr.flags & AP_PERF_PINNED))
		give_up(leader, now);
}

static void carry_out(struct ap_sched *s, const struct ctx_plan *p, u64 now)
{
	struct ap_list *queues[] = { &s->pinned, &s->flexible };
	struct ap_list *l, *n;
	u32 q;

	ap_list_for_each_safe(l, n, &s->active) {
		struct ap_event *leader = ap_list_entry(l, struct ap_event, active);

		if (leader->planned != s->plan)
			ap_group_out(leader, now);
	}
	number_counters(s, p);
	for (q = 0; q < AP_ARRAY_SIZE(queues); q++) {
		ap_list_for_each_safe(l, n, queues[q]) {
			struct ap_event *leader = ap_list_entry(l, struct ap_event, queue);

			if (leader->planned == s->plan)
				bring_in(leader, now);
			else if (ap_event_on_cpu(leader))
				break; /* the first that did not fit */
		}
	}
}

bool ap_sched_all_fits(const struct ap_sched *s)
{
	return !s->limit && !s->nr_exclusive;
}

static bool is_queued(const struct ap_event *leader)
{
	return !ap_list_empty(&leader->queue);
}

static void resched(struct ap_sched *s, u64 now)
{
	struct ctx_plan p;

	plan_all(s, &p, now);
	carry_out(s, &p, now);
}

void ap_sched_update(struct ap_sched *s, struct ap_event *leader, u64 now)
{
	if (!ap_sched_all_fits(s)) {
		resched(s, now);
		return;
	}
	if (!ap_list_empty(&s->waiting)) {
		/* the last exclusive group has left */
		resched(s, now);
		return;
	}
	if (!is_queued(leader))
		return;
	if (ap_event_on_cpu(leader))
		bring_in(leader, now);
	else
		ap_group_out(leader, now);
}

/* Whether all fits says which events may be switched in place. */
static void count_exclusive(struct ap_sched *s, const struct ap_event *leader, u32 n)
{
	u32 was = s->nr_exclusive;
	struct ap_list *l;

	s->nr_exclusive += is_exclusive(leader) ? n : 0;
	if (!was == !s->nr_exclusive)
		return;
	ap_list_for_each(l, &s->ctx->events)
		ap_event_changed(ap_list_entry(l, struct ap_event, in_ctx));
}

void ap_sched_queue(struct ap_event *leader)
{
	struct ap_sched *s = leader->sched;

	if (is_queued(leader) || ap_event_is_template(leader))
		return;
	ap_list_add_tail((leader->attr.flags & AP_PERF_PINNED) ? &s->pinned : &s->flexible,
			 &leader->queue);
	leader->planned = 0;
	count_exclusive(s, leader, 1);
}

void ap_sched_unqueue(struct ap_event *leader, u64 now)
{
	struct ap_sched *s = leader->sched;

	if (!is_queued(leader))
		return;
	ap_group_out(leader, now);
	ap_list_del(&leader->queue);
	count_exclusive(s, leader, -1U);
}

bool ap_sched_could_fit(const struct ap_event *leader, const struct ap_event *event)
{
	struct ap_pmu *pmu = event->pmu;
	struct ctx_plan p;
	struct ap_list *l;
	u64 tried = 0;
	u32 limit;

	if (ap_event_is_soft(event) && leader)
		return true;
	limit = pmu->counters ? pmu->counters(event->core, pmu) : 0;
	if (!limit || ap_event_is_soft(event))
		return true;
	memset(&p, 0, sizeof(p));
	p.counters = counter_mask(limit);
	if (!place(&p, (struct ap_event *)(uintptr_t)event, &tried))
		return false;
	if (!leader)
		return true;
	tried = 0;
	if (leader->pmu == pmu && !place(&p, (struct ap_event *)(uintptr_t)leader, &tried))
		return false;
	ap_list_for_each(l, &leader->siblings) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, sibling);

		tried = 0;
		if (e->pmu == pmu && !place(&p, e, &tried))
			return false;
	}
	return true;
}

void ap_sched_moved(struct ap_ctx *ctx, s32 cpu)
{
	u64 now = ap_ctx_now(ctx);
	struct ap_sched *s;
	struct ap_list *l;

	ap_list_for_each(l, &ctx->events) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_ctx);

		if (e->cpu >= 0)
			ap_event_update(e, now);
	}
	/* what was counted until now belongs to the CPU that it leaves */
	ctx->task->cpu = cpu;
	for (s = ctx->hard; s; s = s->next)
		if (!ap_sched_all_fits(s))
			resched(s, now);
	ap_list_for_each(l, &ctx->events) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_ctx);

		if (e->cpu < 0)
			continue;
		if (e->leader == e && ap_sched_all_fits(e->sched))
			ap_sched_update(e->sched, e, now);
		ap_event_changed(e);
	}
}

/* --- rotation */

/* The first group that is on goes behind all others, as in Linux. */
static void rotate(struct ap_sched *s, u64 now)
{
	struct ap_list *l, *first = s->flexible.next;

	ap_list_for_each(l, &s->flexible) {
		if (ap_list_entry(l, struct ap_event, queue)->state == AP_STATE_ACTIVE) {
			first = l;
			break;
		}
	}
	ap_list_del(first);
	ap_list_add_tail(&s->flexible, first);
	s->rotated = now;
	resched(s, now);
}

static u64 rotate_all(struct ap_core *core)
{
	u64 period = core->config.rotate_ns ? core->config.rotate_ns : AP_ROTATE_NS;
	u64 next = 0, now, left;
	struct ap_list todo;

	/* to rotate one may end another's waiting: nothing is held but the heads of lists */
	ap_list_init(&todo);
	while (!ap_list_empty(&core->waiting)) {
		struct ap_list *l = core->waiting.next;

		ap_list_del(l);
		ap_list_add_tail(&todo, l);
	}
	while (!ap_list_empty(&todo)) {
		struct ap_list *l = todo.next;
		struct ap_sched *s = ap_list_entry(l, struct ap_sched, waiting);

		ap_list_del(l);
		ap_list_add_tail(&core->waiting, l);
		now = ap_ctx_now(s->ctx);
		if (now - s->rotated >= period && !ap_list_empty(&s->flexible))
			rotate(s, now);
		if (ap_list_empty(&s->waiting))
			continue;
		left = now - s->rotated < period ? period - (now - s->rotated) : period;
		if (!next || left < next)
			next = left;
	}
	return next;
}

u64 ap_core_tick(struct ap_core *core)
{
	u64 next = rotate_all(core), samplers = ap_samplers_tick(core);
	u64 pages = ap_pages_tick(core);

	if (!next || (samplers && samplers < next))
		next = samplers;
	return !next || (pages && pages < next) ? pages : next;
}
