/* SPDX-License-Identifier: MIT */
/*
 * Exact profiles (docs/design/exact-profile.md): the region of the process' segment, the table of blocks and
 * the numbers of their ways, and what is counted beside the ways.  What a block is described by is made in translate/ways.c.
 */
#include "engine/count/profile.h"

#include "base/mem.h"
#include "engine/count/slot.h"
#include "engine/runtime/engine.h"
#include "service/sample.h"

#define KNOWN	      32768U /* power of two */
#define LOOSE_TRIES   64U
#define MADV_DONTDUMP 16

/* Where in the table the last block of each hash is, in units of 8 bytes; 0: none. */
static AP_ROOMY u32 known[KNOWN];
static u32 changes; /* of mappings of code; atomic */
/* A moment behind so many of them; at 0: not asked yet.  Lock. */
static struct {
	u64 at;
	u32 changes;
} stamp;

static void keep_out_of_cores(void *at, u64 size)
{
	ap_sys3(AP_NR_madvise, (u64)at, size, MADV_DONTDUMP);
}

struct ap_profile *ap_profile_map(u32 seg)
{
	struct ap_profile *p = ap_mem_map(0, AP_PROFILE_MAP_SIZE);

	if (!p)
		return NULL;
	if (ap_slot_map_file(p, AP_PROFILE_MAP_SIZE, AP_PROFILE_OFF(seg))) {
		ap_mem_unmap(p, AP_PROFILE_MAP_SIZE);
		return NULL;
	}
	keep_out_of_cores(p, AP_PROFILE_MAP_SIZE);
	return p;
}

/* Numbers from 1 on: 0 is none. */
static void begin_table(struct ap_profile *p)
{
	p->nways = p->nparts = 1;
	p->bytes = AP_PROFILE_TABLE_OFF;
	__atomic_store_n(&p->magic, AP_PROFILE_MAGIC, __ATOMIC_RELEASE);
}

int ap_profile_begin(void)
{
	struct ap_profile *p;

	if (!(ap_proc.session->flags & AP_F_PROFILE))
		return 0;
	p = ap_profile_map(ap_proc.seg_index);
	if (!p)
		return -AP_ENOMEM;
	begin_table(p);
	ap_proc.profile = p;
	return 0;
}

/* In the child the parent's region is gone: what it said is the process' own, in ap_proc. */
int ap_profile_fork_child(u32 seg, struct ap_profile *at)
{
	struct ap_profile *p = ap_proc.profile;
	u64 bytes;
	u32 nways, nparts;

	if (!p)
		return 0;
	bytes = __atomic_load_n(&p->bytes, __ATOMIC_ACQUIRE);
	nways = p->nways;
	nparts = p->nparts;
	if (at)
		ap_proc.profile = p = at;
	else if (ap_slot_map_file(p, AP_PROFILE_MAP_SIZE, AP_PROFILE_OFF(seg)))
		return -AP_ENOMEM;
	else
		keep_out_of_cores(p, AP_PROFILE_MAP_SIZE);
	begin_table(p);
	p->parent_bytes = p->bytes = bytes;
	p->nways = nways;
	p->nparts = nparts;
	__atomic_store_n(&p->parent, ap_proc.seg_index + 1, __ATOMIC_RELEASE);
	return 0;
}

int ap_profile_map_ways(void *slot, u32 seg, u32 k)
{
	char *at = (char *)slot - AP_T_SLOT_OFF + AP_T_PROFILE_OFF;
	int ret;

	if (!ap_profile_is_on())
		return 0;
	ret = (int)ap_slot_map_file(at, AP_PROFILE_WAYS_SIZE,
				    AP_PROFILE_OFF(seg) + AP_PROFILE_WAYS_OFF(k));
	if (!ret)
		keep_out_of_cores(at, AP_PROFILE_WAYS_SIZE);
	return ret;
}

int ap_profile_join(u32 seg, struct ap_profile *at)
{
	struct ap_profile *p = at;

	if (!ap_profile_is_on())
		return 0;
	if (!p)
		p = ap_profile_map(seg);
	if (!p)
		return -AP_ENOMEM;
	p->whose = ap_proc.seg_index + 1;
	__atomic_store_n(&p->magic, AP_PROFILE_MAGIC, __ATOMIC_RELEASE);
	if (!at)
		ap_mem_unmap(p, AP_PROFILE_MAP_SIZE);
	return 0;
}

