/* SPDX-License-Identifier: MIT */
/*
 * What stands in a party's file of the tasks that the core knows: segments, slots, and what they
 * have counted.
 *
 * A task's raw counters are what its slot has, after what its former images had.  They are read at
 * most once per moment (ap_host.epoch), so that all members of a group, and all that one request
 * does, see the same.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/slot_sum.h"
#include "linux/host/host_internal.h"

/* --- segments */

struct ap_host_seg *ap_host_seg_known(const struct ap_host *host, u32 seg)
{
	struct ap_host_seg *s = host->segs[seg % AP_HOST_BUCKETS];

	while (s && s->index != seg)
		s = s->next;
	return s;
}

struct ap_host_seg *ap_host_seg(struct ap_host *host, u32 seg)
{
	struct ap_host_seg **bucket = &host->segs[seg % AP_HOST_BUCKETS], *s;
	const struct ap_session_file *f;

	s = ap_host_seg_known(host, seg);
	if (s)
		return s;
	/* one that nobody has gets no memory by being named */
	f = ap_session_party(host->ses, seg);
	if (!f || !ap_session_is_taken(host->ses, seg))
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->index = seg;
	s->head = mmap(NULL, AP_SEG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, f->fd,
		       (off_t)AP_SEG_OFF(seg));
	if (s->head == MAP_FAILED) {
		free(s);
		return NULL;
	}
	s->next = *bucket;
	*bucket = s;
	return s;
}

void ap_host_seg_drop(struct ap_host *host, struct ap_host_seg *s)
{
	struct ap_host_seg **p = &host->segs[s->index % AP_HOST_BUCKETS];

	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
	munmap(s->head, AP_SEG_SIZE);
	free(s);
}

struct ap_slot *ap_host_slot(const struct ap_host_seg *seg, u32 slot)
{
	return (struct ap_slot *)((char *)seg->head + AP_SLOT_OFF(slot));
}

void ap_host_sum_slot(const struct ap_host_seg *seg, u32 slot, u64 sum[AP_RAW_N])
{
	const struct ap_slot *s = ap_host_slot(seg, slot);
	const struct ap_slot_view view = {
		.slot = s,
		.counts = (const u64 *)((const char *)s + AP_SLOT_COUNTS_OFF),
		.shapes = (const u64 *)((const char *)seg->head + AP_SHAPES_OFF),
		.nshapes = __atomic_load_n(&seg->head->nshapes, __ATOMIC_ACQUIRE),
		.carry = __atomic_load_n(&seg->head->carry, __ATOMIC_ACQUIRE),
	};

	ap_slot_sum(&view, sum);
}

/* --- counts */

bool ap_host_task_is_in_slot(const struct ap_host_task *t)
{
	const struct ap_slot *s;

	if (!t->seg)
		return false;
	s = ap_host_slot(t->seg, t->slot);
	return !t->gen || (s->gen == t->gen && s->state != AP_SLOT_FREE);
}

/* As of before an exec, whose image has another slot. */
void ap_host_task_note_unseen(struct ap_host_task *t)
{
	if (ap_host_task_is_in_slot(t) && !t->has_parting)
		t->is_unseen =
			!t->was_seen &&
			__atomic_load_n(&ap_host_slot(t->seg, t->slot)->unseen, __ATOMIC_RELAXED);
}

const u64 *ap_host_task_raw(struct ap_host *host, struct ap_host_task *t)
{
	u64 sum[AP_RAW_N];

	if (t->raw_at == host->epoch)
		return t->raw;
	t->raw_at = host->epoch;
	if (ap_host_task_is_in_slot(t))
		ap_host_sum_slot(t->seg, t->slot, sum);
	ap_host_task_note_unseen(t);
	/* looked at again: a parent may have cleared up after its vfork child meanwhile */
	if (!ap_host_task_is_in_slot(t)) {
		if (!t->has_parting)
			return t->raw;
		memcpy(sum, t->parting, sizeof(sum));
	}
	for (u32 k = 0; k < AP_RAW_N; k++) {
		u64 now = t->carried[k] + sum[k];

		/* a running task may be in the middle of a correction: never backwards */
		if ((s64)(now - t->raw[k]) > 0)
			t->raw[k] = now;
	}
	return t->raw;
}

bool ap_host_is_unseen(void *world, void *task, u64 kinds)
{
	struct ap_host_task *t = task;

	if (!(kinds & AP_KINDS_MODEL))
		return false;
	(void)ap_host_task_raw(world, t);
	return t->is_unseen;
}

/* --- known tasks */

struct ap_host_task **ap_host_tids(struct ap_host *host, pid_t tid)
{
	return &host->tids[(u32)tid % AP_HOST_BUCKETS];
}

struct ap_host_task *ap_host_task_by_tid(struct ap_host *host, pid_t tid)
{
	struct ap_host_task *t = *ap_host_tids(host, tid);

	while (t && t->tid != tid)
		t = t->tid_next;
	return t;
}

/* --- CPUs */

u32 ap_host_count_cpus(void)
{
	static u32 known; /* those that there can be: the number does not change */

	if (!known) {
		long n = sysconf(_SC_NPROCESSORS_CONF);

		known = n > 0 ? (u32)n : 1;
	}
	return known;
}
