/* SPDX-License-Identifier: MIT */
/*
 * What a thread's models have counted, by kind, in its slot; and which part of a run they see
 * (docs/design/feed.md, "Parts of a run").
 */
#include "abi/switches.h"
#include "engine/access/feed_own.h"

#include "base/mem.h"
#include "engine/access/feed.h"
#include "engine/runtime/engine.h"
#include "model/pages.h"

#define NCOUNTS (AP_KIND_LOAD_LLC_MISS - AP_KIND_CYCLES + 1)
_Static_assert(NCOUNTS <= AP_THIN_COUNTS && NCOUNTS == AP_WINDOWS_N, "room");
_Static_assert(sizeof(struct ap_thin_errors) <= sizeof(((struct ap_seg *)0)->errors), "room");
#define LITTLE 4096 /* instructions */

static struct ap_thin_phase phase;

/* Which count of the models is which kind's. */
static const u8 model_of[AP_KIND_N] = {
	[AP_KIND_L1D_LOAD_MISS] = AP_MODEL_L1D_LOAD_MISS,
	[AP_KIND_L1D_STORE_MISS] = AP_MODEL_L1D_STORE_MISS,
	[AP_KIND_L1D_PREFETCH] = AP_MODEL_L1D_PREFETCH_MISS,
	[AP_KIND_L1I_LOAD] = AP_MODEL_L1I_LOAD,
	[AP_KIND_L1I_LOAD_MISS] = AP_MODEL_L1I_LOAD_MISS,
	[AP_KIND_L2_LOAD] = AP_MODEL_L2_LOAD,
	[AP_KIND_L2_STORE] = AP_MODEL_L2_STORE,
	[AP_KIND_L2_CODE] = AP_MODEL_L2_CODE,
	[AP_KIND_LLC_LOAD] = AP_MODEL_LLC_LOAD,
	[AP_KIND_LLC_STORE] = AP_MODEL_LLC_STORE,
	[AP_KIND_LLC_CODE] = AP_MODEL_LLC_CODE,
	[AP_KIND_LLC_PREFETCH] = AP_MODEL_LLC_PREFETCH,
	[AP_KIND_LLC_LOAD_MISS] = AP_MODEL_LLC_LOAD_MISS,
	[AP_KIND_LLC_STORE_MISS] = AP_MODEL_LLC_STORE_MISS,
	[AP_KIND_LLC_CODE_MISS] = AP_MODEL_LLC_CODE_MISS,
	[AP_KIND_LLC_PREFETCH_MISS] = AP_MODEL_LLC_PREFETCH_MISS,
	[AP_KIND_NODE_LOAD_MISS] = AP_MODEL_NODE_LOAD_MISS,
	[AP_KIND_NODE_STORE_MISS] = AP_MODEL_NODE_STORE_MISS,
	[AP_KIND_LLC_WRITEBACK] = AP_MODEL_LLC_WRITEBACK,
	[AP_KIND_DTLB_LOAD_MISS] = AP_MODEL_DTLB_LOAD_MISS,
	[AP_KIND_DTLB_STORE_MISS] = AP_MODEL_DTLB_STORE_MISS,
	[AP_KIND_ITLB_MISS] = AP_MODEL_ITLB_MISS,
	[AP_KIND_DTLB_LOAD_WALK] = AP_MODEL_DTLB_LOAD_WALK,
	[AP_KIND_DTLB_STORE_WALK] = AP_MODEL_DTLB_STORE_WALK,
	[AP_KIND_ITLB_WALK] = AP_MODEL_ITLB_WALK,
	[AP_KIND_COND_MISS] = AP_MODEL_COND_MISS,
	[AP_KIND_INDIRECT_MISS] = AP_MODEL_INDIRECT_MISS,
	[AP_KIND_RETURN_MISS] = AP_MODEL_RETURN_MISS,
	[AP_KIND_BTB_MISS] = AP_MODEL_BTB_MISS,
	[AP_KIND_SPLIT_LOAD] = AP_MODEL_SPLIT_LOAD,
	[AP_KIND_SPLIT_STORE] = AP_MODEL_SPLIT_STORE,
	[AP_KIND_HITM_LOAD] = AP_MODEL_HITM_LOAD,
	[AP_KIND_LOAD_L2_HIT] = AP_MODEL_LOAD_L2_HIT,
	[AP_KIND_LOAD_LLC_HIT] = AP_MODEL_LOAD_LLC_HIT,
	[AP_KIND_LOAD_LLC_MISS] = AP_MODEL_LOAD_LLC_MISS,
};

