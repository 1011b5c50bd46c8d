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
#include "engine/engine.h"
#include "engine/feed.h"
#include "engine/feed_own.h"
#include "engine/lane.h"
#include "engine/lookup.h"
#include "engine/nr.h"
#include "engine/sys.h"

#define TURN_MAX (1UL << 22) /* instructions */
#define TURN_MIN (1UL << 10) /* more than a block has */

static u32 lane(void)
{
	return ap_proc.carry - 1;
}

u64 ap_feed_faults(const struct ap_thread *t)
{
	enum { RUSAGE_THREAD = 1, MINFLT = 8, MAJFLT = 9 };
	u64 usage[18]; /* struct rusage */

	if (ap_proc.session->model_sample <= 1 || t->filters ||
	    ap_sys2(AP_NR_getrusage, RUSAGE_THREAD, (u64)usage))
		return ~0ULL;
	return usage[MINFLT] + usage[MAJFLT];
}

static bool may_be_plain(struct ap_thread *t)
{
	const struct ap_thread_feed *tf = t->feed;

	return ap_feed_is_on() && ap_lanes_carry(t) && !ap_proc.data && !ap_proc.seg->mute &&
	       (!tf->marks.n || tf->feed.thin.ahead) && !t->feed_follows &&
	       !ap_feed_calls_are_kept() && !ap_branches_are_noted() && !ap_lanes_have_marks(t);
}

bool ap_feed_gap_may_begin(struct ap_thread *t)
{
	return ap_feed_thin_is_gap() && !t->plain && may_be_plain(t);
}

void ap_feed_gap_note(struct ap_thread *t, u64 words)
{
	struct ap_thread_feed *tf = t->feed;
	u64 raw, ran;

	if (ap_proc.session->model_sample <= 1 || !ap_lanes_carry(t))
		return;
	raw = ap_lane_raw(t, lane());
	ran = raw - tf->gap.raw;
	tf->gap.raw = raw;
	if (tf->feed.thin.state == AP_THIN_READ)
		tf->feed.thin.insns =
			tf->feed.thin.words <= words ? ran : tf->feed.thin.insns + ran;
}

/* As many words as would have been logged. */
void ap_feed_gap_account(struct ap_thread *t)
{
	struct ap_thread_feed *tf = t->feed;
	struct ap_feed_gap *g = &tf->gap;
	u64 raw = ap_lane_raw(t, lane()), ran = raw - g->from, insns = tf->feed.thin.insns;

	if ((s64)ran <= 0)
		return;
	g->rest += ran * tf->feed.thin.words;
	g->from = g->raw = raw;
	ap_feed_thin_pass(&tf->feed, g->rest / insns, ran, ap_feed_faults(t));
	g->rest %= insns;
	ap_feed_publish(t, &tf->feed);
}

static void begin_turn(struct ap_thread *t, u64 words)
{
	struct ap_thread_feed *tf = t->feed;
	u64 insns = words * tf->feed.thin.insns / tf->feed.thin.words;

	if (ap_proc.nthreads > 1)
		insns /= 2 * ap_proc.nthreads;
	if (insns > TURN_MAX)
		insns = TURN_MAX;
	ap_lane_take_turn(t, lane(), insns < TURN_MIN ? TURN_MIN : insns);
}

void ap_feed_gap_look(struct ap_thread *t, bool stopped)
{
	struct ap_thread_feed *tf = t->feed;
	u64 left = 0;

	if (!t->plain) {
		if (ap_likely(!ap_feed_gap_may_begin(t)))
			return;
		ap_feed_read(t);
	} else if (!stopped && !ap_lanes_near(t) && ap_feed_thin_is_gap() && may_be_plain(t)) {
		return;
	} else {
		ap_feed_gap_account(t);
	}
	t->plain = may_be_plain(t) && ap_feed_thin_passes(&tf->feed, &left) &&
		   tf->feed.thin.words && tf->feed.thin.insns && ap_lookup_init_plain();
	if (!t->plain) {
		ap_lane_take_turn(t, lane(), 0);
		tf->gap.raw = ap_lane_raw(t, lane());
		return;
	}
	tf->gap.from = tf->gap.raw = ap_lane_raw(t, lane());
	begin_turn(t, left);
}
