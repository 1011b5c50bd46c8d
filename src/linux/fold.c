/* SPDX-License-Identifier: MIT */
/*
 * Folding: a dead segment's counts move to its root, its memory back to the kernel.  Only the
 * supervisor folds.  fold_seq is odd meanwhile, so that a nested anyperf, which reads the same
 * file, neither misses nor doubles a segment.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "linux/session.h"

#define TOTAL_TRIES 1000

static void punch(struct ap_session_file *s, u32 seg)
{
	(void)!fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)AP_SEG_OFF(seg),
			 (off_t)AP_SEG_SIZE);
}

static void set_state(struct ap_session_file *s, u32 seg, u32 state)
{
	struct ap_seg *page = ap_session_seg_map(s, seg);

	if (page)
		__atomic_store_n(&page->state, state, __ATOMIC_RELEASE);
	ap_session_page_unmap(page);
}

int ap_session_fold(struct ap_session_file *s, u32 seg)
{
	struct ap_sum sum = { 0 };
	struct ap_root *root;
	struct ap_seg head;
	int ret = ap_session_seg_read(s, seg, &head);

	if (ret)
		return ret;
	if (head.state == AP_SEG_FREE || head.state == AP_SEG_INIT || head.state == AP_SEG_FOLDED) {
		punch(s, seg);
		return 0;
	}
	ret = ap_sum_segment(s, seg, &sum);
	if (ret)
		return ret;
	root = &s->head->roots[head.root < AP_ROOT_MAX ? head.root : 0];
	/* both increments pair with the loads in ap_session_total */
	__atomic_fetch_add(&s->head->fold_seq, 1, __ATOMIC_ACQ_REL);
	for (u32 i = 0; i < AP_RAW_N; i++)
		root->totals[i] += sum.raw[i];
	root->short_tasks += sum.in_code + sum.short_tasks;
	set_state(s, seg, AP_SEG_FOLDED);
	__atomic_fetch_add(&s->head->fold_seq, 1, __ATOMIC_ACQ_REL);
	punch(s, seg);
	return 0;
}

void ap_session_seg_discard(struct ap_session_file *s, u32 seg)
{
	set_state(s, seg, AP_SEG_FOLDED);
}

bool ap_session_next_seg(const struct ap_session_file *s, u32 *seg, u32 n)
{
	off_t data;

	if (*seg >= n)
		return false;
	data = lseek(s->fd, (off_t)AP_SEG_OFF(*seg), SEEK_DATA);
	if (data < 0)
		return false;
	*seg = (u32)(((u64)data - AP_SEG_BASE) / AP_SEG_SIZE);
	return *seg < n;
}

static void add_roots(const struct ap_session_file *s, u32 root, struct ap_sum *sum)
{
	for (u32 r = 0; r < AP_ROOT_MAX; r++) {
		const struct ap_root *from = &s->head->roots[r];

		if (!from->used || !ap_root_is_within(s, r, root))
			continue;
		for (u32 i = 0; i < AP_RAW_N; i++)
			sum->raw[i] += from->totals[i];
		sum->short_tasks += (u32)from->short_tasks;
	}
}

static int add_segments(const struct ap_session_file *s, u32 root, struct ap_sum *sum)
{
	u32 n = ap_session_nsegs(s);
	struct ap_seg head;

	for (u32 seg = 0; ap_session_next_seg(s, &seg, n); seg++) {
		int ret;

		ret = ap_session_seg_read(s, seg, &head);
		if (ret)
			return ret;
		if (!ap_root_is_within(s, head.root < AP_ROOT_MAX ? head.root : 0, root))
			continue;
		ret = ap_sum_segment(s, seg, sum);
		if (ret)
			return ret;
	}
	return 0;
}

int ap_session_total(const struct ap_session_file *s, u32 root, struct ap_sum *sum)
{
	for (unsigned int try = 0;; try++) {
		u32 seq = __atomic_load_n(&s->head->fold_seq, __ATOMIC_ACQUIRE);
		int ret;

		memset(sum, 0, sizeof(*sum));
		add_roots(s, root, sum);
		ret = add_segments(s, root, sum);
		if (ret)
			return ret;
		/* a supervisor killed in a fold leaves it odd: then what is there is the answer */
		if (try >= TOTAL_TRIES ||
		    (!(seq & 1) && __atomic_load_n(&s->head->fold_seq, __ATOMIC_ACQUIRE) == seq))
			return 0;
		sched_yield();
	}
}
