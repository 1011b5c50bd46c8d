/* SPDX-License-Identifier: MIT */
/* Sorted address ranges: binary search, splitting, merging. */
#include "engine/runtime/ranges.h"
#include "base/mem.h"

u32 ap_ranges_at(const struct ap_ranges *r, u64 addr)
{
	u32 lo = 0, hi = r->n;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (r->v[mid].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* Replaces the entries [from, to) by room for count. */
static void splice(struct ap_ranges *r, u32 from, u32 to, u32 count)
{
	memmove(r->v + from + count, r->v + to, (r->n - to) * sizeof(*r->v));
	r->n = r->n - (to - from) + count;
}

void ap_ranges_clear(struct ap_ranges *r, u64 start, u64 end)
{
	u32 i = ap_ranges_at(r, start), j;

	if (start >= end || i == r->n || r->v[i].start >= end)
		return;
	if (r->v[i].start < start) {
		if (r->v[i].end > end) {
			splice(r, i, i, 1);
			r->v[i] = r->v[i + 1];
			r->v[i].end = start;
			r->v[i + 1].start = end;
			return;
		}
		r->v[i++].end = start;
	}
	j = ap_ranges_at(r, end);
	if (j < r->n && r->v[j].start < end)
		r->v[j].start = end;
	if (i < j)
		splice(r, i, j, 0);
}

void ap_ranges_set(struct ap_ranges *r, u64 start, u64 end, u64 flags)
{
	u32 i;

	if (start >= end)
		return;
	ap_ranges_clear(r, start, end);
	i = ap_ranges_at(r, start);
	if (i && r->v[i - 1].end == start && r->v[i - 1].flags == flags) {
		start = r->v[--i].start;
		splice(r, i, i + 1, 0);
	}
	if (i < r->n && r->v[i].start == end && r->v[i].flags == flags) {
		end = r->v[i].end;
		splice(r, i, i + 1, 0);
	}
	splice(r, i, i, 1);
	r->v[i] = (struct ap_range){ .start = start, .end = end, .flags = flags };
}
