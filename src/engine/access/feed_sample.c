/* SPDX-License-Identifier: MIT */
/*
 * Samples of what the models see, and what branch stacks have of them: docs/design/sampling.md, "Modelled events" and
 * "Branch stacks".  What has been logged is read first, so all of it is known here.
 */
#include "engine/access/feed.h"
#include "engine/access/feed_own.h"
#include "engine/runtime/engine.h"
#include "engine/sample/lane.h"

/* --- branch stacks: what the predictors said of the branches of a walk */

static void follow(struct ap_thread *t)
{
	ap_feed_read(t);
	t->feed_follows = true;
	t->feed->marks.followed_from = t->feed->marks.noutcomes;
}

void ap_feed_follow(struct ap_thread *t)
{
	if (t->feed && !t->feed_follows && ap_feed_has_branches())
		follow(t);
}

void ap_feed_follow_data(struct ap_thread *t)
{
	if (ap_likely(!t->feed) || !ap_feed_has_data())
		return;
	if (!t->feed_follows)
		follow(t);
	t->feed->marks.look.each = true;
	t->feed->marks.reference.pc = 0;
}

bool ap_feed_tell_data(struct ap_thread *t, struct ap_service_point *p)
{
	struct ap_feed_marks *m = t->feed ? &t->feed->marks : NULL;

	if (ap_likely(!m) || !m->look.each)
		return false;
	m->look.each = false;
	if (!p->known || !p->has_mem || !p->nmem)
		return false;
	if (m->reference.pc != p->pc || m->reference.address != p->mem[0].addr)
		return false;
	p->data_src = ap_feed_data_src(m->reference.result, m->reference.is_locked);
	p->latency = AP_MEM_CYCLES(m->reference.result);
	return true;
}

static void read_here(struct ap_thread *t)
{
	if (t->feed_pos != (u64)t->feed->from || ap_helper_left(&t->feed->helper) ||
	    t->feed->feed.pending != AP_FEED_NOTHING)
		ap_feed_read_log(t, t->regs.rip);
}

void ap_feed_look_here(struct ap_thread *t)
{
	if (!t->feed)
		return;
	ap_lock_take(&ap_proc.lock);
	read_here(t);
	ap_feed_read(t);
	ap_feed_write_code(t);
	ap_lock_drop(&ap_proc.lock);
}

/*
 * Both are the same branches, as far as they go back.  What only was noted is left as it is: its record is missing.
 * Behind a mark of the models that is sampled there may be others, which are left out.
 */
u32 ap_feed_tell(struct ap_thread *t, struct ap_hook_branch *b, u32 n)
{
	const struct ap_feed_marks *m = &t->feed->marks;
	u64 at, oldest = m->followed_from, until = ap_thread_lanes(t)->branches_until;
	u32 to = 0;

	read_here(t);
	at = m->noutcomes;
	if (at - oldest > AP_FEED_OUTCOMES)
		oldest = at - AP_FEED_OUTCOMES;
	for (u32 k = 0; k < n; k++) {
		const struct ap_feed_outcome *o = &m->outcome[(at - 1) % AP_FEED_OUTCOMES];
		bool is_told = at > oldest && o->pc == b[k].from;

		if (is_told)
			b[k].said = o->wrong ? AP_HOOK_BR_WRONG : AP_HOOK_BR_RIGHT;
		if (!until || at < until)
			b[to++] = b[k];
		at -= is_told;
	}
	return to;
}

u32 ap_feed_calls(struct ap_thread *t, struct ap_open_call *to, u32 max)
{
	if (!t->feed || !ap_feed_calls_are_kept())
		return 0;
	read_here(t);
	ap_calls_arrive(&t->feed->calls, t->regs.rip);
	return ap_calls_get(&t->feed->calls, to, max);
}

void ap_feed_begin_calls(struct ap_thread *t, u64 pc)
{
	if (ap_likely(!t->feed) || !ap_feed_calls_are_kept())
		return;
	ap_lock_take(&ap_proc.lock);
	ap_feed_read(t);
	ap_calls_arrive(&t->feed->calls, pc);
	ap_lock_drop(&ap_proc.lock);
}

void ap_feed_enter_handler(struct ap_thread *t)
{
	if (ap_likely(!t->feed) || !ap_feed_calls_are_kept())
		return;
	ap_lock_take(&ap_proc.lock);
	read_here(t);
	ap_calls_arrive(&t->feed->calls, t->regs.rip);
	ap_calls_signal(&t->feed->calls);
	ap_lock_drop(&ap_proc.lock);
}

/* --- samples: what the service wants, and gets */

bool ap_feed_wants_out(struct ap_thread *t)
{
	return t->feed_near || t->feed_hits || ap_feed_gap_may_begin(t) ||
	       __atomic_load_n(&ap_thread_slot(t)->sampler_gen, __ATOMIC_RELAXED) != t->sampler_gen;
}

