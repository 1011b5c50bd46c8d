/* SPDX-License-Identifier: MIT */
/*
 * When logs are read and when they are passed over, and what is estimated then.
 */
#include "model/thin.h"

#include "base/mem.h"
#include "base/mul.h"

/* In words of the log, of which an instruction has a third. */
#define FIRST  AP_THIN_FIRST /* all is read: how a program begins says little of how it goes on */
#define BURST  (1 << 17)
#define WARM   (BURST / 4 * 3) /* of it, before counts are taken: what is cold yet counts too much */
#define ENOUGH (1 << 14)       /* to say how a thread counts */
#define RAMP                                                                                       \
	2 /* bursts by which each gap is longer than the one before it, till they are long enough */
#define RATE_SHIFT  20
#define TIMES_SHIFT 10
#define SHORT	    8 /* for tests */
#define LOCK_TRIES  1000
_Static_assert(AP_THIN_ONE == 1U << TIMES_SHIFT, "a shift");

/* Any number below it. */
static u32 share(struct ap_thin_phase *p, u32 of)
{
	p->random = p->random * 1664525U + 1013904223U;
	return (u32)((u64)of * (p->random >> 8) >> 24);
}

static u32 mean_gap(const struct ap_thin_phase *p)
{
	/* a short run is read more of: an estimate wants bursts */
	u32 most = p->every - 1, n = p->gaps < most ? 1 + p->gaps * RAMP : most;

	return (BURST >> p->scale) * (n < most ? n : most);
}

/* Half to one and a half times what it is on average. */
static s32 gap(struct ap_thin_phase *p)
{
	u32 mean = mean_gap(p);

	return (s32)(mean / 2 + share(p, mean));
}

void ap_thin_init(struct ap_thin_phase *p, u32 every)
{
	*p = (struct ap_thin_phase){ .every = every, .left = FIRST, .random = every };
}

void ap_thin_init_short(struct ap_thin_phase *p, u32 every)
{
	*p = (struct ap_thin_phase){
		.every = every, .scale = SHORT, .left = FIRST >> SHORT, .random = every
	};
}

/* What is left of the gap that any place in gaps is in: longer ones have more places. */
static u32 rest_of_gap(struct ap_thin_phase *p)
{
	u32 mean = mean_gap(p), a, b;

	if (share(p, 2))
		return share(p, mean / 2);
	a = share(p, mean);
	b = share(p, mean);
	return mean / 2 + (a < b ? a : b);
}

/*
 * The beginning of a process is read with the chance that a window has at any place: from there on caches that are cold are
 * right, and nothing has to be warmed.  Else it begins somewhere in a gap.
 */
void ap_thin_begin(struct ap_thin_phase *p, const struct ap_thin_start *start)
{
	u32 first = FIRST >> p->scale, burst = BURST >> p->scale;

	p->random = start->random;
	p->gaps = start->gaps;
	if (start->read < first) {
		p->is_whole = true;
		p->left = (s32)(first - start->read);
		return;
	}
	p->period = mean_gap(p) + burst;
	if (share(p, p->period) < burst) {
		p->left = (s32)burst;
		return;
	}
	p->state = AP_THIN_PASS;
	p->seq = 1;
	p->left = (s32)rest_of_gap(p) + 1;
}

void ap_thin_has_read(struct ap_thin_phase *p, u64 words)
{
	u32 first = FIRST >> p->scale;

	if (p->is_whole)
		__atomic_store_n(&p->left, words < first ? (s32)(first - words) : 1,
				 __ATOMIC_RELAXED);
}

/* Lock held. */
static void change(struct ap_thin_phase *p, enum ap_thin_state state, s32 left)
{
	__atomic_store_n(&p->state, state, __ATOMIC_RELAXED);
	__atomic_store_n(&p->left, left, __ATOMIC_RELAXED);
	__atomic_store_n(&p->seq, p->seq + 1, __ATOMIC_RELEASE);
}

