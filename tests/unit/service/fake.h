/* SPDX-License-Identifier: MIT */
/*
 * An engine and a supervisor for the service's tests: the hooks in this process, and a thread that
 * answers requests as the test says.
 */
#ifndef AP_TESTS_SERVICE_FAKE_H
#define AP_TESTS_SERVICE_FAKE_H

#include "abi/service.h"
#include "abi/tree.h"
#include "service/hooks.h"
#include "service/service.h"

/* Answers svc: ret, data, out_size. */
typedef void (*fake_answer)(struct ap_svc *svc);

struct fake {
	struct ap_session *session;
	struct ap_seg *seg;
	struct ap_slot *slot;
	struct ap_pub *pub;
	const struct ap_tree *tree; /* NULL: none */
	s32 session_fd;
	u64 hole; /* a page of the engine's; 0: none */
	u64 shapes[8], counts[8];
	u32 seg_index, slot_index;
	u64 direct, direct_sums[AP_RAW_N]; /* kinds that shapes do not count */
	u64 asked_directly;
	u32 pmc_changes;
	fake_answer answer;
	u32 requests; /* answered so far */
	u32 sleeps;   /* which take no time here */
	void (*at_sleep)(void);
	struct ap_svc last; /* as it was asked */
	bool dead;	    /* the supervisor: asked for, and found gone */
	u32 held, released;
	bool again;		/* a signal waits */
	bool own_files;		/* the calling thread has descriptors of its own */
	u64 calls;		/* the service's own, to the kernel */
	u64 fstats;		/* calls of it */
	void (*at_fstat)(void); /* before each */

	/* Sampling: what the thread has counted, and what it was told to count to. */
	u64 lane_raw[AP_LANE_MAX], lane_left[AP_LANE_MAX];
	u32 lane_flags[AP_LANE_MAX];
	u32 clocks_due, sources;
	struct ap_hook_passed passed[8]; /* npassed instructions, the last one ran just now */
	u32 npassed;
	u64 regs[AP_HOOK_REGS];
	u8 *samplers;
	u8 *ring; /* of FAKE_RING_PAGES and the ring's, at FAKE_RING in the session */
};

#define FAKE_RING	(1ULL << 40)
#define FAKE_RING_PAGES 2ULL

struct ap_sampler *fake_sampler(u32 i);

extern struct fake fake;

void fake_start(fake_answer answer); /* NULL: nobody answers */
/* The call as the engine would make it: before, the kernel, after. */
s64 fake_call(u64 nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f);
/* A descriptor that is marked as a perf one. */
s32 fake_perf_fd(void);
u64 fake_inode(s32 fd);

#endif
