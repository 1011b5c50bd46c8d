/* SPDX-License-Identifier: MIT */
/*
 * One recording: what was asked for, the events and their rings, and the file.  Each part has a file:
 * record_opts.c the words of options, record_filter.c filters of tracepoints, record_prepare.c what is decided before the start, record_attr.c
 * what it means for an event, record_events.c opens, record_rings.c reads rings, record_file.c writes,
 * record_dsos.c and record_tasks.c collect names and processes; cmd_record.c puts them together.
 */
#ifndef AP_CLI_RECORD_H
#define AP_CLI_RECORD_H

#include "base/table.h"
#include "base/types.h"
#include "cli/control.h"
#include "cli/evlist.h"
#include "cli/targets.h"
#include "linux/client/client.h"
#include "linux/run/run.h"
#include "profile/data/record_buf.h"
#include "profile/data/write.h"
#include "profile/symbols/running.h"

/* All general registers but the segments', which perf leaves out too. */
#define RECORD_ALL_REGS 0xff0fffULL

struct record_opts {
	struct ap_run_options run; /* first: cli/engine_opts.h */
	struct ap_evlist events;
	u64 count; /* -c; 0: a frequency */
	u64 freq;
	bool is_freq_max;
	enum ap_evchain chain;
	u32 stack_size;
	u64 branches; /* branch_sample_type; 0: none */
	u64 sample;   /* further AP_PERF_SAMPLE_* */
	u64 tracking; /* further AP_PERF_* of the one that carries side-band records */
	bool data, raw, per_thread_counts, timestamps;
	bool user_only, kernel_only;
	bool has_clock;
	s32 clock;
	const char *cpus, *cgroups;
	bool system_wide;
	s64 delay_ms; /* -1: begin disabled and stay so */
	const char *output;
	u64 pages; /* of a ring; 0: as perf */
	bool no_inherit;
	unsigned int level;
	const char *control;
	u64 max_size;
	bool no_build_ids, mmap_build_ids;
	/* --switch-output */
	bool do_switch, switch_on_signal;
	u64 switch_size, switch_ns;
	unsigned int switch_files;
	bool quiet, verbose;
	unsigned int tick_ms; /* rings are read so often; 0: each second */
	/* further AP_PERF_SAMPLE_* and side-band records by their names */
	bool with_period, with_cpu, with_identifier, with_weight, with_phys, with_data_page;
	bool with_code_page, with_transaction, with_switches, with_namespaces, with_cgroups;
	bool no_samples, overwrite, no_buffering, strict_freq, grouped;
	bool user_chains, kernel_chains;	/* only these */
	bool no_tasks, no_mappings, no_cgroups; /* of what runs already: --synth */
	unsigned int priority;			/* 0: as everybody */
	bool no_cache, dry_run, dated;
	bool ignored; /* what is done, or cannot be noticed, in any case */
	u64 intr_regs, user_regs;
	size_t newest; /* the first event of the last -e */
	char **argv;   /* our own command line, for the file */
	struct ap_targets targets;
};

/* --- an event as it is opened */

/* CPUs to open on; -1 alone: wherever the task is. */
struct record_cpus {
	s32 *cpu;
	u32 n;
};

struct record_event {
	struct ap_perf_attr attr;
	char *name;
	size_t leader;
	enum ap_client_place place;
	struct ap_evterms terms; /* what it says itself, before all options */
	bool has_modifier;	 /* u or k were given: do not fall back */
	bool is_tracking;	 /* side-band records only: is not disabled with the others */
	const struct record_cpus *cpus;
	const struct ap_evcgroup *cgroup; /* of its tasks alone, or NULL */
	struct ap_client_event **fd;	  /* [cpu * ntasks + task]; nfds of them */
	size_t nfds;
	u64 *ids;
	size_t nids;
	struct ap_raw_filter *filter; /* NULL: all its samples are wanted */
};

struct record_ring {
	struct ap_client_event *event;
	struct ap_client_map map;
	bool is_in_kernel;
	bool is_backward; /* --overwrite: nobody reads it before it is dumped */
	u64 dumped;	  /* down to this head */
	s32 cpu;
	size_t task; /* where cpu is -1 */
};

/* Names of files whose code was mapped. */
struct record_dsos {
	struct ap_table known; /* by hash */
	bool has_kernel;
};

struct record_tasks {
	pid_t *pid;
	size_t n;
};

