/* SPDX-License-Identifier: MIT */
/*
 * Samplers of events: one for each task in which an event may overflow.  A task's event has one, a
 * CPU's event one in each task of the session, armed while the task is on that CPU; what such a
 * task has left of a period goes on in the next one.  Samplers are made when the event is, armed
 * where its interval is opened and disarmed where it is closed, at the same values.
 *
 * Of events on one CPU a task may have as many as there are CPUs, and is on one of them: theirs are
 * made when they are armed and given back when they are not, and what they have left is kept here
 * meanwhile.
 *
 * What changes of a sampler lies in memory that tasks write to: all that is read from there is
 * numbers, and wrong ones are samples that are wrong.
 */
#include "abi/errno.h"
#include "core/internal.h"
#include "sampling/overflow.h"

#define NS_PER_S	1000000000ULL
#define CLOCK_PERIOD_NS 10000ULL	 /* Linux' shortest of its timers */
#define SOONEST_NS	250000ULL	 /* between two looks at a clock */
#define RATED_NS	(AP_TICK_NS / 2) /* of a task's time, to say how fast it counts */
#define CALM_TICKS                                                                                 \
	4 /* from one look to the next at samplers that overflow and adapt by themselves */

struct ap_arm {
	struct ap_event *event;
	struct ap_task *task;
	struct ap_sampler *s; /* NULL: it is on another CPU */
	struct ap_list of_event, of_task;
	struct ap_list armed; /* on core->armed */
	u64 seen, rated;      /* the task's time at the last tick; when its rate was looked at */
	u64 overflows;	      /* as of the last tick */
	struct ap_sampler_whole kept; /* while there is none */
};

static struct ap_arm *arm_of(struct ap_list *l)
{
	return ap_list_entry(l, struct ap_arm, of_event);
}

static bool is_made_late(const struct ap_event *e)
{
	return e->cpu >= 0;
}

static const struct ap_sampling *state_of(const struct ap_arm *a)
{
	return a->s ? ap_sampling_of(a->s) : &a->kept.live;
}

/* --- the world's part */

static void lock(struct ap_arm *a)
{
	struct ap_core *core = a->event->core;

	core->ops.sampler_lock(core->world, a->task->host);
}

static void unlock(struct ap_arm *a, bool kick)
{
	struct ap_core *core = a->event->core;

	core->ops.sampler_unlock(core->world, a->task->host, kick);
}

static u64 value_of(const struct ap_arm *a)
{
	struct ap_core *core = a->event->core;

	return core->ops.sampler_value(core->world, a->task->host, a->s);
}

/* --- can it be sampled? */

static u32 source_of(const struct ap_event *e)
{
	if (!e->attr.sample_period || e->hw.counts_nothing || e->hw.never_overflows)
		return 0;
	if (e->hw.kinds & AP_KINDS_MODEL)
		return e->hw.kinds & ~AP_KINDS_MODEL ? 0 : AP_SAMPLE_MODEL;
	return e->hw.kinds ? AP_SAMPLE_LANE : e->hw.sample_source;
}

static bool is_seen(const struct ap_event *e)
{
	const struct ap_core *core = e->core;

	if (!core->ops.may_sample)
		return source_of(e) != AP_SAMPLE_FAULT && source_of(e) != AP_SAMPLE_WORLD;
	return !core->ops.may_sample(core->world, source_of(e));
}

int ap_sampling_check(struct ap_event *e)
{
	if (!e->attr.sample_period)
		return 0;
	if (e->pmu->flags & AP_PMU_NO_SAMPLING)
		return -AP_EOPNOTSUPP;
	if (e->hw.counts_nothing || e->hw.never_overflows)
		return 0;
	if (!source_of(e) || !e->core->ops.sampler_new || !is_seen(e))
		return -AP_EOPNOTSUPP;
	if (source_of(e) == AP_SAMPLE_CLOCK && (e->attr.flags & AP_PERF_FREQ)) {
		/* a clock's rate is known: as on Linux its frequency becomes a period at once */
		e->attr.sample_period = NS_PER_S / e->attr.sample_period;
		e->attr.flags &= ~AP_PERF_FREQ;
	}
	return 0;
}

/* --- made and freed */

static u64 rate_of(const struct ap_event *e)
{
	return e->hw.kinds == AP_KIND_BIT(AP_KIND_CYCLES) ? e->core->config.cycles_mhz * 1000000ULL
							  : 0;
}

