/* SPDX-License-Identifier: MIT */
/*
 * The newest store that overlaps a load decides: one that covers all of it answers, one that covers
 * a part holds it up until it is written.  A hash of 8-byte words finds candidates: a word's last
 * store is its newest.
 */
#include "model/forward.h"

#include "model/model.h"

_Static_assert(AP_MODEL_L1D_STORE == AP_MODEL_L1D_LOAD + AP_MEM_WRITE, "indexed by flag");
_Static_assert(sizeof(struct ap_quick) == 1U << AP_QUICK_SHIFT, "as access.h says");
_Static_assert(AP_MODEL_L1I_LOAD == AP_MEM_COUNT_CODE, "named in mem.h");

static u32 *slot(struct ap_fwd *f, u64 word)
{
	return &f->last[(word ^ word >> 8) % AP_ARRAY_SIZE(f->last)];
}

/* Of a fork's child counts begin anew. */
void ap_fwd_catch_up(struct ap_fwd *f, u64 stores)
{
	if (stores > f->counted)
		f->n += stores - f->counted;
	f->counted = stores;
}

void ap_fwd_store(struct ap_fwd *f, const struct ap_fwd_store *store)
{
	struct ap_fwd_store *to = &f->store[f->n % AP_FWD_STORES];
	u64 last = (store->address + store->size - 1) >> 3;

	*to = *store;
	to->number = ++f->n;
	f->counted++;
	for (u64 word = store->address >> 3; word <= last; word++)
		*slot(f, word) = (u32)f->n;
}

/* Number n, if it was looked at, and overlaps. */
static const struct ap_fwd_store *overlapping(const struct ap_fwd *f, u64 n, u64 address, u32 size)
{
	const struct ap_fwd_store *s = &f->store[(n - 1) % AP_FWD_STORES];

	return s->number == n && s->address < address + size && address < s->address + s->size
		       ? s
		       : NULL;
}

enum ap_fwd_result ap_fwd_load(struct ap_fwd *f, u32 depth, u64 address, u32 size,
			       const struct ap_fwd_store **by)
{
	u32 age = depth; /* of the newest in the load's words */

	for (u64 word = address >> 3; word <= (address + size - 1) >> 3; word++)
		if ((u32)f->n - *slot(f, word) < age)
			age = (u32)f->n - *slot(f, word);
	/* no newer store overlaps it; this one may be of another word, or beside it */
	for (; age < depth && age < f->n; age++) {
		const struct ap_fwd_store *s = overlapping(f, f->n - age, address, size);

		if (!s)
			continue;
		*by = s;
		return s->address <= address && address + size <= s->address + s->size
			       ? AP_FWD_DONE
			       : AP_FWD_BLOCKED;
	}
	return AP_FWD_NONE;
}
