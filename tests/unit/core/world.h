/* SPDX-License-Identifier: MIT */
/*
 * A fake world for the core: a clock, CPUs and tasks that advance as they are told, and PMU drivers
 * of its own.  A task that runs counts n * (k + 1) of raw kind k, so that every kind is known by its
 * size.
 */
#ifndef AP_TESTS_CORE_WORLD_H
#define AP_TESTS_CORE_WORLD_H

#include "abi/errno.h"
#include "core/core.h"
#include "core/pmu.h"

#define NCPUS	 4
#define NTASKS	 64
#define NFDS	 64
#define NKINDS	 32
#define MS	 1000000ULL
#define BP_SLOTS 4

struct fake_task {
	struct ap_task *task; /* NULL: the core does not know it */
	u64 time;
	u64 raw[NKINDS];
	s32 cpu;
	int cgroup;
	bool is_locked; /* its samplers */
	u32 kicks;
};

struct world {
	struct ap_core *core;
	struct ap_core_ops ops;
	struct ap_core_config config;
	u64 clock;
	struct fake_task tasks[NTASKS]; /* pid = index + 100 */
	u64 cpu_raw[NCPUS][NKINDS];
	struct ap_event *fds[NFDS];
	bool privileged, may_trace;
	u64 kinds;
	u32 bp_used;
	bool refuse_start;		     /* the software driver cannot open intervals */
	void (*on_start)(struct world *w);   /* called when it opens one */
	void (*on_cpu_raw)(struct world *w); /* when a CPU's counts are read */
	s32 allocs_left;		     /* < 0: as many as one likes */
	u64 nr_allocs, bytes, nr_published, nr_raw_reads, nr_asked_who;
	struct ap_pmu sw, cpu, bp, dyn, other;
};

/* Types of the fake drivers that ask for a number, in the order of registration. */
#define TYPE_DYN   (AP_PERF_TYPE_MAX + 0) /* NO_EXCLUDE, NO_SAMPLING, software */
#define TYPE_OTHER (AP_PERF_TYPE_MAX + 1) /* another PMU with one counter */

void world_init(struct world *w); /* counters and so on are set in w->config before world_start */
void world_start(struct world *w);
void world_begin(struct world *w, u32 counters); /* both, and task 0 */
void world_end(struct world *w);		 /* and checks that nothing has leaked */

struct ap_task *world_task(struct world *w, u32 n); /* task n, made known to the core */
void world_run(struct world *w, u32 task, u64 ns, u64 n);
void world_exit(struct world *w, u32 task);
u32 world_fork(struct world *w, u32 parent, bool is_thread); /* the child's number */
void world_move(struct world *w, u32 task, s32 cpu);

/* attrs: enabled, exclude_kernel */
struct ap_perf_attr attr_instr(void);
struct ap_perf_attr attr_kind(u32 kind, u64 counters); /* that fits on these; 0 any */
struct ap_perf_attr attr_task_clock(void);

/* Opens for task 0; a failure is -errno. */
int world_open(struct world *w, const struct ap_perf_attr *attr, s32 pid, s32 cpu, s32 group_fd,
	       u64 flags);
int open_as(struct world *w, u32 caller, const struct ap_perf_attr *attr, s32 pid, s32 cpu,
	    s32 group_fd, u64 flags);
int open_on(struct world *w, const struct ap_perf_attr *attr, s32 group_fd); /* task 0 on itself */
int open_for(struct world *w, struct ap_perf_attr attr, s32 pid, s32 cpu);   /* it can be opened */
void world_close(struct world *w, int fd);
s64 world_ioctl(struct world *w, int fd, u32 cmd, u64 arg);
u64 read_count(struct world *w, int fd); /* the first word */
/* value, time enabled, time running of a descriptor with both times */
void expect_reads(struct world *w, int line, int fd, u64 value, u64 enabled, u64 running);
s64 read_words(struct world *w, int fd, u64 *words, u32 n);

#endif
