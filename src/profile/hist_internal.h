/* SPDX-License-Identifier: MIT */
/* Between hist.c (entries), chain.c (call trees), keys.c (what columns mean), hist_print.c (text). */
#ifndef AP_PROFILE_HIST_INTERNAL_H
#define AP_PROFILE_HIST_INTERNAL_H

#include "profile/hist.h"

/* Memory that is given back all at once. */
struct ap_arena {
	void *blocks;
	char *at;
	size_t left;
};

void *ap_arena_get(struct ap_arena *a, size_t size); /* zeroed */
void ap_arena_fini(struct ap_arena *a);

/* All trees of a table: nodes, and (parent, frame) -> node. */
struct ap_chains {
	struct ap_arena arena;
	struct ap_chain_node **slot;
	u32 n, cap;
};

struct ap_hist {
	struct ap_hist_opts opts;
	struct ap_arena arena;
	struct ap_hist_entry **entry; /* in order of appearance, then sorted */
	u32 n;
	struct ap_hist_entry **slot;
	u32 cap;
	struct ap_chains chains;
	u64 total, samples;
	struct ap_hist_entry **seen; /* of one sample */
	u32 cap_seen;
};

struct ap_key_ops {
	const char *name, *header;
	u32 width;
	/* <0: a first; order of lines, and order where those are equal */
	int (*sort)(const struct ap_hist *h, const struct ap_hist_entry *a,
		    const struct ap_hist_entry *b);
	int (*order)(const struct ap_hist *h, const struct ap_hist_entry *a,
		     const struct ap_hist_entry *b);
	u64 (*hash)(const struct ap_hist_entry *e);
	bool (*same)(const struct ap_hist_entry *a, const struct ap_hist_entry *b);
	u32 (*len)(const struct ap_hist *h, const struct ap_hist_entry *e);
	int (*print)(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		     size_t size);
};

const struct ap_key_ops *ap_key_ops(enum ap_hist_key key);
/* By name, also of columns of weight; AP_COL_N: none has it. */
enum ap_hist_key ap_key_find(const char *name, size_t len);
bool ap_hist_has(const struct ap_hist *h, enum ap_hist_key key);

/* The path frame[0..n) under root weighs more. */
void ap_chain_add(struct ap_chains *c, struct ap_chain_node *root, const struct ap_frame *frame,
		  u32 n, u64 period, u64 count);
struct ap_chain_node *ap_chain_root(struct ap_chains *c);
void ap_chains_fini(struct ap_chains *c);
/* Sorts below root and takes off what weighs less than min. */
void ap_chain_sort(struct ap_chain_node *root, u64 min, const struct ap_hist_opts *opts);

void ap_chain_print(const struct ap_hist *h, const struct ap_hist_entry *e, FILE *out);

#endif
