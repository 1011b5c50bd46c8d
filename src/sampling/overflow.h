/* SPDX-License-Identifier: MIT */
/*
 * What happens to a sampler when its count reaches its mark, and when its event goes on and off the
 * PMU.  Pure functions on struct ap_sampler and its struct ap_sampling, which may hold anything; the caller holds the slot's sampler_lock.
 *
 * An armed sampler overflows where its source's value reaches .next.  In the thread:
 *
 *	while (ap_sampler_is_due(s, value)) {
 *		what = ap_sampler_overflow(s, &moment, &period);
 *		if (what & AP_OVERFLOW_THROTTLED)
 *			ap_record_throttle(.., true);	before the sample, as Linux has them
 *		ap_sample_write(..); where it fails ap_sampling_of(s)->lost++;
 *		if (what & AP_OVERFLOW_LIMIT)
 *			ask the supervisor (POLL_HUP) and wait: the event is disabled as of here
 *	}
 *
 * Time between the due mark and the next is the caller's: .next - value counts are left.
 */
#ifndef AP_SAMPLING_OVERFLOW_H
#define AP_SAMPLING_OVERFLOW_H

#include "abi/sampler.h"
#include "base/types.h"

/* The moment of an overflow or tick. */
struct ap_moment {
	u64 value; /* of the sampler's source: >= .next at an overflow */
	u64 now;   /* ns, monotonic; needed where .freq is set, else 0 will do */
	u64 tick;  /* its number: now / AP_TICK_NS, or any number that changes with each tick */
	u64 ran;   /* ap_sampler_tick: ns that the task was on a CPU since the last one */
};

#define AP_TICK_NS 4000000ULL

#define AP_OVERFLOW_THROTTLED (1u << 0) /* no more until the tick: a THROTTLE record is due */
#define AP_OVERFLOW_LIMIT     (1u << 1) /* the last that REFRESH allowed: stopped, POLL_HUP */

/* perf_event_max_sample_rate as ap_sampler.max_per_tick. */
u32 ap_max_per_tick(u32 max_sample_rate);

/* Would it overflow at all, if the count went on? */
static inline bool ap_sampler_is_on(const struct ap_sampler *s)
{
	return (ap_sampling_of(s)->state &
		(AP_SAMPLER_ARMED | AP_SAMPLER_THROTTLED | AP_SAMPLER_STOPPED)) == AP_SAMPLER_ARMED;
}

static inline bool ap_sampler_is_due(const struct ap_sampler *s, u64 value)
{
	return ap_sampler_is_on(s) && (s64)(value - ap_sampling_of(s)->next) >= 0;
}

/* AP_OVERFLOW_*; *period is what PERF_SAMPLE_PERIOD says. */
u32 ap_sampler_overflow(struct ap_sampler *s, const struct ap_moment *m, u64 *period);

#define AP_TICK_UNTHROTTLED (1u << 0) /* an UNTHROTTLE record is due */
#define AP_TICK_CHANGED	    (1u << 1) /* .next is another: the thread must be told */
/*
 * By the supervisor, once a tick, of each armed sampler that is throttled or has a frequency.  Its thread runs on meanwhile, and
 * far if the supervisor has lost its CPU: where .next is another it is the thread that begins what is left, at its own value.
 */
u32 ap_sampler_tick(struct ap_sampler *s, const struct ap_moment *m);
void ap_sampler_begin_again(struct ap_sampler *s, u64 value);

/* A new sampler: period, or frequency where is_freq. */
void ap_sampler_init(struct ap_sampler *s, u64 period, bool is_freq);
/* Its event is on the PMU from this value on, and no longer. */
void ap_sampler_arm(struct ap_sampler *s, u64 value);
void ap_sampler_disarm(struct ap_sampler *s, u64 value);
/*
 * PERF_EVENT_IOC_PERIOD: the new one counts from now.  True: it was throttled, and an UNTHROTTLE
 * record is due.
 */
bool ap_sampler_set_period(struct ap_sampler *s, u64 period, u64 value);
/* PERF_EVENT_IOC_REFRESH: n more overflows; 0 in all is no limit. */
void ap_sampler_refresh(struct ap_sampler *s, u64 n);

#endif
