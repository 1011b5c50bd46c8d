/* SPDX-License-Identifier: MIT */
/*
 * A thread's lanes: what it has counted of them, when the service is to be called, and calling it.
 * lane.h says what budget, mark and margin are.
 *
 * Only the thread itself works here, outside the cache.  A signal that comes meanwhile waits.
 */
#include "engine/sample/lane.h"

#include "abi/switches.h"
#include "base/mem.h"
#include "engine/access/feed.h"
#include "engine/signal/signal.h"
#include "engine/task/task.h"

#define ROUNDS                                                                                     \
	4096 /* of overflows at one instruction: a service that arms none of them is broken */
#define SOON 63

static u64 raw_of(struct ap_thread *t, u32 k)
{
	return ap_thread_lanes(t)->lane[k].zero - (u64)ap_lane_budget(t, k);
}

/* Instructions alone are counted down, for samples that show no registers. */
static bool may_be_behind(const struct ap_thread *t, const struct ap_lane *lane, u32 k)
{
	return lane->may_be_behind && lane->armed && !lane->is_soon && !lane->has_turn && !k &&
	       ap_proc.nlanes == 1 && ap_proc.lanes[k] == AP_LANE_CARRIED && !t->feed &&
	       !ap_proc.data;
}

/* The nearer of the lane's marks decides about its budget. */
static void aim(struct ap_thread *t, u32 k, u64 raw)
{
	struct ap_lane *lane = &ap_thread_lanes(t)->lane[k];
	u64 left = AP_BUDGET_MAX;
	s64 budget;

	if (lane->armed && (s64)(lane->mark - raw) < (s64)left)
		left = lane->mark - raw;
	if (lane->is_soon && (s64)(lane->soon - raw) < (s64)left)
		left = lane->soon - raw;
	lane->behind = may_be_behind(t, lane, k);
	lane->margin =
		lane->behind ? 1 : ap_proc.lane_margin[k] + ap_branches_margin(ap_proc.lanes[k]);
	if (lane->has_turn && (s64)(lane->turn + lane->margin - raw) < (s64)left)
		left = lane->turn + lane->margin - raw;
	budget = (s64)left - (s64)lane->margin;
	lane->zero = raw + (u64)budget;
	ap_lane_place(t, k, budget);
}

u64 ap_lane_raw(struct ap_thread *t, u32 lane)
{
	return raw_of(t, lane);
}

void ap_lane_take_turn(struct ap_thread *t, u32 lane, u64 counts)
{
	struct ap_lane *l = &ap_thread_lanes(t)->lane[lane];
	u64 raw = raw_of(t, lane);

	l->has_turn = counts != 0;
	l->turn = raw + counts;
	aim(t, lane, raw);
}

bool ap_lanes_have_marks(struct ap_thread *t)
{
	const struct ap_lane *l = ap_thread_lanes(t)->lane;

	for (u32 k = 0; k < t->nlanes; k++)
		if (l[k].armed || l[k].is_soon)
			return true;
	return false;
}

void ap_lanes_arm(struct ap_thread *t)
{
	ap_sample_on();
	t->sampler_gen = __atomic_load_n(&ap_thread_slot(t)->sampler_gen, __ATOMIC_ACQUIRE);
	if (ap_is_stressed(ap_proc.session, AP_STRESS_SAMPLE))
		ap_lane_stress_arm(t);
	else
		ap_service_arm();
}

void ap_lanes_begin(struct ap_thread *t)
{
	struct ap_lanes *l = ap_thread_lanes(t);

	if (!t->nlanes) {
		memset(l, 0, sizeof(*l));
		l->random = (u32)(t->serial * 0x9e3779b9U) ^ t->tid ^ 0x5bd1e995U;
		l->random += !l->random;
	}
	for (u32 k = 0; k < ap_proc.nlanes; k++) {
		struct ap_lane *lane = &l->lane[k];

		if (k < t->nlanes && lane->kinds == ap_proc.lanes[k])
			continue;
		lane->kinds = ap_proc.lanes[k];
		lane->armed = lane->is_soon = lane->has_turn = false;
		aim(t, k, ap_lane_sum(t, lane->kinds));
	}
	t->nlanes = ap_proc.nlanes;
	l->gen = ap_proc.lane_gen;
	ap_lanes_arm(t);
}

/* --- overflows */

void ap_lane_call(struct ap_thread *t, u32 source, u32 which)
{
	struct ap_lanes *l = ap_thread_lanes(t);
	struct ap_service_trap trap;

	l->point.source = source;
	l->point.which = which;
	if (ap_is_stressed(ap_proc.session, AP_STRESS_SAMPLE)) {
		ap_lane_stress_overflow(t, &l->point, raw_of(t, which));
		return;
	}
	if (!ap_service_overflow(&l->point, &trap) || t->lane_trap)
		return;
	l->trap = trap;
	t->lane_trap = 1;
}

/* True where one of the lane's marks had been reached. */
static bool reach(struct ap_thread *t, u32 k)
{
	struct ap_lane *lane = &ap_thread_lanes(t)->lane[k];
	struct ap_service_point *point = &ap_thread_lanes(t)->point;
	u64 raw = raw_of(t, k);
	bool hit = lane->armed && (s64)(lane->mark - raw) <= 0;
	bool soon = lane->is_soon && (s64)(lane->soon - raw) <= 0;
	bool behind = lane->behind;

	lane->armed &= !hit;
	lane->is_soon &= !soon;
	aim(t, k, raw);
	point->is_behind = behind;
	if (hit)
		ap_lane_call(t, AP_SAMPLE_LANE, k);
	point->is_behind = false;
	if (soon)
		ap_lane_call(t, AP_SAMPLE_CLOCK, k);
	return hit || soon;
}