static void fill(struct ap_sampler *s, const struct ap_event *e)
{
	const struct ap_perf_attr *a = &e->attr;
	struct ap_sampling *g = ap_sampling_of(s);
	u64 period = a->sample_period;

	s->source = source_of(e);
	s->id = ap_event_opened(e)->id;
	s->stream_id = e->id;
	s->kinds = e->hw.kinds;
	s->lane = e->lane >= 0 ? (u32)e->lane : 0;
	s->which = e->hw.sample_which;
	s->trace_args = e->hw.sample_form;
	s->cpu = e->cpu;
	s->clock = a->flags & AP_PERF_USE_CLOCKID ? (u32)a->clockid + 1 : 0;
	s->sample_type = a->sample_type;
	s->read_format = a->read_format;
	s->flags = a->flags;
	if (e->core->config.has_no_contexts)
		s->flags |= AP_PERF_EXCLUDE_CALLCHAIN_USER;
	s->branch_sample_type = a->branch_sample_type;
	s->regs_user = a->sample_regs_user;
	s->regs_intr = a->sample_regs_intr;
	s->sig_data = a->sig_data;
	s->stack_user = a->sample_stack_user;
	s->max_stack = a->sample_max_stack;
	s->wakeup_events = a->flags & AP_PERF_WATERMARK ? 0 : a->wakeup_events;
	s->wakeup_watermark = a->flags & AP_PERF_WATERMARK ? a->wakeup_events : 0;
	s->pmu_type = a->type;
	if ((a->flags & AP_PERF_FREQ) || !e->core->config.only_frequencies_throttle)
		s->max_per_tick = ap_max_per_tick(e->core->config.max_sample_rate);
	/* as Linux' software events have it: a recorder of periods gets each event with its own */
	if (a->sample_type & AP_PERF_SAMPLE_PERIOD && !(a->flags & AP_PERF_FREQ) &&
	    (s->source == AP_SAMPLE_WATCH || s->source == AP_SAMPLE_TRACE ||
	     s->source == AP_SAMPLE_FAULT || s->source == AP_SAMPLE_WORLD))
		period = 1;
	if (s->source == AP_SAMPLE_CLOCK && period < CLOCK_PERIOD_NS)
		period = CLOCK_PERIOD_NS;
	s->rate = rate_of(e);
	ap_sampler_init(s, period, a->flags & AP_PERF_FREQ);
	if ((a->flags & AP_PERF_FREQ) && e->first_period) {
		g->period = g->left = g->last_period = e->first_period;
	}
	ap_buffer_of_sampler(e, s);
}

/* What it had when it was given back. */
static void restore(struct ap_sampling *s, const struct ap_sampling *kept)
{
	s->left = kept->left;
	s->period = kept->period;
	s->last_period = kept->last_period;
	s->freq = kept->freq;
	s->freq_time = kept->freq_time;
	s->interrupts = kept->interrupts;
	s->interrupts_tick = kept->interrupts_tick;
	s->limit = kept->limit;
	s->state = kept->state & AP_SAMPLER_LIMIT;
	s->lost = kept->lost;
	s->overflows = kept->overflows;
}

static int make_sampler(struct ap_arm *a)
{
	struct ap_core *core = a->event->core;
	int r = core->ops.sampler_new(core->world, a->task->host, a->event, &a->s);

	if (r) {
		a->s = NULL;
		return r;
	}
	fill(a->s, a->event);
	if (a->kept.live.period)
		restore(ap_sampling_of(a->s), &a->kept.live);
	core->ops.sampler_link(core->world, a->task->host, a->s);
	return 0;
}

static void give_sampler_back(struct ap_arm *a)
{
	struct ap_core *core = a->event->core;
	struct ap_sampler *s = a->s;

	if (!s)
		return;
	a->kept.live = *ap_sampling_of(s);
	a->s = NULL;
	core->ops.sampler_free(core->world, a->task->host, s);
}

