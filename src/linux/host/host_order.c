/* SPDX-License-Identifier: MIT */
/*
 * What tasks are asked to tell of themselves, as their slots say it (AP_ORDER_*), and that there
 * are such tasks at all.
 */
#include "linux/host/host_internal.h"

static u32 tell_orders(const struct ap_host_task *t)
{
	u32 tells = ap_task_tells(t->core), orders = 0;

	if (tells & (AP_TELL_MAPPED | AP_TELL_MAPPED_ALL))
		orders |= AP_ORDER_MAPPED;
	if (tells & AP_TELL_MAPPED_ALL)
		orders |= AP_ORDER_MAPPED_DATA;
	if (tells & AP_TELL_UNMAPPED)
		orders |= AP_ORDER_UNMAPPED;
	if (tells & AP_TELL_COMM)
		orders |= AP_ORDER_COMM;
	if (tells & AP_TELL_NAMESPACES)
		orders |= AP_ORDER_NAMESPACES;
	if (tells & AP_TELL_CGROUP || ap_host_cgroup_wants(t))
		orders |= AP_ORDER_CGROUP;
	return orders;
}

/* The bit is the supervisor's to set; an engine that cleared its slot is told again. */
void ap_host_task_order(struct ap_host_task *t)
{
	bool is_switched;
	u32 orders;

	if (!ap_host_task_is_in_slot(t))
		return;
	is_switched = ap_task_tells(t->core) & AP_TELL_SWITCH;
	ap_host_diary_set(t->host, t, is_switched);
	orders = ap_task_is_watched(t->core) ? AP_ORDER_WATCHED | tell_orders(t) : 0;
	if (ap_task_counts_on_a_cpu(t->core))
		orders |= AP_ORDER_CPU;
	if (ap_task_samples_on_a_cpu(t->core))
		orders |= AP_ORDER_CPU | (t->is_unborn ? AP_ORDER_BORN : 0);
	if (t->is_unborn && (t->is_awaited || t->samplers || is_switched))
		orders |= AP_ORDER_BORN;
	/* calls are shown to clients that report them */
	if (orders & ~(u32)(AP_ORDER_WATCHED | AP_ORDER_CPU))
		t->host->ses->head->perf_used = 1;
	__atomic_store_n(&ap_host_slot(t->seg, t->slot)->orders, orders, __ATOMIC_RELEASE);
}

static void know_seg(struct ap_host *host, u32 index)
{
	struct ap_host_seg *seg = ap_host_seg(host, index);
	u32 n = seg ? __atomic_load_n(&seg->head->nslots, __ATOMIC_ACQUIRE) : 0;
	struct ap_host_task *t;

	if (!seg || seg->head->state != AP_SEG_LIVE)
		return;
	for (u32 i = 0; i < n && i < AP_SLOT_MAX; i++) {
		if (ap_host_slot(seg, i)->state != AP_SLOT_LIVE)
			continue;
		t = ap_host_task_at(host, seg, i);
		if (t)
			ap_host_task_order(t);
	}
}

/* Their children are told of by themselves. */
void ap_host_know_all(struct ap_host *host)
{
	struct ap_supervisor *sv = host->sv;

	if (!ap_core_wants_tasks(host->core))
		return;
	ap_tracks_learn(sv);
	for (u32 i = 0; i < sv->ntracks; i++)
		if (!sv->tracks[i]->is_gone)
			know_seg(host, sv->tracks[i]->seg);
}
