/* SPDX-License-Identifier: MIT */
/*
 * The perf_events subsystem: what perf_event_open(2) and everything behind its descriptors mean.
 * Portable C: it sees the world through struct ap_core_ops, runs in one thread, and is told by its
 * host what happens to tasks.  docs/design/core.md has the reasons.
 *
 * Time and counts.  A task's context has the task's own CPU time as its clock, so a task that
 * sleeps needs no scheduling out; the host never calls at a context switch.  An event on the PMU is
 * an interval of raw counters that ops->raw reads; it is closed and opened at rotation, at enable
 * and disable, and at the end of the task.  Per-CPU contexts have wall time.
 *
 * Errors: 0 or a positive value, or -errno with Linux's numbers (abi/errno.h).
 */
#ifndef AP_CORE_CORE_H
#define AP_CORE_CORE_H

#include "abi/perf.h"
#include "abi/raw.h"
#include "abi/sampler.h"
#include "abi/trace.h"
#include "base/types.h"

struct ap_core;	 /* one session's subsystem */
struct ap_task;	 /* a thread, as the core knows it */
struct ap_event; /* one event; its file, while somebody has a descriptor of it */
struct ap_pmu;
struct ap_cgroup;
struct ap_ring_map;	  /* sampling/ring.h */
struct ap_record_mapping; /* sampling/record.h */
struct ap_perf_ns_link;	  /* abi/record.h */

/* Counters that only the world has: software events. */
enum ap_world_counter {
	AP_WORLD_PAGE_FAULTS,
	AP_WORLD_FAULTS_MIN,
	AP_WORLD_FAULTS_MAJ,
	AP_WORLD_ALIGNMENT_FAULTS,
	AP_WORLD_EMULATION_FAULTS,
	AP_WORLD_FAULTS_N,
	/* the same, those that were taken in user mode, in kernel mode */
	AP_WORLD_USER_FAULTS = AP_WORLD_FAULTS_N,
	AP_WORLD_KERNEL_FAULTS = 2 * AP_WORLD_FAULTS_N,
	AP_WORLD_CONTEXT_SWITCHES = 3 * AP_WORLD_FAULTS_N,
	AP_WORLD_MIGRATIONS,
	AP_WORLD_CGROUP_SWITCHES,
	AP_WORLD_N
};

/* Memory or code to be watched; the breakpoint driver has checked it. */
struct ap_world_bp {
	u64 addr;
	u32 len;  /* 1, 2, 4 or 8, addr a multiple of it; code: the address alone */
	u32 type; /* AP_HW_BREAKPOINT_W, _RW or _X */
	/*
	 * Of code: addr is an offset in this file (major << 20 | minor); ino 0: it is an address.
	 */
	u64 dev, ino;
	bool is_counter; /* with ino: nothing is counted, the probe's reference counter at this offset is raised */
	u64 counter;
	bool is_return; /* with ino: of the function that begins there its returns */
	bool is_locked; /* of code: all instructions that lock what they access; there is no address */
};

/* Who is told what of an event (ops->wake). */
#define AP_WAKE_POLL (1u << 0) /* poll has another answer: ap_core_poll */
#define AP_WAKE_IN   (1u << 1) /* an overflow: a signal with POLL_IN, where one was asked for */
#define AP_WAKE_HUP  (1u << 2) /* the last one that REFRESH allowed: with POLL_HUP */

/* What one task has counted of an event that is split (ap_core_split). */
struct ap_part {
	u64 task; /* its serial number: later ones are greater */
	s32 tid;
	const char *comm; /* "": unknown; of events with attr.comm it is known */
	u64 count, enabled, running;
};

/* Of a task, as the opener of the event sees them; 0 where it does not. */
struct ap_task_names {
	s32 pid, tid, ppid, ptid;
};

/*
 * The world.  Each is called with core->world first.  `host` is what the host gave with the task.
 * NULL is allowed where it says so and means "not on this port" (the null port has none of those).
 */
struct ap_core_ops {
	void *(*alloc)(void *world, u64 size); /* zeroed, NULL when there is none */
	void (*free)(void *world, void *p, u64 size);
	u64 (*clock)(void *world); /* ns, monotonic: wall time of per-CPU contexts */

