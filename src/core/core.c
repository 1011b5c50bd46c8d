/* SPDX-License-Identifier: MIT */
/*
 * The subsystem's life: PMUs, tasks as the host tells them, which raw kinds are wanted.  Tasks that
 * nobody counts need not be told, so nothing here looks for one.
 */
#include "abi/errno.h"
#include "base/mem.h"
#include "core/internal.h"

void *ap_alloc(struct ap_core *core, u64 size)
{
	return core->ops.alloc(core->world, size);
}

void ap_free(struct ap_core *core, void *p, u64 size)
{
	if (p)
		core->ops.free(core->world, p, size);
}

int ap_core_new(struct ap_core **out, const struct ap_core_ops *ops, void *world,
		const struct ap_core_config *config)
{
	struct ap_core *core = ops->alloc(world, sizeof(*core));
	u32 ncpus = ops->ncpus(world);

	if (!core)
		return -AP_ENOMEM;
	core->cpu_ctx = ops->alloc(world, ncpus * sizeof(struct ap_ctx *));
	if (!core->cpu_ctx) {
		ops->free(world, core, sizeof(*core));
		return -AP_ENOMEM;
	}
	core->ops = *ops;
	core->world = world;
	core->config = *config;
	core->ncpus = ncpus;
	core->next_type = AP_DYNAMIC_TYPE;
	core->next_id = AP_EVENT_ID_FIRST;
	core->next_serial = 1;
	core->kinds = AP_KINDS_BASE;
	ap_list_init(&core->tasks);
	ap_list_init(&core->events);
	ap_list_init(&core->waiting);
	ap_list_init(&core->cgroups);
	ap_list_init(&core->buffers);
	ap_list_init(&core->pages);
	ap_list_init(&core->armed);
	ap_list_init(&core->cpu_sampling);
	*out = core;
	return 0;
}

void ap_core_free(struct ap_core *core)
{
	u32 i;

	while (!ap_list_empty(&core->tasks))
		ap_core_exit(core, ap_list_entry(core->tasks.next, struct ap_task, all));
	while (!ap_list_empty(&core->events))
		ap_core_release(core, ap_list_entry(core->events.next, struct ap_event, all));
	for (i = 0; i < core->ncpus; i++) {
		if (!core->cpu_ctx[i])
			continue;
		ap_ctx_fini(core->cpu_ctx[i]);
		ap_free(core, core->cpu_ctx[i], sizeof(struct ap_ctx));
	}
	ap_free(core, core->cpu_ctx, core->ncpus * sizeof(struct ap_ctx *));
	core->ops.free(core->world, core, sizeof(*core));
}

int ap_core_register_pmu(struct ap_core *core, struct ap_pmu *pmu)
{
	if (core->nr_pmus == AP_PMUS_MAX)
		return -AP_ENOSPC;
	if (!pmu->type)
		pmu->type = core->next_type++;
	core->pmus[core->nr_pmus++] = pmu;
	return 0;
}

struct ap_core_config *ap_core_config(struct ap_core *core)
{
	return &core->config;
}

const struct ap_core_ops *ap_core_world(struct ap_core *core, void **world)
{
	*world = core->world;
	return &core->ops;
}

static int want_kinds(struct ap_core *core, u64 kinds)
{
	int r = 0;

	if (kinds != core->kinds && core->ops.want_kinds)
		r = core->ops.want_kinds(core->world, kinds);
	if (!r)
		core->kinds = kinds;
	return r;
}

u64 ap_event_kinds(const struct ap_event *e)
{
	const struct ap_perf_attr *a = &e->attr;
	bool has_calls = a->sample_period && a->sample_type & AP_PERF_SAMPLE_BRANCH_STACK &&
			 a->branch_sample_type & AP_PERF_SAMPLE_BRANCH_CALL_STACK;

	bool has_price = a->sample_period && e->hw.kinds & AP_KINDS_REFERENCES &&
			 a->sample_type & (AP_PERF_SAMPLE_WEIGHT | AP_PERF_SAMPLE_WEIGHT_STRUCT);

	return e->hw.kinds | e->hw.needs | (has_calls ? AP_KINDS_CALL_STACK : 0) |
	       (has_price ? AP_KINDS_ANSWERS : 0);
}

