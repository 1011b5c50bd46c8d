/* SPDX-License-Identifier: MIT */
/*
 * Between hist.c (entries), chain.c (call trees), keys.c (what columns mean), hist_print.c (text).
 */
#ifndef AP_PROFILE_HIST_INTERNAL_H
#define AP_PROFILE_HIST_INTERNAL_H

#include "profile/hist/hist.h"

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
	struct ap_table nodes; /* by parent and frame */
};

struct ap_hist {
	struct ap_hist_opts opts;
	struct ap_arena arena;
	struct ap_hist_entry **entry; /* in order of appearance, then sorted */
	u32 n;
	struct ap_table by_key; /* the same */
	struct ap_chains chains;
	u64 total, samples;
	u64 shown, shown_samples; /* of entries that are not hidden */
	u64 base;		  /* what percents are of; 0: of the above */
	struct ap_hist **member;  /* of its group, with itself; NULL: none */
	u32 nmember;
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

extern const struct ap_key_ops ap_keys_more[];	 /* from AP_KEY_MORE */
extern const struct ap_key_ops ap_keys_sample[]; /* from AP_KEY_SAMPLE */
extern const struct ap_key_ops ap_keys_trace[];	 /* from AP_KEY_TRACED */
extern const struct ap_key_ops ap_keys_mem[];	 /* from AP_KEY_MEMORY */
const struct ap_key_ops *ap_key_ops(enum ap_hist_key key);
/* Where a symbol is missing its file's column has room for an address, as in perf. */
u32 ap_unresolved_len(const struct ap_hist *h, u32 len);
/* How symbols are shown and compared wherever a key is one. */
u32 ap_sym_len(const struct ap_hist *h, const struct ap_symbol *sym);
int ap_sym_print(const struct ap_hist *h, struct ap_dso *dso, const struct ap_symbol *sym, u64 addr,
		 char level, u32 width, char *buf, size_t size);
const char *ap_source_text(const struct ap_hist *h, const char *file, u32 line, struct ap_dso *dso,
			   const struct ap_symbol *sym, u64 addr, char *buf, size_t size);
/* Has the tracepoint of this entry no field k? */
bool ap_field_is_none(const struct ap_hist_entry *e, u32 k);
/* By name, also of columns of weight; AP_COL_N: none has it. */
enum ap_hist_key ap_key_find(const char *name, size_t len);

/* The path frame[0..n) under root weighs more. */
void ap_chain_add(struct ap_chains *c, struct ap_chain_node *root, const struct ap_frame *frame,
		  u32 n, u64 period, u64 count);
struct ap_chain_node *ap_chain_root(struct ap_chains *c);
void ap_chains_fini(struct ap_chains *c);
/* Sorts below root and takes off what weighs less than min. */
void ap_chain_sort(struct ap_chain_node *root, u64 min, const struct ap_hist_opts *opts);

void ap_chain_print(const struct ap_hist *h, const struct ap_hist_entry *e, FILE *out);
/* The paths of a tree that weigh at least min, each by itself, heaviest first; returns how many. */
u32 ap_chain_paths(struct ap_chain_node *root, u64 min, struct ap_chain_node ***out);
/* The same as text, without lines between. */
void ap_chain_print_paths(const struct ap_hist *h, const struct ap_hist_entry *e, FILE *out);
u64 ap_chain_min(const struct ap_hist *h);

#endif
