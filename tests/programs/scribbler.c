/* SPDX-License-Identifier: MIT */
/*
 * A program gone wild: it stores random words into the engine's writable mappings of the session's file, which
 * it is told in FILE, as a stray pointer could.
 *
 *	scribbler SEED own|shared FILE [OFFSET [WORD...]]
 *
 * shared: not where it counts itself, so that it lives on; own: there too.  Lines of it: begin, end and offset in
 * the file, in hex.  OFFSET, in hex, and WORD are to find out what it was: the only area, the only words of it.  It says its pid first, and goes on until it is killed or has died of it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "abi/session.h"
#include "random.h"

#define AREAS 64
#define BURST 40

struct area {
	uint64_t lo, hi, off;
};

static struct area areas[AREAS];
static char **only_words;
static unsigned nwords;

/* The first words of an area are the ones that matter: they are met half of the time. */
static void scribble(const struct area *a)
{
	uint64_t n = (a->hi - a->lo) / 4, few = n < 64 ? n : 64;
	volatile uint32_t *at = (volatile uint32_t *)(uintptr_t)a->lo;
	uint64_t k = any() % 2 ? any() % few : any() % n;

	at[nwords ? strtoul(only_words[any() % nwords], NULL, 0) : k] = (uint32_t)any_number();
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	int own = argc > 2 && !strcmp(argv[2], "own"), n = 0;
	uint64_t only = argc > 4 ? strtoull(argv[4], NULL, 16) : 0;
	struct area a;
	char line[128];
	FILE *told;

	if (argc < 4)
		return 2;
	if (argc > 5)
		only_words = argv + 5, nwords = (unsigned)argc - 5;
	random_seed(strtoull(argv[1], NULL, 0));
	printf("%d\n", getpid());
	fflush(stdout);
	told = fopen(argv[3], "r"); /* may wait: a pipe's other end looks us up first */
	if (!told)
		return 2;
	while (n < AREAS && fgets(line, sizeof(line), told)) {
		if (sscanf(line, "%lx %lx %lx", &a.lo, &a.hi, &a.off) != 3)
			return 2;
		if (only ? a.off == only : own || a.off < AP_SEG_BASE)
			areas[n++] = a;
	}
	if (!n)
		return 3;
	for (;;) {
		for (int i = 0; i < BURST; i++)
			scribble(&areas[any() % (unsigned)n]);
		nanosleep(&pause, NULL);
	}
}