static int new_arm(struct ap_event *e, struct ap_task *task)
{
	struct ap_core *core = e->core;
	struct ap_arm *a = ap_alloc(core, sizeof(*a));
	int r = 0;

	if (!a)
		return -AP_ENOMEM;
	*a = (struct ap_arm){ .event = e, .task = task };
	if (is_made_late(e))
		fill(&a->kept.s, e);
	else
		r = make_sampler(a);
	if (r) {
		ap_free(core, a, sizeof(*a));
		return r;
	}
	ap_list_init(&a->armed);
	ap_list_add_tail(&e->arms, &a->of_event);
	ap_list_add_tail(&task->arms, &a->of_task);
	return 0;
}

static void free_arm(struct ap_arm *a)
{
	struct ap_core *core = a->event->core;

	give_sampler_back(a);
	a->event->lost += a->kept.live.lost;
	ap_list_del(&a->of_event);
	ap_list_del(&a->of_task);
	ap_list_del(&a->armed);
	ap_free(core, a, sizeof(*a));
}

int ap_samplers_make(struct ap_event *e, struct ap_task *task)
{
	struct ap_core *core = e->core;
	struct ap_list *l;
	u32 lane;
	int r = 0;

	if (!source_of(e) || ap_event_is_template(e))
		return 0;
	if (source_of(e) == AP_SAMPLE_LANE) {
		r = core->ops.want_lane(core->world, e->hw.kinds, &lane);
		if (r)
			return r;
		e->lane = (s32)lane;
	}
	if (task)
		return new_arm(e, task);
	ap_list_add_tail(&core->cpu_sampling, &e->in_cpu_sampling);
	ap_list_for_each(l, &core->tasks) {
		r = new_arm(e, ap_list_entry(l, struct ap_task, all));
		if (r)
			break;
	}
	return r;
}

void ap_samplers_free(struct ap_event *e)
{
	struct ap_core *core = e->core;

	while (!ap_list_empty(&e->arms))
		free_arm(arm_of(e->arms.next));
	ap_list_del(&e->in_cpu_sampling);
	if (e->lane >= 0 && core->ops.put_lane)
		core->ops.put_lane(core->world, (u32)e->lane);
	e->lane = -1;
}

/* --- on and off */

/* On a CPU's event the period goes on where another task has left it. */
static void take_carry(struct ap_event *e, struct ap_sampling *s)
{
	u64 take = e->carry < s->left ? e->carry : s->left - 1;

	s->left -= take;
	e->carry -= take;
}

static void give_carry(struct ap_event *e, struct ap_sampling *s)
{
	if (s->left < s->last_period)
		e->carry += s->last_period - s->left;
	s->left = s->last_period = s->period;
}

/* To ask for it may be a system call. */
static bool needs_time(const struct ap_arm *a)
{
	return (a->event->attr.flags & AP_PERF_FREQ) || source_of(a->event) == AP_SAMPLE_CLOCK;
}

/* False: there is no memory for its sampler. */
static bool arm(struct ap_arm *a)
{
	struct ap_event *e = a->event;

	if (!ap_list_empty(&a->armed))
		return true;
	if (!a->s && make_sampler(a))
		return false;
	lock(a);
	a->s->which = e->hw.sample_which;
	if (!e->ctx->task)
		take_carry(e, ap_sampling_of(a->s));
	ap_sampler_arm(a->s, value_of(a));
	unlock(a, true);
	a->seen = a->rated = needs_time(a) ? ap_ctx_now(&a->task->ctx) : 0;
	ap_list_add_tail(&e->core->armed, &a->armed);
	return true;
}

static void disarm(struct ap_arm *a)
{
	if (ap_list_empty(&a->armed))
		return;
	lock(a);
	ap_sampler_disarm(a->s, value_of(a));
	if (!a->event->ctx->task)
		give_carry(a->event, ap_sampling_of(a->s));
	unlock(a, true);
	ap_list_del(&a->armed);
	if (is_made_late(a->event))
		give_sampler_back(a);
}

static bool is_here(const struct ap_arm *a)
{
	return a->event->ctx->task || a->task->cpu == a->event->cpu;
}

/* A task's event without its sampler is not on; a CPU's does without it in this task. */
bool ap_samplers_arm(struct ap_event *e)
{
	struct ap_list *l;

	ap_list_for_each(l, &e->arms)
		if (is_here(arm_of(l)) && !arm(arm_of(l)) && e->ctx->task)
			return false;
	return true;
}

void ap_samplers_disarm(struct ap_event *e)
{
	struct ap_list *l;

	ap_list_for_each(l, &e->arms)
		disarm(arm_of(l));
}

/* --- tasks come, move and go */