	/* Tasks.  task_time: CPU time in ns; both never go backwards, also after the task's end. */
	u64 (*task_time)(void *world, void *host);
	/* Sum of the raw counters of the kinds in the set, of one task. NULL: no emulated PMU. */
	u64 (*raw)(void *world, void *host, u64 kinds);
	/* The same of all tasks that were ever seen on a CPU, as far as they counted there. */
	u64 (*cpu_raw)(void *world, s32 cpu, u64 kinds);
	/*
	 * Kinds that are to be counted from now on in every task: 0, or -errno where they cannot.
	 */
	int (*want_kinds)(void *world, u64 kinds);
	/*
	 * Those of AP_KINDS_BASE that will be read, of any task: a world may leave out others.  Or
	 * NULL.
	 */
	void (*need_kinds)(void *world, u64 kinds);
	/*
	 * Can the task count them from now on?  0, or -errno that its event gets.  NULL: all can.
	 */
	int (*may_count)(void *world, void *host, u64 kinds);
	/*
	 * Nothing of the task has been counted of these kinds, since models see a part of a run:
	 * shown alone its event has not run.  NULL: all is looked at.
	 */
	bool (*is_unseen)(void *world, void *host, u64 kinds);
	/* A software counter of a task, or of a CPU (host NULL); -EOPNOTSUPP where nobody knows. */
	int (*world_counter)(void *world, void *host, s32 cpu, enum ap_world_counter which, u64 *v);
	u32 (*ncpus)(void *world); /* CPUs are numbered 0..ncpus-1 */
	/*
	 * Optional: where a task is now, for records that name a CPU.  < 0: where it was seen last
	 */
	s32 (*cpu_of)(void *world, void *host);

	/* Who is asked for.  find_task: -ESRCH.  event_of_fd: of the caller's, NULL: no perf fd. */
	int (*find_task)(void *world, struct ap_task *caller, s32 pid, struct ap_task **out);
	struct ap_event *(*event_of_fd)(void *world, struct ap_task *caller, s32 fd);
	bool (*may_trace)(void *world, struct ap_task *caller, struct ap_task *target);
	/* CAP_PERFMON or CAP_SYS_ADMIN; the session's owner has it towards the session. */
	bool (*is_privileged)(void *world, struct ap_task *caller);
	/* A cgroup by the caller's descriptor, -EBADF; is the task in it?  NULL: no cgroups. */
	int (*cgroup_of_fd)(void *world, struct ap_task *caller, s32 fd, struct ap_cgroup **out);
	bool (*cgroup_has)(void *world, struct ap_cgroup *cg, void *host);
	void (*cgroup_put)(void *world, struct ap_cgroup *cg);

	/*
	 * What is published for readers in the task (NULL: nothing is): the event's interval was
	 * opened, closed or its base changed.  The host copies what ap_event_public gives.
	 */
	void (*publish)(void *world, struct ap_event *event);

	/*
	 * User accesses to watched memory, by one task or by all that are on a CPU (host NULL).
	 * bp_arm gives the watch a name and counts from then on, until bp_disarm; -errno where it
	 * cannot.  NULL (all of them): such events are -EOPNOTSUPP.  bp_can says at an event's
	 * opening what bp_arm would; NULL: it can all.
	 */
	int (*bp_can)(void *world, void *host, s32 cpu, const struct ap_world_bp *bp);
	int (*bp_arm)(void *world, void *host, s32 cpu, const struct ap_world_bp *bp, u64 *watch);
	u64 (*bp_count)(void *world, u64 watch);
	void (*bp_disarm)(void *world, u64 watch);
	/* No event that watches data is open any more.  NULL: nothing was done for them. */
	void (*bp_no_data)(void *world);
	/* ap_sampler.which of a watch; NULL: such events have no periods. */
	u32 (*bp_place)(void *world, u64 watch);
	/*
	 * An event uses what the world has numbered so for the samples of a probe, or (by: -1) does
	 * not any more.
	 */
	void (*form_use)(void *world, u32 form, s32 by);
	/*
	 * How often a task passed a tracepoint (abi/trace.h), or all on a CPU (host NULL): any
	 * count that only grows.  The first call for an id has it counted from then on, everywhere.
	 * -ENOENT where nobody can; NULL: nobody can count any.
	 */
	int (*trace_count)(void *world, void *host, s32 cpu, u32 id, u64 *v);
	/*
	 * What passes a filter (abi/trace.h) has an id of its own for trace_count, until it has
	 * been given back as often as it was asked for; -ENOSPC: there are too many.  NULL: nobody
	 * interprets any.
	 */
	int (*trace_filter)(void *world, const struct ap_trace_filter *filter, u32 *id);
	void (*trace_unfilter)(void *world, u32 id);

