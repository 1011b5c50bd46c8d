/* SPDX-License-Identifier: MIT */
/*
 * The writers' side of a data area.  Order of memory, with the reader's side as perf_event_open(2) has
 * it:
 *
 *	writer				reader
 *	load data_tail	(A)		load data_head	(C)
 *	store the record		load records
 *	store data_head	(B)		store data_tail	(D)
 *
 * A is an acquire that pairs with D: what the reader has read may be overwritten.  B is a release
 * that pairs with C: a record is whole before it is seen.  Writers are ordered by the lock.
 *
 * What must survive a writer's death hangs on one store, that of ring->head: the new number of told losses
 * is written beforehand, with the head that makes it valid.  Wakeups come after it; ap_ring_clear makes
 * one for whatever was not.
 */
#include "sampling/ring.h"

#include "abi/errno.h"
#include "base/mem.h"

#if __SIZEOF_POINTER__ == 8
static u64 load64(const u64 *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void store64(u64 *p, u64 v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}
#else
/* In halves, as 32-bit kernels publish it: their readers live with it. */
static u64 load64(const u64 *p)
{
	u64 v = *(const volatile u64 *)p;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return v;
}

static void store64(u64 *p, u64 v)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*(volatile u64 *)p = v;
}
#endif

#define NOT_A_HEAD 1ULL /* heads are multiples of 8 */

void ap_ring_init(struct ap_ring *ring, u64 size, u64 watermark)
{
	memset(ring, 0, sizeof(*ring));
	ring->paused = !size;
	ring->watermark = watermark && watermark < size ? watermark : watermark ? size : size / 2;
	ring->next_head = NOT_A_HEAD;
}

/* --- writers */

