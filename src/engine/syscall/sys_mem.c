/* SPDX-License-Identifier: MIT */
/*
 * Calls that change the address space.  They keep three things up to date: which addresses are
 * executable, which translated blocks still stand for the code at their addresses, and which
 * pages are write-protected for the engine's sake.  The process lock is held around the kernel's
 * part, so nobody translates what is just being replaced.
 *
 * To the program the engine's mappings are not there: a call on a range that reaches into them
 * acts as on a hole.  Of what it asks for by address translated code and its tables give way (ap_cache_give_up); only a mapping
 * right onto the rest, which is far from all that programs ask for, cannot be had.
 */
#include "engine/cache/alias.h"
#include "engine/cache/region.h"
#include "engine/cache/smc.h"
#include "engine/client.h"
#include "engine/runtime/filter.h"
#include "engine/runtime/huge.h"
#include "engine/runtime/resident.h"
#include "engine/runtime/selfmaps.h"
#include "engine/syscall/taken.h"
#include "engine/task/task.h"
#include "service/service.h"

#define MREMAP_FIXED	   2
#define MREMAP_DONTUNMAP   4
#define MADV_REMOVE	   9
#define MADV_POPULATE_READ 22
#define MAP_DROPPABLE	   8
#define IOV_MAX		   1024
#define SHM_EXEC	   0100000
#define SHM_RDONLY	   010000
#define SHM_REMAP	   040000
#define IPC_STAT	   2
#define READ_IMPLIES_EXEC  0x0400000
#define PER_QUERY	   0xffffffff
#define MAP_GROWSDOWN	   0x0100
#define MAP_32BIT	   0x40
#define MAP_32BIT_START	   0x40000000
#define MAP_32BIT_END	   0x80000000
#define PROT_GROWSDOWN	   0x01000000
#define PROT_GROWSUP	   0x02000000
#define F_GETFL		   3
#define O_ACCMODE	   3
#define SYNC_CORE	   (1u << 5) /* MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE */

static u64 page_end(u64 addr, u64 len)
{
	return (addr & AP_PAGE_MASK) + AP_ALIGN_UP(len + (addr & ~AP_PAGE_MASK), AP_PAGE_SIZE);
}

static bool executable(u64 prot)
{
	s64 per;

	if (prot & AP_PROT_X || !(prot & AP_PROT_R))
		return prot & AP_PROT_X;
	per = ap_sys1(AP_NR_personality, PER_QUERY);
	return per > 0 && per & READ_IMPLIES_EXEC;
}

static u32 range_flags(u64 prot)
{
	return prot & AP_PROT_W ? AP_RANGE_W : 0;
}

static u32 map_flags(const struct ap_call *c)
{
	return range_flags(c->a[2]) | (c->a[3] & MAP_GROWSDOWN ? AP_RANGE_GROWS : 0) |
	       (c->a[3] & AP_MAP_ANON ? 0 : AP_RANGE_FILE);
}

/* The range holds other code from now on, or none. */
static void code_changes(u64 start, u64 end)
{
	ap_cache_invalidate(start, end);
	ap_smc_forget(start, end);
}

static s64 raw(const struct ap_call *c)
{
	return ap_rawsys(c->nr, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5]);
}

/*
 * For the holder of the lock.  A userfaultfd may ask to be told of what is unmapped or moved: then the kernel waits until a
 * thread has read it, which may be one of this process.
 */
static s64 raw_told(const struct ap_call *c)
{
	s64 ret;

	if (ap_likely(!ap_resident_is_served()))
		return raw(c);
	ap_lock_drop(&ap_proc.lock);
	ret = raw(c);
	ap_lock_take(&ap_proc.lock);
	return ret;
}

/* Can what is mapped change other than by a store to it?  A private file's page can until then. */
static bool may_change(const struct ap_call *c, bool exec)
{
	u64 type = c->a[3] & AP_MAP_TYPE;
	s64 flags;

	if (type == AP_MAP_SHARED || type == AP_MAP_SHARED_VALIDATE)
		return true;
	if (c->a[3] & AP_MAP_ANON)
		return false;
	flags = ap_sys2(AP_NR_fcntl, c->a[4], F_GETFL);
	if (flags > 0 && flags & O_ACCMODE)
		return true;
	return exec && ap_alias_was_opened((s32)c->a[4]);
}

