/* SPDX-License-Identifier: MIT */
/*
 * The samples of a file as trees of calls, one per event: what every exported format is written
 * from. A way from the root to a node is a stack, whose frames are functions (or places in them); a
 * node's own weight is that of the samples which ended there.
 */
#ifndef AP_PROFILE_STACKS_H
#define AP_PROFILE_STACKS_H

#include "profile/symbols/session.h"

#define AP_STACKS_ROOT 0 /* node 0 of each tree: no frame, no weight */

struct ap_stack_func {
	const char *name;   /* demangled; "[file]" or "[unknown]" where nothing knows one */
	struct ap_dso *dso; /* NULL: unknown */
	const char *file;   /* of the source, or NULL */
	bool is_kernel;
};

struct ap_stack_frame {
	u32 func;
	u32 line;  /* 0: unknown */
	u32 depth; /* of expansion: 0 is the function that stands there */
	u64 addr;  /* in the file's own terms, or the address itself where there is no file */
	u64 ip;	   /* as it was sampled */
};

struct ap_stack_node {
	u32 parent;
	u32 frame;		       /* of a thread's node: its index in thread */
	u64 period, count;	       /* of samples that end here */
	u64 period_below, count_below; /* with all that they called: after ap_stacks_finish */
};

/* The nodes under the root are threads. */
struct ap_stack_thread {
	u32 pid, tid;
	const char *comm;
};

struct ap_stack_event {
	const struct ap_data_event *event;
	struct ap_stack_node *node; /* parents before children */
	u32 nnodes;
	u64 period, count;
	u64 first_time, last_time;
};

struct ap_stacks_options {
	bool by_place; /* frames are places with lines, else functions */
	bool inlines;  /* functions that were expanded are frames too */
	bool no_demangle;
	bool force; /* as of struct ap_symbols */
	void (*complain)(const char *path, int error);
};

struct ap_stacks {
	struct ap_profile_session session;
	struct ap_stack_func *func;
	u32 nfuncs;
	struct ap_stack_frame *frame;
	u32 nframes;
	struct ap_stack_thread *thread;
	u32 nthreads;
	struct ap_stack_event *event;
	u32 nevents;
	u64 damaged; /* samples that could not be read */
	struct ap_stacks_private *private;
};

/* Reads all of the file; what is wrong with its end ap_data_damage tells. */
AP_MUST_CHECK int ap_stacks_read(struct ap_stacks *stacks, struct ap_data *data,
				 const struct ap_stacks_options *options);
void ap_stacks_fini(struct ap_stacks *stacks);

/* The node right under the root that leads to it. */
u32 ap_stacks_thread(const struct ap_stack_event *event, u32 node);
static inline bool ap_stacks_is_thread(const struct ap_stack_event *event, u32 node)
{
	return node != AP_STACKS_ROOT && event->node[node].parent == AP_STACKS_ROOT;
}

#endif
