/* SPDX-License-Identifier: MIT */
/*
 * How often each instruction of a function was sampled, and the function's text with that beside
 * it.
 */
#ifndef AP_PROFILE_ANNOTATE_H
#define AP_PROFILE_ANNOTATE_H

#include <stdio.h>

#include "profile/hist/filter.h"
#include "profile/symbols/session.h"

/* A function that is larger is a mistake of its symbol table. */
#define AP_MAX_FUNCTION (64ULL * 1024 * 1024)

/* Samples of one function, of one event. */
struct ap_notes {
	struct ap_dso *dso;
	const struct ap_symbol *sym;
	u32 event;
	u64 period, count;
	u64 all_period, all_count; /* of the event, once finished */
	u64 *by_byte;		   /* periods, one per byte of the function */
	u64 *n_by_byte;		   /* samples */
};

struct ap_annotate;

struct ap_annotate *ap_annotate_new(struct ap_profile_session *s);
void ap_annotate_free(struct ap_annotate *a);
/* Of samples by the next function only those that the filter takes; it stays the caller's. */
void ap_annotate_filter(struct ap_annotate *a, const struct ap_sample_filter *filter);
/* false: the sample is damaged */
bool ap_annotate_sample(struct ap_annotate *a, const struct ap_data_rec *rec);
/* Of a sample that was resolved elsewhere; count of the same kind. */
void ap_annotate_add(struct ap_annotate *a, u32 event, const struct ap_place *p, u64 period,
		     u64 count);
/* NULL: no sample was in it. */
const struct ap_notes *ap_annotate_find(const struct ap_annotate *a, u32 event,
					const struct ap_symbol *sym);
/* What there is weighs 7/8 from now on, or nothing. */
void ap_annotate_age(struct ap_annotate *a, bool all);
/* All functions, the heaviest of each event first. */
u32 ap_annotate_finish(struct ap_annotate *a);
const struct ap_notes *ap_annotate_get(const struct ap_annotate *a, u32 i);

struct ap_annotate_opts {
	bool samples; /* show how many instead of percent */
	bool full_paths;
	bool no_source;
	bool quiet;
	bool periods;	      /* show sums of periods instead of percent */
	bool hits, global;    /* percent of samples, of the whole event */
	bool lines;	      /* what source lines weigh, before the function */
	double percent_limit; /* leave out functions that weigh less of their event */
};

struct ap_disasm;
/* false: the function's code is not to be had. */
bool ap_annotate_print(const struct ap_notes *n, const char *event, struct ap_disasm *d,
		       const struct ap_annotate_opts *opts, FILE *out);

#endif
