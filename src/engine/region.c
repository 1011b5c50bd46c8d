/* SPDX-License-Identifier: MIT */
/*
 * What of the program's address space is executable: what the injector read from /proc/PID/maps,
 * kept up by the system calls that change it.  Process lock held throughout; a fork's child has
 * its copy by nature.
 */
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/ranges.h"

#define INITIAL 1024

static struct ap_range initial[INITIAL];
static struct ap_ranges regions;
static u32 last; /* where the last search ended */

static void init(void)
{
	const struct ap_boot *boot = ap_proc.boot;

	regions.v = initial;
	regions.cap = INITIAL;
	for (u32 i = 0; i < boot->nranges && i < AP_BOOT_RANGES; i++)
		ap_ranges_set(&regions, boot->ranges[i].start, boot->ranges[i].end,
			      boot->ranges[i].flags | AP_RANGE_X);
}

/* Room for the two entries that a change may add. */
static bool make_room(void)
{
	u64 size = 2ULL * regions.cap * sizeof(*regions.v);
	struct ap_range *v;

	if (regions.n + 2 <= regions.cap)
		return true;
	v = ap_mem_map(0, size);
	if (!v) {
		ap_note(AP_NOTE_ENGINE, "no memory for the table of executable mappings");
		return false;
	}
	memcpy(v, regions.v, regions.n * sizeof(*v));
	if (regions.v != initial)
		ap_mem_unmap(regions.v, regions.cap * sizeof(*v));
	regions.v = v;
	regions.cap *= 2;
	return true;
}

struct ap_range *ap_region_find(u64 pc)
{
	struct ap_range *r;

	if (!regions.v)
		init();
	r = &regions.v[last];
	if (last < regions.n && pc >= r->start && pc < r->end)
		return r;
	last = ap_ranges_at(&regions, pc);
	r = &regions.v[last];
	return last < regions.n && pc >= r->start ? r : NULL;
}

bool ap_region_next(u64 start, u64 end, u64 *lo, u64 *hi)
{
	const struct ap_range *r;
	u32 k;

	if (!regions.v)
		init();
	k = ap_ranges_at(&regions, start);
	r = &regions.v[k];
	if (start >= end || k == regions.n || r->start >= end)
		return false;
	*lo = r->start > start ? r->start : start;
	*hi = r->end < end ? r->end : end;
	return true;
}

void ap_region_set(u64 start, u64 end, u32 range_flags, bool executable)
{
	if (!regions.v)
		init();
	if (!make_room())
		return;
	if (executable)
		ap_ranges_set(&regions, start, end, range_flags | AP_RANGE_X);
	else
		ap_ranges_clear(&regions, start, end);
}
