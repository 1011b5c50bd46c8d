/* SPDX-License-Identifier: MIT */
/*
 * What of the program's address space is executable: what the injector read from /proc/PID/maps,
 * kept up by the system calls that change it.  Process lock held throughout; a fork's child has
 * its copy by nature.
 */
#include "engine/cache/region.h"
#include "base/mem.h"
#include "engine/cache/alias.h"
#include "engine/cache/smc.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/ranges.h"
#include "engine/runtime/selfmaps.h"

#define INITIAL 1024

static AP_ROOMY struct ap_range initial[INITIAL];
static struct ap_ranges regions;
static u32 last; /* where the last search ended */

static void init(void)
{
	const struct ap_boot *boot = ap_proc.boot;

	regions.v = initial;
	regions.cap = INITIAL;
	for (u32 i = 0; i < boot->nranges && i < AP_BOOT_RANGES; i++) {
		const struct ap_range *r = &boot->ranges[i];
		bool stack = boot->regs.gpr[4] >= r->start && boot->regs.gpr[4] < r->end;

		ap_ranges_set(&regions, r->start, r->end,
			      r->flags | AP_RANGE_X | (stack ? AP_RANGE_GROWS : AP_RANGE_FILE));
	}
}

/* Room for the two entries that a change may add. */
static bool make_room(void)
{
	u64 size = 2ULL * regions.cap * sizeof(*regions.v);
	struct ap_range *v, *old;

	if (regions.n + 2 <= regions.cap)
		return true;
	v = ap_mem_map(0, size);
	if (!v) {
		ap_note(AP_NOTE_ENGINE, "no memory for the table of executable mappings");
		return false;
	}
	memcpy(v, regions.v, regions.n * sizeof(*v));
	old = regions.v;
	__atomic_store_n(&regions.v, v, __ATOMIC_RELEASE);
	regions.cap *= 2;
	if (old != initial)
		ap_mem_unmap(old, regions.cap / 2 * sizeof(*v));
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
	if (!executable) {
		ap_ranges_clear(&regions, start, end);
		return;
	}
	ap_ranges_set(&regions, start, end, range_flags | AP_RANGE_X);
	for (u64 lo, hi; ap_alias_next(start, end, &lo, &hi) && make_room(); start = hi)
		ap_ranges_set(&regions, lo, hi, range_flags | AP_RANGE_SHARED | AP_RANGE_X);
}

struct finding {
	u64 pc;
	bool found;
};

/* Whether it may grow the text does not say; what nobody told us of most likely has grown. */
static u32 flags_of(const struct ap_map *m)
{
	return (m->w ? AP_RANGE_W : 0) | (m->ino ? AP_RANGE_FILE : 0) | AP_RANGE_GROWS;
}

static bool find_pc(const struct ap_map *m, void *arg)
{
	struct finding *f = arg;

	if (f->pc < m->start || f->pc >= m->end)
		return true;
	if (m->r && m->x) {
		ap_region_set(m->start, m->end, flags_of(m), true);
		f->found = true;
	}
	return false;
}

bool ap_region_discover(u64 pc)
{
	struct finding f = { .pc = pc };

	if (ap_region_find(pc) || ap_mem_is_ours(pc, pc + 1))
		return false;
	return ap_selfmaps_read(find_pc, &f) && f.found;
}

/* Page by page where the engine has taken the permission to write from some of them. */
static void set_pages(const struct ap_map *m)
{
	u32 flags = flags_of(m);

	ap_region_set(m->start, m->end, flags, m->r && m->x);
	for (u64 at = m->start; m->r && m->x && ap_smc_any() && at < m->end; at += AP_PAGE_SIZE)
		if (ap_smc_hides_write(at))
			ap_region_set(at, at + AP_PAGE_SIZE, flags | AP_RANGE_W, true);
}

struct reloading {
	u64 start, end;
	bool has_begun;
};

/* Mappings that reach beyond the range may have changed there as well. */
static bool reload(const struct ap_map *m, void *arg)
{
	struct reloading *range = arg;

	if (!range->has_begun)
		ap_region_set(range->start, range->end, 0, false);
	range->has_begun = true;
	if (m->end <= range->start)
		return true;
	if (m->start >= range->end)
		return false;
	if (!ap_mem_is_ours(m->start, m->end)) {
		ap_cache_invalidate(m->start, m->end);
		set_pages(m);
	}
	return true;
}

void ap_region_reload(u64 start, u64 end)
{
	struct reloading range = { .start = start, .end = end };

	ap_cache_invalidate(start, end);
	if (!ap_selfmaps_read(reload, &range) && range.has_begun)
		ap_note(AP_NOTE_ENGINE, "cannot read /proc/self/maps to see what is executable");
}

static bool add(const struct ap_map *m, void *arg)
{
	(void)arg;
	set_pages(m);
	return true;
}

static bool nothing(const struct ap_map *m, void *arg)
{
	(void)m;
	(void)arg;
	return false;
}

static void leave_out(u64 start, u64 end, void *arg)
{
	(void)arg;
	ap_region_set(start, end, 0, false);
}

/* The injector's list is short, and does not say what is shared. */
static bool add_running(const struct ap_map *m, void *arg)
{
	(void)arg;
	if (m->r && m->x)
		ap_region_set(m->start, m->end, flags_of(m) & (m->w ? ~0U : ~AP_RANGE_GROWS), true);
	return true;
}

void ap_region_attach(void)
{
	ap_alias_mend();
	(void)!ap_selfmaps_read(add_running, NULL);
	ap_mem_for_each(leave_out, NULL);
}

void ap_region_mend(void)
{
	if (!regions.v || !ap_selfmaps_read(nothing, NULL))
		return; /* without /proc what there is must do */
	ap_alias_mend();
	regions.n = last = 0;
	(void)!ap_selfmaps_read(add, NULL);
	ap_mem_for_each(leave_out, NULL);
}
