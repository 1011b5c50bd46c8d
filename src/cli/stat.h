/* SPDX-License-Identifier: MIT */
/*
 * One measurement: events, what the runs gave, and how it is shown.  Running is cmd_stat.c's;
 * everything declared here is a pure function of its arguments, so that tests reach it without
 * counting anything.
 */
#ifndef AP_CLI_STAT_H
#define AP_CLI_STAT_H

#include <stdio.h>

#include "base/types.h"
#include "cli/evlist.h"
#include "linux/run.h"

/* Running mean and deviation (Welford); last keeps a single run's value exact above 2^53. */
struct ap_agg {
	unsigned int n;
	u64 last;
	double mean;
	double m2; /* sum of squared differences from the mean */
};

void ap_agg_add(struct ap_agg *agg, u64 value);
/* Deviation of the mean, as perf prints it; 0 for fewer than two values. */
double ap_agg_stddev(const struct ap_agg *agg);
/* The same in percent of the mean; 0 where the mean is. */
double ap_agg_stddev_pct(const struct ap_agg *agg);

enum ap_stat_state {
	AP_STAT_COUNTED,
	AP_STAT_NOT_COUNTED, /* could have been, was not: nothing ran under the engine */
	AP_STAT_NOT_SUPPORTED
};

struct ap_stat_row {
	const struct ap_evsel *sel; /* borrowed */
	struct ap_agg agg;
	enum ap_source source; /* of a software event */
};

struct ap_stat_note {
	char *text;
	unsigned int times;
};

struct ap_stat {
	char *command; /* for the title */
	unsigned int runs;
	struct ap_stat_row *row;
	size_t nrows;
	struct ap_agg wall, user, sys; /* ns */
	struct ap_agg running;	       /* ns on a CPU: perf's column "run time" */
	struct ap_stat_note *note;
	size_t nnotes;
	unsigned int tasks_running; /* after the last run */
	unsigned int tasks_short;
	u64 short_by; /* at most so many instructions are missing */
};

void ap_stat_init(struct ap_stat *st, const struct ap_evlist *list, char *const *argv);
void ap_stat_add(struct ap_stat *st, const struct ap_run_result *res);
/* A line to stand after the table; equal lines are printed once with their number. */
void ap_stat_add_note(struct ap_stat *st, const char *text);
void ap_stat_fini(struct ap_stat *st);

enum ap_stat_state ap_stat_row_state(const struct ap_stat_row *row);
/* Why a row is not supported or not counted; NULL for counted rows. */
const char *ap_stat_row_why(const struct ap_stat_row *row);

/* perf's comment on a row: a number and what it is; what is empty where perf has none. */
struct ap_stat_metric {
	double value;
	char what[16];
};

struct ap_stat_metric ap_stat_row_metric(const struct ap_stat *st, const struct ap_stat_row *row);

struct ap_stat_format {
	const char *separator; /* NULL: the table; else CSV with this between the fields */
	bool verbose;	       /* say why events are not supported */
};

/* Prints the table or the CSV lines, then the notes. */
void ap_stat_print(const struct ap_stat *st, const struct ap_stat_format *fmt, FILE *out);

/* The parts of it. */
void ap_stat_print_table(const struct ap_stat *st, FILE *out);
void ap_stat_print_csv(const struct ap_stat *st, const char *separator, FILE *out);
void ap_stat_print_notes(const struct ap_stat *st, const char *prefix, bool verbose, FILE *out);

#endif
