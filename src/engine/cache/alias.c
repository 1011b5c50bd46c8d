/* SPDX-License-Identifier: MIT */
/*
 * Memory that can be written through another mapping than the one that it is executed through:
 * MAP_SHARED, System V segments, private mappings of files that the program opens for writing.
 *
 * Which addresses these are is kept up by the system calls that change mappings.  What file they
 * show, at which offset, the kernel is asked when a block is made of such memory and the last
 * answer is out of date: programs that never execute it pay for an entry in a table.
 *
 * smc.c write-protects all writable views of a page while blocks of it exist, so the process' own
 * stores are seen at once.  Stores of other processes are not: blocks of such memory are dropped
 * at serializing instructions (docs/design/engine.md).
 */
#include "engine/cache/alias.h"

#include "base/mem.h"
#include "engine/cache/region.h"
#include "engine/cache/smc.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/ranges.h"
#include "engine/runtime/selfmaps.h"
#include "sys/nr.h"

#define INITIAL	  128
#define VIEWS_MAX 512
#define S_IFMT	  0170000
#define S_IFREG	  0100000

static AP_ROOMY struct ap_range initial[INITIAL];
static struct ap_ranges shared = { .v = NULL };

static AP_ROOMY struct ap_map views[VIEWS_MAX]; /* the kernel's word on them */
static u32 nviews;
static bool valid, too_many;
static u32 gen;	    /* of them */
static bool active; /* blocks of such memory have been made */

static void forget_views(void)
{
	valid = false;
	__atomic_store_n(&gen, gen + 1, __ATOMIC_RELAXED);
}

static bool make_room(void)
{
	u64 size = 2ULL * shared.cap * sizeof(*shared.v);
	struct ap_range *v, *old;

	if (!shared.v) {
		shared.v = initial;
		shared.cap = INITIAL;
	}
	if (shared.n + 2 <= shared.cap)
		return true;
	v = ap_mem_map(0, size);
	if (!v) {
		ap_note(AP_NOTE_ENGINE, "no memory for the table of shared mappings");
		return false;
	}
	memcpy(v, shared.v, shared.n * sizeof(*v));
	old = shared.v;
	__atomic_store_n(&shared.v, v, __ATOMIC_RELEASE);
	shared.cap *= 2;
	if (old != initial)
		ap_mem_unmap(old, shared.cap / 2 * sizeof(*v));
	return true;
}

bool ap_alias_next(u64 start, u64 end, u64 *lo, u64 *hi)
{
	u32 k = ap_ranges_at(&shared, start);
	const struct ap_range *r = &shared.v[k];

	if (start >= end || k == shared.n || r->start >= end)
		return false;
	*lo = r->start > start ? r->start : start;
	*hi = r->end < end ? r->end : end;
	return true;
}

static bool overlaps(u64 start, u64 end)
{
	u64 lo, hi;

	return ap_alias_next(start, end, &lo, &hi);
}

static bool same_file(const struct ap_map *a, const struct ap_map *b)
{
	return a->ino == b->ino && a->dev == b->dev;
}

/* Write-protected for our sake, from one end to the other. */
static bool is_hidden(const struct ap_map *m)
{
	for (u64 at = m->start; at < m->end; at += AP_PAGE_SIZE)
		if (!ap_smc_hides_write(at))
			return false;
	return true;
}

static bool continues(const struct ap_map *v, const struct ap_map *m)
{
	return v->end == m->start && v->off + (v->end - v->start) == m->off && same_file(v, m) &&
	       v->r == m->r && v->w == m->w && v->x == m->x && v->shared == m->shared;
}

/* Views that our protection has cut are put together again: else there were one for each page. */
static bool add_view(const struct ap_map *m, void *arg)
{
	struct ap_map view = *m;

	(void)arg;
	if (!overlaps(m->start, m->end))
		return true;
	if (!m->w && is_hidden(m))
		view.w = true;
	if (nviews && continues(&views[nviews - 1], &view)) {
		views[nviews - 1].end = view.end;
		return true;
	}
	if (nviews == VIEWS_MAX) {
		too_many = true;
		return false;
	}
	views[nviews++] = view;
	return true;
}