int ap_samplers_task(struct ap_task *task)
{
	struct ap_list *l;
	int r;

	ap_list_for_each(l, &task->core->cpu_sampling) {
		r = new_arm(ap_list_entry(l, struct ap_event, in_cpu_sampling), task);
		if (r)
			return r;
	}
	return 0;
}

void ap_samplers_moved(struct ap_task *task)
{
	struct ap_list *l;

	ap_list_for_each(l, &task->arms) {
		struct ap_arm *a = ap_list_entry(l, struct ap_arm, of_task);

		/* one that is being closed has no context any more */
		if (!a->event->ctx || a->event->ctx->task || a->event->state != AP_STATE_ACTIVE)
			continue;
		if (is_here(a))
			(void)!arm(a);
		else
			disarm(a);
	}
}

void ap_samplers_leave(struct ap_task *task)
{
	while (!ap_list_empty(&task->arms)) {
		struct ap_arm *a = ap_list_entry(task->arms.next, struct ap_arm, of_task);

		if (a->event->ctx)
			disarm(a);
		free_arm(a);
	}
}

bool ap_task_samples_on_a_cpu(const struct ap_task *task)
{
	struct ap_list *l;

	ap_list_for_each(l, &task->arms)
		if (is_made_late(ap_list_entry(l, struct ap_arm, of_task)->event))
			return true;
	return false;
}

/* --- what programs ask for */

void ap_samplers_set_output(struct ap_event *e)
{
	struct ap_list *l;

	ap_list_for_each(l, &e->arms) {
		struct ap_arm *a = arm_of(l);

		if (!a->s)
			continue;
		lock(a);
		ap_buffer_of_sampler(e, a->s);
		unlock(a, true);
	}
	ap_list_for_each(l, &e->children)
		ap_samplers_set_output(ap_list_entry(l, struct ap_event, child));
}

void ap_samplers_set_period(struct ap_event *e, u64 period)
{
	bool was_throttled, is_told = false;
	struct ap_list *l;

	if (source_of(e) == AP_SAMPLE_CLOCK && period < CLOCK_PERIOD_NS)
		period = CLOCK_PERIOD_NS;
	ap_list_for_each(l, &e->arms) {
		struct ap_arm *a = arm_of(l);

		if (!a->s) {
			(void)!ap_sampler_set_period(&a->kept.s, period, 0);
			continue;
		}
		lock(a);
		was_throttled = ap_sampler_set_period(a->s, period, value_of(a));
		if (was_throttled && !is_told)
			ap_tell_unthrottled(e);
		is_told |= was_throttled;
		unlock(a, true);
	}
}

static void set_rate(struct ap_event *e, u32 rate)
{
	struct ap_list *l;

	ap_list_for_each(l, &e->arms) {
		struct ap_arm *a = arm_of(l);

		if (a->s)
			a->s->max_per_tick = ap_max_per_tick(rate);
	}
	ap_list_for_each(l, &e->children)
		set_rate(ap_list_entry(l, struct ap_event, child), rate);
}

/* Somebody has chosen it, so it holds for periods as well. */
void ap_core_set_sample_rate(struct ap_core *core, u32 rate)
{
	struct ap_list *l;

	core->config.max_sample_rate = rate;
	core->config.only_frequencies_throttle = false;
	ap_list_for_each(l, &core->events)
		set_rate(ap_list_entry(l, struct ap_event, all), rate);
}

bool ap_core_has_callchains(const struct ap_core *core)
{
	struct ap_list *l;

	ap_list_for_each(l, &core->events)
		if (ap_list_entry(l, struct ap_event, all)->attr.sample_type &
		    AP_PERF_SAMPLE_CALLCHAIN)
			return true;
	return false;
}

/* Of this event alone. */
void ap_samplers_set_sig_data(struct ap_event *e)
{
	struct ap_list *l;

	ap_list_for_each(l, &e->arms) {
		struct ap_arm *a = arm_of(l);

		if (a->s)
			a->s->sig_data = e->attr.sig_data;
	}
}

void ap_samplers_refresh(struct ap_event *e, u64 n)
{
	struct ap_list *l;

	ap_list_for_each(l, &e->arms) {
		struct ap_arm *a = arm_of(l);

		if (!a->s) {
			ap_sampler_refresh(&a->kept.s, n);
			continue;
		}
		lock(a);
		ap_sampler_refresh(a->s, n);
		unlock(a, false);
	}
}

