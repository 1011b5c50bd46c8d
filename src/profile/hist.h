/* SPDX-License-Identifier: MIT */
/*
 * Samples as a table: entries by sort keys (command, file, symbol, ...), what each weighs itself and
 * together with what it called, and the call trees under them.
 */
#ifndef AP_PROFILE_HIST_H
#define AP_PROFILE_HIST_H

#include <stdio.h>

#include "profile/session.h"

enum ap_hist_key {
	AP_KEY_COMM,
	AP_KEY_DSO,
	AP_KEY_SYM,
	AP_KEY_PID, /* thread, as perf's "pid" */
	AP_KEY_CPU,
	AP_KEY_SRCLINE,
	AP_KEY_SRCFILE,
	AP_KEY_N,
	/* columns of weight */
	AP_COL_CHILDREN = AP_KEY_N,
	AP_COL_SELF,
	AP_COL_SYS,
	AP_COL_USER,
	AP_COL_SAMPLES,
	AP_COL_PERIOD,
	AP_COL_N
};

enum ap_chain_mode { AP_CHAIN_NONE, AP_CHAIN_GRAPH, AP_CHAIN_FRACTAL };
enum ap_chain_order { AP_CALLEE, AP_CALLER };
enum ap_chain_value { AP_VALUE_PERCENT, AP_VALUE_PERIOD, AP_VALUE_COUNT };

#define AP_HIST_COLUMNS 16

struct ap_hist_opts {
	enum ap_hist_key sort[AP_HIST_COLUMNS];	  /* order of the lines */
	enum ap_hist_key column[AP_HIST_COLUMNS]; /* left to right */
	u32 nsort, ncolumn;
	bool children, inlines;
	bool sym_first; /* entries are symbols: their trees need not begin with them */
	enum ap_chain_mode chain;
	enum ap_chain_order order;
	enum ap_chain_value value;
	double chain_percent; /* what a branch of a tree must weigh */
	u32 chain_limit;      /* branches per node; 0: all */
	double percent_limit; /* what an entry must weigh */
	bool full_paths;      /* -v */
	bool no_header;	      /* -q */
	const char *separator;
	u32 max_stack;
};

/* A frame of a callchain. */
struct ap_frame {
	u64 ip;	  /* as in the record */
	u64 addr; /* the place */
	struct ap_dso *dso;
	const struct ap_symbol *sym;
	u8 cpumode;
};

struct ap_chain_node {
	struct ap_frame frame;
	u64 hit, children_hit;	   /* periods that end here; that go on */
	u64 count, children_count; /* the same in samples */
	struct ap_chain_node *parent, *child, *next;
	u32 nchild;
	bool ends; /* the last of a path without branches, once finished */
};

struct ap_hist_entry {
	u64 hash;
	u64 period, sys, user, n;
	u64 acc_period, acc_n;
	const struct ap_thread *thread;
	const char *comm;
	struct ap_dso *dso;
	const struct ap_symbol *sym;
	u64 ip;
	const char *file; /* of the source */
	u32 line;
	u32 cpu, tid;
	u8 cpumode;
	struct ap_chain_node *chain; /* root, NULL: none */
	u32 max_depth;
};

struct ap_hist; /* one per event */

struct ap_hist *ap_hist_new(const struct ap_hist_opts *opts);
void ap_hist_free(struct ap_hist *h);

/* A sample that stands for count of the same kind. */
struct ap_hist_sample {
	const struct ap_thread *thread;
	const char *comm;
	struct ap_place place;
	u32 cpu;
	u64 period, count;
	const struct ap_frame *frame; /* innermost first */
	u32 nframes;
};

void ap_hist_add(struct ap_hist *h, const struct ap_hist_sample *s);
/* Puts entries and trees in order; nothing is added afterwards. */
void ap_hist_finish(struct ap_hist *h);

u64 ap_hist_total(const struct ap_hist *h);
u64 ap_hist_samples(const struct ap_hist *h);
u32 ap_hist_entries(const struct ap_hist *h);
const struct ap_hist_entry *ap_hist_entry(const struct ap_hist *h, u32 i);
/* Weight by which the table is sorted and limited, in percent. */
double ap_hist_percent(const struct ap_hist *h, const struct ap_hist_entry *e);
/* Children of a node in order of weight, once finished: node->child and ->next. */
u64 ap_chain_total(const struct ap_chain_node *node);

/* Table and trees as text, as perf's --stdio prints them. */
void ap_hist_print(const struct ap_hist *h, FILE *out);

/* --- the way of a file's samples into tables: fold.c */
struct ap_fold;
struct ap_fold *ap_fold_new(struct ap_session *s, const struct ap_hist_opts *opts);
void ap_fold_free(struct ap_fold *f);
/* false: the record is damaged */
bool ap_fold_sample(struct ap_fold *f, const struct ap_data_rec *rec);
void ap_fold_finish(struct ap_fold *f);
/* The table of an event, or NULL where it had no sample. */
struct ap_hist *ap_fold_hist(const struct ap_fold *f, u32 event);

/* The frames of a sample's callchain, innermost first, expanded functions too; at most max. */
u32 ap_session_frames(struct ap_session *s, struct ap_thread *t, const u8 *chain, u64 n,
		      bool inlines, struct ap_frame *out, u32 max);

#endif
