/* SPDX-License-Identifier: MIT */
/*
 * Code that the kernel takes away while it stays mapped, or by another task's call.
 *
 * By a fork: MADV_DONTFORK and MADV_WIPEONFORK say what the child does not have.  Which ranges that are is kept here,
 * and the child drops their blocks.
 *
 * With a part of a file: truncate, O_TRUNC, a hole that is punched.  It goes from all mappings in all processes, private
 * copies included.  Who makes such a call looks whether the file is executed at all, as far as a bit for the
 * inode's number tells (most files that are truncated are not), drops its own blocks, and leaves the number on the session's
 * board.  All others look there when they come to the dispatcher.  The board is a hint, since any task may write to it: what is
 * dropped for nothing is made again, and what a process truncates itself it knows by its own table.
 */
#include "engine/syscall/taken.h"

#include "engine/cache/alias.h"
#include "engine/cache/region.h"
#include "engine/cache/smc.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/huge.h"
#include "engine/runtime/ranges.h"
#include "engine/runtime/resident.h"
#include "engine/runtime/selfmaps.h"
#include "engine/task/task.h"
#include "sys/nr.h"

#define RANGES		64
#define MADV_REMOVE	9
#define MADV_DONTFORK	10
#define MADV_DOFORK	11
#define MADV_WIPEONFORK 18
#define MADV_KEEPONFORK 19
#define MADV_GUARD_AWAY 103
/* NORMAL to WILLNEED, MERGEABLE to DODUMP, COLD to POPULATE_WRITE, COLLAPSE */
#define HARMLESS (0xfULL | 0x3f000ULL | 0xf00000ULL | 1ULL << 25)

#define FICLONE	     0x40049409U
#define FICLONERANGE 0x4020940dU
#define UFFDIO_MOVE  0xc028aa05U
#define UFFD_NEW     0xaa00U
#define O_ACCMODE    3
#define O_TRUNC	     01000

static AP_ROOMY struct ap_range ranges_v[RANGES];
static struct ap_ranges ranges;
static bool too_many; /* of them: a child keeps no block */

u32 ap_taken_at(u64 addr)
{
	u32 k = ap_ranges_at(&ranges, addr);

	return k < ranges.n && ranges.v[k].start <= addr ? (u32)ranges.v[k].flags : 0;
}

void ap_taken_set(u64 start, u64 end, u32 how)
{
	if (!how && !ranges.n)
		return;
	ranges.v = ranges_v;
	if (ranges.n + 2 > RANGES) {
		too_many = true;
		return;
	}
	if (how)
		ap_ranges_set(&ranges, start, end, how);
	else
		ap_ranges_clear(&ranges, start, end);
}

void ap_taken_unmap(u64 start, u64 end)
{
	ap_taken_set(start, end, 0);
}

/* Each part of [start, end) by itself: one bit changes, the other one may differ. */
static void change(u64 start, u64 end, u32 bit, bool on)
{
	while (start < end) {
		u32 k = ap_ranges_at(&ranges, start), had = ap_taken_at(start);
		u64 next = k == ranges.n ? end : had ? ranges.v[k].end : ranges.v[k].start;

		next = next < end ? next : end;
		ap_taken_set(start, next, on ? had | bit : had & ~bit);
		if (too_many)
			return;
		start = next;
	}
}

bool ap_taken_is_advice(u64 advice)
{
	return advice < 64 ? !(HARMLESS >> advice & 1) : advice != MADV_GUARD_AWAY;
}

static void take_holes(u64 start, u64 end);

void ap_taken_advised(u64 start, u64 end, u64 advice)
{
	start &= AP_PAGE_MASK;
	end = AP_ALIGN_UP(end, AP_PAGE_SIZE);
	if (advice == MADV_DONTFORK || advice == MADV_DOFORK) {
		change(start, end, AP_TAKEN_FORK, advice == MADV_DONTFORK);
	} else if (advice == MADV_WIPEONFORK || advice == MADV_KEEPONFORK) {
		change(start, end, AP_TAKEN_WIPE, advice == MADV_WIPEONFORK);
	} else {
		ap_cache_invalidate(start, end);
		ap_alias_drop(start, end);
	}
	if (advice == MADV_REMOVE)
		take_holes(start, end);
}

