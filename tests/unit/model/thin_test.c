/* SPDX-License-Identifier: MIT */
/*
 * Parts of a run for the whole: what counts steadily is estimated to the unit, what is met anew behind a gap is not
 * counted twice, counts never go down, and threads are read together.
 */
#include <string.h>

#include "model/thin.h"
#include "tap/tap.h"

#define LOG    16384
#define COUNTS 3

struct thread {
	struct ap_thin thin;
	u64 count[COUNTS]; /* what the models have counted */
	u64 shown[COUNTS];
	u64 read, passed; /* logs */
	u64 cold;	  /* misses that the next log read begins with */
	u64 longer;	  /* words of a log, beyond LOG */
};

/* A log in which each count grows by so much a word; some more of the last one if it was passed over before. */
static enum ap_thin_state run(struct thread *t, struct ap_thin_phase *p, const u64 rate[COUNTS])
{
	u64 before[COUNTS], words = LOG + t->longer;
	enum ap_thin_state state = ap_thin_next(&t->thin, p, t->count, COUNTS);

	memcpy(before, t->count, sizeof(before));
	if (state == AP_THIN_PASS) {
		t->passed++;
		t->cold = 1000;
	} else {
		t->read++;
		for (unsigned k = 0; k < COUNTS; k++)
			t->count[k] += words * rate[k] / 8;
		t->count[COUNTS - 1] += t->cold;
		t->cold = 0;
	}
	(void)ap_thin_did(&t->thin, p, words, 0, before, t->count, COUNTS);
	for (unsigned k = 0; k < COUNTS; k++) {
		u64 now = t->count[k] + t->thin.added[k] + ap_thin_more(&t->thin, k, t->count[k]);

		EXPECT((s64)(now - t->shown[k]) >= 0);
		t->shown[k] = now;
	}
	return state;
}

static void shown_again(struct thread *t)
{
	t->shown[0] = t->count[0] + t->thin.added[0] + ap_thin_more(&t->thin, 0, t->count[0]);
}

static void ends(struct thread *t, struct ap_thin_phase *p)
{
	ap_thin_end(&t->thin, p, t->count, COUNTS);
	for (unsigned k = 0; k < COUNTS; k++)
		t->shown[k] = t->count[k] + t->thin.added[k];
}

static void steady(void) /* to the unit */
{
	static const u64 rate[COUNTS] = { 8, 3, 0 };
	static struct thread t;
	struct ap_thin_phase p;
	u64 logs = 40000;

	ap_thin_init(&p, 16);
	for (u64 n = 0; n < logs; n++)
		run(&t, &p, rate);
	ends(&t, &p);
	EXPECT_U64(t.shown[0], logs * LOG);
	EXPECT_U64(t.shown[1], logs * LOG * 3 / 8);
	EXPECT_U64(t.shown[2], 0); /* of what was met anew nothing */
	EXPECT(t.read > logs / 20 && t.read < logs / 12);
	EXPECT_U64(t.read + t.passed, logs);
}

/* A gap that is not even logged counts as one of as many words that are passed over. */
static void gaps_may_have_no_log(void)
{
	static const u64 rate[COUNTS] = { 8, 3, 0 };
	static struct thread logs, none;
	struct ap_thin_phase p, q;

	ap_thin_init(&p, 16);
	ap_thin_init(&q, 16);
	for (u64 n = 0; n < 40000; n++) {
		enum ap_thin_state state = ap_thin_next(&none.thin, &q, none.count, COUNTS);

		EXPECT_U64(run(&logs, &p, rate), state);
		if (state == AP_THIN_PASS) {
			ap_thin_pass(&none.thin, &q, LOG / 4, LOG, COUNTS);
			ap_thin_pass(&none.thin, &q, LOG / 4 * 3, 3 * LOG, COUNTS);
			none.cold = 1000;
		} else {
			run(&none, &q, rate);
		}
	}
	for (unsigned k = 0; k < COUNTS; k++)
		EXPECT_U64(none.count[k] + none.thin.added[k], logs.shown[k]);
}

/* The same in small, for tests that want many changes. */
static void short_phases(void)
{
	static const u64 rate[COUNTS] = { 8, 8, 8 };
	static struct thread t;
	struct ap_thin_phase p;
	u64 was = AP_THIN_READ, changes = 0;

	ap_thin_init_short(&p, 2);
	for (unsigned n = 0; n < 1000; n++) {
		enum ap_thin_state state = run(&t, &p, rate);

		changes += state != was;
		was = state;
	}
	EXPECT(changes > 600); /* any log is longer than any phase */
}

