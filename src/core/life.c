/* SPDX-License-Identifier: MIT */
/*
 * How events come and go: made with a driver's part, put into a context and a group, taken out,
 * ended with their task.  An event whose task has ended keeps its place in its group, as in Linux:
 * a group of a dead task can still be read as one.
 */
#include "abi/errno.h"
#include "base/mem.h"
#include "core/internal.h"

#define EXCLUDE_ANY                                                                                \
	(AP_PERF_EXCLUDE_USER | AP_PERF_EXCLUDE_KERNEL | AP_PERF_EXCLUDE_HV |                      \
	 AP_PERF_EXCLUDE_IDLE | AP_PERF_EXCLUDE_HOST | AP_PERF_EXCLUDE_GUEST)

/* Registers beyond 64 bits each (x86: vector ones) are asked for in the upper half of a mask. */
#define EXTENDED_REGS (~0ULL << 32)

struct ap_event *ap_event_new(struct ap_core *core, const struct ap_perf_attr *attr, s32 cpu)
{
	struct ap_event *e = ap_alloc(core, sizeof(*e));

	if (!e)
		return NULL;
	e->core = core;
	e->id = core->next_id++;
	e->attr = *attr;
	e->cpu = cpu;
	e->state = (attr->flags & AP_PERF_DISABLED) ? AP_STATE_OFF : AP_STATE_INACTIVE;
	e->leader = e;
	ap_list_init(&e->siblings);
	ap_list_init(&e->sibling);
	ap_list_init(&e->queue);
	ap_list_init(&e->active);
	ap_list_init(&e->in_ctx);
	ap_list_init(&e->in_telling);
	ap_list_init(&e->all);
	ap_list_init(&e->owned);
	ap_list_init(&e->children);
	ap_list_init(&e->child);
	ap_list_init(&e->in_cgroup);
	ap_list_init(&e->of_buffer);
	ap_list_init(&e->arms);
	ap_list_init(&e->in_cpu_sampling);
	ap_list_init(&e->in_pages);
	e->lane = e->page_number = -1;
	return e;
}

static int try_pmu(struct ap_event *e, struct ap_pmu *pmu, struct ap_task *task)
{
	const struct ap_perf_attr *a = &e->attr;
	int r;

	e->hw = (struct ap_hw_event){ .constraint = ~0ULL, .counter = -1 };
	r = pmu->event_init(e->core, pmu, a, task, e->cpu, &e->hw);
	if (r)
		return r;
	e->hw.counter = -1;
	if (!e->hw.constraint)
		e->hw.constraint = ~0ULL;
	if ((a->sample_regs_user | a->sample_regs_intr) & EXTENDED_REGS)
		r = -AP_EOPNOTSUPP; /* whether or not they are sampled, as in Linux */
	else if ((pmu->flags & AP_PMU_NO_EXCLUDE) && (a->flags & EXCLUDE_ANY))
		r = -AP_EINVAL;
	else if (e->hw.kinds && !(task ? (void *)e->core->ops.raw : (void *)e->core->ops.cpu_raw))
		r = -AP_EOPNOTSUPP; /* a driver that the port has no counters for */
	else
		r = ap_kinds_get(e->core, ap_event_kinds(e));
	if (r) {
		if (pmu->event_fini)
			pmu->event_fini(e->core, &e->hw);
		return r;
	}
	e->pmu = pmu;
	if (!(pmu->flags & AP_PMU_SOFTWARE) &&
	    (a->flags & (AP_PERF_EXCLUDE_USER | AP_PERF_EXCLUDE_HOST)))
		e->hw.counts_nothing = true;
	return 0;
}

struct ap_pmu *ap_pmu_of_type(struct ap_core *core, u32 type)
{
	u32 i;

	for (i = 0; i < core->nr_pmus; i++)
		if (core->pmus[i]->type == type)
			return core->pmus[i];
	return NULL;
}