static u64 at_clock(u64 cycles, u32 mhz)
{
	return ap_feed_machine()->mhz ? cycles * mhz / ap_feed_machine()->mhz : cycles;
}

static u64 read_of(const struct ap_feed *f, u32 kind)
{
	u64 cycles = f->pipe.now >> 8;

	switch (kind) {
	case AP_KIND_CYCLES:
		return cycles;
	case AP_KIND_STALL_FRONT:
		return f->stall_front >> 8;
	case AP_KIND_STALL_BACK:
		return f->pipe.stalled >> 8;
	case AP_KIND_STALL_L1D_MISS:
	case AP_KIND_STALL_L2_MISS:
	case AP_KIND_STALL_LLC_MISS:
		return f->pipe.stalled_by[kind - AP_KIND_STALL_L1D_MISS] >> 8;
	case AP_KIND_REF_CYCLES:
		return at_clock(cycles, ap_feed_machine()->ref_mhz);
	case AP_KIND_BUS_CYCLES:
		return at_clock(cycles, ap_feed_machine()->bus_mhz);
	default:
		return f->count[model_of[kind]];
	}
}

/* With what is estimated of logs that were passed over, or will be. */
static u64 value_of(const struct ap_feed *f, u32 kind)
{
	u64 read = read_of(f, kind);
	u32 k = kind - AP_KIND_CYCLES;

	return read + f->thin.added[k] + ap_thin_more(&f->thin, k, read);
}

u64 ap_feed_stands_for(const struct ap_feed *f, u64 kinds)
{
	return AP_THIN_ONE + (f->thin.steady & kinds >> AP_KIND_CYCLES ? 0 : f->thin.more);
}

u64 ap_feed_sum(const struct ap_feed *f, u64 kinds)
{
	u64 sum = 0;

	for (kinds &= AP_KINDS_MODEL; kinds; kinds &= kinds - 1)
		sum += value_of(f, (u32)__builtin_ctzll(kinds));
	return sum;
}

void ap_feed_publish(struct ap_thread *t, const struct ap_feed *f)
{
	s64 *extra = ap_thread_slot(t)->extra;

	for (u32 k = AP_KIND_CYCLES; k <= AP_KIND_LOAD_LLC_MISS; k++)
		__atomic_store_n(&extra[k], (s64)value_of(f, k), __ATOMIC_RELAXED);
	__atomic_store_n(&ap_thread_slot(t)->unseen, ap_feed_thin_is_unseen(f), __ATOMIC_RELAXED);
}

/* --- a part for the whole */

static void all_read(const struct ap_feed *f, u64 all[AP_THIN_COUNTS])
{
	for (u32 k = 0; k < NCOUNTS; k++)
		all[k] = read_of(f, AP_KIND_CYCLES + k);
}

static void draw(struct ap_thin_phase *p, u64 random)
{
	struct ap_thin_start start;

	if (ap_is_stressed(ap_proc.session, AP_STRESS_GAPS))
		ap_thin_init_short(p, ap_proc.session->model_sample);
	else
		ap_thin_init(p, ap_proc.session->model_sample);
	if (!ap_thin_is_on(p))
		return;
	ap_windows_start(&start, random);
	ap_thin_begin(p, &start);
}

static void begin_phase(void)
{
	phase.errors = (struct ap_thin_errors *)ap_proc.seg->errors;
	if (phase.period && phase.state == AP_THIN_READ)
		ap_windows_gap(); /* a window as well, so that the next ones are farther apart */
}

void ap_feed_thin_init(void)
{
	if (ap_thin_is_on(&phase))
		return;
	draw(&phase, ap_proc.random);
	if (ap_thin_is_on(&phase))
		begin_phase();
}

static struct ap_thin_phase unborn; /* of the next child */

bool ap_feed_thin_draw(u64 random)
{
	draw(&unborn, random);
	return unborn.state == AP_THIN_READ;
}

void ap_feed_thin_fork_child(struct ap_feed *f)
{
	phase = unborn;
	memset(&unborn, 0, sizeof(unborn));
	if (ap_thin_is_on(&phase))
		begin_phase();
	if (!f)
		return;
	memset(&f->thin, 0, sizeof(f->thin));
	if (ap_thin_is_on(&phase) && phase.state != AP_THIN_READ)
		ap_thin_wait(&f->thin, 0);
	if (f->mem && f->mem->met)
		ap_met_fork_child(f->mem->met);
}

