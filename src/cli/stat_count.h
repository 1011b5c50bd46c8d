/* SPDX-License-Identifier: MIT */
/*
 * The counting of `anyperf stat`: which events are opened on what, when they are enabled, and what
 * was read of them.  A client of linux/client/client.h; what the numbers look like is stat.h's.
 */
#ifndef AP_CLI_STAT_COUNT_H
#define AP_CLI_STAT_COUNT_H

#include "cli/control.h"
#include "cli/stat.h"
#include "cli/stat_threads.h"
#include "linux/client/client.h"

struct ap_stat_count_options {
	const struct ap_evlist *events;
	enum ap_stat_split split;
	bool is_of_cpus; /* -a, -C: per CPU of all that the command makes */
	const s32 *cpus; /* -C; NULL: all */
	u32 ncpus;
	bool no_inherit;
	s64 delay_ms; /* -D: enabled so long after the beginning; -1: by --control only */
	u32 interval_ms, interval_count;
	bool has_summary; /* of intervals: all of them are in st at the end */
	bool is_quiet;
};

/* One event that was opened. */
struct ap_stat_counter {
	struct ap_client_event *event;
	size_t sel, row;
	bool leads;	  /* of its group, or alone: what is enabled and disabled */
	bool is_of_place; /* counts where the command is on one CPU */
	bool on_exec;	  /* the exec of the command enables it */
	s32 cpu;	  /* -1: any */
	u32 task;	  /* the nth that is counted; 0 of CPUs */
	u64 value[3];	  /* as it was read last: count, enabled, running */
};

struct ap_stat_count {
	const struct ap_stat_count_options *opts;
	const struct ap_run_options *run;
	struct ap_stat *st;
	struct ap_control *control; /* NULL: none */
	/* An interval is in st: to be printed. */
	void (*interval)(struct ap_stat_count *c, u64 ns, unsigned int nth);
	void *arg;

	struct ap_event_client *client;
	struct ap_client_task *tasks; /* what is counted, of the run's beginning */
	u32 ntasks;
	struct ap_stat_counter *counter;
	size_t ncounters;
	struct ap_stat_reading *now, *before; /* of each row */
	u32 *part_of; /* of each CPU that is counted, where rows are of parts of the machine */
	struct ap_stat_threads threads; /* of a command's, which are known at its end */
	bool *from_account;		/* of each event: its number is the kernel's account */
	u64 begin_ns, zero_ns, last_ns, delay_until, interval_at;
	unsigned int nth;
	bool is_over;
	bool is_last;	 /* no interval follows the one that is told of */
	bool is_stopped; /* the command was told to end: --interval-count, --control */
};

/* Fills callbacks for ap_run; c and what it points to must outlive the run. */
void ap_stat_count_init(struct ap_stat_count *c, struct ap_run_client *callbacks);
/* After a run: its row readings, with the account of the run where that is all there is. */
const struct ap_stat_reading *ap_stat_count_readings(struct ap_stat_count *c,
						     const struct ap_run_result *res,
						     struct ap_stat_times *times);
/* Enables or disables all events, or those of that name. */
void ap_stat_count_enable(struct ap_stat_count *c, const char *name, bool on, u64 now_ns);
void ap_stat_count_fini(struct ap_stat_count *c);
/* The CPUs that are counted, with is_of_cpus. */
s32 ap_stat_count_cpu(const struct ap_stat_count *c, u32 i);
u32 ap_stat_count_ncpus(const struct ap_stat_count *c);
/*
 * What was read since the last interval.  A task's time is known later than its counts: what was
 * counted in no time is left to the next interval, as one without time counts nothing, or told at
 * the end.
 */
struct ap_stat_reading ap_stat_interval_part(const struct ap_stat_reading *now,
					     struct ap_stat_reading *before, bool is_last);

/* stat_run.c */
/*
 * Only what the events need: no engine for the kernel's, no counters for system calls.  To wait for
 * descendants one must know them, which takes the engine.
 */
void ap_stat_choose_instruments(struct ap_run_options *run, const struct ap_evlist *events);

struct ap_stat_runs {
	unsigned int repeat;	/* 0: until it is told to end */
	bool until_failure;	/* a run that does not end with 0 is the last */
	bool sync;		/* sync(2) before each */
	const char *pre, *post; /* shell commands around each, NULL: none */
	int status;		/* of the last run, as a shell says it */
	int signal;		/* that ended it, or 0 */
	bool timed_out;		/* by us, after --timeout */
	bool post_failed;	/* of some run: a line was said */
	/*
	 * each run that was not ended from outside, as it ends; false: not one more.  NULL: nothing
	 * is shown
	 */
	bool (*show)(struct ap_stat_count *c);
};

/*
 * Runs the command as often as is asked, and adds each run to c's st.  Returns 0, or an exit status
 * after one line on stderr, as ap_run.
 */
AP_MUST_CHECK int ap_stat_run(struct ap_stat_count *c, struct ap_stat_runs *runs);

#endif