/* Generalized events are the CPU's, or of the PMU that the upper half of config names. */
static int init_generalized(struct ap_event *e, struct ap_task *task)
{
	u32 type = e->attr.config >> 32;
	struct ap_pmu *pmu = ap_pmu_of_type(e->core, AP_PERF_TYPE_RAW);

	if (type && type != AP_PERF_TYPE_RAW)
		return -AP_ENOENT;
	if (type)
		e->attr.config &= 0xffffffffULL;
	if (!pmu)
		return -AP_ENOENT;
	return try_pmu(e, pmu, task);
}

int ap_event_init_hw(struct ap_event *e, struct ap_task *task)
{
	struct ap_core *core = e->core;
	struct ap_pmu *pmu;
	int r = -AP_ENOENT;
	u32 i;

	if (e->attr.type == AP_PERF_TYPE_HARDWARE || e->attr.type == AP_PERF_TYPE_HW_CACHE) {
		r = init_generalized(e, task);
		if (r != -AP_ENOENT || e->attr.config >> 32)
			return r;
	} else {
		pmu = ap_pmu_of_type(core, e->attr.type);
		if (pmu)
			return try_pmu(e, pmu, task);
	}
	for (i = 0; i < core->nr_pmus && r == -AP_ENOENT; i++)
		r = try_pmu(e, core->pmus[i], task);
	return r;
}

/* --- in and out */

static void join_group(struct ap_event *e, struct ap_sched *sched, struct ap_event *leader, u64 now)
{
	e->leader = leader;
	ap_list_add_tail(&leader->siblings, &e->sibling);
	leader->nr_siblings++;
	leader->generation++;
	if (ap_event_is_soft(e) || leader->sched == sched)
		return;
	/* the first hardware member takes a group of software events along */
	ap_sched_unqueue(leader, now);
	leader->sched = sched;
	if (leader->state >= AP_STATE_INACTIVE)
		ap_sched_queue(leader);
}

void ap_event_attach(struct ap_event *e, struct ap_ctx *ctx, struct ap_sched *sched,
		     struct ap_event *leader)
{
	u64 now = ap_ctx_now(ctx);

	e->ctx = ctx;
	e->target = ctx->task ? ctx->task->serial : 0;
	e->stamp = now;
	ap_list_add_tail(&ctx->events, &e->in_ctx);
	if (ctx->task && e->cpu >= 0)
		ctx->nr_bound++;
	if (!ctx->task && e->hw.wants_tasks)
		ctx->core->nr_cpu_knowing++;
	ap_event_begin_telling(e);
	if (leader) {
		join_group(e, sched, leader, now);
	} else {
		e->sched = sched;
		if (e->state >= AP_STATE_INACTIVE)
			ap_sched_queue(e);
	}
	if (e->leader->state >= AP_STATE_INACTIVE)
		ap_sched_update(e->leader->sched, e->leader, now);
	ap_group_changed(e->leader);
}

static void promote(struct ap_event *e, u64 now)
{
	struct ap_core *core = e->core;

	e->leader = e;
	if (ap_event_is_template(e))
		ap_list_add_tail(&core->cgroups, &e->in_cgroup);
	if (!e->ctx || ap_sched_of(e->ctx, e->pmu, &e->sched))
		return;
	ap_event_update(e, now);
	if (e->state < AP_STATE_INACTIVE)
		return;
	ap_sched_queue(e);
	ap_sched_update(e->sched, e, now);
}

/* Members of a leader that goes become leaders, enabled as they are themselves. */
static void dissolve(struct ap_event *leader)
{
	u64 now = 0;

	while (!ap_list_empty(&leader->siblings)) {
		struct ap_event *e = ap_list_entry(leader->siblings.next, struct ap_event, sibling);

		if (e->ctx) {
			now = ap_ctx_now(e->ctx);
			ap_event_update(e, now);
		}
		ap_list_del(&e->sibling);
		promote(e, now);
		ap_event_changed(e);
	}
	leader->nr_siblings = 0;
}

