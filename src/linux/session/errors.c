/* SPDX-License-Identifier: MIT */
/*
 * How far estimates of the models may be off: from how much windows differ from each other (docs/design/feed.md, "Errors").
 * Each process keeps sums over its windows in its segment; those of segments that are folded are added up by root, in the
 * session's file, where whoever has a root reads them.
 */
#include "linux/session/errors.h"

#include <math.h>
#include <string.h>

#include "model/machine.h"
#include "model/thin.h"

/*
 * Sums over processes.  Those whose windows follow each other say themselves how far they may be off; others, of which one
 * window or the whole was seen, are compared with each other.
 */
struct error_sums {
	u64 processes, pairs; /* that are compared; windows with a next one */
	double w, ww;	      /* of the former */
	double unseen;	      /* instructions that are stood for */
	double seen,
		times; /* windows and processes; of how many times its counts each stands for, the squares */
	struct {
		double y, yy, wy;
		double off;  /* of the others: variances */
		double warm; /* of both */
		double all;  /* that was stood for */
		double rare; /* variances of counts that come one by one */
	} count[AP_THIN_COUNTS];
};
_Static_assert(AP_ROOT_MAX * sizeof(struct error_sums) <= AP_ERRORS_SIZE, "room");

static double of_words(const u64 sum[2])
{
	return (double)sum[1] * 18446744073709551616.0 + (double)sum[0];
}

static void add_process(struct error_sums *to, const struct ap_thin_errors *e)
{
	double all = of_words(e->ww), with_next = of_words(e->wd);
	bool is_alone = !(with_next > 0);
	double w = (double)e->missed + (is_alone ? (double)e->w : 0);

	to->pairs += e->n;
	to->processes += w > 0;
	to->w += w;
	to->ww += w * w;
	to->unseen += (double)e->w + (double)e->missed;
	to->seen += (double)e->nseen;
	to->times += (double)e->times / AP_THIN_ONE / AP_THIN_ONE;
	for (u32 k = 0; k < AP_THIN_COUNTS; k++) {
		double y = (double)e->missed_counts[k];

		if (is_alone)
			y += (double)e->count[k].y;
		else
			to->count[k].off += of_words(e->count[k].dd) / 2 * all / with_next;
		to->count[k].y += y;
		to->count[k].yy += y * y;
		to->count[k].wy += y * w;
		to->count[k].warm += (double)e->count[k].warm;
		to->count[k].rare += (double)e->count[k].rare;
		to->count[k].all += (double)e->count[k].y + (double)e->missed_counts[k];
	}
}

static void add_sums(struct error_sums *to, const struct error_sums *more)
{
	to->processes += more->processes;
	to->pairs += more->pairs;
	to->w += more->w;
	to->ww += more->ww;
	to->unseen += more->unseen;
	to->seen += more->seen;
	to->times += more->times;
	for (u32 k = 0; k < AP_THIN_COUNTS; k++) {
		to->count[k].y += more->count[k].y;
		to->count[k].yy += more->count[k].yy;
		to->count[k].wy += more->count[k].wy;
		to->count[k].off += more->count[k].off;
		to->count[k].warm += more->count[k].warm;
		to->count[k].rare += more->count[k].rare;
		to->count[k].all += more->count[k].all;
	}
}

static struct error_sums *sums_of(const struct ap_session_file *s, u32 root)
{
	return (struct error_sums *)ap_session_part(s, AP_ERRORS_OFF) +
	       (root < AP_ROOT_MAX ? root : 0);
}

static bool has_windows(const struct ap_thin_errors *e)
{
	return e->w || e->missed;
}

void ap_session_errors_fold(struct ap_session_file *s, const struct ap_seg *head)
{
	const struct ap_thin_errors *e = (const struct ap_thin_errors *)head->errors;

	if (has_windows(e))
		add_process(sums_of(s, head->root), e);
}

void ap_session_errors_merge(struct ap_session_file *s, u32 from, u32 to)
{
	struct error_sums *sums = sums_of(s, from);

	add_sums(sums_of(s, to), sums);
	memset(sums, 0, sizeof(*sums));
}

/* Student's t, of which 95 % lie within; by so many degrees of freedom, which need not be whole. */
static double quantile(double df)
{
	return 1.96 + 2.37 / df + 2.8 / (df * df) + 5.6 / (df * df * df);
}

/* Of what no window met in n windows, 95 of 100 times fewer than three are in n others: 1.96 sqrt(0 + 2.4). */
#define NONE_MET 2.4

