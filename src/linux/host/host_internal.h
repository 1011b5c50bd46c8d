/* SPDX-License-Identifier: MIT */
/*
 * What the host's files share.  One thread, the supervisor's.
 */
#ifndef AP_LINUX_HOST_INTERNAL_H
#define AP_LINUX_HOST_INTERNAL_H

#include "abi/service.h"
#include "core/core.h"
#include "linux/host/host.h"
#include "linux/session/state.h"
#include "linux/task/pidns.h"
#include "pmu/drivers.h"
#include "sampling/ring.h"

#define AP_HOST_BUCKETS 1024U

/* In place of a descriptor of one of the kernel's own events. */
#define AP_HOST_FD_NONE	   (-1) /* not asked for yet */
#define AP_HOST_FD_REFUSED (-2)

/* A segment, mapped as a whole: pages that were never touched stay holes. */
struct ap_host_seg {
	u32 index;
	struct ap_seg *head;
	struct ap_host_seg *next;		   /* of its bucket */
	struct ap_host_task *by_slot[AP_SLOT_MAX]; /* tasks that the core knows */
	u32 known_gen[AP_SLOT_MAX];		   /* of the last that it knew in each */
	u32 nameless; /* children of its threads that have not run yet */
	u32 told_gen; /* host_watch.c: an older watch_ack knows of other counters than it was told */
};

/* More children at a time that have not run are not known to the core: nobody has so many. */
#define AP_HOST_NAMELESS_MAX 1024U

/* How a task ended, as far as it has. */
enum ap_host_ending {
	AP_HOST_LIVES,
	AP_HOST_EXITED, /* by a call of its own */
	AP_HOST_KILLED,
	AP_HOST_LEFT /* to run natively, or it never ran */
};

/* Of a sampler in the session file: what is not to be read back from there. */
struct ap_host_sampler {
	bool is_used;
	u32 party;		   /* that it is counted with */
	struct ap_host_task *task; /* NULL: not linked */
	struct ap_event *event;
	struct ap_host_carry *carry; /* where its task cannot write to the event's ring */
	struct ap_ring_map ring;     /* the event's; .ring NULL: it has none, */
	u64 ring_at;		     /* and what samplers of its party call it */
	u64 former, parting; /* of a source with words of its own in slots: by former images */
	struct ap_host_sampler *next;
};

struct ap_host_samplers {
	u8 *area;
	u32 used, nfree;
	u32 of_party[AP_PARTY_MAX];
	u32 free[AP_SAMPLER_MAX];
	struct ap_host_sampler of[AP_SAMPLER_MAX];
};

struct ap_vctr;
struct ap_host_point;
struct ap_host_trace;
struct ap_host_watch;
struct ap_host_diary;
struct ap_host_cpu_watch;
struct ap_host_carry;

/* A task that the core knows. */
struct ap_host_task {
	struct ap_host *host;
	struct ap_task *core;
	struct ap_host_seg *seg; /* NULL: it does not count any more */
	u32 slot;
	u32 gen;		  /* of the slot; 0 while the child has not run yet */
	pid_t pid, tid;		  /* as we see them; 0 while it has not run yet */
	u32 maker_seg;		  /* + 1: whose ap_host_seg.nameless it is one of; else 0 */
	u64 carried[AP_RAW_N];	  /* counted by former images */
	bool is_unseen, was_seen; /* ap_slot.unseen; a former image was not */
	u64 raw[AP_RAW_N];	  /* with what the slot has; as of raw_at */
	u64 raw_at;		  /* ap_host.epoch */
	u64 parting[AP_RAW_N];	  /* of the slot, when an exec was asked for */
	bool has_parting;
	u64 cpu_time, time_at;	  /* ns, as of that epoch */
	u64 timed;		  /* sum of its counts, as of that time */
	s32 clock_fd;		  /* the kernel's task-clock: host_clock.c */
	u64 clock_base;		  /* CPU time when that began */
	s32 times_fd;		  /* its schedstat, where it is asked for often; -1 closed */
	u32 times;		  /* that it was asked for */
	s32 world_fd[AP_WORLD_N]; /* the kernel's own events */
	u64 world_last[AP_WORLD_N];
	u64 world_base[AP_WORLD_N]; /* counted before that event was opened */
	u64 own_faults,
		own_seen; /* ap_slot.own_faults, of all images; of the present one, as of then */
	bool is_ending;	  /* nothing more is opened on it */
	struct ap_host_point *points; /* of tracepoints: host_trace.c */
	u32 npoints;
	u64 points_at; /* ap_host.epoch when its end was looked for */
	enum ap_host_ending ending;
	u64 last_call; /* number + 1 of the call that it was in at its end or exec; 0 none */
	s32 cpu;       /* last seen there, -1 unknown */
	s32 words_cpu,
		words_next; /* host_cpu.c: whose CPU's its words are, and from the next look on */
	u64 words_at;	    /* as of that epoch */
	u64 log_at;	    /* position in its log: what is before it has been replayed */
	bool is_held;
	struct ap_host_task *held_next;
	struct ap_host_sampler *samplers;
	u32 robs;	      /* so often in a row their lock had to be taken from its holder */
	struct ap_vctr *vctr; /* perfctr's state */
	s32 prompt_fd[AP_PROMPT_N]; /* the kernel's events that prompt it: host_prompt.c */
	u64 prompt_ns;		    /* of its clock's */
	bool is_quiet;		    /* it cannot bear to be prompted any more */
	struct ap_host_diary *diary;
	u64 told[AP_WORLD_N]; /* by the diary, so often */
	bool is_fed;	      /* or the kernel refuses */
	bool is_diary_held;   /* to be looked at again when they are let go */
	bool is_kicked;	      /* and has not armed its samplers anew yet */
	struct ap_host_task *kicked_next;
	bool is_unborn;		     /* its parent has told of it, itself has not */
	u32 nunborn;		     /* of its children */
	bool is_awaited;	     /* somebody records its birth, or counts from it on */
	s32 parent_pid, parent_tid;  /* as we see them; 0 not known */
	s32 maker_tid;		     /* of its maker */
	u64 pidns;		     /* of its segment */
	struct ap_host_going *going; /* mappings, by the call that it is in: host_mapped.c */
	u8 *more;		     /* rest of a result that did not fit its answer */
	u64 more_size;
	struct ap_host_task *next; /* all of them */
	struct ap_host_task **prev;
	struct ap_host_task *tid_next; /* of its bucket */
};