struct record {
	struct record_opts *opts;
	struct ap_event_client *client;
	struct record_event *event;
	size_t nevents;
	struct record_cpus each, any;
	pid_t *task; /* -1 alone: all of them */
	size_t ntasks;
	struct record_ring *ring;
	size_t nrings;
	int error; /* of the file: nothing is written any more */
	bool was_told, is_full, has_filters;
	u64 enable_at, switch_at; /* ns; 0: not planned */
	struct ap_control control;
	int signal_fd; /* a byte each SIGUSR2; -1: none */

	/* the file */
	struct ap_writer *writer;
	struct ap_write_event *described;
	struct ap_tracing_event *tracing; /* of the tracepoints among them */
	size_t ntracing;
	struct ap_buf scratch;
	const char *path; /* of a file, else NULL: into stream */
	int stream;
	struct record_dsos dsos;
	u64 samples, lost, written;
	struct record_tasks tasks; /* processes that live: for the next file */
	bool is_next;		   /* not the first file */
	char **old;		   /* files of before, oldest first */
	size_t nold;
	u64 first_time, last_time;
	bool has_round; /* there are records behind the last FINISHED_ROUND, written at: */
	u64 round_at;

	/* of an exact profile: instructions that samples tell of, all that were counted, and what is missing */
	u64 profiled, total;
	struct ap_profile_lost profile_lost;
};

/* --- cmd_record.c */

/* Records as the options say; an exit status. */
int record_run(struct record_opts *o);

/* --- cmd_record.c */

/* Records as the options say.  An exit status. */
AP_MUST_CHECK int record_run(struct record_opts *o);

/* --- record_prepare.c */

/* 0, or an exit status after one line on stderr. */
AP_MUST_CHECK int record_prepare(struct record *r);
/* Before: where the command prints when the profile is a stream to standard output; else to standard error. */
void record_set_command_output(int fd);

/* --- record_attr.c */

/* Its own term, else the option; a number of frames asks for callchains too. */
enum ap_evchain record_chain_of(const struct record *r, const struct record_event *ev);
/* Everything of an attr but the event itself.  tracks: it carries the side-band records. */
void record_attr_fill(const struct record *r, struct record_event *ev, bool tracks);

/* --- record_events.c */

/* 0, or an exit status after one line on stderr. */
AP_MUST_CHECK int record_events_open(struct record *r);
/* Those of that name; NULL: all. */
int record_events_enable(struct record *r, const char *name, bool on);
/* Their names, a line each. */
void record_events_list(const struct record *r, FILE *f);
/* The event for side-band records, where it does not begin with the exec. */
int record_events_track(struct record *r);
/* What was lost and no record tells of. */
void record_events_lost(struct record *r);
void record_events_close(struct record *r);

/* --- record_filter.c */

/* 0, or an exit status after one line on stderr. */
AP_MUST_CHECK int record_filters_prepare(struct record *r);
/* Takes the samples away that do not match. */
void record_filters_apply(const struct record *r, struct ap_buf *records);
void record_filters_end(struct record *r);
/* Of an event that has just been opened: 0 or -errno. */
AP_MUST_CHECK int record_filter_set(const struct record *r, const struct record_event *ev,
				    struct ap_client_event *event);

/* --- record_rings.c */

/* Hands what is in all rings to the file.  Errors are in r->error. */
void record_rings_read(struct record *r);
/* The same, and what is left in those that are overwritten. */
void record_rings_dump(struct record *r);
/* What is told of records at the end. */
void record_account(struct record *r, const char *records, size_t size);

/* --- record_dsos.c */

void record_dsos_note(struct record_dsos *dsos, const char *record);
AP_MUST_CHECK int record_dsos_write(const struct record_dsos *dsos, struct ap_writer *writer);
void record_dsos_fini(struct record_dsos *dsos);

/* --- record_tasks.c */

void record_tasks_add(struct record_tasks *tasks, pid_t pid);
void record_tasks_note(struct record_tasks *tasks, const char *record);

/* --- record_file.c */

AP_MUST_CHECK int record_file_begin(struct record *r);
/* Records as the kernel wrote them, whole. */
void record_file_put(struct record *r, const char *records, size_t size);
/* The next file, and this one under a name that has the time.  Errors are in r->error. */
void record_file_switch(struct record *r);
/* -errno, after a line on stderr. */
AP_MUST_CHECK int record_file_end(struct record *r);
void record_file_fini(struct record *r);

#endif