/* What was mapped there is something else now, or nothing. */
static void forget(u64 start, u64 end)
{
	ap_alias_unmap(start, end);
	ap_huge_unmap(start, end);
	ap_taken_unmap(start, end);
}

struct mem_place {
	u64 start, end;
	bool is_taken;
};

static bool look_for_others(const struct ap_map *m, void *arg)
{
	struct mem_place *p = arg;

	p->is_taken = m->start < p->end && m->end > p->start && !ap_mem_is_ours(m->start, m->end);
	return !p->is_taken && m->start < p->end;
}

/*
 * Likewise, for a call that gets the place only if it is free: what else is there, in the way of a large reservation
 * most of all, has the kernel refuse it or choose another, and nothing need move.
 */
static bool give_up_free(u64 start, u64 end)
{
	struct mem_place p = { .start = start, .end = end };

	if (!ap_mem_is_ours(start, end))
		return true;
	if (!ap_cache_can_give_up(start, end))
		return false;
	(void)!ap_selfmaps_read(look_for_others, &p);
	return !p.is_taken && ap_cache_give_up(start, end);
}

/* The program asks for this place; false: it cannot have it.  What is no place at all the kernel refuses itself. */
static bool may_have(u64 start, u64 end, bool is_replaced)
{
	bool ok = true;

	if (start >= end || end > AP_TASK_SIZE || ap_likely(!ap_mem_is_ours(start, end)))
		return true;
	ap_lock_take(&ap_proc.lock);
	ok = is_replaced ? ap_cache_give_up(start, end) : give_up_free(start, end);
	ap_lock_drop(&ap_proc.lock);
	return ok;
}

/* Nothing was found in the one GiB where MAP_32BIT looks: once more, without us there. */
static s64 map_again(const struct ap_call *c, s64 ret)
{
	if (ret == -AP_ENOMEM && c->a[3] & MAP_32BIT &&
	    ap_mem_is_ours(MAP_32BIT_START, MAP_32BIT_END) &&
	    ap_cache_give_up(MAP_32BIT_START, MAP_32BIT_END))
		ret = raw(c);
	return ret;
}

/* What MAP_POPULATE asks for may take long, and be answered by a thread of the program: without the lock. */
static void populate(const struct ap_call *c, u64 at)
{
	bool writes = c->a[2] & AP_PROT_W && (c->a[3] & AP_MAP_TYPE) == AP_MAP_PRIVATE;

	if (c->a[2] & (AP_PROT_R | AP_PROT_W | AP_PROT_X))
		ap_rawsys(AP_NR_madvise, at, c->a[1],
			  writes ? AP_MADV_POPULATE_WRITE : MADV_POPULATE_READ, 0, 0, 0);
}

static s64 do_mmap(const struct ap_call *c)
{
	bool fixed = c->a[3] & (AP_MAP_FIXED | AP_MAP_FIXED_NOREPLACE), exec, shared;
	bool huge = ap_huge_is_asked(c->a[3]), wiped = (c->a[3] & AP_MAP_TYPE) == MAP_DROPPABLE;
	bool populates = c->a[3] & AP_MAP_POPULATE && !ap_filter_any;
	u64 len = ap_huge_len(c->a[3], c->a[1]), end = page_end(c->a[0], len);
	struct ap_call part;
	s64 ret;

	if (c->a[0] && c->a[1] && !may_have(c->a[0] & AP_PAGE_MASK, end, c->a[3] & AP_MAP_FIXED) &&
	    fixed)
		return c->a[3] & AP_MAP_FIXED_NOREPLACE ? -AP_EEXIST : -AP_ENOMEM;
	exec = executable(c->a[2]);
	shared = may_change(c, exec);
	if (!fixed && !exec && !shared && !huge && !wiped && !(c->a[3] & MAP_32BIT))
		return raw(c);
	if (exec && !(c->a[3] & AP_MAP_ANON)) {
		if (!shared)
			ap_alias_executes((s32)c->a[4]);
		ap_taken_executes((s32)c->a[4]);
	}
	part = *c;
	if (populates)
		part.a[3] &= ~(u64)AP_MAP_POPULATE;
	ap_lock_take(&ap_proc.lock);
	if (fixed)
		ap_smc_unprotect(c->a[0], end);
	ret = map_again(&part, fixed ? raw_told(&part) : raw(&part));
	if (!ap_is_err(ret)) {
		end = page_end((u64)ret, len);
		code_changes((u64)ret, end);
		forget((u64)ret, end);
		if (huge)
			ap_huge_map((u64)ret, len);
		if (shared)
			ap_alias_map((u64)ret, end);
		if (wiped)
			ap_taken_set((u64)ret, end, AP_TAKEN_WIPE);
		ap_region_set((u64)ret, end, map_flags(c), exec);
	}
	ap_lock_drop(&ap_proc.lock);
	if (populates && !ap_is_err(ret))
		populate(c, (u64)ret);
	return ret;
}

