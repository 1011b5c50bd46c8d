/* SPDX-License-Identifier: MIT */
/*
 * Tasks that nobody told of.  A fork asks the supervisor, and one that is stopped does not answer;
 * the program may be the one to wake it, so the fork goes on after a while (service/tasks.c).  What
 * was made meanwhile is found here, by the segments and slots that nobody knows, before any end is
 * looked at.
 *
 * The tasks of one process have the same inherited events, but for those that were opened on one of
 * them: any that is watched will do for the parent.
 */
#include "linux/host/host_internal.h"

static struct ap_host_task *watched_in(const struct ap_host_seg *s)
{
	for (u32 i = 0; s && i < AP_SLOT_MAX; i++)
		if (s->by_slot[i] && ap_task_is_watched(s->by_slot[i]->core))
			return s->by_slot[i];
	return NULL;
}

static bool is_new(const struct ap_host_seg *s, u32 slot)
{
	const struct ap_slot *page = ap_host_slot(s, slot);

	return !s->by_slot[slot] && page->gen && page->gen != s->known_gen[slot] &&
	       (page->state == AP_SLOT_LIVE || page->state == AP_SLOT_FINAL);
}

/* Its counters were 0 when it was made, and what they are now is all its own. */
static void adopt(struct ap_host *host, struct ap_host_seg *s, u32 slot,
		  struct ap_host_task *parent, bool is_thread)
{
	struct ap_host_task *child = ap_host_task_child(host, s, slot);

	if (!child)
		return;
	host->epoch++;
	child->raw_at = child->time_at = host->epoch;
	s->known_gen[slot] = ap_host_slot(s, slot)->gen;
	if (ap_host_task_made_in(child, parent->seg) ||
	    ap_core_fork(host->core, parent->core, child->core, is_thread) ||
	    !ap_task_is_watched(child->core)) {
		ap_host_task_end_as(host, child, AP_HOST_LEFT);
		return;
	}
	ap_host_task_order(child);
	host->epoch++;
	/* takes its names, where it has any */
	(void)ap_host_task_at(host, s, slot);
}

static void adopt_seg(struct ap_host *host, const struct ap_seg *head, u32 index)
{
	struct ap_host_seg *s = ap_host_seg(host, index);
	u32 nslots = head->nslots < AP_SLOT_MAX ? head->nslots : AP_SLOT_MAX;
	struct ap_host_task *parent;

	/* an image that a helper put in place of a task's is that task */
	if (s && nslots && is_new(s, 0))
		(void)ap_host_task_take_over(host, s);
	for (u32 i = 0; s && i < nslots; i++) {
		if (!is_new(s, i))
			continue;
		parent = watched_in(s);
		if (!parent && head->parent_seg != index)
			parent = watched_in(ap_host_seg_known(host, head->parent_seg));
		if (parent)
			adopt(host, s, i, parent, parent->seg == s);
	}
}

/*
 * In the last look all that was there was seen; this one may have been made, and have ended, since
 * then.
 */
void ap_host_adopt_last(struct ap_host *host, u32 seg)
{
	struct ap_seg head;

	if (ap_session_untold(host->ses) == host->untold && !host->is_adopting)
		return;
	if (!ap_session_seg_read(host->ses, seg, &head) &&
	    (head.state == AP_SEG_LIVE || head.state == AP_SEG_EXECED ||
	     head.state == AP_SEG_EXITED))
		adopt_seg(host, &head, seg);
}

void ap_host_adopt(struct ap_host *host)
{
	u32 untold = ap_session_untold(host->ses);
	struct ap_supervisor *sv = host->sv;
	struct ap_seg head;

	if (untold == host->untold && !host->is_adopting)
		return;
	host->untold = untold;
	host->is_adopting = false;
	ap_tracks_learn(sv);
	for (u32 i = 0; i < sv->ntracks; i++) {
		u32 seg = sv->tracks[i]->seg;

		if (ap_session_seg_read(host->ses, seg, &head))
			continue;
		/* not there yet: looked at again */
		host->is_adopting |= head.state == AP_SEG_INIT;
		if (head.state == AP_SEG_LIVE || head.state == AP_SEG_EXECED ||
		    head.state == AP_SEG_EXITED)
			adopt_seg(host, &head, seg);
	}
	ap_host_let_go(host);
}
