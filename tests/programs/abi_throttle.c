/* SPDX-License-Identifier: MIT */
/* Events that overflow more often than perf_event_max_sample_rate says, in a session that has 1000 a second: 4 in each tick. */
#include <time.h>

#include "../tests/programs/sample.h"

#include "../tests/programs/abi.h"

/* THROTTLE and UNTHROTTLE */
struct throttle {
	struct perf_event_header h;
	uint64_t time, id, stream;
};

struct told {
	long samples, off, on;
	uint64_t count;
};

/* Works until it has been throttled and let go twice, or for so many rounds. */
static struct told work(struct perf_event_attr *attr, long rounds)
{
	struct told t = { 0, 0, 0, 0 };
	struct throttle rec[64];
	uint64_t was = 0;
	struct ring r;

	map_or_die(&r, (int)abi_open(attr, -1), 64, PROT_READ | PROT_WRITE);
	for (long i = 0; i < rounds && (t.off < 3 || t.on < 2); i++) {
		abi_work(20000);
		while (sample_next(&r, rec, sizeof(rec))) {
			t.samples += rec->h.type == PERF_RECORD_SAMPLE;
			if (rec->h.type != PERF_RECORD_THROTTLE &&
			    rec->h.type != PERF_RECORD_UNTHROTTLE)
				continue;
			/* one after the other, each with the ids of the event and a later time */
			if (rec->h.size != sizeof(*rec) || rec->id != r.id || rec->stream != r.id ||
			    rec->time < was ||
			    (rec->h.type == PERF_RECORD_THROTTLE) != (t.off == t.on))
				_exit(1);
			was = rec->time;
			t.off += rec->h.type == PERF_RECORD_THROTTLE;
			t.on += rec->h.type == PERF_RECORD_UNTHROTTLE;
		}
	}
	t.count = sample_count(r.fd);
	return t;
}

static struct perf_event_attr attr_of(uint64_t period)
{
	struct perf_event_attr attr = abi_instructions();

	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP;
	return attr;
}

/* a: period; it is throttled, and its samples are fewer than its overflows, but the count goes on */
static long throttled(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of((uint64_t)c->a);
	struct told t = work(&attr, 1000000);

	HOLDS(t.off >= 3 && t.on >= 2);
	HOLDS(t.samples > 0 && (uint64_t)t.samples < t.count / (uint64_t)c->a);
	return 0;
}

/* The largest period that there is does not overflow. */
static long let_be(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of(0x7fffffffffffffff);
	struct told t = work(&attr, 1000);

	HOLDS(t.count >= 40000000);
	(void)c;
	return t.off + t.on + t.samples;
}

/* a: samples a second that are asked for */
static long frequency(const struct abi_case *c)
{
	struct perf_event_attr attr = attr_of((uint64_t)c->a);

	attr.freq = 1;
	return abi_try(&attr, 0, -1, -1, 0);
}

static long rate(const struct abi_case *c)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "r");
	long v = 0;

	(void)c;
	return f && fscanf(f, "%ld", &v) == 1 ? v : -1;
}

static const struct abi_case cases[] = {
	{ "D-032", "beyond the rate it is throttled until the next tick", throttled, O, 0, 2000,
	  0 },
	{ "D-032", "below it is not", let_be, O, 0, 0, 0 },
	{ "E-035", "THROTTLE and UNTHROTTLE: time, id, stream_id", throttled, O, 0, 5000, 0 },
	{ "Y-15", "throttling, in turns", throttled, O, 0, 2000, 0 },
	{ "G-022", "the file says what was asked for", rate, O, 1000, 0, 0 },
	{ "G-023", "1000 may be asked for", frequency, O, 0, 1000, 0 },
	{ "G-023", "1001 may not", frequency, O, -EINVAL, 1001, 0 },
	{ 0 },
};

int main(int argc, char **argv)
{
	return abi_main(cases, "rate --max-sample-rate=1000\n", argc, argv);
}