	/*
	 * Sampling: docs/design/sampling.md.  sampler_new NULL: a period is -EOPNOTSUPP, but for
	 * events that never overflow.
	 *
	 * want_lane: code counts the sum of these kinds down in a lane from now on, until put_lane;
	 * -ENOSPC when there is none left.  Calls are counted, equal sets share a lane.
	 */
	int (*want_lane)(void *world, u64 kinds, u32 *lane);
	/*
	 * Are overflows of this source seen here?  0 or -EOPNOTSUPP; NULL: all but AP_SAMPLE_FAULT,
	 * _WORLD.
	 */
	int (*may_sample)(void *world, u32 source);
	void (*put_lane)(void *world, u32 lane);
	/*
	 * A zeroed sampler that the task can see, for the event (its clone in this task, or the
	 * CPU's).  The core fills it; sampler_link shows it to the task, not armed.  sampler_free
	 * unlinks it first; the task does not write by it when that returns.
	 */
	int (*sampler_new)(void *world, void *host, struct ap_event *event,
			   struct ap_sampler **out);
	void (*sampler_link)(void *world, void *host, struct ap_sampler *s);
	void (*sampler_free)(void *world, void *host, struct ap_sampler *s);
	/*
	 * The lock of all samplers of a task.  kick: its thread is to look at them before it goes
	 * on for long (sampler_gen, budgets of -1 until it has).
	 */
	void (*sampler_lock)(void *world, void *host);
	void (*sampler_unlock)(void *world, void *host, bool kick);
	/*
	 * Its source's value, as the thread computes it: of the same moment as what ops->raw and
	 * task_time give the core in the same call.
	 */
	u64 (*sampler_value)(void *world, void *host, const struct ap_sampler *s);
	/*
	 * What the sampler's task is to call the ring that core_mmap_ring() was told of as at;
	 * NULL: so.
	 */
	u64 (*sampler_ring)(void *world, struct ap_sampler *s, const struct ap_ring_map *map,
			    u64 at);
	/* Who waits for the event is told; always of what was opened, never of a clone. */
	void (*wake)(void *world, struct ap_event *event, u32 what);
	/* attr.clockid's time; NULL: the core's clock. */
	u64 (*clock_id)(void *world, s32 clockid);
	/* The CPU to others, for the n-th time, where a writer holds a ring; NULL: nothing. */
	void (*yield)(void *world, u32 n);
	/*
	 * Nobody writes to a ring under this name (AP_RING_NAME) any more; NULL: it is not known.
	 */
	bool (*writer_is_dead)(void *world, const struct ap_ring_map *map, u32 name);
	/* Names for records; NULL: ap_task_id, without parents. */
	void (*task_names)(void *world, const struct ap_event *event, void *host,
			   struct ap_task_names *out);
	/*
	 * A task's part of an event that was opened: at the task's end, or where ap_core_tell_parts
	 * asks.  NULL: nothing.
	 */
	void (*part)(void *world, struct ap_event *event, const struct ap_part *part);
};

struct ap_core_config {
	s32 paranoid;	/* perf_event_paranoid: -1..3 */
	u32 counters;	/* of the cpu PMU, per task; 0 as many as anybody asks for */
	bool user_only; /* accept events without exclude_kernel, and count user mode */
	u32 max_sample_rate;
	/*
	 * A fixed period is never throttled: it promises count / period samples.  The rate
	 * holds for frequencies, which choose their periods themselves.
	 */
	bool only_frequencies_throttle;
	/*
	 * Cycles of a modelled machine in a microsecond, which no time of ours says anything about;
	 * 0: it is not known.
	 */
	u32 cycles_mhz;
	/*
	 * Threads learn by themselves that a clock's time has come; ticks are for those that do not
	 * run.
	 */
	bool clocks_are_prompted;
	u32 max_stack;
	bool has_no_contexts; /* perf_event_max_contexts_per_stack is 0: callchains are empty */
	u64 rotate_ns;	      /* CPU time between rotations; 0: 4 ms */

