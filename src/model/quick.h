/* SPDX-License-Identifier: MIT */
/*
 * Which lines are quick (struct ap_quick): what makes them so, and what ends it.
 */
#ifndef AP_MODEL_QUICK_H
#define AP_MODEL_QUICK_H

#include "model/internal.h"

/*
 * Of an access that hits the line nothing changes but times of use: it has been used, and a store
 * finds it modified.
 */
static inline bool ap_quick_is_hit(u64 tag, unsigned write)
{
	u64 need = (u64)write * AP_LINE_DIRTY;

	return (tag & (need | AP_LINE_AHEAD)) == need;
}

/* Nothing is quick any more. */
static inline void ap_quick_forget_all(struct ap_mem *m)
{
	const struct ap_quick none = { .key = { AP_NOT_QUICK, AP_NOT_QUICK } };

	for (u32 k = 0; k < AP_QUICK; k++)
		m->quick[k] = none;
	for (u32 k = 0; k < AP_QUICK_CODE; k++)
		m->code_quick[k] = none;
}

/* A line is not in L1D any more as it was. */
static inline void ap_quick_forget(struct ap_mem *m, u64 line)
{
	struct ap_quick *q = ap_mem_quick(m, line);

	for (unsigned t = 0; t < 2; t++)
		if (!((q->key[t] ^ line) & m->line_mask))
			q->key[t] = AP_NOT_QUICK;
}

static inline struct ap_quick *ap_quick_code(const struct ap_mem *m, u64 address)
{
	return ap_quick_of(m->code_quick, AP_QUICK_CODE, address, m->shift);
}

static inline void ap_quick_forget_code(struct ap_mem *m, u64 line)
{
	struct ap_quick *q = ap_quick_code(m, line);

	if (!((q->key[0] ^ line) & m->line_mask))
		q->key[0] = AP_NOT_QUICK;
}

static inline bool ap_quick_is_stable(const struct ap_cache *c, u32 set, unsigned way)
{
	/* of a filled line RRIP changes the age with the first use */
	return c->policy != AP_POLICY_RRIP || !(*ap_cache_order(c, set) >> 2 * way & 3);
}

static inline u16 ap_quick_slot(const struct ap_cache *c, u32 set, unsigned way)
{
	return c->clock ? (u16)(set * c->ways + way) : 0;
}

/* Who takes the page out of the TLB has to know its lines. */
static inline void ap_quick_note(struct ap_tlb *t, u32 entry, u64 line)
{
	if (t->ways)
		t->lines[entry] |= 1ULL << (line >> 6 & 63);
}

/*
 * A line in L1D whose page is entry `entry` of the first TLB, of stores where write and those have
 * one.
 */
static inline __attribute__((always_inline)) void ap_quick_make(struct ap_mem *m, u64 line, u32 set,
								int way, u32 entry, unsigned write)
{
	struct ap_cache *c = &m->l1d;
	struct ap_quick *q = ap_mem_quick(m, line);
	u64 tag, stores;

	if (way < 0 || entry == AP_NO_PAGE || !ap_quick_is_stable(c, set, way))
		return;
	/* what came of the reference may have taken it away */
	tag = ap_cache_tags(c, set)[way];
	if ((tag & (m->line_mask | AP_LINE_AHEAD | AP_LINE_VALID)) != (line | AP_LINE_VALID))
		return;
	stores = tag & AP_LINE_DIRTY ? line : AP_NOT_QUICK;
	q->slot = ap_quick_slot(c, set, way);
	ap_quick_note(&m->tlb[write & m->own_store_tlb], entry, line);
	if (!m->own_store_tlb) {
		q->key[0] = line;
		q->key[1] = stores;
		q->page[0] = q->page[1] = (u16)entry;
		return;
	}
	if ((q->key[0] ^ line) & m->line_mask)
		q->key[0] = AP_NOT_QUICK;
	if ((q->key[1] ^ line) & m->line_mask)
		q->key[1] = AP_NOT_QUICK;
	q->key[write] = write ? stores : line;
	q->page[write] = (u16)entry;
}

/* way: where it was, or went */
static inline void ap_quick_make_code(struct ap_mem *m, u64 line, unsigned way, u32 entry)
{
	struct ap_cache *c = &m->l1i;
	struct ap_quick *q = ap_quick_code(m, line);
	u32 set = ap_cache_set(c, line);
	u64 tag = ap_cache_tags(c, set)[way];

	if (entry == AP_NO_PAGE || !ap_quick_is_stable(c, set, way) || !tag ||
	    (tag ^ line) & m->line_mask)
		return;
	q->key[0] = line;
	q->slot = ap_quick_slot(c, set, way);
	ap_quick_note(&m->itlb, entry, line);
	q->page[0] = (u16)entry;
}

#endif
