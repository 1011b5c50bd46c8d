/* SPDX-License-Identifier: MIT */
/*
 * perfctr in a session: the service's world is the supervisor's tasks, and each state has a CPU of
 * its own, a model that is fed with what its task has counted.  docs/design/perfctr.md, "In a
 * session".
 *
 *   host_perfctr.c      requests: the device's ioctls, descriptors, mappings
 *   host_perfctr_cpu.c  a state's CPU: making and feeding it, events and marks in the core
 *   host_perfctr_global.c  counters of CPUs
 */
#ifndef AP_LINUX_HOST_PERFCTR_H
#define AP_LINUX_HOST_PERFCTR_H

#include "linux/host/host_internal.h"
#include "perfctr/codec.h"
#include "perfctr/model/x86.h"

#define AP_HOST_VCTR_MARKS (AP_X86CTR_MAX + 1) /* and one for the clock's wrap */

struct ap_host_vctr {
	struct ap_vctr v; /* first */
	struct ap_host *host;
	struct ap_x86ctr drv;
	struct ap_x86ctr_cache cache;
	struct ap_x86model model;
	struct ap_x86model_cpu cpu;
	u64 page_at;	       /* of what programs map, in ap_host.pages */
	u64 fed[AP_RAW_N];     /* of the task's raw counts, so much is in the registers */
	u64 fed_ticks;	       /* likewise */
	bool is_mapped;	       /* has been */
	struct ap_event *keep; /* has the core count what the registers do */
	u64 keep_kinds;
	struct ap_event *marks[AP_HOST_VCTR_MARKS]; /* where the task is to stop */
	u64 mark_kinds[AP_HOST_VCTR_MARKS];
	u32 nmarks;
	struct ap_svc_overflow due; /* to the owner; signo 0: nothing */
};

static inline struct ap_host_vctr *ap_host_vctr_of(struct ap_vctr *v)
{
	return (struct ap_host_vctr *)v;
}

static inline struct ap_host_task *ap_host_vctr_task(const struct ap_host_vctr *p)
{
	return p->v.owner;
}

/* The session's CPU, and what perfctr says of it. */
const struct ap_x86model_family *ap_host_vctr_family(const struct ap_host *host);
u32 ap_host_vctr_khz(struct ap_host *host);

/* A driver on a model of ncpus; -errno. */
AP_MUST_CHECK int ap_host_vctr_cpu_init(struct ap_host *host, struct ap_x86ctr *drv,
					struct ap_x86ctr_cache *caches, struct ap_x86model *model,
					struct ap_x86model_cpu *cpus, u32 ncpus);

/* What has happened on a CPU, to be counted in steps that no counter of 32 bits loses count of. */
struct ap_host_vctr_step {
	struct ap_x86model *model; /* its CPU that runs */
	struct ap_x86ctr *drv;
	struct ap_x86ctr_state *state; /* that is on; NULL: none is */
	u64 delta[AP_KIND_N], ticks;
	u64 most; /* of any counter */
};
void ap_host_vctr_step_most(struct ap_host_vctr_step *s, u64 delta);
void ap_host_vctr_step(struct ap_host_vctr_step *s);

/* Global counters: the device's GPERFCTR ioctls. */
s64 ap_host_gctr_serve(struct ap_host *host, struct ap_host_task *caller, struct ap_svc *svc);

/* Begins with what the task has counted by now. */
void ap_host_vctr_start(struct ap_host_vctr *p, struct ap_host_task *t);
/* What the task has counted since gets into its registers; may overflow. */
void ap_host_vctr_feed(struct ap_host_vctr *p);
/* Has counted what the registers ask for, and the task stop where one overflows.  0 or -errno. */
AP_MUST_CHECK int ap_host_vctr_arm(struct ap_host_vctr *p);
void ap_host_vctr_disarm(struct ap_host_vctr *p);
/* What programs map, and what rdpmc gives. */
void ap_host_vctr_publish(struct ap_host_vctr *p);

#endif
