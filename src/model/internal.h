/* SPDX-License-Identifier: MIT */
/*
 * Between the files of the memory model: mem.c takes references and owns L1, levels.c what lies behind
 * it, translate.c the TLBs, coherence.c what other threads do to our lines.
 */
#ifndef AP_MODEL_INTERNAL_H
#define AP_MODEL_INTERNAL_H

#include "base/mem.h"
#include "model/cache.h"
#include "model/model.h"

/* Of two results: the higher level, what either met. */
static inline unsigned ap_mem_worse(unsigned a, unsigned b)
{
	unsigned level = AP_MEM_LEVEL(a) > AP_MEM_LEVEL(b) ? AP_MEM_LEVEL(a) : AP_MEM_LEVEL(b);

	return level | ((a | b) & ~7U);
}

#define AP_NO_PAGE 0xffffU

static inline bool ap_same_page(u64 a, u64 b)
{
	return !((a ^ b) >> 12);
}

/*
 * Asks the levels behind L1 for a line, which it then has.  *state: AP_LINE_OWN where it may be
 * modified, AP_LINE_DIRTY where it is and nobody else keeps that.
 */
unsigned ap_mem_below(struct ap_mem *m, u64 line, enum ap_mem_kind kind, u64 *state);
/* A store goes through: written to the levels behind L1, which may let it pass. */
unsigned ap_mem_write_below(struct ap_mem *m, u64 line);
/* A line leaves an L1. */
void ap_mem_evicted(struct ap_mem *m, u64 key);

/* After L1 was filled: L2's prefetchers learn of what was asked for. */
void ap_mem_train_below(struct ap_mem *m);

/* A stride that has been seen often enough to go on, in lines; 0: none. */
s64 ap_stride_train(struct ap_stride *table, u64 key, u64 line_number);

/* coherence.c: the name that others know a line by, and back */
u64 ap_mem_outer(const struct ap_mem *m, u64 line);
u64 ap_mem_inner(const struct ap_mem *m, u64 name);
/* Takes a line out of all private caches; the flags that it had. */
u64 ap_mem_drop(struct ap_mem *m, u64 line);
/* A line has left a private cache: with dirty, its data went behind them. */
void ap_mem_left(struct ap_mem *m, u64 line, bool dirty);
/* A line that we hold is to be modified, but others may hold it. */
unsigned ap_mem_upgrade(struct ap_mem *m, u64 line);

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

/*
 * translate.c: AP_MEM_STLB or AP_MEM_WALK, page table entries read, and the entry of the first TLB, of the first
 * page: AP_NO_PAGE where its lines cannot be quick
 */
void ap_mem_tlb_init(struct ap_mem *m, char **at);
size_t ap_mem_tlb_bytes(const struct ap_machine *machine);
unsigned ap_mem_translate(struct ap_mem *m, u64 address, unsigned size, unsigned write,
			  unsigned *steps, u32 *entry);
unsigned ap_mem_translate_code(struct ap_mem *m, u64 address, unsigned size, unsigned *steps,
			       u32 *entry);

#endif
