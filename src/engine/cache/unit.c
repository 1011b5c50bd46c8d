/* SPDX-License-Identifier: MIT */
/*
 * Units of the code cache: allocation near the source, the map from a cache pc back to its block,
 * and retirement.
 *
 * The table is append-only between flushes and entries are published by ap_nunits, so that the
 * signal path may search it without a lock.
 */
#include "engine/cache/unit.h"

#include "abi/switches.h"
#include "engine/emit/emit.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/filter.h"

#define REACH	      0x70000000ULL /* leaves room for operands on the far side of the code */
#define NEAR	      ~0x3fffffffULL
#define UNIT_SIZE_MAX (1U << 20)
#define UNIT_SIZE_MIN (16U << 10)
#define EARLY_SIZE    (256U << 10)

AP_ROOMY struct ap_unit ap_units[AP_UNIT_MAX];
u32 ap_nunits;

static u32 unit_size;
static u8 *early; /* a unit's place in the blob's image, while it is free */
static u8 *early_place;
static u32 early_size;
static u64 live_bytes; /* of units that are not retired */
static u64 barren;     /* code near it found no hole: none is looked for again before a flush */

void ap_unit_init(void)
{
	u64 size = ap_proc.session->cache_limit / 16;

	if (size > UNIT_SIZE_MAX || size == 0)
		size = UNIT_SIZE_MAX;
	if (size < UNIT_SIZE_MIN)
		size = UNIT_SIZE_MIN;
	unit_size = (u32)AP_ALIGN_UP(size, AP_PAGE_SIZE);
	early_size = unit_size < EARLY_SIZE ? unit_size : EARLY_SIZE;
	early = early_place = ap_mem_early(early_size);
}

static bool in_reach(const u8 *place, u64 pc)
{
	u64 base = (u64)place;

	return base < pc ? pc - base < REACH : base - pc < REACH;
}

static void write_trampolines(struct ap_unit *u)
{
	static const u8 jmp_rip[6] = { 0xff, 0x25, 0, 0, 0, 0 };
	struct ap_emit e = { u->base + AP_UNIT_GATE, u->base + AP_UNIT_CODE, false };

	ap_emit_bytes(&e, jmp_rip, 6);
	ap_emit64(&e, (u64)ap_gate_exit);
	u->used = AP_UNIT_CODE;
}

/* The first one near the libraries is in the blob's image, whose pages are there. */
static bool map_unit(struct ap_unit *u, u64 pc)
{
	if (early && in_reach(early, pc)) {
		u->base = early;
		u->size = early_size;
		early = NULL;
		return true;
	}
	u->base = ap_mem_map_exec(pc, unit_size, REACH);
	u->size = unit_size;
	return u->base;
}

static struct ap_unit *unit_new(u64 pc)
{
	struct ap_unit *u = NULL;
	u32 k;

	for (k = 0; k < ap_nunits; k++)
		if (!ap_units[k].base)
			break;
	if (k == AP_UNIT_MAX)
		return NULL;
	u = &ap_units[k];
	memset(u, 0, sizeof(*u));
	if (!map_unit(u, pc)) {
		barren = (pc & NEAR) | 1;
		return NULL;
	}
	write_trampolines(u);
	live_bytes += u->size;
	if (k == ap_nunits)
		__atomic_store_n(&ap_nunits, k + 1, __ATOMIC_RELEASE);
	return u;
}

/* What describes code that is logged, and the code that reads its log, take as much again: less of it then. */
bool ap_units_full(void)
{
	u64 limit = ap_proc.session->cache_limit ? ap_proc.session->cache_limit : 64ULL << 20;

	if (ap_feed_is_on())
		limit = limit / 8 * 5;
	return live_bytes + unit_size > limit && live_bytes > 2 * unit_size;
}

