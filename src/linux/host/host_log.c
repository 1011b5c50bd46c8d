/* SPDX-License-Identifier: MIT */
/*
 * What tasks did to their own events in place (struct ap_log, abi/service.h).  The core does it
 * after them, with the counts and the time that they had then, before it has anything else to do
 * with their events.
 *
 * A task whose log is held does nothing in place: it asks, and waits for its turn.  So between a
 * sync and letting go its events are the core's alone, and what is read of its counters is not
 * older than what it did.  Nobody waits for a task: its entry is committed by one instruction that
 * fails when the log is held.
 */
#include <string.h>

#include "linux/host/host_internal.h"

static struct ap_log *log_of(const struct ap_host_task *t)
{
	if (!t->gen || !ap_host_task_is_in_slot(t))
		return NULL;
	return (struct ap_log *)((char *)ap_host_slot(t->seg, t->slot) + AP_LOG_OFF);
}

/* Who asks does nothing else meanwhile. */
void ap_host_hold(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_log *log = t->is_held || t == host->asker ? NULL : log_of(t);

	if (!log)
		return;
	__atomic_fetch_or(&log->state, AP_LOG_HOLD, __ATOMIC_SEQ_CST);
	t->is_held = true;
	t->held_next = host->held;
	host->held = t;
}

static void release(struct ap_host_task *t)
{
	struct ap_log *log = log_of(t);

	t->is_held = false;
	if (log)
		__atomic_fetch_add(&log->state, AP_LOG_TURN - AP_LOG_HOLD, __ATOMIC_SEQ_CST);
}

void ap_host_let_go(struct ap_host *host)
{
	while (host->held) {
		struct ap_host_task *t = host->held;

		host->held = t->held_next;
		release(t);
	}
}

void ap_host_log_leaves(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_host_task **p = &host->held;

	t->log_at = 0;
	if (!t->is_held)
		return;
	while (*p != t)
		p = &(*p)->held_next;
	*p = t->held_next;
	release(t);
}

/*
 * The program can write there: its counts are no more than it has now, and its time as in a
 * request.
 */
static void replay(struct ap_host *host, struct ap_host_task *t, const struct ap_log_entry *entry)
{
	static const u32 cmd[] = { [AP_LOG_ENABLE] = AP_PERF_IOC_ENABLE,
				   [AP_LOG_DISABLE] = AP_PERF_IOC_DISABLE,
				   [AP_LOG_RESET] = AP_PERF_IOC_RESET };
	struct ap_host_file *f = ap_host_file_find(host, entry->inode);
	struct ap_event_public event;
	const u64 *now;
	u64 most = 0;

	if (f && f->perfctr && entry->op == AP_LOG_CLOSE) {
		ap_host_file_closed_in_place(host, f);
		return;
	}
	if (!f || !f->event || ap_event_task(f->event) != t->core)
		return;
	if (entry->op == AP_LOG_CLOSE) {
		ap_host_file_closed_in_place(host, f);
		return;
	}
	if (!entry->op || entry->op >= AP_ARRAY_SIZE(cmd))
		return;
	ap_event_public(f->event, &event);
	now = ap_host_task_raw(host, t);
	for (u32 k = 0; k < AP_RAW_N; k++)
		if (event.kinds & AP_KIND_BIT(k))
			most += now[k];
	ap_host_task_time_is(t, entry->time);
	ap_core_replay(host->core, f->event, cmd[entry->op], entry->raw < most ? entry->raw : most,
		       entry->time < t->cpu_time ? entry->time : t->cpu_time);
}

void ap_host_sync(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_log *log = log_of(t);
	const struct ap_log_entry *entries;
	struct ap_log_entry entry;
	u64 head;

	if (!log)
		return;
	ap_host_hold(host, t);
	head = __atomic_load_n(&log->state, __ATOMIC_ACQUIRE) & AP_LOG_HEAD;
	if (head == t->log_at)
		return;
	/* no task that keeps the rules writes more */
	if (((head - t->log_at) & AP_LOG_HEAD) > AP_LOG_MAX)
		t->log_at = head;
	entries = (const void *)((const char *)ap_host_slot(t->seg, t->slot) + AP_SLOT_LOG_OFF);
	/* what was read before the task was held may be older than the entries */
	t->raw_at = host->epoch - 1;
	while (t->log_at != head) {
		memcpy(&entry, &entries[t->log_at % AP_LOG_MAX], sizeof(entry));
		t->log_at = (t->log_at + 1) & AP_LOG_HEAD;
		replay(host, t, &entry);
	}
	__atomic_store_n(&log->done, t->log_at, __ATOMIC_RELEASE);
}

void ap_host_sync_event(struct ap_host *host, const struct ap_event *event)
{
	struct ap_task *task = event ? ap_event_task(event) : NULL;

	if (task)
		ap_host_sync(host, ap_task_host(task));
}
