/* SPDX-License-Identifier: MIT */
/*
 * What follows from what happens to a task: it gets a name or a place, it asks for an exec, its image is replaced, it
 * ends.  For each of these there is one array of parts.  They are done from top to bottom, and a comment says what a
 * part needs of those before it.  Parts without a comment may stand anywhere in their array.
 *
 * host_task.c goes through the arrays without knowing what is in them, so the parts may use it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inject/proc.h"
#include "linux/host/host_internal.h"

/* --- parts that are no file's own */

static void carry_records(struct ap_host *host, struct ap_host_task *t)
{
	(void)t;
	ap_host_carry_all(host);
}

static void new_moment(struct ap_host *host, struct ap_host_task *t)
{
	(void)t;
	host->epoch++;
}

static void settle_files(struct ap_host *host, struct ap_host_task *t)
{
	(void)t;
	ap_host_settle_all(host);
}

static void read_counts(struct ap_host *host, struct ap_host_task *t)
{
	(void)ap_host_task_raw(host, t);
}

/* A reading opens what is not open yet; from here on there is nothing to open any more. */
static void read_last_time(struct ap_host *host, struct ap_host_task *t)
{
	/* what the task has said itself is newer */
	if (t != host->asker || !host->asker_is_timed)
		ap_host_clock_last(t);
	t->time_at = host->epoch;
	t->is_ending = true;
}

static void let_all_go(struct ap_host *host, struct ap_host_task *t)
{
	(void)t;
	ap_host_let_go(host);
}

static void exit_core(struct ap_host *host, struct ap_host_task *t)
{
	ap_core_exit(host->core, t->core);
}

/* It may put events on, which share counters from then on. */
static void exec_core(struct ap_host *host, struct ap_host_task *t)
{
	ap_core_exec(host->core, t->core);
	host->is_changed = true;
}

static void clear_orders(struct ap_host *host, struct ap_host_task *t)
{
	(void)host;
	if (ap_host_task_is_in_slot(t) && t->gen)
		ap_host_slot(t->seg, t->slot)->orders = 0;
}

static void tell_task(struct ap_host *host, struct ap_host_task *t)
{
	ap_host_task_order(t);
	ap_host_publish_task(host, t->core);
}

static void publish_if_watched(struct ap_host *host, struct ap_host_task *t)
{
	if (ap_task_is_watched(t->core))
		ap_host_publish_task(host, t->core);
}

static void look_for_closed_files(struct ap_host *host, struct ap_host_task *t)
{
	(void)t;
	ap_host_files_ended(host);
}

static void keep_slot(struct ap_host *host, struct ap_host_task *t)
{
	(void)host;
	ap_host_sum_slot(t->seg, t->slot, t->parting);
	ap_host_task_note_unseen(t);
}

static bool has_models(const u64 raw[AP_RAW_N])
{
	for (u32 k = AP_KIND_CYCLES; k < AP_RAW_N; k++)
		if (raw[k])
			return true;
	return false;
}

static void keep_counts(struct ap_host *host, struct ap_host_task *t)
{
	(void)ap_host_task_raw(host, t);
	(void)ap_host_task_time(host, t);
	memcpy(t->carried, t->raw, sizeof(t->carried));
	t->was_seen |= !t->is_unseen && has_models(t->raw);
}

static int begin(struct ap_host *host, struct ap_host_task *t, bool is_born)
{
	int ret = ap_host_trace_task(host, t, is_born);

	return ret ? ret : ap_host_watch_task(host, t, is_born);
}

/* --- the arrays */

static ap_host_part *const named[] = { ap_host_samplers_named, NULL };

/* It has a slot for the first time. */
static ap_host_part *const placed[] = {
	/* what events of CPUs have given it before it had a place */
	ap_host_samplers_placed,
	ap_host_task_found_on_cpu,
	/* what it brought along can be read in place from now on; the CPU's events are among that */
	publish_if_watched,
	NULL,
};

