/* SPDX-License-Identifier: MIT */
/*
 * Roots: parts of the session's tree that somebody asks about: what was not counted in them, and
 * what was cut short.  Root 0 is the session's; each nested anyperf takes one for its command and
 * gives it back.  There are few, so they are used again: the supervisor merges a root that was
 * given back into its parent once no segment names it.
 */
#include "linux/session/errors.h"
#include "linux/session/session.h"

bool ap_root_is_within(const struct ap_session_file *s, u32 root, u32 ancestor)
{
	for (u32 depth = 0; depth < AP_ROOT_MAX; depth++) {
		if (root == ancestor)
			return true;
		if (!root || root >= AP_ROOT_MAX)
			return false;
		root = ap_board_of(s->head)->roots[root].parent;
	}
	return false;
}

static u32 roots_in_use(const struct ap_session_file *s, const struct ap_session_file *f)
{
	const struct ap_root *roots = ap_board_of(f->head)->roots;
	struct ap_seg head;
	u32 used = 0;

	for (u32 seg = f->party << AP_PARTY_SHIFT;
	     ap_session_next_seg(s, &seg) && AP_PARTY_OF(seg) == f->party; seg++)
		if (!ap_session_seg_read(s, seg, &head) && head.root < AP_ROOT_MAX)
			used |= 1u << head.root;
	for (u32 r = 1; r < AP_ROOT_MAX; r++) {
		u32 parent = __atomic_load_n(&roots[r].parent, __ATOMIC_RELAXED);

		if (roots[r].used && parent < AP_ROOT_MAX)
			used |= 1u << parent;
	}
	return used;
}

/* What they say is the parent's; its next holder has said nothing yet. */
static void move_notes(struct ap_session_file *s, u32 from, u32 to)
{
	struct ap_note *notes = ap_notes_of(s->head);

	for (u32 i = 0; (i = ap_session_next_note(s, i)) < AP_NOTE_MAX; i++)
		if (__atomic_load_n(&notes[i].root, __ATOMIC_RELAXED) == from)
			__atomic_store_n(&notes[i].root, to, __ATOMIC_RELAXED);
}

static void merge(struct ap_session_file *s, u32 root)
{
	struct ap_root *from = &ap_board_of(s->head)->roots[root];
	u32 parent = __atomic_load_n(&from->parent, __ATOMIC_RELAXED); /* once: it may change */
	struct ap_root *to = &ap_board_of(s->head)->roots[parent < AP_ROOT_MAX ? parent : 0];

	to->short_tasks += from->short_tasks;
	from->short_tasks = 0;
	if (!s->party) /* the others' are the session's */
		ap_session_errors_merge(s, root, parent < AP_ROOT_MAX ? parent : 0);
	move_notes(s, root, parent < AP_ROOT_MAX ? parent : 0);
	__atomic_store_n(&from->used, AP_ROOT_FREE, __ATOMIC_RELEASE);
}

static void reap(const struct ap_session_file *s, struct ap_session_file *f)
{
	const struct ap_root *roots = ap_board_of(f->head)->roots;
	bool is_known = false;
	u32 used = 0;

	for (u32 r = 1; r < AP_ROOT_MAX; r++) {
		u32 state = __atomic_load_n(&roots[r].used, __ATOMIC_ACQUIRE);

		/* what is no state was scribbled there, and nobody will give it back */
		if (state == AP_ROOT_FREE || state == AP_ROOT_USED)
			continue;
		if (!is_known)
			used = roots_in_use(s, f);
		is_known = true;
		if (!(used & 1u << r))
			merge(f, r);
	}
}

void ap_session_roots_reap(struct ap_session_file *s)
{
	struct ap_session_file *f;

	for (u32 p = 0; (f = ap_session_next_party(s, &p));)
		reap(s, f);
}
