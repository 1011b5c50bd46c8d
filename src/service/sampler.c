/* SPDX-License-Identifier: MIT */
/*
 * The calling thread's samplers: which are armed, for the engine to stop at the nearest mark, and
 * what is to be done where one is reached.  docs/design/sampling.md.
 *
 * The slot's lock is held for one overflow at a time, record included, so that the supervisor, once it
 * has it, knows that nobody writes by a sampler that it takes away.  What may take a request (counts of
 * other events) is got before.  The list is followed without the lock, within its bounds; what is found
 * there counts only if it is still due under the lock.
 */
#include "abi/errno.h"
#include "abi/service.h"
#include "base/mem.h"
#include "sampling/overflow.h"
#include "service/calls.h"
#include "service/request.h"
#include "service/sample.h"
#include "service/sys.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define SPINS  2000U
#define YIELDS 20000U
#define AT_ONCE                                                                                    \
	(1U << 20) /* overflows that one instruction can be due for: of a rep's iterations */

struct own {
	struct ap_hook_place place;
	struct ap_slot *slot;
	u8 *area;
	u32 name;
};

static bool begin(struct own *o)
{
	ap_hook_place(&o->place);
	o->slot = o->place.slot;
	o->name = AP_RING_NAME(o->place.seg_index, o->place.slot_index);
	o->area = ap_svc_samplers();
	return o->area;
}

/* The sampler that a link names; NULL at the end. */
static struct ap_sampler *named(const struct own *o, u32 link)
{
	return link && link <= AP_SAMPLER_MAX
		       ? (struct ap_sampler *)(o->area + (u64)(link - 1) * AP_SAMPLER_SIZE)
		       : NULL;
}

static u32 index_of(const struct own *o, const struct ap_sampler *s)
{
	return (u32)(((const u8 *)s - o->area) / AP_SAMPLER_SIZE);
}

static struct ap_sampler *first(const struct own *o)
{
	return named(o, __atomic_load_n(&o->slot->samplers, __ATOMIC_ACQUIRE));
}

static struct ap_sampler *next(const struct own *o, const struct ap_sampler *s)
{
	return named(o, __atomic_load_n(&s->next_of_slot, __ATOMIC_ACQUIRE));
}

/* Links change while they are followed: nobody is led in a circle. */
#define FOR_EACH(o, s)                                                                             \
	for (u32 left_ = AP_SAMPLER_MAX, once_ = ((s) = first(o), 1); once_ && (s) && left_--;     \
	     (s) = next(o, s))

/*
 * The supervisor holds it for a microsecond or two.  One that is stopped or dead does not give it back,
 * and nobody waits for that: it is as if it had been robbed.
 */
