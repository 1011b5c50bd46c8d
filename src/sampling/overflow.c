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

/* Read once, and never 0: a program may have written it. */
static u64 period_of(const struct ap_sampling *g)
{
	u64 period = __atomic_load_n(&g->period, __ATOMIC_RELAXED);

	return period ? period : 1;
}

static u64 value_left(const struct ap_sampler *s, u64 value)
{
	return ap_sampling_of(s)->next - value;
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
		down = width(ns) + width(freq) > 127 ? 63 : width(ns) + width(freq) - 64;
	count = (count >> up) * NS_PER_S;
	ns = (ns >> down) * freq;
	if (!ns)
		return count;
	count /= ns;
	return up >= down ? count << (up - down) : count >> (down - up);
}

/* A rate that is known needs no time: a counted thread runs slower than it would. */
static u64 period_meant(const struct ap_sampler *s, u64 count, u64 ns)
{
	u64 freq = __atomic_load_n(&ap_sampling_of(s)->freq, __ATOMIC_RELAXED);

	return s->rate && freq ? s->rate / freq : period_for(count, ns, freq);
}

/*
 * count events took ns: towards the period that would make them .freq a second, an eighth of the way.
 * True: what is left of the current period is far too long for it and was given up.
 */
static bool adapt(struct ap_sampler *s, u64 count, u64 ns, u64 left)
{
	struct ap_sampling *g = ap_sampling_of(s);
	s64 delta = (s64)(period_meant(s, count, ns) - g->period);
	s64 period;

	/* away from 0; what a program has written may be anything, and is added up as such */
	delta = delta / 8 + (delta % 8 > 0) - (delta % 8 < 0);
	period = (s64)(g->period + (u64)delta);
	g->period = period > 0 ? (u64)period : 1;
	/* a mark that has been passed is near */
	return (s64)left > 0 && left / 8 > g->period;
}

/* A period that begins now. */
static void restart(struct ap_sampler *s, u64 value)
{
	struct ap_sampling *g = ap_sampling_of(s);

	g->next = value + g->period;
	g->last_period = g->period;
}

/* --- overflow */

static void count_interrupt(struct ap_sampler *s, u64 tick)
{
	struct ap_sampling *g = ap_sampling_of(s);

	if (g->interrupts_tick != tick) {
		g->interrupts_tick = tick;
		g->interrupts = 0;
	}
	g->interrupts++;
}

/* Clocks tick on while nobody looks: periods that have passed unseen are none, but keep their phase. */
static void next_period(struct ap_sampler *s, u64 value)
{
	struct ap_sampling *g = ap_sampling_of(s);
	u64 period = period_of(g);

	g->next += period;
	if (s->source == AP_SAMPLE_CLOCK && (s64)(value - g->next) >= 0)
		g->next += ((value - g->next) / period + 1) * period;
	g->last_period = period;
}

u32 ap_sampler_overflow(struct ap_sampler *s, const struct ap_moment *m, u64 *period)
{
	struct ap_sampling *g = ap_sampling_of(s);
	u64 ended = g->last_period, ns;
	u32 what = 0;

	*period = ended;
	g->overflows++;
	next_period(s, m->value);
	count_interrupt(s, m->tick);
	if (g->freq) {
		ns = m->now - g->freq_time;
		g->freq_time = m->now;
		if ((s->rate || (ns && ns < 2 * AP_TICK_NS)) &&
		    adapt(s, ended, ns, value_left(s, m->value)))
			restart(s, m->value);
	}
	if (s->max_per_tick && g->interrupts >= s->max_per_tick) {
		g->left = value_left(s, m->value);
		g->state |= AP_SAMPLER_THROTTLED;
		what |= AP_OVERFLOW_THROTTLED;
	}
	if ((g->state & AP_SAMPLER_LIMIT) && !--g->limit) {
		if (!(g->state & AP_SAMPLER_THROTTLED))
			g->left = value_left(s, m->value);
		g->state = (g->state & ~AP_SAMPLER_LIMIT) | AP_SAMPLER_STOPPED;
		what |= AP_OVERFLOW_LIMIT;
	}
	return what;
}

/* .left from here on, as far as the supervisor can tell. */
static void again(struct ap_sampler *s, u64 value)
{
	struct ap_sampling *g = ap_sampling_of(s);

	g->next = value + g->left;
	if (s->source != AP_SAMPLE_WORLD) /* whose samples the supervisor takes */
		g->state |= AP_SAMPLER_AGAIN;
}