/* What the next clone begins with: a frequency need not be found again. */
u64 ap_samplers_period(const struct ap_event *e)
{
	return ap_list_empty(&e->arms) ? 0 : state_of(arm_of(e->arms.next))->period;
}

u64 ap_samplers_lost(const struct ap_event *e)
{
	u64 lost = e->lost;
	struct ap_list *l;

	ap_list_for_each(l, &e->arms)
		lost += state_of(arm_of(l))->lost;
	return lost;
}

static bool is_stopped(const struct ap_event *e)
{
	struct ap_list *l;

	ap_list_for_each(l, &e->arms)
		if (state_of(arm_of(l))->state & AP_SAMPLER_STOPPED)
			return true;
	return false;
}

void ap_core_overflowed(struct ap_core *core, struct ap_event *e)
{
	bool stopped = is_stopped(e);

	if (stopped)
		ap_event_disable(e);
	if (core->ops.wake)
		core->ops.wake(core->world, e, stopped ? AP_WAKE_HUP : AP_WAKE_IN);
}

/* --- ticks */

/* ns until somebody should look again. */
static u64 clock_tick(struct ap_arm *a, u64 ran)
{
	u64 value = value_of(a), left = state_of(a)->next - value;

	if (ap_sampler_is_due(a->s, value)) {
		lock(a);
		unlock(a, true);
		left = state_of(a)->period;
	}
	/* asleep, not for long yet, or it is told by others */
	if (!ran || left > AP_TICK_NS || a->event->core->config.clocks_are_prompted)
		return AP_TICK_NS;
	return left > SOONEST_NS ? left : SOONEST_NS;
}

/*
 * The time in which what is counted since the last look was counted; 0: too short to say, and the
 * next look is at both of them.  A kernel that is asked for the time of a task that is running says
 * what it was at its own last tick: a few nanoseconds with all that was counted in four
 * milliseconds made a period of a thousand times what it should be, and a hole in the profile.
 */
static u64 rated(struct ap_arm *a, u64 time)
{
	u64 ran = time - a->rated;

	if (ran < RATED_NS)
		return 0;
	a->rated = time;
	return ran;
}

/*
 * A look wakes the supervisor and asks for a time, which 250 times a second is a hundredth of a
 * CPU.  Who overflows adapts its frequency by itself, and needs a look only for what that cannot
 * see; one that is near to be throttled needs all of them.
 */
static u64 next_look(struct ap_arm *a)
{
	u64 overflows = state_of(a)->overflows, most = a->s ? a->s->max_per_tick : 0;
	u64 more = overflows - a->overflows;

	a->overflows = overflows;
	if (!needs_time(a))
		return most ? AP_TICK_NS : 0;
	if (source_of(a->event) == AP_SAMPLE_CLOCK || !more || (most && more >= most))
		return AP_TICK_NS;
	return CALM_TICKS * AP_TICK_NS;
}

static u64 tick(struct ap_arm *a, u64 now)
{
	u64 time = needs_time(a) ? ap_ctx_now(&a->task->ctx) : 0, ran = time - a->seen;
	struct ap_moment m = { .now = now, .tick = now / AP_TICK_NS, .ran = rated(a, time) };
	u64 next = next_look(a);
	u32 what;

	if ((a->event->attr.flags & AP_PERF_FREQ) || (state_of(a)->state & AP_SAMPLER_THROTTLED)) {
		lock(a);
		m.value = value_of(a);
		what = ap_sampler_tick(a->s, &m);
		/* its thread may throttle it again as soon as it can */
		if (what & AP_TICK_UNTHROTTLED)
			ap_tell_unthrottled(a->event);
		unlock(a, what);
	}
	if (source_of(a->event) == AP_SAMPLE_CLOCK)
		next = clock_tick(a, ran);
	a->seen = time;
	return next;
}

u64 ap_samplers_tick(struct ap_core *core)
{
	struct ap_list *l, *n;
	u64 next = 0, now, left;

	if (ap_list_empty(&core->armed))
		return 0;
	now = core->ops.clock(core->world);
	ap_list_for_each_safe(l, n, &core->armed) {
		left = tick(ap_list_entry(l, struct ap_arm, armed), now);
		if (left && (!next || left < next))
			next = left;
	}
	return next;
}
