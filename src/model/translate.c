/* SPDX-License-Identifier: MIT */
/*
 * TLBs and page walks.  A reference over two pages translates both, and counts what the worse one
 * met; walks read page table entries below the deepest paging-structure cache that knows the way.
 */
#include "base/mem.h"
#include "model/internal.h"
#include "model/pages.h"
#include "model/quick.h"
#include "model/tlb.h"

/* Lays out (at not null) or measures one TLB. */
static size_t lay(struct ap_tlb *t, char **at, const struct ap_tlb_spec *spec, u64 *clock)
{
	size_t bytes =
		ap_tlb_init(t, at ? *at : NULL, spec->entries, spec->ways, spec->latency, clock);

	if (at)
		*at += bytes;
	return bytes;
}

static size_t lay_all(struct ap_mem *m, char **at, const struct ap_machine *x)
{
	const u32 walk[3] = { x->walk_pde, x->walk_pdpte, x->walk_pml4e };
	u64 *clock = m ? &m->clock : NULL;
	size_t bytes = 0;

	bytes += lay(m ? &m->tlb[0] : NULL, at, &x->dtlb, clock);
	bytes += lay(m ? &m->tlb[1] : NULL, at, &x->dtlb_store, clock);
	bytes += lay(m ? &m->tlb_2m : NULL, at, &x->dtlb_2m, clock);
	bytes += lay(m ? &m->itlb : NULL, at, &x->itlb, clock);
	bytes += lay(m ? &m->itlb_2m : NULL, at, &x->itlb_2m, clock);
	bytes += lay(m ? &m->stlb : NULL, at, &x->stlb, clock);
	bytes += lay(m ? &m->istlb : NULL, at, &x->istlb, clock);
	for (unsigned i = 0; i < 3; i++)
		bytes += lay(m ? &m->walk[i] : NULL, at,
			     &(struct ap_tlb_spec){ .entries = walk[i], .ways = walk[i] }, clock);
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
	m->page_stamp[0] = m->tlb[0].ways ? m->tlb[0].stamp : &m->no_stamp;
	m->page_stamp[1] = m->own_store_tlb ? m->tlb[1].stamp : m->page_stamp[0];
	m->code_page_stamp = m->itlb.ways ? m->itlb.stamp : &m->no_stamp;
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
	u64 old;

	for (level = leaf; level < 3; level++)
		if (m->walk[level].ways &&
		    ap_tlb_use(&m->walk[level], key_of(address >> (21 + 9 * level))))
			break;
	for (unsigned known = leaf; known < level; known++)
		if (m->walk[known].ways)
			ap_tlb_insert(&m->walk[known], key_of(address >> (21 + 9 * known)), &old);
	return level - leaf + 1;
}

/* What was translated: its entry in the first TLB, and what else was asked. */
struct found_page {
	unsigned result, steps;
	u32 entry; /* 0: not in one that quick lines are of */
	u64 old;   /* the page that had it before */
};

/* A page that the second TLB has met in what was passed over, and has still: its set has room. */
static __attribute__((noinline)) bool was_met(struct ap_mem *m, const struct ap_tlb *second,
					      u64 key, u64 address)
{
	return !(key & AP_TLB_HUGE) && ap_tlb_has_room(second, key) &&
	       !ap_met_note(m->met, ap_mem_outer(m, address & m->line_mask), true)->is_new;
}

static void look(struct ap_mem *m, struct ap_tlb *first, struct ap_tlb *second, u64 address,
		 bool huge, struct found_page *f)
{
	u64 key = huge ? key_of(address >> 21) | AP_TLB_HUGE : key_of(address >> 12), old;

	f->entry = 0;
	f->old = 0;
	if (!first->ways)
		return;
	f->entry = ap_tlb_use(first, key);
	if (ap_likely(f->entry))
		return;
	if (second->ways && !ap_tlb_use(second, key) && ap_unlikely(m->met) &&
	    was_met(m, second, key, address)) {
		ap_tlb_insert(second, key, &old);
		f->result |= AP_MEM_STLB;
	} else if (!second->ways || !ap_tlb_use(second, key)) {
		f->result |= AP_MEM_WALK;
		f->steps += walk(m, address, huge);
		if (second->ways)
			ap_tlb_insert(second, key, &old);
	} else {
		f->result |= AP_MEM_STLB;
	}
	f->entry = ap_tlb_insert(first, key, &f->old);
}

