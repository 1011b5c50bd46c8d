/* SPDX-License-Identifier: MIT */
/*
 * Slots of the session file: each thread counts in one, and its totals join those of the dead
 * when it ends.
 *
 * A process with more threads than a segment has slots gets further segments, each with a copy of
 * the shapes, since the supervisor reads segments one by one.
 *
 * Process lock held throughout, but for a thread that asks for its own place.
 */
#include "engine/count/slot.h"
#include "abi/service.h"
#include "abi/slot_sum.h"
#include "base/mem.h"
#include "engine/client.h"
#include "engine/count/profile.h"
#include "engine/runtime/session_fd.h"
#include "engine/thread/cradle.h"

#define MORE_MAX    15
#define MADV_REMOVE 9

static struct ap_seg *more[MORE_MAX]; /* beyond ap_proc.seg */
static u32 more_index[MORE_MAX];
static u32 nmore;

/* Segment 0 is the process' own. */
static struct ap_seg *seg_at(u32 i)
{
	return i ? more[i - 1] : ap_proc.seg;
}

static u32 seg_index(u32 i)
{
	return i ? more_index[i - 1] : ap_proc.seg_index;
}

struct ap_seg *ap_slot_place(const struct ap_thread *t, u32 *seg, u32 *slot)
{
	*seg = seg_index(t->slot_index / AP_SLOT_MAX);
	*slot = t->slot_index % AP_SLOT_MAX;
	return seg_at(t->slot_index / AP_SLOT_MAX);
}

s64 ap_slot_map_file(void *at, u64 size, u64 off)
{
	s32 fd = ap_proc.threads ? ap_fd(ap_self()) : ap_proc.session_fd;
	s64 ret = ap_sys6(AP_NR_mmap, (u64)at, size, AP_PROT_R | AP_PROT_W,
			  AP_MAP_SHARED | AP_MAP_FIXED, (u64)fd, off);

	if (ap_is_err(ret))
		return ret;
	/* after it: the one that puts another file there has said so before */
	if (ap_proc.threads && ap_unlikely(ap_fd_is_lost(ap_self()))) {
		ap_sys6(AP_NR_mmap, (u64)at, size, AP_PROT_R | AP_PROT_W,
			AP_MAP_PRIVATE | AP_MAP_ANON | AP_MAP_FIXED, (u64)-1, 0);
		return -AP_EBADF;
	}
	return 0;
}

/* A further segment of this process. */
static void join_seg(struct ap_seg *seg, u32 index)
{
	const struct ap_seg *own = ap_proc.seg;

	seg->root = own->root;
	seg->pid = own->pid;
	seg->pidns = own->pidns;
	seg->start_time = own->start_time;
	seg->nshapes = own->nshapes;
	seg->kinds_ack = own->kinds_ack;
	seg->lanes_ack = own->lanes_ack;
	seg->carry = own->carry;
	seg->watch_ack = own->watch_ack;
	seg->data_ack = own->data_ack;
	seg->mute = own->mute;
	memcpy(seg->comm, own->comm, sizeof(seg->comm));
	memcpy((char *)seg + AP_SHAPES_OFF, ap_proc.shapes, own->nshapes * sizeof(u64));
	seg->ns_pid = own->ns_pid;
	__atomic_store_n(&seg->state, AP_SEG_LIVE, __ATOMIC_RELEASE);
	more[nmore] = seg;
	more_index[nmore++] = index;
}

static int add_seg(void)
{
	struct ap_seg *seg;
	u32 index;

	if (nmore == MORE_MAX)
		return -AP_EAGAIN;
	seg = ap_mem_map(0, AP_SLOTS_OFF);
	if (!seg)
		return -AP_ENOMEM;
	if (!ap_segment_new(&index) || ap_slot_map_file(seg, AP_SLOTS_OFF, AP_SEG_OFF(index))) {
		ap_mem_unmap(seg, AP_SLOTS_OFF);
		return -AP_EAGAIN;
	}
	join_seg(seg, index);
	return ap_profile_join(index, NULL);
}

int ap_slot_take_cradle(struct ap_thread **out)
{
	const struct ap_cradle *c = nmore < MORE_MAX ? ap_cradle_take() : NULL;

	if (!c)
		return -AP_EAGAIN;
	c->seg->parent_seg = ap_proc.seg_index;
	join_seg(c->seg, c->index);
	if (ap_profile_join(c->index, c->profile))
		return -AP_EAGAIN;
	c->seg->nslots = 1;
	*out = c->area;
	(*out)->slot_index = nmore * AP_SLOT_MAX;
	return 0;
}

