/* SPDX-License-Identifier: MIT */
/*
 * The store of a party's translated code: a table of hashes, records behind each other, directions of branches.
 *
 * All processes of the party write to it without a lock.  Who puts a record in takes room first, writes, and names it in the
 * table last; who is killed in between leaves room that nobody uses.  Whatever stands there instead of a record, be it half
 * written, another one or made up, has not the seal that only the party's own processes can make: those that
 * the supervisor has told the key (docs/design/code-store.md).
 */
#include "engine/cache/store.h"

#include "base/mem.h"
#include "base/siphash.h"
#include "engine/runtime/engine.h"

#define TRIES  16U
#define WINDOW 128U /* entries in which the blocks of a page are, at first */
#define AHEAD  8U   /* pieces */

static struct {
	struct ap_store *at;
	u64 key[2];
	bool is_secluded;
} store;

static __attribute__((aligned(64))) u8 copied[AP_RECORD_MAX];

void ap_store_use(struct ap_store *at, const u64 key[2])
{
	store.at = at;
	store.key[0] = key[0];
	store.key[1] = key[1];
}

void ap_store_part(void)
{
	if (store.at)
		ap_mem_unmap(store.at, AP_STORE_SIZE);
	store.at = NULL;
	store.key[0] = store.key[1] = 0;
}

void ap_store_seclude(void)
{
	ap_store_part();
	store.is_secluded = true;
}

bool ap_store_is_secluded(void)
{
	return store.is_secluded;
}

bool ap_store_is_there(void)
{
	return store.at;
}

static u64 mixed(u64 a, u64 b)
{
	unsigned __int128 m =
		(unsigned __int128)(a ^ 0x9e3779b97f4a7c15ULL) * (b ^ 0xd6e8feb86659fd93ULL);

	return (u64)m ^ (u64)(m >> 64);
}

static u64 hash_of(u64 pc, const u8 code[16], u64 how)
{
	u64 a, b;

	__builtin_memcpy(&a, code, 8);
	__builtin_memcpy(&b, code + 8, 8);
	b &= ~0ULL >> 8; /* the last byte is nobody's */
	return mixed(mixed(a, b ^ pc << 52), how);
}

struct ap_store_key ap_store_key(u64 pc, u64 page, const u8 code[16], u64 how)
{
	const u64 hash = hash_of(pc, code, how),
		  window = mixed(page, how) % (AP_STORE_INDEX / WINDOW);

	return (struct ap_store_key){ .hash = hash,
				      .how = how,
				      .in_page = pc & ~AP_PAGE_MASK,
				      .first = (u32)(window * WINDOW + hash % WINDOW) };
}

static u64 *entry_of(const struct ap_store_key *key, u32 try)
{
	return &store.at->index[(key->first + try) % AP_STORE_INDEX];
}

static const void *take_part(const u8 **at, u64 size)
{
	const u8 *p = *at;

	*at += size;
	return p;
}

bool ap_record_parts(const struct ap_record *r, struct ap_record_parts *p)
{
	const u8 *at = (const u8 *)(r + 1);

	p->vecs = take_part(&at, r->nvecs * sizeof(*p->vecs));
	p->anchors = take_part(&at, r->nanchors * sizeof(*p->anchors));
	p->ranges = take_part(&at, r->nranges * sizeof(*p->ranges));
	p->jumps = take_part(&at, r->njumps * sizeof(*p->jumps));
	p->pages = take_part(&at, r->npages * sizeof(*p->pages));
	p->exits = take_part(&at, r->nexits * sizeof(*p->exits));
	p->fixes = take_part(&at, r->nfixes * sizeof(*p->fixes));
	p->recs = take_part(&at, r->nrecs * sizeof(*p->recs));
	p->sites = take_part(&at, r->nsites * sizeof(*p->sites));
	p->more = take_part(&at, r->has_more ? r->nrecs : 0);
	p->source = take_part(&at, r->nsource);
	p->code = take_part(&at, r->code_len);
	return at <= (const u8 *)r + r->size;
}

static u64 seal_of(const struct ap_record *r)
{
	return ap_siphash(store.key, (const u8 *)r + 8, r->size / 8 - 1);
}