static ap_host_part *const ended[] = {
	/* records that it wrote are older than those about its end */
	carry_records,
	/* those about its end may go where it was writing */
	ap_host_writer_ended,
	/* children that have told nothing have a parent until now */
	ap_host_births,
	/* what it has counted is looked at for the last time: first what it did in place, which changes what counts */
	new_moment,
	ap_host_sync,
	read_counts,
	/* how it ended decides what tracepoints have counted, which goes to CPUs then */
	ap_host_trace_end,
	ap_host_trace_to_cpus,
	ap_host_watch_to_cpus,
	/* whether it has counted decides about a time of 0 */
	read_last_time,
	ap_host_prompts_end,
	/* the diary may name faults, which the last reading of the kernel's events is to have */
	ap_host_diary_end,
	ap_host_world_last,
	/* feeds what was read above; the core's events are there still */
	ap_host_perfctr_exit,
	/* all counts and times are the last ones: its events stop, and clones go to their parents */
	exit_core,
	/* the core has disarmed what it knew; what is left has no task any more */
	ap_host_watch_forget,
	ap_host_kick_forget,
	/* nothing reads these descriptors behind the core's end */
	ap_host_world_fini,
	ap_host_clock_fini,
	ap_host_unmapping_forget,
	/* the core's end may have given orders */
	clear_orders,
	/* the last that wants the slot: the log is found by it */
	ap_host_log_leaves,
	NULL,
};

/* An exec is asked for: what the slot has is read, since it is gone when we hear whether it happened. */
static ap_host_part *const parting[] = {
	new_moment,
	/* what it did in place is done before its counts are read; it waits for us, and need not be held */
	ap_host_sync,
	let_all_go,
	keep_slot,
	ap_host_samplers_parting,
	ap_host_world_parting,
	ap_host_trace_parting,
	ap_host_watch_parting,
	NULL,
};

/* It counts in another slot from now on; what it has counted stays with it. */
static ap_host_part *const leaving[] = {
	/* as above; files that were closed end while their events still count here */
	new_moment,
	ap_host_sync,
	settle_files,
	keep_counts,
	/* these go by t->carried */
	ap_host_samplers_leave,
	ap_host_world_leave,
	/* samplers have left the slot under whose name it wrote */
	ap_host_writer_ended,
	ap_host_trace_leave,
	ap_host_watch_leave,
	/* finds the log by the old slot */
	ap_host_log_leaves,
	NULL,
};

/* It is in its new slot, which has counted nothing. */
static ap_host_part *const moved[] = {
	/* its new segment is told before code of it can be asked what it minds */
	ap_host_watch_tell,
	ap_host_samplers_placed,
	ap_host_task_found_on_cpu,
	/* what the core wants to be told is known by now */
	tell_task,
	NULL,
};

static ap_host_part *const execed[] = {
	/* as when it has moved */
	ap_host_watch_tell,
	ap_host_samplers_placed,
	ap_host_task_found_on_cpu,
	/* switches events on, and takes off those that no exec keeps; they have a place to count in by now */
	exec_core,
	/* the events that were switched on get the records and the counts of the exec itself */
	ap_host_image,
	ap_host_trace_execed,
	tell_task,
	ap_host_perfctr_exec,
	/* descriptors with close-on-exec */
	look_for_closed_files,
	NULL,
};

/* All tasks were looked at: what they have counted in words of their own goes to the CPUs. */
static ap_host_part *const looked[] = { ap_host_trace_to_cpus, ap_host_watch_to_cpus, NULL };

const struct ap_host_life ap_host_life = {
	.begin = begin,
	.named = named,
	.placed = placed,
	.leaving = leaving,
	.execed = execed,
	.ended = ended,
	.looked = looked,
};

/* --- what the session tells us */

bool ap_host_task_waits(struct ap_host *host, struct ap_host_task *t)
{
	if (!t->has_parting || !ap_host_task_is_alive(t))
		return false;
	ap_host_log_leaves(host, t);
	ap_host_task_place(t, NULL, 0);
	return true;
}