static void short_runs_are_read(void)
{
	static const u64 rate[COUNTS] = { 8, 8, 8 };
	static struct thread t;
	struct ap_thin_phase p;

	ap_thin_init(&p, 1000);
	for (unsigned n = 0; n < 16; n++)
		EXPECT_U64(run(&t, &p, rate), AP_THIN_READ);
	EXPECT_U64(t.shown[0], 16ULL * LOG);
}

static void phases_of_a_program(void)
{
	static struct thread t;
	struct ap_thin_phase p;
	u64 want = 0, off;

	ap_thin_init(&p, 16);
	for (u64 n = 0; n < 100000; n++) {
		u64 rate[COUNTS] = { n / 10000 % 2 ? 8 : 80, 8, 8 };

		run(&t, &p, rate);
		want += LOG * rate[0] / 8;
	}
	off = t.shown[0] > want ? t.shown[0] - want : want - t.shown[0];
	EXPECT(off < want / 50);
}

/* Where a program goes over from one thing to another in a gap, as much is too much as is too little. */
static void changes_have_no_side(void)
{
	s64 sum = 0, off = 0;

	for (u64 seed = 0; seed < 400; seed++) {
		static struct thread t;
		struct ap_thin_phase p;
		u64 want = 0, logs = 3000 + seed;

		memset(&t, 0, sizeof(t));
		ap_thin_init(&p, 16);
		p.random = (u32)seed * 2654435761U;
		for (u64 n = 0; n < 2 * logs; n++) {
			u64 rate[COUNTS] = { n < logs ? 8 : 80, 8, 8 };

			run(&t, &p, rate);
			want += LOG * rate[0] / 8;
		}
		ends(&t, &p);
		sum += (s64)(t.shown[0] - want);
		off += t.shown[0] > want ? (s64)(t.shown[0] - want) : (s64)(want - t.shown[0]);
	}
	EXPECT(off);
	EXPECT((sum < 0 ? -sum : sum) < off / 8);
}

/* One word of three instructions, then two: half of a gap's instructions are taken for each. */
static void words_are_denser_behind_a_gap(void)
{
	static const u64 rate[COUNTS] = { 8, 0, 0 }, other[COUNTS] = { 32, 0, 0 };
	static struct thread t;
	struct ap_thin_phase p;
	u64 was;

	ap_thin_init(&p, 16);
	while (ap_thin_next(&t.thin, &p, t.count, COUNTS) != AP_THIN_PASS) {
		run(&t, &p, rate);
		t.thin.insns = t.thin.words * 3;
	}
	was = t.count[0] + t.thin.added[0];
	ap_thin_pass(&t.thin, &p, LOG, 3 * LOG, COUNTS);
	EXPECT_U64(t.count[0] + t.thin.added[0], was + LOG / 2);
	p.left = 1; /* what warms is no matter here */
	ap_thin_pass(&t.thin, &p, 0, 0, COUNTS);
	p.left = 0;
	ap_thin_pass(&t.thin, &p, 0, 0, COUNTS);
	p.left = 0;
	ap_thin_pass(&t.thin, &p, 0, 0, COUNTS);
	EXPECT_U64(ap_thin_next(&t.thin, &p, t.count, COUNTS), AP_THIN_READ);
	was = t.count[0] + t.thin.added[0];
	run(&t, &p, other);
	t.thin.insns = t.thin.words * 3 / 2;
	ap_thin_end(&t.thin, &p, t.count, COUNTS);
	EXPECT_U64(t.count[0] + t.thin.added[0], was + 4 * LOG + LOG / 2 * 2 * 4);
}

static void threads_are_read_together(void)
{
	static const u64 rate[COUNTS] = { 8, 8, 8 };
	static struct thread t[2], late;
	struct ap_thin_phase p;
	unsigned apart = 0;

	ap_thin_init(&p, 8);
	for (unsigned n = 0; n < 10000; n++)
		apart += run(&t[0], &p, rate) != run(&t[1], &p, rate);
	EXPECT(apart < 10000 / 20); /* a log each time the state changes */
	EXPECT(t[0].passed > 5000);
	while (run(&t[0], &p, rate) != AP_THIN_PASS)
		;
	EXPECT_U64(run(&late, &p, rate), AP_THIN_READ); /* nothing is known of it */
	EXPECT_U64(late.shown[0], LOG);
	EXPECT_U64(run(&late, &p, rate), AP_THIN_PASS);
	EXPECT_U64(late.shown[0],
		   LOG + LOG / 2); /* half of it when there is another burst, or none */
	ends(&late, &p);
	EXPECT_U64(late.shown[0], 2 * LOG);
}