/* That windows agree says little of what is rare: less is never known than of things that come one by one, by chance. */
static double error_of_rare(const struct error_sums *s, u32 k)
{
	return s->seen > 0 ? 1.96 * sqrt(s->count[k].rare + NONE_MET * s->times / s->seen) : 0;
}

/*
 * All windows may be off to one side: what a program does once, as at its end, most runs have no window in, and what is far away is not
 * warm in any.  Windows do not show that.  So it was measured (docs/design/feed.md): parts of what was stood for.
 */
#define BIAS_CYCLES 0.05
#define BIAS_OTHERS 0.15
#define BIAS_FAR    0.5 /* of what the last level and the TLBs do not have */
#define FAR                                                                                        \
	(AP_KINDS_TO(AP_KIND_LLC_LOAD_MISS, AP_KIND_ITLB_WALK) | AP_KIND_BIT(AP_KIND_LOAD_LLC_MISS))

static double bias_of(const struct error_sums *s, u32 k)
{
	u64 of_cycles = AP_KIND_BIT(AP_KIND_CYCLES) | AP_KIND_BIT(AP_KIND_REF_CYCLES) |
			AP_KIND_BIT(AP_KIND_BUS_CYCLES);

	if (of_cycles >> (AP_KIND_CYCLES + k) & 1)
		return s->count[k].all * BIAS_CYCLES;
	return s->count[k].all * (FAR >> (AP_KIND_CYCLES + k) & 1 ? BIAS_FAR : BIAS_OTHERS);
}

/*
 * What begins ends, and does in between what it does once: of a short program that is as much as its beginning, which was
 * read whole, and which no rate of a window has anything of.
 */
#define ONCE 0.3

/* A process that no window saw counts as those seen before it: the variance of such means is twice that of one over all. */
#define AS_THEY_COME 2

/*
 * Processes are a sample: what each says of the w instructions that it stands for is off by as much as its rate is from that of
 * all.  What the end of the warm-up would have said otherwise is what a window may not be warm by.
 */
static double error_of(const struct error_sums *s, u32 k)
{
	double n = s->ww > 0 ? s->w * s->w / s->ww : 0, y = s->count[k].y, rate, sum, off = 0,
	       own = 0;

	if (s->processes < 2 || n < 1.2) {
		off = y; /* nobody knows: it may be all */
	} else {
		rate = y / s->w;
		sum = s->count[k].yy - 2 * rate * s->count[k].wy + rate * rate * s->ww;
		if (sum > 0)
			off = quantile(n - 1) * sqrt(AS_THEY_COME * sum * n / (n - 1));
	}
	if (s->pairs)
		own = quantile((double)s->pairs) * sqrt(s->count[k].off);
	off = fmax(hypot(off, own), error_of_rare(s, k));
	return hypot(hypot(off, s->count[k].warm), bias_of(s, k));
}

int ap_session_errors(const struct ap_session_file *s, u32 root, struct ap_estimate_errors *out)
{
	struct error_sums sum = { 0 };
	struct ap_seg head;
	int ret;

	for (u32 r = 0; r < AP_ROOT_MAX; r++)
		if (ap_board_of(s->head)->roots[r].used && ap_root_is_within(s, r, root))
			add_sums(&sum, sums_of(s, r));
	for (u32 seg = 0; ap_session_next_seg(s, &seg); seg++) {
		const struct ap_thin_errors *e = (const struct ap_thin_errors *)head.errors;

		ret = ap_session_seg_read(s, seg, &head);
		if (ret)
			return ret;
		if (head.state != AP_SEG_FREE && head.state != AP_SEG_FOLDED && has_windows(e) &&
		    /* roots of other parties are within the session's alone */
		    ap_root_is_within(
			    s, !AP_PARTY_OF(seg) && head.root < AP_ROOT_MAX ? head.root : 0, root))
			add_process(&sum, e);
	}
	out->slots = ((const struct ap_machine *)s->head->machine)->pipe.issue;
	out->once = ONCE * fmin(1, sum.unseen / ((double)AP_THIN_FIRST * AP_THIN_INSNS));
	for (u32 k = 0; k < AP_KIND_N - AP_KIND_CYCLES; k++) {
		out->kind[AP_KIND_CYCLES + k] = error_of(&sum, k);
		out->part[AP_KIND_CYCLES + k] = sum.count[k].all;
	}
	return 0;
}
