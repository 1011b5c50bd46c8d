/* SPDX-License-Identifier: MIT */
/*
 * Profiles for other tools.  docs/design/export.md cites what describes each format.
 */
#ifndef AP_PROFILE_EXPORT_H
#define AP_PROFILE_EXPORT_H

#include <stdio.h>

#include "profile/export/stacks.h"

enum ap_export_weight {
	AP_WEIGHT_PERIOD, /* events: what a sample stands for */
	AP_WEIGHT_SAMPLES
};

struct ap_export {
	const struct ap_stacks *stacks;
	struct ap_data *data;
	enum ap_export_weight weight;
	u32 event; /* the one that is written; formats with many write all of them */
	const char *version;
	const char *title;
	bool as_svg; /* the flame graph as an image, as the name of its file ends */
};

/* One format.  Writers return 0 or -errno; that out cannot be written shows in out. */
struct ap_export_format {
	const char *name;
	const char *file;   /* what its files are called, where -o does not say */
	bool by_place;	    /* it has lines and addresses */
	bool is_for_people; /* no file is needed: it may go to standard output */
	int (*write)(const struct ap_export *x, FILE *out);
	const char *help;
};

const struct ap_export_format *ap_export_find(const char *name);
/* All of them, in the order of help; NULL past the last. */
const struct ap_export_format *ap_export_nth(unsigned int n);

int ap_export_collapsed(const struct ap_export *x, FILE *out);
int ap_export_flamegraph(const struct ap_export *x, FILE *out);
int ap_export_flamegraph_svg(const struct ap_export *x, FILE *out);
int ap_export_speedscope(const struct ap_export *x, FILE *out);
int ap_export_firefox(const struct ap_export *x, FILE *out);
int ap_export_pprof(const struct ap_export *x, FILE *out);
int ap_export_callgrind(const struct ap_export *x, FILE *out);
/* -ENOENT: none of the events has a column there. */
int ap_export_cachegrind(const struct ap_export *x, FILE *out);

/*
 * Room for one more behind n of this size: the array, which may have moved; NULL: no memory, and it
 * stands.
 */
void *ap_export_grow(void *array, size_t n, size_t *room, size_t size);

/*
 * A string of JSON, for whoever includes jansson; and what it makes, which a page may hold.  0 or
 * -errno.
 */
struct json_t *ap_export_json_text(const char *bytes);
int ap_export_json_dump(const struct json_t *root, size_t flags, FILE *out);

static inline u64 ap_export_self(const struct ap_export *x, const struct ap_stack_node *node)
{
	return x->weight == AP_WEIGHT_PERIOD ? node->period : node->count;
}

static inline u64 ap_export_total(const struct ap_export *x, const struct ap_stack_node *node)
{
	return x->weight == AP_WEIGHT_PERIOD ? node->period_below : node->count_below;
}

static inline const struct ap_stack_func *ap_export_func(const struct ap_export *x, u32 frame)
{
	return &x->stacks->func[x->stacks->frame[frame].func];
}

static inline const char *ap_export_comm(const struct ap_export *x, const struct ap_stack_event *ev,
					 u32 node)
{
	return x->stacks->thread[ev->node[node].frame].comm;
}

#endif