void ap_feed_thin_skip(u64 insns)
{
	ap_thin_skip(&phase, insns / AP_THIN_INSNS);
	__atomic_store_n(&ap_proc.seg->estimates, 1, __ATOMIC_RELAXED);
}

u64 ap_feed_thin_left(void)
{
	s32 words = __atomic_load_n(&phase.left, __ATOMIC_RELAXED);

	return words > 0 ? (u64)words * AP_THIN_INSNS : 1;
}

void ap_feed_thin_wait(struct ap_feed *f, u64 insns)
{
	if (ap_thin_is_on(&phase) &&
	    (insns || __atomic_load_n(&phase.state, __ATOMIC_RELAXED) != AP_THIN_READ))
		ap_thin_wait(&f->thin, insns);
}

/* Code also goes where there is no more room for it. */
void ap_feed_thin_restart(void)
{
	static u64 kinds;

	if (ap_thin_is_on(&phase) && kinds != (ap_proc.kinds & AP_KINDS_MODEL))
		ap_thin_restart(&phase);
	kinds = ap_proc.kinds & AP_KINDS_MODEL;
}

void ap_feed_thin_alone(struct ap_feed *f)
{
	u64 now[AP_THIN_COUNTS];

	if (!ap_thin_is_on(&phase))
		return;
	all_read(f, now);
	ap_thin_alone(&f->thin, now, NCOUNTS);
}

void ap_feed_thin_ahead(struct ap_feed *f, bool is_on, u64 steady)
{
	u64 now[AP_THIN_COUNTS];

	steady >>= AP_KIND_CYCLES;
	if (!ap_thin_is_on(&phase) || (f->thin.ahead == is_on && f->thin.steady == steady))
		return;
	all_read(f, now);
	ap_thin_ahead(&f->thin, &phase, is_on, steady, now, NCOUNTS);
}

bool ap_feed_thin_stands_still(const struct ap_feed *f)
{
	return ap_thin_is_on(&phase) && f->thin.ahead && f->thin.has_rate &&
	       __atomic_load_n(&phase.state, __ATOMIC_RELAXED) != AP_THIN_READ;
}

bool ap_feed_thin_is_gap(void)
{
	return ap_thin_is_on(&phase) &&
	       __atomic_load_n(&phase.state, __ATOMIC_RELAXED) == AP_THIN_PASS;
}

bool ap_feed_thin_passes(struct ap_feed *f, u64 *left)
{
	s32 words = __atomic_load_n(&phase.left, __ATOMIC_RELAXED);
	u64 now[AP_THIN_COUNTS];

	if (!ap_feed_thin_is_gap())
		return false;
	all_read(f, now);
	*left = words > 0 ? (u64)words : 1;
	return ap_thin_next(&f->thin, &phase, now, NCOUNTS) == AP_THIN_PASS;
}

void ap_feed_note_faults(struct ap_feed *f, u64 faults)
{
	if (f->mem && f->mem->met)
		f->mem->met->faults = faults;
}

void ap_feed_skip_faults(struct ap_feed *f, u64 n)
{
	if (f->mem && f->mem->met)
		f->mem->met->faults += n;
}

static void note_pages(struct ap_feed *f, u64 faults, bool is_gap)
{
	const struct ap_machine *m = ap_feed_machine();

	if (!f->mem || !f->mem->met)
		return;
	ap_met_faults(f->mem->met, faults, is_gap);
	if (!is_gap)
		ap_met_begin(f->mem->met, __atomic_load_n(&phase.gaps, __ATOMIC_RELAXED),
			     m->llc.size / m->line);
}

void ap_feed_thin_pass(struct ap_feed *f, u64 words, u64 insns, u64 faults)
{
	f->pending = AP_FEED_NOTHING;
	note_pages(f, faults, true);
	ap_thin_pass(&f->thin, &phase, words, insns, NCOUNTS);
	__atomic_store_n(&ap_proc.seg->estimates, 1, __ATOMIC_RELAXED);
}

/* So many instructions by what others of the session counted. */
static void guess(struct ap_feed *f, u64 insns)
{
	u64 counts[AP_WINDOWS_N];

	ap_windows_guess(insns, counts);
	for (u32 k = 0; k < NCOUNTS; k++)
		f->thin.added[k] += counts[k];
}

