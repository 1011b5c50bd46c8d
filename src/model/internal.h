/* SPDX-License-Identifier: MIT */
/*
 * Between the files of the memory model: mem.c takes references and owns L1, levels.c what lies
 * behind it, translate.c the TLBs, coherence.c what other threads do to our lines.
 */
#ifndef AP_MODEL_INTERNAL_H
#define AP_MODEL_INTERNAL_H

#include "base/mem.h"
#include "model/cache.h"
#include "model/model.h"
#include "model/shared.h"

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
static inline s64 ap_stride_train(struct ap_stride *table, u64 key, u64 line_number)
{
	struct ap_stride *s = &table[(key ^ key >> 6) % AP_STRIDES];
	s64 stride = (s64)(line_number - s->line);

	if (s->key != key) {
		*s = (struct ap_stride){ .key = key, .line = line_number };
		return 0;
	}
	if (!stride)
		return 0;
	s->line = line_number;
	if (stride != s->stride) {
		s->stride = stride;
		s->sure = 0;
		return 0;
	}
	if (s->sure < 2)
		s->sure++;
	return s->sure == 2 ? stride : 0;
}

/* After L1D was filled: its own prefetchers learn of it. */
void ap_mem_train(struct ap_mem *m, u64 line, u64 pc);

/* straight.c: it may take references of this machine, for a thread that is alone. */
bool ap_mem_may_go_straight(const struct ap_mem *m);
/* Any reference, whatever it meets. */
unsigned ap_mem_data_any(struct ap_mem *m, u64 address, unsigned size, unsigned flags, u64 pc);
/* Of a line whose page was in the first TLB; way: of L1D, or -1. */
unsigned ap_mem_data_at(struct ap_mem *m, u64 line, u32 set, int way, u32 entry, unsigned write,
			u64 pc);
unsigned ap_mem_fetch_any(struct ap_mem *m, u64 address, unsigned size);

/*
 * coherence.c: the name that others know a line by, and back: one line after another from *at = 0
 * on, then AP_NO_LINE.
 */
#define AP_NO_LINE (~0ULL)
u64 ap_mem_outer_common(const struct ap_mem *m, u64 line);
/*
 * Of memory that is nobody else's, whatever the address: a masked access may have one that no
 * program has, with all bits.
 */
static inline u64 ap_mem_own_name(const struct ap_mem *m, u64 line)
{
	return (line ^ m->space) & ~AP_NAME_COMMON;
}
static inline u64 ap_mem_outer(const struct ap_mem *m, u64 line)
{
	return ap_likely(!m->names.n) ? ap_mem_own_name(m, line) : ap_mem_outer_common(m, line);
}
u64 ap_mem_inner(const struct ap_mem *m, u64 name, u32 *at);
/* Whom a name is known to. */
static inline struct ap_common ap_mem_side(const struct ap_mem *m, u64 name)
{
	return ap_unlikely(name & AP_NAME_COMMON)
		       ? m->common
		       : (struct ap_common){ m->shared, m->core, m->tracked };
}
/* Takes a name's lines out of all private caches; the flags that they had. */
u64 ap_mem_drop(struct ap_mem *m, u64 line);
u64 ap_mem_drop_name(struct ap_mem *m, u64 name);
/* They stay, and are not modified any more. */
u64 ap_mem_clean_name(struct ap_mem *m, u64 name);
/* Its only copy is ours, and is modified now. */
void ap_mem_modified(struct ap_mem *m, u64 line);
/* Something waits for ap_mem_poll(). */
static inline bool ap_mem_is_asked(const struct ap_common *c)
{
	return c->tracked ? !ap_box_empty(&c->shared->box[c->core]) : ap_shared_many(c->shared);
}
/* A line has left a private cache: with dirty, its data went behind them. */
void ap_mem_left(struct ap_mem *m, u64 line, bool dirty);
/* A line that we hold is to be modified, but others may hold it. */
unsigned ap_mem_upgrade(struct ap_mem *m, u64 line);

/*
 * translate.c: AP_MEM_STLB or AP_MEM_WALK, page table entries read, and the entry of the first TLB,
 * of the first page: AP_NO_PAGE where its lines cannot be quick
 */
void ap_mem_tlb_init(struct ap_mem *m, char **at);
size_t ap_mem_tlb_bytes(const struct ap_machine *machine);
unsigned ap_mem_translate(struct ap_mem *m, u64 address, unsigned size, unsigned write,
			  unsigned *steps, u32 *entry);
unsigned ap_mem_translate_code(struct ap_mem *m, u64 address, unsigned size, unsigned *steps,
			       u32 *entry);

#endif
