/* SPDX-License-Identifier: MIT */
/*
 * Thread areas.  An area is made once, with its slot, and used by one thread after another; while
 * it is idle it takes no memory.
 *
 * A thread cannot free the stack that it stands on, so an ending thread only retires its area;
 * whoever starts or ends a thread later takes it over or idles it, once the kernel no longer knows
 * the old one.
 *
 * Lists are changed by one store each, so they hold when a task is killed while it changes them; its
 * area may be on none then, and stays so.
 *
 * Everything here but ap_thread_set_gs and ap_thread_init_kernel needs the process lock.
 */
#include "base/mem.h"
#include "engine/client.h"
#include "engine/count/profile.h"
#include "engine/thread/area.h"
#include "engine/thread/cradle.h"

#define ARCH_SET_GS   0x1001
#define ARCH_GET_FS   0x1003
#define MADV_DONTNEED 4
#define RETIRED_MAX   4	 /* so many may keep their memory */
#define CHUNK_AREAS   64 /* at most so many are mapped at once */
#define CHUNKS_MAX    512
#define AREAS_MAX     (16 * AP_SLOT_MAX) /* as many as slot.c has slots */

/* Areas are cut from chunks, each twice as large as the one before; the first is for one thread. */
struct area_chunk {
	char *start;
	u32 areas, used;
};

static AP_ROOMY struct area_chunk chunks[CHUNKS_MAX];
static u32 nchunks;
static AP_ROOMY struct ap_thread *idle[AREAS_MAX];
static AP_ROOMY u16 idle_slots[AREAS_MAX]; /* what an idle area cannot remember itself */
static u32 nidle;
static struct ap_thread *retired;
static u32 nretired;
static u64 last_serial;

static struct area_chunk *chunk_with_room(void)
{
	struct area_chunk *c = nchunks ? &chunks[nchunks - 1] : NULL;
	u32 areas = c ? c->areas * 2 : 1;

	if (c && c->used < c->areas)
		return c;
	if (nchunks == CHUNKS_MAX)
		return NULL;
	if (areas > CHUNK_AREAS)
		areas = CHUNK_AREAS;
	c = &chunks[nchunks];
	c->start = ap_mem_map(0, areas * ap_thread_area_size());
	if (!c->start)
		return NULL;
	c->areas = areas;
	c->used = 0;
	nchunks++;
	return c;
}

void ap_thread_guard(struct ap_thread *t)
{
	ap_sys3(AP_NR_mprotect, (u64)t + AP_T_GUARD1_OFF, AP_PAGE_SIZE, 0);
	ap_sys3(AP_NR_mprotect, (u64)t + AP_T_GUARD2_OFF, AP_PAGE_SIZE, 0);
}

/* A new area with a slot: everything but what differs from thread to thread. */
static int make_area(struct ap_thread **out)
{
	struct area_chunk *c;
	struct ap_thread *t;
	u32 slot;
	int ret;

	if (ap_cradle_is_needed())
		return ap_slot_take_cradle(out);
	c = chunk_with_room();
	if (!c)
		return -AP_ENOMEM;
	t = (struct ap_thread *)(c->start + c->used * ap_thread_area_size());
	ret = ap_slot_take(ap_thread_slot(t), &slot);
	if (ret)
		return ret;
	c->used++;
	ap_thread_guard(t);
	t->slot_index = slot;
	*out = t;
	return 0;
}