void ap_taken_in_child(void)
{
	if (too_many) {
		/* what is there the kernel tells, and what holds zeros is found so */
		ap_smc_unprotect_all();
		ap_cache_flush();
		ap_region_reload(0, UINT64_MAX);
	}
	for (u32 k = 0; k < ranges.n; k++) {
		u64 start = ranges.v[k].start, end = ranges.v[k].end;

		if (!(ranges.v[k].flags & AP_TAKEN_FORK))
			ap_smc_unprotect(start, end);
		ap_cache_invalidate(start, end);
		ap_smc_forget(start, end);
		if (!(ranges.v[k].flags & AP_TAKEN_FORK))
			continue;
		ap_region_set(start, end, 0, false);
		ap_alias_unmap(start, end);
		ap_huge_unmap(start, end);
	}
}

/* --- files */

#define INODE_WORDS AP_EXECUTED_N

static u64 executed
	[INODE_WORDS]; /* a bit for each inode that this process executes, some for more than one */
static bool is_known;  /* all of them are */
u32 ap_taken_seen;

static u32 inode_bit(u64 ino)
{
	return (u32)(ino * 0x9e3779b97f4a7c15ULL >> 32) % (INODE_WORDS * 64);
}

static bool has_bit(const u64 *set, u64 ino)
{
	u32 bit = inode_bit(ino);

	return __atomic_load_n(&set[bit / 64], __ATOMIC_RELAXED) >> (bit % 64) & 1;
}

static void set_bit(u64 *set, u64 ino)
{
	u32 bit = inode_bit(ino);

	if (!has_bit(set, ino))
		__atomic_fetch_or(&set[bit / 64], 1ULL << (bit % 64), __ATOMIC_RELAXED);
}

void ap_taken_executes(s32 fd)
{
	struct ap_kstat st;

	if (ap_sys2(AP_NR_fstat, (u64)fd, (u64)&st))
		return;
	set_bit(executed, st.ino);
	set_bit(ap_proc.board->executed, st.ino);
}

void ap_taken_executes_more(void)
{
	is_known = false;
}

static bool note(const struct ap_map *m, void *arg)
{
	(void)arg;
	if (m->x && m->ino) {
		set_bit(executed, m->ino);
		set_bit(ap_proc.board->executed, m->ino);
	}
	return true;
}

struct gone {
	u64 ino[AP_TAKEN_N];
	u32 n;
};

static bool drop(const struct ap_map *m, void *arg)
{
	const struct gone *gone = arg;

	for (u32 k = 0; m->x && k < gone->n; k++)
		if (m->ino == gone->ino[k])
			ap_cache_invalidate(m->start, m->end);
	return true;
}

static void drop_all(struct gone *gone)
{
	if (gone->n && !ap_selfmaps_read(drop, gone))
		ap_cache_flush();
}

/* Room is taken first, so that nobody's is lost; whoever reads an entry that is not written yet drops everything. */
static void tell_others(u64 ino)
{
	struct ap_board *board = ap_proc.board;
	u32 n = __atomic_fetch_add(&board->ntaken, 1, __ATOMIC_ACQ_REL);
	struct ap_taken *to = &board->taken[n % AP_TAKEN_N];

	__atomic_store_n(&to->n, n, __ATOMIC_RELAXED);
	__atomic_store_n(&to->ino, ino, __ATOMIC_RELEASE);
	__atomic_store_n(&to->n, n + 1, __ATOMIC_RELEASE);
	if (ap_taken_seen == n)
		ap_taken_seen = n + 1;
}

static void take(u64 ino)
{
	struct gone gone = { { ino }, 1 };

	if (!is_known)
		is_known = ap_selfmaps_read(note, NULL);
	if (!is_known || has_bit(executed, ino))
		drop_all(&gone);
	if (has_bit(ap_proc.board->executed, ino))
		tell_others(ino);
}

