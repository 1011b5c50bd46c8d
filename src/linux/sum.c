/* SPDX-License-Identifier: MIT */
/*
 * Adding up what a segment counted, while its process runs or after it is gone.
 *
 * Pages are read with pread, not mapped: reading a hole of the file through a mapping would
 * allocate it.  A living process may fold a thread's totals into seg.dead in the middle of a
 * reading; seg.fold changes then, and the reading is done again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux/session.h"

#define READ_TRIES 16

/* One slot's first page and counts as they lie in the file. */
struct slot_image {
	union {
		struct ap_slot slot;
		u8 page[AP_SLOT_COUNTS_OFF];
	};
	u64 counts[AP_SHAPE_MAX];
};

struct reading {
	struct ap_seg seg;
	u64 shapes[AP_SHAPE_MAX];
	u32 nshapes;
	struct slot_image image;
};

static bool is_in_dead(const struct ap_seg *seg, u32 index, const struct ap_slot *slot)
{
	return (u32)(seg->fold >> 1 & 0x7fff) == index + 1 && (u32)(seg->fold >> 32) == slot->gen;
}

static void add_live(const struct reading *r, struct ap_sum *sum)
{
	const struct ap_slot *slot = &r->image.slot;

	for (u32 i = 0; i < r->nshapes; i++) {
		u64 n = r->image.counts[i];

		if (n)
			ap_shape_add(r->shapes[i], n, sum->raw);
	}
	for (u32 i = 0; i < AP_RAW_N; i++)
		sum->raw[i] += (u64)slot->extra[i];
	sum->live_slots++;
	if (slot->in_code)
		sum->in_code++;
}

static int add_slot(const struct ap_session_file *s, u32 seg, struct reading *r, u32 index,
		    struct ap_sum *sum)
{
	int ret = ap_session_read(s, &r->image, AP_SLOT_COUNTS_OFF + r->nshapes * sizeof(u64),
				  AP_SEG_OFF(seg) + AP_SLOT_OFF(index));

	if (ret)
		return ret;
	if (r->image.slot.state == AP_SLOT_LIVE)
		add_live(r, sum);
	else if (r->image.slot.state == AP_SLOT_FINAL &&
		 !is_in_dead(&r->seg, index, &r->image.slot))
		for (u32 i = 0; i < AP_RAW_N; i++)
			sum->raw[i] += r->image.slot.final[i];
	return 0;
}

static int read_once(const struct ap_session_file *s, u32 seg, struct reading *r,
		     struct ap_sum *sum)
{
	struct ap_seg after;
	u32 nslots;
	int ret = ap_session_seg_read(s, seg, &r->seg);

	if (ret)
		return ret;
	memset(sum, 0, sizeof(*sum));
	if (r->seg.state == AP_SEG_FREE || r->seg.state == AP_SEG_FOLDED)
		return 0;
	r->nshapes = r->seg.nshapes < AP_SHAPE_MAX ? r->seg.nshapes : AP_SHAPE_MAX;
	nslots = r->seg.nslots < AP_SLOT_MAX ? r->seg.nslots : AP_SLOT_MAX;
	ret = ap_session_read(s, r->shapes, r->nshapes * sizeof(u64),
			      AP_SEG_OFF(seg) + AP_SHAPES_OFF);
	for (u32 i = 0; i < nslots && !ret; i++)
		ret = add_slot(s, seg, r, i, sum);
	for (u32 i = 0; i < AP_RAW_N; i++)
		sum->raw[i] += r->seg.dead[r->seg.fold & 1][i];
	sum->short_tasks = r->seg.short_tasks;
	if (!ret)
		ret = ap_session_seg_read(s, seg, &after);
	if (!ret && (after.fold != r->seg.fold || after.nshapes != r->seg.nshapes))
		ret = -EAGAIN;
	return ret;
}

int ap_sum_segment(const struct ap_session_file *s, u32 seg, struct ap_sum *sum)
{
	struct reading *r = malloc(sizeof(*r));
	struct ap_sum got;
	int ret = -ENOMEM;

	if (!r)
		return ret;
	for (unsigned int try = 0; try < READ_TRIES; try++) {
		ret = read_once(s, seg, r, &got);
		if (ret != -EAGAIN)
			break;
	}
	free(r);
	/* a process that folds without end is read as it stands */
	if (ret && ret != -EAGAIN)
		return ret;
	for (u32 i = 0; i < AP_RAW_N; i++)
		sum->raw[i] += got.raw[i];
	sum->live_slots += got.live_slots;
	sum->in_code += got.in_code;
	sum->short_tasks += got.short_tasks;
	return 0;
}
