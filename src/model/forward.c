/* SPDX-License-Identifier: MIT */
/*
 * Store to load forwarding.  The newest store among the last pipe.store_buffer that overlaps the
 * load decides: one that covers all of it answers, one that covers a part holds it up until it is
 * written.  A hash of 8-byte words finds candidates: a word's last store is its newest.
 */
#include "base/mem.h"
#include "model/model.h"

_Static_assert(AP_MODEL_L1D_STORE == AP_MODEL_L1D_LOAD + AP_MEM_WRITE, "indexed by flag");
_Static_assert(sizeof(struct ap_quick) == 1U << AP_QUICK_SHIFT, "as mem.h says");
_Static_assert(AP_MODEL_L1I_LOAD == AP_MEM_COUNT_CODE, "named in mem.h");

static u64 *slot(struct ap_fwd *f, u64 word)
{
	return &f->last[(word ^ word >> 8) % AP_ARRAY_SIZE(f->last)];
}

void ap_fwd_init(struct ap_fwd *f, const struct ap_machine *machine, u64 *count)
{
	memset(f, 0, sizeof(*f));
	f->count = count;
	f->depth = machine->pipe.store_buffer;
}

void ap_fwd_store(struct ap_fwd *f, u64 address, unsigned size)
{
	f->start[f->n % AP_FWD_STORES] = address;
	f->bytes[f->n % AP_FWD_STORES] = size;
	f->n++;
	for (u64 word = address >> 3; word <= (address + size - 1) >> 3; word++)
		*slot(f, word) = f->n;
}

static bool overlaps(const struct ap_fwd *f, u64 n, u64 address, unsigned size)
{
	u64 start = f->start[n % AP_FWD_STORES];

	return start < address + size && address < start + f->bytes[n % AP_FWD_STORES];
}

enum ap_fwd_result ap_fwd_load(struct ap_fwd *f, u64 address, unsigned size)
{
	u64 oldest = f->n > f->depth ? f->n - f->depth : 0, n = 0, start;

	for (u64 word = address >> 3; word <= (address + size - 1) >> 3; word++)
		if (*slot(f, word) > n)
			n = *slot(f, word);
	/* no newer store overlaps it; this one may be of another word, or beside it */
	while (n > oldest && !overlaps(f, n - 1, address, size))
		n--;
	if (n <= oldest)
		return AP_FWD_NONE;
	start = f->start[(n - 1) % AP_FWD_STORES];
	if (start <= address && address + size <= start + f->bytes[(n - 1) % AP_FWD_STORES]) {
		f->count[AP_MODEL_FORWARD]++;
		return AP_FWD_DONE;
	}
	f->count[AP_MODEL_FORWARD_BLOCK]++;
	return AP_FWD_BLOCKED;
}