#define AP_HOST_USERS 4U

enum ap_host_perfctr { AP_HOST_PERFCTR_NONE, AP_HOST_PERFCTR_DEVICE, AP_HOST_PERFCTR_STATE };

/* The other end of a perf descriptor, or of one of perfctr's, which has no event. */
struct ap_host_file {
	u64 inode;
	u64 pidns; /* of its opener */
	struct ap_event *event;
	enum ap_host_perfctr perfctr;
	struct ap_vctr *vctr; /* of a state's; NULL: a thread had none */
	bool is_of_cpu;
	int ref;	  /* O_PATH: neither reader nor writer of the pipe; -1 lent to others */
	int writer;	  /* of the pipe, while the event has a buffer; -1 none: POLLHUP */
	bool is_readable; /* a byte says so */
	bool is_closed;	  /* a descriptor was, and nobody has looked yet whether it was the last */
	bool is_async;	  /* has O_ASYNC */
	pid_t holder_pid; /* the process that has it, as far as is known: host_holder.c */
	s32 holder_fd;	  /* by this descriptor */
	u32 users
		[AP_HOST_USERS]; /* segments + 1 of processes that have had it: the one that opened it, then others */
	int kept;	/* the program's file, which a mapping holds after its last close; -1 */
	s32 pub;	/* index of struct ap_pub, -1 none */
	u32 page_order; /* of the mapping: enum is host_page.c's */
	u32 page_party; /* whose file it is in */
	u64 page_off;	/* in that party's pages */
	u64 npages;
	u64 npinned; /* of them: beyond perf_event_mlock_kb, of the first mapper's RLIMIT_MEMLOCK */
	u32 pinned_seg; /* that mapper */
	u32 *mappers;	/* segments whose process has a mapping */
	u32 nmappers;
	struct ap_host_file *next;  /* of its bucket */
	struct ap_host_file *after; /* all of them, for the sweep */
	struct ap_host_file **before;
};

#define AP_CGROUP_PATH 1024
/* One for each path: events of one group have the same. */
struct ap_cgroup {
	struct ap_cgroup *next;
	u32 users;
	char path[AP_CGROUP_PATH]; /* as /proc/PID/cgroup has it */
};

#define AP_HOST_CLOSED_MAX  64U
#define AP_HOST_PAGE_ORDERS 24
/* /proc/sys/kernel/perf_*: host_limits.c */
enum ap_host_limit {
	AP_LIMIT_CPU_PERCENT,
	AP_LIMIT_CONTEXTS,
	AP_LIMIT_SAMPLE_RATE,
	AP_LIMIT_STACK,
	AP_LIMIT_MLOCK_KB,
	AP_LIMIT_PARANOID,
	AP_HOST_LIMITS
};

struct ap_host_pages {
	u32 party;
	u8 *area; /* mapped as a whole on first use */
	u64 off, size, used;
	u64 *free[AP_HOST_PAGE_ORDERS]; /* offsets of areas to use again */
	u32 nfree[AP_HOST_PAGE_ORDERS], cap[AP_HOST_PAGE_ORDERS];
	u64 locked; /* pages that are mapped now, within perf_event_mlock_kb */
};

struct ap_host_cpus;

/* Two clocks at one moment. */
struct ap_host_stamp {
	u64 tsc, ns;
};

struct ap_host {
	const struct ap_host_life *life;
	struct ap_supervisor *sv;
	struct ap_session_file *ses;
	struct ap_core *core;
	struct ap_pmu_drivers drivers;
	struct ap_host_config config;
	u32 times_open;		     /* ap_host_task.times_fd */
	u64 epoch;		     /* a moment: within it counts and times stand still */
	struct ap_host_stamp stamp;  /* of the beginning; 0: the counter is no clock */
	u32 clock_mult, clock_shift; /* as in struct ap_session */
	u64 clock_zero;
	u64 now; /* the last answer */

	struct ap_host_seg *segs[AP_HOST_BUCKETS];
	struct ap_host_task *tids[AP_HOST_BUCKETS];
	struct ap_host_task *tasks;
	u32 ntasks;

