/* SPDX-License-Identifier: MIT */
/*
 * One measurement: rows, what was read for them, and how it is shown.  Counting is stat_count.c's;
 * everything declared here is a pure function of its arguments, so that tests reach it without
 * counting anything.
 */
#ifndef AP_CLI_STAT_H
#define AP_CLI_STAT_H

#include <stdio.h>

#include "base/types.h"
#include "cli/evlist.h"
#include "linux/run/run.h"

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
	AP_STAT_NOT_COUNTED, /* could have been, was not: it never ran while it was enabled */
	AP_STAT_NOT_SUPPORTED
};

/* Rows are of everything that is counted, or of one CPU, thread, or part of the machine each. */
enum ap_stat_split {
	AP_STAT_ALL,
	AP_STAT_CPUS,
	AP_STAT_THREADS,
	AP_STAT_CORES, /* here the parts begin */
	AP_STAT_DIES,
	AP_STAT_SOCKETS,
	AP_STAT_NODES
};

struct ap_stat_place {
	s32 cpu;
	char thread[32]; /* "comm-tid" */
	char part[40];	 /* "S0-D0-C1" */
	u32 ncpus;	 /* of that part */
};

/* What was read for a row in a run, or in an interval of it. */
struct ap_stat_reading {
	u64 count, enabled, running; /* as read(2) gives them: not scaled */
	enum ap_source source;	     /* of a software event; NONE: nothing could be opened */
	const char *why;	     /* that, in words; NULL: the kernel lets nobody */
	bool is_open;
};

struct ap_stat_row {
	const struct ap_evsel *sel; /* borrowed */
	const struct ap_stat_place *place;
	struct ap_agg agg; /* scaled by enabled / running */
	struct ap_agg enabled, running;
	enum ap_source source;
	bool is_open;	   /* in the last run */
	const char *why;   /* it is not */
	bool is_scaled;	   /* something in agg is an estimate */
	bool is_estimated; /* so are modelled counts: --model-sample */
	double error;	   /* of that, in per cent; below 0: not known */
};

struct ap_stat_note {
	char *text;
	unsigned int times;
};

struct ap_stat {
	char *title;	   /* "'prog -x'", "process id '17'" */
	bool of_intervals; /* each is shown on its own */
	bool has_times;	   /* user and system time are those of what is counted */
	bool is_unscaled;  /* --no-scale: numbers as they were read */
	bool has_engine; /* the engine runs the program: the kernel's times are the engine's, too */
	bool has_table;	 /* --table: the time of each run */
	u64 *run_ns;	 /* these times, of all runs */
	unsigned int runs;
	enum ap_stat_split split;
	struct ap_stat_place *place;
	size_t nplaces;
	struct ap_stat_row *row; /* all places of the first event, then the next one's */
	size_t nrows;
	bool has_cgroups;		       /* some of the events have one */
	const struct ap_stat_metrics *metrics; /* stat_metrics.h; NULL: none */
	struct ap_stat_regions *regions;       /* stat_regions.h; NULL: not asked for */
	struct ap_agg wall, user, sys;	       /* ns */
	struct ap_stat_note *note;
	size_t nnotes;
	unsigned int tasks_running; /* after the last run */
	unsigned int tasks_short;
	u64 short_by;	   /* at most so many instructions are missing */
	bool is_estimated; /* the models saw one part in model_sample of the run */
	bool is_of_part;   /* counts may be of a part of it: errors are of all of it */
	u32 model_sample;
};

/* For the title: "'" argv "'". */
char *ap_stat_command_title(char *const *argv);
/* places NULL: one row per event.  Takes title over. */
void ap_stat_init(struct ap_stat *st, const struct ap_evlist *list, char *title);
void ap_stat_set_places(struct ap_stat *st, const struct ap_evlist *list, enum ap_stat_split split,
			const struct ap_stat_place *places, size_t n);

struct ap_stat_times {
	u64 wall_ns, user_ns, sys_ns;
	bool has_user_sys;
};
/* One run, or one interval: as many readings as there are rows. */
void ap_stat_add(struct ap_stat *st, const struct ap_stat_reading *readings,
		 const struct ap_stat_times *times);
/* Forgets all runs, for the next interval. */
void ap_stat_restart(struct ap_stat *st);
/* Modelled counts are of one part in so many. */
void ap_stat_set_estimated(struct ap_stat *st, u32 part);
/* What a run has to say beside its counts. */
void ap_stat_add_result(struct ap_stat *st, const struct ap_run_result *res);
/* A line to stand after the table; equal lines are printed once with their number. */
void ap_stat_add_note(struct ap_stat *st, const char *text);
void ap_stat_fini(struct ap_stat *st);

