// SPDX-License-Identifier: MIT
/* Counts of threads for samples, in a plain list: there are few. */
#include "samples.h"

#include <inttypes.h>
#include <stdlib.h>

struct samples_thread {
	pid_t tid;
	uint64_t count;
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

void samples_count(struct samples *samples, pid_t tid, uint64_t pc, uint64_t more)
{
	struct samples_thread *t;

	if (samples->out == NULL || more == 0)
		return;
	t = find_or_add(samples, tid);
	if ((t->count + more) / samples->period != t->count / samples->period)
		fprintf(samples->out, "%d %" PRIx64 " %" PRIu64 " %" PRIu64 "\n", tid, pc, t->count,
			t->count + more);
	t->count += more;
}

void samples_restart(struct samples *samples, pid_t tid)
{
	if (samples->out != NULL)
		find_or_add(samples, tid)->count = 0;
}
