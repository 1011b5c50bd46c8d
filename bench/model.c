/* SPDX-License-Identifier: MIT */
/*
 * What a reference or a branch costs in the models: nanoseconds of CPU time each, for streams that
 * meet one case each.  Compiled as the blob is: general registers only.
 *
 *	model [machine [part of a stream's name]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/model.h"

#define REFERENCES (1U << 20)
#define ROUNDS	   16

static const struct ap_machine *machine;
static u64 count[AP_MODEL_N];
static const char *only = "";
static u64 *stream;
static u64 seed = 1;

static u64 next(void)
{
	u64 z = seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	return z ^ z >> 31;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void *zeroed(size_t bytes)
{
	void *memory = aligned_alloc(64, AP_ALIGN_UP(bytes, 64));

	if (!memory) {
		fputs("model: no memory\n", stderr);
		exit(1);
	}
	memset(memory, 0, bytes);
	return memory;
}

static struct ap_mem *new_mem(void)
{
	struct ap_shared *shared = zeroed(ap_shared_bytes(machine));

	ap_shared_init(shared, machine);
	return ap_mem_init(zeroed(ap_mem_bytes(machine)), machine, shared, count, 0);
}

/* Bit 63 of an address in the stream is a store. */
static void run_data(const char *what)
{
	struct ap_mem *m;
	double from = 0;

	if (!strstr(what, only))
		return;
	m = new_mem();
	for (int round = -2; round < ROUNDS; round++) {
		if (!round) {
			memset(count, 0, sizeof(count));
			from = now();
		}
		for (u32 i = 0; i < REFERENCES; i++)
			ap_mem_data(m, stream[i] << 1 >> 1, 8, stream[i] >> 63, 0x401000);
	}
	from = (now() - from) / ((double)ROUNDS * REFERENCES);
	printf("| %s | %.2f | %.1f %% | %.1f %% | %.1f %% |\n", what, from,
	       100.0 * (count[AP_MODEL_L1D_LOAD_MISS] + count[AP_MODEL_L1D_STORE_MISS]) /
		       ((double)ROUNDS * REFERENCES),
	       100.0 * (count[AP_MODEL_LOAD_LLC_MISS] + count[AP_MODEL_STORE_LLC_MISS]) /
		       ((double)ROUNDS * REFERENCES),
	       100.0 * (count[AP_MODEL_DTLB_LOAD_MISS] + count[AP_MODEL_DTLB_STORE_MISS]) /
		       ((double)ROUNDS * REFERENCES));
	free(m->shared);
	free(m);
}

/* Random places of 8 bytes in so much memory, a third of them stores. */
static void random_in(const char *what, u64 bytes)
{
	for (u32 i = 0; i < REFERENCES; i++)
		stream[i] = (0x10000000 + next() % bytes / 8 * 8) | (u64)(next() % 3 == 0) << 63;
	run_data(what);
}

static void data(void)
{
	puts("| references | ns each | L1D misses | LLC misses | DTLB misses |\n|---|---|---|---|---|");
	for (u32 i = 0; i < REFERENCES; i++)
		stream[i] = 0x10000000 + i % 8 * 8;
	run_data("one line");
	for (u32 i = 0; i < REFERENCES; i++)
		stream[i] = (i & 1 ? 0x10000000 : 0x7fff0000) + i / 2 % 512 * 8;
	run_data("two pages in turn");
	for (u32 i = 0; i < REFERENCES; i++)
		stream[i] = 0x10000000 + i * 8;
	run_data("8 MB, one after the other");
	random_in("4 KB, at random", 4 << 10);
	random_in("24 KB, at random", 24 << 10);
	random_in("128 KB, at random", 128 << 10);
	random_in("2 MB, at random", 2 << 20);
	random_in("256 MB, at random", 256 << 20);
	/* 90 of 100 near, 8 in 256 KB, 2 anywhere: what programs do */
	for (u32 i = 0; i < REFERENCES; i++) {
		u64 n = next() % 100;

		stream[i] = 0x10000000 + next() %
						 (n < 90   ? 2048
						  : n < 98 ? 256 << 10
							   : 64 << 20) /
						 8 * 8;
		stream[i] |= (u64)(next() % 3 == 0) << 63;
	}
	run_data("90 % in 2 KB, 8 % in 256 KB, 2 % in 64 MB");
}

static void run_branches(const char *what, unsigned branches, unsigned kind)
{
	struct ap_bp *bp;
	double from = 0;

	if (!strstr(what, only))
		return;
	bp = ap_bp_init(zeroed(ap_bp_bytes(machine)), machine, count);
	for (u32 i = 0; i < REFERENCES; i++) {
		u64 pc = 0x401000 + i % branches * 21, taken = 0;

		if (kind == 1)
			taken = 1;
		else if (kind == 2)
			taken = i / branches % 7 != 0;
		else if (kind == 3)
			taken = next() & 1;
		else if (kind == 4)
			taken = i % branches % 8 > 4 ? i / branches % 7 != 0 : i % 8 == 0;
		stream[i] = pc << 1 | taken;
	}
	for (int round = -2; round < ROUNDS; round++) {
		if (!round) {
			memset(count, 0, sizeof(count));
			from = now();
		}
		for (u32 i = 0; i < REFERENCES; i++)
			ap_bp_cond(bp, stream[i] >> 1, stream[i] & 1);
	}
	from = (now() - from) / ((double)ROUNDS * REFERENCES);
	printf("| %s | %.2f | %.1f %% |\n", what, from,
	       100.0 * count[AP_MODEL_COND_MISS] / ((double)ROUNDS * REFERENCES));
	free(bp);
}

static void branches(void)
{
	puts("\n| conditional branches | ns each | mispredicted |\n|---|---|---|");
	run_branches("200 that are never taken", 200, 0);
	run_branches("200 that always are", 200, 1);
	run_branches("200 with period 7", 200, 2);
	run_branches("200 random", 200, 3);
	run_branches("800: five of eight one way, three of 7", 800, 4);
}

int main(int argc, char **argv)
{
	machine = ap_machine_find(argc > 1 ? argv[1] : "zen4");
	if (!machine) {
		fprintf(stderr, "model: no machine \"%s\"\n", argv[1]);
		return 2;
	}
	only = argc > 2 ? argv[2] : "";
	stream = zeroed(REFERENCES * sizeof(u64));
	printf("`%s`, %zu KB for each thread, %zu KB shared\n\n", machine->name,
	       (ap_mem_bytes(machine) + ap_bp_bytes(machine)) >> 10,
	       ap_shared_bytes(machine) >> 10);
	data();
	branches();
	free(stream);
	return 0;
}
