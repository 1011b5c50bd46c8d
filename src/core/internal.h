/* SPDX-License-Identifier: MIT */
/*
 * What the files of the core share.
 *
 * Who owns what: the core owns contexts, events and cgroup references; a context dies with its
 * task, and the task's events stay as long as somebody has their descriptors, with ctx NULL.
 * Clones (events with a parent) have no descriptor: they die with their task, which adds their
 * counts to the parent, or with the parent.
 *
 * Samplers are of an event and a task and end with the first of them.
 *
 * Invariants: leaders that are enabled, and only they, are in a queue of their sched.  An event is
 * ACTIVE only if its leader is.  Before a state or leader changes, times are brought up to date.
 */
#ifndef AP_CORE_INTERNAL_H
#define AP_CORE_INTERNAL_H

#include "base/list.h"
#include "core/core.h"
#include "core/pmu.h"
#include "sampling/ring.h"

#define AP_PMUS_MAX	 32
#define AP_DYNAMIC_TYPE	 AP_PERF_TYPE_MAX /* numbers of PMUs that ask for one start here */
#define AP_ROTATE_NS	 4000000ULL
#define AP_READ_SIZE_MAX (16 * 1024) /* of a group; Linux's bound, a record has to hold it */

enum ap_state {
	AP_STATE_EXIT = -3,  /* its task has ended */
	AP_STATE_ERROR = -2, /* pinned and could not be on the PMU */
	AP_STATE_OFF = -1,
	AP_STATE_INACTIVE = 0, /* enabled, not on the PMU */
	AP_STATE_ACTIVE = 1
};

struct ap_ctx;

/*
 * One PMU of one context: the events that want to be on it, and those that are.  All software PMUs
 * are one.
 */
struct ap_sched {
	struct ap_ctx *ctx;
	struct ap_sched *next;
	struct ap_pmu *pmu; /* NULL: software, where everything fits */
	u32 limit;	    /* counters, 0 unlimited */
	u32 nr_exclusive;   /* queued leaders with attr.exclusive */
	u64 plan;	    /* number of the latest plan */
	u64 used;	    /* numbers in use, where there are as many counters as one likes */
	u64 rotated;	    /* the context's clock at the last rotation */
	struct ap_list pinned, flexible;
	struct ap_list active;	/* leaders on the PMU */
	struct ap_list waiting; /* on core->waiting: some flexible group did not fit */
};

struct ap_ctx {
	struct ap_core *core;
	struct ap_task *task; /* NULL: of a CPU */
	s32 cpu;
	u32 nr_bound;		/* events that count on one CPU only */
	u32 turn;		/* of the next child: where its turns at the counters begin */
	struct ap_list events;	/* in the order of opening */
	struct ap_list telling; /* those of them that want side-band records */
	struct ap_sched soft;
	struct ap_sched *hard;
};

struct ap_task {
	struct ap_core *core;
	struct ap_task_id id;
	void *host;
	u64 serial;    /* names the task after its end, too */
	char comm[16]; /* "": nobody has told it */
	s32 cpu;       /* where it was last seen, -1 nowhere yet */
	struct ap_list all;
	struct ap_list owned; /* events that it opened */
	struct ap_list arms;  /* samplers in it, of its events and of CPUs' */
	struct ap_ctx ctx;
};

/* A data area, of its mapper and of those whose output is redirected into it. */
struct ap_buffer {
	u64 data_pages; /* 0: a control page alone */
	u32 nr_maps;
	bool paused;
	struct ap_ring_map map; /* .ring NULL: nobody writes there */
	u64 at;			/* what samplers call the ring */
	u32 seen;		/* of its wakes */
	struct ap_list users;
	struct ap_list all; /* on core->buffers */
};

struct ap_event {
	struct ap_core *core;
	u64 id;
	struct ap_perf_attr attr;
	struct ap_pmu *pmu;
	struct ap_hw_event hw;
	s32 cpu;
	s32 state;	    /* enum ap_state */
	struct ap_ctx *ctx; /* NULL: ended */
	u64 target;	    /* serial of its task, 0 of a CPU */

	struct ap_event *leader; /* itself, where it is one */
	struct ap_list siblings; /* of a leader */
	struct ap_list sibling;
	u32 nr_siblings;
	u32 generation; /* of a leader: counts joins and leaves */
	u64 planned;	/* of a leader: the plan in which it fits */
	struct ap_sched *sched;
	struct ap_list queue, active;

	struct ap_list in_ctx, all;
	struct ap_list in_telling;
	struct ap_task *owner;
	struct ap_list owned;
	struct ap_event *parent; /* of a clone: the event that was opened */
	struct ap_list children, child;

	/* Times are of stamp on the context's clock; count is of the closed intervals. */
	u64 stamp, enabled, running, count;
	u64 child_enabled, child_running, child_count; /* of clones that are gone */

	struct ap_cgroup *cgroup; /* of events that were opened on one; their clones do the work */
	struct ap_list in_cgroup;

