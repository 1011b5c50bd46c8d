/* SPDX-License-Identifier: MIT */
/*
 * Calls that change the address space.  They keep three things up to date: which addresses are
 * executable, which translated blocks still stand for the code at their addresses, and which
 * pages are write-protected for the engine's sake.  The process lock is held around the kernel's
 * part, so nobody translates what is just being replaced.
 *
 * To the program the engine's mappings are not there: a call on a range that reaches into them
 * acts as on a hole.  Only a fixed mapping right onto them cannot be had.
 */
#include "engine/task.h"

#define MREMAP_FIXED	     2
#define MREMAP_DONTUNMAP     4
#define MADV_DONTNEED	     4
#define MADV_FREE	     8
#define MADV_REMOVE	     9
#define MADV_DONTNEED_LOCKED 24
#define SHM_EXEC	     0100000
#define SHM_RDONLY	     010000
#define IPC_STAT	     2
#define READ_IMPLIES_EXEC    0x0400000
#define PER_QUERY	     0xffffffff

static u64 page_end(u64 addr, u64 len)
{
	return (addr & AP_PAGE_MASK) + AP_ALIGN_UP(len + (addr & ~AP_PAGE_MASK), AP_PAGE_SIZE);
}

struct gap {
	u64 pos, end;  /* looked at */
	u64 ours_end;  /* end of the mapping of ours that pos lies in, 0 none */
	u64 next_ours; /* start of the next one */
};

static void look(u64 start, u64 end, void *arg)
{
	struct gap *g = arg;

	if (start <= g->pos && end > g->pos)
		g->ours_end = end;
	else if (start > g->pos && start < g->next_ours)
		g->next_ours = start;
}

bool ap_gap_next(u64 pos, u64 end, u64 *lo, u64 *hi)
{
	struct gap g = { .pos = pos };

	for (;;) {
		if (g.pos >= end)
			return false;
		g.ours_end = 0;
		g.next_ours = end;
		ap_mem_for_each(look, &g);
		if (!g.ours_end)
			break;
		g.pos = g.ours_end;
	}
	*lo = g.pos;
	*hi = g.next_ours;
	return true;
}

static bool executable(u64 prot)
{
	s64 per;

	if (prot & AP_PROT_X || !(prot & AP_PROT_R))
		return prot & AP_PROT_X;
	per = ap_sys1(AP_NR_personality, PER_QUERY);
	return per > 0 && per & READ_IMPLIES_EXEC;
}

static u32 range_flags(u64 prot, bool shared)
{
	return (prot & AP_PROT_W ? AP_RANGE_W : 0) | (shared ? AP_RANGE_SHARED : 0);
}

/* The range holds other code from now on, or none. */
static void code_changes(u64 start, u64 end)
{
	ap_cache_invalidate(start, end);
	ap_smc_forget(start, end);
}

static s64 raw(const struct ap_call *c)
{
	return ap_sys6(c->nr, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5]);
}

static s64 do_mmap(const struct ap_call *c)
{
	u64 type = c->a[3] & AP_MAP_TYPE;
	bool fixed = c->a[3] & (AP_MAP_FIXED | AP_MAP_FIXED_NOREPLACE), exec;
	u64 end = page_end(c->a[0], c->a[1]);
	s64 ret;

	if (fixed && c->a[1] && ap_mem_is_ours(c->a[0], end))
		return c->a[3] & AP_MAP_FIXED_NOREPLACE ? -AP_EEXIST : -AP_ENOMEM;
	exec = executable(c->a[2]);
	if (!fixed && !exec)
		return raw(c);
	ap_lock_take(&ap_proc.lock);
	if (fixed)
		ap_smc_unprotect(c->a[0], end);
	ret = raw(c);
	if (!ap_is_err(ret)) {
		end = page_end((u64)ret, c->a[1]);
		code_changes((u64)ret, end);
		ap_region_set((u64)ret, end,
			      range_flags(c->a[2],
					  type == AP_MAP_SHARED || type == AP_MAP_SHARED_VALIDATE),
			      exec);
	}
	ap_lock_drop(&ap_proc.lock);
	return ret;
}

static s64 do_munmap(const struct ap_call *c)
{
	u64 end = page_end(c->a[0], c->a[1]), lo, hi = c->a[0];
	s64 ret;

	/* What the kernel refuses, and what would wrap. */
	if (c->a[0] & ~AP_PAGE_MASK || !c->a[1] || end <= c->a[0])
		return raw(c);
	ap_lock_take(&ap_proc.lock);
	ap_smc_unprotect(c->a[0], end);
	ap_cache_invalidate(c->a[0], end);
	if (!ap_mem_is_ours(c->a[0], end)) {
		ret = raw(c);
	} else {
		ret = 0;
		while (!ret && ap_gap_next(hi, end, &lo, &hi))
			ret = ap_sys2(AP_NR_munmap, lo, hi - lo);
	}
	if (!ret) {
		ap_smc_forget(c->a[0], end);
		ap_region_set(c->a[0], end, 0, false);
	}
	ap_lock_drop(&ap_proc.lock);
	return ret;
}