	/* What the port has; zeroes are a port that has none of it. */
	u64 regs; /* that samples can carry: AP_PERF_REGS_X86_64; 0: asking for some is -ENOSYS */
	bool has_user_stack;   /* samples can carry the user's stack */
	bool has_branch_stack; /* and the branches before them */
	u64 absent; /* kinds of what its machine does not have: an event of nothing else is -ENOENT */
	u32 issue;     /* slots that a cycle of its machine has; 0: their events are -ENOENT */
	u16 pmc_width; /* of what rdpmc gives: the low bits of raw() and pmc_bias; 0: all 64 */
	u64 pmc_bias;
	/*
	 * Control pages: ops->clock's time is time_zero + (cycles * mult >> shift); mult 0:
	 * unknown.
	 */
	u16 time_shift;
	u32 time_mult;
	u64 time_zero;
	/*
	 * Nobody hears of context switches: a task's time stands still unseen, so its page gives
	 * the conversion for records, and no offset to compute times of the event with.
	 */
	bool task_time_is_unseen;
};

AP_MUST_CHECK int ap_core_new(struct ap_core **out, const struct ap_core_ops *ops, void *world,
			      const struct ap_core_config *config);
void ap_core_free(struct ap_core *core);
/* Drivers are asked in the order of registration; type 0 gives the next dynamic number. */
AP_MUST_CHECK int ap_core_register_pmu(struct ap_core *core, struct ap_pmu *pmu);
struct ap_core_config *ap_core_config(struct ap_core *core);

/* --- tasks, told by the host.  A task that nobody counts needs none of these. */

struct ap_task_id {
	s32 pid, tid; /* as the session's owner sees them */
};
AP_MUST_CHECK int ap_core_task_new(struct ap_core *core, const struct ap_task_id *id, void *host,
				   struct ap_task **out);
void *ap_task_host(const struct ap_task *task);
struct ap_task_id ap_task_id(const struct ap_task *task);
/* Has events of its own or inherits some: the host must report its forks, execs and its end. */
bool ap_task_is_watched(const struct ap_task *task);
/*
 * There are events on cgroups, or on CPUs with samples, side-band records or counts that the host
 * has by task: the host must tell of all tasks of the session, also old ones.
 */
bool ap_core_wants_tasks(const struct ap_core *core);
/* It is sampled by events that are of one CPU: it matters where it is (ap_core_task_on_cpu). */
bool ap_task_samples_on_a_cpu(const struct ap_task *task);
/* The same, where it has events that count on one CPU only. */
bool ap_task_counts_on_a_cpu(const struct ap_task *task);
bool ap_core_has_cgroups(const struct ap_core *core); /* events of any */
/* The task is in another cgroup now. */
AP_MUST_CHECK int ap_core_task_moved_cgroup(struct ap_core *core, struct ap_task *task);
/* child was made by parent: inherits what is to be inherited.  Before child's first instruction. */
AP_MUST_CHECK int ap_core_fork(struct ap_core *core, struct ap_task *parent, struct ap_task *child,
			       bool is_thread);
/* The image is replaced; tid: the task keeps its id, others of its process were reported exited. */
void ap_core_exec(struct ap_core *core, struct ap_task *task);
/* Its counters and time are final and readable during this call, and not after it. */
void ap_core_exit(struct ap_core *core, struct ap_task *task);
/*
 * What happens to tasks, for the events that record it: written before these return.  Those that a
 * task's events ask for: the host may leave the others out.
 */
#define AP_TELL_MAPPED	   (1u << 0) /* executable mappings */
#define AP_TELL_MAPPED_ALL (1u << 1) /* all mappings */
#define AP_TELL_COMM	   (1u << 2)
#define AP_TELL_TASK	   (1u << 3) /* forks; ends the host must tell anyway */
#define AP_TELL_NAMESPACES (1u << 4)
#define AP_TELL_SWITCH	   (1u << 5)
#define AP_TELL_CGROUP	   (1u << 6)
#define AP_TELL_UNMAPPED   (1u << 7)	       /* executable mappings that go */
u32 ap_task_tells(const struct ap_task *task); /* AP_TELL_* */
void ap_core_mapped(struct ap_core *core, struct ap_task *task, const struct ap_record_mapping *m);
void ap_core_unmapped(struct ap_core *core, struct ap_task *task,
		      const struct ap_record_mapping *m);
void ap_core_comm(struct ap_core *core, struct ap_task *task, const char *comm, bool is_exec);
/* The task has given another one of its process a name: the record is of that, and the task's. */
void ap_core_comm_of(struct ap_core *core, struct ap_task *task, struct ap_task *of,
		     const char *comm);