	struct ap_buffer *buffer;
	struct ap_list of_buffer;
	struct ap_perf_page *page;
	struct ap_list in_pages; /* on core->pages, while it has one */
	s32 page_number;	 /* likewise, of a CPU's: of core->cpu_numbers; -1 none */
	u64 page_time;		 /* enabled, as it says */
	bool is_others;		 /* only processes have it mapped that its task is not in */
	u32 nr_maps;
	void *host;

	struct ap_list arms;		/* its samplers */
	struct ap_list in_cpu_sampling; /* on core->cpu_sampling */
	s32 lane;			/* -1 none */
	u64 first_period;		/* of a clone with a frequency */
	u64 carry;			/* of a CPU's event: counted since the last overflow */
	u64 lost;			/* records, but those that live samplers have lost */
	bool is_unseen;			/* of what has ended: ap_event_is_unseen() */
	bool records_munmap;		/* of what was opened: clones look there */
	bool is_split;			/* likewise: ops.part is told of each task's end */
	char *filter;			/* likewise: SET_FILTER's; NULL none */
};

_Static_assert(sizeof(struct ap_event) <= 1024, "memory per event");

/* While something is replayed: the moment at which the task did it. */
struct ap_stamp {
	const struct ap_event *event;
	u64 now, raw;
};

struct ap_core {
	struct ap_core_ops ops;
	void *world;
	struct ap_core_config config;
	struct ap_pmu *pmus[AP_PMUS_MAX];
	u32 nr_pmus;
	u32 next_type;
	u32 ncpus;
	u64 next_id, next_serial;
/* Far from those of the kernel's events, which may be in one evlist with ours. */
#define AP_EVENT_ID_FIRST (1ULL << 40)
	u64 kinds;		 /* wanted now */
	u32 nr_kind[64];	 /* events that want each */
	struct ap_ctx **cpu_ctx; /* made when needed */
	struct ap_list tasks, events, waiting;
	struct ap_list buffers;
	struct ap_list pages;	/* events with a control page */
	u64 cpu_numbers;	/* in use, by those of them that are of a CPU */
	u64 pages_at, pages_ns; /* when they were written last, and how long that is good for */
	struct ap_list armed;	/* samplers of events that are on their PMU */
	struct ap_list cpu_sampling; /* CPUs' events that need samplers in all tasks */
	u32 nr_cpu_knowing;	     /* CPUs' events that want to know of all tasks */
	struct ap_list cgroups;	     /* leaders that were opened on one */
	const struct ap_stamp *at;   /* NULL: now */
};

/* core.c */
void *ap_alloc(struct ap_core *core, u64 size);
void ap_free(struct ap_core *core, void *p, u64 size);
/* What has to be counted for it: also by what its samples show. */
u64 ap_event_kinds(const struct ap_event *e);
int ap_kinds_get(struct ap_core *core, u64 kinds);
void ap_kinds_put(struct ap_core *core, u64 kinds);

/* context.c */
void ap_ctx_init(struct ap_ctx *ctx, struct ap_core *core, struct ap_task *task, s32 cpu);
/* Frees what hangs on it; it has no events any more. */
void ap_ctx_fini(struct ap_ctx *ctx);
u64 ap_ctx_now(const struct ap_ctx *ctx);
AP_MUST_CHECK int ap_sched_of(struct ap_ctx *ctx, struct ap_pmu *pmu, struct ap_sched **out);
/* An enabled leader wants to be on its PMU, or no longer. */
void ap_sched_queue(struct ap_event *leader);
void ap_sched_unqueue(struct ap_event *leader, u64 now);
/* Something about this leader's group has changed: put everybody where they belong. */
void ap_sched_update(struct ap_sched *sched, struct ap_event *leader, u64 now);
/* Nobody ever waits for a counter. */
bool ap_sched_all_fits(const struct ap_sched *s);
/* Could leader's group with this event ever be on its PMU, if it were alone? */
bool ap_sched_could_fit(const struct ap_event *leader, const struct ap_event *event);
/* The task was seen on another CPU. */
void ap_sched_moved(struct ap_ctx *ctx, s32 cpu);

/* parts.c: has nobody looked at its task? */
bool ap_event_is_unseen(const struct ap_event *e);

/* event.c */
static inline bool ap_event_is_soft(const struct ap_event *e)
{
	return e->pmu->flags & AP_PMU_SOFTWARE;
}

/* Counts where its clones do. */
static inline bool ap_event_is_template(const struct ap_event *e)
{
	return e->cgroup && !e->parent;
}

bool ap_event_on_cpu(const struct ap_event *e);
bool ap_event_is_enabled(const struct ap_event *e);
/*
 * Nobody else is concerned by what is done to it: not a group, nor clones, nor events that wait for
 * a counter, nor readers of a mapped page, nor records.
 */