static s64 do_munmap(const struct ap_call *c)
{
	u64 end = page_end(c->a[0], c->a[1]), lo, hi = c->a[0];
	struct ap_call part;
	s64 ret;

	/* What the kernel refuses, and what would wrap. */
	if (c->a[0] & ~AP_PAGE_MASK || !c->a[1] || end <= c->a[0])
		return raw(c);
	ap_lock_take(&ap_proc.lock);
	ap_smc_unprotect(c->a[0], end);
	ap_cache_invalidate(c->a[0], end);
	if (!ap_mem_is_ours(c->a[0], end)) {
		ret = raw_told(c);
	} else {
		ret = 0;
		while (!ret && ap_gap_next(hi, end, &lo, &hi)) {
			part = (struct ap_call){ .nr = AP_NR_munmap, .a = { lo, hi - lo } };
			ret = raw_told(&part);
		}
	}
	if (!ret) {
		ap_cache_invalidate(c->a[0], end); /* what was made meanwhile, if anybody could */
		ap_smc_forget(c->a[0], end);
		ap_region_set(c->a[0], end, 0, false);
		forget(c->a[0], end);
	} else {
		ap_region_reload(c->a[0], end);
	}
	ap_lock_drop(&ap_proc.lock);
	return ret;
}

/* Also pkey_mprotect: the kernel stops at the first hole and keeps what it did before it. */
static s64 do_mprotect(const struct ap_call *c)
{
	u64 end = page_end(c->a[0], c->a[1]), lo, hi;
	struct ap_call part = *c;
	const struct ap_range *old;
	bool cut = false;
	u32 kept;
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
	kept = old ? (u32)old->flags & (AP_RANGE_GROWS | AP_RANGE_FILE) : 0;
	/* Our protection may have cut the mapping that is meant as a whole. */
	ap_smc_unprotect(c->a[2] & PROT_GROWSDOWN ? 0 : c->a[0], end);
	ret = raw(&part);
	code_changes(c->a[0], end);
	if (ret || c->a[2] & (PROT_GROWSDOWN | PROT_GROWSUP))
		ap_region_reload(c->a[0], end);
	else
		ap_region_set(c->a[0], end, range_flags(c->a[2]) | kept, executable(c->a[2]));
	if (!old && c->a[2] & AP_PROT_X)
		ap_taken_executes_more();
	ap_alias_changed(c->a[0], end);
	ap_lock_drop(&ap_proc.lock);
	return ret ? ret : cut ? -AP_ENOMEM : 0;
}

/* [old, old_end) has become so many bytes at new: what holds for the one holds for the other. */
static void moved(const struct ap_call *c, u64 old_end, u64 new, u64 len)
{
	u64 old = c->a[0], new_end = page_end(new, len), lo, hi;
	struct ap_range *r = ap_region_find(old);
	bool exec = r, shared = ap_alias_next(old, old + 1, &lo, &hi), huge = ap_huge_is_at(old);
	u32 flags = r ? (u32)r->flags & AP_RANGE_W : 0, taken = ap_taken_at(old);

	code_changes(old, old_end);
	if (!(c->a[3] & MREMAP_DONTUNMAP)) {
		ap_region_set(old, old_end, 0, false);
		forget(old, old_end);
	}
	code_changes(new, new_end);
	forget(new, new_end);
	if (huge)
		ap_huge_map(new, len);
	if (shared)
		ap_alias_map(new, new_end);
	ap_taken_set(new, new_end, taken);
	ap_region_set(new, new_end, flags, exec);
}

