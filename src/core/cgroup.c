/* SPDX-License-Identifier: MIT */
/*
 * Events on a cgroup and a CPU.  Nobody switches contexts here, so nobody sees a cgroup arrive on a
 * CPU;  instead each task of the cgroup gets a clone that counts while the task is on that CPU.
 * The event that was opened counts nothing itself: it is the sum of its clones, as an inherited one
 * is.  All tasks must be known to the core for that (ap_core_wants_tasks).
 */
#include "abi/errno.h"
#include "core/internal.h"

static bool has(struct ap_cgroup *cgroup, const struct ap_task *task)
{
	struct ap_core *core = task->core;

	return core->ops.cgroup_has(core->world, cgroup, task->host);
}

static int spread_member(struct ap_event *e)
{
	struct ap_event *leader = e->leader, *clone;
	struct ap_list *l;
	int r;

	ap_list_for_each(l, &leader->children) {
		struct ap_event *of = ap_list_entry(l, struct ap_event, child);

		r = ap_event_clone(e, of->ctx->task, of, &clone);
		if (r)
			return r;
		of->generation = leader->generation;
	}
	return 0;
}

int ap_cgroup_spread(struct ap_event *e)
{
	struct ap_core *core = e->core;
	struct ap_event *clone;
	struct ap_list *l;
	int r;

	if (e->leader != e)
		return spread_member(e);
	ap_list_add_tail(&core->cgroups, &e->in_cgroup);
	ap_list_for_each(l, &core->tasks) {
		struct ap_task *task = ap_list_entry(l, struct ap_task, all);

		if (!has(e->cgroup, task))
			continue;
		r = ap_event_clone(e, task, NULL, &clone);
		if (r)
			return r;
	}
	return 0;
}

int ap_cgroup_task(struct ap_task *task)
{
	struct ap_list *l;
	int r;

	ap_list_for_each(l, &task->core->cgroups) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_cgroup);

		if (!has(e->cgroup, task))
			continue;
		r = ap_group_clone(e, task);
		if (r)
			return r;
	}
	return 0;
}

int ap_core_task_moved_cgroup(struct ap_core *core, struct ap_task *task)
{
	struct ap_list *l;

	(void)core;
	for (l = task->ctx.events.next; l != &task->ctx.events;) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_ctx);

		l = l->next;
		if (e->parent && e->parent->cgroup && !has(e->parent->cgroup, task))
			ap_event_fold(e);
	}
	ap_list_for_each(l, &task->core->cgroups) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_cgroup);
		struct ap_list *c;
		bool known = false;
		int r;

		ap_list_for_each(c, &task->ctx.events)
			known |= ap_list_entry(c, struct ap_event, in_ctx)->parent == e;
		r = known || !has(e->cgroup, task) ? 0 : ap_group_clone(e, task);
		if (r)
			return r;
	}
	return 0;
}
