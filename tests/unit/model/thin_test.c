/* SPDX-License-Identifier: MIT */
/*
 * Parts of a run for the whole: what counts steadily is estimated to the unit, what is met anew behind a gap is not
 * counted twice, counts never go down, and threads are read together.
 */
#include <string.h>

#include "model/pages.h"
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
};

/* A log in which each count grows by so much a word; some more of the last one if it was passed over before. */
static enum ap_thin_state run(struct thread *t, struct ap_thin_phase *p, const u64 rate[COUNTS])
{
	u64 before[COUNTS];
	enum ap_thin_state state = ap_thin_next(&t->thin, p, t->count, COUNTS);

	memcpy(before, t->count, sizeof(before));
	if (state == AP_THIN_PASS) {
		t->passed++;
		t->cold = 1000;
	} else {
		t->read++;
		for (unsigned k = 0; k < COUNTS; k++)
			t->count[k] += LOG * rate[k] / 8;
		t->count[COUNTS - 1] += t->cold;
		t->cold = 0;
	}
	(void)ap_thin_did(&t->thin, p, LOG, before, t->count, COUNTS);
	for (unsigned k = 0; k < COUNTS; k++) {
		u64 now = t->count[k] + t->thin.added[k];

		EXPECT((s64)(now - t->shown[k]) >= 0);
		t->shown[k] = now;
	}
	return state;
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
	EXPECT_U64(t.shown[0], logs * LOG);
	EXPECT_U64(t.shown[1], logs * LOG * 3 / 8);
	EXPECT_U64(t.shown[2], 0); /* of what was met anew nothing */
	EXPECT(t.read > logs / 20 && t.read < logs / 12);
	EXPECT_U64(t.read + t.passed, logs);
}

static void short_runs_are_read(void)
{
	static const u64 rate[COUNTS] = { 8, 8, 8 };
	static struct thread t;
	struct ap_thin_phase p;

	ap_thin_init(&p, 1000);
	for (unsigned n = 0; n < 64; n++)
		EXPECT_U64(run(&t, &p, rate), AP_THIN_READ);
	EXPECT_U64(t.shown[0], 64ULL * LOG);
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
	for (unsigned n = 0; n < 64; n++)
		EXPECT_U64(run(&t, &p, other), AP_THIN_READ);
	EXPECT_U64(t.shown[2], 64ULL * LOG * 10);
}

static void pages(void)
{
	static struct ap_met_pages p;

	EXPECT(!ap_met_before(&p, 0x10000));
	EXPECT(!ap_met_before(&p, 0x10040)); /* nothing was passed over yet */
	p.burst = 1;
	EXPECT(ap_met_before(&p, 0x10080));
	EXPECT(!ap_met_before(&p, 0x7ffff0000000));
	EXPECT(!ap_met_before(&p, 0x7ffff0000fc0));
	p.burst = 2;
	EXPECT(ap_met_before(&p, 0x7ffff0000fc0));
	EXPECT(!ap_met_before(&p, 0x7ffff0001000));
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(steady),
						 TAP(short_runs_are_read),
						 TAP(phases_of_a_program),
						 TAP(threads_are_read_together),
						 TAP(a_new_beginning_is_read),
						 TAP(pages),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
