/* SPDX-License-Identifier: MIT */
/*
 * The hash table: open addressing, linear probing, at most half full.  A slot has a key of 64 bits,
 * which is the thing's number or a hash of it, and an item, which is an index or a pointer and
 * never 0.  Several items may have one key: the owner compares what a hash stands for.
 *
 * The table allocates nothing, so that it serves where there is no libc: the caller gives memory
 * before it is full (ap_table_move), or has ap_table_add() of table_hosted.c do it.
 */
#ifndef AP_BASE_TABLE_H
#define AP_BASE_TABLE_H

#include "base/types.h"

struct ap_table_slot {
	u64 key, item;
};

/* Zeroed it is empty. */
struct ap_table {
	struct ap_table_slot *slot;
	u32 room, n; /* a power of two, or 0 */
};

static inline u32 ap_table_home(const struct ap_table *t, u64 key)
{
	return (u32)(key * 0x9e3779b97f4a7c15ULL >> 32) & (t->room - 1);
}

/* The next slot with the key from i on; NULL: there is none. */
static inline struct ap_table_slot *ap_table_seek(const struct ap_table *t, u32 i, u64 key)
{
	for (; t->slot[i].item; i = (i + 1) & (t->room - 1))
		if (t->slot[i].key == key)
			return &t->slot[i];
	return NULL;
}

static inline struct ap_table_slot *ap_table_find(const struct ap_table *t, u64 key)
{
	return t->room ? ap_table_seek(t, ap_table_home(t, key), key) : NULL;
}

static inline struct ap_table_slot *ap_table_next(const struct ap_table *t,
						  const struct ap_table_slot *s)
{
	return ap_table_seek(t, (u32)(s - t->slot + 1) & (t->room - 1), s->key);
}

/* All slots with a key. */
#define ap_table_each(t, k, s) for ((s) = ap_table_find(t, k); (s); (s) = ap_table_next(t, s))

/* Where no two things have one key: the item, or 0. */
static inline u64 ap_table_get(const struct ap_table *t, u64 key)
{
	const struct ap_table_slot *s = ap_table_find(t, key);

	return s ? s->item : 0;
}

static inline void *ap_table_ptr(const struct ap_table_slot *s)
{
	return (void *)(size_t)s->item;
}

static inline void *ap_table_get_ptr(const struct ap_table *t, u64 key)
{
	return (void *)(size_t)ap_table_get(t, key);
}

/* One more item would make it more than half full. */
static inline bool ap_table_is_full(const struct ap_table *t)
{
	return 2 * (t->n + 1) > t->room;
}

/* It must not be full. */
void ap_table_put(struct ap_table *t, u64 key, u64 item);
/* Into zeroed memory of more slots; what it had before is the caller's again. */
struct ap_table_slot *ap_table_move(struct ap_table *t, struct ap_table_slot *slot, u32 room);
void ap_table_remove(struct ap_table *t, struct ap_table_slot *s);

/* table_hosted.c: the same with calloc(). */
AP_MUST_CHECK int ap_table_add(struct ap_table *t, u64 key, u64 item);
void ap_table_fini(struct ap_table *t);

/* --- hashes */

static inline u64 ap_hash_mix(u64 h, u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 29;
}

static inline u64 ap_hash_ptr(u64 h, const void *p)
{
	return ap_hash_mix(h, (size_t)p);
}

/* FNV-1a, which goes on from h. */
#define AP_HASH_TEXT 0xcbf29ce484222325ULL
static inline u64 ap_hash_text(u64 h, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (u8)text[i]) * 0x100000001b3ULL;
	return h;
}

#endif