static bool reach_any(struct ap_thread *t)
{
	bool any = false;

	for (u32 k = 0; k < t->nlanes; k++)
		if (!ap_lane_is_spread(t, k) &&
		    ap_lane_budget(t, k) <= -(s64)ap_thread_lanes(t)->lane[k].margin)
			any |= reach(t, k);
	return any;
}

void ap_lanes_look(struct ap_thread *t)
{
	struct ap_lanes *l = ap_thread_lanes(t);

	if (__atomic_load_n(&ap_thread_slot(t)->sampler_gen, __ATOMIC_RELAXED) != t->sampler_gen)
		ap_lanes_arm(t);
	l->point.has_result = ap_feed_tell_data(t, &l->point);
	for (u32 rounds = 0; rounds < ROUNDS && reach_any(t); rounds++)
		;
	l->point.has_result = false;
	if (t->nprompts)
		ap_prompts_take(t);
	if (t->feed_hits)
		ap_feed_take_hits(t);
	l->point.known = false;
	for (u32 k = 0; t->watched; k++, t->watched >>= 1)
		if (t->watched & 1)
			ap_lanes_counted(t, AP_SAMPLE_WATCH, k, t->data.pc);
	if (!t->lane_trap)
		return;
	t->lane_trap = 0;
	ap_signal_perf_trap(t, &l->trap);
}

void ap_lanes_look_at(struct ap_thread *t, u64 pc)
{
	struct ap_service_point *p = &ap_thread_lanes(t)->point;

	if (t->feed_hits)
		ap_feed_take_hits(t);
	p->known = true;
	p->has_mem = false;
	p->pc = pc;
	for (u32 rounds = 0; rounds < ROUNDS && reach_any(t); rounds++)
		;
	p->known = false;
}

void ap_lanes_counted(struct ap_thread *t, u32 source, u32 which, u64 pc)
{
	struct ap_service_point *p = &ap_thread_lanes(t)->point;

	p->known = true;
	p->has_mem = p->prompted = false;
	p->pc = pc;
	p->value = t->call_value;
	ap_lane_call(t, source, which);
	p->known = false;
}

/* --- the service's wishes (service/hooks.h) */

u64 ap_hook_lane_raw(u32 lane)
{
	struct ap_thread *t = ap_self();

	/* it may have got another set, and the thread be in code of the old one */
	if (lane >= t->nlanes ||
	    ap_thread_lanes(t)->lane[lane].kinds !=
		    __atomic_load_n(&ap_proc.session->lanes[lane], __ATOMIC_RELAXED))
		return AP_HOOK_NEVER;
	return raw_of(t, lane);
}

void ap_hook_lane_arm(u32 lane, u64 counts, u32 flags)
{
	struct ap_thread *t = ap_self();
	struct ap_lane *l;
	u64 raw;

	if (lane >= t->nlanes)
		return;
	l = &ap_thread_lanes(t)->lane[lane];
	raw = raw_of(t, lane);
	l->armed = counts < AP_BUDGET_MAX;
	l->notes = flags & AP_HOOK_NOTE_ADDR;
	l->may_be_behind = flags & AP_HOOK_BEHIND;
	l->mark = raw + counts;
	aim(t, lane, raw);
}

static u32 next_random(u32 *state)
{
	u32 x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	*state = x;
	return x;
}

void ap_hook_clock_due(u32 lane)
{
	struct ap_thread *t = ap_self();
	struct ap_lanes *l = ap_thread_lanes(t);
	u64 raw;

	/* without a lane it is sampled where it is */
	if (lane >= t->nlanes && !t->nprompts)
		ap_prompt_note(t, AP_PROMPT_CLOCK, t->regs.rip, 0);
	if (lane >= t->nlanes || l->lane[lane].is_soon)
		return;
	raw = raw_of(t, lane);
	l->lane[lane].is_soon = true;
	l->lane[lane].soon = raw + (next_random(&l->random) & SOON);
	aim(t, lane, raw);
}

void ap_hook_sources(u32 mask)
{
	ap_sample_on();
	ap_self()->sources = mask;
}

void ap_hook_regs(u64 regs[AP_HOOK_REGS])
{
	/* rax rcx rdx rbx rsp rbp rsi rdi */
	static const u8 place[8] = { AP_HOOK_AX, AP_HOOK_CX, AP_HOOK_DX, AP_HOOK_BX,
				     AP_HOOK_SP, AP_HOOK_BP, AP_HOOK_SI, AP_HOOK_DI };
	const struct ap_regs *r = &ap_self()->regs;

	memset(regs, 0, AP_HOOK_REGS * sizeof(*regs));
	for (u32 k = 0; k < 8; k++)
		regs[place[k]] = r->gpr[k];
	for (u32 k = 8; k < 16; k++)
		regs[AP_HOOK_R8 + k - 8] = r->gpr[k];
	regs[AP_HOOK_IP] = r->rip;
	regs[AP_HOOK_FLAGS] = r->rflags;
	regs[AP_HOOK_CS] = 0x33;
	regs[AP_HOOK_SS] = 0x2b;
}
