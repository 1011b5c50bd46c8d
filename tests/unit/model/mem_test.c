/* SPDX-License-Identifier: MIT */
/*
 * The memory model against a plain one (plain.h): random machines, random and adversarial streams,
 * each result and all counts.
 */
/* LONG: --exhaustive */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain.h"
#include "random.h"
#include "tap/tap.h"

struct pair {
	struct plain plain;
	struct ap_mem *mem;
	void *memory, *shared;
	uint64_t count[AP_MODEL_N];
	struct ap_huge huge;
};

static void pair_init(struct pair *p, const struct ap_machine *machine)
{
	memset(p, 0, sizeof(*p));
	plain_init(&p->plain, machine);
	p->shared = zeroed(ap_shared_bytes(machine));
	p->memory = zeroed(ap_mem_bytes(machine));
	ap_shared_init(p->shared, machine);
	p->mem = ap_mem_init(p->memory, machine, p->shared, p->count, 0);
}

static void pair_fini(struct pair *p)
{
	ap_mem_fini(p->mem);
	plain_fini(&p->plain);
	free(p->memory);
	free(p->shared);
}

static bool same_counts(const struct pair *p)
{
	for (int i = 0; i < AP_MODEL_N; i++) {
		if (p->count[i] == p->plain.count[i])
			continue;
		tap_note("count %d is %llu, should be %llu", i, (unsigned long long)p->count[i],
			 (unsigned long long)p->plain.count[i]);
		return false;
	}
	return true;
}

/* --- random machines */

static void random_cache(struct ap_cache_spec *c, uint32_t line, uint32_t sets, bool first)
{
	static const uint32_t ways[] = { 1, 2, 3, 4, 6, 8, 12, 16, 32 };

	memset(c, 0, sizeof(*c));
	c->policy = below(4);
	do
		c->ways = ways[below(AP_ARRAY_SIZE(ways))];
	while (c->policy == AP_POLICY_PLRU && (c->ways & (c->ways - 1)));
	c->size = (sets << below(3)) * c->ways * line;
	c->prefetch = below(2) ? below(4) : 0;
	c->degree = below(4);
	if (first) {
		c->write_through = below(3) == 0;
		c->no_allocate = below(3) == 0;
	} else {
		c->inclusion = below(3);
		c->no_allocate = below(4) == 0;
	}
}

static void random_tlb(struct ap_tlb_spec *t, bool may_lack)
{
	memset(t, 0, sizeof(*t));
	if (may_lack && below(3) == 0)
		return;
	t->ways = 1 + below(6);
	t->entries = t->ways << below(3);
}

static void random_machine(struct ap_machine *m)
{
	do {
		memset(m, 0, sizeof(*m));
		m->line = 32 << below(3);
		random_cache(&m->l1i, m->line, 1, true);
		m->l1i.write_through = m->l1i.no_allocate = 0;
		m->l1i.prefetch &= AP_PREFETCH_NEXT;
		random_cache(&m->l1d, m->line, 1, true);
		random_cache(&m->l2, m->line, 4, false);
		if (below(4) == 0)
			m->l2.size = 0;
		random_cache(&m->llc, m->line, 8, false);
		m->llc.prefetch = 0;
		if (below(2)) {
			m->llc.slices = 1 + below(5);
			m->llc.size *= m->llc.slices;
		}
		random_tlb(&m->dtlb, true);
		random_tlb(&m->dtlb_2m, true);
		random_tlb(&m->dtlb_store, true);
		random_tlb(&m->itlb, true);
		random_tlb(&m->itlb_2m, true);
		random_tlb(&m->stlb, true);
		random_tlb(&m->istlb, true);
		m->walk_pde = below(4);
		m->walk_pdpte = below(3);
		m->walk_pml4e = below(2);
	} while (ap_machine_check(m));
}

/* --- streams */

struct stream {
	uint64_t at, pc;
	int64_t step;
	unsigned left, kind;
};

/* Mostly a few hot lines, runs with a stride, cyclic sweeps just larger than a set, and noise. */
static uint64_t stream_next(struct stream *s)
{
	if (!s->left) {
		s->left = 1 + below(60);
		s->kind = below(5);
		s->pc = below(40);
		s->at = 0x7f0000000000 + below(1 << 16);
		s->step = ((int64_t)below(9) - 4) * (8 << below(6));
	}
	s->left--;
	switch (s->kind) {
	case 0:
		return 0x7f0000000000 + below(8) * 40;
	case 1:
		return s->at += s->step;
	case 2:
		return s->at + (s->left % 5) * 4096;
	case 3:
		return 0x7f0000000000 + ((uint64_t)below(1 << 20) << below(14));
	}
	return s->at + below(200);
}

static bool one_reference(struct pair *p, struct stream *s)
{
	static const unsigned sizes[] = { 1, 2, 4, 8, 8, 8, 16, 32, 64, 512 };
	unsigned size = sizes[below(AP_ARRAY_SIZE(sizes))], got, want;
	uint64_t address = stream_next(s);
	bool write = below(3) == 0;

	if (below(5) == 0) {
		size = 1 + below(15);
		got = below(2) ? ap_mem_fetch_insn(p->mem, address, size)
			       : ap_mem_fetch_slow(p->mem, address, size);
		want = plain_fetch(&p->plain, address, size);
	} else {
		got = ap_mem_data(p->mem, address, size, write ? AP_MEM_WRITE : 0, s->pc);
		want = plain_data(&p->plain, address, size, write, s->pc);
	}
	return (got & 0xfff) == want;
}

static void compare(unsigned machines, unsigned references, bool huge)
{
	struct pair *p = malloc(sizeof(*p));
	struct ap_machine machine;
	struct stream s = { 0 };

	for (unsigned n = 0; n < machines; n++) {
		uint64_t start = seed;

		random_machine(&machine);
		pair_init(p, &machine);
		if (huge) {
			p->huge = (struct ap_huge){ 0x7f0000000000, 0x7f0000400000 };
			p->plain.huge_start = p->huge.start;
			p->plain.huge_end = p->huge.end;
			ap_mem_huge(p->mem, &p->huge, 1);
		}
		for (unsigned i = 0; i < references; i++) {
			if (one_reference(p, &s))
				continue;
			tap_note("machine %u (seed %llx), reference %u", n,
				 (unsigned long long)start, i);
			REQUIRE(!"another result");
		}
		if (!same_counts(p)) {
			tap_note("machine %u (seed %llx)", n, (unsigned long long)start);
			REQUIRE(!"other counts");
		}
		pair_fini(p);
	}
	free(p);
	EXPECT(machines > 0);
}

static void random_machines_agree_with_plain_ones(void)
{
	seed = 1;
	compare(tap_option("--exhaustive") ? 5000 : 300, 3000, false);
}

static void large_pages_agree_with_plain_ones(void)
{
	seed = 2;
	compare(tap_option("--exhaustive") ? 1000 : 100, 3000, true);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(random_machines_agree_with_plain_ones),
		TAP(large_pages_agree_with_plain_ones),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