void ap_thread_reserve(u32 n)
{
	struct ap_thread *t;

	while (nidle < n && !make_area(&t)) {
		idle_slots[nidle] = (u16)t->slot_index;
		idle[nidle++] = t;
	}
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

int ap_thread_new(struct ap_thread **out)
{
	struct ap_thread *t = take_retired(0);
	u32 index;
	int ret;

	if (!t && !nidle)
		ap_thread_bury_dead();
	if (!t && nidle) {
		t = idle[--nidle];
		t->slot_index = idle_slots[nidle];
	} else if (!t) {
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
	t->traced.mark = (u64)ap_traced_mark;
	t->serial = ++last_serial;
	ap_slot_init(ap_thread_slot(t), (u32)t->serial);
	ap_direct_reset(t);
	*out = t;
	return 0;
}

void ap_thread_link(struct ap_thread *t)
{
	t->next = ap_proc.threads;
	__atomic_store_n(&ap_proc.threads, t, __ATOMIC_RELEASE);
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

void ap_thread_mend(void)
{
	ap_proc.nthreads = 0;
	for (struct ap_thread *t = ap_proc.threads; t; t = t->next)
		ap_proc.nthreads++;
	nretired = 0;
	for (struct ap_thread *t = retired; t; t = t->next)
		nretired++;
}

struct ap_thread *ap_thread_by_serial(u64 serial)
{
	struct ap_thread *t = ap_proc.threads;

	while (t && t->serial != serial)
		t = t->next;
	return t;
}

/* Reads as zero from here on. */
static void discard(void *at, u64 size)
{
	if (ap_sys3(AP_NR_madvise, (u64)at, size, MADV_DONTNEED))
		memset(at, 0, size);
}

void ap_thread_free(struct ap_thread *t)
{
	idle_slots[nidle] = (u16)t->slot_index;
	idle[nidle++] = t;
	discard(t, AP_PAGE_SIZE);
	discard((char *)t + AP_T_LANES_OFF, AP_T_LANES_SIZE);
	ap_sys3(AP_NR_madvise, (u64)t + AP_T_STACK_OFF, AP_T_STACK_SIZE, MADV_DONTNEED);
	ap_sys3(AP_NR_madvise, (u64)t + AP_T_ALT_OFF, AP_T_ALT_SIZE, MADV_DONTNEED);
}

void ap_thread_bury(struct ap_thread *t)
{
	ap_proc.seg->short_tasks += ap_thread_slot(t)->in_code;
	ap_thread_fini_slot(t);
	ap_thread_unlink(t);
	ap_thread_free(t);
}

/* Nobody waits for one without CLONE_VFORK.  Of another pid namespace: their numbers say nothing. */
void ap_thread_bury_dead(void)
{
	struct ap_thread *t, *next;

	for (t = ap_proc.threads; t; t = next) {
		next = t->next;
		if (t->is_vfork_child && t->tid && !t->foreign && is_gone(t))
			ap_thread_bury(t);
	}
}

void ap_thread_retire(struct ap_thread *t)
{
	struct ap_thread *old;

	/* under a filter all of them: it may know none of the calls */
	while (nretired >= RETIRED_MAX && !ap_proc.seg->mute && (old = take_retired(0)))
		ap_thread_free(old);
	t->next = retired;
	__atomic_store_n(&retired, t, __ATOMIC_RELEASE);
	nretired++;
}

void ap_thread_reap(u64 serial)
{
	struct ap_thread *t = take_retired(serial);

	if (t)
		ap_thread_free(t);
}

/* Areas of others, as far as they are still mapped, are nobody's. */
static void be_alone(struct ap_thread *t)
{
	chunks[0] = (struct area_chunk){ .start = (char *)t, .areas = 1, .used = 1 };
	nchunks = 1;
	nidle = 0;
	retired = NULL;
	nretired = 0;
	t->next = NULL;
	ap_proc.threads = t;
	ap_proc.nthreads = 1;
}

int ap_thread_fork_child(struct ap_thread *t)
{
	char *own = (char *)t, *after = own + ap_thread_area_size();
	int ret = ap_slot_fork_child(t);

	if (ret)
		return ret;
	ap_clients_in_child(t);
	for (u32 i = 0; i < nchunks; i++) {
		char *start = chunks[i].start,
		     *end = start + chunks[i].areas * ap_thread_area_size();

		if (own < start || own >= end) {
			ap_mem_unmap(start, (u64)(end - start));
			continue;
		}
		if (own > start)
			ap_mem_unmap(start, (u64)(own - start));
		if (end > after)
			ap_mem_unmap(after, (u64)(end - after));
	}
	be_alone(t);
	return 0;
}

void ap_thread_each_slot(ap_range_fn fn)
{
	for (u32 i = 0; i < nchunks; i++)
		for (u32 k = 0; k < chunks[i].used; k++)
			fn(chunks[i].start + k * ap_thread_area_size() + AP_T_SLOT_OFF,
			   AP_SLOT_SIZE);
}

/* What is on none of the lists is nobody's. */
static bool is_listed(const void *slot)
{
	const struct ap_thread *t = (const void *)((const char *)slot - AP_T_SLOT_OFF), *o;
	u32 i = 0;

	for (o = ap_proc.threads; o && o != t; o = o->next)
		;
	for (o = o ?: retired; o && o != t; o = o->next)
		;
	while (i < nidle && idle[i] != t)
		i++;
	return o || i < nidle;
}

static void clear_slot(void *at, u64 size)
{
	if (!is_listed(at))
		ap_sys6(AP_NR_mmap, (u64)at, size, AP_PROT_R | AP_PROT_W,
			AP_MAP_PRIVATE | AP_MAP_ANON | AP_MAP_FIXED, (u64)-1, 0);
}

int ap_thread_renew_all(void)
{
	int ret = 0;

	ap_thread_each_slot(clear_slot);
	for (struct ap_thread *o = ap_proc.threads; o && !ret; o = o->next)
		ret = ap_slot_renew(o);
	for (struct ap_thread *o = retired; o && !ret; o = o->next)
		ret = ap_slot_map_anew(o, o->slot_index);
	for (u32 i = 0; i < nidle && !ret; i++)
		ret = ap_slot_map_anew(idle[i], idle_slots[i]);
	return ret;
}

/*
 * In a fork's child that may map nothing: it leaves the area that it had in the parent, whose slot is the
 * parent's, for one with a slot of its own, and does not come back to its stack.
 */
void ap_thread_move(struct ap_thread *t, struct ap_thread *to)
{
	memcpy(to, t, sizeof(*to));
	t->feed = NULL; /* which t, one of the threads until it is alone, would end */
	to->self = to;
	to->engine_sp = (u64)to + AP_T_STACK_OFF + AP_T_STACK_SIZE;
	ap_thread_set_gs(to);
	ap_thread_init_kernel(to);
	ap_slot_begin_child(to);
	ap_clients_in_child(to);
	be_alone(to);
}

void ap_thread_set_gs(struct ap_thread *t)
{
	if (ap_proc.has_fsgsbase)
		__asm__ volatile("wrgsbase %0" : : "r"(t) : "memory");
	else
		ap_sys2(AP_NR_arch_prctl, ARCH_SET_GS, (u64)t);
	ap_thread_note_fs(t);
}

static void ask_fs_base(u64 *base)
{
	ap_sys2(AP_NR_arch_prctl, ARCH_GET_FS, (u64)base);
}

/*
 * Without FSGSBASE only calls change it, and a load of a selector: so it is asked for behind the former, and not when it is
 * wanted, where a filter of the program's may know no arch_prctl any more.
 */
void ap_thread_note_fs(struct ap_thread *t)
{
	if (!ap_proc.has_fsgsbase)
		ask_fs_base(&t->app_fs_base);
}

u64 ap_thread_fs_base(const struct ap_thread *t)
{
	u64 base = t->app_fs_base;

	if (ap_proc.has_fsgsbase && ap_safe_fs_base(&base) != 0)
		ask_fs_base(&base);
	return base;
}

void ap_thread_init_kernel(struct ap_thread *t)
{
	const struct ap_altstack ss = { .sp = (u64)t + AP_T_ALT_OFF, .size = AP_T_ALT_SIZE };

	ap_sys2(AP_NR_sigaltstack, (u64)&ss, 0);
}