void ap_taken_from(u64 ino)
{
	ap_lock_take(&ap_proc.lock);
	take(ino);
	ap_lock_drop(&ap_proc.lock);
}

struct holes {
	u64 start, end;
	struct gone gone;
};

static bool find_file(const struct ap_map *m, void *arg)
{
	struct holes *h = arg;
	struct gone *g = &h->gone;

	if (m->ino && m->start < h->end && m->end > h->start && g->n < AP_ARRAY_SIZE(g->ino) &&
	    (!g->n || g->ino[g->n - 1] != m->ino))
		g->ino[g->n++] = m->ino;
	return m->start < h->end;
}

/* MADV_REMOVE: they are in the files behind, for all that map these. */
static void take_holes(u64 start, u64 end)
{
	struct holes h = { .start = start, .end = end };

	if (!ap_selfmaps_read(find_file, &h))
		ap_cache_flush();
	for (u32 k = 0; k < h.gone.n; k++)
		take(h.gone.ino[k]);
}

void ap_taken_from_fd(s32 fd)
{
	struct ap_kstat st;

	if (!ap_sys2(AP_NR_fstat, (u64)fd, (u64)&st))
		ap_taken_from(st.ino);
}

void ap_taken_look(void)
{
	struct ap_board *board = ap_proc.board;
	u32 n = __atomic_load_n(&board->ntaken, __ATOMIC_ACQUIRE), from = ap_taken_seen;
	bool lost = n - from > AP_TAKEN_N;
	struct gone gone = { .n = 0 };

	for (; !lost && from != n; from++) {
		const struct ap_taken *t = &board->taken[from % AP_TAKEN_N];
		u64 ino = __atomic_load_n(&t->ino, __ATOMIC_ACQUIRE);

		lost = __atomic_load_n(&t->n, __ATOMIC_ACQUIRE) != from + 1;
		if (has_bit(executed, ino) || !is_known)
			gone.ino[gone.n++] = ino;
	}
	ap_taken_seen = n;
	if (lost)
		ap_cache_flush();
	else
		drop_all(&gone);
}

/* --- calls */

s64 ap_call_truncate(struct ap_thread *t, struct ap_call *c)
{
	s64 ret = ap_call_pass(t, c);
	struct ap_kstat st;

	if (!ret && !ap_sys4(AP_NR_newfstatat, (u64)AP_AT_FDCWD, c->a[0], (u64)&st, 0))
		ap_taken_from(st.ino);
	return ret;
}

void ap_taken_opened(s32 fd, u64 flags)
{
	if (flags & O_ACCMODE)
		ap_alias_opened(fd);
	if (flags & O_TRUNC)
		ap_taken_from_fd(fd);
}

s64 ap_call_open_by_handle(struct ap_thread *t, struct ap_call *c)
{
	s64 ret = ap_call_pass(t, c);

	if (ret >= 0)
		ap_taken_opened((s32)ret, c->a[2]);
	return ret;
}

/* The pages of struct uffdio_move's src are at dst now, as many as it got to. */
static void moved_away(u64 at)
{
	u64 move[3]; /* dst, src, len */

	if (ap_safe_copy(move, (const void *)at, sizeof(move)))
		return;
	ap_lock_take(&ap_proc.lock);
	ap_cache_invalidate(move[1], move[1] + move[2]);
	ap_lock_drop(&ap_proc.lock);
}

s64 ap_call_ioctl(struct ap_thread *t, struct ap_call *c)
{
	s64 ret = ap_call_uffd(t, c);

	switch ((u32)c->a[1]) {
	case FICLONE:
	case FICLONERANGE:
		if (!ret)
			ap_taken_from_fd((s32)c->a[0]);
		break;
	case UFFD_NEW:
		ap_resident_has_uffd();
		break;
	case UFFDIO_MOVE:
		moved_away(c->a[2]);
		break;
	default:
		break;
	}
	return ret;
}