static bool lock(struct ap_thin_phase *p)
{
	return !__atomic_exchange_n(&p->lock, 1, __ATOMIC_ACQUIRE);
}

static void unlock(struct ap_thin_phase *p)
{
	__atomic_store_n(&p->lock, 0, __ATOMIC_RELEASE);
}

/* A log is read or passed over whole: what was too much is taken off what follows, so that on average there is as much as is meant. */
static s32 less_excess(const struct ap_thin_phase *p, s32 words)
{
	s32 excess = -__atomic_load_n(&p->left, __ATOMIC_RELAXED);

	return words - (excess < words / 2 ? excess : words / 2);
}

/* Of a gap and what is warmed behind it, for so many words that are read. */
static u32 half_of(const struct ap_thin_phase *p, s32 gap, s32 words)
{
	return (u32)((u64)(gap + (WARM >> p->scale)) * AP_THIN_ONE / 2 / (u64)words);
}

/* How long the gap behind it will be is drawn now, so that what is read can stand for it. */
static void begin_read(struct ap_thin_phase *p, s32 words, s32 left)
{
	p->is_whole = false;
	if (!p->next)
		p->next = gap(p);
	p->behind = half_of(p, p->next, words);
	p->more = p->behind + (p->last ? half_of(p, p->last, words) : 0);
	p->last = 0;
	change(p, AP_THIN_READ, left);
}

void ap_thin_restart(struct ap_thin_phase *p)
{
	if (!lock(p))
		return; /* the thread is about to begin something else, which is as well */
	__atomic_store_n(&p->restarts, p->restarts + 1, __ATOMIC_RELAXED);
	begin_read(p, FIRST >> p->scale, FIRST >> p->scale);
	unlock(p);
}

static void advance(struct ap_thin_phase *p, u64 words)
{
	bool is_first = !p->seq; /* it is followed by a common burst */
	s32 warm = WARM >> p->scale, read = (BURST - WARM) >> p->scale;

	if (__atomic_sub_fetch(&p->left, (s32)words, __ATOMIC_RELAXED) > 0 || !lock(p))
		return;
	if (__atomic_load_n(&p->left, __ATOMIC_RELAXED) <= 0) {
		if (p->state == AP_THIN_READ && !is_first) {
			change(p, AP_THIN_PASS, less_excess(p, p->next ? p->next : gap(p)));
			p->last = p->next;
			p->next = 0;
		} else if (p->state == AP_THIN_PASS) {
			change(p, AP_THIN_WARM, less_excess(p, warm));
		} else {
			__atomic_store_n(&p->gaps, p->gaps + (p->state == AP_THIN_WARM),
					 __ATOMIC_RELAXED);
			begin_read(p, read, less_excess(p, read));
		}
	}
	unlock(p);
}

/* What a burst has stood for is so, whatever is read from now on. */
static void settle(struct ap_thin *t, const u64 *now, u32 n)
{
	for (u32 k = 0; t->more && k < n; k++)
		t->added[k] += ap_thin_more(t, k, now[k]);
	t->stands_for += 2 * t->rate_words * t->more / AP_THIN_ONE;
	t->more = 0;
}

static void add_count(struct ap_thin *t, u32 k, u64 half_words)
{
	u64 more = t->rest[k] + t->rate[k] * half_words;

	t->added[k] += more >> (RATE_SHIFT + 1);
	t->rest[k] = more & ((2ULL << RATE_SHIFT) - 1);
}

static void add(struct ap_thin *t, u64 half_words, u32 n)
{
	t->stands_for += half_words;
	for (u32 k = 0; k < n; k++)
		if (!(t->steady >> k & 1))
			add_count(t, k, half_words);
}

static void add_steady(struct ap_thin *t, u64 half_words)
{
	for (u64 left = t->steady; left; left &= left - 1)
		add_count(t, (u32)__builtin_ctzll(left), half_words);
}

