/* SPDX-License-Identifier: MIT */
/*
 * What the first event of a kind costs that nobody counted before, in microseconds: opening it, and the code that
 * runs next, which may have to be translated again.  What that code takes when it has been is taken off.
 * A line per kind, in the order in which they come; each finds the others counted.
 */
#include <linux/perf_event.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LINES 300
#define WARM  20

static char lines[LINES][64];
static volatile double sum;

static int in_order(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Some hundred microseconds in many places of the C library. */
static void work(void)
{
	regmatch_t found[3];
	regex_t re;

	for (int i = 0; i < LINES; i++)
		snprintf(lines[i], sizeof(lines[i]), "%d line %s %.3f", i * 7919 % 1009,
			 i & 1 ? "odd" : "even", i / 3.0);
	qsort(lines, LINES, sizeof(lines[0]), in_order);
	if (regcomp(&re, "^([0-9]+) line (odd|even)", REG_EXTENDED))
		exit(1);
	for (int i = 0; i < LINES; i++)
		sum += regexec(&re, lines[i], 3, found, 0) + strtod(lines[i], NULL);
	regfree(&re);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* config1 is the term `anyperf` of the cpu PMU: kinds that other CPUs have no code for */
static const struct kind {
	const char *name;
	uint32_t type;
	uint64_t config, config1;
} kinds[] = {
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0 },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0 },
	{ "calls", PERF_TYPE_RAW, 0, 5 },
	{ "loads", PERF_TYPE_RAW, 0, 9 },
	{ "stores", PERF_TYPE_RAW, 0, 10 },
	{ "rep-iterations", PERF_TYPE_RAW, 0, 12 },
	{ "fp-ops", PERF_TYPE_RAW, 0, 14 },
};

static int measure(const struct kind *kind)
{
	struct perf_event_attr attr = {
		.type = kind->type,
		.size = sizeof(attr),
		.config = kind->config,
		.config1 = kind->config1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	double first, again = 1e9, t;

	first = now();
	if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0) {
		perror(kind->name);
		return 1;
	}
	work();
	first = now() - first;
	for (int i = 0; i < WARM; i++) {
		t = now();
		work();
		t = now() - t;
		again = t < again ? t : again;
	}
	printf("%s %.0f\n", kind->name, first - again);
	return 0;
}

int main(void)
{
	int failed = 0;

	for (int i = 0; i < WARM; i++)
		work();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		failed += measure(&kinds[i]);
	return failed != 0;
}