bool ap_event_is_simple(const struct ap_event *e);
void ap_event_update(struct ap_event *e, u64 now);
void ap_group_update(struct ap_event *leader, u64 now);
/* What the event itself has counted, without clones. */
u64 ap_event_own_count(const struct ap_event *e);
/* Of a task that ends, or lives; nothing where nobody has asked for parts. */
void ap_event_tell_part(struct ap_event *e, const struct ap_task *task);
void ap_task_set_comm(struct ap_task *task, const char *comm);
struct ap_task_names ap_names_of(const struct ap_event *e, const struct ap_task *task);
bool ap_group_in(struct ap_event *leader, u64 now);
void ap_group_out(struct ap_event *leader, u64 now);
/* Starts members that were enabled, or joined, while the group is on the PMU. */
bool ap_group_in_members(struct ap_event *leader, u64 now);
void ap_event_enable(struct ap_event *e);
void ap_event_disable(struct ap_event *e);
void ap_event_reset(struct ap_event *e);
/* Off its PMU, with its times up to date. */
void ap_event_stop(struct ap_event *e, u64 now);
AP_MUST_CHECK int ap_event_set_filter(struct ap_event *e, const char *filter);
/* The event's published numbers have changed; a leader's state concerns its members. */
void ap_event_changed(struct ap_event *e);
void ap_group_changed(struct ap_event *leader);

/* life.c */
struct ap_pmu *ap_pmu_of_type(struct ap_core *core, u32 type); /* NULL: none */
struct ap_event *ap_event_new(struct ap_core *core, const struct ap_perf_attr *attr, s32 cpu);
AP_MUST_CHECK int ap_event_init_hw(struct ap_event *e, struct ap_task *task);
/* Into its context and group (leader NULL: one of its own), in the state that it has. */
void ap_event_attach(struct ap_event *e, struct ap_ctx *ctx, struct ap_sched *sched,
		     struct ap_event *leader);
/* Out of them; members of a leader become leaders. */
void ap_event_detach(struct ap_event *e);
void ap_event_free(struct ap_event *e);
void ap_event_end(struct ap_event *e, u64 now); /* its task has ended, or so it is to seem */
void ap_event_fold(struct ap_event *clone);	/* its task has ended: the parent gets its counts */
void ap_event_drop_clones(struct ap_event *e);

/* inherit.c */
AP_MUST_CHECK int ap_event_clone(struct ap_event *of, struct ap_task *task, struct ap_event *leader,
				 struct ap_event **out);
/* The whole group of a leader. */
AP_MUST_CHECK int ap_group_clone(struct ap_event *of, struct ap_task *task);

/* cgroup.c */
AP_MUST_CHECK int ap_cgroup_spread(struct ap_event *e); /* a new template: clones for all tasks */
AP_MUST_CHECK int ap_cgroup_task(struct ap_task *task); /* a new task: clones of all templates */

/* open.c: -1 is the default one */
s32 ap_event_clockid(const struct ap_event *e);

/* read.c */
u64 ap_read_size(u64 read_format, u32 nr_events);
/* What the event, or its group, has counted without clones: how many words. */
u32 ap_read_own(struct ap_event *e, u64 words[AP_READ_SIZE_MAX / 8]);

/* sampler.c */
AP_MUST_CHECK int ap_sampling_check(struct ap_event *e);
/* task NULL: the event is of a CPU */
AP_MUST_CHECK int ap_samplers_make(struct ap_event *e, struct ap_task *task);
void ap_samplers_free(struct ap_event *e);
AP_MUST_CHECK bool ap_samplers_arm(struct ap_event *e); /* false: no memory */
void ap_samplers_disarm(struct ap_event *e);
AP_MUST_CHECK int ap_samplers_task(struct ap_task *task); /* a new one */
void ap_samplers_moved(struct ap_task *task);
void ap_samplers_leave(struct ap_task *task);
void ap_samplers_set_output(struct ap_event *e); /* its own and its clones' */
void ap_samplers_set_period(struct ap_event *e, u64 period);
void ap_samplers_set_sig_data(struct ap_event *e);
void ap_samplers_refresh(struct ap_event *e, u64 n);
u64 ap_samplers_period(const struct ap_event *e);
u64 ap_samplers_lost(const struct ap_event *e);
u64 ap_samplers_tick(struct ap_core *core); /* ns until the next, 0 never */

/* sideband.c */
bool ap_event_tells(const struct ap_event *e); /* it wants side-band records */
/* Into and out of its context; or it has come to want them. */
void ap_event_begin_telling(struct ap_event *e);
void ap_event_end_telling(struct ap_event *e);
void ap_tell_exit(struct ap_task *task);
void ap_tell_unthrottled(struct ap_event *e);
void ap_tell_read(struct ap_event *clone); /* it is off its PMU */

/* page.c */
void ap_page_update(struct ap_event *e);
void ap_page_leave(struct ap_event *e);
/* Times go on in pages that nothing else has written meanwhile; ns until the next look, 0 never. */
u64 ap_pages_tick(struct ap_core *core);
void ap_event_poll_changed(struct ap_event *e);
AP_MUST_CHECK int ap_output_set(struct ap_event *e, struct ap_event *target);
void ap_buffer_leave(struct ap_event *e);
/* Where a sampler of this event writes to. */
void ap_buffer_of_sampler(const struct ap_event *e, struct ap_sampler *s);
void ap_buffer_woken(struct ap_buffer *b);
int ap_output_pause(struct ap_event *e, bool pause);

#endif