static s64 do_mremap(const struct ap_call *c)
{
	u64 old = c->a[0], old_end, len, to = c->a[4], to_end;
	bool to_fixed = c->a[3] & MREMAP_FIXED;
	s64 ret;

	ap_lock_take(&ap_proc.lock);
	old_end = page_end(old, ap_huge_len_at(old, c->a[1]));
	len = ap_huge_len_at(old, c->a[2]);
	to_end = page_end(to, len);
	ret = ap_mem_is_ours(old, old_end > old ? old_end : old + 1) ? -AP_EFAULT
	      : to_fixed && !ap_cache_give_up(to, to_end)	     ? -AP_ENOMEM
								     : 0;
	if (ret)
		goto out;
	if (page_end(old, len) > old_end) /* it may grow where it is */
		(void)give_up_free(old_end, page_end(old, len));
	/* Nothing as the old size asks for a second view, as large as the new one. */
	ap_smc_unprotect(old, c->a[1] ? old_end : page_end(old, len));
	if (to_fixed)
		ap_smc_unprotect(to, to_end);
	ret = raw_told(c);
	if (!ap_is_err(ret))
		moved(c, old_end, (u64)ret, len);
	else if (to_fixed) /* what was there may be gone all the same */
		ap_region_reload(to, to_end);
out:
	ap_lock_drop(&ap_proc.lock);
	return ret;
}

/* Of the pages that are there; what the kernel judges by protection is judged by the program's. */
static s64 advise(const struct ap_call *c, u64 end)
{
	u64 lo, hi = c->a[0];
	s64 ret = 0;

	if (!ap_mem_is_ours(c->a[0], end))
		return raw(c);
	while (!ret && ap_gap_next(hi, end, &lo, &hi))
		ret = ap_rawsys(AP_NR_madvise, lo, hi - lo, c->a[2], 0, 0, 0);
	return ret ? ret : -AP_ENOMEM;
}

/* Advice that changes nothing of what is here waits for nobody, and nobody for it: it may take long. */
static s64 do_madvise(const struct ap_call *c)
{
	u64 end = page_end(c->a[0], c->a[1]), advice = c->a[2];
	bool writes = advice == MADV_REMOVE || advice == AP_MADV_POPULATE_WRITE;
	s64 ret;

	if (c->a[0] & ~AP_PAGE_MASK || !c->a[1] || end <= c->a[0])
		return raw(c);
	if (writes && ap_smc_any()) {
		ap_lock_take(&ap_proc.lock);
		ap_smc_unprotect(c->a[0], end);
		ap_lock_drop(&ap_proc.lock);
	}
	ret = advise(c, end);
	if (ap_taken_is_advice(advice)) {
		ap_lock_take(&ap_proc.lock);
		ap_taken_advised(c->a[0], end, advice);
		ap_lock_drop(&ap_proc.lock);
	}
	return ret;
}

/* Of any process, but what takes contents away the kernel lets only its own do. */
s64 ap_call_process_madvise(struct ap_thread *t, struct ap_call *c)
{
	s64 ret = ap_call_advise_parts(t, c);
	u64 part[2];

	if (ret <= 0 || !ap_taken_is_advice(c->a[3]))
		return ret;
	for (u64 k = 0; k < c->a[2] && k < IOV_MAX; k++) {
		if (ap_safe_copy(part, (const void *)(c->a[1] + k * sizeof(part)), sizeof(part)))
			break;
		ap_lock_take(&ap_proc.lock);
		ap_taken_advised(part[0], page_end(part[0], part[1]), c->a[3]);
		ap_lock_drop(&ap_proc.lock);
	}
	return ret;
}