	struct ap_host_file *files[AP_HOST_BUCKETS];
	struct ap_host_file *all_files;
	struct ap_host_file *sweep; /* next to be asked whether it is in use */
	bool is_sweeping;
	bool is_short_of_fds; /* there are more files than references that we may have */
	struct ap_host_file *closed[AP_HOST_CLOSED_MAX]; /* files with is_closed */
	u32 nclosed;
	int self_fds; /* /proc/self/fd; 0 not opened yet */
	int fds;      /* /proc/PID/task/TID/fd of the last opener; 0 none */
	pid_t fds_pid, fds_tid;
	u64 sweep_ns;	    /* when the next slow sweep is due */
	u64 sweep_again_ns; /* and when one goes on */
	u32 nfiles;

	struct ap_pub *pubs;
	struct ap_host_pages pages;			 /* of the first party, */
	struct ap_host_pages *party_pages[AP_PARTY_MAX]; /* and of the others; NULL: none yet */
	struct ap_host_samplers *samplers;		 /* NULL: none yet */
	struct ap_host_carry *carries;
	u64 carries_ns;		     /* when they are to be looked at again */
	u64 lanes[AP_LANE_MAX];	     /* as in struct ap_session */
	u32 lane_users[AP_LANE_MAX]; /* events that are sampled by each */
	s32 limits[AP_HOST_LIMITS];  /* host_limits.c */
	u32 lane_next;		     /* where to look for one to be given another set */
	s32 keeps_diaries;	     /* likewise, of ap_host_can_keep_diaries */
	s32 prompts; /* 1: the kernel permits them, -1: it does not; 0 not asked yet */
	struct ap_host_diary *diaries;
	struct ap_host_diary **cpu_diaries; /* those of CPUs, by number; NULL: none yet */
	bool has_no_cpu_diaries;	    /* the kernel refuses them */
	u32 diaries_held;		    /* ap_host_diaries_hold */
	bool has_held_diaries;		    /* of some task */
	u64 diaries_ns;			    /* when they are to be read again */
	struct ap_cgroup *cgroups;
	u64 cgroups_ns; /* likewise, cgroups of tasks */
	bool has_cgroups;
	u64 going_bytes; /* of all tasks' struct ap_host_going */
	struct ap_host_task *kicked;
	u64 kick_ns;		 /* when to look whether they have seen it */
	u32 wakes[AP_PARTY_MAX]; /* ap_board.wakes as it was seen */
	struct ap_host_watch *watches;
	struct ap_host_cpu_watch *cpu_watches;
	u32 watch_users[AP_WATCH_MAX]; /* of each place in ap_session.watch */
	u32 next_watch;		       /* the place behind the one that was taken last */
	bool has_data_watch;	       /* code minds those of data */
	struct ap_host_trace *trace;   /* NULL while no event is of a tracepoint */
	u32 next_filter;	       /* host_trace_filter.c: where to look for a place */
	struct ap_host_cpus *cpus;     /* NULL while no event is of a CPU */
	u32 ncpu_files;
	struct ap_host_gctr *gctr; /* perfctr's, NULL: not used */
	u64 core_ns;		   /* when the core is asked for its tick */
	bool is_idle;		   /* it wanted none */
	bool is_changed;	   /* requests were served since, or tasks have moved */
	u64 own_models;		   /* modelled kinds that the core's events have switched on, */
	u64 unwanted_models;	   /* of them those that no event wants any more: given up */
	u64 drop_ns;		   /* at this time, where it is not 0 */
	u32 late_nudges;	   /* host_kinds.c: so often yet */
	bool has_new_kinds; /* or breakpoints: processes have code that does not count them yet */
	bool has_tree;
	u32 untold;	  /* ap_session.untold as it was when tasks were adopted */
	bool is_adopting; /* some were not there yet */

	/* The call that is being served. */
	struct ap_host_task *asker;
	bool asker_is_timed;	   /* it has told its CPU time */
	struct ap_host_task *held; /* tasks that do nothing in place meanwhile */
	bool in_time;		   /* whoever asked in this round was still awake for its answer */
	u64 token_inode;	   /* what event_of_fd stands for */
	struct ap_event *token_event; /* the same, where the session's owner calls */
	u8 *buf;		      /* AP_HOST_BUF bytes for results */
};

#define AP_HOST_BUF	 (1u << 18)
#define AP_HOST_MLOCK_KB 516 /* perf_event_mlock_kb */

/* host_now.c */
void ap_host_now_init(struct ap_host *host);
/* Somebody wants the conversion published. */
void ap_host_now_use(struct ap_host *host);
u64 ap_host_now(struct ap_host *host);

/* host_kinds.c */
int ap_host_want_kinds(void *world, u64 kinds);
/* Besides those that the core wants. */
int ap_host_add_kinds(struct ap_host *host, u64 kinds);
/* Gives up what nobody wants; ns until there is something to do, 0 never. */
u64 ap_host_kinds_tick(struct ap_host *host, u64 now);
void ap_host_need_kinds(void *world, u64 kinds);
bool ap_host_is_unseen(void *world, void *task, u64 kinds);
int ap_host_may_count(void *world, void *task, u64 kinds);
/* Waits, not long, until processes count them; that of segment asker will by itself. */
void ap_host_spread_kinds(struct ap_host *host, u32 asker);

/* host.c */
/* Packs the generated tree, once. */
AP_MUST_CHECK int ap_host_tree(struct ap_host *host);