/* After ap_core_fork, when the child's names are known and before it is sampled. */
void ap_core_forked(struct ap_core *core, struct ap_task *parent, struct ap_task *child);
/* of: the task itself, which is in others now; or its child, told behind ap_core_forked. */
void ap_core_namespaces(struct ap_core *core, struct ap_task *task, struct ap_task *of,
			const struct ap_perf_ns_link *links, u32 nr);
/* The task has left its CPU, or is on one again. */
struct ap_switch {
	u64 time; /* by ops->clock: it may be told late, but in order */
	s32 cpu;
	bool is_out, is_preempted;
	bool is_told;		  /* the events of the CPU have heard of it, or will */
	bool is_named;		  /* the next task, or the one before: */
	u32 other_pid, other_tid; /* by the names of the host; of the idle task 0 */
};
void ap_core_switched(struct ap_core *core, struct ap_task *task, const struct ap_switch *sw);
/* The same to the events of the CPU alone; and does any of them want it? */
void ap_core_switched_on_cpu(struct ap_core *core, struct ap_task *task,
			     const struct ap_switch *sw);
bool ap_core_cpu_wants_switches(const struct ap_core *core, s32 cpu);
void ap_core_cgroup_made(struct ap_core *core, struct ap_task *task, u64 id, const char *path);

/*
 * A count of AP_SAMPLE_WORLD has grown by one to value, at what d says (its pids, period and words
 * of READ are the core's business): s, of event in task, may overflow.  True: that was the last
 * that REFRESH allowed, and samplers may be gone.
 */
struct ap_sample_data;
bool ap_core_sampled(struct ap_core *core, struct ap_task *task, struct ap_event *event,
		     struct ap_sampler *s, u64 value, struct ap_sample_data *d);
/* A thread has overflowed and tells (AP_SVC_WAKE): the event is the one it was opened as. */
void ap_core_overflowed(struct ap_core *core, struct ap_event *event);
/* Some ring's .wakes may have changed: a waiter is told. */
void ap_core_rings_woken(struct ap_core *core);
/*
 * A whole record of a sampler's that a task has written elsewhere goes to the event's ring, with
 * the event's ids.
 */
void ap_core_carry(struct ap_core *core, struct ap_event *e, u64 *record, u32 size);
/* The writer of this name (AP_RING_NAME) is dead: what it holds is free. */
void ap_core_writer_died(struct ap_core *core, u32 party, u32 name);

/* Per-CPU contexts see tasks move: the host calls it when it learns of a task's CPU. */
void ap_core_task_on_cpu(struct ap_core *core, struct ap_task *task, s32 cpu);

/* --- calls of programs */

struct ap_open_args {
	const struct ap_perf_attr *attr; /* size already negotiated by ap_perf_attr_copy */
	s32 pid, cpu, group_fd;
	u64 flags;
};
/*
 * The event has one reference: the descriptor that the host makes, given back by ap_core_release.
 */
/* The limits change: of what is sampled already, too; and is there any event with callchains? */
void ap_core_set_sample_rate(struct ap_core *core, u32 rate);
bool ap_core_has_callchains(const struct ap_core *core);
/*
 * What ap_core_open says of the attributes and the caller's rights, before it looks at anything
 * else.
 */
AP_MUST_CHECK int ap_core_may_open(struct ap_core *core, struct ap_task *caller,
				   const struct ap_perf_attr *attr);
AP_MUST_CHECK int ap_core_open(struct ap_core *core, struct ap_task *caller,
			       const struct ap_open_args *args, struct ap_event **out);
/* The last descriptor is gone. */
void ap_core_release(struct ap_core *core, struct ap_event *event);
/* read(2): bytes written, 0 in the error state, -ENOSPC.  buf has size bytes. */
s64 ap_core_read(struct ap_core *core, struct ap_event *event, void *buf, u64 size);
/*
 * What a sample of the event has there (PERF_SAMPLE_READ): of a sampler's event, which may be a
 * clone, what it has counted in its own task.  buf is aligned.
 */
s64 ap_core_read_sample(struct ap_core *core, struct ap_event *event, void *buf, u64 size);

struct ap_ioctl_args {
	u32 cmd;
	u64 arg;	/* as the program passed it */
	const void *in; /* what arg points to, for commands that read memory; else NULL */
	u64 in_size;
	void *out; /* for those that write it: 8 bytes for ID, 4 + ids for QUERY_BPF */
	u64 out_size;
};
s64 ap_core_ioctl(struct ap_core *core, struct ap_task *caller, struct ap_event *event,
		  struct ap_ioctl_args *args);