/* A page is no longer in a first TLB: its lines are not quick.  Its entry is another's now. */
static void forget_page(struct ap_mem *m, struct ap_tlb *tlb, const struct found_page *f,
			struct ap_quick *table, u32 n, unsigned t)
{
	u64 lines = tlb->lines[f->entry], page = f->old >> 1 << 12, size = m->machine.line;

	tlb->lines[f->entry] = 0;
	for (; lines; lines &= lines - 1) {
		u64 from = page | (u64)__builtin_ctzll(lines) << 6;

		for (u64 line = from; line < from + 64; line += size) {
			struct ap_quick *q = ap_quick_of(table, n, line, m->shift);

			if (!((q->key[t] ^ line) & m->line_mask))
				q->key[t] = AP_NOT_QUICK;
			if (!m->own_store_tlb && !((q->key[1] ^ line) & m->line_mask))
				q->key[1] = AP_NOT_QUICK;
		}
	}
}

static u32 look_data(struct ap_mem *m, u64 address, unsigned write, struct found_page *f)
{
	unsigned t = write & m->own_store_tlb;
	bool huge = m->huge_n && is_huge(m, address);
	struct ap_tlb *first = huge && m->tlb_2m.ways && !t ? &m->tlb_2m : &m->tlb[t];

	look(m, first, &m->stlb, address, huge, f);
	if (f->old)
		forget_page(m, first, f, m->quick, AP_QUICK, t);
	return huge ? AP_NO_PAGE : f->entry;
}

static u32 look_code(struct ap_mem *m, u64 address, struct found_page *f)
{
	bool huge = m->huge_n && is_huge(m, address);
	struct ap_tlb *first = huge && m->itlb_2m.ways ? &m->itlb_2m : &m->itlb;

	look(m, first, m->istlb.ways ? &m->istlb : &m->stlb, address, huge, f);
	if (f->old)
		forget_page(m, first, f, m->code_quick, AP_QUICK_CODE, 0);
	return huge ? AP_NO_PAGE : f->entry;
}

static unsigned count_data(struct ap_mem *m, const struct found_page *f, unsigned write)
{
	m->count[AP_MODEL_DTLB_LOAD_MISS + write]++;
	if (!(f->result & AP_MEM_WALK)) {
		m->count[AP_MODEL_DTLB_LOAD_STLB_HIT + write]++;
		return AP_MEM_STLB;
	}
	m->count[AP_MODEL_DTLB_LOAD_WALK + write]++;
	m->count[AP_MODEL_DTLB_LOAD_WALK_STEP + write] += f->steps;
	return AP_MEM_WALK;
}

unsigned ap_mem_translate(struct ap_mem *m, u64 address, unsigned size, unsigned write,
			  unsigned *steps, u32 *entry)
{
	u64 last = address + size - 1;
	struct found_page f = { 0 };

	*entry = look_data(m, address, write, &f);
	for (u64 page = (address >> 12) + 1; page <= last >> 12; page++)
		look_data(m, page << 12, write, &f);
	if (ap_likely(!f.result))
		return 0;
	*steps = f.steps;
	return count_data(m, &f, write);
}

unsigned ap_mem_translate_code(struct ap_mem *m, u64 address, unsigned size, unsigned *steps,
			       u32 *entry)
{
	u64 last = address + size - 1;
	struct found_page f = { 0 };

	*entry = look_code(m, address, &f);
	if (!ap_same_page(address, last))
		look_code(m, last, &f);
	if (ap_likely(!f.result))
		return 0;
	*steps = f.steps;
	m->count[AP_MODEL_ITLB_MISS]++;
	if (!(f.result & AP_MEM_WALK)) {
		m->count[AP_MODEL_ITLB_STLB_HIT]++;
		return AP_MEM_STLB;
	}
	m->count[AP_MODEL_ITLB_WALK]++;
	m->count[AP_MODEL_ITLB_WALK_STEP] += f.steps;
	return AP_MEM_WALK;
}

void ap_mem_huge(struct ap_mem *m, const struct ap_huge *ranges, unsigned n)
{
	m->huge = ranges;
	m->huge_n = n;
	ap_quick_forget_all(m);
}