static void a_new_beginning_is_read(void)
{
	static const u64 rate[COUNTS] = { 8, 8, 0 }, other[COUNTS] = { 8, 8, 80 };
	static struct thread t;
	struct ap_thin_phase p;

	ap_thin_init(&p, 8);
	while (run(&t, &p, rate) != AP_THIN_PASS)
		;
	EXPECT_U64(t.shown[2], 0);
	t.cold = 0;
	ap_thin_restart(&p);
	for (unsigned n = 0; n < 16; n++)
		EXPECT_U64(run(&t, &p, other), AP_THIN_READ);
	EXPECT_U64(t.shown[2], 16ULL * LOG * 10);
}

/* What is read stands for the gap behind it at once; the gap counts nothing. */
static void counts_may_run_ahead(void)
{
	static const u64 rate[COUNTS] = { 8, 3, 0 };
	static struct thread t;
	struct ap_thin_phase p;
	u64 logs = 40000, off, flat = 0, shown = 0;

	ap_thin_init(&p, 16);
	ap_thin_ahead(&t.thin, &p, true, 0, t.count, COUNTS);
	for (u64 n = 0; n < logs; n++) {
		bool reads = run(&t, &p, rate) == AP_THIN_READ;

		EXPECT(reads == (t.shown[0] != shown));
		flat += !reads;
		shown = t.shown[0];
	}
	EXPECT(flat > logs - logs / 12);
	off = t.shown[0] > logs * LOG ? t.shown[0] - logs * LOG : logs * LOG - t.shown[0];
	EXPECT(off < logs * LOG / 50);
	EXPECT(t.shown[2] < t.shown[0] / 1000); /* of what was met anew nothing */
}

/* Of a steady count a gap counts by the rate of the burst before it, and what warms as well, at once. */
static void steady_counts_go_on_in_gaps(void)
{
	static const u64 rate[COUNTS] = { 8, 3, 0 };
	static struct thread t;
	struct ap_thin_phase p;
	u64 logs = 40000, shown[2];

	ap_thin_init(&p, 16);
	ap_thin_ahead(&t.thin, &p, true, 1, t.count, COUNTS);
	for (u64 n = 0; n < logs; n++) {
		enum ap_thin_state state;

		memcpy(shown, t.shown, sizeof(shown));
		state = run(&t, &p, rate);
		EXPECT_U64(t.shown[0] - shown[0], LOG);
		if (t.thin.stood && state != AP_THIN_READ)
			EXPECT_U64(t.shown[1] - shown[1], 0);
	}
	EXPECT_U64(ap_thin_words_until(&t.thin, 1, 1000), 1000);
	EXPECT_U64(ap_thin_words_until(&t.thin, 1, (u64)-1), 0);
	EXPECT_U64(ap_thin_words_until(&t.thin, 2, 1000), ~0ULL);
}

/* Who was in a gap before it was looked at counts that gap as the first burst has it, though it runs ahead. */
static void what_waited_is_not_lost(void)
{
	static const u64 rate[COUNTS] = { 8, 8, 0 };

	for (u64 steady = 0; steady < 4; steady++) {
		struct thread t = { 0 };
		struct ap_thin_phase p;

		ap_thin_init(&p, 16);
		ap_thin_wait(&t.thin, 10ULL * LOG * AP_THIN_INSNS);
		ap_thin_ahead(&t.thin, &p, true, steady, t.count, COUNTS);
		p.seq = 1; /* it is in a burst */
		while (run(&t, &p, rate) == AP_THIN_READ)
			;
		EXPECT(t.shown[0] >= t.count[0] + 10ULL * LOG);
		EXPECT(t.shown[1] >= t.count[1] + 10ULL * LOG);
		EXPECT(t.shown[0] < t.count[0] + 12ULL * LOG);
	}
}

