/* SPDX-License-Identifier: MIT */
/*
 * Random ways and values of their records, and a thread's models to feed with them.
 */
#ifndef TESTS_UNIT_MODEL_WAYS_H
#define TESTS_UNIT_MODEL_WAYS_H

#include "model/feed.h"
#include "pieces.h"

static inline struct ap_feed *new_feed(const struct ap_machine *machine)
{
	struct ap_feed *f = zeroed(sizeof(*f));
	struct ap_shared *shared = zeroed(ap_shared_bytes(machine));

	ap_shared_init(shared, machine);
	f->machine = machine;
	f->has_cycles = true;
	f->pending = AP_FEED_NOTHING;
	f->seg_base[AP_FEED_FS] = 0x700123456000;
	f->bp = ap_bp_init(zeroed(ap_bp_bytes(machine)), machine, f->count);
	f->memos = zeroed(AP_FEED_MEMO_BYTES);
	f->mem = ap_mem_init(zeroed(ap_mem_bytes(machine)), machine, shared, f->count, 0);
	return f;
}

static inline void free_feed(struct ap_feed *f)
{
	free(f->mem->shared);
	free(f->mem);
	free(f->bp);
	free(f->memos);
	free(f->pipe.states);
	free(f);
}

/* A chunk of its own, number 0 of which is nothing. */
struct arena {
	uint8_t *chunk;
	uint32_t used;
};

static inline void *take(struct arena *a, size_t bytes, uint32_t *id)
{
	void *at = a->chunk + a->used;

	*id = a->used / AP_FEED_ALIGN;
	a->used += (uint32_t)AP_ALIGN_UP(bytes, AP_FEED_ALIGN);
	REQUIRE(a->used <= AP_FEED_CHUNK);
	return at;
}

/* Few places, so that some are often taken and some seldom; the last one may be of any kind. */
static inline void random_branches(struct arena *a, struct ap_feed_way *w)
{
	struct ap_feed_branch *to;
	uint32_t unused;

	w->nbranches = (uint16_t)below(4);
	w->branches = to = take(a, 4 * sizeof(*to), &unused);
	for (unsigned k = 0; k < w->nbranches; k++) {
		uint64_t pc = 0x402000 + (uint64_t)below(100) * 4;
		bool is_last = k + 1 == w->nbranches && !below(3);

		to[k].pc = pc;
		to[k].len = 2;
		to[k].what = pc % 16 ? AP_FEED_NOT_TAKEN : (uint8_t)below(2);
		if (is_last)
			to[k].what = AP_FEED_JUMP + (uint8_t)below(5);
	}
}

/* What it does to values. */
static inline void random_flow(struct arena *a, struct ap_feed_way *w)
{
	struct piece *x = zeroed(sizeof(*x));
	uint32_t unused, *list = take(a, sizeof(x->list), &unused);

	random_piece(x);
	w->flow = x->flow;
	w->ninsns = w->room = x->ninsns;
	memcpy(list, x->list, sizeof(x->list));
	w->flow.list = list;
	free(x);
}

static inline void random_op(struct ap_feed_op *op, unsigned nwords)
{
	static const uint8_t sizes[] = { 1, 4, 8, 8, 8, 8, 16, 32, 64 };

	*op = (struct ap_feed_op){ .what = (uint8_t)below(3),
				   .base = (uint8_t)below(nwords),
				   .index = AP_FEED_NO_WORD,
				   .size = sizes[below(sizeof(sizes))] };
	op->waits = (uint16_t)below(1 << 4);
	op->late = (uint16_t)(1 << below(4));
	op->disp = (int64_t)below(20) * 8 - 80;
	if (!below(4))
		op->disp += below(8);
	if (!below(4)) {
		op->index = (uint8_t)below(nwords);
		op->scale = (uint8_t)below(4);
	}
	if (!below(10)) {
		op->base = AP_FEED_NO_WORD;
		op->disp = 0x404000 + (int64_t)below(4096);
	}
	if (!below(20))
		op->flags = AP_FEED_FS;
	if (!below(40))
		op->flags |= AP_FEED_ADDR32;
	if (!below(40) && op->what == AP_FEED_UPDATE)
		op->flags |= AP_FEED_ATOMIC;
	if (!below(100))
		op->what = AP_FEED_FLUSH + (uint8_t)below(2);
}

static inline void random_way(struct arena *a, uint32_t *id, bool in_clusters)
{
	struct ap_feed_cluster clusters[AP_FEED_CLUSTERS], *to;
	struct ap_feed_way *w = take(a, sizeof(*w), id);
	struct ap_feed_op *ops;
	uint64_t *fetches;
	uint32_t unused;

	w->pc = 0x401000 + (uint64_t)below(1 << 16);
	w->nwords = 1 + below(4);
	w->nops = (uint16_t)below(below(10) ? 12 : 60);
	w->nfetches = (uint16_t)below(3);
	w->ops = ops = take(a, (w->nops + 1) * sizeof(*ops), &unused);
	w->fetches = fetches = take(a, (w->nfetches + 1) * sizeof(*fetches), &unused);
	for (unsigned k = 0; k < w->nwords; k++)
		w->delta[k] = (int32_t)below(64) * 8 - 256;
	for (unsigned k = 0; k < w->nops; k++)
		random_op(&ops[k], w->nwords);
	for (unsigned k = 0; k < w->nfetches; k++)
		fetches[k] = (w->pc & ~63ULL) + k * 64;
	w->nclusters = (uint16_t)ap_feed_clusters(w, *id, 64, clusters);
	w->clusters = to = take(a, sizeof(clusters), &unused);
	memcpy(to, clusters, sizeof(clusters));
	random_branches(a, w);
	random_flow(a, w);
	if (!in_clusters)
		w->nclusters = 0;
}

/* Most values are near, so that most ways are quick; a few are anywhere. */
static inline uint64_t random_value(void)
{
	if (!below(30))
		return below(1 << 22);
	return (below(2) ? 0x7ffff000 : 0x500000) + (uint64_t)below(400) * (below(8) ? 8 : 1);
}

#endif