/* The kernel lets the heap end a page before what comes behind it. */
static s64 brk_or_again(const struct ap_call *c, bool shrinks)
{
	s64 ret = shrinks ? raw_told(c) : raw(c);
	u64 end = page_end(c->a[0], 2 * AP_PAGE_SIZE);

	if ((u64)ret < c->a[0] && ap_mem_is_ours((u64)ret, end) && give_up_free((u64)ret, end))
		ret = raw(c);
	return ret;
}

/* A heap that shrinks is unmapped. */
static s64 do_brk(const struct ap_call *c)
{
	static u64 top;
	u64 end, old_end;
	bool shrinks;
	s64 ret;

	ap_lock_take(&ap_proc.lock);
	old_end = AP_ALIGN_UP(top, AP_PAGE_SIZE);
	shrinks = c->a[0] && c->a[0] < top; /* 0 only asks */
	if (shrinks)
		ap_smc_unprotect(c->a[0] & AP_PAGE_MASK, old_end);
	ret = brk_or_again(c, shrinks);
	end = AP_ALIGN_UP((u64)ret, AP_PAGE_SIZE);
	if (end < old_end) {
		code_changes(end, old_end);
		ap_region_set(end, old_end, 0, false);
		forget(end, old_end);
	}
	top = (u64)ret;
	ap_lock_drop(&ap_proc.lock);
	return ret;
}

static s64 do_shmat(const struct ap_call *c)
{
	u64 ds[16] = { 0 }; /* struct shmid64_ds, whose shm_segsz follows 48 bytes of ipc64_perm */
	u64 start = c->a[1] & AP_PAGE_MASK, end;
	s64 ret;

	ap_lock_take(&ap_proc.lock);
	if (start && !ap_sys3(AP_NR_shmctl, c->a[0], IPC_STAT, (u64)ds)) {
		end = start + AP_ALIGN_UP(ds[6], AP_PAGE_SIZE);
		if (!(c->a[2] & SHM_REMAP ? ap_cache_give_up(start, end)
					  : give_up_free(start, end))) {
			ap_lock_drop(&ap_proc.lock);
			return -AP_EINVAL;
		}
		if (c->a[2] & SHM_REMAP)
			ap_smc_unprotect(start, end);
	}
	ret = raw(c);
	if (!ap_is_err(ret) && !ap_sys3(AP_NR_shmctl, c->a[0], IPC_STAT, (u64)ds)) {
		end = (u64)ret + AP_ALIGN_UP(ds[6], AP_PAGE_SIZE);
		code_changes((u64)ret, end);
		ap_huge_unmap((u64)ret, end);
		ap_alias_map((u64)ret, end);
		ap_region_set((u64)ret, end, range_flags(c->a[2] & SHM_RDONLY ? 0 : AP_PROT_W),
			      c->a[2] & SHM_EXEC);
	}
	ap_lock_drop(&ap_proc.lock);
	return ret;
}

/*
 * How large the segment is only the kernel knows, and pieces of it may lie apart: all shared memory from there on is
 * looked at again.
 */
static s64 do_shmdt(const struct ap_call *c)
{
	u64 lo, hi;
	s64 ret;

	ap_lock_take(&ap_proc.lock);
	for (hi = c->a[0]; ap_alias_next(hi, UINT64_MAX, &lo, &hi);)
		ap_smc_unprotect(lo, hi);
	ret = raw(c);
	for (hi = c->a[0]; !ret && ap_alias_next(hi, UINT64_MAX, &lo, &hi);) {
		code_changes(lo, hi);
		ap_region_reload(lo, hi);
		ap_alias_reload(lo, hi);
	}
	ap_lock_drop(&ap_proc.lock);
	return ret;
}

s64 ap_call_membarrier(struct ap_thread *t, struct ap_call *c)
{
	s64 ret = ap_call_pass(t, c);

	if (!ret && c->a[0] & SYNC_CORE)
		ap_smc_serialize();
	return ret;
}

#define SEEK_CUR 1