/* Also pkey_mprotect: the kernel stops at the first hole and keeps what it did before it. */
static s64 do_mprotect(const struct ap_call *c)
{
	u64 end = page_end(c->a[0], c->a[1]), lo, hi;
	struct ap_call part = *c;
	struct ap_range *old;
	bool cut = false, shared;
	s64 ret;

	if (c->a[0] & ~AP_PAGE_MASK || !c->a[1] || end <= c->a[0])
		return raw(c);
	if (ap_mem_is_ours(c->a[0], end)) {
		if (!ap_gap_next(c->a[0], end, &lo, &hi) || lo != c->a[0])
			return -AP_ENOMEM;
		part.a[1] = hi - lo;
		end = hi;
		cut = true;
	}
	ap_lock_take(&ap_proc.lock);
	old = ap_region_find(c->a[0]);
	shared = old && old->flags & AP_RANGE_SHARED;
	ap_smc_unprotect(c->a[0], end);
	ret = raw(&part);
	code_changes(c->a[0], end);
	if (!ret)
		ap_region_set(c->a[0], end, range_flags(c->a[2], shared), executable(c->a[2]));
	ap_lock_drop(&ap_proc.lock);
	return ret ? ret : cut ? -AP_ENOMEM : 0;
}

static s64 do_mremap(const struct ap_call *c)
{
	u64 old = c->a[0], old_end = page_end(old, c->a[1]);
	bool exec, to_fixed = c->a[3] & MREMAP_FIXED;
	struct ap_range *r;
	u32 flags;
	s64 ret;

	if (ap_mem_is_ours(old, old_end > old ? old_end : old + 1))
		return -AP_EFAULT;
	if (to_fixed && ap_mem_is_ours(c->a[4], page_end(c->a[4], c->a[2])))
		return -AP_ENOMEM;
	ap_lock_take(&ap_proc.lock);
	r = ap_region_find(old);
	exec = r;
	flags = r ? (u32)r->flags : 0;
	ap_smc_unprotect(old, old_end);
	if (to_fixed)
		ap_smc_unprotect(c->a[4], page_end(c->a[4], c->a[2]));
	ret = raw(c);
	if (!ap_is_err(ret)) {
		code_changes(old, old_end);
		if (!(c->a[3] & MREMAP_DONTUNMAP))
			ap_region_set(old, old_end, 0, false);
		old_end = page_end((u64)ret, c->a[2]);
		code_changes((u64)ret, old_end);
		ap_region_set((u64)ret, old_end, flags, exec);
	}
	ap_lock_drop(&ap_proc.lock);
	return ret;
}

static s64 do_madvise(const struct ap_call *c)
{
	u64 end = page_end(c->a[0], c->a[1]), lo, hi = c->a[0];
	bool drops = c->a[2] == MADV_DONTNEED || c->a[2] == MADV_FREE || c->a[2] == MADV_REMOVE ||
		     c->a[2] == MADV_DONTNEED_LOCKED;
	s64 ret;

	if (c->a[0] & ~AP_PAGE_MASK || !c->a[1] || end <= c->a[0])
		return raw(c);
	if (ap_mem_is_ours(c->a[0], end)) {
		ret = 0;
		while (!ret && ap_gap_next(hi, end, &lo, &hi))
			ret = ap_sys3(AP_NR_madvise, lo, hi - lo, c->a[2]);
		ret = ret ? ret : -AP_ENOMEM;
	} else {
		ret = raw(c);
	}
	if (drops) {
		ap_lock_take(&ap_proc.lock);
		ap_cache_invalidate(c->a[0], end);
		ap_lock_drop(&ap_proc.lock);
	}
	return ret;
}

static s64 do_shmat(const struct ap_call *c)
{
	u64 ds[16] = { 0 }; /* struct shmid64_ds, whose shm_segsz follows 48 bytes of ipc64_perm */
	s64 ret;
	u64 size;

	if (!(c->a[2] & SHM_EXEC))
		return raw(c);
	ap_lock_take(&ap_proc.lock);
	ret = raw(c);
	if (!ap_is_err(ret) && !ap_sys3(AP_NR_shmctl, c->a[0], IPC_STAT, (u64)ds)) {
		size = AP_ALIGN_UP(ds[6], AP_PAGE_SIZE);
		code_changes((u64)ret, (u64)ret + size);
		ap_region_set((u64)ret, (u64)ret + size,
			      range_flags(c->a[2] & SHM_RDONLY ? 0 : AP_PROT_W, true), true);
	}
	ap_lock_drop(&ap_proc.lock);
	return ret;
}

/* The segment's size is not known any more: the whole executable range around it counts as changed. */
static s64 do_shmdt(const struct ap_call *c)
{
	struct ap_range *r;
	s64 ret;

	ap_lock_take(&ap_proc.lock);
	r = ap_region_find(c->a[0]);
	if (r)
		ap_smc_unprotect(r->start, r->end);
	ret = raw(c);
	if (r && !ret)
		ap_cache_invalidate(r->start, r->end);
	ap_lock_drop(&ap_proc.lock);
	return ret;
}

s64 ap_call_memory(struct ap_thread *t, struct ap_call *c)
{
	s64 ret;

	(void)t;
	switch (c->nr) {
	case AP_NR_mmap:
		return do_mmap(c);
	case AP_NR_munmap:
		return do_munmap(c);
	case AP_NR_mprotect:
	case AP_NR_pkey_mprotect:
		return do_mprotect(c);
	case AP_NR_mremap:
		return do_mremap(c);
	case AP_NR_madvise:
		return do_madvise(c);
	case AP_NR_shmat:
		return do_shmat(c);
	case AP_NR_shmdt:
		return do_shmdt(c);
	default: /* remap_file_pages */
		ap_lock_take(&ap_proc.lock);
		ret = raw(c);
		ap_cache_invalidate(c->a[0], page_end(c->a[0], c->a[1]));
		ap_lock_drop(&ap_proc.lock);
		return ret;
	}
}