static bool refresh(void)
{
	if (!valid) {
		nviews = 0;
		too_many = false;
		valid = ap_selfmaps_read(add_view, NULL);
	}
	return valid && !too_many;
}

static const struct ap_map *view_at(u64 addr)
{
	for (u32 k = 0; k < nviews; k++)
		if (addr >= views[k].start && addr < views[k].end)
			return &views[k];
	return NULL;
}

static void drop_ranges(void)
{
	for (u32 k = 0; k < shared.n; k++)
		ap_cache_invalidate(shared.v[k].start, shared.v[k].end);
}

/* The part of a file that lies in view v from lo on: its blocks wherever it is mapped. */
static void drop_part(const struct ap_map *v, u64 lo, u64 hi)
{
	u64 off = v->off + (lo - v->start), len = hi - lo;

	for (u32 k = 0; k < nviews; k++) {
		const struct ap_map *x = &views[k];
		u64 from = off > x->off ? off : x->off;
		u64 to = off + len < x->off + (x->end - x->start) ? off + len
								  : x->off + (x->end - x->start);

		if (x->x && same_file(v, x) && from < to)
			ap_cache_invalidate(x->start + (from - x->off), x->start + (to - x->off));
	}
}

void ap_alias_drop(u64 start, u64 end)
{
	if (!active)
		return;
	if (!refresh()) {
		drop_ranges();
		return;
	}
	for (u32 k = 0; k < nviews; k++) {
		const struct ap_map *v = &views[k];

		if (v->start < end && v->end > start)
			drop_part(v, v->start > start ? v->start : start,
				  v->end < end ? v->end : end);
	}
}

/* A new view may be written through: what it shows is to be translated and protected again. */
static void changed(u64 start, u64 end)
{
	forget_views();
	ap_alias_drop(start, end);
}

static void add_range(u64 start, u64 end)
{
	if (make_room())
		ap_ranges_set(&shared, start, end, 0);
	forget_views();
}

void ap_alias_map(u64 start, u64 end)
{
	add_range(start, end);
	ap_alias_drop(start, end);
}

void ap_alias_unmap(u64 start, u64 end)
{
	if (!overlaps(start, end) || !make_room())
		return;
	ap_ranges_clear(&shared, start, end);
	forget_views();
}

struct reloading {
	u64 start, end;
	bool has_begun;
};

static bool reload(const struct ap_map *m, void *arg)
{
	struct reloading *range = arg;
	u64 lo = m->start > range->start ? m->start : range->start;
	u64 hi = m->end < range->end ? m->end : range->end;

	if (!range->has_begun)
		ap_alias_unmap(range->start, range->end);
	range->has_begun = true;
	if (m->shared && lo < hi && make_room())
		ap_ranges_set(&shared, lo, hi, 0);
	return m->start < range->end;
}

void ap_alias_reload(u64 start, u64 end)
{
	struct reloading range = { .start = start, .end = end };

	if (overlaps(start, end))
		forget_views();
	if (!ap_selfmaps_read(reload, &range) && range.has_begun)
		ap_note(AP_NOTE_ENGINE, "cannot read /proc/self/maps to see what is shared");
}

/* Private mappings of files that were open for writing are lost: the kernel does not say. */
void ap_alias_mend(void)
{
	struct reloading all = { .end = UINT64_MAX, .has_begun = true };

	shared.n = 0;
	forget_views();
	(void)!ap_selfmaps_read(reload, &all);
}

u32 ap_alias_gen(void)
{
	return __atomic_load_n(&gen, __ATOMIC_RELAXED);
}

bool ap_alias_views(bool (*fn)(const struct ap_map *m, void *arg), void *arg)
{
	if (!shared.n)
		return true;
	if (!refresh())
		return false;
	for (u32 k = 0; k < nviews; k++)
		if (!fn(&views[k], arg))
			return false;
	return true;
}

void ap_alias_changed(u64 start, u64 end)
{
	if (overlaps(start, end))
		changed(start, end);
}