static void lock(const struct own *o)
{
	u32 was = 0;

	for (u32 n = 0; n < SPINS + YIELDS; n++, was = 0) {
		if (__atomic_compare_exchange_n(&o->slot->sampler_lock, &was, o->name, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
		__builtin_ia32_pause();
		if (n >= SPINS)
			ap_svc_sys(AP_NR_sched_yield, 0, 0, 0, 0);
	}
}

/* Not given back where it was taken from us. */
static void unlock(const struct own *o)
{
	u32 was = o->name;

	(void)__atomic_compare_exchange_n(&o->slot->sampler_lock, &was, 0, false, __ATOMIC_RELEASE,
					  __ATOMIC_RELAXED);
}

/* --- arming */

static u64 count_of(const struct own *o, const struct ap_sampler *s)
{
	const u64 *trace;
	u32 index;

	switch (s->source) {
	case AP_SAMPLE_LANE:
		return s->lane < AP_LANE_MAX ? ap_hook_lane_raw(s->lane) : AP_HOOK_NEVER;
	case AP_SAMPLE_MODEL:
		return ap_hook_model_count(s->kinds);
	case AP_SAMPLE_WATCH:
		return s->which < AP_WATCH_MAX ? o->slot->watch[s->which] : AP_HOOK_NEVER;
	case AP_SAMPLE_TRACE:
		index = ap_trace_index(s->which);
		trace = (const u64 *)((const char *)o->slot + AP_SLOT_TRACE_OFF);
		return index < AP_TRACE_N ? trace[index] : AP_HOOK_NEVER;
	case AP_SAMPLE_CLOCK:
		return ap_request_cpu_time();
	case AP_SAMPLE_FAULT:
		return s->which < AP_FAULT_N ? o->slot->faults[s->which] : AP_HOOK_NEVER;
	default:
		return AP_HOOK_NEVER;
	}
}

/* The source's value as the supervisor has it; false: nothing is counted there yet. */
static bool value_of(const struct own *o, const struct ap_sampler *s, u64 *value)
{
	u64 count = count_of(o, s);

	if (count == AP_HOOK_NEVER)
		return false;
	*value = count + s->carried;
	return true;
}

#define NEEDS_ADDR (AP_PERF_SAMPLE_ADDR | AP_PERF_SAMPLE_DATA_SRC)

/* What a sample can show of an instruction that is left behind.  Callchains nearly always: where the period is free. */
#define BEHIND                                                                                     \
	(AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_TID | AP_PERF_SAMPLE_TIME | AP_PERF_SAMPLE_ID |        \
	 AP_PERF_SAMPLE_CPU | AP_PERF_SAMPLE_PERIOD | AP_PERF_SAMPLE_STREAM_ID |                   \
	 AP_PERF_SAMPLE_IDENTIFIER | AP_PERF_SAMPLE_CGROUP | AP_PERF_SAMPLE_CODE_PAGE_SIZE)

static bool may_be_behind(const struct ap_sampler *s)
{
	const struct ap_sampling *g = ap_sampling_of(s);
	u64 most = BEHIND | (g->freq ? AP_PERF_SAMPLE_CALLCHAIN : 0);

	return !(s->sample_type & ~most) && !(s->flags & AP_PERF_SIGTRAP) && !s->signals &&
	       !(g->state & AP_SAMPLER_LIMIT);
}

struct mark {
	u64 left;
	u32 flags;
};

/* Counts until the nearest mark of a lane. */
static void nearest(const struct own *o, u32 lane, struct mark *m)
{
	struct ap_sampler *s;
	u64 value;

	m->left = AP_HOOK_NEVER;
	m->flags = AP_HOOK_BEHIND;
	FOR_EACH(o, s)
	{
		s64 left;

		if (s->source != AP_SAMPLE_LANE || s->lane != lane || !ap_sampler_is_on(s) ||
		    !value_of(o, s, &value))
			continue;
		left = (s64)(ap_sampling_of(s)->next - value);
		if (left < 0)
			left = 0;
		if ((u64)left < m->left)
			m->left = (u64)left;
		/* of both where two are due at once: to have computed it too often does no harm */
		if (s->sample_type & NEEDS_ADDR)
			m->flags |= AP_HOOK_NOTE_ADDR;
		if (!may_be_behind(s))
			m->flags &= ~AP_HOOK_BEHIND;
	}
}

static void arm_lane(const struct own *o, u32 lane)
{
	struct mark m;

	nearest(o, lane, &m);
	ap_hook_lane_arm(lane, m.left, m.flags);
}

static void arm_models(const struct own *o)
{
	struct ap_sampler *s;
	u64 value;

	ap_hook_models_begin();
	FOR_EACH(o, s)
	{
		if (s->source != AP_SAMPLE_MODEL || !ap_sampler_is_on(s) || !value_of(o, s, &value))
			continue;
		ap_hook_model_arm(s->kinds,
				  (s64)(ap_sampling_of(s)->next - value) > 0
					  ? ap_sampling_of(s)->next - value
					  : 0,
				  ap_sampling_of(s)->period);
	}
	ap_hook_models_end();
}

void ap_service_arm(void)
{
	const struct ap_session *session = ap_hook_session();
	u32 nlanes = __atomic_load_n(&session->nlanes, __ATOMIC_ACQUIRE), sources = 0, gen;
	struct ap_sampler *s;
	struct ap_ring_map map;
	struct own o;
	u64 value;

	if (!begin(&o))
		return;
	gen = __atomic_load_n(&o.slot->sampler_gen, __ATOMIC_ACQUIRE);
	lock(&o);
	FOR_EACH(&o, s)
	{
		if (!ap_sampler_is_on(s))
			continue;
		if (value_of(&o, s, &value))
			ap_sampler_begin_again(s, value);
		/* now, since a filter may forbid it later */
		(void)!ap_svc_ring(s, &map);
		sources |= 1U << (s->source & 31);
		if (s->source == AP_SAMPLE_CLOCK && value_of(&o, s, &value) &&
		    ap_sampler_is_due(s, value))
			ap_hook_clock_due(s->lane);
	}
	for (u32 lane = 0; lane < nlanes && lane < AP_LANE_MAX; lane++)
		if (ap_hook_lane_raw(lane) != AP_HOOK_NEVER)
			arm_lane(&o, lane);
	arm_models(&o);
	unlock(&o);
	ap_hook_sources(sources & (1U << AP_SAMPLE_WATCH | 1U << AP_SAMPLE_TRACE));
	__atomic_store_n(&o.slot->sampler_ack, gen, __ATOMIC_RELEASE);
}

/* --- overflow */

/* What is left to do when the lock is free again. */
struct deferred_work {
	bool wakes;   /* a ring has been filled to where somebody waits */
	bool asks;    /* the supervisor is to be told at once: */
	bool signals; /* a signal is due */
	bool is_last; /* the last of a limit, after which the event is disabled */
	bool traps;   /* SIGTRAP */
	u32 index;    /* of the sampler */
	u32 moved;    /* CPU + 1, where that is another than the sampler's */
	u64 inode;
	u64 addr; /* of SIGTRAP */
};

static bool is_source(const struct ap_sampler *s, const struct ap_service_point *p)
{
	if (s->source != p->source)
		return false;
	return s->source == AP_SAMPLE_LANE    ? s->lane == p->which
	       : s->source == AP_SAMPLE_MODEL ? s->kinds == p->kinds
	       : s->source == AP_SAMPLE_CLOCK ? true
					      : s->which == p->which;
}

/*
 * What was looked at late has passed several periods: one sample stands for all of them, since
 * they would all be of the same place.
 */
static void skip_missed(struct ap_sampler *s, u64 value)
{
	struct ap_sampling *g = ap_sampling_of(s);
	u64 period = __atomic_load_n(&g->period, __ATOMIC_RELAXED);
	u64 missed = period ? (value - g->next) / period : 0;

	g->next += missed * period;
	g->last_period += missed * period;
}

static void throttled(const struct own *o, const struct ap_sampler *s, u64 now,
		      const struct ap_ring_map *map, struct deferred_work *after)
{
	struct ap_record_format f;
	struct ap_ring_writer w;
	struct ap_record_origin origin;
	const struct ap_record_to to = {
		.map = map, .writer = &w, .format = &f, .origin = &origin, .wakes = &after->wakes
	};

	ap_svc_origin(s, o->slot, now, &origin);
	origin.time = origin.now(origin.now_arg); /* THROTTLE's own field, maybe by another clock */
	ap_svc_writer(&o->place, &w);
	ap_record_format_of(s, &f);
	(void)!ap_record_throttle(&to, true);
}

/* What nobody wants a record of: it is counted. */
static bool is_too_fast(const struct ap_sampler *s, const struct ap_service_point *p)
{
	return s->source == AP_SAMPLE_MODEL && s->which && p->has_result && p->latency < s->which;
}

static void write_sample(const struct own *o, struct ap_sampler *s, const struct ap_svc_sample *of,
			 u32 what, struct deferred_work *after)
{
	struct ap_ring_writer w;
	struct ap_ring_map map;
	bool wakes = false;

	if (!s->ring || is_too_fast(s, of->point))
		return;
	if (!ap_svc_ring(s, &map)) {
		ap_sampling_of(s)->lost++;
		return;
	}
	if (what & AP_OVERFLOW_THROTTLED)
		throttled(o, s, of->now, &map, after);
	ap_svc_writer(&o->place, &w);
	if (ap_svc_sample(of, &map, &w, &wakes) < 0)
		ap_sampling_of(s)->lost++;
	after->wakes |= wakes;
}

/*
 * The point of an overflow at this mark: of those that were passed behind it, the instruction of its own.  A mark that had been
 * passed when the thread first saw its sampler has none, and is told of where the thread is now.
 */
static void find_point(struct ap_service_point *p, u64 ago)
{
	struct ap_hook_passed at;
	u64 regs[AP_HOOK_REGS];

	if (p->is_behind ? !ap_hook_passed(ago, &at) : !p->known) {
		ap_hook_regs(regs);
		p->pc = regs[AP_HOOK_IP];
		p->is_late = true;
		p->is_behind = p->has_mem = p->has_result = false;
	} else if (p->is_behind) {
		p->pc = at.pc;
		p->bp = at.bp;
		p->next = at.next;
	}
}

/* One overflow of s, under the lock. */
static void overflow(const struct own *o, struct ap_sampler *s, u64 value,
		     const struct ap_service_point *p, const struct ap_svc_words *words,
		     struct deferred_work *after)
{
	u64 now = ap_svc_now();
	const struct ap_moment moment = { .value = value, .now = now, .tick = now / AP_TICK_NS };
	struct ap_svc_sample of = {
		.sampler = s, .place = &o->place, .point = p, .words = words, .now = now
	};
	struct ap_service_point at = *p;
	u32 what;

	if (p->source == AP_SAMPLE_LANE) {
		find_point(&at, value - ap_sampling_of(s)->next);
		of.point = &at;
	}
	/* a sampler with a period counts its samples */
	if (p->source == AP_SAMPLE_CLOCK || (at.is_late && ap_sampling_of(s)->freq))
		skip_missed(s, value);
	what = ap_sampler_overflow(s, &moment, &of.period);
	write_sample(o, s, &of, what, after);
	after->is_last = what & AP_OVERFLOW_LIMIT;
	after->signals = s->signals;
	after->asks = after->signals || after->is_last;
	after->inode = s->inode;
	after->traps = s->flags & AP_PERF_SIGTRAP;
	after->addr = ap_svc_data_addr(p);
	after->index = index_of(o, s);
	if (s->cpu >= 0 && (u32)s->cpu != ap_svc_cpu())
		after->moved = ap_svc_cpu() + 1;
}

/* --- what the supervisor has to be told */

static void ring_bell(void)
{
	__atomic_fetch_add(&ap_board_of(ap_hook_session())->wakes, 1, __ATOMIC_SEQ_CST);
	ap_request_ring();
}

static void ask(u32 op, u64 arg)
{
	struct ap_svc_overflow o;
	struct ap_request r;

	ap_request_begin_held(&r, op);
	r.svc->arg[0] = arg;
	r.svc->out_size = 0;
	if (ap_request_ask(&r) || op != AP_SVC_WAKE || r.svc->out_size != sizeof(o))
		return;
	memcpy(&o, r.svc->data, sizeof(o));
	ap_svc_perfctr_signal(&o);
}

void ap_svc_moved(void)
{
	ask(AP_SVC_MOVED, ap_svc_cpu());
}

/* The record is visible by now. */
static void finish(const struct deferred_work *after)
{
	if (after->wakes && !after->asks)
		ring_bell();
	if (after->signals)
		ap_svc_signal_asked(after->inode, after->is_last);
	if (after->asks)
		ask(AP_SVC_WAKE, after->index);
	if (after->moved)
		ask(AP_SVC_MOVED, after->moved - 1);
}

/*
 * Where the source stands.  The kernel's clock and the task's own are not in step: a prompt that comes up to half
 * a period early is for the mark that follows, and one that comes late for the mark before.
 */
static bool due_at(const struct own *o, const struct ap_sampler *s,
		   const struct ap_service_point *p, u64 *value)
{
	bool is_prompt = p->source == AP_SAMPLE_CLOCK && p->prompted;

	if (!value_of(o, s, value))
		return false;
	if (is_prompt && (s64)(ap_sampling_of(s)->next - *value) > 0 &&
	    ap_sampling_of(s)->next - *value < ap_sampling_of(s)->period / 2)
		*value = ap_sampling_of(s)->next;
	return ap_sampler_is_due(s, *value);
}

/* As often as it is due: false when it is not any more. */
static bool one(const struct own *o, struct ap_sampler *s, const struct ap_service_point *p,
		struct deferred_work *after)
{
	struct ap_svc_words words;
	bool was_due;
	u64 value;

	words.n = 0;
	*after = (struct deferred_work){ 0 };
	if (!due_at(o, s, p, &value))
		return false;
	if (s->sample_type & AP_PERF_SAMPLE_READ)
		ap_svc_read_words(s, index_of(o, s), &words);
	ap_svc_ring_await(s, o->name);
	lock(o);
	ap_sampler_begin_again(s, value);
	was_due = ap_sampler_is_due(s, value);
	if (was_due)
		overflow(o, s, value, p, &words, after);
	unlock(o);
	return was_due;
}

bool ap_service_overflow(const struct ap_service_point *p, struct ap_service_trap *trap)
{
	struct ap_sampler *s;
	struct deferred_work after;
	bool traps = false;
	struct own o;

	if (!begin(&o)) {
		if (p->source == AP_SAMPLE_LANE)
			ap_hook_lane_arm(p->which, AP_HOOK_NEVER, 0);
		return false;
	}
	FOR_EACH(&o, s)
	{
		/* a sampler that was scribbled over may be due for ever */
		for (u32 n = 0; n < AT_ONCE && is_source(s, p) && one(&o, s, p, &after); n++) {
			if (after.traps && !traps) {
				trap->addr = after.addr;
				trap->data = s->sig_data;
				trap->type = s->pmu_type;
				traps = true;
			}
			finish(&after);
			if (p->source == AP_SAMPLE_CLOCK)
				break; /* it goes on while the sample is written */
		}
	}
	if (p->source == AP_SAMPLE_LANE) {
		lock(&o);
		arm_lane(&o, p->which);
		unlock(&o);
	}
	return traps;
}
