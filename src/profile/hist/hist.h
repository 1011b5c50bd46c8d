/* SPDX-License-Identifier: MIT */
/*
 * Samples as a table: entries by sort keys (command, file, symbol, ...), what each weighs itself
 * and together with what it called, and the call trees under them.
 */
#ifndef AP_PROFILE_HIST_H
#define AP_PROFILE_HIST_H

#include <stdio.h>

#include "profile/data/topology.h"
#include "profile/data/tracing.h"
#include "profile/hist/filter.h"
#include "profile/symbols/session.h"

#define AP_HIST_FIELDS 8

enum ap_hist_key {
	AP_KEY_COMM,
	AP_KEY_DSO,
	AP_KEY_SYM,
	AP_KEY_PID, /* thread, as perf's "pid" */
	AP_KEY_CPU,
	AP_KEY_SRCLINE,
	AP_KEY_SRCFILE,
	AP_KEY_MORE, /* from here: keys_more.c */
	AP_KEY_DSO_FROM = AP_KEY_MORE,
	AP_KEY_DSO_TO,
	AP_KEY_SYM_FROM,
	AP_KEY_SYM_TO,
	AP_KEY_ADDR_FROM,
	AP_KEY_ADDR_TO,
	AP_KEY_LINE_FROM,
	AP_KEY_LINE_TO,
	AP_KEY_MISPREDICT,
	AP_KEY_IN_TX,
	AP_KEY_ABORT,
	AP_KEY_CYCLES,
	AP_KEY_LOCAL_WEIGHT,
	AP_KEY_WEIGHT,
	AP_KEY_TIME,
	AP_KEY_ADDR,
	AP_KEY_SYM_SIZE,
	AP_KEY_PARENT,
	AP_KEY_CGROUP,
	AP_KEY_DSO_SIZE,
	AP_KEY_SAMPLE, /* from here: keys_sample.c */
	AP_KEY_SOCKET = AP_KEY_SAMPLE,
	AP_KEY_CGROUP_ID,
	AP_KEY_TRANSACTION,
	AP_KEY_CODE_PAGE,
	AP_KEY_TRACED, /* from here: keys_trace.c, of what tracepoints recorded */
	AP_KEY_TRACE = AP_KEY_TRACED,
	AP_KEY_FIELD, /* opts.field[0], and so on */
	AP_KEY_FIELD_LAST = AP_KEY_FIELD + AP_HIST_FIELDS - 1,
	AP_KEY_MEMORY, /* from here: keys_mem.c, of references to memory */
	AP_KEY_MEM = AP_KEY_MEMORY,
	AP_KEY_DATA_SYM,
	AP_KEY_DATA_DSO,
	AP_KEY_SNOOP,
	AP_KEY_TLB,
	AP_KEY_LOCKED,
	AP_KEY_BLOCKED,
	AP_KEY_INS_LAT,
	AP_KEY_DATA_LINE,
	AP_KEY_DATA_PHYS,
	AP_KEY_DATA_PAGE,
	AP_KEY_CODE_SYM,
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

enum ap_chain_mode {
	AP_CHAIN_NONE,
	AP_CHAIN_GRAPH,
	AP_CHAIN_FRACTAL,
	AP_CHAIN_FLAT,
	AP_CHAIN_FOLDED
};
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
	bool memory;	       /* samples weigh what their references took, not their periods */
	bool branches;	       /* entries are branches, from and to, not places of samples */
	bool relative;	       /* percents are of what the filter shows */
	bool known_only;       /* leave out places without a symbol */
	bool single[AP_KEY_N]; /* the filter leaves one of these: no column for it */
	u32 width[AP_HIST_COLUMNS]; /* of columns, as the user wants them; 0: as is needed */
	const struct ap_sample_filter *filter; /* or NULL */
	const struct ap_topology *topology;    /* for AP_KEY_SOCKET; NULL: no file tells */
	struct ap_tracing *tracing;	       /* for AP_KEY_TRACED; NULL: no file tells */
	char field[AP_HIST_FIELDS]
		  [AP_TRACING_NAME]; /* of tracepoints, as keys; ap_tracing_field() */
	u32 nfield;
	bool any_field;	    /* no file has been read: what is no key may be a field */
	u64 quantum;	    /* of times as keys, ns */
	const char *parent; /* pattern of AP_KEY_PARENT; NULL: system calls and faults */
	bool parents_only;  /* leave out what has none */
};