bool ap_alias_protect(u64 page, bool (*fn)(u64 page, u32 prot))
{
	const struct ap_map *v, *w;
	bool ok = true;
	u64 off, at;

	active = true;
	v = refresh() ? view_at(page) : NULL;
	if (!v)
		return false;
	off = v->off + (page - v->start);
	for (w = views; w < views + nviews; w++) {
		if (!same_file(v, w) || off < w->off || off - w->off >= w->end - w->start)
			continue;
		at = w->start + (off - w->off);
		if (at != page && !w->shared)
			continue; /* a store to it makes a copy */
		/* One line may hold what we protected and what is read-only. */
		if (w->w || ap_smc_is_protected(at))
			ok &= fn(at, (w->r ? AP_PROT_R : 0) | AP_PROT_W | (w->x ? AP_PROT_X : 0));
	}
	return ok;
}

static void drop_inode(u64 ino)
{
	if (!refresh()) {
		drop_ranges();
		return;
	}
	for (u32 k = 0; k < nviews; k++)
		if (views[k].x && views[k].ino == ino)
			ap_cache_invalidate(views[k].start, views[k].end);
}

void ap_alias_drop_file(s32 fd)
{
	struct ap_kstat st;

	/* not under the lock: the program itself may be who answers */
	if (!active || !shared.n || ap_sys2(AP_NR_fstat, (u64)fd, (u64)&st))
		return;
	ap_lock_take(&ap_proc.lock);
	drop_inode(st.ino);
	ap_lock_drop(&ap_proc.lock);
}

/*
 * Inode numbers, one bit each in a place by their value, so that most files are told apart: of those
 * that are executed from private mappings, made when the first file is opened for writing, and of
 * those that were opened for writing.
 */
#define INODE_WORDS 256

static u64 executed[INODE_WORDS], written[INODE_WORDS];
static bool executed_known;

static u32 inode_bit(u64 ino)
{
	return (u32)(ino * 0x9e3779b97f4a7c15ULL >> 50);
}

static void note_inode(u64 *set, u64 ino)
{
	__atomic_fetch_or(&set[inode_bit(ino) / 64], 1ULL << (inode_bit(ino) % 64),
			  __ATOMIC_RELAXED);
}

static bool has_inode(const u64 *set, u64 ino)
{
	return set[inode_bit(ino) / 64] >> (inode_bit(ino) % 64) & 1;
}

static bool note_mapping(const struct ap_map *m, void *arg)
{
	(void)arg;
	if (m->x && m->ino)
		note_inode(executed, m->ino);
	return true;
}

void ap_alias_executes(s32 fd)
{
	struct ap_kstat st;

	if (executed_known && !ap_sys2(AP_NR_fstat, (u64)fd, (u64)&st))
		note_inode(executed, st.ino);
}

static bool join(const struct ap_map *m, void *arg)
{
	const struct ap_kstat *st = arg;

	if (m->x && m->ino == st->ino && !overlaps(m->start, m->end)) {
		ap_cache_invalidate(m->start, m->end);
		add_range(m->start, m->end);
		ap_region_set(m->start, m->end, m->w ? AP_RANGE_W : 0, m->r);
	}
	return true;
}

void ap_alias_opened(s32 fd)
{
	struct ap_kstat st;

	if (ap_sys2(AP_NR_fstat, (u64)fd, (u64)&st) || (st.mode & S_IFMT) != S_IFREG)
		return;
	ap_lock_take(&ap_proc.lock);
	if (!executed_known)
		executed_known = ap_selfmaps_read(note_mapping, NULL);
	note_inode(written, st.ino);
	if (has_inode(executed, st.ino))
		(void)!ap_selfmaps_read(join, &st);
	ap_lock_drop(&ap_proc.lock);
}

bool ap_alias_was_opened(s32 fd)
{
	struct ap_kstat st;

	return !ap_sys2(AP_NR_fstat, (u64)fd, (u64)&st) && has_inode(written, st.ino);
}

void ap_alias_drop_all(void)
{
	if (active)
		drop_ranges();
}

bool ap_alias_any(void)
{
	return __atomic_load_n(&active, __ATOMIC_RELAXED);
}
