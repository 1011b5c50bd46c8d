/* SPDX-License-Identifier: MIT */
/* Errors of estimates against sums of which the errors were computed by hand, by the rules of docs/design/feed.md, "Errors". */
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "linux/session/errors.h"
#include "linux/session/session.h"
#include "model/thin.h"
#include "tap/tap.h"

enum { MAX_PROCESSES = 2 };

static const struct row {
	const char *what;
	struct ap_thin_errors process[MAX_PROCESSES];
	double want[2]; /* of cycles; of the count behind them, stalls */
} rows[] = {
	{ "nothing was stood for", { { 0 } }, { 0, 0 } },
	/* 12.73 = t(1); sqrt(2 * ((10 - 20)^2 + (30 - 20)^2) * 2 / 1) = 28.2843 */
	{ "processes that differ",
	  { { .missed = 100, .missed_counts = { 10, 10 } },
	    { .missed = 100, .missed_counts = { 30, 30 } } },
	  { 360.0645, 360.1089 } },
	/* 5 % and 15 % of 20000 */
	{ "processes that agree: bias alone",
	  { { .missed = 100, .missed_counts = { 10000, 10000 } },
	    { .missed = 100, .missed_counts = { 10000, 10000 } } },
	  { 1000, 3000 } },
	{ "one process: it may be all",
	  { { .missed = 100, .missed_counts = { 50, 50 } } },
	  { 50.0625, 50.5594 } },
	/* 2.2306 = t(10); sqrt(200 / 2 * 1000 / 500) = 14.1421 */
	{ "windows that differ",
	  { { .n = 10,
	      .w = 100,
	      .ww = { 1000 },
	      .wd = { 500 },
	      .count = { { .dd = { 200 } }, { .dd = { 200 } } } } },
	  { 31.5454, 31.5454 } },
	{ "with the warm-up",
	  { { .n = 10,
	      .w = 100,
	      .ww = { 1000 },
	      .wd = { 500 },
	      .count = { { .dd = { 200 }, .warm = 40 }, { .dd = { 200 }, .warm = -40 } } } },
	  { 50.9422, 50.9422 } },
	/* 1.96 * sqrt(2.4) * 24; 1.96 * sqrt((5 + 2.4) * 24^2), and 15 % of 120 */
	{ "rare: none in ten windows, five in ten windows",
	  { { .n = 10,
	      .w = 100,
	      .ww = { 1000 },
	      .wd = { 1000 },
	      .nseen = 10,
	      .times = 10ULL * 24 * 24 << 20,
	      .count = { { .y = 0 }, { .y = 120, .rare = 5 * 24 * 24 } } } },
	  { 72.8741, 129.2224 } },
};

static struct ap_session_file ses;

static struct ap_seg *new_segment(const struct ap_thin_errors *errors)
{
	const struct ap_seg init = { .pid = 1, .ns_pid = 1 };
	struct ap_seg *head;
	u32 seg;

	REQUIRE(ap_session_seg_new(&ses, &init, &seg) == 0);
	head = mmap(NULL, AP_SEG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, ses.fd,
		    (off_t)AP_SEG_OFF(seg));
	REQUIRE(head != MAP_FAILED);
	memcpy(head->errors, errors, sizeof(*errors));
	head->state = AP_SEG_LIVE;
	return head;
}

/* What windows stand for, and how much of the beginning that may be: all of it where it is as long. */
static void expect_parts(const struct row *row, const struct ap_estimate_errors *got,
			 const char *when)
{
	double unseen = 0, part[2] = { 0 }, once;

	for (u32 i = 0; i < MAX_PROCESSES; i++) {
		const struct ap_thin_errors *e = &row->process[i];

		unseen += (double)(e->w + e->missed);
		for (u32 k = 0; k < 2; k++)
			part[k] += (double)(e->count[k].y + e->missed_counts[k]);
	}
	once = 0.3 * fmin(1, unseen / 786432);
	if (!EXPECT(fabs(got->once - once) < 1e-9))
		tap_note("%s, %s: once %.9f, want %.9f", row->what, when, got->once, once);
	for (u32 k = 0; k < 2; k++)
		if (!EXPECT(fabs(got->part[AP_KIND_CYCLES + k] - part[k]) < 0.001))
			tap_note("%s, %s: %.4f of count %u stood for, want %.4f", row->what, when,
				 got->part[AP_KIND_CYCLES + k], k, part[k]);
}

static void expect_errors(const struct row *row, const char *when)
{
	struct ap_estimate_errors got;

	REQUIRE(ap_session_errors(&ses, 0, &got) == 0);
	expect_parts(row, &got, when);
	for (u32 k = 0; k < 2; k++)
		if (!EXPECT(fabs(got.kind[AP_KIND_CYCLES + k] - row->want[k]) < 0.001))
			tap_note("%s, %s: %.4f of count %u, want %.4f", row->what, when,
				 got.kind[AP_KIND_CYCLES + k], k, row->want[k]);
}

/* Alive, and when all were folded. */
static void sums_have_these_errors(void)
{
	const struct ap_session_config cfg = { .flags = AP_F_COUNT, .cache_limit = 1 << 20 };
	struct ap_seg *head[MAX_PROCESSES];

	for (const struct row *row = rows; row < rows + sizeof(rows) / sizeof(rows[0]); row++) {
		REQUIRE(ap_session_new(&ses, &cfg) == 0);
		for (u32 i = 0; i < MAX_PROCESSES; i++)
			head[i] = new_segment(&row->process[i]);
		expect_errors(row, "alive");
		for (u32 i = 0; i < MAX_PROCESSES; i++) {
			ap_session_errors_fold(&ses, head[i]);
			head[i]->state = AP_SEG_FREE;
			munmap(head[i], AP_SEG_SIZE);
		}
		expect_errors(row, "folded");
		ap_session_close(&ses);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(sums_have_these_errors), { 0 } };

	return tap_main(tests, argc, argv);
}
