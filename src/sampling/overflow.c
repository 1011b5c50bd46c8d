/* SPDX-License-Identifier: MIT */
/*
 * Periods, frequencies, throttling and limits, as Linux's perf_event_overflow(), perf_adjust_period()
 * and set_period() of its drivers have them; where ours is exact and theirs is not, ours is: the
 * period ends at its mark, whenever somebody looks.
 */
#include "sampling/overflow.h"

#define NS_PER_S 1000000000ULL

u32 ap_max_per_tick(u32 max_sample_rate)
{
	const u32 ticks = NS_PER_S / AP_TICK_NS;

	return max_sample_rate / ticks + (max_sample_rate % ticks != 0);
}

static u64 value_left(const struct ap_sampler *s, u64 value)
{
	return s->next - value;
}

/* --- frequency */

static u32 width(u64 v)
{
	return v ? 64 - (u32)__builtin_clzll(v) : 0;
}

/* count / ns events a second, divided by freq; products are kept within 64 bits. */
static u64 period_for(u64 count, u64 ns, u64 freq)
{
	u32 up = 0, down = 0;

	if (width(count) > 34) /* 30 more of NS_PER_S */
		up = width(count) - 34;
	if (width(ns) + width(freq) > 64)
		down = width(ns) + width(freq) - 64;
	count = (count >> up) * NS_PER_S;
	ns = (ns >> down) * freq;
	if (!ns)
		return count;
	count /= ns;
	return up >= down ? count << (up - down) : count >> (down - up);
}

/*
 * count events took ns: towards the period that would make them .freq a second, an eighth of the way.
 * True: what is left of the current period is far too long for it and was given up.
 */
static bool adapt(struct ap_sampler *s, u64 count, u64 ns, u64 left)
{
	s64 delta = (s64)(period_for(count, ns, s->freq) - s->period);
	s64 period;

	delta = (delta >= 0 ? delta + 7 : delta - 7) / 8;
	period = (s64)s->period + delta;
	s->period = period > 0 ? (u64)period : 1;
	return left > 8 * s->period;
}

/* A period that begins now. */
static void restart(struct ap_sampler *s, u64 value)
{
	s->next = value + s->period;
	s->last_period = s->period;
}

/* --- overflow */

static void count_interrupt(struct ap_sampler *s, u64 tick)
{
	if (s->interrupts_tick != tick) {
		s->interrupts_tick = tick;
		s->interrupts = 0;
	}
	s->interrupts++;
}

/* Clocks tick on while nobody looks: periods that have passed unseen are none, but keep their phase. */
static void next_period(struct ap_sampler *s, u64 value)
{
	s->next += s->period;
	if (s->source == AP_SAMPLE_CLOCK && (s64)(value - s->next) >= 0)
		s->next += ((value - s->next) / s->period + 1) * s->period;
	s->last_period = s->period;
}

u32 ap_sampler_overflow(struct ap_sampler *s, const struct ap_moment *m, u64 *period)
{
	u64 ended = s->last_period, ns;
	u32 what = 0;

	*period = ended;
	s->overflows++;
	next_period(s, m->value);
	count_interrupt(s, m->tick);
	if (s->freq) {
		ns = m->now - s->freq_time;
		s->freq_time = m->now;
		if (ns && ns < 2 * AP_TICK_NS && adapt(s, ended, ns, value_left(s, m->value)))
			restart(s, m->value);
	}
	if (s->max_per_tick && s->interrupts >= s->max_per_tick) {
		s->left = value_left(s, m->value);
		s->state |= AP_SAMPLER_THROTTLED;
		what |= AP_OVERFLOW_THROTTLED;
	}
	if ((s->state & AP_SAMPLER_LIMIT) && !--s->limit) {
		if (!(s->state & AP_SAMPLER_THROTTLED))
			s->left = value_left(s, m->value);
		s->state = (s->state & ~AP_SAMPLER_LIMIT) | AP_SAMPLER_STOPPED;
		what |= AP_OVERFLOW_LIMIT;
	}
	return what;
}

/* What the event has counted since the last tick sets its period, also where nothing overflowed. */
static bool tick_freq(struct ap_sampler *s, const struct ap_moment *m)
{
	u64 count = m->value - s->freq_count;

	s->freq_count = m->value;
	if (!count || !m->ran || !adapt(s, count, m->ran, value_left(s, m->value)))
		return false;
	restart(s, m->value);
	return true;
}

u32 ap_sampler_tick(struct ap_sampler *s, const struct ap_moment *m)
{
	u32 what = 0;

	if (!(s->state & AP_SAMPLER_ARMED) || (s->state & AP_SAMPLER_STOPPED))
		return 0;
	if (s->state & AP_SAMPLER_THROTTLED) {
		if (s->interrupts_tick == m->tick)
			return 0; /* it was in this very tick */
		s->state &= ~(u64)AP_SAMPLER_THROTTLED;
		s->interrupts = 0;
		s->next = m->value + s->left;
		what |= AP_TICK_UNTHROTTLED | AP_TICK_CHANGED;
	}
	if (s->freq && tick_freq(s, m))
		what |= AP_TICK_CHANGED;
	return what;
}

/* --- on and off */

void ap_sampler_init(struct ap_sampler *s, u64 period, bool is_freq)
{
	s->freq = is_freq ? period : 0;
	s->period = is_freq ? 1 : period;
	s->left = s->period;
	s->last_period = s->period;
}

void ap_sampler_arm(struct ap_sampler *s, u64 value)
{
	if (s->state & AP_SAMPLER_ARMED)
		return;
	if (!s->left) {
		s->left = s->period;
		s->last_period = s->period;
	}
	s->state |= AP_SAMPLER_ARMED;
	s->next = value + s->left;
	s->freq_count = value;
}

/* Marks that were passed and that its thread will not see any more: lost samples, unless of a clock. */
static u64 pass(struct ap_sampler *s, u64 beyond)
{
	if (s->source == AP_SAMPLE_CLOCK)
		return 0;
	s->lost += 1 + beyond / s->period;
	s->last_period = s->period;
	return s->period - beyond % s->period;
}

void ap_sampler_disarm(struct ap_sampler *s, u64 value)
{
	s64 left = (s64)value_left(s, value);

	if (!(s->state & AP_SAMPLER_ARMED))
		return;
	if (!(s->state & (AP_SAMPLER_THROTTLED | AP_SAMPLER_STOPPED)))
		s->left = left > 0 ? (u64)left : pass(s, (u64)-left);
	s->state &= ~(u64)(AP_SAMPLER_ARMED | AP_SAMPLER_THROTTLED | AP_SAMPLER_STOPPED);
}

bool ap_sampler_set_period(struct ap_sampler *s, u64 period, u64 value)
{
	bool throttled = s->state & AP_SAMPLER_THROTTLED;

	if (s->freq)
		s->freq = period;
	else
		s->period = period;
	if (throttled) {
		s->state &= ~(u64)AP_SAMPLER_THROTTLED;
		s->interrupts = 0;
	}
	s->left = 0;
	if (s->state & AP_SAMPLER_ARMED)
		restart(s, value);
	return throttled;
}

void ap_sampler_refresh(struct ap_sampler *s, u64 n)
{
	s->limit += n;
	if (s->limit)
		s->state |= AP_SAMPLER_LIMIT;
}
