/* SPDX-License-Identifier: MIT */
/*
 * Folding: a dead segment's memory goes back to the kernel.  Its tasks' counts have gone to their
 * events by then; what is left to know is how many tasks were ended inside of a block, whose last
 * instructions nobody has counted.  Only the supervisor folds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "linux/session/errors.h"
#include "linux/session/profile.h"
#include "linux/session/session.h"
#include "model/shared.h"

/* A process' threads: of its segment and 15 more. */
#define TASKS_MAX (16U * AP_SLOT_MAX)

void ap_session_punch(const struct ap_session_file *s, u32 from, u32 to)
{
	if (from < to)
		(void)!fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				 (off_t)AP_SEG_OFF(from), (off_t)(to - from) * (off_t)AP_SEG_SIZE);
}

static void punch(const struct ap_session_file *s, u32 seg)
{
	ap_session_punch(s, seg, seg + 1);
}

static void set_state(struct ap_session_file *s, u32 seg, u32 state)
{
	struct ap_seg *page = ap_session_seg_map(s, seg);

	if (page)
		__atomic_store_n(&page->state, state, __ATOMIC_RELEASE);
	ap_session_page_unmap(page);
}

/* Most sessions never use the table: a look by way of the mapping would give it memory. */
static void bury(const struct ap_session_file *s, u32 seg)
{
	u64 joined;

	if (s->common &&
	    !ap_session_read(s, &joined, sizeof(joined),
			     AP_COMMON_OFF + offsetof(struct ap_shared, joined)) &&
	    joined)
		ap_shared_bury(s->common, AP_SEG_LOCAL(seg) + 1);
}

u32 ap_session_in_code(const struct ap_session_file *s, u32 seg)
{
	struct ap_slot slot;
	struct ap_seg head;
	u32 nslots, n = 0;

	if (ap_session_seg_read(s, seg, &head))
		return 0;
	nslots = head.nslots < AP_SLOT_MAX ? head.nslots : AP_SLOT_MAX;
	for (u32 i = 0; i < nslots; i++)
		if (!ap_session_slot_read(s, seg, i, &slot) && slot.state == AP_SLOT_LIVE)
			n += slot.in_code != 0;
	return n;
}

/* What its process says of siblings that it cut off: not more than it had. */
static u32 short_of(const struct ap_seg *head)
{
	return head->short_tasks < TASKS_MAX ? head->short_tasks : TASKS_MAX;
}

int ap_session_fold(struct ap_session_file *s, u32 seg)
{
	const struct ap_session_file *f = ap_session_party(s, seg);
	struct ap_root *root;
	struct ap_seg head;
	int ret = f ? ap_session_seg_read(s, seg, &head) : 0;

	if (ret || !f)
		return ret;
	if (head.state == AP_SEG_FREE || head.state == AP_SEG_INIT || head.state == AP_SEG_FOLDED) {
		punch(f, seg);
		return 0;
	}
	ap_session_profile_name(s, seg, head.pid ? head.pid : head.ns_pid);
	root = &ap_board_of(f->head)->roots[head.root < AP_ROOT_MAX ? head.root : 0];
	__atomic_fetch_add(&root->short_tasks, ap_session_in_code(s, seg) + short_of(&head),
			   __ATOMIC_RELEASE);
	if (head.estimates)
		__atomic_store_n(&s->head->model_estimates, 1, __ATOMIC_RELAXED);
	if (f != s) /* whose roots are within the session's */
		head.root = 0;
	ap_session_errors_fold(s, &head);
	bury(f, seg);
	set_state(s, seg, AP_SEG_FOLDED);
	punch(f, seg);
	return 0;
}

void ap_session_seg_discard(struct ap_session_file *s, u32 seg)
{
	set_state(s, seg, AP_SEG_FOLDED);
}

bool ap_session_has_estimates(const struct ap_session_file *s)
{
	struct ap_seg head;

	for (u32 seg = 0; ap_session_next_seg(s, &seg); seg++)
		if (!ap_session_seg_read(s, seg, &head) && head.estimates)
			return true;
	return __atomic_load_n(&s->head->model_estimates, __ATOMIC_RELAXED);
}

static u32 short_of_roots(const struct ap_session_file *f, u32 root)
{
	const struct ap_root *roots = ap_board_of(f->head)->roots;
	u32 n = 0;

	for (u32 r = 0; r < AP_ROOT_MAX; r++)
		if (roots[r].used && ap_root_is_within(f, r, root))
			n += (u32)__atomic_load_n(&roots[r].short_tasks, __ATOMIC_ACQUIRE);
	return n;
}

/* Roots are a party's: those of others are none of a nested anyperf's. */
int ap_session_short(const struct ap_session_file *s, u32 root, u32 *short_tasks)
{
	const struct ap_session_file *f;
	struct ap_seg head;
	int ret;

	*short_tasks = 0;
	for (u32 p = 0; (f = ap_session_next_party(s, &p));)
		*short_tasks += short_of_roots(f, root);
	for (u32 seg = 0; ap_session_next_seg(s, &seg); seg++) {
		ret = ap_session_seg_read(s, seg, &head);
		if (ret)
			return ret;
		f = ap_session_party(s, seg);
		if (head.state != AP_SEG_FREE && head.state != AP_SEG_FOLDED &&
		    ap_root_is_within(f, head.root < AP_ROOT_MAX ? head.root : 0, root))
			*short_tasks += short_of(&head);
	}
	return 0;
}