/* Those that every session counts are always wanted; of the others users are counted. */
int ap_kinds_get(struct ap_core *core, u64 kinds)
{
	u64 rest;
	int r = want_kinds(core, core->kinds | kinds);

	if (r)
		return r;
	for (rest = kinds; rest; rest &= rest - 1)
		core->nr_kind[__builtin_ctzll(rest)]++;
	return 0;
}

void ap_kinds_put(struct ap_core *core, u64 kinds)
{
	u64 rest, unwanted = 0;

	for (rest = kinds; rest; rest &= rest - 1)
		if (!--core->nr_kind[__builtin_ctzll(rest)])
			unwanted |= rest & -rest;
	/* a world that cannot count less counts on, which does no harm */
	if (want_kinds(core, core->kinds & ~(unwanted & ~AP_KINDS_BASE)))
		return;
}

int ap_core_task_new(struct ap_core *core, const struct ap_task_id *id, void *host,
		     struct ap_task **out)
{
	struct ap_task *task = ap_alloc(core, sizeof(*task));
	int r;

	if (!task)
		return -AP_ENOMEM;
	task->core = core;
	task->id = *id;
	task->host = host;
	task->serial = core->next_serial++;
	task->cpu = -1;
	ap_list_init(&task->owned);
	ap_list_init(&task->arms);
	ap_list_add_tail(&core->tasks, &task->all);
	ap_ctx_init(&task->ctx, core, task, -1);
	r = ap_samplers_task(task);
	if (!r)
		r = ap_cgroup_task(task);
	if (r) {
		ap_core_exit(core, task);
		return r;
	}
	*out = task;
	return 0;
}

void *ap_task_host(const struct ap_task *task)
{
	return task->host;
}

struct ap_task_id ap_task_id(const struct ap_task *task)
{
	return task->id;
}

bool ap_task_is_watched(const struct ap_task *task)
{
	return !ap_list_empty(&task->ctx.events) || ap_core_wants_tasks(task->core);
}

bool ap_task_counts_on_a_cpu(const struct ap_task *task)
{
	return task->ctx.nr_bound;
}

bool ap_core_has_cgroups(const struct ap_core *core)
{
	return !ap_list_empty(&core->cgroups);
}

bool ap_core_wants_tasks(const struct ap_core *core)
{
	return !ap_list_empty(&core->cgroups) || !ap_list_empty(&core->cpu_sampling) ||
	       core->nr_cpu_knowing;
}

void ap_core_task_on_cpu(struct ap_core *core, struct ap_task *task, s32 cpu)
{
	(void)core;
	if (cpu == task->cpu)
		return;
	if (task->ctx.nr_bound)
		ap_sched_moved(&task->ctx, cpu);
	task->cpu = cpu;
	ap_samplers_moved(task);
}

void ap_core_exit(struct ap_core *core, struct ap_task *task)
{
	struct ap_ctx *ctx = &task->ctx;
	struct ap_list *l, *n;
	u64 now = ap_list_empty(&ctx->events) ? 0 : ap_ctx_now(ctx);

	ap_tell_exit(task);
	ap_list_for_each(l, &ctx->events) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_ctx);

		if (e->leader == e)
			ap_sched_unqueue(e, now);
	}
	/* all of them, while groups are whole */
	ap_list_for_each(l, &ctx->events) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_ctx);

		if (e->parent && (e->attr.flags & AP_PERF_INHERIT_STAT))
			ap_tell_read(e);
	}
	/* members first: a clone's leader must outlive them */
	ap_list_for_each_safe(l, n, &ctx->events) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_ctx);

		if (e->leader != e && e->parent)
			ap_event_fold(e);
	}
	while (!ap_list_empty(&ctx->events)) {
		struct ap_event *e = ap_list_entry(ctx->events.next, struct ap_event, in_ctx);

		if (e->parent)
			ap_event_fold(e);
		else
			ap_event_end(e, now);
	}
	ap_list_for_each_safe(l, n, &task->owned) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, owned);

		e->owner = NULL;
		ap_list_del(&e->owned);
	}
	ap_samplers_leave(task);
	ap_ctx_fini(ctx);
	ap_list_del(&task->all);
	ap_free(core, task, sizeof(*task));
}
