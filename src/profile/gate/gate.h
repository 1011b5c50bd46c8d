/* SPDX-License-Identifier: MIT */
/*
 * What `anyperf gate` decides by: counts with what they are counts of, limits on their change, the
 * file that keeps the counts of a run that was good, and the verdict in four forms.  No counting
 * here: all of it is text and numbers, so that tests reach it without running anything
 * (docs/design/gate.md).
 */
#ifndef AP_PROFILE_GATE_H
#define AP_PROFILE_GATE_H

#include <stddef.h>
#include <stdio.h>

#include "base/types.h"

#define AP_GATE_WHY 400 /* bytes of a line that says what is wrong */

struct ap_gate_event {
	char *name;	  /* as it was asked for */
	char *kind;	  /* exact, modelled, kernel, ... */
	u64 count;	  /* of several runs their mean, rounded */
	double deviation; /* of that mean, in percent; 0: all runs gave the same */
};

/* Instructions of a function, to a period. */
struct ap_gate_function {
	char *name, *file;
	u64 count;
};

/* One measurement: the baseline is one, and what is held against it is another. */
struct ap_gate_counts {
	char *version;		       /* of the tool */
	char *command;		       /* with its arguments */
	char *machine;		       /* that modelled events are of, as --machine takes it */
	char *machine_id;	       /* of its parameters */
	char *cpu;		       /* that it ran on */
	bool deterministic, fixed_tsc; /* --deterministic, --deterministic=time */
	u32 runs;
	struct ap_gate_event *event;
	size_t nevents;
	char **note; /* what was not counted */
	size_t nnotes;
	u64 period; /* of the samples that functions are known by; 0: they are not */
	struct ap_gate_function *function;
	size_t nfunctions;
};

/* -ENOMEM, or 0. */
AP_MUST_CHECK int ap_gate_add_event(struct ap_gate_counts *g, const struct ap_gate_event *event);
AP_MUST_CHECK int ap_gate_add_note(struct ap_gate_counts *g, const char *text);
/* To what there is of that name in that file. */
AP_MUST_CHECK int ap_gate_add_function(struct ap_gate_counts *g, const struct ap_gate_function *f);
const struct ap_gate_event *ap_gate_find(const struct ap_gate_counts *g, const char *name);
bool ap_gate_has_modelled(const struct ap_gate_counts *g);
void ap_gate_counts_fini(struct ap_gate_counts *g);

/* --- limits (gate_limit.c) */

enum ap_gate_how {
	AP_GATE_SAME,	 /* =0 */
	AP_GATE_PERCENT, /* =+0.5% */
	AP_GATE_EVENTS	 /* =+1000 */
};

#define AP_GATE_MICRO 1000000 /* parts of a percent that limits are kept in */

struct ap_gate_limit {
	char *event;
	char *text; /* what was typed behind = */
	enum ap_gate_how how;
	s64 value; /* micropercent, or events; below 0 it must improve by so much */
};

struct ap_gate_limits {
	struct ap_gate_limit *limit;
	size_t n;
};

/* Appends "event=limit,..."; -EINVAL with a line in why. */
AP_MUST_CHECK int ap_gate_limits_add(struct ap_gate_limits *limits, const char *spec, char *why);
void ap_gate_limits_fini(struct ap_gate_limits *limits);
bool ap_gate_is_within(const struct ap_gate_limit *limit, u64 before, u64 now);

/* --- the verdict (gate_compare.c) */

enum ap_gate_verdict { AP_GATE_FREE, AP_GATE_WITHIN, AP_GATE_IMPROVED, AP_GATE_EXCEEDED };

struct ap_gate_row {
	const struct ap_gate_event *before, *now;
	const struct ap_gate_limit *limit; /* NULL: none */
	enum ap_gate_verdict verdict;
};

struct ap_gate_change {
	const char *name, *file; /* of a function */
	u64 before, now;
	u64 error; /* of their difference: three standard deviations of so many samples */
};

struct ap_gate_result {
	const struct ap_gate_counts *before, *now; /* borrowed, as the limits are */
	struct ap_gate_row *row;
	size_t nrows;
	size_t limits, exceeded, improved;
	bool has_functions;
	struct ap_gate_change *change; /* the largest first */
	size_t nchanges;
};

/*
 * Whether each limit has its event in the baseline: -EINVAL with a line in why.  Before anything is
 * run.
 */
AP_MUST_CHECK int ap_gate_check(const struct ap_gate_counts *before,
				const struct ap_gate_limits *limits, char *why);
/*
 * -EINVAL with a line in why where the two cannot be compared: other kinds, another machine, parts
 * not counted.
 */
AP_MUST_CHECK int ap_gate_compare(struct ap_gate_result *result,
				  const struct ap_gate_counts *before,
				  const struct ap_gate_counts *now,
				  const struct ap_gate_limits *limits, char *why);
/*
 * Of the functions at most so many, those that changed most, and by more than samples differ by
 * chance:  gate_functions.c.  -ENOMEM, or 0.
 */
AP_MUST_CHECK int ap_gate_compare_functions(struct ap_gate_result *result, size_t most);
void ap_gate_result_fini(struct ap_gate_result *result);

/* --- files (gate_file.c) */

/* -errno with a line in why. */
AP_MUST_CHECK int ap_gate_read(struct ap_gate_counts *g, const char *path, char *why);
AP_MUST_CHECK int ap_gate_write(const struct ap_gate_counts *g, FILE *out);
AP_MUST_CHECK int ap_gate_write_json(const struct ap_gate_result *result, FILE *out);
/* The verdict of a gate that ends with this exit status before it has decided. */
AP_MUST_CHECK int ap_gate_write_undecided(int status, FILE *out);

/* --- for people (gate_print.c) */

void ap_gate_print(const struct ap_gate_result *result, FILE *out);
void ap_gate_print_markdown(const struct ap_gate_result *result, FILE *out);
/* What was recorded. */
void ap_gate_print_counts(const struct ap_gate_counts *g, const char *path, FILE *out);
const char *ap_gate_verdict_name(enum ap_gate_verdict verdict);
/* The change in percent, or false where before is 0. */
bool ap_gate_percent(const struct ap_gate_row *row, double *percent);

/* The nth thing to know beside the table, from 0; false after the last. */
bool ap_gate_remark(const struct ap_gate_result *result, size_t nth, char *text, size_t size);

#endif