/* Logs do not end where a burst does; what is too much of one is missing in another. */
static void bursts_are_as_long_as_meant(void)
{
	static const u64 rate[COUNTS] = { 8, 3, 0 }, longer[] = { 1, 3000, 9000, 16000 };
	u64 logs = 40000;

	for (unsigned k = 0; k < sizeof(longer) / sizeof(longer[0]); k++) {
		struct thread t = { .longer = longer[k] };
		struct ap_thin_phase p;
		s64 off;

		ap_thin_init(&p, 16);
		ap_thin_ahead(&t.thin, &p, true, 0, t.count, COUNTS);
		for (u64 n = 0; n < logs; n++)
			run(&t, &p, rate);
		off = (s64)(t.shown[0] - logs * (LOG + t.longer));
		if (!EXPECT(off * 50 < (s64)t.shown[0] && -off * 50 < (s64)t.shown[0]))
			tap_note("logs of %llu words: %lld of %llu",
				 LOG + (unsigned long long)t.longer, (long long)off,
				 (unsigned long long)t.shown[0]);
	}
}

/* Who comes in a gap has nothing that stands for it: it is estimated. */
static void late_ones_lose_nothing(void)
{
	static const u64 rate[COUNTS] = { 8, 8, 0 };
	static struct thread t, late;
	struct ap_thin_phase p;

	ap_thin_init(&p, 8);
	ap_thin_ahead(&t.thin, &p, true, 0, t.count, COUNTS);
	ap_thin_ahead(&late.thin, &p, true, 0, late.count, COUNTS);
	while (run(&t, &p, rate) != AP_THIN_PASS)
		;
	EXPECT_U64(run(&late, &p, rate), AP_THIN_READ);
	EXPECT_U64(late.shown[0], LOG);
	EXPECT_U64(run(&late, &p, rate), AP_THIN_PASS);
	EXPECT_U64(late.shown[0],
		   LOG + LOG / 2); /* half of it when there is another burst, or none */
	ends(&late, &p);
	EXPECT_U64(late.shown[0], 2 * LOG);
	while (run(&late, &p, rate) != AP_THIN_READ)
		;
	while (run(&late, &p, rate) == AP_THIN_READ)
		;
	EXPECT(late.thin.stood);
}

/* Nothing is counted twice, or lost, beyond one cycle. */
static void ahead_may_change(void)
{
	static const u64 rate[COUNTS] = { 8, 8, 0 };
	static struct thread t;
	struct ap_thin_phase p;
	u64 logs = 40000, off;

	ap_thin_init(&p, 16);
	for (u64 n = 0; n < logs; n++) {
		ap_thin_ahead(&t.thin, &p, n / 5000 % 2, 0, t.count, COUNTS);
		run(&t, &p, rate);
	}
	off = t.shown[0] > logs * LOG ? t.shown[0] - logs * LOG : logs * LOG - t.shown[0];
	EXPECT(off < logs * LOG / 25);
	/* who reads all of it between bursts has it counted once */
	t.thin.ahead = true;
	t.count[0] += 1000;
	shown_again(&t);
	off = t.shown[0];
	ap_thin_alone(&t.thin, t.count, COUNTS);
	shown_again(&t);
	EXPECT_U64(t.shown[0], off);
	t.count[0] += 1000;
	shown_again(&t);
	EXPECT_U64(t.shown[0], off + 1000);
}

/*
 * Many short processes of one session, each of another length.  Where each begins among the windows is drawn; those that are
 * read whole stand for the others like them.  Nothing is favoured: neither a length nor a place in a process.
 */
static void short_processes_are_a_fair_sample(void)
{
	static const u64 rate[COUNTS] = { 8, 8, 8 };
	u64 all = 0, seen = 0, n = 0, first = 0, last = 0, processes = 60000;

	for (u64 k = 0; k < processes; k++) {
		struct ap_thin_start start = { .read = 1 << 20, .gaps = 1000 };
		static struct thread t;
		struct ap_thin_phase p;
		u64 logs = 1 + k % 6, words = logs * LOG, read = 0;

		start.random = (u32)(k * 2654435761U >> 3);
		memset(&t, 0, sizeof(t));
		ap_thin_init(&p, 16);
		ap_thin_begin(&p, &start);
		all += words;
		if (p.state == AP_THIN_PASS)
			continue; /* it ends long before a window has been warmed */
		for (u64 i = 0; i < logs; i++) {
			bool is_read = run(&t, &p, rate) == AP_THIN_READ;

			read += is_read;
			first += is_read && !i;
			last += is_read && i == logs - 1;
		}
		EXPECT_U64(read, logs);
		n++;
		seen += words + words * ap_thin_missed(&p, words * AP_THIN_INSNS) / AP_THIN_ONE;
	}
	EXPECT(n > processes / 17 && n < processes / 15);
	EXPECT_U64(first, last);
	EXPECT(seen * 100 > all * 96 && seen * 100 < all * 104);
}