void ap_sampler_begin_again(struct ap_sampler *s, u64 value)
{
	struct ap_sampling *g = ap_sampling_of(s);

	if (!(g->state & AP_SAMPLER_AGAIN))
		return;
	g->state &= ~(u64)AP_SAMPLER_AGAIN;
	g->next = value + g->left;
}

/* What the event has counted since the last tick sets its period, also where nothing overflowed. */
static bool tick_freq(struct ap_sampler *s, const struct ap_moment *m)
{
	struct ap_sampling *g = ap_sampling_of(s);
	u64 count = m->value - g->freq_count, left = value_left(s, m->value);

	if (!m->ran)
		return false;
	g->freq_count = m->value;
	if ((s64)(left - g->last_period) >
	    0) /* the thread has overflowed since the value was read */
		left = g->last_period;
	if (!count || !adapt(s, count, m->ran, left))
		return false;
	g->left = g->last_period = g->period;
	again(s, m->value);
	return true;
}

u32 ap_sampler_tick(struct ap_sampler *s, const struct ap_moment *m)
{
	struct ap_sampling *g = ap_sampling_of(s);
	u32 what = 0;

	if (!(g->state & AP_SAMPLER_ARMED) || (g->state & AP_SAMPLER_STOPPED))
		return 0;
	if (g->state & AP_SAMPLER_THROTTLED) {
		if (g->interrupts_tick == m->tick)
			return 0; /* it was in this very tick */
		g->state &= ~(u64)AP_SAMPLER_THROTTLED;
		g->interrupts = 0;
		again(s, m->value);
		what |= AP_TICK_UNTHROTTLED | AP_TICK_CHANGED;
	}
	if (g->freq && tick_freq(s, m))
		what |= AP_TICK_CHANGED;
	return what;
}

/* --- on and off */

void ap_sampler_init(struct ap_sampler *s, u64 period, bool is_freq)
{
	struct ap_sampling *g = ap_sampling_of(s);

	g->freq = is_freq ? period : 0;
	g->period = is_freq ? 1 : period;
	g->left = g->period;
	g->last_period = g->period;
}

void ap_sampler_arm(struct ap_sampler *s, u64 value)
{
	struct ap_sampling *g = ap_sampling_of(s);

	if (g->state & AP_SAMPLER_ARMED)
		return;
	if (!g->left) {
		g->left = g->period;
		g->last_period = g->period;
	}
	g->state |= AP_SAMPLER_ARMED;
	g->next = value + g->left;
	g->freq_count = value;
}

/* Marks that were passed and that its thread will not see any more: lost samples, unless of a clock. */
static u64 pass(struct ap_sampler *s, u64 beyond)
{
	struct ap_sampling *g = ap_sampling_of(s);
	u64 period = period_of(g);

	if (s->source == AP_SAMPLE_CLOCK)
		return 0;
	g->lost += 1 + beyond / period;
	g->last_period = period;
	return period - beyond % period;
}

void ap_sampler_disarm(struct ap_sampler *s, u64 value)
{
	struct ap_sampling *g = ap_sampling_of(s);
	u64 left = value_left(s, value);

	if (!(g->state & AP_SAMPLER_ARMED))
		return;
	if (!(g->state & (AP_SAMPLER_THROTTLED | AP_SAMPLER_STOPPED | AP_SAMPLER_AGAIN)))
		g->left = (s64)left > 0 ? left : pass(s, 0 - left);
	g->state &= ~(u64)(AP_SAMPLER_ARMED | AP_SAMPLER_THROTTLED | AP_SAMPLER_STOPPED |
			   AP_SAMPLER_AGAIN);
}

bool ap_sampler_set_period(struct ap_sampler *s, u64 period, u64 value)
{
	struct ap_sampling *g = ap_sampling_of(s);
	bool throttled = g->state & AP_SAMPLER_THROTTLED;

	if (g->freq)
		g->freq = period;
	else
		g->period = period;
	if (throttled) {
		g->state &= ~(u64)AP_SAMPLER_THROTTLED;
		g->interrupts = 0;
	}
	g->left = 0;
	g->state &= ~(u64)AP_SAMPLER_AGAIN;
	if (g->state & AP_SAMPLER_ARMED)
		restart(s, value);
	return throttled;
}

void ap_sampler_refresh(struct ap_sampler *s, u64 n)
{
	struct ap_sampling *g = ap_sampling_of(s);

	g->limit += n;
	if (g->limit)
		g->state |= AP_SAMPLER_LIMIT;
}
