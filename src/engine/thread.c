/* SPDX-License-Identifier: MIT */
/*
 * Thread areas and the slots of the session file that lie in them.
 *
 * An area is made once and used by one thread after another.  A thread cannot free the stack that
 * it stands on, so an ending thread only retires its area; whoever starts or ends a thread later
 * takes it over or frees it, once the kernel no longer knows the old one.
 *
 * Everything here but ap_thread_set_gs and ap_thread_init_kernel needs the process lock.
 */
#include "base/mem.h"
#include "engine/task.h"

#define ARCH_SET_GS	0x1001
#define MADV_REMOVE	9
#define HWCAP2_FSGSBASE 2
#define SPARE_MAX	4 /* retired areas that are kept */

static struct ap_thread *retired;
static u32 nretired;
static u16 free_slots[AP_SLOT_MAX];
static u32 nfree_slots;
static u64 last_serial;

static int take_slot(u32 *index)
{
	u32 n = ap_proc.seg->nslots;

	if (nfree_slots) {
		*index = free_slots[--nfree_slots];
		return 0;
	}
	if (n >= AP_SLOT_MAX)
		return -AP_EAGAIN;
	__atomic_store_n(&ap_proc.seg->nslots, n + 1, __ATOMIC_RELEASE);
	*index = n;
	return 0;
}

static s64 map_slot(struct ap_thread *t, u32 seg, u32 index)
{
	s64 ret = ap_sys6(AP_NR_mmap, (u64)t + AP_T_SLOT_OFF, AP_SLOT_SIZE, AP_PROT_R | AP_PROT_W,
			  AP_MAP_SHARED | AP_MAP_FIXED, (u64)ap_proc.session_fd,
			  AP_SEG_OFF(seg) + AP_SLOT_OFF(index));

	return ap_is_err(ret) ? ret : 0;
}

/* A new area with a slot: everything but what differs from thread to thread. */
static int make_area(struct ap_thread **out)
{
	struct ap_thread *t = ap_mem_map(0, AP_T_AREA_SIZE);
	u32 index;
	int ret;

	if (!t)
		return -AP_ENOMEM;
	ret = take_slot(&index);
	if (ret)
		goto err_unmap;
	ret = (int)map_slot(t, ap_proc.seg_index, index);
	if (ret)
		goto err_slot;
	ap_sys3(AP_NR_mprotect, (u64)t + AP_T_GUARD1_OFF, AP_PAGE_SIZE, 0);
	ap_sys3(AP_NR_mprotect, (u64)t + AP_T_GUARD2_OFF, AP_PAGE_SIZE, 0);
	t->slot_index = index;
	*out = t;
	return 0;
err_slot:
	free_slots[nfree_slots++] = (u16)index;
err_unmap:
	ap_mem_unmap(t, AP_T_AREA_SIZE);
	return ret;
}

static bool is_gone(const struct ap_thread *t)
{
	return ap_sys3(AP_NR_tgkill, t->pid, t->tid, 0) == -AP_ESRCH;
}

/* The first retired area whose thread is gone, off the list; serial 0 is any. */
static struct ap_thread *take_retired(u64 serial)
{
	for (struct ap_thread **p = &retired; *p; p = &(*p)->next) {
		struct ap_thread *t = *p;

		if (serial ? t->serial == serial : is_gone(t)) {
			*p = t->next;
			nretired--;
			return t;
		}
	}
	return NULL;
}

/* Counts go from zero, identity and state are this thread's. */
static void init_slot(struct ap_slot *slot)
{
	memset(slot->extra, 0, sizeof(slot->extra));
	slot->req = AP_REQ_NONE;
	slot->in_code = 0;
	slot->gen++;
	slot->tid = 0;
	slot->pid = 0;
	__atomic_store_n(&slot->state, AP_SLOT_LIVE, __ATOMIC_RELEASE);
}

int ap_thread_new(struct ap_thread **out)
{
	struct ap_thread *t = take_retired(0);
	u32 index;
	int ret;

	if (!t) {
		ret = make_area(&t);
		if (ret)
			return ret;
	}
	index = t->slot_index;
	memset(t, 0, sizeof(*t));
	t->self = t;
	t->engine_sp = (u64)t + AP_T_STACK_OFF + AP_T_STACK_SIZE;
	t->exit_kind = AP_EXIT_NONE;
	t->slot_index = index;
	t->serial = ++last_serial;
	init_slot(ap_thread_slot(t));
	*out = t;
	return 0;
}