/* host_slot.c */
struct ap_host_seg *ap_host_seg(struct ap_host *host, u32 seg);
/* Only if it is mapped already. */
struct ap_host_seg *ap_host_seg_known(const struct ap_host *host, u32 seg);
void ap_host_seg_drop(struct ap_host *host, struct ap_host_seg *s);
struct ap_slot *ap_host_slot(const struct ap_host_seg *seg, u32 slot);
/* Counts of a slot as they stand. */
void ap_host_sum_slot(const struct ap_host_seg *seg, u32 slot, u64 sum[AP_RAW_N]);
/* The slot is still this task's: it has not ended without a word. */
bool ap_host_task_is_in_slot(const struct ap_host_task *t);
void ap_host_task_note_unseen(struct ap_host_task *t);
const u64 *ap_host_task_raw(struct ap_host *host, struct ap_host_task *t);
/* The tasks whose numbers share a place. */
struct ap_host_task **ap_host_tids(struct ap_host *host, pid_t tid);
struct ap_host_task *ap_host_task_by_tid(struct ap_host *host, pid_t tid);

/*
 * What follows from what happens to a task, in arrays that end with NULL.  host_life.c has them, and says at each part why
 * it stands where it does.
 */
typedef void ap_host_part(struct ap_host *host, struct ap_host_task *t);
struct ap_host_life {
	int (*begin)(struct ap_host *host, struct ap_host_task *t, bool is_born);
	ap_host_part *const *named;
	ap_host_part *const *placed; /* in a slot for the first time */
	ap_host_part *const *leaving;
	ap_host_part *const *execed;
	ap_host_part *const *ended;
	ap_host_part *const *looked; /* at all of them: NULL as the task */
};
extern const struct ap_host_life ap_host_life;
/* Its exec was asked for and may have happened: it lives on without a slot until that is known. */
bool ap_host_task_waits(struct ap_host *host, struct ap_host_task *t);

/* host_task.c */
void ap_host_task_do(struct ap_host *host, struct ap_host_task *t, ap_host_part *const *parts);
/* The task that counts there; made known to the core if need be.  NULL: nobody (left). */
struct ap_host_task *ap_host_task_at(struct ap_host *host, struct ap_host_seg *seg, u32 slot);
/* A process that has no slot yet, and gets one by its exec. */
struct ap_host_task *ap_host_task_new(struct ap_host *host, pid_t pid, pid_t tid);
/* An image that a helper put in place in slot 0: its task, which is known by its former segment. */
struct ap_host_task *ap_host_task_take_over(struct ap_host *host, struct ap_host_seg *seg);
/* A child that will count there once it runs. */
struct ap_host_task *ap_host_task_child(struct ap_host *host, struct ap_host_seg *seg, u32 slot);
/* It is one of the children that threads there make; -EAGAIN: there are too many that have not run. */
AP_MUST_CHECK int ap_host_task_made_in(struct ap_host_task *t, struct ap_host_seg *maker);
void ap_host_task_end(struct ap_host *host, struct ap_host_task *t);
/* The same, by the module that knows how. */
void ap_host_task_end_as(struct ap_host *host, struct ap_host_task *t, enum ap_host_ending ending);
/* The other tasks of a process. */
void ap_host_tasks_end_of(struct ap_host *host, pid_t pid, const struct ap_host_task *but);
void ap_host_tasks_tick(struct ap_host *host); /* ends those that waited in vain */
void ap_host_task_name(struct ap_host *host, struct ap_host_task *t, pid_t pid, pid_t tid);
void ap_host_task_place(struct ap_host_task *t, struct ap_host_seg *seg, u32 slot);
/* What it has counted stays with it; from now on it counts in this slot, which has counted nothing. */
void ap_host_task_count_from(struct ap_host *host, struct ap_host_task *t, struct ap_host_seg *seg,
			     u32 slot);
/* The task is in place of slot 0 of a new image. */
void ap_host_task_exec(struct ap_host *host, struct ap_host_task *t, struct ap_host_seg *seg,
		       pid_t pid);
bool ap_host_task_is_alive(const struct ap_host_task *t);
/* It has ended, be it that nobody has told. */
bool ap_host_task_is_gone(struct ap_host *host, struct ap_host_task *t);

/* host_order.c */
/* Some event is of whoever is on a CPU, or in a cgroup: all tasks are made known to the core. */
void ap_host_know_all(struct ap_host *host);
void ap_host_task_order(struct ap_host_task *t);

/* host_log.c */
/* The task does nothing in place until ap_host_let_go: what is read of it now holds till then. */
void ap_host_hold(struct ap_host *host, struct ap_host_task *t);
/* Holds it, and does what it did in place.  Before anything is done with its events. */
ap_host_part ap_host_sync;
void ap_host_sync_event(struct ap_host *host, const struct ap_event *event);
void ap_host_let_go(struct ap_host *host);
/* It has no place any more, or another one. */
ap_host_part ap_host_log_leaves;

/* host_name.c */
bool ap_host_is_our_pidns(const struct ap_host *host, u64 pidns);
AP_MUST_CHECK int ap_host_names(struct ap_host *host, const struct ap_host_seg *seg, u32 slot,
				pid_t *pid, pid_t *tid);
/* How a process is called here that one of that segment calls so; 0 or less: it is not there. */
pid_t ap_host_outer_name(struct ap_host *host, const struct ap_host_seg *seg, u32 inner);
/* The process that was found to count in its segment does so still, and has the rights that it had. */
bool ap_host_task_is_itself(struct ap_host *host, const struct ap_host_task *t);
/*
 * The kernel says that it counts in its segment now: only such a one is sent a signal, or has an event opened that sends some. A
 * child that has not run yet is not, and an image neither.
 */
