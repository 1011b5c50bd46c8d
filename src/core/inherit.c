/* SPDX-License-Identifier: MIT */
/*
 * fork, exec: which events follow a task.  All clones hang on the event that was opened, never on
 * one another, so that generations need no chain; their state is that of the event that they were
 * cloned from, enabled or not, and not what the attr said.
 */
#include "abi/errno.h"
#include "core/internal.h"

int ap_event_clone(struct ap_event *of, struct ap_task *task, struct ap_event *leader,
		   struct ap_event **out)
{
	struct ap_event *parent = of->parent ? of->parent : of;
	struct ap_core *core = of->core;
	struct ap_event *e = ap_event_new(core, &parent->attr, parent->cpu);
	struct ap_sched *sched;
	int r;

	if (!e)
		return -AP_ENOMEM;
	e->parent = parent;
	e->first_period = ap_samplers_period(of);
	r = ap_event_init_hw(e, task);
	if (!r && parent->filter)
		r = ap_event_set_filter(e, parent->filter);
	if (!r)
		r = ap_sched_of(&task->ctx, e->pmu, &sched);
	if (!r)
		r = ap_samplers_make(e, task);
	if (r) {
		ap_event_free(e);
		return r;
	}
	e->state = of->state >= AP_STATE_INACTIVE ? AP_STATE_INACTIVE : AP_STATE_OFF;
	ap_list_add_tail(&parent->children, &e->child);
	ap_event_attach(e, &task->ctx, sched, leader);
	ap_event_changed(parent);
	*out = e;
	return 0;
}

int ap_group_clone(struct ap_event *of, struct ap_task *task)
{
	struct ap_event *leader, *e;
	struct ap_list *l;
	int r = ap_event_clone(of, task, NULL, &leader);

	if (r)
		return r;
	ap_list_for_each(l, &of->siblings) {
		struct ap_event *member = ap_list_entry(l, struct ap_event, sibling);

		if (!member->ctx)
			continue; /* removed by an exec */
		r = ap_event_clone(member, task, leader, &e);
		if (r)
			return r;
	}
	leader->generation = of->generation;
	return 0;
}

/* Of cgroups' clones the new task has got its own. */
static bool is_inherited(const struct ap_event *e, bool is_thread)
{
	if (!(e->attr.flags & AP_PERF_INHERIT) || (e->parent && e->parent->cgroup))
		return false;
	return is_thread || !(e->attr.flags & AP_PERF_INHERIT_THREAD);
}

static void drop_inherited(struct ap_task *child)
{
	struct ap_list *l, *n;

	ap_list_for_each_safe(l, n, &child->ctx.events) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_ctx);

		if (e->parent && !e->parent->cgroup) {
			ap_event_detach(e);
			ap_event_free(e);
		}
	}
}

static bool takes_turns(const struct ap_ctx *ctx)
{
	const struct ap_sched *s;

	for (s = ctx->hard; s; s = s->next)
		if (!ap_list_empty(&s->waiting))
			return true;
	return false;
}

/* A group that the child of this call inherits, and that may have to wait for counters. */
static bool is_flexible(const struct ap_event *e, bool is_thread)
{
	return e->leader == e && is_inherited(e, is_thread) && e->sched != &e->ctx->soft &&
	       !(e->attr.flags & AP_PERF_PINNED);
}

/*
 * Of the groups that take turns the first ones are cloned last.  Most children of a shell are gone
 * before turns change: all would begin with the same groups, which alone would be counted.
 */
static u32 first_flexible(struct ap_task *parent, bool is_thread)
{
	struct ap_list *l;
	u32 turn = 0, n = 0;

	ap_list_for_each(l, &parent->ctx.events)
		n += is_flexible(ap_list_entry(l, struct ap_event, in_ctx), is_thread);
	if (n && takes_turns(&parent->ctx))
		turn = parent->ctx.turn++ % n;
	return turn;
}

/* Those that take turns from the first on, and all others; or those that take turns before it. */
static int clone_some(struct ap_task *parent, struct ap_task *child, bool is_thread, u32 first,
		      bool is_before)
{
	struct ap_list *l;
	u32 i = 0;
	int r;

	ap_list_for_each(l, &parent->ctx.events) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_ctx);
		bool before = is_flexible(e, is_thread) && i++ < first;

		if (e->leader != e || !is_inherited(e, is_thread) || before != is_before)
			continue;
		r = ap_group_clone(e, child);
		if (r)
			return r;
	}
	return 0;
}

int ap_core_fork(struct ap_core *core, struct ap_task *parent, struct ap_task *child,
		 bool is_thread)
{
	u32 first = first_flexible(parent, is_thread);
	int r;

	(void)core;
	ap_task_set_comm(child, parent->comm);
	r = clone_some(parent, child, is_thread, first, false);
	if (!r)
		r = clone_some(parent, child, is_thread, first, true);
	if (r)
		drop_inherited(child);
	return r;
}

void ap_core_exec(struct ap_core *core, struct ap_task *task)
{
	struct ap_list *l, *n;
	u64 now;

	(void)core;
	ap_list_for_each(l, &task->ctx.events) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_ctx);

		if (!(e->attr.flags & AP_PERF_ENABLE_ON_EXEC))
			continue;
		e->attr.flags &= ~AP_PERF_ENABLE_ON_EXEC; /* the next exec only */
		if (e->state == AP_STATE_OFF || e->state == AP_STATE_ERROR)
			ap_event_enable(e);
	}
	ap_list_for_each_safe(l, n, &task->ctx.events) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_ctx);

		if (!(e->attr.flags & AP_PERF_REMOVE_ON_EXEC))
			continue;
		now = ap_ctx_now(&task->ctx);
		if (e->parent) {
			ap_event_fold(e);
		} else {
			ap_event_end(e, now);
			e->owner = NULL;
			ap_list_del(&e->owned);
		}
	}
}