/* So many words were passed over: the other half, or all of it, is for the next rates. */
static u64 pass(struct ap_thin *t, u64 words, u32 n)
{
	if (!t->has_rate) {
		t->unrated += 2 * words;
		return 2 * words;
	}
	add(t, words, n);
	return words;
}

/* The other half of what was passed over. */
static void give(struct ap_thin *t, bool is_new_rate, u32 n)
{
	u64 plain = t->late_plain;

	if ((!t->late && !plain) || !t->has_rate)
		return;
	if (is_new_rate && t->insns)
		plain = t->late_insns * t->words / t->insns;
	add(t, t->late + plain, n);
	add_steady(t, t->unrated);
	t->late = t->late_plain = t->late_insns = t->unrated = 0;
}

static void begin(struct ap_thin *t, const u64 *now, u32 n)
{
	t->words = t->insns = t->mid_words = 0;
	memcpy(t->from, now, n * sizeof(*now));
}

void ap_thin_alone(struct ap_thin *t, const u64 *now, u32 n)
{
	settle(t, now, n);
	give(t, false, n);
	begin(t, now, n);
}

void ap_thin_ahead(struct ap_thin *t, const struct ap_thin_phase *p, bool is_on, u64 steady,
		   const u64 *now, u32 n)
{
	if (ap_likely(t->ahead == is_on && t->steady == steady))
		return;
	t->stood = t->stood || t->more;
	ap_thin_alone(t, now, n);
	t->ahead = is_on;
	t->steady = steady;
	if (is_on && t->has_rate && t->state == AP_THIN_READ &&
	    t->seq == __atomic_load_n(&p->seq, __ATOMIC_ACQUIRE))
		t->more = p->behind;
}

/* --- errors */

static bool lock_errors(struct ap_thin_errors *e)
{
	for (u32 tries = 0; tries < LOCK_TRIES; tries++)
		if (!__atomic_exchange_n(&e->lock, 1, __ATOMIC_ACQUIRE))
			return true;
	return false; /* another thread of the process is in there, and does not run: one window less */
}

static void add_product(u64 sum[2], u64 a, u64 b)
{
	u64 high, low = ap_mul_wide(a, b, &high);

	sum[0] += low;
	sum[1] += high + (sum[0] < low);
}

/* A window or a process stands for so many times its own counts. */
static void add_times(struct ap_thin_errors *e, u64 times)
{
	e->nseen += times != 0;
	e->times += times * times;
}

void ap_thin_tell(struct ap_thin_errors *e, u64 missed, u64 insns, const u64 *counts, u32 n)
{
	if (!lock_errors(e))
		return;
	add_times(e, missed);
	e->missed += insns;
	for (u32 k = 0; k < n; k++) {
		e->missed_counts[k] += counts[k];
		e->count[k].rare += ap_mul_shift(counts[k], missed, TIMES_SHIFT);
	}
	__atomic_store_n(&e->lock, 0, __ATOMIC_RELEASE);
}

static u64 by_rate(u64 words, u64 rate)
{
	return ap_mul_shift(words, rate, RATE_SHIFT);
}

static u64 distance(u64 a, u64 b)
{
	return a > b ? a - b : b - a;
}

/* Of the two halves of a window, where they are about as long. */
static void compare_halves(struct ap_thin *t, const u64 *now, u32 n)
{
	u64 rest = t->words - t->mid_words;

	t->has_halves = t->mid_words && rest >= t->mid_words / 2;
	for (u32 k = 0; t->has_halves && k < n; k++)
		t->apart[k] = distance(((t->mid[k] - t->from[k]) << RATE_SHIFT) / t->mid_words,
				       ((now[k] - t->mid[k]) << RATE_SHIFT) / rest);
}

