/* SPDX-License-Identifier: MIT */
/* What a run is asked for, and what it gives: a part of the facade linux/run/run.h, which is the one to include. */
#ifndef AP_LINUX_OPTIONS_H
#define AP_LINUX_OPTIONS_H

#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

#include "abi/session.h"
#include "linux/task/sw_event.h"

/* perf_event_open(2) and what is behind it, for the programs of the session. */
struct ap_run_perf {
	bool is_served; /* else such calls are the kernel's */
	bool is_wanted; /* the client has events that need the session's core */
	bool user_only; /* accept events without exclude_kernel */
	bool is_paranoid_given;
	s32 paranoid;		 /* perf_event_paranoid, -1..3 */
	u32 counters;		 /* of the cpu PMU per task; 0 unlimited */
	const char *perfctr_cpu; /* that perfctr's programs find; NULL: k8 */
	u32 max_sample_rate;	 /* of fixed periods as well; 0: Linux' number, of frequencies */
};

/* A running process, all its threads; or, with pid 0, one thread of any. */
struct ap_run_target {
	pid_t pid, tid;
};

struct ap_run_client; /* linux/client/client.h */

#define AP_MODEL_SAMPLE_MAX 1000U
#define AP_MODEL_SAMPLE                                                                            \
	24U /* unless all is to be modelled: what a program costs stays some few times its native time */

struct ap_machine;

struct ap_run_options {
	char *const *argv;		    /* command and arguments, NULL terminated */
	const struct ap_run_client *client; /* opens events; NULL: nobody does */
	bool count;	 /* instrument; false is translation only (no counted event asked) */
	u64 kinds;	 /* AP_KIND_BIT: with count, beside those that are counted always */
	bool no_engine;	 /* run natively: nothing needs the engine (kernel events only) */
	bool no_inherit; /* -i */
	bool deterministic;
	bool fixed_tsc;	   /* with it: rdtsc tells instructions */
	bool model_thread; /* threads have helpers that read the models' logs */
	bool shares_code;  /* processes of a party have a store of translated code */
	bool profiles; /* with count: exact profiles, which ap_client_profile() reads at the end */
	u32 model_sample; /* to AP_MODEL_SAMPLE_MAX: the models see one of so many parts; 0 is all of it */
	bool wait_all;
	struct ap_run_perf perf;
	const struct ap_run_target *targets; /* running processes to bring in; argv may be NULL */
	u32 ntargets;
	bool is_beside; /* with them: the command is not counted, its end is that of the run */
	bool client_requests; /* valgrind's are answered */
	u32 nregion_events;   /* with them: regions are counted, by so many of the next */
	u64 region_kinds[AP_REGION_EVENTS];
	const struct ap_machine *machine; /* of the models; NULL: ap_machine_default() */
	u64 cache_limit;		  /* bytes; 0 is the default of 64 MiB */
	struct ap_switches switches;	  /* of a build for tests */
	const char *const
		*env; /* NAME=VALUE, beside and before what is in ours: the command's alone */
	size_t nenv;
	unsigned int
		timeout_ms; /* 0 none; then SIGTERM to the command, and results as they stand */
	FILE *err;	    /* where one-line complaints go (stderr) */
	/* a signal that told the caller to end, to be as one that comes in the run; may be NULL */
	const volatile sig_atomic_t *told;
};

/*
 * Has the models be of a machine: one that is built in, "host", or a file (docs/machines.md).  0, or -EINVAL with a
 * line in why.  It holds until the next call.
 */
AP_MUST_CHECK int ap_run_machine(struct ap_run_options *opts, const char *name, char *why,
				 size_t size);

/*
 * Has raw codes, and for programs that are served CPUID, /proc/cpuinfo and sysfs, be of a CPU: one of a list, or as perf
 * writes it (GenuineIntel-6-55-4).  0, or -EINVAL with a line in why.  Goes before events are named.
 */
AP_MUST_CHECK int ap_run_cpu_id(const char *name, char *why, size_t size);
/* Does the installed libpfm4 have no table of the CPU that programs will see?  Then text says so, and what to do. */
bool ap_cpu_is_unknown_to_pfm(char *text, size_t size);

/* The CPU that perfctr's programs find.  0, or -EINVAL with a line in why. */
AP_MUST_CHECK int ap_run_perfctr_cpu(struct ap_run_perf *perf, const char *name, char *why,
				     size_t size);

/*
 * The name of the machine that the models are of with these options, and a number that is another one where
 * anything in its description is: counts of equal numbers compare.
 */
u64 ap_run_machine_id(const struct ap_run_options *opts, char *name, size_t size);

/* That machine as lines of a file (docs/machines.md): the n-th, without "\n"; false behind the last. */
bool ap_run_machine_line(const struct ap_run_options *opts, unsigned int n, char *text,
			 size_t size);
/* A number of that machine by its key in a file (docs/machines.md); -ENOENT: it has none of that name. */
AP_MUST_CHECK int ap_run_machine_number(const struct ap_run_options *opts, const char *key,
					double *v);

struct ap_note_line {
	u32 pid;
	u32 kind; /* enum ap_note_kind */
	char text[240];
};

/*
 * In counts, by kind: how far estimates may be off, and the part of them that windows stand for (docs/design/feed.md, "Errors").  once: of all
 * else, which was counted as it was, what may have happened a second time where nobody looked.
 */
struct ap_estimate_errors {
	double kind[AP_KIND_N], part[AP_KIND_N];
	double once;
	u32 slots; /* that a cycle of the machine has */
};

/* Of one name; least: of calls that were ended and not within another of theirs, if there are any. */
struct ap_region_line {
	char name[AP_REGION_NAME];
	u64 begun, ended, within, unbegun;
	u64 sum[AP_REGION_EVENTS], least[AP_REGION_EVENTS];
};

struct ap_region_lines {
	struct ap_region_line *line; /* by their names */
	u32 n;
	u64 too_many, too_deep, unreadable;
};

struct ap_run_result {
	int wait_status;   /* of the command, as waitpid gives it */
	bool is_given_up;  /* the command runs on; wait_status says 125 */
	int end_sig;	   /* of somebody else than the keyboard, told us to end; 0 none */
	bool is_timed_out; /* timeout_ms passed: it was told to end */
	struct ap_run_account account; /* of a command that was counted */
	u64 wall_ns;
	unsigned int tasks_running; /* living descendants when the command ended */
	unsigned int tasks_short;   /* tasks that were killed inside translated code */
	unsigned int max_short;	    /* at most so many instructions each are missing */
	unsigned int
		model_sample; /* not 0: modelled counts are estimates, of one part in so many */
	struct ap_estimate_errors errors; /* of these */
	struct ap_region_lines regions;
	struct ap_note_line *notes; /* things to report by name; free with ap_run_result_fini */
	unsigned int nnotes;
};

void ap_run_result_fini(struct ap_run_result *res);

#endif
