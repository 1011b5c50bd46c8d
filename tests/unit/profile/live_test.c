/* SPDX-License-Identifier: MIT */
/*
 * Tables that age, and a stream that is read while it is written.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "profile/hist/hist_opts.h"
#include "profile/hist/live.h"
#include "tap/tap.h"

/* IP TID TIME CPU PERIOD CALLCHAIN */
#define TYPE  (1ULL << 0 | 1ULL << 1 | 1ULL << 2 | 1ULL << 7 | 1ULL << 8 | 1ULL << 5)
#define FLAGS (1ULL << 18)

static struct file f;
static struct ap_profile_session s;
static struct ap_live *live;

static void put_sample(uint64_t ip, uint64_t caller, uint64_t period, uint64_t time)
{
	begin_record(&f, 9, 2);
	put64(&f, ip);
	put32(&f, 10);
	put32(&f, 11);
	put64(&f, time);
	put32(&f, 0);
	put32(&f, 0);
	put64(&f, period);
	put64(&f, 3);
	put64(&f, (uint64_t)-512);
	put64(&f, ip);
	put64(&f, caller);
	end_record(&f);
}

static void begin(void)
{
	struct ap_hist_opts o;
	char why[400];

	ap_session_init(&s);
	ap_hist_opts_init(&o);
	o.children = true;
	o.order = AP_CALLER;
	o.chain_percent = 0;
	REQUIRE(!ap_hist_opts_columns(&o, "sym", NULL, 0, why, sizeof(why)));
	live = ap_live_new(&s, &o, NULL);
}

static void end(void)
{
	ap_live_free(live);
	ap_session_fini(&s);
}

/* Samples are written with put_sample between these. */
static void open_batch(void)
{
	begin_file(&f, TYPE, FLAGS, 0);
}

static void take_batch(void)
{
	char why[AP_DATA_WHY];
	struct ap_data_rec rec;
	struct ap_data *d;

	end_data(&f);
	REQUIRE(!ap_data_open_memory(&d, f.bytes, f.n, why));
	while (ap_data_next(d, &rec))
		EXPECT(ap_live_sample(live, &rec));
	ap_data_close(d);
}

static const struct ap_hist_entry *entry(uint64_t ip)
{
	struct ap_hist *h = ap_live_hist(live, 0);

	for (uint32_t i = 0; h && i < ap_hist_entries(h); i++) {
		if (ap_hist_entry(h, i)->ip == ip)
			return ap_hist_entry(h, i);
	}
	return NULL;
}

static void what_was_before_weighs_less(void)
{
	begin();
	open_batch();
	put_sample(0x1000, 0x9000, 800, 1);
	put_sample(0x1000, 0x9000, 800, 2);
	put_sample(0x2000, 0x9000, 80, 3);
	take_batch();
	ap_live_refresh(live, AP_LIVE_FADE);
	REQUIRE(entry(0x1000) && entry(0x2000) && entry(0x9000));
	EXPECT_U64(entry(0x1000)->period, 1600);
	EXPECT_U64(entry(0x1000)->n, 2);
	EXPECT_U64(ap_hist_total(ap_live_hist(live, 0)), 1680);
	open_batch();
	put_sample(0x2000, 0x9000, 8, 4);
	take_batch();
	ap_live_refresh(live, AP_LIVE_FADE);
	EXPECT_U64(entry(0x1000)->period, 1400);
	EXPECT_U64(entry(0x2000)->period, 78); /* 70, and what is new */
	/* callers and trees are those of the same samples */
	EXPECT_U64(entry(0x9000)->acc_period, 1478);
	EXPECT_U64(entry(0x9000)->period, 0);
	REQUIRE(entry(0x9000)->chain && entry(0x9000)->chain->child);
	EXPECT_U64(ap_chain_total(entry(0x9000)->chain->child), 1478);
	ap_live_refresh(live, AP_LIVE_KEEP);
	EXPECT_U64(entry(0x1000)->period, 1400);
	end();
}

static void what_weighs_nothing_is_forgotten(void)
{
	int i;

	begin();
	open_batch();
	put_sample(0x1000, 0x9000, 100, 1);
	take_batch();
	ap_live_refresh(live, AP_LIVE_FADE);
	for (i = 0; i < 200 && entry(0x1000); i++)
		ap_live_refresh(live, AP_LIVE_FADE);
	/* 100 87 76 66 57 49 42 36 31 27 23 20 17 14 12 10 8 7 6 5 4 3 2 1 0 */
	EXPECT_U64(i, 24);
	EXPECT(!ap_live_hist(live, 0));
	open_batch();
	put_sample(0x1000, 0x9000, 100, 2);
	take_batch();
	ap_live_refresh(live, AP_LIVE_FORGET);
	EXPECT_U64(entry(0x1000)->period, 100);
	open_batch();
	put_sample(0x2000, 0x9000, 100, 3);
	take_batch();
	ap_live_refresh(live, AP_LIVE_FORGET);
	EXPECT(!entry(0x1000));
	EXPECT_U64(entry(0x2000)->period, 100);
	EXPECT_U64(ap_hist_total(ap_live_hist(live, 0)), 100);
	end();
}

