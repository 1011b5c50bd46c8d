// SPDX-License-Identifier: MIT
/* Counts of threads for samples, in a plain list: there are few. */
#include "samples.h"

#include <inttypes.h>
#include <stdlib.h>

#define BRANCHES 32

struct branch {
	uint64_t from, to;
};

struct samples_thread {
	pid_t tid;
	uint64_t count;
	struct branch ring[BRANCHES];
	uint64_t taken;	 /* so many, ever */
	bool is_jumping; /* the last one's target is the next instruction that retires */
	bool is_due;	 /* a line is to be written then: */
	uint64_t pc, before, after;
};

static struct samples_thread *find_or_add(struct samples *samples, pid_t tid)
{
	struct samples_thread *threads = samples->threads;

	for (size_t i = 0; i < samples->n; i++) {
		if (threads[i].tid == tid)
			return &threads[i];
	}
	if (samples->n == samples->capacity) {
		samples->capacity = samples->capacity * 2 + 8;
		threads = realloc(threads, samples->capacity * sizeof(*threads));
		if (threads == NULL) {
			fprintf(stderr, "oracle: no memory for samples\n");
			exit(125);
		}
		samples->threads = threads;
	}
	threads[samples->n] = (struct samples_thread){ .tid = tid };
	return &threads[samples->n++];
}

static void write_line(struct samples *samples, struct samples_thread *t)
{
	fprintf(samples->out, "%d %" PRIx64 " %" PRIu64 " %" PRIu64, t->tid, t->pc, t->before,
		t->after);
	for (uint64_t k = 0; samples->with_branches && k < t->taken && k < BRANCHES; k++) {
		const struct branch *b = &t->ring[(t->taken - 1 - k) % BRANCHES];

		fprintf(samples->out, " %" PRIx64 ">%" PRIx64, b->from, b->to);
	}
	fputc('\n', samples->out);
	t->is_due = false;
}

void samples_retire(struct samples *samples, pid_t tid, uint64_t pc, uint64_t more, bool jumps)
{
	struct samples_thread *t;

	if (samples->out == NULL)
		return;
	t = find_or_add(samples, tid);
	if (t->is_jumping)
		t->ring[(t->taken - 1) % BRANCHES].to = pc;
	if (t->is_due)
		write_line(samples, t);
	t->is_jumping = jumps;
	if (jumps)
		t->ring[t->taken++ % BRANCHES] = (struct branch){ .from = pc };
	if (more > 0 && (t->count + more) / samples->period != t->count / samples->period) {
		t->pc = pc;
		t->before = t->count;
		t->after = t->count + more;
		t->is_due = true;
		if (!jumps || !samples->with_branches)
			write_line(samples, t);
	}
	t->count += more;
}

void samples_restart(struct samples *samples, pid_t tid)
{
	struct samples_thread *t;

	if (samples->out == NULL)
		return;
	t = find_or_add(samples, tid);
	if (t->is_due)
		write_line(samples, t);
	*t = (struct samples_thread){ .tid = tid };
}