/*
 * By now it is known for which unseen threads this process stands, and it is told once.  A process that was read in any case stands for
 * no other: it is told of as a beginning.
 */
static void tell(struct ap_feed *f, u64 insns)
{
	u64 missed = ap_thin_missed(&phase, insns), counts[AP_WINDOWS_N];

	if (f->thin.is_told || !insns)
		return;
	f->thin.is_told = true;
	if (!phase.period)
		missed /= phase.every - 1;
	for (u32 k = 0; k < NCOUNTS; k++)
		counts[k] = value_of(f, AP_KIND_CYCLES + k) * missed / AP_THIN_ONE;
	insns = insns * missed / AP_THIN_ONE;
	ap_windows_tell(insns, counts);
	if (phase.period)
		ap_thin_tell(phase.errors, missed, insns, counts, NCOUNTS);
}

/* It goes on: a word of it, till others have ended. */
static void tell_a_little(struct ap_feed *f, u64 words)
{
	u64 insns = words * AP_THIN_INSNS, counts[AP_WINDOWS_N];

	for (u32 k = 0; k < NCOUNTS; k++)
		counts[k] = value_of(f, AP_KIND_CYCLES + k) * LITTLE / insns;
	ap_windows_tell(LITTLE, counts);
}

/* The thread's part of the session's beginning. */
static void read_first(struct ap_feed *f, u64 words)
{
	ap_thin_has_read(&phase, ap_windows_read(words));
	if (phase.left <= (s32)words && words)
		tell_a_little(f, f->thin.words + words);
}

void ap_feed_thin_end(struct ap_feed *f, u64 insns)
{
	u64 now[AP_THIN_COUNTS];

	if (!ap_thin_is_on(&phase))
		return;
	all_read(f, now);
	ap_thin_end(&f->thin, &phase, now, NCOUNTS);
	if (ap_feed_thin_is_unseen(f))
		guess(f, insns);
	else
		tell(f, insns);
}

bool ap_feed_thin_is_unseen(const struct ap_feed *f)
{
	return f->thin.waits && !f->thin.has_rate;
}

void ap_feed_run_all(struct ap_feed *f, const struct ap_feed_part *part)
{
	if (ap_likely(!part->look)) {
		ap_feed_run(f, part->from, part->to, part->chunks);
		return;
	}
	ap_feed_run_slowly(f, part->from, part->to, part->chunks, part->look);
	if (part->at)
		ap_feed_arrive_slowly(f, part->at, part->look);
}

void ap_feed_run_part(struct ap_feed *f, const struct ap_feed_part *part)
{
	u64 before[AP_THIN_COUNTS], now[AP_THIN_COUNTS], words = (u64)(part->to - part->from);
	struct ap_feed_part unseen = *part;
	u32 gaps = phase.gaps;
	enum ap_thin_state state;
	bool wants_counts, has_cycles = f->has_cycles;

	if (ap_likely(!ap_thin_is_on(&phase))) {
		ap_feed_run_all(f, part);
		return;
	}
	/* who is sampled reads logs of some words each */
	wants_counts = ap_thin_wants_counts(&f->thin, &phase, words);
	if (wants_counts)
		all_read(f, before);
	state = ap_thin_next(&f->thin, &phase, wants_counts ? before : NULL, NCOUNTS);
	unseen.look = NULL;
	f->has_cycles = has_cycles && !ap_thin_is_cold(&f->thin, &phase);
	note_pages(f, part->faults, state == AP_THIN_PASS);
	if (state == AP_THIN_PASS)
		f->pending = AP_FEED_NOTHING; /* where that led nobody has read */
	else
		ap_feed_run_all(f, state == AP_THIN_READ
					   ? part
					   : &unseen); /* what is warmed counts nothing */
	f->has_cycles = has_cycles;
	if (wants_counts)
		all_read(f, now);
	if (phase.is_whole)
		read_first(f, words);
	if (ap_thin_did(&f->thin, &phase, words, part->insns, wants_counts ? before : NULL,
			wants_counts ? now : NULL, NCOUNTS))
		__atomic_store_n(&ap_proc.seg->estimates, 1, __ATOMIC_RELAXED);
	if (phase.gaps != gaps)
		ap_windows_gap();
}