static void many_are_kept_apart(void)
{
	uint64_t total = 0;

	begin();
	for (uint64_t batch = 0; batch < 10; batch++) {
		open_batch();
		for (uint64_t i = 0; i < 500; i++) {
			put_sample(0x1000 + (batch * 500 + i) % 2500, 0x9000, i + 1, batch);
			total += i + 1;
		}
		take_batch();
	}
	ap_live_refresh(live, AP_LIVE_FADE);
	EXPECT_U64(ap_hist_total(ap_live_hist(live, 0)), total);
	EXPECT_U64(ap_hist_samples(ap_live_hist(live, 0)), 5000);
	EXPECT_U64(ap_hist_entries(ap_live_hist(live, 0)), 2501);
	EXPECT_U64(entry(0x1000)->period, 2);
	EXPECT_U64(entry(0x1000 + 499)->period, 1000);
	end();
}

static void weights_of_instructions_age_as_well(void)
{
	static const struct ap_symbol sym = { .start = 0x100, .end = 0x110, .name = "fn" };
	static struct ap_dso dso = { .name = "prog" };
	struct ap_place p = { .addr = 0x104, .sym = &sym, .dso = &dso };
	const struct ap_notes *n;
	struct ap_annotate *a;

	ap_session_init(&s);
	a = ap_annotate_new(&s);
	EXPECT(!ap_annotate_find(a, 0, &sym));
	ap_annotate_add(a, 0, &p, 800, 8);
	p.addr = 0x10f;
	ap_annotate_add(a, 0, &p, 1, 1);
	ap_annotate_add(a, 1, &p, 5, 1); /* another event */
	n = ap_annotate_find(a, 0, &sym);
	REQUIRE(n);
	EXPECT_U64(n->period, 801);
	EXPECT_U64(n->count, 9);
	ap_annotate_age(a, false);
	EXPECT_U64(n->by_byte[4], 700);
	EXPECT_U64(n->n_by_byte[4], 7);
	EXPECT_U64(n->by_byte[15], 0);
	/* the whole is the sum of its parts */
	EXPECT_U64(n->period, 700);
	EXPECT_U64(n->count, 7);
	ap_annotate_age(a, true);
	EXPECT_U64(n->period, 0);
	EXPECT_U64(n->by_byte[4], 0);
	p.addr = 0x110; /* behind it: of a damaged table of symbols */
	ap_annotate_add(a, 0, &p, 3, 1);
	ap_annotate_free(a);
	ap_session_fini(&s);
}

/* --- a pipe, of which the other end is written when the reader would wait */

static struct {
	int fd;
	size_t at, step;
	unsigned int calls;
	size_t stop_at;
} feeder;

static bool on_wait(void *arg, int fd)
{
	size_t n = f.n - feeder.at < feeder.step ? f.n - feeder.at : feeder.step;

	(void)fd;
	REQUIRE(arg == &feeder);
	feeder.calls++;
	if (feeder.stop_at && feeder.at >= feeder.stop_at)
		return false;
	if (n && write(feeder.fd, f.bytes + feeder.at, n) != (ssize_t)n)
		abort();
	feeder.at += n;
	if (feeder.at == f.n && feeder.fd >= 0) {
		close(feeder.fd);
		feeder.fd = -1;
	}
	return true;
}

/* The stream form: a header of 16 bytes, an attr, samples. */
static unsigned int read_stream(size_t step, size_t stop_at, uint64_t *sum)
{
	char why[AP_DATA_WHY];
	struct ap_data_rec rec;
	struct ap_data *d;
	unsigned int n = 0;
	int fd[2];

	f.n = 0;
	put64(&f, 0x32454c4946524550ULL);
	put64(&f, 16);
	begin_record(&f, 64, 0);
	put_attr(&f, TYPE, FLAGS);
	put64(&f, 1);
	end_record(&f);
	for (uint64_t i = 1; i <= 20; i++) {
		put_sample(0x1000, 0x9000, i, i);
		if (i % 3)
			continue;
		begin_record(&f, 68, 0); /* a round ends */
		end_record(&f);
	}
	REQUIRE(!pipe(fd));
	memset(&feeder, 0, sizeof(feeder));
	feeder.fd = fd[1];
	feeder.step = step;
	feeder.stop_at = stop_at;
	REQUIRE(write(fd[1], f.bytes, 16) == 16);
	feeder.at = 16;
	REQUIRE(!ap_data_open_fd(&d, fd[0], why));
	ap_data_on_wait(d, on_wait, &feeder);
	*sum = 0;
	while (ap_data_next(d, &rec)) {
		struct ap_sample sample;

		if (rec.h.type != 9)
			continue;
		REQUIRE(rec.event && !ap_sample_parse(rec.event, rec.bytes, &sample));
		n++;
		*sum += sample.period;
	}
	EXPECT(!ap_data_damage(d));
	ap_data_close(d);
	return n;
}

static void a_stream_is_read_as_it_comes(void)
{
	uint64_t sum;

	for (size_t step = 1; step < 400; step += 37) {
		EXPECT_U64(read_stream(step, 0, &sum), 20);
		EXPECT_U64(sum, 210);
		/* asked before each read, also before that which finds the end */
		EXPECT_U64(feeder.calls, (f.n - 16 + step - 1) / step + 1);
	}
}

static void a_reader_may_stop(void)
{
	uint64_t sum, part;
	unsigned int n = read_stream(50, 800, &sum);

	/* whole records only, and no complaint about the cut one */
	part = (uint64_t)n * (n + 1) / 2;
	EXPECT(n > 0 && n < 20);
	EXPECT_U64(sum, part);
	if (feeder.fd >= 0)
		close(feeder.fd);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(what_was_before_weighs_less),
						 TAP(what_weighs_nothing_is_forgotten),
						 TAP(many_are_kept_apart),
						 TAP(weights_of_instructions_age_as_well),
						 TAP(a_stream_is_read_as_it_comes),
						 TAP(a_reader_may_stop),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
