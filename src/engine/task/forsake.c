/* SPDX-License-Identifier: MIT */
/*
 * A process that is not counted any more keeps nothing of its party: each mapping of the party's file becomes memory of its
 * own, with what stood there, and the descriptor is closed.  Whoever gets its rights, or traces it, later, reaches
 * nobody's counts by it (docs/design/trust.md).  Threads that have not noticed yet count on in memory that nobody reads.
 *
 * What the kernel shows to be mapped is what counts: a list of ours might lack one.  Where it shows nothing (no /proc, no descriptor
 * left to read it by) the lists have to do.
 *
 * A filter may let it unmap nothing.  Where that allows a change of credentials the supervisor gives up the party, which is no bigger than
 * what has come of that process since the filter (party.c), and then nobody reads what is written there.
 */
#include "engine/client.h"
#include "engine/task/party.h"

#include "base/mem.h"
#include "engine/cache/store.h"
#include "engine/count/profile.h"
#include "engine/runtime/selfmaps.h"
#include "engine/task/task.h"
#include "engine/thread/cradle.h"
#include "engine/translate/heir.h"
#include "service/service.h"

#define MREMAP_TO (1 | 2) /* MREMAP_MAYMOVE | MREMAP_FIXED */

/* The party's that is left.  Process lock. */
static struct {
	u64 dev, ino;
	bool is_known, fails;
} former;

static bool find(const struct ap_map *m, void *arg)
{
	(void)arg;
	if (m->start > (u64)ap_proc.seg || m->end <= (u64)ap_proc.seg)
		return true;
	former.dev = m->dev;
	former.ino = m->ino;
	former.is_known = true;
	return false;
}

static u64 prot_of(const struct ap_map *m)
{
	return (m->r ? AP_PROT_R : 0) | (m->w ? AP_PROT_W : 0);
}

/* With what stands there, at once for whoever uses it meanwhile. */
static bool put_copy(const struct ap_map *m)
{
	u64 size = m->end - m->start;
	char *copy = ap_mem_map(0, size);
	bool is_there;

	if (!copy)
		return false;
	is_there = !ap_safe_copy(copy, (const void *)m->start, size) &&
		   !ap_is_err(ap_sys3(AP_NR_mprotect, (u64)copy, size, prot_of(m))) &&
		   !ap_is_err(ap_sys5(AP_NR_mremap, (u64)copy, size, size, MREMAP_TO, m->start));
	ap_mem_unmap(copy, size);
	return is_there;
}

static bool put_zeros(const struct ap_map *m)
{
	return !ap_is_err(ap_sys6(AP_NR_mmap, m->start, m->end - m->start, prot_of(m),
				  AP_MAP_PRIVATE | AP_MAP_ANON | AP_MAP_NORESERVE | AP_MAP_FIXED,
				  (u64)-1, 0));
}

static void make_own(const struct ap_map *m)
{
	/* nobody reads it any more, and most of it was never there */
	if (ap_profile_owns(m->start)) {
		former.fails |= !put_zeros(m);
		return;
	}
	if (!put_copy(m) && !put_zeros(m))
		former.fails = true;
}

static bool is_former(const struct ap_map *m, void *arg)
{
	(void)arg;
	if (m->dev == former.dev && m->ino == former.ino)
		make_own(m);
	return true;
}

static void make_range_own(void *at, u64 size)
{
	const struct ap_map m = { .start = (u64)at,
				  .end = (u64)at + AP_ALIGN_UP(size, AP_PAGE_SIZE),
				  .r = true,
				  .w = true };

	make_own(&m);
}

/* All that is mapped of a party's file, as far as the engine knows. */
static void make_lists_own(void)
{
	make_range_own(ap_proc.board, AP_BOARD_SIZE);
	ap_segment_window_each(make_range_own);
	ap_slot_each_seg(make_range_own);
	ap_thread_each_slot(make_range_own);
	ap_cradle_each(make_range_own);
	ap_clients_each_shared(make_range_own);
	ap_service_each_shared(make_range_own);
}

void ap_party_note_file(void)
{
	former.is_known = former.fails = false;
	(void)!ap_selfmaps_read(find, NULL);
}

bool ap_party_drop_file(void)
{
	if (former.is_known && !ap_selfmaps_read(is_former, NULL))
		former.fails = true;
	former.is_known &= former.fails;
	return !former.fails;
}

void ap_party_forsake(struct ap_thread *t)
{
	if (ap_proc.forsaken) {
		ap_fd_forget(t); /* of a table of its own */
		return;
	}
	if (ap_fd_is_shared())
		__atomic_store_n(&ap_proc.board->files_left, 1, __ATOMIC_SEQ_CST);
	ap_heir_part();
	ap_store_part();
	/* of a move that came to nothing: what it was to leave, beside what it has come to */
	(void)!ap_party_drop_file();
	ap_party_note_file();
	if (!former.is_known || !ap_party_drop_file() || ap_fd_is_shared())
		make_lists_own();
	if (former.fails && t->filters && ap_party_would_stay(t->filters))
		ap_supervisor_gives_up();
	__atomic_store_n(&ap_proc.forsaken, true, __ATOMIC_RELEASE);
	ap_fd_forget(t);
}
