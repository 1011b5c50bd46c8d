/* SPDX-License-Identifier: MIT */
/*
 * Locked memory.  mlockall would lock the engine's mappings as well, all of which count for RLIMIT_MEMLOCK though most
 * of them are never touched, and MCL_FUTURE would lock what it maps later.  So the kernel is never told: what there is of the
 * program's is locked piece by piece, and what it maps from then on is mapped locked.  Lock and flag are an address
 * space's: a fork's child and a new image begin without.
 */
#include "engine/runtime/filter.h"
#include "engine/runtime/selfmaps.h"
#include "engine/transparency/transparency.h"
#include "sys/nr.h"

#define MCL_CURRENT   1
#define MCL_FUTURE    2
#define MCL_ONFAULT   4
#define MLOCK_ONFAULT 1
#define MAP_LOCKED    0x2000
#define MAP_DROPPABLE 8
#define CAP_VERSION   0x20080522
#define CAP_IPC_LOCK  14
#define USER_END      (1ULL << 63) /* the vsyscall page is above */
#define IPC_STAT      2
#define BATCH	      64

u32 ap_mlock_future;

static s64 lock(u64 start, u64 end, u32 flags)
{
	if (start >= end)
		return 0;
	if (flags & MCL_ONFAULT)
		return ap_sys3(AP_NR_mlock2, start, end - start, MLOCK_ONFAULT);
	return ap_sys2(AP_NR_mlock, start, end - start);
}

static bool is_capable(void)
{
	struct {
		u32 version, pid;
	} head = { CAP_VERSION, 0 };
	u32 data[6] = { 0 };

	return !ap_sys2(AP_NR_capget, (u64)&head, (u64)data) && data[0] >> CAP_IPC_LOCK & 1;
}

static u64 limit(void)
{
	u64 lim[2] = { 0 };

	return ap_sys4(AP_NR_prlimit64, 0, AP_RLIMIT_MEMLOCK, 0, (u64)lim) ? UINT64_MAX : lim[0];
}

/* Neighbours may stand in one line of the file, not the engine's and the program's: what is ours is left out. */
static bool add_size(const struct ap_map *m, void *arg)
{
	if (m->start < USER_END && !ap_mem_is_ours(m->start, m->end))
		*(u64 *)arg += m->end - m->start;
	return true;
}

struct batch {
	u64 from; /* where the next one begins at the earliest */
	u32 n;
	struct {
		u64 start, end;
	} range[BATCH];
};

static bool collect(const struct ap_map *m, void *arg)
{
	struct batch *b = arg;

	if (m->start < b->from || m->start >= USER_END || ap_mem_is_ours(m->start, m->end))
		return true;
	b->range[b->n].start = m->start;
	b->range[b->n++].end = b->from = m->end;
	return b->n < BATCH;
}

/*
 * As the kernel: what cannot be locked, or has no pages, is passed over.  Without the lock, as pages come that
 * the program itself may have to supply.
 */
static void lock_present(u32 flags)
{
	struct batch b = { .n = BATCH };

	while (b.n == BATCH) {
		b.n = 0;
		ap_lock_take(&ap_proc.lock);
		(void)!ap_selfmaps_read(collect, &b);
		ap_lock_drop(&ap_proc.lock);
		for (u32 k = 0; k < b.n; k++)
			(void)lock(b.range[k].start, b.range[k].end, flags);
	}
}

static s64 lock_all(u32 flags)
{
	u64 size = 0;
	s64 ret = 0;

	if (!flags || flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) || flags == MCL_ONFAULT)
		return -AP_EINVAL;
	if (!limit() && !is_capable())
		return -AP_EPERM;
	ap_lock_take(&ap_proc.lock);
	if (flags & MCL_CURRENT && ap_selfmaps_read(add_size, &size) && size > limit() &&
	    !is_capable())
		ret = -AP_ENOMEM;
	if (!ret)
		ap_mlock_future = flags & MCL_FUTURE ? flags : 0;
	ap_lock_drop(&ap_proc.lock);
	if (!ret && flags & MCL_CURRENT)
		lock_present(flags);
	return ret;
}