bool ap_host_task_is_proven(struct ap_host *host, const struct ap_host_task *t);
/* What was opened on its number: fd, AP_HOST_FD_REFUSED, or AP_HOST_FD_NONE where that is not proven to be its own, yet. */
s32 ap_host_task_opened(const struct ap_host_task *t, int fd);
/* The session owner's where it has no segment; NULL: a CPU's, the same. */
u32 ap_host_party_of(const struct ap_host_task *t);
/* For paths that the task names. */
struct ap_as_task ap_host_as(struct ap_host *host, const struct ap_host_task *t);
/* host_find.c */
/* Makes the core see that of all of them; false: there were none. */
bool ap_host_tasks_end_gone(struct ap_host *host);
/* Of a task that is there and none of the session's. */
bool ap_host_is_outside(struct ap_host *host, struct ap_task *caller,
			const struct ap_open_args *args);
/* A file's number; 0: there is none, or it is not shown. */
u64 ap_host_number_in(const char *path);
/*
 * host_probe.c.  Is it a probe in the text of the session's programs?  Then attr is made ours, and *is_probe
 * says so.  group: arg[2] of AP_SVC_OPEN.
 */
AP_MUST_CHECK int ap_host_probe_take(struct ap_host *host, const struct ap_host_task *caller,
				     const struct ap_open_args *args, u64 group,
				     struct ap_perf_attr *attr, bool *is_probe);
/*
 * host_kernel.c.  Is an event that is to be opened the kernel's?  AP_SVC_NATIVE, -errno, or 0: it is ours, if it can be opened.
 * Then after it could not be: the same or its error.  *config: as the kernel has it.
 */
int ap_host_kernel_before(struct ap_host *host, const struct ap_open_args *args, u64 group,
			  u64 *config);
int ap_host_kernel_after(struct ap_host *host, struct ap_task *caller,
			 const struct ap_open_args *args, int error, u64 *config);
/* What an event of ours is, if the kernel can have it: AP_SVC_NATIVE, or -errno. */
int ap_host_kernel_rehome(const struct ap_host_task *caller, struct ap_event *event,
			  struct ap_svc_rehome *what);
/* Where it is not followed any more (ap_slot.native), which nobody tells of. */
void ap_host_task_let_leave(struct ap_host *host, struct ap_task *task);
int ap_host_find_task(void *world, struct ap_task *caller, s32 pid, struct ap_task **out);

/* host_serve.c: what is asked in a slot, if anything is.  False: nothing */
bool ap_host_serve_slot(struct ap_host *host, struct ap_host_seg *seg, u32 slot);
/* read(2), as whoever has waited for a child expects it */
s64 ap_host_read(struct ap_host *host, struct ap_event *event, void *buf, u64 size);
void ap_host_limits_init(struct ap_host *host, u32 max_sample_rate, u32 max_stack);
/* A write to a node of the tree: how many bytes of the text were used. */
s64 ap_host_limit_write(struct ap_host *host, struct ap_host_task *t, u64 node, const char *text,
			size_t size);
/* Who may write files of root's that have no other rule. */
bool ap_host_is_root(const struct ap_host_task *t);
/* Of a sampler of the task's. */
s64 ap_host_sampler_read(struct ap_host *host, struct ap_host_task *t, u64 index, void *buf,
			 u64 size);

/* host_file.c */
AP_MUST_CHECK int ap_host_file_open(struct ap_host *host, const struct ap_host_task *t, s32 fd,
				    u64 inode, struct ap_host_file **out);
struct ap_host_file *ap_host_file_find(struct ap_host *host, u64 inode);
/* Of a request: as it is after all that its task did in place. */
struct ap_host_file *ap_host_file_named(struct ap_host *host, u64 inode);
void ap_host_file_free(struct ap_host *host, struct ap_host_file *f);
/* host_holder.c */
/* A descriptor of ours is of that pipe: the kernel's own word, and no file system's. */
bool ap_host_fd_is_pipe(int fd, u64 inode);
/* The inode of the pipe that it is, 0 none. */
u64 ap_host_fd_pipe(int fd);
/* The task has, or has had, a descriptor of it: nobody else may do anything with the event. */
bool ap_host_file_is_held(struct ap_host *host, struct ap_host_file *f,
			  const struct ap_host_task *t);
/* A descriptor of the program's own file, for a moment: it is a reader like others.  -1 where it has none. */
int ap_host_file_borrow(struct ap_host *host, struct ap_host_file *f);
/* A mapping is a reference to the file: what sends its signals is kept while there are both. */
void ap_host_file_keep(struct ap_host *host, struct ap_host_file *f);
/* Its reference serves another file, and it is found where its descriptor is; false: it cannot be. */
bool ap_host_file_lends(struct ap_host_file *f);
/* Has anybody a descriptor of it, as far as processes of the session can be seen? */
bool ap_host_file_has_holder(struct ap_host *host, struct ap_host_file *f);
/* O_PATH: f->ref, or one for a moment; -1. */
int ap_host_file_ref(struct ap_host *host, struct ap_host_file *f);
/* After a sync: releases the event when nobody has a descriptor or mapping of it any more. */
void ap_host_file_check(struct ap_host *host, struct ap_host_file *f);
/* The same, when there is time for it (ap_host_settle): its end concerns nobody else. */
void ap_host_settle_all(struct ap_host *host);
void ap_host_file_closed_in_place(struct ap_host *host, struct ap_host_file *f);
u64 ap_host_files_tick(struct ap_host *host, u64 now);
/* A call has closed many: at once, unless there are very many. */
void ap_host_files_closed(struct ap_host *host);
/* All at once: somebody needs what closed ones hold. */
void ap_host_files_sweep(struct ap_host *host);
/* A descriptor of the task by its number, O_PATH; -errno. */
AP_MUST_CHECK int ap_host_fd_ref(struct ap_host *host, const struct ap_host_task *t, s32 fd);
void ap_host_files_fini(struct ap_host *host);

