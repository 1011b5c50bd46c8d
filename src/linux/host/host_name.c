/* SPDX-License-Identifier: MIT */
/*
 * What a task is called, and whether it is still the one that was called so.  A slot says what its thread is called in
 * its own pid namespace; we call it what /proc calls it.
 */
#include <unistd.h>

#include "inject/proc.h"
#include "linux/host/host_internal.h"
#include "linux/session/owner.h"
#include "linux/task/as_task.h"
#include "sampling/ring.h"

bool ap_host_is_our_pidns(const struct ap_host *host, u64 pidns)
{
	return !pidns || pidns == host->ses->head->pidns;
}

/* The kernel says which task has this name. */
pid_t ap_host_outer_name(struct ap_host *host, const struct ap_host_seg *seg, u32 inner)
{
	struct ap_seg head;

	if (ap_session_seg_read(host->ses, seg->index, &head))
		return 0;
	return ap_owner_outer(host->sv, seg->index, &head, inner);
}

int ap_host_names(struct ap_host *host, const struct ap_host_seg *seg, u32 slot, pid_t *pid,
		  pid_t *tid)
{
	const struct ap_slot *s = ap_host_slot(seg, slot);

	return ap_owner_names(host->sv, seg->index, __atomic_load_n(&s->pid, __ATOMIC_RELAXED),
			      __atomic_load_n(&s->tid, __ATOMIC_RELAXED), pid, tid);
}

u32 ap_host_party_of(const struct ap_host_task *t)
{
	return t && t->seg ? AP_PARTY_OF(t->seg->index) : 0;
}

/* One without a segment is the session's own command, before it runs. */
bool ap_host_task_is_itself(struct ap_host *host, const struct ap_host_task *t)
{
	if (!t->seg)
		return true;
	return t->gen ? ap_owner_is(host->sv, t->seg->index, t->pid)
		      : ap_owner_is_child(host->sv, t->seg->index, t->pid);
}

bool ap_host_task_is_proven(struct ap_host *host, const struct ap_host_task *t)
{
	if (!t->seg || !ap_owner_may_more(host->sv))
		return true;
	return ap_owner_is(host->sv, t->seg->index, t->pid) &&
	       (t->tid == t->pid || ap_owner_has_thread(t->pid, t->tid));
}

/* Looked at behind the opening, as the number may have become another's just before that. */
s32 ap_host_task_opened(const struct ap_host_task *t, int fd)
{
	if (fd < 0)
		return AP_HOST_FD_REFUSED;
	if (ap_host_task_is_proven(t->host, t))
		return fd;
	close(fd);
	return AP_HOST_FD_NONE;
}

static bool is_itself(const struct ap_as_task *as)
{
	return ap_host_task_is_itself(as->task->host, as->task);
}

struct ap_as_task ap_host_as(struct ap_host *host, const struct ap_host_task *t)
{
	return (struct ap_as_task){ .pid = t->pid,
				    .tid = t->tid,
				    .party = ap_host_party_of(t),
				    .is_less = ap_owner_may_more(host->sv),
				    .is_itself = is_itself,
				    .task = t };
}

/*
 * Only a name that is surely gone: a writer that lives after all would go on with its record in the middle of
 * another one's.  In another namespace that takes until its process is.
 */
bool ap_host_writer_is_dead(void *world, const struct ap_ring_map *map, u32 name)
{
	struct ap_host *host = world;
	u32 seg = map->party << AP_PARTY_SHIFT | AP_RING_NAME_SEG(name),
	    at = AP_RING_NAME_SLOT(name);
	const struct ap_session_file *f = ap_session_party(host->ses, seg);
	struct ap_slot slot = { 0 };
	struct ap_seg head;

	if (!name || name == AP_RING_CORE)
		return false;
	if (!f || seg >= ap_session_nsegs(f) || at >= AP_SLOT_MAX)
		return true; /* nobody was ever called so */
	if (ap_session_seg_read(host->ses, seg, &head) ||
	    ap_session_slot_read(host->ses, seg, at, &slot))
		return false;
	if (head.state == AP_SEG_EXECED || head.state == AP_SEG_FOLDED)
		return true;
	/* of a process that is exiting other threads run on for a moment */
	if (slot.state != AP_SLOT_LIVE)
		return head.state >= AP_SEG_LIVE;
	if (!slot.pid || !slot.tid || !ap_host_is_our_pidns(host, head.pidns))
		return false;
	return ap_has_ended((pid_t)slot.tid);
}
