// SPDX-License-Identifier: MIT
/*
 * Counters per event, after the table in docs/counting.md, and the histogram per pc.
 *
 * The histogram is an open hash table that doubles when it is half full; a pc of 0 marks a free
 * place (nothing can be executed there: vm.mmap_min_addr).
 */
#include "tally.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tally_pc {
	uint64_t pc;
	uint64_t retired;
	uint64_t taken;
};

#define FIRST_TABLE_SIZE 65536

static const char *const event_names[TALLY_EVENTS] = {
	[TALLY_INSTRUCTIONS] = "instructions",
	[TALLY_BRANCHES] = "branches",
	[TALLY_COND_BRANCHES] = "cond-branches",
	[TALLY_TAKEN_BRANCHES] = "taken-branches",
	[TALLY_CALLS] = "calls",
	[TALLY_RETURNS] = "returns",
	[TALLY_INDIRECT_BRANCHES] = "indirect-branches",
	[TALLY_SYSCALLS] = "syscalls",
	[TALLY_LOADS] = "loads",
	[TALLY_STORES] = "stores",
	[TALLY_MEM] = "mem-ops",
	[TALLY_REP_ITERATIONS] = "rep-iterations",
	[TALLY_FP + ACCESS_SCALAR_DOUBLE] = "fp-scalar-double",
	[TALLY_FP + ACCESS_SCALAR_SINGLE] = "fp-scalar-single",
	[TALLY_FP + ACCESS_128_DOUBLE] = "fp-128-double",
	[TALLY_FP + ACCESS_128_SINGLE] = "fp-128-single",
	[TALLY_FP + ACCESS_256_DOUBLE] = "fp-256-double",
	[TALLY_FP + ACCESS_256_SINGLE] = "fp-256-single",
	[TALLY_FP + ACCESS_512_DOUBLE] = "fp-512-double",
	[TALLY_FP + ACCESS_512_SINGLE] = "fp-512-single",
	[TALLY_FLOPS] = "flops",
	[TALLY_LOCKED] = "locked-instructions",
};

int tally_event_by_name(const char *name)
{
	for (int i = 0; i < TALLY_EVENTS; i++) {
		if (strcmp(event_names[i], name) == 0)
			return i;
	}
	return -1;
}

int tally_start_histogram(struct tally *tally)
{
	tally->pcs = calloc(FIRST_TABLE_SIZE, sizeof(*tally->pcs));
	if (tally->pcs == NULL)
		return -ENOMEM;
	tally->pcs_mask = FIRST_TABLE_SIZE - 1;
	return 0;
}

static struct tally_pc *find_place(struct tally_pc *pcs, size_t mask, uint64_t pc)
{
	size_t i = (pc * 0x9e3779b97f4a7c15u >> 20) & mask;

	while (pcs[i].pc != 0 && pcs[i].pc != pc)
		i = (i + 1) & mask;
	return &pcs[i];
}

static void grow_histogram(struct tally *tally)
{
	size_t size = (tally->pcs_mask + 1) * 2;
	struct tally_pc *bigger = calloc(size, sizeof(*bigger));

	if (bigger == NULL) {
		fprintf(stderr, "oracle: no memory for the histogram\n");
		exit(125);
	}
	for (size_t i = 0; i <= tally->pcs_mask; i++) {
		if (tally->pcs[i].pc != 0)
			*find_place(bigger, size - 1, tally->pcs[i].pc) = tally->pcs[i];
	}
	free(tally->pcs);
	tally->pcs = bigger;
	tally->pcs_mask = size - 1;
}

static void histogram_add(struct tally *tally, uint64_t pc, bool taken)
{
	struct tally_pc *place = find_place(tally->pcs, tally->pcs_mask, pc);

	if (place->pc == 0) {
		place->pc = pc;
		tally->pcs_used++;
	}
	place->retired++;
	place->taken += taken;
	if (tally->pcs_used > tally->pcs_mask / 2)
		grow_histogram(tally);
}

static void count_access(uint64_t *count, const struct access *access)
{
	static const uint8_t elements[ACCESS_FP_N] = {
		[ACCESS_SCALAR_DOUBLE] = 1, [ACCESS_SCALAR_SINGLE] = 1, [ACCESS_128_DOUBLE] = 2,
		[ACCESS_128_SINGLE] = 4,    [ACCESS_256_DOUBLE] = 4,	[ACCESS_256_SINGLE] = 8,
		[ACCESS_512_DOUBLE] = 8,    [ACCESS_512_SINGLE] = 16,
	};

	count[TALLY_LOADS] += access->loads;
	count[TALLY_STORES] += access->stores;
	count[TALLY_MEM] += access->loads || access->stores;
	count[TALLY_LOCKED] += access->locked;
	count[TALLY_FP + access->fp_class] += access->fp_count;
	count[TALLY_FLOPS] += access->fp_count * elements[access->fp_class];
}

void tally_iterate(struct tally *tally, uint64_t n)
{
	tally->count[TALLY_REP_ITERATIONS] += n;
}

void tally_retire(struct tally *tally, pid_t tid, uint64_t pc, const struct insn *insn, bool taken)
{
	uint64_t *count = tally->count;
	uint64_t before = count[tally->samples.event];

	count[TALLY_INSTRUCTIONS]++;
	count[TALLY_SYSCALLS] += insn->class == INSN_SYSCALL;
	count_access(count, &insn->access);
	if (insn_is_branch(insn)) {
		count[TALLY_BRANCHES]++;
		count[TALLY_COND_BRANCHES] += insn_is_cond_branch(insn);
		count[TALLY_TAKEN_BRANCHES] += taken;
		count[TALLY_CALLS] += insn->class == INSN_CALL || insn->class == INSN_CALL_INDIRECT;
		count[TALLY_RETURNS] += insn->class == INSN_RET;
		count[TALLY_INDIRECT_BRANCHES] +=
			insn->class == INSN_JMP_INDIRECT || insn->class == INSN_CALL_INDIRECT;
	}
	samples_retire(&tally->samples, tid, pc, count[tally->samples.event] - before,
		       taken && insn_is_branch(insn));
	if (tally->trace != NULL)
		fprintf(tally->trace, "%d %" PRIx64 "\n", tid, pc);
	if (tally->pcs != NULL)
		histogram_add(tally, pc, taken);
}

void tally_print(const struct tally *tally, FILE *out)
{
	for (int i = 0; i < TALLY_EVENTS; i++)
		fprintf(out, "%s %" PRIu64 "\n", event_names[i], tally->count[i]);
}

static int compare_pcs(const void *a, const void *b)
{
	const struct tally_pc *x = a;
	const struct tally_pc *y = b;

	return (x->pc > y->pc) - (x->pc < y->pc);
}

void tally_print_histogram(struct tally *tally, FILE *out)
{
	size_t size = tally->pcs_mask + 1;

	/* Sorting moves the free places to the front; the table is of no further use as such. */
	qsort(tally->pcs, size, sizeof(*tally->pcs), compare_pcs);
	for (size_t i = size - tally->pcs_used; i < size; i++)
		fprintf(out, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", tally->pcs[i].pc,
			tally->pcs[i].retired, tally->pcs[i].taken);
}