void ap_thread_link(struct ap_thread *t)
{
	t->next = ap_proc.threads;
	ap_proc.threads = t;
	ap_proc.nthreads++;
}

void ap_thread_unlink(struct ap_thread *t)
{
	for (struct ap_thread **p = &ap_proc.threads; *p; p = &(*p)->next) {
		if (*p == t) {
			*p = t->next;
			ap_proc.nthreads--;
			return;
		}
	}
}

struct ap_thread *ap_thread_by_serial(u64 serial)
{
	struct ap_thread *t = ap_proc.threads;

	while (t && t->serial != serial)
		t = t->next;
	return t;
}

void ap_thread_free(struct ap_thread *t)
{
	free_slots[nfree_slots++] = (u16)t->slot_index;
	ap_mem_unmap(t, AP_T_AREA_SIZE);
}

/* A thread's totals join those of the dead; abi/session.h has the order of stores. */
static void fold(struct ap_slot *slot, u32 index)
{
	struct ap_seg *seg = ap_proc.seg;
	u32 now = (u32)(seg->fold & 1), then = !now;

	for (u32 i = 0; i < AP_RAW_N; i++)
		seg->dead[then][i] = seg->dead[now][i] + slot->final[i];
	__atomic_store_n(&seg->fold, then | (u64)(index + 1) << 1 | (u64)slot->gen << 32,
			 __ATOMIC_RELEASE);
}

void ap_thread_fini_slot(struct ap_thread *t)
{
	struct ap_slot *slot = ap_thread_slot(t);
	const u64 *counts = ap_thread_counts(t);
	u64 sum[AP_RAW_N];

	for (u32 i = 0; i < AP_RAW_N; i++)
		sum[i] = (u64)slot->extra[i];
	for (u32 id = 0; id < ap_proc.seg->nshapes; id++) {
		if (!counts[id])
			continue;
		for (enum ap_vec_field f = 0; f < AP_VEC_N; f++)
			sum[f] += counts[id] * ap_vec_get(ap_proc.shapes[id], f);
	}
	memcpy(slot->final, sum, sizeof(sum));
	__atomic_store_n(&slot->state, AP_SLOT_FINAL, __ATOMIC_RELEASE);
	fold(slot, t->slot_index);
	__atomic_store_n(&slot->state, AP_SLOT_FREE, __ATOMIC_RELEASE);
	ap_sys3(AP_NR_madvise, (u64)counts, AP_SHAPE_MAX * 8, MADV_REMOVE);
}

void ap_thread_retire(struct ap_thread *t)
{
	struct ap_thread *old;

	while (nretired >= SPARE_MAX && (old = take_retired(0)))
		ap_thread_free(old);
	t->next = retired;
	retired = t;
	nretired++;
}

void ap_thread_reap(u64 serial)
{
	struct ap_thread *t = take_retired(serial);

	if (t)
		ap_thread_free(t);
}

static void drop_all(struct ap_thread *list, const struct ap_thread *keep)
{
	struct ap_thread *next;

	for (struct ap_thread *t = list; t; t = next) {
		next = t->next;
		if (t != keep)
			ap_mem_unmap(t, AP_T_AREA_SIZE);
	}
}

int ap_thread_fork_child(struct ap_thread *t, u32 seg)
{
	s64 ret = map_slot(t, seg, 0);

	if (ret)
		return (int)ret;
	drop_all(ap_proc.threads, t);
	drop_all(retired, t);
	retired = NULL;
	nretired = 0;
	nfree_slots = 0;
	t->next = NULL;
	t->slot_index = 0;
	ap_proc.threads = t;
	ap_proc.nthreads = 1;
	ap_proc.seg->nslots = 1;
	init_slot(ap_thread_slot(t));
	return 0;
}

void ap_thread_set_gs(struct ap_thread *t)
{
	if (ap_proc.boot->hwcap2 & HWCAP2_FSGSBASE)
		__asm__ volatile("wrgsbase %0" : : "r"(t) : "memory");
	else
		ap_sys2(AP_NR_arch_prctl, ARCH_SET_GS, (u64)t);
}

void ap_thread_init_kernel(struct ap_thread *t)
{
	const struct ap_altstack ss = { .sp = (u64)t + AP_T_ALT_OFF, .size = AP_T_ALT_SIZE };

	ap_sys2(AP_NR_sigaltstack, (u64)&ss, 0);
}
