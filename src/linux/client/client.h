/* SPDX-License-Identifier: MIT */
/*
 * A client: anyperf itself opens events, from outside of the programs that it counts.  What
 * an event is, how it is read and what it means is perf_event_open(2)'s; where it lives is not the
 * client's business:
 *
 *   - in the session's core, which is in the same process: events of the cpu PMU, and whatever
 *     shares a group with one;
 *   - in the kernel, by the system call itself: software events, which the kernel follows through
 *     forks better than anybody; all events, where nothing needs the engine; and all events where a
 *     session around us (anyperf inside anyperf) answers the call instead of the kernel.
 *
 * All calls are of the supervisor's thread, from within the callbacks.  docs/design/client.md.
 */
#ifndef AP_LINUX_CLIENT_H
#define AP_LINUX_CLIENT_H

#include <sys/types.h>

#include "abi/perf.h"
#include "base/types.h"
#include "linux/session/profile.h"

struct ap_event_client;
struct ap_client_event;
struct ap_client_part;

/*
 * What ap_run calls (struct ap_run_options.client).  Any may be NULL but start.
 */
struct ap_run_client {
	void *arg;
	/*
	 * The tasks are there and nothing of them has run that is to be counted: the command waits
	 * before its exec (attr.enable_on_exec is for it), attached processes have just come in.
	 * Events are opened here.  Not 0: an exit status; a line was said, and nothing is run.
	 */
	int (*start)(void *arg, struct ap_event_client *c);
	/* The command goes to its exec now: the time from which its run is measured. */
	void (*begin)(void *arg, u64 now_ns);
	/* The time that ap_client_timer asked for has come. */
	void (*timer)(void *arg, u64 now_ns);
	/* A descriptor of ap_client_watch has something to read, or was closed at its other end. */
	void (*ready)(void *arg, int fd);
	/* A data area has passed its watermark. */
	void (*news)(void *arg, struct ap_client_event *e);
	/* What a task has counted of an event (ap_client_split). */
	void (*part)(void *arg, struct ap_client_event *e, const struct ap_client_part *part);
	/* The command has ended, and all that ended with it is in the counts: the last readings. */
	void (*end)(void *arg, u64 now_ns);
};

/* Whom to open events on: the command, or the threads of what was asked for by pid and tid. */
struct ap_client_task {
	pid_t pid, tid;
	char comm[16];
	bool is_command;
};
const struct ap_client_task *ap_client_tasks(const struct ap_event_client *c, u32 *n);
/*
 * CPUs are numbered from 0; the kernel's list of those that are on is for callers that want fewer.
 */
u32 ap_client_ncpus(void);

/* Whether the kernel lets us sample software events. */
bool ap_client_kernel_samples(void);

enum ap_client_place {
	AP_CLIENT_ANYWHERE, /* software events: the kernel, where it permits; else as SESSION */
	AP_CLIENT_SESSION,  /* the core, ours or that of a session around us */
	AP_CLIENT_KERNEL    /* the system call */
};

struct ap_client_open {
	const struct ap_perf_attr *attr; /* size is filled in */
	/*
	 * A task of ap_client_tasks (or any other of the session).  -1 with a CPU: all of the
	 * session;  of an event in the kernel, the command and what it makes, while they are there.
	 */
	pid_t pid;
	s32 cpu; /* -1: wherever the task is */
	/*
	 * A descriptor of a cgroup's folder: its tasks of the session, on that CPU; then pid is not
	 * looked at.
	 */
	const s32 *cgroup;
	struct ap_client_event *leader;
	enum ap_client_place place; /* of a leader: its members go where it is */
};

/*
 * 0 or what perf_event_open(2) gives, negative.  -ENODEV: it is to be in a session, and the program
 * runs in none.
 */
AP_MUST_CHECK int ap_client_open(struct ap_event_client *c, const struct ap_client_open *args,
				 struct ap_client_event **out);
void ap_client_close(struct ap_client_event *e); /* NULL: nothing */
bool ap_client_is_in_kernel(const struct ap_client_event *e);

/* read(2): bytes, or -errno.  Readings between two calls of ap_client_moment are of one moment. */
void ap_client_moment(struct ap_event_client *c);
s64 ap_client_read(struct ap_client_event *e, void *buf, u64 size);

/*
 * From now on .part is told what each task that ends has counted of the event, children that
 * inherit it included;  and of those that are there, now.  -EXDEV: it is the kernel's, or of a
 * session around us.
 */
struct ap_client_part {
	u64 task; /* names it among all, where numbers of tasks come again; later ones are greater */
	pid_t tid;
	const char *comm; /* "": unknown; of events with attr.comm it is known */
	u64 count, enabled, running;
};
AP_MUST_CHECK int ap_client_split(struct ap_client_event *e);
void ap_client_tell_parts(struct ap_client_event *e);