static void leave_ctx(struct ap_event *e)
{
	if (e->ctx->task && e->cpu >= 0)
		e->ctx->nr_bound--;
	if (!e->ctx->task && e->hw.wants_tasks)
		e->core->nr_cpu_knowing--;
	ap_event_end_telling(e);
	ap_list_del(&e->in_ctx);
	e->ctx = NULL;
}

void ap_event_detach(struct ap_event *e)
{
	struct ap_event *leader = e->leader;
	u64 now = e->ctx ? ap_ctx_now(e->ctx) : 0;

	if (e->ctx && leader == e)
		ap_sched_unqueue(e, now);
	if (e->ctx)
		ap_event_stop(e, now);
	if (leader != e) {
		ap_list_del(&e->sibling);
		leader->nr_siblings--;
		leader->generation++;
		e->leader = e;
	} else {
		dissolve(e);
	}
	if (e->ctx) {
		struct ap_sched *s = leader->sched;

		leave_ctx(e);
		if (s)
			ap_sched_update(s, leader, now);
	}
	e->sched = NULL;
	if (leader != e)
		ap_group_changed(leader);
}

void ap_event_end(struct ap_event *e, u64 now)
{
	struct ap_sched *s = e->leader->sched;
	const struct ap_task *task = e->ctx->task;

	if (e->leader == e)
		ap_sched_unqueue(e, now);
	ap_group_update(e, now);
	ap_event_stop(e, now);
	e->state = AP_STATE_EXIT;
	e->is_unseen = ap_event_is_unseen(e);
	leave_ctx(e);
	if (task)
		ap_event_tell_part(e, task);
	ap_samplers_free(e);
	if (s)
		ap_sched_update(s, e->leader, now);
	if (e->leader == e)
		e->sched = NULL;
	ap_group_changed(e);
	ap_event_poll_changed(e);
}

void ap_event_free(struct ap_event *e)
{
	struct ap_core *core = e->core;

	ap_samplers_free(e);
	ap_page_leave(e);
	ap_buffer_leave(e);
	if (e->pmu) {
		if (e->pmu->event_fini)
			e->pmu->event_fini(core, &e->hw);
		ap_kinds_put(core, ap_event_kinds(e));
	}
	if (ap_event_is_template(e) && core->ops.cgroup_put)
		core->ops.cgroup_put(core->world, e->cgroup);
	if (e->filter)
		ap_free(core, e->filter, strlen(e->filter) + 1);
	ap_list_del(&e->in_cgroup);
	ap_list_del(&e->owned);
	ap_list_del(&e->child);
	ap_list_del(&e->all);
	ap_free(core, e, sizeof(*e));
}

/* --- clones */

void ap_event_fold(struct ap_event *clone)
{
	struct ap_event *parent = clone->parent;
	const struct ap_task *task = clone->ctx ? clone->ctx->task : NULL;

	clone->is_unseen = ap_event_is_unseen(clone);
	ap_event_detach(clone);
	if (task)
		ap_event_tell_part(clone, task);
	parent->lost += ap_samplers_lost(clone);
	parent->child_count += clone->count;
	parent->child_enabled += clone->enabled;
	parent->child_running += clone->running;
	ap_event_free(clone);
	ap_event_changed(parent);
	/* it may have been the last that counted */
	if (parent->state == AP_STATE_EXIT)
		ap_event_poll_changed(parent);
}

void ap_event_drop_clones(struct ap_event *e)
{
	while (!ap_list_empty(&e->children)) {
		struct ap_event *clone = ap_list_entry(e->children.next, struct ap_event, child);

		ap_event_detach(clone);
		ap_event_free(clone);
	}
}

/* What a simple event counts to its end nobody sees, and nobody else's times follow from it. */
void ap_core_release(struct ap_core *core, struct ap_event *e)
{
	const struct ap_stamp at = { .event = e, .now = e->stamp, .raw = e->hw.start };

	if (ap_event_is_simple(e))
		core->at = &at;
	ap_event_drop_clones(e);
	ap_event_detach(e);
	core->at = NULL;
	ap_event_free(e);
}