void ap_slot_add_shape(u32 id, u64 vec)
{
	for (u32 i = 0; i < nmore; i++) {
		((u64 *)((char *)more[i] + AP_SHAPES_OFF))[id] = vec;
		__atomic_store_n(&more[i]->nshapes, id + 1, __ATOMIC_RELEASE);
	}
}

void ap_slot_set_mute(bool mute)
{
	if (mute)
		__atomic_store_n(&ap_proc.board->mute, 1, __ATOMIC_SEQ_CST);
	for (u32 i = nmore + 1; i-- > 0;)
		__atomic_store_n(&seg_at(i)->mute, mute, __ATOMIC_RELEASE);
}

void ap_slot_acknowledge(u64 kinds, u32 nlanes)
{
	for (u32 i = nmore + 1; i-- > 0;) {
		__atomic_store_n(&seg_at(i)->kinds_ack, kinds, __ATOMIC_RELEASE);
		__atomic_store_n(&seg_at(i)->lanes_ack, nlanes, __ATOMIC_RELEASE);
		__atomic_store_n(&seg_at(i)->lane_gen_ack, ap_proc.lane_gen, __ATOMIC_RELEASE);
	}
}

void ap_slot_set_carry(u32 carry)
{
	__atomic_store_n(&ap_proc.carry, carry, __ATOMIC_RELEASE);
	for (u32 i = nmore + 1; i-- > 0;)
		__atomic_store_n(&seg_at(i)->carry, carry, __ATOMIC_RELEASE);
}

void ap_slot_acknowledge_watches(u32 gen, u32 data_gen)
{
	for (u32 i = nmore + 1; i-- > 0;) {
		__atomic_store_n(&seg_at(i)->data_ack, data_gen, __ATOMIC_RELEASE);
		__atomic_store_n(&seg_at(i)->watch_ack, gen, __ATOMIC_RELEASE);
	}
}

void ap_slot_set_state(u32 state)
{
	for (u32 i = nmore + 1; i-- > 0;)
		__atomic_store_n(&seg_at(i)->state, state, __ATOMIC_RELEASE);
}

int ap_slot_take(void *at, u32 *slot)
{
	struct ap_seg *seg = seg_at(nmore);
	u32 n = seg->nslots;
	int ret;

	if (n >= AP_SLOT_MAX) {
		ret = add_seg();
		if (ret)
			return ret;
		seg = seg_at(nmore);
		n = 0;
	}
	ret = (int)ap_slot_map_file(at, AP_SLOT_SIZE,
				    AP_SEG_OFF(seg_index(nmore)) + AP_SLOT_OFF(n));
	ret = ret ?: ap_profile_map_ways(at, seg_index(nmore), n);
	if (ret)
		return ret;
	__atomic_store_n(&seg->nslots, n + 1, __ATOMIC_RELEASE);
	*slot = nmore * AP_SLOT_MAX + n;
	return 0;
}

/* The generation is the thread's serial: no two uses of a slot have the same. */
void ap_slot_init(struct ap_slot *slot, u32 gen)
{
	memset(slot->extra, 0, sizeof(slot->extra));
	memset(slot->budget, 0, sizeof(slot->budget));
	slot->own_faults = 0;
	slot->carry_base = 0;
	slot->carry_seq = 0;
	slot->carry_hidden = 0;
	memset((char *)slot + AP_LOG_OFF, 0, sizeof(struct ap_log));
	slot->req = AP_REQ_NONE;
	slot->in_code = 0;
	slot->call = 0;
	slot->cwd = 0;
	slot->native = 0;
	slot->gen = gen;
	slot->at = (u64)slot;
	slot->tid = 0;
	slot->pid = 0;
	__atomic_store_n(&slot->state, AP_SLOT_LIVE, __ATOMIC_RELEASE);
}

/*
 * A thread's totals join those of the dead; abi/slot_sum.h has the order of stores.  Done already
 * where the thread was killed just after it.
 */
static void fold(struct ap_slot *slot, struct ap_seg *seg, u32 index)
{
	u32 now = (u32)(seg->fold & 1), then = !now;

	if (ap_fold_has(seg->fold, index, slot->gen))
		return;
	for (u32 i = 0; i < AP_RAW_N; i++)
		seg->dead[then][i] = seg->dead[now][i] + slot->final[i];
	__atomic_store_n(&seg->fold, then | ap_fold_of(index, slot->gen), __ATOMIC_RELEASE);
}

