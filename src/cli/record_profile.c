/* SPDX-License-Identifier: MIT */
/*
 * The samples of an exact profile: one for each instruction of each process, whose period is how often it was executed.  Its time
 * is that of the mappings which its code was made under, so the address means what it meant then.
 */
#include "cli/record_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi/record.h"
#include "cli/memory.h"
#include "print/print.h"

#define SAMPLE_TYPE                                                                                \
	(AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_TID | AP_PERF_SAMPLE_TIME | AP_PERF_SAMPLE_PERIOD)
#define USER_MODE   2 /* PERF_RECORD_MISC_USER */
#define TABLE_FIRST 4096
#define FLUSH_BYTES (1U << 20)

/* By process, time and address; pc 0: free. */
struct profile_counts {
	struct ap_profile_count *v;
	size_t n, room; /* power of two */
};

/* As SAMPLE_TYPE has it. */
struct sample {
	struct ap_perf_event_header header;
	u64 ip;
	u32 pid, tid;
	u64 time, period;
};

static struct ap_profile_count *place_of(const struct profile_counts *c,
					 const struct ap_profile_count *of)
{
	u64 h = (of->pc ^ of->time ^ (u64)of->pid << 40) * 0x9e3779b97f4a7c15ULL;
	size_t at = (size_t)(h >> 20) & (c->room - 1);

	while (c->v[at].pc &&
	       (c->v[at].pc != of->pc || c->v[at].time != of->time || c->v[at].pid != of->pid))
		at = (at + 1) & (c->room - 1);
	return &c->v[at];
}

static void grow_counts(struct profile_counts *c)
{
	struct profile_counts old = *c;

	c->room = old.room ? old.room * 2 : TABLE_FIRST;
	c->v = ap_xgrow(NULL, c->room, sizeof(*c->v));
	memset(c->v, 0, c->room * sizeof(*c->v));
	for (size_t i = 0; i < old.room; i++)
		if (old.v[i].pc)
			*place_of(c, &old.v[i]) = old.v[i];
	free(old.v);
}

/* Tasks write these numbers, so a sum may be beyond what an s64 holds. */
static s64 sum(s64 a, s64 b)
{
	return (s64)((u64)a + (u64)b);
}

static void add_count(void *arg, const struct ap_profile_count *count)
{
	struct profile_counts *c = arg;
	struct ap_profile_count *to;

	if (!count->pc)
		return;
	if (2 * (c->n + 1) > c->room)
		grow_counts(c);
	to = place_of(c, count);
	if (to->pc) {
		to->count = sum(to->count, count->count);
		return;
	}
	*to = *count;
	c->n++;
}

static int by_address(const void *a, const void *b)
{
	const struct ap_profile_count *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->pc != y->pc)
		return x->pc < y->pc ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

static int by_time(const void *a, const void *b)
{
	const struct ap_profile_count *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return by_address(a, b);
}

/*
 * What was taken back or added without a block (time 0) belongs to what its address was executed as: where there were several, to one that has
 * as much.
 */
static void settle_loose(struct profile_counts *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->room; i++)
		if (c->v[i].pc)
			c->v[n++] = c->v[i];
	qsort(c->v, n, sizeof(*c->v), by_address);
	for (size_t i = 0; i + 1 < n; i++) {
		size_t k = i + 1;

		if (c->v[i].time)
			continue;
		while (k + 1 < n && c->v[k + 1].pid == c->v[i].pid &&
		       c->v[k + 1].pc == c->v[i].pc && sum(c->v[k].count, c->v[i].count) < 0)
			k++;
		if (c->v[k].pid != c->v[i].pid || c->v[k].pc != c->v[i].pc)
			continue;
		c->v[k].count = sum(c->v[k].count, c->v[i].count);
		c->v[i].count = 0;
	}
	qsort(c->v, n, sizeof(*c->v), by_time);
	c->n = n;
}

static void put_samples(struct record *r, const struct profile_counts *c)
{
	struct ap_buf buf = { 0 };

	for (size_t i = 0; i < c->n && !r->error; i++) {
		const struct ap_profile_count *of = &c->v[i];
		const struct sample s = { .header = { .type = AP_PERF_RECORD_SAMPLE,
						      .misc = USER_MODE,
						      .size = sizeof(s) },
					  .ip = of->pc,
					  .pid = of->pid,
					  .tid = of->pid,
					  .time = of->time ? of->time : r->last_time,
					  .period = (u64)of->count };

		if (of->count <= 0)
			continue;
		r->profiled += (u64)of->count;
		ap_buf_put(&buf, &s, sizeof(s));
		if (buf.size < FLUSH_BYTES && i + 1 < c->n)
			continue;
		if (buf.failed)
			r->error = -ENOMEM;
		record_account(r, buf.data, buf.size);
		record_file_put(r, buf.data, buf.size);
		buf.size = 0;
	}
	if (buf.size && !r->error) {
		record_account(r, buf.data, buf.size);
		record_file_put(r, buf.data, buf.size);
	}
	ap_buf_fini(&buf);
}

/* What the session has counted by itself. */
static u64 total_of(struct record *r)
{
	struct {
		u64 value, rest[4];
	} reading;
	u64 sum = 0;

	for (size_t i = 0; i < r->event[0].nfds; i++)
		if (r->event[0].fd[i] && ap_client_read(r->event[0].fd[i], &reading,
							sizeof(reading)) >= (s64)sizeof(u64))
			sum += reading.value;
	return sum;
}

void record_profile_put(struct record *r)
{
	struct profile_counts c = { 0 };
	int ret;

	if (r->error || !r->writer)
		return;
	if (r->event[0].attr.sample_type != SAMPLE_TYPE) {
		r->error = -EINVAL;
		return;
	}
	ret = ap_client_profile(r->client, add_count, &c, &r->profile_lost);
	r->total = total_of(r);
	if (ret)
		r->error = ret;
	else
		settle_loose(&c);
	put_samples(r, &c);
	free(c.v);
}

void record_profile_say(const struct record *r)
{
	const struct ap_profile_lost *l = &r->profile_lost;

	if (r->total != r->profiled || l->blocks || l->insns || l->tables)
		ap_print(stderr,
			 "anyperf profile: the profile is not complete: %" PRId64
			 " instructions of %" PRIu64 " are at no address (%" PRIu64
			 " blocks, %" PRIu64 " instructions had no room, %" PRIu64
			 " tables could not be read)\n",
			 (s64)(r->total - r->profiled), (u64)r->total, (u64)l->blocks,
			 (u64)l->insns, (u64)l->tables);
	if (!r->opts->quiet)
		ap_print(stderr,
			 "[ anyperf profile: wrote %.3f MB %s (%" PRIu64
			 " instructions, exact) ]\n",
			 (double)r->written / 1048576, r->path ? r->path : "-", (u64)r->profiled);
}
