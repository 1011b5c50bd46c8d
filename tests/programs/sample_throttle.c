/* SPDX-License-Identifier: MIT */
/*
 * sample_throttle RATE instructions|clock|frequency: an event that overflows far more often than RATE a second.
 * Prints what must hold of THROTTLE and UNTHROTTLE, whose ticks are 4 ms of the records' clock.  RATE 0: there
 * must be none.
 */
#include <time.h>

#include "sample.h"

#define TICK_NS 4000000ULL

static volatile long sink;

struct timed {
	struct perf_event_header h;
	uint64_t time, id, stream;
};

static uint64_t rest; /* instructions that the loop took, by the event itself */

/* As long as the ring has room for all samples. */
static void work(int fd, long ns)
{
	struct timespec t;
	long end = 0, now = 0;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	while (!end || now < end) {
		for (int i = 0; i < 20000; i++)
			sink++;
		clock_gettime(CLOCK_MONOTONIC, &t);
		now = (long)t.tv_sec * 1000000000L + t.tv_nsec;
		end = end ? end : now + ns;
	}
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	rest = sample_count(fd);
}

static struct perf_event_attr attr_for(const char *what)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.exclude_kernel = attr.exclude_hv = attr.disabled = 1;
	attr.sample_type = PERF_SAMPLE_TIME;
	if (!strcmp(what, "clock")) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_TASK_CLOCK;
		attr.sample_period = 20000;
	} else {
		attr.config = PERF_COUNT_HW_INSTRUCTIONS;
		attr.sample_period = 10007;
	}
	return attr;
}

int main(int argc, char **argv)
{
	unsigned long rate = argc > 2 ? strtoul(argv[1], NULL, 10) : 0,
		      most = rate ? (rate + 249) / 250 : ~0UL;
	unsigned long n = 0, in_tick = 0, throttles = 0, unthrottles = 0, over = 0, odd = 0,
		      after = 2;
	struct perf_event_attr attr = attr_for(argc > 2 ? argv[2] : "");
	uint64_t tick = 0;
	char buf[4096];
	struct ring r;
	int fd = sample_open(&attr, 0, -1, -1);

	if (fd < 0 || sample_map(&r, fd, 512, PROT_READ | PROT_WRITE)) {
		printf("cannot open: %s\n", strerror(errno));
		return 1;
	}
	work(fd, rate ? 200000000L : 40000000L);
	while (sample_next(&r, buf, sizeof(buf))) {
		const struct timed *s = (void *)buf;

		if (s->h.type == PERF_RECORD_THROTTLE) {
			odd += after < 2 || s->id != r.id;
			throttles++;
			after = 0;
		} else if (s->h.type == PERF_RECORD_UNTHROTTLE) {
			odd += after != 1;
			unthrottles++;
			after = 2;
		} else if (s->h.type == PERF_RECORD_SAMPLE) {
			n++;
			in_tick = s->time / TICK_NS == tick ? in_tick + 1 : 1;
			tick = s->time / TICK_NS;
			over += in_tick > most;
			/* the one that was too many comes behind its THROTTLE, and no other */
			odd += after == 1;
			after += after == 0;
		} else {
			odd++;
		}
	}
	printf("samples %s, throttled %s, %lu too many in a tick, %lu odd\n",
	       n > 1 ? "some" : "none",
	       !throttles		     ? "never"
	       : throttles - unthrottles < 2 ? "and let go"
					     : "for ever",
	       over, odd);
	if (!rate)
		printf("count / period: %d\n", n == rest / attr.sample_period);
	return 0;
}