/* Room for one more block, so that adding it allocates nothing: a probe's heap is rewound. */
static bool reserve_block(struct ap_unit *u)
{
	u32 cap = u->cap ? u->cap * 2 : 64;
	struct ap_block **n;

	if (u->nblocks < u->cap)
		return true;
	n = ap_heap_alloc(cap * sizeof(*n));
	if (!n)
		return false;
	if (u->nblocks)
		memcpy(n, u->blocks, u->nblocks * sizeof(*n));
	__atomic_store_n(&u->blocks, n, __ATOMIC_RELEASE);
	u->cap = cap;
	return true;
}

/* From both ends, so much that the block has room. */
static void bring_in(struct ap_unit *u)
{
	ap_mem_populate_ends(&u->ready, u->base, u->size, u->used + AP_UNIT_ROOM / 4,
			     u->cold + AP_UNIT_ROOM / 8);
}

static struct ap_unit *with_room(u64 pc, bool near)
{
	for (u32 k = ap_nunits; k-- > 0;) {
		struct ap_unit *u = &ap_units[k];

		if (u->base && !u->retired && u->used + u->cold + AP_UNIT_ROOM <= u->size &&
		    (!near || in_reach(u->base, pc)))
			return u;
	}
	return NULL;
}

struct ap_unit *ap_unit_for(u64 pc)
{
	struct ap_unit *u = with_room(pc, true);

	if (!u && !ap_filter_allows_map(true)) { /* what there is has to do */
		u = with_room(pc, false);
		if (!u) {
			ap_cache_flush();
			u = with_room(pc, true);
		}
	} else if (!u) {
		if (ap_units_full())
			ap_cache_flush();
		u = barren == ((pc & NEAR) | 1) ? NULL : unit_new(pc);
	}
	if (!u) /* no hole near, or no address at all: out of reach is slower, not wrong */
		u = with_room(pc, false);
	if (!u && ap_filter_allows_map(true))
		u = unit_new(ap_proc.blob_lo);
	if (!u || !reserve_block(u))
		return NULL;
	bring_in(u);
	return u;
}

void ap_unit_add_block(struct ap_unit *u, struct ap_block *b)
{
	u->blocks[u->nblocks] = b;
	__atomic_store_n(&u->nblocks, u->nblocks + 1, __ATOMIC_RELEASE);
#ifdef AP_TEST_SWITCHES
	ap_emitted_note(b);
#endif
}

struct ap_unit *ap_unit_of(u64 pc)
{
	u32 n = __atomic_load_n(&ap_nunits, __ATOMIC_ACQUIRE);

	for (u32 k = 0; k < n; k++) {
		u64 base = (u64)ap_units[k].base;

		if (base && pc >= base && pc < base + ap_units[k].size)
			return &ap_units[k];
	}
	return NULL;
}

u64 ap_units_overlap(u64 start, u64 end)
{
	u64 n = 0;

	for (u32 k = 0; k < ap_nunits; k++) {
		u64 base = (u64)ap_units[k].base;

		if (base && base != (u64)early_place)
			n += ap_overlap(base, base + ap_units[k].size, start, end);
	}
	return n;
}

void ap_units_retire(void)
{
	for (u32 k = 0; k < ap_nunits; k++)
		ap_units[k].retired = ap_units[k].base != NULL;
	live_bytes = 0;
	barren = 0;
}

static void use_again(struct ap_unit *u)
{
	__atomic_store_n(&u->nblocks, 0, __ATOMIC_RELEASE);
	u->cap = 0;
	u->cold = 0;
	write_trampolines(u);
	live_bytes += u->size;
	u->retired = false;
}

void ap_units_release(void)
{
	bool keep = !ap_filter_allows_map(true);

	for (u32 k = 0; k < ap_nunits; k++) {
		struct ap_unit *u = &ap_units[k];
		u8 *base;

		if (!u->base || !u->retired)
			continue;
		if (keep) {
			use_again(u);
			continue;
		}
		base = u->base;
		u->base =
			NULL; /* first: who is killed in between may leave no pointer to nothing */
		u->retired = false;
		if (base == early_place)
			early = base;
		else
			ap_mem_unmap(base, u->size);
	}
}