/* The name of the row's cgroup, "" where others have one; NULL: none of them has. */
const char *ap_stat_row_cgroup(const struct ap_stat *st, const struct ap_stat_row *row);
enum ap_stat_state ap_stat_row_state(const struct ap_stat_row *row);
/* Why a row is not supported or not counted; NULL for counted rows. */
const char *ap_stat_row_why(const struct ap_stat_row *row);
/* What the number is: exact, modelled, estimated, kernel, rusage, proc, scaled. */
const char *ap_stat_kind_name(enum ap_event_kind kind, bool is_estimated);
const char *ap_stat_row_tag(const struct ap_stat_row *row);
/*
 * How far an estimate may be off, in per cent of it, 95 times of 100; below 0: it is none, or
 * nobody knows.
 */
double ap_stat_row_error(const struct ap_stat *st, const struct ap_stat_row *row);
/* How much of the time the event counted, in percent. */
double ap_stat_row_ran(const struct ap_stat_row *row);

/* perf's comment on a row: a number and what it is; what is empty where perf has none. */
enum ap_stat_metric_style { AP_METRIC_RATE, AP_METRIC_RATIO, AP_METRIC_PERCENT };

struct ap_stat_metric {
	enum ap_stat_metric_style style;
	double value;
	char what[32];
};

/*
 * The same as one of a column: what it is depends on what was asked for alone, not on what was
 * counted, so that one heading holds for all places and intervals.  Rates are in events per second.
 */
struct ap_stat_column {
	enum ap_stat_metric_style style;
	const char *what;
	double value;
	bool is_there;
	bool of_model;	   /* the row's count is exact, and this is not */
	bool is_remainder; /* it is not: an interval's model was read late */
};

/* stat_comment.c */
/*
 * In an interval an exact count says nothing beside a modelled one where what the models have not
 * read yet, of this one and of the one before, may be a large part of it (docs/design/metrics.md).
 * row: any of the place.
 */
bool ap_stat_is_short(const struct ap_stat *st, const struct ap_stat_row *row);
/* False: there is never a comment on such a row. */
bool ap_stat_row_column(const struct ap_stat *st, const struct ap_stat_row *row,
			struct ap_stat_column *c);
struct ap_stat_metric ap_stat_row_metric(const struct ap_stat *st, const struct ap_stat_row *row);
/* The rows of one event in the order of printing: threads by their counts, as perf has them. */
void ap_stat_order(const struct ap_stat *st, size_t first, const struct ap_stat_row **out);

enum ap_stat_style { AP_STAT_TABLE, AP_STAT_CSV, AP_STAT_JSON };

struct ap_stat_format {
	enum ap_stat_style style;
	const char *separator; /* of CSV */
	bool verbose;	       /* say why events are not supported */
	bool is_summary;       /* of intervals: lines of CSV say so */
};

/* Prints the table or the lines, then the notes. */
void ap_stat_print(const struct ap_stat *st, const struct ap_stat_format *fmt, FILE *out);
/* From here on numbers are grouped as the caller's locale does. */
void ap_stat_group_digits(void);
/* -I: the rows of an interval that ended at ns; the nth of them, from 0. */
void ap_stat_print_interval(const struct ap_stat *st, const struct ap_stat_format *fmt, u64 ns,
			    unsigned int nth, FILE *out);
void ap_stat_print_notes(const struct ap_stat *st, const struct ap_stat_format *fmt, FILE *out);

/* stat_place.c */
bool ap_stat_is_of_parts(enum ap_stat_split split);
/* The number of the part of a machine that a CPU is in, of one of these kinds; -1: unknown. */
struct ap_stat_machine {
	s32 (*part)(const void *arg, s32 cpu, enum ap_stat_split kind);
	const void *arg;
};

/*
 * The parts of the machine (NULL: this one) that these n CPUs are in, sorted; of[i]: the place of
 * cpus[i].  Both arrays have room for n.  Returns how many there are.
 */
u32 ap_stat_parts(const struct ap_stat_machine *machine, enum ap_stat_split split, const s32 *cpus,
		  u32 n, struct ap_stat_place *places, u32 *of);
/* How wide a place is in a table. */
int ap_stat_place_width(const struct ap_stat *st);
/* The parts of a report.  time: what stands before a row of -I, "" else. */
void ap_stat_print_place(const struct ap_stat *st, const struct ap_stat_place *place, FILE *out);
void ap_stat_print_csv_place(const struct ap_stat *st, const struct ap_stat_place *place,
			     const char *sep, FILE *out);
void ap_stat_print_json_place(const struct ap_stat *st, const struct ap_stat_place *place,
			      FILE *out);
void ap_stat_print_table(const struct ap_stat *st, FILE *out);
void ap_stat_print_table_rows(const struct ap_stat *st, const char *time, FILE *out);
void ap_stat_print_table_head(const struct ap_stat *st, FILE *out);
void ap_stat_print_csv(const struct ap_stat *st, const char *separator, const char *time,
		       FILE *out);
void ap_stat_print_json(const struct ap_stat *st, const char *time, FILE *out);
void ap_stat_print_json_string(const char *s, FILE *out);
void ap_stat_print_json_note(const char *text, FILE *out);

#endif