struct ap_slot_view ap_thread_view(struct ap_thread *t)
{
	return (struct ap_slot_view){
		.slot = ap_thread_slot(t),
		.counts = ap_thread_counts(t),
		.shapes = ap_proc.shapes,
		.nshapes = __atomic_load_n(&ap_proc.seg->nshapes, __ATOMIC_ACQUIRE),
		.carry = ap_proc.carry,
	};
}

static void sum_up(struct ap_thread *t)
{
	struct ap_slot *slot = ap_thread_slot(t);
	const struct ap_slot_view view = ap_thread_view(t);

	ap_slot_sum(&view, slot->final);
	__atomic_store_n(&slot->state, AP_SLOT_FINAL, __ATOMIC_RELEASE);
}

/* May be done again for a task that was killed in the middle of it. */
void ap_thread_fini_slot(struct ap_thread *t)
{
	struct ap_slot *slot = ap_thread_slot(t);

	ap_clients_read_last(t);
	ap_clients_thread_ends(t);
	if (slot->state == AP_SLOT_LIVE)
		sum_up(t);
	if (slot->state == AP_SLOT_FINAL)
		fold(slot, seg_at(t->slot_index / AP_SLOT_MAX), t->slot_index % AP_SLOT_MAX);
	/* All of it reads as zero from here on, and AP_SLOT_FREE is zero. */
	__atomic_store_n(&slot->state, AP_SLOT_FREE, __ATOMIC_RELEASE);
	if (ap_proc.seg->mute) /* the program's filter may not know the call */
		memset(slot, 0, AP_SLOT_SIZE);
	else
		ap_sys3(AP_NR_madvise, (u64)slot, AP_SLOT_SIZE, MADV_REMOVE);
}

void ap_slot_begin_child(struct ap_thread *t)
{
	nmore = 0;
	t->slot_index = 0;
	t->nlanes = t->sampler_gen = t->sources = t->lane_trap = t->watched = 0;
	t->nprompts = 0;
	ap_proc.seg->nslots = 1;
	ap_slot_init(ap_thread_slot(t), (u32)t->serial);
	ap_direct_reset(t);
}

void ap_slot_each_seg(ap_range_fn fn)
{
	for (u32 i = 0; i <= nmore; i++)
		fn(seg_at(i), AP_SLOTS_OFF);
}

bool ap_slot_has_more(void)
{
	return nmore;
}

int ap_slot_map_anew(struct ap_thread *t, u32 index)
{
	return (int)ap_slot_map_file(ap_thread_slot(t), AP_SLOT_SIZE,
				     AP_SEG_OFF(ap_proc.seg_index) + AP_SLOT_OFF(index));
}

/* Of a thread that is still: what it is in the middle of stays. */
int ap_slot_renew(struct ap_thread *t)
{
	struct ap_slot *slot = ap_thread_slot(t);
	const u32 state = slot->state, cwd = slot->cwd, native = slot->native;
	const u32 unseen = slot->unseen, parent_slot = slot->parent_slot;
	const u64 call = slot->call;
	int ret = ap_slot_map_anew(t, t->slot_index);

	if (ret || state != AP_SLOT_LIVE)
		return ret;
	t->nlanes = t->sampler_gen = t->sources = t->lane_trap = t->watched = 0;
	t->nprompts = 0;
	ap_direct_reset(t);
	ap_slot_init(slot, (u32)t->serial);
	slot->cwd = cwd;
	slot->native = native;
	slot->unseen = unseen;
	slot->parent_slot = parent_slot;
	slot->call = call;
	slot->pid = t->pid;
	__atomic_store_n(&slot->tid, t->tid, __ATOMIC_RELEASE);
	return 0;
}

int ap_slot_fork_child(struct ap_thread *t)
{
	s64 ret = ap_slot_map_file(ap_thread_slot(t), AP_SLOT_SIZE,
				   AP_SEG_OFF(ap_proc.seg_index) + AP_SLOT_OFF(0));

	ret = ret ?: ap_profile_map_ways(ap_thread_slot(t), ap_proc.seg_index, 0);
	if (ret)
		return (int)ret;
	for (u32 i = 0; i < nmore; i++)
		ap_mem_unmap(more[i], AP_SLOTS_OFF);
	ap_slot_begin_child(t);
	return 0;
}