/* What a branch goes from or to. */
struct ap_branch_end {
	u64 ip, addr;
	struct ap_dso *dso;
	const struct ap_symbol *sym;
	const char *file; /* of the source, where it is asked for */
	u32 line;
	u8 cpumode;
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

/* What some samples say besides, 0 where no key asks for it. */
struct ap_hist_facts {
	u64 transaction, code_page, data_page; /* page sizes in bytes */
	u64 phys;			       /* where the data was */
	u64 cgroup_dev, cgroup_ino;	       /* of the task's cgroup namespace */
};

/* What is mapped where a reference went; as in a mapping's record. */
struct ap_hist_mapped {
	u64 dev, ino; /* 0: no file, or nobody says which */
	u32 prot, flags;
};

struct ap_hist_entry {
	u64 hash;
	u64 period, sys, user, n;
	u64 acc_period, acc_n;
	const struct ap_profile_thread *thread;
	const char *comm;
	struct ap_dso *dso;
	const struct ap_symbol *sym;
	u64 ip;
	const char *file; /* of the source */
	u32 line;
	u32 cpu, tid;
	s32 socket; /* of the processor; -1: unknown */
	u8 cpumode;
	bool hidden;		     /* by the filter */
	struct ap_chain_node *chain; /* root, NULL: none */
	u32 max_depth;
	struct ap_hist_entry *
		*pair; /* the same of the group's other events, NULL where they have none */
	/* of samples that are told apart by them */
	struct ap_branch_end from, to;
	u64 branch, weight, time, addr, map_size, cgroup;
	struct ap_hist_facts facts;
	const char *trace; /* interned; trace_key.h */
	const char *cgroup_path;
	const struct ap_symbol *parent;
	struct ap_place data; /* what was referred to; its map is gone */
	struct ap_hist_mapped mapped;
	u64 source; /* of it: data_source.h */
	u32 latency;
};

struct ap_hist; /* one per event */

struct ap_hist *ap_hist_new(const struct ap_hist_opts *opts);
void ap_hist_free(struct ap_hist *h);

/* A sample that stands for count of the same kind. */
struct ap_hist_sample {
	const struct ap_profile_thread *thread;
	const char *comm;
	struct ap_place place;
	u32 cpu;
	s32 socket;
	struct ap_hist_facts facts;
	u64 period, count;
	const struct ap_frame *frame; /* innermost first */
	u32 nframes;
	u64 weight, time, cgroup; /* where keys ask for them */
	const char *cgroup_path;
	const struct ap_symbol *parent;
	const char *trace;
	bool hidden;
	const struct ap_branch_end *from, *to; /* of a branch, or NULL */
	u64 branch;			       /* its flags */
	const struct ap_place *data;	       /* of a reference to memory, or NULL */
	u64 source;
	u32 latency;
};

void ap_hist_add(struct ap_hist *h, const struct ap_hist_sample *s);
/* Puts entries and trees in order; nothing is added afterwards. */
void ap_hist_finish(struct ap_hist *h);

/*
 * Puts the events of a group into its leader's table: lines for what only others have, and pairs.
 * Before ap_hist_finish(); members may be NULL.
 */
void ap_hist_join(struct ap_hist *leader, struct ap_hist *const *member, u32 n);

/* What percents are told of, and how many samples that are. */
u64 ap_hist_total(const struct ap_hist *h);
/* Percents are told of this from now on; 0: again of what the options say. */
void ap_hist_base(struct ap_hist *h, u64 period);
/*
 * Whether paths and addresses are shown, as the option of the same name says at first; the order
 * stays.
 */
void ap_hist_full_paths(struct ap_hist *h, bool on);
u64 ap_hist_samples(const struct ap_hist *h);
/* A number of samples as headings say it: in thousands or millions, unit 'K', 'M' or ' '. */
u64 ap_hist_short(u64 n, char *unit);
u32 ap_hist_entries(const struct ap_hist *h);
const struct ap_hist_entry *ap_hist_entry(const struct ap_hist *h, u32 i);
/* Weight by which the table is sorted and limited, in percent. */
double ap_hist_percent(const struct ap_hist *h, const struct ap_hist_entry *e);
/* Children of a node in order of weight, once finished: node->child and ->next. */
u64 ap_chain_total(const struct ap_chain_node *node);

/* Table and trees as text, as perf's --stdio prints them. */
void ap_hist_print(const struct ap_hist *h, FILE *out);

/*
 * The same piece by piece: widths of all columns, a column's heading, a cell (unpadded at its
 * right).
 */
const struct ap_hist_opts *ap_hist_options(const struct ap_hist *h);
void ap_hist_widths(const struct ap_hist *h, u32 *width);
const char *ap_hist_header(const struct ap_hist *h, u32 column);
void ap_hist_cell(const struct ap_hist *h, const struct ap_hist_entry *e, u32 column, u32 width,
		  char *buf, size_t size);
/* Its length without the blanks behind it. */
size_t ap_hist_trim(const char *cell);
/* A column that is not shown: the filter leaves one of it. */
bool ap_hist_left_out(const struct ap_hist *h, u32 column);
/* What a column of weights counts: the period where it is another one. */
u64 ap_hist_weight(const struct ap_hist_entry *e, enum ap_hist_key key);
/* What a column of percent shows; less than 0: it is another one. */
double ap_hist_share(const struct ap_hist *h, const struct ap_hist_entry *e, u32 column);
/* Whether entries are told apart by this. */
bool ap_hist_has(const struct ap_hist *h, enum ap_hist_key key);
/*
 * buf, with the function's name or the address; with the weight of a branch as options want it
 * shown
 */
const char *ap_frame_name(const struct ap_frame *f, char *buf, size_t size);
const char *ap_chain_value(const struct ap_hist *h, const struct ap_chain_node *n, u64 total,
			   char *buf, size_t size);

/* --- the way of a file's samples into tables: fold.c */
struct ap_fold;
struct ap_fold *ap_fold_new(struct ap_profile_session *s, const struct ap_hist_opts *opts);
void ap_fold_free(struct ap_fold *f);
/* false: the record is damaged */
bool ap_fold_sample(struct ap_fold *f, const struct ap_data_rec *rec);
/*
 * Each distinct sample goes to the function in place of a table, and to notes; either may be NULL.
 */
struct ap_annotate;
typedef void ap_fold_fn(void *arg, u32 event, const struct ap_hist_sample *s);
void ap_fold_into(struct ap_fold *f, ap_fold_fn *fn, void *arg);
void ap_fold_annotate(struct ap_fold *f, struct ap_annotate *notes);
/* All samples have been told, for now: what groups are made of is there. */
void ap_fold_end(struct ap_fold *f);
/* n events from the leader's on are one table. */
void ap_fold_join(struct ap_fold *f, u32 leader, u32 n);
/* Puts tables in order. */
void ap_fold_finish(struct ap_fold *f);
/* The table of an event, or NULL where it had no sample. */
struct ap_hist *ap_fold_hist(const struct ap_fold *f, u32 event);

/* The frames of a sample's callchain, innermost first, expanded functions too; at most max. */
u32 ap_session_frames(struct ap_profile_session *s, struct ap_profile_thread *t, const u8 *chain,
		      u64 n, bool inlines, struct ap_frame *out, u32 max);

#endif