/* What rates were taken for is known when there are others (next), or none will come (NULL). */
static void note_rates(struct ap_thin *t, const struct ap_thin_phase *p, const u64 *next, u32 n)
{
	u64 words = t->stands_for / 2, insns, times;
	struct ap_thin_errors *e = p->errors;

	t->stands_for = 0;
	if (!t->has_rate || !words || !t->rate_words || !e || !lock_errors(e))
		return;
	insns = words * ((t->rate_insns << 8) / t->rate_words) >> 8;
	times = words * AP_THIN_ONE / t->rate_words;
	add_times(e, times);
	e->w += insns;
	add_product(e->ww, insns, insns);
	if (next || t->has_halves)
		add_product(e->wd, insns, insns);
	e->n += next || t->has_halves;
	for (u32 k = 0; k < n; k++) {
		u64 y = by_rate(words, t->rate[k]);
		u64 off = by_rate(words, next		 ? distance(t->rate[k], next[k])
					 : t->has_halves ? t->apart[k]
							 : 0);

		e->count[k].y += y;
		add_product(e->count[k].dd, off, off);
		e->count[k].rare += ap_mul_shift(y, times, TIMES_SHIFT);
		if (t->has_warm)
			e->count[k].warm += (s64)(by_rate(words, t->warm_rate[k]) - y);
	}
	__atomic_store_n(&e->lock, 0, __ATOMIC_RELEASE);
}

u64 ap_thin_missed(const struct ap_thin_phase *p, u64 insns)
{
	u64 words = insns / AP_THIN_INSNS, burst = BURST >> p->scale, period = p->period, seen;

	if (!period)
		period = burst * p->every;
	seen = words + ((BURST - WARM) >> p->scale);
	if (seen < burst)
		seen = burst;
	return seen < period ? (period - seen) * AP_THIN_ONE / seen : 0;
}

void ap_thin_wait(struct ap_thin *t, u64 insns)
{
	t->waits = true;
	t->state = AP_THIN_PASS;
	t->late_plain = t->unrated = 2 * (insns / AP_THIN_INSNS);
	t->late_insns = 2 * insns;
}

static void take_rates(struct ap_thin *t, const struct ap_thin_phase *p, const u64 *now, u32 n)
{
	bool is_enough = t->words >= (u64)ENOUGH >> p->scale;
	u64 rate[AP_THIN_COUNTS] = { 0 };

	for (u32 k = 0; is_enough && k < n; k++)
		rate[k] = ((now[k] - t->from[k]) << RATE_SHIFT) / t->words;
	if (is_enough) {
		note_rates(t, p, rate, n);
		memcpy(t->rate, rate, n * sizeof(*rate));
		compare_halves(t, now, n);
		t->has_warm = t->warm_words != 0;
		for (u32 k = 0; t->has_warm && k < n; k++)
			t->warm_rate[k] = (t->warm[k] << RATE_SHIFT) / t->warm_words;
		t->warm_words = 0;
		t->rate_words = t->words;
		t->rate_insns = t->insns ? t->insns : t->words * AP_THIN_INSNS;
	}
	t->has_rate = t->has_rate || is_enough;
	give(t, is_enough, n);
}

void ap_thin_end(struct ap_thin *t, const struct ap_thin_phase *p, const u64 *now, u32 n)
{
	if (t->state == AP_THIN_READ)
		take_rates(t, p, now, n);
	else
		give(t, false, n);
	note_rates(t, p, NULL, n);
}

enum ap_thin_state ap_thin_next(struct ap_thin *t, const struct ap_thin_phase *p, const u64 *now,
				u32 n)
{
	u32 seq = __atomic_load_n(&p->seq, __ATOMIC_ACQUIRE);

	if (seq == t->seq)
		return t->state;
	if (t->state == AP_THIN_READ) {
		take_rates(t, p, now, n);
		t->stood = t->more;
		settle(t, now, n);
	}
	if (!t->has_rate && !t->waits)
		return AP_THIN_READ;
	t->seq = seq;
	t->state = __atomic_load_n(&p->state, __ATOMIC_RELAXED);
	if (t->state == AP_THIN_READ) {
		begin(t, now, n);
		t->more = !t->ahead ? 0 : t->stood ? p->more : p->behind;
		if (t->restarts != __atomic_load_n(&p->restarts, __ATOMIC_RELAXED)) {
			t->restarts = p->restarts;
			give(t, false, n); /* the next rates are of other things */
		}
	}
	return t->state;
}

