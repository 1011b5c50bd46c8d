/* SPDX-License-Identifier: MIT */
/*
 * Samplers: what a thread must know of the sampling events that count in it, in the session file.
 * One per event and task: clones have their own.  docs/design/sampling.md.
 *
 * The supervisor makes them, links them to the task's slot and increments ap_slot.sampler_gen.
 * Tasks map them to be read: where another's samples go is nothing that a stray pointer may change.
 * What changes while it samples is in struct ap_sampling, under ap_slot.sampler_lock, by the thread
 * or the supervisor, and is numbers alone: wrong ones make wrong samples, and nothing worse.
 */
#ifndef AP_ABI_SAMPLER_H
#define AP_ABI_SAMPLER_H

#include "abi/perf.h"
#include "base/types.h"

#define AP_LANE_MAX	 8U    /* kind sets that are sampled at the same time in a session */
#define AP_SAMPLER_MAX	 8192U /* in a session */
#define AP_SAMPLER_NONE	 0U    /* in links: index + 1 */
#define AP_SAMPLER_SIZE	 256U  /* from one to the next */
#define AP_SAMPLING_SIZE 128U

enum ap_sampler_source {
	AP_SAMPLE_LANE = 1, /* raw counts of .kinds reach .next */
	AP_SAMPLE_WATCH,    /* .which: index into the slot's watch counters; .next likewise */
	AP_SAMPLE_TRACE,    /* .which: id of a tracepoint (abi/trace.h); .next likewise */
	AP_SAMPLE_CLOCK,    /* cpu-clock, task-clock: .next is the task's CPU time in ns */
	AP_SAMPLE_WORLD,    /* .which: enum ap_world_counter; the supervisor samples it */
	/*
	 * modelled counts of .kinds reach .next: seen when the log is read; .which: cycles that a
	 * reference takes at least
	 */
	AP_SAMPLE_MODEL,
	AP_SAMPLE_FAULT /* .which: enum ap_fault_kind, index into the slot's faults; .next likewise */
};

/* Page faults of the program's own instructions, as the kernel tells the thread of them. */
enum ap_fault_kind { AP_FAULT_ANY, AP_FAULT_MIN, AP_FAULT_MAJ, AP_FAULT_N };

#define AP_SAMPLER_ARMED     (1u << 0) /* the event is on the PMU */
#define AP_SAMPLER_THROTTLED (1u << 1) /* until the next tick */
#define AP_SAMPLER_LIMIT     (1u << 2) /* .limit counts down: REFRESH */
#define AP_SAMPLER_STOPPED   (1u << 3) /* the limit was reached: the thread disarmed it itself */
#define AP_SAMPLER_AGAIN                                                                           \
	(1u << 4) /* .left counts from where its thread, or the disarming one, finds this */

struct ap_sampler {
	s64 live;	  /* from here to its struct ap_sampling; 0: it follows */
	u32 next_of_slot; /* index + 1 of the next of the same slot */
	u32 source;	  /* enum ap_sampler_source */
	u64 id, stream_id;
	u64 inode; /* of the descriptor that is woken; a clone's is its parent's */
	u64 kinds;
	u32 lane, which;
	s32 cpu;      /* counts on this CPU only; -1 any */
	u32 clock;    /* clockid + 1; 0: the core's clock */
	u32 pid, tid; /* as the opener of the event sees the task; tid 0: as it sees itself */
	u32 signals;  /* 1: its descriptor has O_ASYNC: the thread asks for a wakeup each time */
	/*
	 * Of AP_SAMPLE_TRACE: how many arguments an entry's RAW has; of AP_SAMPLE_WATCH: its form
	 * (abi/probe.h), 0 none.
	 */
	u32 trace_args;
	u64 carried;	/* of its source by former images: .next is of carried + the slot's */
	u64 ring;	/* offset in the session file of struct ap_ring; 0: nowhere to write to */
	u64 ring_pages; /* control page and data follow the ring's page */
	u64 sample_type, read_format, flags, branch_sample_type;
	u64 regs_user, regs_intr, sig_data;
	u32 stack_user, max_stack, wakeup_events, pmu_type;
	u64 wakeup_watermark; /* bytes; 0: wakeup_events counts */
	u32 ring_flags;	      /* AP_RING_*: sampling/ring.h */
	u32 max_per_tick;     /* overflows until it is throttled; 0: never */
	u64 rate; /* of its source in a second, where that is known; 0: a frequency is adapted to what it was */
};

struct ap_sampling {
	u64 state;		   /* AP_SAMPLER_* */
	u64 next;		   /* source's value at which it overflows */
	u64 left;		   /* of the period, while it is not armed */
	u64 period;		   /* to be used from the next overflow on */
	u64 last_period;	   /* of the overflow to come */
	u64 freq;		   /* 0: the period is fixed */
	u64 freq_time, freq_count; /* of the last adaptation */
	u64 interrupts;		   /* overflows in this tick (.interrupts_tick) */
	u64 interrupts_tick;
	u64 limit;
	u64 lost; /* samples: PERF_FORMAT_LOST */
	u64 overflows;
};

/* As it is where it is nobody else's. */
struct ap_sampler_whole {
	struct ap_sampler s;
	struct ap_sampling live;
};

_Static_assert(sizeof(struct ap_sampler) <= AP_SAMPLER_SIZE, "memory per event");
_Static_assert(sizeof(struct ap_sampling) <= AP_SAMPLING_SIZE, "memory per event");
_Static_assert(!(sizeof(struct ap_sampler) % sizeof(u64)), "the other part follows");

static inline struct ap_sampling *ap_sampling_of(const struct ap_sampler *s)
{
	return (struct ap_sampling *)((char *)(unsigned long)s +
				      (s->live ? s->live : (s64)sizeof(*s)));
}

/*
 * All of them in the session file, from AP_SAMPLER_OFF (abi/session.h): one part to be read, then
 * the other.
 */
#define AP_SAMPLERS_READ  ((u64)AP_SAMPLER_MAX * AP_SAMPLER_SIZE)
#define AP_SAMPLERS_SIZE  (AP_SAMPLERS_READ + (u64)AP_SAMPLER_MAX * AP_SAMPLING_SIZE)
#define AP_SAMPLINGS_SIZE ((u64)AP_SAMPLER_MAX * AP_SAMPLING_SIZE)
/*
 * Where a user of the session has a party's other part, from the first part's beginning: a user of
 * several parties has them side by side.
 */
#define AP_SAMPLINGS_AT(party)                                                                     \
	((party) ? (60ULL << 20) + (u64)(party)*AP_SAMPLINGS_SIZE : AP_SAMPLERS_READ)
#define AP_SAMPLER_LIVE(i, party)                                                                  \
	((s64)(AP_SAMPLINGS_AT(party) + (u64)(i)*AP_SAMPLING_SIZE) -                               \
	 (s64)((u64)(i)*AP_SAMPLER_SIZE))

#endif