/* host_sampler.c: the core's operations */
int ap_host_want_lane(void *world, u64 kinds, u32 *lane);
void ap_host_put_lane(void *world, u32 lane);
/* Where it lies. */
/* What its thread sees of it: in the session's file. */
static inline struct ap_sampler *ap_host_sampler_at(const struct ap_host *host,
						    const struct ap_host_sampler *o)
{
	return (struct ap_sampler *)(host->samplers->area +
				     (u64)(o - host->samplers->of) * AP_SAMPLER_SIZE);
}
int ap_host_sampler_new(void *world, void *host_task, struct ap_event *event,
			struct ap_sampler **out);
void ap_host_sampler_link(void *world, void *host_task, struct ap_sampler *s);
void ap_host_sampler_free(void *world, void *host_task, struct ap_sampler *s);
void ap_host_sampler_lock(void *world, void *host_task);
void ap_host_sampler_unlock(void *world, void *host_task, bool told);
u64 ap_host_sampler_value(void *world, void *host_task, const struct ap_sampler *s);
/* An exec: it is asked for; the old slot is given up; the new one is in its place. */
ap_host_part ap_host_samplers_parting;
ap_host_part ap_host_samplers_leave;
ap_host_part ap_host_samplers_placed;
ap_host_part ap_host_samplers_named;
/* The task is gone: nobody is to be told any more. */
ap_host_part ap_host_kick_forget;
u64 ap_host_samplers_tick(struct ap_host *host, u64 now);
/* The task writes no more under the name that its slot gives it, be it that it was killed in a record. */
ap_host_part ap_host_writer_ended;
/* Nobody can be in the middle of a record under this name, as far as anybody can tell. */
bool ap_host_writer_is_dead(void *world, const struct ap_ring_map *map, u32 name);
/* A thread has overflowed, by a sampler that wakes: its event, NULL: it has none there. */
struct ap_event *ap_host_sampler_wake(struct ap_host *host, struct ap_host_task *t, u64 index);
/* What was opened has its descriptor by now, or O_ASYNC has changed. */
void ap_host_sampler_file(struct ap_host *host, const struct ap_host_file *f);
void ap_host_samplers_fini(struct ap_host *host);
/* The core's operation: what a sampler is to call the ring of its event, which is at that place for its own party. */
u64 ap_host_sampler_ring(void *world, struct ap_sampler *s, const struct ap_ring_map *map, u64 at);

/* host_carry.c: records of tasks that cannot write to their event's ring */
/* A ring of the party's for what is to go to the event's; NULL: no memory. */
struct ap_host_carry *ap_host_carry_get(struct ap_host *host, u32 party, struct ap_event *event,
					u64 size);
void ap_host_carry_put(struct ap_host *host, struct ap_host_carry *c);
u64 ap_host_carry_ring(const struct ap_host_carry *c);
/* What stands in them goes on its way. */
void ap_host_carry_all(struct ap_host *host);
void ap_host_carries_end(struct ap_host *host, u32 party);
u64 ap_host_carries_tick(struct ap_host *host, u64 now);

/* host_prompt.c: the kernel tells threads when they are to be sampled. */
bool ap_host_can_prompt(struct ap_host *host);
int ap_host_may_sample(void *world, u32 source);
/* As the task's samplers want it now. */
void ap_host_prompts_set(struct ap_host *host, struct ap_host_task *t);
ap_host_part ap_host_prompts_end;

/* host_diary.c: the kernel writes down when a task is on a CPU. */
void ap_host_diary_set(struct ap_host *host, struct ap_host_task *t, bool is_switched);
bool ap_host_can_keep_diaries(struct ap_host *host); /* with samples of AP_SAMPLE_WORLD */
ap_host_part ap_host_diary_end;
/* Until let go nobody's diary begins or ends for what it has to tell. */
void ap_host_diaries_hold(struct ap_host *host);
void ap_host_diaries_let_go(struct ap_host *host);
/* What has happened until now is told. */
void ap_host_diaries_drain(struct ap_host *host);
void ap_host_diaries_fini(struct ap_host *host); /* behind the tasks' ends */
u64 ap_host_diaries_tick(struct ap_host *host, u64 now);
/* Of the process that goes on with them. */
void ap_host_diaries_each_fd(struct ap_host *host, void (*keep)(void *arg, int fd), void *arg);

/* host_mapped.c */
s64 ap_host_mapped(struct ap_host *host, struct ap_host_task *t, u64 start, u64 end);
void ap_host_image_mapped(struct ap_host *host, struct ap_host_task *t);
/*
 * [start, end) is about to go; how: AP_SVC_UNMAPPING_*: how many mappings of code the call takes in all.  And has gone;
 * how: AP_SVC_UNMAPPED_*.
 */
