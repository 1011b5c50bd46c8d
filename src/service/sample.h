/* SPDX-License-Identifier: MIT */
/*
 * Samples, between the files that take them: sampler.c which samplers are armed and what was reached,
 * sample.c what a sample is made of, rings.c where it goes.
 */
#ifndef AP_SERVICE_SAMPLE_H
#define AP_SERVICE_SAMPLE_H

#include "abi/probe.h"
#include "abi/sampler.h"
#include "abi/service.h"
#include "sampling/record.h"
#include "sampling/ring.h"
#include "service/hooks.h"
#include "service/service.h"

/* READ's words, got before the samplers are locked: to ask for them may take the supervisor. */
struct ap_svc_words {
	u64 words[AP_SVC_DATA_MAX / sizeof(u64)];
	u32 n;
};

/* rings.c: a ring of the session file, mapped where the program does not see it; false: it cannot be. */
AP_MUST_CHECK bool ap_svc_ring(const struct ap_sampler *s, struct ap_ring_map *map);
/*
 * Until nobody else holds the sampler's ring, or a fifth of a second.  Before the samplers are locked, for
 * which the supervisor would have to wait as well.
 */
void ap_svc_ring_await(const struct ap_sampler *s, u32 name);
/* The calling thread as a writer. */
void ap_svc_writer(const struct ap_hook_place *place, struct ap_ring_writer *w);
/* All samplers of the session; NULL where they cannot be mapped. */
u8 *ap_svc_samplers(void);
/* What is mapped of the party's file for these. */
void ap_svc_rings_each(void (*fn)(void *at, u64 size));

/* sample.c */
u64 ap_svc_now(void);
u32 ap_svc_cpu(void);
/* The address that a sample at this point has; 0 none. */
u64 ap_svc_data_addr(const struct ap_service_point *p);
/* index: of the sampler. */
void ap_svc_read_words(const struct ap_sampler *s, u32 index, struct ap_svc_words *w);
/* Who, where and when, for records of a sampler; now: ap_svc_now(), of those without a clock of their own. */
void ap_svc_origin(const struct ap_sampler *s, const struct ap_slot *slot, u64 now,
		   struct ap_record_origin *origin);

/* What one overflow writes. */
struct ap_svc_sample {
	const struct ap_sampler *sampler;
	const struct ap_hook_place *place;
	const struct ap_service_point *point;
	const struct ap_svc_words *words;
	u64 period;
	u64 now; /* ap_svc_now() of the overflow, by which its tick is told; its record's time is later */
};
/* As ap_sample_write. */
AP_MUST_CHECK int ap_svc_sample(const struct ap_svc_sample *of, const struct ap_ring_map *map,
				const struct ap_ring_writer *w, bool *wakes);

/* hups.c: a signal of the descriptor is asked for; forgets all that were. */
void ap_svc_signal_asked(u64 inode, bool is_last);
void ap_svc_signals_anew(u64 inode);

/* raw.c: what a tracepoint's sample carries. */
struct ap_svc_raw {
	u32 size;
	u8 bytes[AP_PROBE_DATA_MAX + 32]; /* arguments of a probe, and what is in front of them */
};
void ap_svc_raw(const struct ap_service_point *p, const struct ap_slot *slot, const u64 *regs,
		u32 nargs, struct ap_svc_raw *raw);
/* probe_raw.c: and what a probe's does. */
void ap_svc_probe_raw(const struct ap_service_point *p, u32 form, const struct ap_slot *slot,
		      const u64 *regs, struct ap_svc_raw *raw);

/* callchain.c: entries with the context's marker; how many. */
#define AP_SVC_CHAIN_MAX (127U + 1)
u32 ap_svc_callchain(const struct ap_service_point *p, const u64 *regs, u32 max_stack,
		     u64 out[AP_SVC_CHAIN_MAX]);

#endif