/* Where a write to the memory of a process begins; below 0: nobody knows.  Addresses of programs are below 2^47. */
static s64 mem_position(const struct ap_call *c)
{
	if (c->nr == AP_NR_pwrite64 || c->nr == AP_NR_pwritev ||
	    (c->nr == AP_NR_pwritev2 && (s64)c->a[3] != -1))
		return (s64)c->a[3];
	if (ap_proc.seg->mute || (c->nr != AP_NR_write && c->nr != AP_NR_writev))
		return -1;
	return ap_sys3(AP_NR_lseek, c->a[0], 0, SEEK_CUR);
}

#define WRITE_MAX 0x7ffff000ULL /* the kernel makes no longer one */

/*
 * Bytes of a process have been changed: from there on, if the descriptor has moved by so much; others may have it, too.  A call that
 * cannot read its source fails with EFAULT, also where pages before that have been written.
 */
static void mem_written(const struct ap_call *c, s64 from, s64 ret)
{
	bool by_position = c->nr == AP_NR_write || c->nr == AP_NR_writev;
	u64 n = (u64)ret;

	if (ret < 0) {
		n = c->a[2] < WRITE_MAX ? c->a[2] : WRITE_MAX;
		from = c->nr == AP_NR_pwrite64 ? from : -1;
	}
	if (from >= 0 && (!by_position || mem_position(c) == from + ret))
		ap_smc_poked((u64)from, (u64)from + n);
	else
		ap_smc_poked(0, UINT64_MAX);
	ap_smc_serialize();
}

/* A file is written to, which may be code that is mapped, or the memory of a process. */
s64 ap_call_write(struct ap_thread *t, struct ap_call *c)
{
	const bool to_mem = ap_procfs_any_mem() && ap_procfs_is_mem((s32)c->a[0]);
	const s64 from = to_mem ? mem_position(c) : -1;
	u64 fd = c->a[0];
	s64 ret;

	if (c->nr == AP_NR_sendfile || c->nr == AP_NR_splice || c->nr == AP_NR_copy_file_range)
		ap_procfs_before_copy(t, c);
	ret = ap_call_pass(t, c);
	if (!ret && (c->nr == AP_NR_ftruncate || c->nr == AP_NR_fallocate))
		ap_taken_from_fd((s32)fd);
	if (ret > 0 && c->nr != AP_NR_ftruncate && c->nr != AP_NR_fallocate)
		ap_service_wrote((s32)fd);
	if (ap_likely(!ap_alias_any() && !ap_procfs_any_mem()) || (ret < 0 && ret != -AP_EFAULT))
		return ret;
	if (c->nr == AP_NR_splice || c->nr == AP_NR_copy_file_range)
		fd = c->a[2];
	if (ap_procfs_is_mem((s32)fd))
		mem_written(c, from, ret);
	if (ret >= 0)
		ap_alias_drop_file((s32)fd);
	return ret;
}

static s64 memory(struct ap_thread *t, struct ap_call *c)
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
	case AP_NR_brk:
		return do_brk(c);
	case AP_NR_shmat:
		return do_shmat(c);
	case AP_NR_shmdt:
		return do_shmdt(c);
	default: /* remap_file_pages */
		if (ap_call_is_on_ours(c->a[0], c->a[1] & AP_PAGE_MASK))
			return ap_call_on_hole(c);
		ap_lock_take(&ap_proc.lock);
		ap_smc_unprotect(c->a[0], page_end(c->a[0], c->a[1]));
		ret = raw(c);
		ap_cache_invalidate(c->a[0], page_end(c->a[0], c->a[1]));
		ap_alias_changed(c->a[0], page_end(c->a[0], c->a[1]));
		ap_lock_drop(&ap_proc.lock);
		return ret;
	}
}

s64 ap_call_memory(struct ap_thread *t, struct ap_call *c)
{
	s64 ret;

	if (ap_unlikely(ap_limits_shares(t)) && ap_vm_limit_refuses(t, c))
		return c->nr == AP_NR_brk ? ap_sys1(AP_NR_brk, 0) : -AP_ENOMEM;
	ret = ap_unlikely(ap_mlock_future) ? ap_mlock_memory(t, c, memory) : memory(t, c);
	ap_clients_mapped(c, ret);
	return ret;
}
