/* SPDX-License-Identifier: MIT */
/*
 * What perfctr's calls cost, and reading its counters from the mapped page without one, in cycles of rdtsc:
 * the least of some rounds' averages.  Two counters of a K8: instructions and branches.  A line each.
 */
#include <anyperf/perfctr.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#define ROUNDS	 9
#define COUNTERS 2U

static const struct vperfctr_control control = {
	.cpu_control = { .tsc_on = 1,
			 .nractrs = COUNTERS,
			 .pmc_map = { 0, 1 },
			 .evntsel = { 0x4100c0, 0x4100c2 } },
};
static int fd;
static const volatile struct vperfctr_state *state;
static uint64_t sums[COUNTERS];

static void must(int ret, const char *what)
{
	if (ret >= 0)
		return;
	perror(what);
	exit(1);
}

/* The documentation's own reader, of all counters. */
static void read_page(void)
{
	for (unsigned int i = 0; i < COUNTERS; i++) {
		uint32_t tsc0 = state->cpu_state.tsc_start, tsc1, now, start;

		for (;;) {
			now = (uint32_t)__rdpmc((int)state->cpu_state.pmc[i].map);
			start = state->cpu_state.pmc[i].start;
			sums[i] = state->cpu_state.pmc[i].sum;
			tsc1 = state->cpu_state.tsc_start;
			if (tsc1 == tsc0)
				break;
			tsc0 = tsc1;
		}
		sums[i] += now - start;
	}
}

static void read_call(void)
{
	struct perfctr_sum_ctrs sum;

	must(sys_vperfctr_read(fd, &sum, NULL), "read");
}

/* Of a process without a state: all that a measurement needs. */
static void whole(void)
{
	int mine = sys_vperfctr_open(0, 1);

	must(mine, "open");
	must(sys_vperfctr_control(mine, &control), "control");
	fd = mine;
	read_call();
	must(sys_vperfctr_unlink(mine), "unlink");
	close(mine);
}

static void measure(const char *name, void (*call)(void), unsigned int n)
{
	uint64_t best = UINT64_MAX, t;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		t = __rdtsc();
		for (unsigned int i = 0; i < n; i++)
			call();
		t = __rdtsc() - t;
		best = t < best ? t : best;
	}
	printf("%s %.1f\n", name, (double)best / n);
}

int main(void)
{
	measure("create+control+read+unlink", whole, 50);
	fd = sys_vperfctr_open(0, 1);
	must(fd, "open");
	must(sys_vperfctr_control(fd, &control), "control");
	measure("read", read_call, 200);
	state = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	if (state == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	measure("page-read of two counters", read_page, 20000);
	return sums[0] == 0;
}
