// SPDX-License-Identifier: MIT
/* LIBS: -lm */
/*
 * A dynamic program that uses a bit of everything in its library: printf, qsort, regex, libm,
 * malloc, strings. Deterministic, and short enough to be single-stepped. c_static.c
 * builds it without the dynamic linker's work.
 */
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 40

static unsigned int next_random(unsigned int *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static int compare_ints(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int sort_numbers(void)
{
	unsigned int state = 1;
	int numbers[N];

	for (int i = 0; i < N; i++)
		numbers[i] = (int)(next_random(&state) % 1000);
	qsort(numbers, N, sizeof(numbers[0]), compare_ints);
	for (int i = 1; i < N; i++) {
		if (numbers[i - 1] > numbers[i])
			return -1;
	}
	printf("sorted: %d .. %d .. %d\n", numbers[0], numbers[N / 2], numbers[N - 1]);
	return 0;
}

static int match_lines(void)
{
	static const char *const lines[] = { "no pair here", "key_9 =   value" };
	regmatch_t match[3];
	regex_t regex;
	int found = 0;

	if (regcomp(&regex, "^([a-z_0-9]+) *= *(.*)$", REG_EXTENDED) != 0)
		return -1;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (regexec(&regex, lines[i], 3, match, 0) != 0)
			continue;
		printf("pair: %.*s -> %s\n", (int)(match[1].rm_eo - match[1].rm_so), lines[i],
		       lines[i] + match[2].rm_so);
		found++;
	}
	regfree(&regex);
	return found == 1 ? 0 : -1;
}

static int compute(void)
{
	double sum = 0;

	for (int i = 1; i <= 10; i++)
		sum += sin(i) * exp(-i / 10.0) + sqrt(i) / pow(i, 1.5) + log1p(i) + fmod(i, 0.7);
	printf("sum: %.12f\n", sum);
	return fabs(sum - 24.737639136127) < 1e-9 ? 0 : -1;
}

static int juggle_memory(void)
{
	char *blocks[24];
	size_t total = 0;

	for (int i = 0; i < 24; i++) {
		blocks[i] = malloc((size_t)i * 37 + 1);
		if (blocks[i] == NULL)
			return -1;
		memset(blocks[i], 'a' + i % 26, (size_t)i * 37);
		blocks[i][i * 37] = '\0';
	}
	for (int i = 0; i < 24; i += 2) {
		blocks[i] = realloc(blocks[i], 5000);
		if (blocks[i] == NULL)
			return -1;
		strcat(blocks[i], "tail");
	}
	for (int i = 0; i < 24; i++) {
		total += strlen(blocks[i]);
		free(blocks[i]);
	}
	printf("total: %zu\n", total);
	return total == 24 * 23 / 2 * 37 + 12 * 4 ? 0 : -1;
}

int main(void)
{
	if (sort_numbers() < 0 || match_lines() < 0 || compute() < 0 || juggle_memory() < 0) {
		printf("something is wrong\n");
		return 1;
	}
	printf("ok: %s\n", strstr("haystack with a needle in it", "needle"));
	return 0;
}