s64 ap_host_unmapping(struct ap_host_task *t, u64 start, u64 end, u32 how);
void ap_host_unmapped(struct ap_host_task *t, u64 start, u64 end, u32 how);
ap_host_part ap_host_unmapping_forget;

/* host_sideband.c */
/* host_client.c */
void ap_host_client_part(void *world, struct ap_event *event, const struct ap_part *part);
void ap_host_task_names(void *world, const struct ap_event *event, void *host_task,
			struct ap_task_names *out);
/* Children that have not said so yet are told of while their parent is known. */
ap_host_part ap_host_births;
void ap_host_born(struct ap_host *host, struct ap_host_task *t, s32 cpu);
/* It has another name; with a tid, that thread of its process has: as the process knows it. */
s64 ap_host_comm(struct ap_host *host, struct ap_host_task *t, u32 tid);
/* Those that the task is in. */
s64 ap_host_namespaces(struct ap_host *host, struct ap_host_task *t);
/* A new image is in place: its name, and what is mapped. */
ap_host_part ap_host_image;

/* host_wake.c */
/* The core says which task is to be told what. */
void ap_host_wake(void *world, struct ap_event *event, u32 what);
/* Rings may have been filled to where somebody waits. */
void ap_host_wakes_look(struct ap_host *host);
/* An end of the descriptor's pipe, O_NONBLOCK; -1. */
int ap_host_file_end(struct ap_host *host, struct ap_host_file *f, int how);
/* poll says what it has to say now: the event may have got or lost its buffer, or its task. */
void ap_host_file_polls(struct ap_host *host, struct ap_host_file *f);
/* A poll has given an answer: POLLIN was taken with it.  What it would be. */
u32 ap_host_file_polled(struct ap_host *host, struct ap_host_file *f);
/* Its signal, where it has O_ASYNC. */
void ap_host_file_signal(struct ap_host *host, struct ap_host_file *f);

/* host_page.c */
void ap_host_pub_add(struct ap_host *host, struct ap_host_file *f);
void ap_host_pub_remove(struct ap_host *host, struct ap_host_file *f);
void ap_host_publish(void *world, struct ap_event *event);
void ap_host_publish_task(struct ap_host *host, const struct ap_task *task);
AP_MUST_CHECK s64 ap_host_mmap(struct ap_host *host, struct ap_host_task *t, struct ap_host_file *f,
			       u64 bytes, u64 prot, u64 offset, u64 *where);
AP_MUST_CHECK int ap_host_mapper_add(struct ap_host_file *f, u32 seg);
void ap_host_munmap(struct ap_host *host, struct ap_host_file *f, u32 seg);
void ap_host_pages_end(struct ap_host *host, u32 party);
/* An area of a party's with room for a ring and a data area of size bytes, its offset in the party's file in *off. */
AP_MUST_CHECK int ap_host_ring_take(struct ap_host *host, u32 party, u64 size,
				    struct ap_ring_map *map, u64 *off);
void ap_host_ring_give(struct ap_host *host, const struct ap_ring_map *map, u64 off);

/* One page, zeroed, at an offset in ap_host.pages.area. */
AP_MUST_CHECK int ap_host_page_take(struct ap_host *host, u64 *at);
void ap_host_page_give(struct ap_host *host, u64 at);

/* host_perfctr.c: a request, answered in svc; 0 or -errno. */
s64 ap_host_perfctr_serve(struct ap_host *host, struct ap_host_task *caller, struct ap_svc *svc);
void ap_host_gctr_fini(struct ap_host *host);
/* Of a state's page: as ap_host_mmap. */
AP_MUST_CHECK s64 ap_host_perfctr_mmap(struct ap_host *host, struct ap_host_task *t,
				       struct ap_host_file *f, u64 bytes, u64 prot, u64 offset,
				       u64 *where);
/* The task stopped where a mark of its state's is: true, a signal is due. */
/* For a thread that may make no call; false: it has no signal. */
bool ap_host_perfctr_send(const struct ap_host_task *t, const struct ap_svc_overflow *due);
bool ap_host_perfctr_overflowed(struct ap_host_task *t, const struct ap_event *event,
				struct ap_svc_overflow *due);
/* Its last counts are known; it has another image. */
ap_host_part ap_host_perfctr_exit;
ap_host_part ap_host_perfctr_exec;

/* host_cpu.c */
/* It was seen there; with that the core may have got work for its tick. */
void ap_host_task_on_cpu(struct ap_host *host, struct ap_host_task *t, s32 cpu);
/* Where a task is (ap_core_ops.cpu_of). */
s32 ap_host_cpu_of(void *world, void *task);
/* Looks where a task is, for those of its events that are of CPUs. */
ap_host_part ap_host_task_found_on_cpu;
u64 ap_host_cpu_raw(void *world, s32 cpu, u64 kinds);
/* There is an event of a CPU; ends with the last one. */
AP_MUST_CHECK int ap_host_cpus_use(struct ap_host *host, u32 ncpus);
/* Before the segment is folded: its last counts. */
void ap_host_cpu_seg_ended(struct ap_host *host, u32 seg);
/* Looks at all tasks, once per moment. */
void ap_host_cpus_look(struct ap_host *host);
/* Whose is what the task has counted in words of its own since the last moment? */
u32 ap_host_cpu_of_words(struct ap_host *host, struct ap_host_task *t);
u64 ap_host_cpus_tick(struct ap_host *host, u64 now);
void ap_host_cpus_fini(struct ap_host *host);