static bool try_take(u32 *lock, u32 name)
{
	u32 was = __atomic_load_n(lock, __ATOMIC_RELAXED);

	/* a writer writes one record at a time: what bears its name is from an earlier life */
	return (!was || was == name) &&
	       __atomic_compare_exchange_n(lock, &was, name, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static bool take(u32 *lock, const struct ap_ring_writer *w)
{
	u32 spins, yields, holder;

	for (yields = 0;; yields++) {
		for (spins = 0; spins < AP_RING_SPINS; spins++)
			if (try_take(lock, w->name))
				return true;
		if (!w->yield || yields == AP_RING_YIELDS)
			return false;
		holder = __atomic_load_n(lock, __ATOMIC_RELAXED);
		if (holder)
			w->yield(w->arg, holder, yields);
	}
}

static void give(u32 *lock, u32 name)
{
	/* fails where the supervisor took us for dead: then it is not ours to give */
	(void)!__atomic_compare_exchange_n(lock, &name, 0, false, __ATOMIC_RELEASE,
					   __ATOMIC_RELAXED);
}

/* What the last complete record said of losses holds; from here on nothing else does. */
static void settle(struct ap_ring *r)
{
	if (r->next_head == r->head)
		r->told = r->next_told;
	store64(&r->next_head, NOT_A_HEAD);
}

static void wake(struct ap_ring *r)
{
	__atomic_store_n(&r->poll, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&r->wakes, 1, __ATOMIC_RELEASE);
}

bool ap_ring_clear(const struct ap_ring_map *map, u32 name)
{
	struct ap_ring *r = map->ring;
	u32 was = name;

	if (!name || !__atomic_compare_exchange_n(&r->lock, &was, AP_RING_CORE, false,
						  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	/* it may have died behind the store that completed its record */
	settle(r);
	store64(&map->page->data_head, r->head);
	wake(r);
	give(&r->lock, AP_RING_CORE);
	return true;
}

/* --- bytes */

/* Records are of words, mostly few: to call for each piece costs more than its copy. */
static void copy_in(u8 *to, const u8 *from, u64 n)
{
	for (; n >= 8; n -= 8, to += 8, from += 8)
		__builtin_memcpy(to, from, 8);
	if (n)
		memcpy(to, from, n);
}

void ap_ring_put(struct ap_ring_out *out, const void *bytes, u32 n)
{
	const struct ap_ring_map *map = out->map;
	u64 at = out->at & (map->size - 1), first;

	if (n > out->left)
		n = out->left;
	if (!n)
		return;
	first = map->size - at < n ? map->size - at : n;
	copy_in(map->data + at, bytes, first);
	if (first < n)
		copy_in(map->data, (const u8 *)bytes + first, n - first);
	out->at += n;
	out->left -= n;
}

void ap_ring_zero(struct ap_ring_out *out, u32 n)
{
	const struct ap_ring_map *map = out->map;
	u64 at = out->at & (map->size - 1), first;

	if (n > out->left)
		n = out->left;
	first = map->size - at < n ? map->size - at : n;
	memset(map->data + at, 0, first);
	if (first < n)
		memset(map->data, 0, n - first);
	out->at += n;
	out->left -= n;
}

u64 ap_ring_put_guarded(struct ap_ring_out *out, ap_guarded_copy *copy, void *arg, u64 from, u32 n)
{
	const struct ap_ring_map *map = out->map;
	u64 at = out->at & (map->size - 1), first, got;

	if (n > out->left)
		n = out->left;
	first = map->size - at < n ? map->size - at : n;
	got = copy(arg, map->data + at, from, first);
	if (got == first && first < n)
		got += copy(arg, map->data, from + first, n - first);
	out->at += got;
	out->left -= (u32)got;
	ap_ring_zero(out, (u32)(n - got));
	return got;
}

/* --- time */

void ap_ring_time_ahead(struct ap_ring_out *out, u32 n)
{
	if (out->ntimes < AP_ARRAY_SIZE(out->time_at))
		out->time_at[out->ntimes++] = out->at + n;
}

/* Its word is never in two pieces: records are of whole words, and so is the data area. */
void ap_ring_stamp(struct ap_ring_out *out, u64 (*now)(const void *arg), const void *arg)
{
	u64 time = out->ntimes ? now(arg) : 0;

	for (u32 i = 0; i < out->ntimes; i++)
		memcpy(out->map->data + (out->time_at[i] & (out->map->size - 1)), &time,
		       sizeof(time));
}

bool ap_ring_has_settled(const struct ap_ring *ring)
{
	u32 holder = __atomic_load_n(&ring->lock, __ATOMIC_ACQUIRE), n;
	u64 head = load64(&ring->head);

	/* another holder, or the same with another record, began after the call */
	for (n = 0; holder && n < AP_RING_SPINS; n++)
		if (__atomic_load_n(&ring->lock, __ATOMIC_ACQUIRE) != holder ||
		    load64(&ring->head) != head)
			holder = 0;
	return !holder;
}

/* --- records */

static bool has_room(const struct ap_ring_map *map, u64 head, u64 total)
{
	u64 tail, room;

	if (total > map->size)
		return false;
	if (map->flags & AP_RING_OVERWRITE)
		return true;
	tail = load64(&map->page->data_tail); /* A, pairs with D of the reader */
	room = map->flags & AP_RING_BACKWARD ? head - tail - 1 : tail - head - 1;
	return (room & (map->size - 1)) >= total;
}

static void put_lost(struct ap_ring_out *out, const struct ap_ring_owner *owner, u32 lost)
{
	struct {
		struct ap_perf_event_header header;
		struct ap_perf_record_lost lost;
	} rec = { { AP_PERF_RECORD_LOST, 0, (u16)(sizeof(rec) + owner->trailer_size) },
		  { owner->id, lost } };

	ap_ring_put(out, &rec, sizeof(rec));
	if (owner->time_at)
		ap_ring_time_ahead(out, owner->time_at - 1);
	ap_ring_put(out, owner->trailer, owner->trailer_size);
}

/* The watermark is of bytes written, whichever way they go. */
static void count_bytes(struct ap_ring_out *out, const struct ap_ring *r)
{
	u64 written = out->map->flags & AP_RING_BACKWARD ? -out->head : out->head;

	out->wakeup = r->wakeup;
	out->events = r->events;
	out->wakes = written - r->wakeup > r->watermark;
	if (out->wakes)
		out->wakeup += r->watermark;
}

int ap_ring_begin(struct ap_ring_out *out, const struct ap_ring_map *map,
		  const struct ap_ring_writer *writer, const struct ap_ring_owner *owner, u32 size)
{
	struct ap_ring *r = map->ring;
	u32 lost, total = size;
	int ret = -AP_ENOSPC;

	if (!map->size)
		return -AP_ENODEV;
	if (__atomic_load_n(&r->paused, __ATOMIC_RELAXED)) {
		ret = -AP_EAGAIN;
		goto lose;
	}
	if (!take(&r->lock, writer))
		goto lose;
	settle(r);
	lost = __atomic_load_n(&r->lost, __ATOMIC_RELAXED) - r->told;
	if (lost)
		total += sizeof(struct ap_perf_event_header) + sizeof(struct ap_perf_record_lost) +
			 owner->trailer_size;
	if (!has_room(map, r->head, total)) {
		give(&r->lock, writer->name);
		goto lose;
	}
	*out = (struct ap_ring_out){ .map = map, .name = writer->name, .left = total };
	out->head = map->flags & AP_RING_BACKWARD ? r->head - total : r->head + total;
	out->at = map->flags & AP_RING_BACKWARD ? out->head : r->head;
	out->told = r->told + lost;
	count_bytes(out, r);
	if (lost)
		put_lost(out, owner, lost);
	return 0;
lose:
	__atomic_fetch_add(&r->lost, 1, __ATOMIC_RELAXED);
	return ret;
}

void ap_ring_count_event(struct ap_ring_out *out, u32 wakeup_events)
{
	if (!wakeup_events || ++out->events < wakeup_events)
		return;
	out->events -= wakeup_events;
	out->wakeup++;
	out->wakes = true;
}

bool ap_ring_end(struct ap_ring_out *out)
{
	struct ap_ring *r = out->map->ring;

	ap_ring_zero(out, out->left);
	if (__atomic_load_n(&r->lock, __ATOMIC_RELAXED) != out->name)
		return false; /* taken for dead: the record never was */
	r->next_told = out->told;
	store64(&r->next_head, out->head);
	store64(&r->head, out->head);
	store64(&out->map->page->data_head, out->head); /* B, pairs with C of the reader */
	r->wakeup = out->wakeup;
	r->events = out->events;
	if (out->wakes)
		wake(r);
	give(&r->lock, out->name);
	return out->wakes;
}

void ap_ring_drop(struct ap_ring_out *out)
{
	give(&out->map->ring->lock, out->name);
}