bool ap_profile_owns(u64 start)
{
	if (!ap_profile_is_on())
		return false;
	if (start - (u64)ap_proc.profile < AP_PROFILE_MAP_SIZE)
		return true;
	for (struct ap_thread *t = ap_proc.threads; t; t = t->next)
		if (start - (u64)t - AP_T_PROFILE_OFF < AP_PROFILE_WAYS_SIZE)
			return true;
	return false;
}

/* --- blocks */

void ap_profile_mapped(void)
{
	__atomic_fetch_add(&changes, 1, __ATOMIC_RELEASE);
}

/* Another thread may change them meanwhile: then the next one that asks has another moment. */
static u64 time_of_mappings(void)
{
	u32 now = __atomic_load_n(&changes, __ATOMIC_ACQUIRE);

	if (!stamp.at || stamp.changes != now) {
		stamp.changes = now;
		stamp.at = ap_svc_now();
	}
	return stamp.at;
}

#define AFTER_NUMBERS offsetof(struct ap_profile_block, ninsns)

static u32 hash_of(const struct ap_profile_block *b)
{
	const u64 *at = (const u64 *)&b->ninsns;
	u64 h = 0, word;

	_Static_assert(AFTER_NUMBERS % 4 == 0, "read by pieces");
	for (u64 n = AFTER_NUMBERS; n + 8 <= b->size; n += 8, at++) {
		memcpy(&word, at, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return (u32)(h >> 17) & (KNOWN - 1);
}

static bool is_same(const struct ap_profile_block *a, const struct ap_profile_block *b)
{
	return a->size == b->size &&
	       !memcmp((const char *)a + AFTER_NUMBERS, (const char *)b + AFTER_NUMBERS,
		       b->size - AFTER_NUMBERS);
}

static bool has_room(const struct ap_profile *p, const struct ap_profile_block *b)
{
	return p->bytes + b->size <= AP_PROFILE_PARTS_OFF &&
	       p->nways + b->nways <= AP_PROFILE_WAYS &&
	       p->nparts + b->ninsns + 1U <= AP_PROFILE_PARTS;
}

/* What was known in a fork's parent is zeros here, which are no block. */
bool ap_profile_number(struct ap_profile_block *b)
{
	struct ap_profile *p = ap_proc.profile;
	const struct ap_profile_block *old;
	u32 *at;

	b->time = time_of_mappings();
	at = &known[hash_of(b)];
	old = (const struct ap_profile_block *)((const char *)p + *at * 8ULL);
	if (*at && is_same(old, b)) {
		b->first_way = old->first_way;
		b->first_part = old->first_part;
		return true;
	}
	if (!has_room(p, b)) {
		p->lost++;
		return false;
	}
	b->first_way = p->nways;
	b->first_part = p->nparts;
	memcpy((char *)p + p->bytes, b, b->size);
	p->nways += b->nways;
	p->nparts += b->ninsns + 1U;
	*at = (u32)(p->bytes / 8);
	__atomic_store_n(&p->bytes, p->bytes + b->size, __ATOMIC_RELEASE);
	return true;
}

/* --- beside the ways */

void ap_profile_add_part(u32 first_part, u32 n, u64 times)
{
	u64 *parts = (u64 *)((char *)ap_proc.profile + AP_PROFILE_PARTS_OFF);

	if (ap_profile_is_on() && first_part && n)
		__atomic_fetch_add(&parts[first_part + n], times, __ATOMIC_RELAXED);
}

void ap_profile_add(u64 pc, s64 times)
{
	struct ap_profile_loose *loose;
	u32 at = (u32)(pc * 0x9e3779b97f4a7c15ULL >> 40);
	u64 none;

	if (!ap_profile_is_on())
		return;
	loose = (struct ap_profile_loose *)((char *)ap_proc.profile + AP_PROFILE_LOOSE_OFF);
	for (u32 n = 0; n < LOOSE_TRIES; n++, at++) {
		struct ap_profile_loose *l = &loose[at % AP_PROFILE_LOOSE];

		none = 0;
		if (!__atomic_compare_exchange_n(&l->pc, &none, pc, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED) &&
		    none != pc)
			continue;
		__atomic_fetch_add(&l->count, times, __ATOMIC_RELAXED);
		return;
	}
	__atomic_fetch_add(&ap_proc.profile->lost_loose, 1, __ATOMIC_RELAXED);
}
