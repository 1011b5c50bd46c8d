/* SPDX-License-Identifier: MIT */
/*
 * The sampling half of the fake world: memory of samplers and rings, and what threads do: whatever is
 * due after a task has run is written into the ring that its sampler names, with the task's raw
 * counter as its ip.
 */
#ifndef AP_TESTS_CORE_SAMPLERS_H
#define AP_TESTS_CORE_SAMPLERS_H

#include "core/core.h"
#include "sampling/ring.h"
#include "world.h"

#define RING_SIZE 16384U
#define NRINGS	  16

struct fake_ring {
	struct ap_ring ring;
	struct ap_perf_page page;
	u8 data[RING_SIZE];
	u64 taken; /* by ring_take */
	bool used;
};

/* What the world has seen of wakes, for the last event. */
struct fake_wakes {
	struct ap_event *event;
	u32 poll, in, hup;
};

void samplers_init(struct world *w);
void samplers_end(struct world *w); /* everything was given back */
/* The task's threads look at what is due. */
void samplers_run(struct world *w, struct fake_task *t);

/* mmap of 1 + 4 pages (RING_SIZE): the ring's number, or -errno. */
int ring_map(struct world *w, int fd, bool is_writable);
int ring_for(struct world *w, struct ap_perf_attr attr, s32 pid, s32 cpu); /* of a new event */
void ring_unmap(struct world *w, int fd, int ring);
struct fake_ring *ring_of(int ring);
bool ring_is_free(void);    /* one more can be mapped */
void ring_forget(int ring); /* its memory goes */

struct ring_record {
	struct ap_perf_event_header header;
	u64 words[1024]; /* behind the header */
	u32 nr;
};
/* The next record, forward; false: no more. */
bool ring_take(int ring, struct ring_record *r);
/* Takes all that there is: how many of this type. */
u32 ring_count(int ring, u32 type);

extern struct fake_wakes wakes;
extern u32 lanes_used[AP_LANE_MAX]; /* users of each */
/* The n-th sampler of a task that is linked; NULL: no more. */
struct ap_sampler *sampler_at(struct fake_task *t, u32 n);
u32 nr_samplers(void); /* in all */

#endif