/* host_world.c */
int ap_host_world_counter(void *world, void *host_task, s32 cpu, enum ap_world_counter which,
			  u64 *v);
ap_host_part ap_host_world_last; /* before the task is gone */
/* Its image asks for an exec; and it has another slot from now on. */
ap_host_part ap_host_world_parting;
ap_host_part ap_host_world_leave;
/* Faults of a mode are counted: nobody can say later what a child's were, which begins with its maker's. */
bool ap_host_world_splits(const struct ap_host_task *t);
void ap_host_world_born(struct ap_host_task *t, const struct ap_host_task *maker);
ap_host_part ap_host_world_fini;

/* host_clock.c */
u64 ap_host_task_time(struct ap_host *host, struct ap_host_task *t);
/* The task says so itself: used where it can be. */
void ap_host_task_time_is(struct ap_host_task *t, u64 ns);
void ap_host_clock_last(struct ap_host_task *t);   /* it ends, or has ended */
void ap_host_clock_forget(struct ap_host_task *t); /* its number is no longer its own */
ap_host_part ap_host_clock_fini;

/* host_trace.c */
int ap_host_trace_count(void *world, void *host_task, s32 cpu, u32 id, u64 *v);
ap_host_part ap_host_trace_end; /* before its last reading */
/* An exec: it is asked for; the old image's slot is given up; the new one is in its place. */
ap_host_part ap_host_trace_parting;
ap_host_part ap_host_trace_leave;
ap_host_part ap_host_trace_execed;

/* What has ended or passed since goes to CPUs: of one task, NULL: of all. */
ap_host_part ap_host_trace_to_cpus;
AP_MUST_CHECK int ap_host_trace_task(struct ap_host *host, struct ap_host_task *t, bool is_born);
void ap_host_trace_fini(struct ap_host *host);

/* host_trace_filter.c */
int ap_host_trace_filter(void *world, const struct ap_trace_filter *filter, u32 *id);
void ap_host_trace_unfilter(void *world, u32 id);
/* Filters, as bits, that the end of a call passes which ends without the task. */
u64 ap_host_trace_passed(const struct ap_session *head, u32 tid, u64 nr, s64 ret);

/* host_watch.c */
int ap_host_bp_can(void *world, void *host_task, s32 cpu, const struct ap_world_bp *bp);
int ap_host_bp_arm(void *world, void *host_task, s32 cpu, const struct ap_world_bp *bp, u64 *watch);
u64 ap_host_bp_count(void *world, u64 watch);
u32 ap_host_bp_place(void *world, u64 watch);
void ap_host_bp_disarm(void *world, u64 watch);
void ap_host_bp_no_data(void *world);
void ap_host_form_use(void *world, u32 form, s32 by); /* host_probe.c */
/* A task in that segment is watched, and its code does not mind all of it yet. */
bool ap_host_watch_is_due(const struct ap_host *host, u32 index, const struct ap_seg *head);
/* An exec: it is asked for; the old image's slot is given up. */
ap_host_part ap_host_watch_parting;
ap_host_part ap_host_watch_leave;
/* As with tracepoints; a task that is known now, and one that is not any more. */
ap_host_part ap_host_watch_to_cpus;
AP_MUST_CHECK int ap_host_watch_task(struct ap_host *host, struct ap_host_task *t, bool is_born);
/* Which counters are to be raised in the task's process; NULL: in all. */
ap_host_part ap_host_watch_tell;
ap_host_part ap_host_watch_forget;

/* host_cred.c */
struct ap_cred {
	u32 uid[4], gid[4]; /* real, effective, saved, fs */
	u64 cap_effective;
};
AP_MUST_CHECK int ap_cred_parse(const char *status, struct ap_cred *cred);
/* ptrace(2)'s rule for reading, of tasks of different processes. */
bool ap_cred_may_read(const struct ap_cred *reader, const struct ap_cred *target, bool is_dumpable);
bool ap_host_may_trace(void *world, struct ap_task *caller, struct ap_task *target);
bool ap_host_is_privileged(void *world, struct ap_task *caller);

/* host_cgroup.c */
int ap_host_cgroup_of_fd(void *world, struct ap_task *caller, s32 fd, struct ap_cgroup **out);
bool ap_host_cgroup_has(void *world, struct ap_cgroup *cg, void *host_task);
void ap_host_cgroup_put(void *world, struct ap_cgroup *cg);
/* Is the task's cgroup (a /proc/PID/cgroup text) path or one below it? */
bool ap_cgroup_is_within(const char *text, const char *path);
/* A child is about to be: its maker and CPU are known, and no name. */
AP_MUST_CHECK int ap_host_cgroup_born(struct ap_host *host, struct ap_host_task *t);
/* Its id is put where its samples take it from, if any has it. */
void ap_host_cgroup_note(struct ap_host *host, struct ap_host_task *t);
/* Whether the task is to say when it moves somebody to another one. */
bool ap_host_cgroup_wants(const struct ap_host_task *t);
/* Tasks may be in others now. */
void ap_host_cgroups_look(struct ap_host *host);
u64 ap_host_cgroups_tick(struct ap_host *host, u64 now);
/* A task has made a folder, which may be one: by its path from its descriptor. */
s64 ap_host_cgroup_made(struct ap_host *host, struct ap_host_task *t, s32 dirfd, const char *path);

#endif
