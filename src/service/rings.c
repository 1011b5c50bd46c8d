/* SPDX-License-Identifier: MIT */
/*
 * Pages of the session file that samples need: all samplers, and the rings that this process writes
 * to.  They stay mapped; an area is of the same size for as long as the session lives.
 *
 * Entries are claimed by a compare and exchange and never given up, so a signal or death in the middle
 * costs one entry.
 */
#include "abi/service.h"
#include "service/request.h"
#include "service/sample.h"
#include "service/service.h"
#include "service/sys.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define RINGS 4096U

#define NR_NANOSLEEP 35
#define SPINS	     1000U
#define YIELDS	     16U
#define SLICE_NS     500000
#define SLICES	     400U /* a fifth of a second: a writer that has lost its CPU has it back by then */
#define SLICES_ASK   64U

enum ring_state { FREE, BUSY, MAPPED, REFUSED };

struct ring_entry {
	u64 off, pages;
	u8 *at;
	u32 state, pad;
};

static u8 *samplers;
static u32 samplings_of; /* the party whose other part is mapped with them */
static struct ring_entry *table;

u8 *ap_svc_samplers(void)
{
	u8 *p = __atomic_load_n(&samplers, __ATOMIC_ACQUIRE), *mine;

	if (p)
		return p;
	if (ap_svc_is_mute())
		return NULL;
	/* Two at a time map it twice, and one of them for nothing. */
	samplings_of = ap_hook_party();
	mine = ap_hook_map_samplers();
	if (mine && !__atomic_compare_exchange_n(&samplers, &p, mine, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
		return p;
	return mine;
}

/* The only thread of its process. */
bool ap_service_moves(void)
{
	if (samplers) {
		ap_hook_unmap(samplers, AP_SAMPLERS_READ);
		ap_hook_unmap(samplers + AP_SAMPLINGS_AT(samplings_of), AP_SAMPLINGS_SIZE);
	}
	samplers = NULL;
	for (u32 i = 0; table && i < RINGS && table[i].state != FREE; i++) {
		if (table[i].state == MAPPED)
			ap_hook_unmap(table[i].at, (table[i].pages + 1) * AP_PAGE_SIZE);
		table[i].state = FREE;
	}
	return true;
}

void ap_svc_rings_each(void (*fn)(void *at, u64 size))
{
	if (samplers)
		fn(samplers + AP_SAMPLINGS_AT(samplings_of), AP_SAMPLINGS_SIZE);
	for (u32 i = 0; table && i < RINGS; i++)
		if (table[i].state == MAPPED)
			fn(table[i].at, (table[i].pages + 1) * AP_PAGE_SIZE);
}

static struct ring_entry *get_table(void)
{
	struct ring_entry *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE), *mine;

	if (t)
		return t;
	mine = ap_hook_map(RINGS * sizeof(*mine));
	if (mine && __atomic_compare_exchange_n(&table, &t, mine, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
		t = mine;
	return t;
}

/* As many pages as an area can have: one for the ring, the control page, a power of two. */
static bool is_sane(const struct ap_sampler *s)
{
	u64 data = s->ring_pages - 1;

	return s->ring && !(s->ring & ~AP_PAGE_MASK) && s->ring_pages > 1 &&
	       s->ring_pages < 1ULL << 24 && !(data & (data - 1));
}

static u8 *map_new(struct ring_entry *t, u64 off, u64 pages)
{
	for (u32 i = 0; i < RINGS; i++) {
		u32 was = FREE;

		if (__atomic_load_n(&t[i].state, __ATOMIC_RELAXED) != FREE ||
		    !__atomic_compare_exchange_n(&t[i].state, &was, BUSY, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		t[i].off = off;
		t[i].pages = pages;
		t[i].at = ap_hook_map_shared(off, (pages + 1) * AP_PAGE_SIZE);
		__atomic_store_n(&t[i].state, t[i].at ? MAPPED : REFUSED, __ATOMIC_RELEASE);
		return t[i].at;
	}
	return NULL;
}

static u8 *find(u64 off, u64 pages)
{
	struct ring_entry *t = get_table();

	for (u32 i = 0; t && i < RINGS; i++) {
		u32 state = __atomic_load_n(&t[i].state, __ATOMIC_ACQUIRE);

		if (state == FREE)
			break;
		if (state >= MAPPED && t[i].off == off && t[i].pages == pages)
			return t[i].at;
	}
	return t && !ap_svc_is_mute() ? map_new(t, off, pages) : NULL;
}

bool ap_svc_ring(const struct ap_sampler *s, struct ap_ring_map *map)
{
	u64 off = s->ring, pages = s->ring_pages;
	u8 *at;

	if (!is_sane(s))
		return false;
	at = find(off, pages);
	if (!at)
		return false;
	*map = (struct ap_ring_map){ .ring = (struct ap_ring *)at,
				     .page = (struct ap_perf_page *)(at + AP_PAGE_SIZE),
				     .data = at + 2 * AP_PAGE_SIZE,
				     .size = (pages - 1) * AP_PAGE_SIZE,
				     .flags = s->ring_flags };
	return true;
}

/*
 * Who was killed in the middle of a record does not give the lock back: the supervisor knows, but may not
 * have looked.  The slot's samplers are locked meanwhile, for which it waits, but not long.
 */
static void ask_about(u32 holder)
{
	struct ap_request r;

	ap_request_begin_held(&r, AP_SVC_HELD);
	r.svc->arg[0] = holder;
	(void)ap_request_ask_briefly(&r);
}

/* A thread that was given up on; nobody waits for it again until the ring has been seen free. */
static u32 in_vain;

/* False: that was long enough. */
static bool wait_for(u32 holder, u32 n)
{
	const struct ap_timespec slice = { .nsec = SLICE_NS };

	if (n < SPINS)
		__builtin_ia32_pause();
	else if (n < SPINS + YIELDS)
		ap_svc_sys(AP_NR_sched_yield, 0, 0, 0, 0);
	else if (n == SPINS + YIELDS + SLICES)
		return false;
	else if ((n - SPINS - YIELDS) % SLICES_ASK == 0)
		ask_about(holder);
	else
		ap_svc_sys(NR_NANOSLEEP, (u64)&slice, 0, 0, 0);
	return true;
}

void ap_svc_ring_await(const struct ap_sampler *s, u32 name)
{
	struct ap_ring_map map;
	u32 holder;

	if (!s->ring || !ap_svc_ring(s, &map))
		return;
	for (u32 n = 0;; n++) {
		holder = __atomic_load_n(&map.ring->lock, __ATOMIC_RELAXED);
		if (!holder || holder == name)
			break;
		if (holder == __atomic_load_n(&in_vain, __ATOMIC_RELAXED))
			return;
		if (!wait_for(holder, n)) {
			__atomic_store_n(&in_vain, holder, __ATOMIC_RELAXED);
			return;
		}
	}
	if (in_vain)
		__atomic_store_n(&in_vain, 0, __ATOMIC_RELAXED);
}

static void yield(void *arg, u32 holder, u32 n)
{
	(void)arg;
	if (AP_RING_IS_LONG(n))
		ask_about(holder);
	else
		ap_svc_sys(AP_NR_sched_yield, 0, 0, 0, 0);
}

void ap_svc_writer(const struct ap_hook_place *place, struct ap_ring_writer *w)
{
	*w = (struct ap_ring_writer){ .name = AP_RING_NAME(place->seg_index, place->slot_index),
				      .yield = yield };
}