void ap_host_exec_asked(struct ap_host *host, u32 seg, u32 slot)
{
	struct ap_host_seg *s = ap_host_seg(host, seg);
	struct ap_host_task *t = s ? s->by_slot[slot] : NULL;
	pid_t pid, tid;

	if (!t || !ap_host_task_is_in_slot(t))
		return;
	if (!t->tid && !ap_host_names(host, s, slot, &pid, &tid))
		ap_host_task_name(host, t, pid, tid);
	ap_host_task_do(host, t, parting);
	/* from here on readings are of what was kept */
	t->has_parting = true;
}

void ap_host_exec_failed(struct ap_host *host, u32 seg, u32 slot)
{
	struct ap_host_seg *s = ap_host_seg(host, seg);

	if (s && s->by_slot[slot])
		s->by_slot[slot]->has_parting = false;
}

static void move(struct ap_host *host, struct ap_host_seg *old, u32 slot, struct ap_host_seg *seg)
{
	struct ap_host_task *t = old->by_slot[slot];

	ap_host_exec_asked(host, old->index, slot);
	if (!ap_host_task_is_in_slot(t)) {
		ap_host_task_end(host, t);
		return;
	}
	/* what the core, and others by its records, know of the task stays as it is */
	ap_host_task_count_from(host, t, seg, slot);
	host->is_changed = true;
	ap_host_task_do(host, t, moved);
	ap_host_let_go(host);
}

void ap_host_moved(struct ap_host *host, u32 from, u32 to)
{
	struct ap_host_seg *old = ap_host_seg(host, from), *seg = ap_host_seg(host, to);

	for (u32 i = 0; old && seg && i < AP_SLOT_MAX; i++)
		if (old->by_slot[i])
			move(host, old, i, seg);
}

void ap_host_execed(struct ap_host *host, const struct ap_seized *from, pid_t pid, u32 seg)
{
	struct ap_host_seg *old = ap_host_seg(host, from->seg), *s = NULL;
	struct ap_host_task *t = ap_host_task_by_tid(host, from->tid);

	if (!t && old && old->by_slot[from->slot] && old->by_slot[from->slot]->has_parting)
		t = old->by_slot[from->slot];
	if (seg != AP_HOST_NATIVE)
		s = ap_host_seg(host, seg);
	if (!t)
		return;
	if (s) {
		ap_host_task_exec(host, t, s, pid);
	} else {
		ap_host_tasks_end_of(host, pid, t);
		ap_host_task_end_as(host, t, AP_HOST_LEFT);
	}
	ap_host_let_go(host);
}

void ap_host_seg_ended(struct ap_host *host, u32 seg)
{
	struct ap_host_seg *s;

	ap_host_cpu_seg_ended(host, seg);
	s = ap_host_seg_known(host, seg);
	if (!s)
		return;
	/* all of them are dead, and what one leaves may concern the others' records */
	for (u32 i = 0; i < AP_SLOT_MAX; i++)
		if (s->by_slot[i])
			ap_host_writer_ended(host, s->by_slot[i]);
	for (u32 i = 0; i < AP_SLOT_MAX; i++)
		if (s->by_slot[i])
			ap_host_task_end(host, s->by_slot[i]);
	for (struct ap_host_file *f = host->all_files; f; f = f->after)
		ap_host_munmap(host, f, seg);
	ap_host_let_go(host);
	ap_host_seg_drop(host, s);
}

/* All its tasks have ended, and with them their mappings; what they had opened may be open elsewhere. */
void ap_host_party_ended(struct ap_host *host, u32 party)
{
	host->wakes[party] = 0;
	host->ses->head->wakes_seen[party] = 0;
	ap_host_carries_end(host, party);
	/* the pages that the carries had are among these */
	ap_host_pages_end(host, party);
}