/* Of longer ones each place is read as often as any other, whether windows begin before it or behind it. */
static void long_processes_are_read_evenly(void)
{
	enum { LOGS = 512, PARTS = 8 };
	static const u64 rate[COUNTS] = { 8, 8, 8 };
	u64 read[PARTS] = { 0 }, sum = 0;

	for (u64 k = 0; k < 3000; k++) {
		struct ap_thin_start start = { .read = 1 << 20, .gaps = 1000 };
		static struct thread t;
		struct ap_thin_phase p;

		start.random = (u32)(k * 2654435761U >> 3);
		memset(&t, 0, sizeof(t));
		ap_thin_init(&p, 16);
		ap_thin_begin(&p, &start);
		if (p.state == AP_THIN_PASS)
			ap_thin_wait(&t.thin, 0);
		for (u64 i = 0; i < LOGS; i++)
			read[i * PARTS / LOGS] += run(&t, &p, rate) == AP_THIN_READ;
	}
	for (unsigned i = 1; i < PARTS; i++)
		sum += read[i];
	for (unsigned i = 1; i < PARTS; i++)
		if (!EXPECT(read[i] * (PARTS - 1) * 10 > sum * 8 &&
			    read[i] * (PARTS - 1) * 10 < sum * 12))
			tap_note("part %u: %llu of %llu", i, (unsigned long long)read[i],
				 (unsigned long long)sum);
}

/* Who was not looked at till then is estimated by the first window, all of it. */
static void who_waits_is_estimated_behind(void)
{
	static const u64 rate[COUNTS] = { 8, 3, 0 };
	struct ap_thin_start start = { .read = 1 << 20, .gaps = 1000 };
	static struct thread t;
	struct ap_thin_phase p;
	u64 words = 0;

	do {
		start.random++;
		ap_thin_init(&p, 16);
		ap_thin_begin(&p, &start);
	} while (p.state != AP_THIN_PASS);
	while (p.state == AP_THIN_PASS) {
		ap_thin_skip(&p, LOG);
		words += LOG;
	}
	ap_thin_wait(&t.thin, words * AP_THIN_INSNS);
	t.cold = 1000;
	while (run(&t, &p, rate) != AP_THIN_PASS)
		words += LOG;
	words += LOG; /* that was passed over */
	ends(&t, &p);
	EXPECT_U64(t.shown[0], words);
	EXPECT_U64(t.shown[1], words * 3 / 8);
	EXPECT_U64(t.shown[2], 0);
}

/* Windows that say the same leave no doubt; those that differ by one half leave much. */
static void errors_are_what_windows_differ_by(void)
{
	for (unsigned differ = 0; differ < 2; differ++) {
		static struct ap_thin_errors errors;
		static struct thread t;
		struct ap_thin_phase p;

		memset(&errors, 0, sizeof(errors));
		memset(&t, 0, sizeof(t));
		ap_thin_init(&p, 16);
		p.errors = &errors;
		for (u64 n = 0; n < 20000; n++) {
			u64 rate[COUNTS] = { 8, differ && n / 500 % 2 ? 4 : 8, 8 };

			run(&t, &p, rate);
		}
		ends(&t, &p);
		EXPECT(errors.n > 20);
		EXPECT_U64(errors.count[0].dd[0] | errors.count[0].dd[1], 0);
		EXPECT((errors.count[1].dd[0] != 0) == differ);
		EXPECT_U64(errors.lock, 0);
		EXPECT(errors.count[0].y > 15 * (20000ULL - 64) / 16 * LOG * 9 / 10);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(steady),
						 TAP(gaps_may_have_no_log),
						 TAP(short_phases),
						 TAP(short_runs_are_read),
						 TAP(phases_of_a_program),
						 TAP(changes_have_no_side),
						 TAP(words_are_denser_behind_a_gap),
						 TAP(threads_are_read_together),
						 TAP(a_new_beginning_is_read),
						 TAP(counts_may_run_ahead),
						 TAP(steady_counts_go_on_in_gaps),
						 TAP(what_waited_is_not_lost),
						 TAP(bursts_are_as_long_as_meant),
						 TAP(late_ones_lose_nothing),
						 TAP(ahead_may_change),
						 TAP(short_processes_are_a_fair_sample),
						 TAP(long_processes_are_read_evenly),
						 TAP(who_waits_is_estimated_behind),
						 TAP(errors_are_what_windows_differ_by),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
