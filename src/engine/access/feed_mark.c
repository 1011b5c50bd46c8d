/* SPDX-License-Identifier: MIT */
/*
 * Finds what reaches a mark while a log is read, thing by thing, and says how soon the next one may come.
 *
 * References and branches have an instruction of their own.  Cycles pass while something is waited for: a wait for the end of
 * older pieces is blamed on the load of the last of them that missed, or its last instruction; what a piece takes by itself is spread
 * evenly over its instructions.
 */
#include "engine/access/feed_mark.h"

#include "base/mem.h"
#include "engine/task/task.h"
#include "engine/translate/sb.h"

#define FRACTION    16	  /* bits of rates behind the point */
#define WORDS_MIN   128	  /* shorter logs cost more than they say */
#define ONE_MISS    1024  /* cycles, and more than any */
#define LINE_BYTES  64ULL /* as feed_plan.c has them */
#define RESOLVE_MAX 512U

void ap_feed_marks_init(struct ap_feed_marks *m)
{
	m->n = m->nhits = m->first_hit = 0;
}

/* The branches of the way up to where the piece is left, as ap_feed_resolve() follows them. */
static u64 taken_of(const struct ap_feed_way *way)
{
	u64 bits = 0;
	u32 n = 0;

	for (u32 k = 0; k < way->nbranches && n < AP_FEED_TURNS; k++) {
		u8 what = way->branches[k].what;

		if (what != AP_FEED_TAKEN && what != AP_FEED_NOT_TAKEN)
			continue;
		bits |= (u64)(what == AP_FEED_TAKEN) << n++;
	}
	return bits;
}

static struct ap_feed_place in_piece(const struct ap_feed_way *way, u32 nth)
{
	return (struct ap_feed_place){ .pc = way->pc, .nth = nth, .taken = taken_of(way) };
}

/* When that was, in the pipeline's time, of which the count has come so far beyond it now. */
static u64 time_of(const struct ap_feed *f, u64 passed)
{
	return ((f->pipe.now >> 8) - passed * AP_THIN_ONE / ap_feed_stands_for(f, AP_KINDS_CYCLES))
	       << 8;
}

/* Where a mark of cycles falls in what the piece takes by itself. */
static struct ap_feed_place while_busy(const struct ap_feed_marks *m, const struct ap_feed *f,
				       const struct ap_feed_way *way, u64 time)
{
	u64 took = f->pipe.now - m->entered, at = time - m->entered;
	u32 nth = 0;

	if ((s64)at > 0 && took)
		nth = (u32)(at * way->ninsns / took);
	if (nth >= way->ninsns)
		nth = way->ninsns ? way->ninsns - 1 : 0;
	return in_piece(way, nth);
}

static struct ap_feed_place place_of(const struct ap_feed_marks *m, const struct ap_feed *f,
				     const struct ap_feed_seen *s, const struct ap_feed_mark *mark,
				     u64 passed)
{
	struct ap_feed_place at = { .pc = s->pc };

	switch (s->what) {
	case AP_FEED_SAW_ENTER:
		if (f->pipe.first)
			return m->blame[(f->pipe.first - 1) % AP_PIPE_PIECES];
		break;
	case AP_FEED_SAW_FETCH:
		at = in_piece(s->way, 0);
		at.line = s->address;
		break;
	case AP_FEED_SAW_LEAVE:
		/* of other clocks than the core's: at the end */
		return while_busy(m, f, s->way,
				  mark->kinds == AP_KIND_BIT(AP_KIND_CYCLES) ? time_of(f, passed)
									     : f->pipe.now);
	default:
		break;
	}
	return at;
}

/* Where there is no room the last one stands for this, too. */
static void add_hit(struct ap_feed_marks *m, struct ap_feed_mark *mark, u64 value,
		    const struct ap_feed_hit *hit)
{
	struct ap_feed_hit *h = &m->hit[(m->first_hit + m->nhits) % AP_FEED_HITS];
	u64 passed = value - mark->next;

	if (m->nhits < AP_FEED_HITS) {
		m->nhits++;
		*h = *hit;
	} else {
		h = &m->hit[(m->first_hit + m->nhits - 1) % AP_FEED_HITS];
	}
	h->value = value;
	mark->next += mark->period ? (passed / mark->period + 1) * mark->period : passed + 1;
}

static void add_seen(struct ap_feed_marks *m, const struct ap_feed *f, const struct ap_feed_seen *s,
		     struct ap_feed_mark *mark, u64 value)
{
	const struct ap_feed_hit hit = { .kinds = mark->kinds,
					 .at = place_of(m, f, s, mark, value - mark->next),
					 .what = s->what,
					 .address = s->address,
					 .result = s->result,
					 .size = s->size,
					 .is_locked = s->is_locked,
					 .outcomes = m->noutcomes,
					 .alone = m->alone };

	add_hit(m, mark, value, &hit);
}

static void note_pipe(struct ap_feed_marks *m, const struct ap_feed *f,
		      const struct ap_feed_seen *s)
{
	switch (s->what) {
	case AP_FEED_SAW_ENTER:
		m->entered = f->pipe.now;
		m->end = f->pipe.end;
		m->has_late = false;
		break;
	case AP_FEED_SAW_LOAD:
		if (AP_MEM_LEVEL(s->result) == AP_MEM_L1)
			break;
		m->has_late = true;
		m->late = (struct ap_feed_place){ .pc = s->pc };
		break;
	case AP_FEED_SAW_LEAVE:
		if (f->pipe.end == m->end)
			break; /* it is done when the one before it is */
		m->blame[(f->pipe.end - 1) % AP_PIPE_PIECES] =
			m->has_late ? m->late
				    : in_piece(s->way, s->way->ninsns ? s->way->ninsns - 1 : 0);
		break;
	default:
		break;
	}
}