/* Whoever else writes there meanwhile: what is looked at is the copy alone. */
static const struct ap_record *copy_record(u32 piece)
{
	struct ap_record *r = (struct ap_record *)copied;
	const struct ap_record *from;
	u32 size;

	if (piece >= AP_STORE_PIECES)
		return NULL;
	from = (const struct ap_record *)store.at->pieces[piece];
	size = __atomic_load_n(&from->size, __ATOMIC_RELAXED);
	for (u32 k = 1; k < AHEAD; k++)
		__builtin_prefetch((const u8 *)from + k * AP_STORE_PIECE);
	if (size < sizeof(*r) || size > AP_RECORD_MAX || size % 8 ||
	    size > (AP_STORE_PIECES - piece) * AP_STORE_PIECE)
		return NULL;
	memcpy(r, from, size);
	r->size = size;
	/* what runs after it was mostly made after it */
	for (u32 k = 0; k < AHEAD; k++)
		__builtin_prefetch((const u8 *)from + AP_ALIGN_UP(size, AP_STORE_PIECE) +
				   k * AP_STORE_PIECE);
	return r->seal == seal_of(r) ? r : NULL;
}

const struct ap_record *ap_store_next(struct ap_store_key *key)
{
	while (key->tries < TRIES) {
		u64 entry = __atomic_load_n(entry_of(key, key->tries++), __ATOMIC_ACQUIRE);
		const struct ap_record *r;

		if (!entry)
			return NULL;
		if (entry >> 32 != key->hash >> 32)
			continue;
		if ((u32)entry == AP_STORE_MARK) {
			key->is_marked = true;
			continue;
		}
		r = copy_record((u32)entry - 1);
		if (r && r->hash == key->hash && r->how == key->how && r->in_page == key->in_page)
			return r;
	}
	return NULL;
}

/* Is free or has a mark: its own first, one of others where there is nothing better.  NULL: all are records. */
static u64 *place_for(const struct ap_store_key *key, u64 *was)
{
	u64 *other = NULL;

	for (u32 k = 0; k < TRIES; k++) {
		u64 *at = entry_of(key, k), entry = __atomic_load_n(at, __ATOMIC_RELAXED);
		bool is_mark = (u32)entry == AP_STORE_MARK;

		if (entry && !is_mark)
			continue;
		if (entry && entry >> 32 != key->hash >> 32 && other)
			continue;
		*was = entry;
		if (!entry || entry >> 32 == key->hash >> 32)
			return at;
		other = at;
	}
	return other;
}

/* Others may have taken a place since it was looked for. */
static void name_at_place(const struct ap_store_key *key, u32 low)
{
	for (u32 k = 0; k < TRIES; k++) {
		u64 was, *at = place_for(key, &was);

		if (!at || __atomic_compare_exchange_n(at, &was, key->hash >> 32 << 32 | low, false,
						       __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return;
	}
}

void ap_store_mark(const struct ap_store_key *key)
{
	name_at_place(key, AP_STORE_MARK);
}

static u32 take_room(u32 size)
{
	u32 n = (size + AP_STORE_PIECE - 1) / AP_STORE_PIECE, at;

	if (__atomic_load_n(&store.at->used, __ATOMIC_RELAXED) + n > AP_STORE_PIECES)
		return UINT32_MAX;
	at = __atomic_fetch_add(&store.at->used, n, __ATOMIC_RELAXED);
	return at < AP_STORE_PIECES && n <= AP_STORE_PIECES - at ? at : UINT32_MAX;
}

void ap_store_put(struct ap_record *r, const struct ap_store_key *key)
{
	u64 was;
	u32 at;

	if (!place_for(key, &was))
		return;
	at = take_room(r->size);
	if (at == UINT32_MAX)
		return;
	r->hash = key->hash;
	r->how = key->how;
	r->in_page = key->in_page;
	r->seal = seal_of(r);
	memcpy(store.at->pieces[at], r, r->size);
	name_at_place(key, at + 1);
}

static u8 *hint_of(u64 pc, const u8 code[16], u32 *shift)
{
	u32 at = (u32)(hash_of(pc, code, 0) >> 32) % AP_STORE_HINTS;

	*shift = at % 4 * 2;
	return &store.at->hints[at / 4];
}

u32 ap_store_hint(u64 pc, const u8 code[16])
{
	u32 shift;
	const u8 *byte = hint_of(pc, code, &shift);

	return *byte >> shift & 3;
}

void ap_store_note_hint(u64 pc, const u8 code[16], u32 hint)
{
	u32 shift;
	u8 *byte = hint_of(pc, code, &shift);

	*byte = (u8)((*byte & ~(3U << shift)) | hint << shift);
}