void ap_feed_enter_alone(struct ap_thread *t, bool alone)
{
	t->feed->marks.alone = alone;
}

u64 ap_hook_model_count(u64 kinds)
{
	struct ap_thread *t = ap_self();
	const struct ap_service_point *p = &ap_thread_lanes(t)->point;

	if (!t->feed)
		return AP_HOOK_NEVER;
	if (p->known && p->source == AP_SAMPLE_MODEL && p->kinds == kinds)
		return p->value;
	return ap_feed_sum(&t->feed->feed, kinds);
}

void ap_hook_models_begin(void)
{
	struct ap_thread *t = ap_self();

	if (!t->feed)
		return;
	ap_lock_take(&ap_proc.lock);
	ap_feed_read(t); /* by the marks that it was written under */
	t->feed->marks.n = 0;
	ap_lock_drop(&ap_proc.lock);
}

void ap_hook_model_arm(u64 kinds, u64 counts, u64 period)
{
	struct ap_thread *t = ap_self();
	struct ap_feed_marks *m = t->feed ? &t->feed->marks : NULL;
	struct ap_feed_mark *mark;
	u64 now;

	if (!m || m->n == AP_FEED_MARKS)
		return;
	now = ap_feed_sum(&t->feed->feed, kinds);
	mark = &m->mark[m->n++];
	/* mostly the one that was there before: how fast it counts is known */
	*mark = (struct ap_feed_mark){ .kinds = kinds,
				       .next = now + (counts ? counts : 1),
				       .period = period,
				       .was = now,
				       .rate = mark->kinds == kinds ? mark->rate : 0 };
}

/*
 * Cycles pass all the time, at a rate that changes little: between windows samples of them are taken by the rate of the last one,
 * where the thread is then.  That wants code without a log, which stops after so many instructions.
 */
static u64 steady_kinds(struct ap_thread *t)
{
	const struct ap_feed_marks *m = &t->feed->marks;
	u64 kinds = 0;

	for (u32 k = 0; k < m->n; k++)
		if (!(m->mark[k].kinds & ~AP_KINDS_CYCLES))
			kinds |= m->mark[k].kinds;
	return kinds && ap_feed_gap_needs_no_log(t) ? kinds : 0;
}

void ap_hook_models_end(void)
{
	struct ap_thread *t = ap_self();

	if (!t->feed)
		return;
	ap_lock_take(&ap_proc.lock);
	ap_sample_on();
	ap_feed_thin_ahead(&t->feed->feed, t->feed->marks.n != 0, steady_kinds(t));
	ap_feed_begin_log(t, 0);
	/* until it is known how fast they count */
	t->feed_near = t->feed->marks.n != 0 && !ap_feed_thin_stands_still(&t->feed->feed);
	ap_lock_drop(&ap_proc.lock);
}

static bool take_hit(struct ap_thread *t, struct ap_feed_hit *h)
{
	struct ap_feed_marks *m = &t->feed->marks;
	struct ap_service_point *p = &ap_thread_lanes(t)->point;
	bool any;

	ap_lock_take(&ap_proc.lock);
	any = m->nhits != 0;
	if (any) {
		*h = m->hit[m->first_hit];
		m->first_hit = (m->first_hit + 1) % AP_FEED_HITS;
		m->nhits--;
		p->pc = ap_feed_resolve(&h->at);
	}
	ap_lock_drop(&ap_proc.lock);
	return any;
}

void ap_feed_take_hits(struct ap_thread *t)
{
	struct ap_service_point *p = &ap_thread_lanes(t)->point;
	struct ap_feed_hit h;

	while (take_hit(t, &h)) {
		bool is_data = h.what == AP_FEED_SAW_LOAD || h.what == AP_FEED_SAW_STORE;

		p->known = true;
		p->kinds = h.kinds;
		p->value = h.value;
		p->has_mem = p->has_result = is_data;
		p->data_src = ap_feed_data_src(h.result, h.is_locked);
		p->latency = AP_MEM_CYCLES(h.result);
		p->has_no_regs = !h.alone;
		p->last_pc = h.is_estimated ? 0 : t->feed_last_pc;
		p->is_late = h.is_estimated;
		p->nmem = is_data;
		p->len = 0;
		p->mem[0].addr = h.address;
		p->mem[0].size = h.size;
		p->mem[0].read = h.what == AP_FEED_SAW_LOAD;
		p->mem[0].write = h.what == AP_FEED_SAW_STORE;
		ap_thread_lanes(t)->branches_until = 1 + h.outcomes;
		ap_lane_call(t, AP_SAMPLE_MODEL, 0);
		ap_thread_lanes(t)->branches_until = 0;
		p->known = p->has_mem = p->has_result = p->has_no_regs = p->is_late = false;
		p->last_pc = 0;
	}
	t->feed_hits = 0;
	ap_lanes_arm(t);
}