/* The engine's mappings are holes: what lies before and behind them is done all the same. */
static s64 by_parts(struct ap_thread *t, const struct ap_call *c)
{
	u64 start = c->a[0] & AP_PAGE_MASK, end = AP_ALIGN_UP(c->a[0] + c->a[1], AP_PAGE_SIZE);
	struct ap_call part = *c;
	u64 lo, hi = start;
	s64 ret = 0;

	while (!ret && ap_gap_next(hi, end, &lo, &hi)) {
		part.a[0] = lo;
		part.a[1] = hi - lo;
		ret = ap_call_pass(t, &part);
	}
	return ret ? ret : -AP_ENOMEM;
}

s64 ap_call_mlock(struct ap_thread *t, struct ap_call *c)
{
	s64 ret;

	switch (c->nr) {
	case AP_NR_mlockall:
		/* under a filter that knows no more than this */
		return ap_filter_allows_nr(AP_NR_mlock) ? lock_all((u32)c->a[0])
							: ap_call_pass(t, c);
	case AP_NR_munlockall:
		ret = ap_call_pass(t, c);
		if (!ret)
			ap_mlock_future = 0;
		return ret;
	default:
		if (c->a[0] + c->a[1] > c->a[0] && ap_mem_is_ours(c->a[0], c->a[0] + c->a[1]))
			return by_parts(t, c);
		return ap_call_pass(t, c);
	}
}

static s64 map(struct ap_thread *t, const struct ap_call *c, ap_call_fn make, u32 flags)
{
	struct ap_call locked = *c;
	s64 ret;

	/* droppable memory is refused if the call says locked, and only brought in otherwise */
	if (!(flags & MCL_ONFAULT))
		locked.a[3] |=
			(c->a[3] & AP_MAP_TYPE) == MAP_DROPPABLE ? AP_MAP_POPULATE : MAP_LOCKED;
	ret = make(t, &locked);
	if (ret == -AP_EPERM && !limit())
		return -AP_EAGAIN;
	if (!(flags & MCL_ONFAULT) || ap_is_err(ret) ||
	    lock((u64)ret, AP_ALIGN_UP((u64)ret + c->a[1], AP_PAGE_SIZE), flags) != -AP_ENOMEM)
		return ret;
	locked = (struct ap_call){ .nr = AP_NR_munmap, .a = { (u64)ret, c->a[1] }, .pc = c->pc };
	(void)make(t, &locked);
	return -AP_EAGAIN;
}

static s64 grow(struct ap_thread *t, const struct ap_call *c, ap_call_fn make, u32 flags)
{
	struct ap_call again = *c;
	u64 old = (u64)ap_sys1(AP_NR_brk, 0);
	s64 ret = make(t, &again);

	if ((u64)ret <= old || lock(AP_ALIGN_UP(old, AP_PAGE_SIZE),
				    AP_ALIGN_UP((u64)ret, AP_PAGE_SIZE), flags) != -AP_ENOMEM)
		return ret;
	again.a[0] = old;
	return make(t, &again);
}

static s64 attach(struct ap_thread *t, const struct ap_call *c, ap_call_fn make, u32 flags)
{
	u64 ds[16] = { 0 }; /* struct shmid64_ds, whose shm_segsz follows 48 bytes of ipc64_perm */
	struct ap_call again = *c;
	s64 ret = make(t, &again);

	if (ap_is_err(ret) || ap_sys3(AP_NR_shmctl, c->a[0], IPC_STAT, (u64)ds) ||
	    lock((u64)ret, AP_ALIGN_UP((u64)ret + ds[6], AP_PAGE_SIZE), flags) != -AP_ENOMEM)
		return ret;
	again = (struct ap_call){ .nr = AP_NR_shmdt, .a = { (u64)ret }, .pc = c->pc };
	(void)make(t, &again);
	return -AP_EAGAIN;
}

s64 ap_mlock_memory(struct ap_thread *t, struct ap_call *c, ap_call_fn make)
{
	u32 flags = ap_mlock_future;

	switch (c->nr) {
	case AP_NR_mmap:
		return map(t, c, make, flags);
	case AP_NR_brk:
		return grow(t, c, make, flags);
	case AP_NR_shmat:
		return attach(t, c, make, flags);
	default:
		return make(t, c);
	}
}