static void seen(struct ap_feed_look *look, struct ap_feed *f, const struct ap_feed_seen *s)
{
	struct ap_feed_marks *m = (struct ap_feed_marks *)look;

	if (s->what == AP_FEED_SAW_BRANCH && s->is_taken)
		m->outcome[m->noutcomes++ % AP_FEED_OUTCOMES] =
			(struct ap_feed_outcome){ s->pc, s->result != 0 };
	if (s->what == AP_FEED_SAW_ENTER)
		m->reference.pc = 0;
	else if ((s->what == AP_FEED_SAW_LOAD || s->what == AP_FEED_SAW_STORE) && !m->reference.pc)
		m->reference = *s;
	for (u32 k = 0; k < m->n; k++) {
		u64 value = ap_feed_sum(f, m->mark[k].kinds);

		if (ap_unlikely((s64)(value - m->mark[k].next) >= 0))
			add_seen(m, f, s, &m->mark[k], value);
	}
	note_pipe(m, f, s);
}

void ap_feed_marks_look(struct ap_feed_marks *m)
{
	m->look.seen = seen; /* an address, which is another in each image */
}

/* --- how far */

static u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static u64 rate_min(u64 kinds, u64 scale)
{
	u64 rate = kinds & AP_KINDS_CYCLES ? 8ULL << FRACTION : (1ULL << FRACTION) / 3;

	return rate * scale / AP_THIN_ONE;
}

u64 ap_feed_marks_reach(struct ap_feed_marks *m, const struct ap_feed *f, u64 words)
{
	u64 reach = ~0ULL;

	for (u32 k = 0; k < m->n; k++) {
		struct ap_feed_mark *mark = &m->mark[k];
		u64 now = ap_feed_sum(f, mark->kinds), rate;
		u64 scale = ap_feed_stands_for(f, mark->kinds);
		s64 left = (s64)(mark->next - now);

		rate = words ? (min_u64(now - mark->was, 1ULL << 32) << FRACTION) / words : 0;
		mark->was = now;
		mark->rate -= mark->rate / 8;
		if (rate > mark->rate)
			mark->rate = rate;
		if (mark->kinds & AP_KINDS_CYCLES)
			left -= (s64)(ONE_MISS * scale / AP_THIN_ONE);
		if (left <= 0)
			return 0;
		/* it may be four times as many as of late; and where there were few they come in bursts */
		rate = 4 * mark->rate;
		if (rate < rate_min(mark->kinds, scale))
			rate = rate_min(mark->kinds, scale);
		reach = min_u64(reach, (min_u64((u64)left, 1ULL << 40) << FRACTION) / rate);
	}
	return reach < WORDS_MIN ? 0 : reach;
}

/* --- in gaps */

bool ap_feed_marks_pass(struct ap_feed_marks *m, const struct ap_feed *f, u64 pc, bool has_regs)
{
	bool any = false;

	for (u32 k = 0; k < m->n; k++) {
		u64 value = ap_feed_sum(f, m->mark[k].kinds);
		const struct ap_feed_hit hit = { .kinds = m->mark[k].kinds,
						 .at = { .pc = pc },
						 .what = AP_FEED_SAW_ENTER,
						 .outcomes = m->noutcomes,
						 .alone = has_regs,
						 .is_estimated = true };

		if (!(f->thin.steady & m->mark[k].kinds >> AP_KIND_CYCLES) ||
		    (s64)(value - m->mark[k].next) < 0)
			continue;
		add_hit(m, &m->mark[k], value, &hit);
		any = true;
	}
	return any;
}

u64 ap_feed_marks_left(const struct ap_feed_marks *m, const struct ap_feed *f)
{
	const struct ap_thin *t = &f->thin;
	u64 least = ~0ULL;

	for (u32 k = 0; k < m->n; k++) {
		u64 words = ap_thin_words_until(t, m->mark[k].kinds >> AP_KIND_CYCLES,
						m->mark[k].next - ap_feed_sum(f, m->mark[k].kinds));

		if (words < least)
			least = words;
	}
	if (least == ~0ULL)
		return least;
	return t->insns && t->words ? least * t->insns / t->words : least * AP_THIN_INSNS;
}

/* --- which instruction */

static bool reaches(const struct ap_feed_place *at, u64 pc, u32 len)
{
	return at->line && pc < at->line + LINE_BYTES && pc + len > at->line;
}

u64 ap_feed_resolve(const struct ap_feed_place *at)
{
	u64 pc = at->pc, taken = at->taken;
	struct ap_insn i;
	u8 code[16];

	for (u32 k = 0; k < RESOLVE_MAX && (at->line || k < at->nth); k++) {
		u32 avail = ap_sb_fetch(pc, code);

		if (!avail || ap_insn_decode(&i, code, avail))
			return at->pc;
		if (reaches(at, pc, i.len))
			return pc;
		switch (i.kind) {
		case AP_I_JMP:
		case AP_I_CALL:
			pc = ap_insn_target(&i, pc);
			break;
		case AP_I_JCC:
		case AP_I_JRCXZ:
			pc = taken & 1 ? ap_insn_target(&i, pc) : pc + i.len;
			taken >>= 1;
			break;
		case AP_I_JMP_IND:
		case AP_I_CALL_IND:
		case AP_I_RET:
			return at->line ? at->pc : pc; /* it ended the piece */
		default:
			pc += i.len;
			break;
		}
	}
	return at->line ? at->pc : pc;
}