/* PR_TASK_PERF_EVENTS_ENABLE/DISABLE: all events that the caller opened, as measured on Linux. */
void ap_core_prctl(struct ap_core *core, struct ap_task *caller, bool enable);
/*
 * An enable, disable or reset (cmd) that the counted task did in place (ap_event_public.is_simple)
 * at an earlier moment, told in order: the event's raw counters and the task's time were these
 * then.  What is older than the event's last change counts as of that; the host bounds the other
 * end.
 */
void ap_core_replay(struct ap_core *core, struct ap_event *event, u32 cmd, u64 raw, u64 now);
/*
 * mmap(2) of pages 4 KiB pages in all; page is where the control page lies for the core, kept up
 * to date until ap_core_munmap, which may be called with mappings in place elsewhere.
 */
AP_MUST_CHECK int ap_core_mmap(struct ap_core *core, struct ap_task *caller, struct ap_event *event,
			       u64 pages, bool is_writable, struct ap_perf_page *page);
/*
 * The same with a data area: where the core has it (.page is the control page), and what samplers
 * call it (ap_sampler.ring).  .flags is the core's business.  From ap_core_munmap of the last
 * mapping on nobody writes there any more.
 */
AP_MUST_CHECK int ap_core_mmap_ring(struct ap_core *core, struct ap_task *caller,
				    struct ap_event *event, u64 pages, bool is_writable,
				    const struct ap_ring_map *ring, u64 at);
void ap_core_munmap(struct ap_core *core, struct ap_event *event);
/*
 * What rdpmc of a counter gives where the event's control page names it, as of now; false: it does
 * not.  Who asks about an event of its own may compute it (ap_event_public).
 */
AP_MUST_CHECK bool ap_core_pmc(struct ap_core *core, const struct ap_event *event, u32 counter,
			       u64 *value);
/* Only processes that the event's task is not in have it mapped, or no longer. */
void ap_event_set_others(struct ap_event *event, bool is_others);
/* poll(2): POLLHUP (0x10) without a buffer or after the task's end, POLLIN (1) with news. */
u32 ap_core_poll(struct ap_core *core, struct ap_event *event);
/* What it would give, without taking POLLIN with it. */
u32 ap_core_would_poll(struct ap_core *core, const struct ap_event *event);

/* Rotates what is due; ns of wall time until it wants to be called again, 0 never. */
u64 ap_core_tick(struct ap_core *core);

/* --- what the host may ask of an event */

u64 ap_event_id(const struct ap_event *event);
void *ap_event_host(const struct ap_event *event);
void ap_event_set_host(struct ap_event *event, void *host);
/* As it was opened. */
const struct ap_perf_attr *ap_event_attr(const struct ap_event *event);
struct ap_task *ap_event_task(const struct ap_event *event); /* NULL per CPU, or ended */
/*
 * From now on ops.part is told what each task that ends has counted of it; and of those that live,
 * now.
 */
void ap_core_split(struct ap_core *core, struct ap_event *event);
void ap_core_tell_parts(struct ap_core *core, struct ap_event *event);
/* What was opened: of a clone its parent, else itself. */
struct ap_event *ap_event_opened(const struct ap_event *event);

/*
 * How a reader in the counted task itself computes what read(2) would give, without a call:
 * count = base + raw(kinds) while is_active, else base.  Times likewise with the task's CPU time.
 */
struct ap_event_public {
	u64 id;
	u64 kinds; /* 0: not computable in place, ask */
	u64 base;  /* sum of children and closed intervals, minus raw at the open one's start */
	u64 enabled_base; /* + CPU time while is_enabled */
	u64 running_base; /* + CPU time while is_active */
	u64 read_format;
	u32 is_enabled, is_active;
	u32 nr_siblings;
	u32 is_error;  /* read gives 0 bytes */
	u32 is_simple; /* enable, disable, reset concern this event alone and its task may do them */
	u32 may_wait;  /* while it is on it may be put off for another: not all fit */
	u32 may_lose;  /* records: the task cannot know how many */
	u64 counts;    /* kinds, whoever may compute them */
	s32 cpu;       /* -1 any */
};
void ap_event_public(const struct ap_event *event, struct ap_event_public *out);
/* The next member of its group, in the order of read(2); NULL: it is the last. */
struct ap_event *ap_event_next(const struct ap_event *event);
struct ap_event *ap_event_leader(const struct ap_event *event);
struct ap_event *ap_event_sibling(const struct ap_event *leader, u32 n); /* NULL: no more */

#endif
