/* SPDX-License-Identifier: MIT */
/*
 * Gaps between what the models see (model/thin.h): to log what nobody reads is most of what estimates cost, so a thread
 * goes through them in *plain* code, without a log, which lies in the cache beside the code that logs.
 *
 * Blocks of one kind lead to their like alone: they are linked, found and looked up apart (link.c, lookup.c).  Who is to
 * go over to the other kind comes to the dispatcher: out of code that logs when a log is full, out of plain code when the
 * instructions of its turn have run, which the lane that carries them says (lane.h).  Turns are short beside a gap,
 * so that other threads are kept step with and readers are not far behind; they are counted, so a run is the same each time.
 *
 * Samples, branches and breakpoints are looked for in code that logs alone: whoever wants these has none of the plain kind.
 */
#include "engine/access/feed.h"
#include "engine/access/feed_own.h"
#include "engine/cache/lookup.h"
#include "engine/runtime/engine.h"
#include "engine/sample/lane.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define TURN_MAX (1UL << 22) /* instructions */
#define TURN_MIN (1UL << 10) /* more than a block has */

static u32 lane(void)
{
	return ap_proc.carry - 1;
}

u64 ap_feed_faults(const struct ap_thread *t)
{
	return ap_proc.session->model_sample <= 1 || t->filters ? ~0ULL : ap_mem_faults();
}

u64 ap_feed_own_begin(const struct ap_thread *t)
{
	if (ap_likely(!t->feed) || t->plain || !t->feed->met || t->filters)
		return ~0ULL;
	ap_mem_note_own(true);
	return ap_mem_own_faults();
}

void ap_feed_own_end(struct ap_thread *t, u64 faults)
{
	if (ap_likely(faults == ~0ULL))
		return;
	ap_mem_note_own(false);
	if (t->feed)
		ap_feed_skip_faults(&t->feed->feed, ap_mem_own_faults() - faults);
}

bool ap_feed_gap_needs_no_log(struct ap_thread *t)
{
	return ap_feed_is_on() && ap_lanes_carry(t) && !ap_proc.data && !ap_proc.seg->mute &&
	       !ap_feed_calls_are_kept() && !ap_branches_are_noted() && !ap_lanes_have_marks(t);
}

static bool may_be_plain(struct ap_thread *t)
{
	const struct ap_thread_feed *tf = t->feed;

	return ap_feed_gap_needs_no_log(t) && (!tf->marks.n || tf->feed.thin.ahead) &&
	       !t->feed_follows;
}

bool ap_feed_gap_may_begin(struct ap_thread *t)
{
	return ap_feed_thin_is_gap() && !t->plain && may_be_plain(t);
}

u64 ap_feed_gap_ran(struct ap_thread *t)
{
	u64 raw, ran;

	if (ap_proc.session->model_sample <= 1 || !ap_lanes_carry(t))
		return 0;
	raw = ap_lane_raw(t, lane());
	ran = raw - t->feed->gap.raw;
	t->feed->gap.raw = raw;
	return ran;
}

void ap_feed_gap_note(struct ap_thread *t, u64 words, u64 ran)
{
	struct ap_thread_feed *tf = t->feed;

	if (ap_proc.session->model_sample <= 1 || !ap_lanes_carry(t))
		return;
	if (tf->feed.thin.state == AP_THIN_READ)
		tf->feed.thin.insns =
			tf->feed.thin.words <= words ? ran : tf->feed.thin.insns + ran;
}

/* As many words as would have been logged. */
void ap_feed_gap_account(struct ap_thread *t)
{
	struct ap_thread_feed *tf = t->feed;
	struct ap_feed_gap *g = &tf->gap;
	u64 raw = ap_lane_raw(t, lane()), ran = raw - g->from, words = tf->feed.thin.words;
	u64 insns = tf->feed.thin.insns;

	if ((s64)ran <= 0)
		return;
	if (!words || !insns) { /* it has not been read yet, or did nothing then */
		words = 1;
		insns = AP_THIN_INSNS;
	}
	g->rest += ran * words;
	g->from = g->raw = raw;
	ap_feed_thin_pass(&tf->feed, g->rest / insns, ran, ap_feed_faults(t));
	g->rest %= insns;
	ap_feed_publish(t, &tf->feed);
}

static void begin_turn(struct ap_thread *t, u64 insns)
{
	u64 left = t->feed ? ap_feed_marks_left(&t->feed->marks, &t->feed->feed) : ~0ULL;

	if (ap_proc.nthreads > 1)
		insns /= 2 * ap_proc.nthreads;
	if (insns > left)
		insns = left;
	if (insns > TURN_MAX)
		insns = TURN_MAX;
	ap_lane_take_turn(t, lane(), insns < TURN_MIN ? TURN_MIN : insns);
}

