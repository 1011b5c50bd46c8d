/* SPDX-License-Identifier: MIT */
/*
 * TLBs and page walks.  A reference over two pages translates both, and counts what the worse one
 * met; walks read page table entries below the deepest paging-structure cache that knows the way.
 */
#include "base/mem.h"
#include "model/internal.h"
#include "model/tlb.h"

/* Lays out (at not null) or measures one TLB. */
static size_t lay(struct ap_tlb *t, char **at, const struct ap_tlb_spec *spec)
{
	size_t bytes = ap_tlb_init(t, at ? *at : NULL, spec->entries, spec->ways, spec->latency);

	if (at)
		*at += bytes;
	return bytes;
}

static size_t lay_all(struct ap_mem *m, char **at, const struct ap_machine *x)
{
	const u32 walk[3] = { x->walk_pde, x->walk_pdpte, x->walk_pml4e };
	size_t bytes = 0;

	bytes += lay(m ? &m->tlb[0] : NULL, at, &x->dtlb);
	bytes += lay(m ? &m->tlb[1] : NULL, at, &x->dtlb_store);
	bytes += lay(m ? &m->tlb_2m : NULL, at, &x->dtlb_2m);
	bytes += lay(m ? &m->itlb : NULL, at, &x->itlb);
	bytes += lay(m ? &m->itlb_2m : NULL, at, &x->itlb_2m);
	bytes += lay(m ? &m->stlb : NULL, at, &x->stlb);
	bytes += lay(m ? &m->istlb : NULL, at, &x->istlb);
	for (unsigned i = 0; i < 3; i++)
		bytes += lay(m ? &m->walk[i] : NULL, at,
			     &(struct ap_tlb_spec){ .entries = walk[i], .ways = walk[i] });
	return bytes;
}

size_t ap_mem_tlb_bytes(const struct ap_machine *machine)
{
	return lay_all(NULL, NULL, machine);
}

void ap_mem_tlb_init(struct ap_mem *m, char **at)
{
	lay_all(m, at, &m->machine);
	m->own_store_tlb = !!m->tlb[1].ways;
	m->no_tlb = !m->tlb[0].ways;
	/* no address has this page: nothing is recent yet */
	m->page[0] = m->page[1] = m->code_page = ~0ULL;
}

static bool is_huge(const struct ap_mem *m, u64 address)
{
	u32 low = 0, high = m->huge_n;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (address >= m->huge[middle].end)
			low = middle + 1;
		else
			high = middle;
	}
	return low < m->huge_n && address >= m->huge[low].start;
}

static u64 key_of(u64 number)
{
	return number << 1 | 1;
}

/* Reads the page table; gives how many entries. */
static unsigned walk(struct ap_mem *m, u64 address, bool huge)
{
	unsigned leaf = huge, level;

	for (level = leaf; level < 3; level++)
		if (m->walk[level].ways &&
		    ap_tlb_use(&m->walk[level], key_of(address >> (21 + 9 * level))))
			break;
	for (unsigned known = leaf; known < level; known++)
		if (m->walk[known].ways)
			ap_tlb_insert(&m->walk[known], key_of(address >> (21 + 9 * known)));
	return level - leaf + 1;
}

/* first: null where the machine has none for such pages; second: the same. */
static unsigned look(struct ap_mem *m, struct ap_tlb *first, struct ap_tlb *second, u64 address,
		     bool huge, unsigned *steps)
{
	u64 key = huge ? key_of(address >> 21) | AP_TLB_HUGE : key_of(address >> 12);
	unsigned result = AP_MEM_STLB;

	if (!first->ways || ap_tlb_use(first, key))
		return 0;
	if (!second->ways || !ap_tlb_use(second, key)) {
		result = AP_MEM_WALK;
		*steps += walk(m, address, huge);
		if (second->ways)
			ap_tlb_insert(second, key);
	}
	ap_tlb_insert(first, key);
	return result;
}

static unsigned look_data(struct ap_mem *m, u64 address, unsigned write, unsigned *steps)
{
	unsigned t = write & m->own_store_tlb;
	bool huge = is_huge(m, address);
	struct ap_tlb *first = huge && m->tlb_2m.ways && !t ? &m->tlb_2m : &m->tlb[t];

	/* the last used one again changes nothing */
	if (m->page[t] == address >> 12)
		return 0;
	m->page[t] = address >> 12;
	return look(m, first, &m->stlb, address, huge, steps);
}

static unsigned look_code(struct ap_mem *m, u64 address, unsigned *steps)
{
	bool huge = is_huge(m, address);
	struct ap_tlb *first = huge && m->itlb_2m.ways ? &m->itlb_2m : &m->itlb;

	if (m->code_page == address >> 12)
		return 0;
	m->code_page = address >> 12;
	return look(m, first, m->istlb.ways ? &m->istlb : &m->stlb, address, huge, steps);
}

unsigned ap_mem_translate(struct ap_mem *m, u64 address, unsigned size, unsigned write,
			  unsigned *steps)
{
	u64 last = address + size - 1;
	unsigned result = look_data(m, address, write, steps);

	for (u64 page = (address >> 12) + 1; page <= last >> 12; page++)
		result |= look_data(m, page << 12, write, steps);
	if (!result)
		return 0;
	m->count[AP_MODEL_DTLB_LOAD_MISS + write]++;
	if (!(result & AP_MEM_WALK)) {
		m->count[AP_MODEL_DTLB_LOAD_STLB_HIT + write]++;
		return AP_MEM_STLB;
	}
	m->count[AP_MODEL_DTLB_LOAD_WALK + write]++;
	m->count[AP_MODEL_DTLB_LOAD_WALK_STEP + write] += *steps;
	return AP_MEM_WALK;
}

unsigned ap_mem_translate_code(struct ap_mem *m, u64 address, unsigned size, unsigned *steps)
{
	u64 last = address + size - 1;
	unsigned result = look_code(m, address, steps);

	if (!ap_same_page(address, last))
		result |= look_code(m, last, steps);
	if (!result)
		return 0;
	m->count[AP_MODEL_ITLB_MISS]++;
	if (!(result & AP_MEM_WALK)) {
		m->count[AP_MODEL_ITLB_STLB_HIT]++;
		return AP_MEM_STLB;
	}
	m->count[AP_MODEL_ITLB_WALK]++;
	m->count[AP_MODEL_ITLB_WALK_STEP] += *steps;
	return AP_MEM_WALK;
}

void ap_mem_huge(struct ap_mem *m, const struct ap_huge *ranges, unsigned n)
{
	m->huge = ranges;
	m->huge_n = n;
	m->page[0] = m->page[1] = m->code_page = ~0ULL;
}