/* ioctl(2), by number: AP_PERF_IOC_*.  in and out are what arg points to. */
struct ap_client_ioctl {
	u32 cmd;
	u64 arg;
	const void *in;
	u64 in_size;
	void *out;
	u64 out_size;
	struct ap_client_event *target; /* of SET_OUTPUT; NULL: arg says -1 */
};
AP_MUST_CHECK s64 ap_client_ioctl(struct ap_client_event *e, struct ap_client_ioctl *args);
/* Enables or disables the event and, of a leader, its whole group. */
AP_MUST_CHECK int ap_client_enable(struct ap_client_event *e, bool on);

/*
 * A data area of 2^n pages behind its control page; also tells of news from then on.  In the
 * session an event that is inherited may have one wherever its task is; the kernel wants a CPU for
 * that (-EINVAL).
 */
struct ap_client_map {
	struct ap_perf_page *page;
	u8 *data;
	u64 size;
};
AP_MUST_CHECK int ap_client_mmap(struct ap_client_event *e, u64 data_pages, bool is_writable,
				 struct ap_client_map *out);

/* What the kernel has told the supervisor so far, context switches, is in the data areas then. */
void ap_client_catch_up(struct ap_event_client *c);
/*
 * Whether all that a data area is still to get has a later time than this call.  Else somebody has
 * lost the CPU in the middle of a record, or is stopped there.
 */
bool ap_client_has_settled(const struct ap_client_event *e);

/* A descriptor of the caller's, level triggered, until it is unwatched (before it is closed). */
AP_MUST_CHECK int ap_client_watch(struct ap_event_client *c, int fd);
void ap_client_unwatch(struct ap_event_client *c, int fd);
/* CLOCK_MONOTONIC in ns; 0: none.  One at a time, used up when it comes. */
void ap_client_timer(struct ap_event_client *c, u64 at_ns);
/*
 * An event that the kernel has refused is to be had from the account of the command
 * (ap_run_result.account), which is complete then.
 */
void ap_client_wants_account(struct ap_event_client *c);
/* Enough: the command is told to end (SIGTERM), or attached processes are let go. */
void ap_client_stop(struct ap_event_client *c);

/*
 * An event by name as perf writes them ("instructions", "r00c0", "cpu/event=0xc0/",
 * "INST_RETIRED.ANY_P", "mem:0x601040/8:rw"), without modifiers.  Fills type, config* and bp_type.
 * -ENOENT: no such name; -EINVAL: ill-formed.
 */
AP_MUST_CHECK int ap_client_event_by_name(const char *name, size_t len, struct ap_perf_attr *attr);
/*
 * What tracefs says of a session's tracepoint: its system (constant) and its format file (to be
 * freed).  -ENOENT: there is no such id.
 */
AP_MUST_CHECK int ap_client_tracepoint(u64 id, const char **system, char **format);
/* The files of the session's tracefs that describe its ring buffer. */
const char *ap_client_header_page(void);
const char *ap_client_header_event(void);
/* The engine's counters behind an event of the cpu PMU (abi/raw.h), 0: nobody counts it. */
u64 ap_client_event_kinds(const struct ap_perf_attr *attr);
/*
 * Is its count another one than the sum of those: of locked instructions alone, times the slots,
 * less some of them?
 */
bool ap_client_is_derived(const struct ap_perf_attr *attr);
/* Is it times the slots that a cycle of the machine has? */
bool ap_client_is_in_slots(const struct ap_perf_attr *attr);

/* Is it the name of a generic cache event, counted or not? */
bool ap_client_is_cache_event(const char *name, size_t len);

/*
 * Names by where they come from, for lists: what is counted on every CPU (anyperf=N), the generic
 * cache events that are counted, the CPU's own, tracepoints.
 */
enum ap_client_names { AP_NAMES_OWN, AP_NAMES_CACHE, AP_NAMES_RAW, AP_NAMES_TRACEPOINT };
#define AP_CLIENT_NAME_MAX 256
struct ap_client_name {
	char name[AP_CLIENT_NAME_MAX];
	const char *alias;   /* NULL: none */
	const char *meaning; /* or why nobody counts it */
	bool is_counted, is_modelled;
};
/* The i-th; false past the last. */
bool ap_client_name(enum ap_client_names which, unsigned int i, struct ap_client_name *out);
/*
 * What an event by name is to perf_event_open, as it can be asked for where that is possible:
 * "r01d1", "cpu/anyperf=0x9/", else "type=1 config=0x2".  Empty: nothing of it.
 */
void ap_client_encoding(const char *name, char *buf, u32 size);

/*
 * Of a session with ap_run_options.profiles, at its end (ap_run_client.end): how often instructions were executed.  The same one may come
 * more than once, to be added.
 */
AP_MUST_CHECK int ap_client_profile(const struct ap_event_client *c, ap_profile_fn fn, void *arg,
				    struct ap_profile_lost *lost);

#endif
