/* SPDX-License-Identifier: MIT */
/*
 * What each task has counted of an inherited event: told while the task is there, as read(2) knows
 * the sum alone when it has gone.  Owns the names of tasks, which follow COMM.
 */
#include "base/mem.h"
#include "core/internal.h"

void ap_task_set_comm(struct ap_task *task, const char *comm)
{
	size_t i;

	for (i = 0; i < sizeof(task->comm) - 1 && comm[i]; i++)
		task->comm[i] = comm[i];
	memset(task->comm + i, 0, sizeof(task->comm) - i);
}

bool ap_event_is_unseen(const struct ap_event *e)
{
	const struct ap_core *core = e->core;

	if (!e->ctx || !e->ctx->task)
		return e->is_unseen;
	return core->ops.is_unseen && (e->hw.kinds | e->hw.needs) &&
	       core->ops.is_unseen(core->world, e->ctx->task->host, e->hw.kinds | e->hw.needs);
}

void ap_event_tell_part(struct ap_event *e, const struct ap_task *task)
{
	const struct ap_core *core = e->core;
	struct ap_event *opened = ap_event_opened(e);
	const struct ap_part part = { .task = task->serial,
				      .tid = ap_names_of(e, task).tid,
				      .comm = task->comm,
				      .count = ap_event_own_count(e),
				      .enabled = e->enabled,
				      .running = ap_event_is_unseen(e) ? 0 : e->running };

	if (opened->is_split && core->ops.part)
		core->ops.part(core->world, opened, &part);
}

void ap_core_split(struct ap_core *core, struct ap_event *event)
{
	(void)core;
	event->is_split = true;
}

/* What ended was told then. */
static void tell_living(struct ap_event *e)
{
	if (!e->ctx || !e->ctx->task)
		return;
	ap_event_update(e, ap_ctx_now(e->ctx));
	ap_event_tell_part(e, e->ctx->task);
}

void ap_core_tell_parts(struct ap_core *core, struct ap_event *event)
{
	struct ap_list *l;

	(void)core;
	tell_living(event);
	ap_list_for_each(l, &event->children)
		tell_living(ap_list_entry(l, struct ap_event, child));
}