/* Samples that are due where the thread stands. */
static bool has_come_to_marks(struct ap_thread *t)
{
	struct ap_thread_feed *tf = t->feed;

	if (ap_likely(!tf->marks.n) ||
	    !ap_feed_marks_pass(&tf->marks, &tf->feed, t->regs.rip, true))
		return false;
	__atomic_store_n(&t->feed_hits, tf->marks.nhits, __ATOMIC_RELAXED);
	return true;
}

bool ap_feed_gap_look(struct ap_thread *t, bool stopped)
{
	struct ap_thread_feed *tf = t->feed;
	u64 left = 0;
	bool is_due = false;

	if (!t->plain) {
		if (ap_likely(!ap_feed_gap_may_begin(t)))
			return false;
		ap_feed_read(t);
	} else if (!stopped && !ap_lanes_near(t) && ap_feed_thin_is_gap() && may_be_plain(t)) {
		return false;
	} else {
		ap_feed_gap_account(t);
		is_due = has_come_to_marks(t);
	}
	t->plain =
		may_be_plain(t) && ap_feed_thin_passes(&tf->feed, &left) && ap_lookup_init_plain();
	if (!t->plain) {
		ap_lane_take_turn(t, lane(), 0);
		tf->gap.raw = ap_lane_raw(t, lane());
		return is_due;
	}
	tf->gap.from = tf->gap.raw = ap_lane_raw(t, lane());
	if (tf->feed.thin.words && tf->feed.thin.insns)
		begin_turn(t, left * tf->feed.thin.insns / tf->feed.thin.words);
	else
		begin_turn(t, left * AP_THIN_INSNS);
	return is_due;
}

/* --- threads without models */

static void account_wait(struct ap_thread *t)
{
	u64 raw = ap_lane_raw(t, lane()), ran = raw - t->waits.from;

	if ((s64)ran <= 0)
		return;
	t->waits.from = raw;
	ap_feed_thin_skip(ran);
}

static void leave(struct ap_thread *t)
{
	account_wait(t);
	ap_lane_take_turn(t, lane(), 0);
	t->plain = 0;
}

/* What it was before is no matter: it is asked when it has no models, which it would have if it had been in a window. */
bool ap_feed_gap_waits(struct ap_thread *t, bool stopped)
{
	struct ap_feed_wait *w = &t->waits;

	if (w->is_on && t->plain && !stopped && !ap_lanes_near(t) && ap_feed_gap_needs_no_log(t) &&
	    ap_feed_thin_is_gap())
		return true;
	if (w->is_on && t->plain)
		leave(t);
	if (ap_proc.session->model_sample <= 1 || !ap_feed_gap_needs_no_log(t)) {
		if (!ap_feed_is_on())
			ap_feed_gap_end(t);
		return false;
	}
	ap_feed_thin_init();
	if (!ap_feed_thin_is_gap() || !ap_lookup_init_plain())
		return false;
	if (!w->is_on) {
		w->is_on = true;
		w->since = w->from = ap_lane_raw(t, lane());
		__atomic_store_n(&ap_thread_slot(t)->unseen, 1, __ATOMIC_RELAXED);
	}
	t->plain = 1;
	begin_turn(t, ap_feed_thin_left());
	return true;
}

u64 ap_feed_gap_waited(struct ap_thread *t)
{
	u64 raw;

	if (!ap_lanes_carry(t))
		return 0;
	raw = ap_lane_raw(t, lane());
	if (!t->waits.is_on)
		t->waits.since = raw;
	t->waits.is_on = false;
	return raw - t->waits.since;
}

u64 ap_feed_gap_all(struct ap_thread *t)
{
	u64 raw, all;

	if (!ap_lanes_carry(t))
		return 0;
	raw = ap_lane_raw(t, lane());
	all = raw - t->waits.since;
	t->waits.since = raw;
	return all;
}

/* Where tasks of the session have perf events: by what others of it counted, as at the end. */
void ap_feed_gap_guess(struct ap_thread *t)
{
	if (__atomic_load_n(&ap_proc.session->perf_used, __ATOMIC_RELAXED))
		ap_feed_gap_end(t);
}

void ap_feed_gap_end(struct ap_thread *t)
{
	u64 counts[AP_WINDOWS_N];

	if (!t->waits.is_on || !ap_lanes_carry(t))
		return;
	if (t->plain)
		account_wait(t);
	ap_windows_guess(ap_feed_gap_all(t), counts);
	for (u32 k = 0; k < AP_WINDOWS_N; k++)
		ap_thread_slot(t)->extra[AP_KIND_CYCLES + k] += (s64)counts[k];
	t->waits.is_on = ap_feed_is_on();
}