void ap_thin_pass(struct ap_thin *t, struct ap_thin_phase *p, u64 words, u64 insns, u32 n)
{
	if (t->has_rate)
		add_steady(t, 2 * words);
	if (!t->stood) {
		t->late_plain += pass(t, words, n);
		t->late_insns += t->has_rate ? insns : 2 * insns;
	}
	advance(p, words);
}

u64 ap_thin_words_until(const struct ap_thin *t, u64 steady, u64 counts)
{
	u64 rate;

	if (!(t->steady & steady) || !t->has_rate)
		return ~0ULL;
	rate = t->rate[__builtin_ctzll(steady)];
	if ((s64)counts <= 0)
		return 0;
	if (!rate || counts >> (63 - RATE_SHIFT))
		return ~0ULL;
	return (counts << RATE_SHIFT) / rate;
}

void ap_thin_skip(struct ap_thin_phase *p, u64 words)
{
	advance(p, words);
}

static bool is_last_third(const struct ap_thin_phase *p)
{
	return __atomic_load_n(&p->left, __ATOMIC_RELAXED) <= (s32)(WARM / 3 >> p->scale);
}

bool ap_thin_is_cold(const struct ap_thin *t, const struct ap_thin_phase *p)
{
	return t->state == AP_THIN_WARM && !is_last_third(p);
}

/* Of what warms the last third is kept apart: by how much it is off yet says how far the window may be. */
static void note_warmed(struct ap_thin *t, const struct ap_thin_phase *p, u64 words,
			const u64 *before, const u64 *now, u32 n)
{
	bool is_last = is_last_third(p);

	if (t->warm_seq != t->seq) {
		t->warm_seq = t->seq;
		t->warm_words = 0;
		memset(t->warm, 0, n * sizeof(*t->warm));
	}
	for (u32 k = 0; is_last && k < n; k++)
		t->warm[k] += now[k] - before[k];
	t->warm_words += is_last ? words : 0;
}

static bool is_middle(const struct ap_thin *t, const struct ap_thin_phase *p, u64 words)
{
	return !t->mid_words && words >= (u64)(BURST - WARM) / 2 >> p->scale;
}

bool ap_thin_wants_counts(const struct ap_thin *t, const struct ap_thin_phase *p, u64 words)
{
	return t->state != AP_THIN_READ || t->seq != __atomic_load_n(&p->seq, __ATOMIC_ACQUIRE) ||
	       is_middle(t, p, t->words + words);
}

static void note_middle(struct ap_thin *t, const struct ap_thin_phase *p, const u64 *now, u32 n)
{
	if (!is_middle(t, p, t->words))
		return;
	t->mid_words = t->words;
	memcpy(t->mid, now, n * sizeof(*now));
}

/* Code may log more or fewer words while samples are looked for: rates are of as many instructions. */
static u64 as_rated(const struct ap_thin *t, u64 words, u64 insns)
{
	return insns && t->rate_insns ? insns * t->rate_words / t->rate_insns : words;
}

bool ap_thin_did(struct ap_thin *t, struct ap_thin_phase *p, u64 words, u64 insns,
		 const u64 *before, const u64 *now, u32 n)
{
	if (t->state == AP_THIN_READ) {
		t->words += words;
		note_middle(t, p, now, n);
	} else {
		if (t->has_rate)
			add_steady(t, 2 * as_rated(t, words, insns));
		if (!t->stood)
			t->late += pass(t, words, n);
	}
	if (t->state == AP_THIN_WARM)
		note_warmed(t, p, words, before, now, n);
	if (t->state == AP_THIN_WARM)
		for (u32 k = 0; k < n; k++)
			t->added[k] -= now[k] - before[k];
	advance(p, words);
	return t->state != AP_THIN_READ;
}
