/* SPDX-License-Identifier: MIT */
/* pth THREADS ROUNDS: busy threads that share code and nothing else. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 64
#define CELLS	    4096

struct job {
	pthread_t thread;
	long rounds;
	uint32_t seed;
	uint64_t result;
};

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint64_t collatz(uint64_t v)
{
	uint64_t steps = 0;

	for (; v != 1; steps++)
		v = v & 1 ? 3 * v + 1 : v / 2;
	return steps;
}

static void *work(void *arg)
{
	struct job *job = arg;
	uint32_t *cells = malloc(CELLS * sizeof(*cells));
	uint32_t state = job->seed;
	uint64_t sum = 0;

	for (long n = 0; n < job->rounds; n++) {
		for (int i = 0; i < CELLS; i++) {
			state = state * 1664525 + 1013904223;
			cells[i] = state >> 8;
			sum += collatz((state >> 20) + 1);
		}
		qsort(cells, CELLS, sizeof(*cells), compare);
		for (int i = 0; i < CELLS; i++)
			sum = sum * 31 + cells[i];
	}
	free(cells);
	job->result = sum;
	return NULL;
}

int main(int argc, char **argv)
{
	static struct job jobs[MAX_THREADS];
	int n = argc > 1 ? atoi(argv[1]) : 2;

	if (n < 1 || n > MAX_THREADS)
		return 1;
	for (int i = 0; i < n; i++) {
		jobs[i].rounds = argc > 2 ? atol(argv[2]) : 1;
		jobs[i].seed = (uint32_t)i + 1;
		if (pthread_create(&jobs[i].thread, NULL, work, &jobs[i]))
			return 1;
	}
	for (int i = 0; i < n; i++) {
		pthread_join(jobs[i].thread, NULL);
		printf("%llu\n", (unsigned long long)jobs[i].result);
	}
	return 0;
}
