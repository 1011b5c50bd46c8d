/* SPDX-License-Identifier: MIT */
/*
 * What most references are that are not quick, in one piece: their page is in the first TLB, and L1
 * or else L2 has the line, of a thread that is alone.  What is done is what mem.c and levels.c do,
 * which say what counts; here all is looked for first, and where it is not there nothing has
 * happened and they do it all.
 */
#include "model/quick.h"
#include "model/shared.h"
#include "model/tlb.h"

#define ALWAYS inline __attribute__((always_inline))

static bool is_plain(const struct ap_cache *c)
{
	return c->parts && c->clock && c->slices == 1 && !c->no_allocate && !c->write_through;
}

bool ap_mem_may_go_straight(const struct ap_mem *m)
{
	return is_plain(&m->l1d) && is_plain(&m->l1i) && !m->l1i.prefetch && m->l2.parts &&
	       m->tlb[0].ways && m->itlb.ways;
}

/* Where a line is: in L1, or in L2, which has given it before. */
struct line_place {
	u32 set, set_below;
	int way, way_below;
};

static ALWAYS bool find(struct ap_mem *m, struct ap_cache *c, u64 line, struct line_place *p)
{
	u64 like = ap_cache_part(line) * AP_PART_ONES;

	p->set = line >> c->shift & c->set_mask;
	p->way = ap_cache_find_part(c, p->set, line, like);
	if (p->way >= 0)
		return true;
	p->set_below = ap_cache_set(&m->l2, line);
	p->way_below = ap_cache_find_part(&m->l2, p->set_below, line, like);
	return p->way_below >= 0 &&
	       !(ap_cache_tags(&m->l2, p->set_below)[p->way_below] & AP_LINE_AHEAD);
}

/* From L2 into L1; gives what leaves. */
static ALWAYS u64 bring(struct ap_mem *m, struct ap_cache *c, u64 line, u64 dirty,
			struct line_place *p)
{
	u64 *stamp = ap_cache_stamps(c, p->set), *tag = ap_cache_tags(c, p->set), old;
	const u64 *part = ap_cache_parts(c, p->set);
	unsigned way;

	ap_cache_use(&m->l2, p->set_below, (unsigned)p->way_below);
	if (c->policy == AP_POLICY_LRU && c->ways == 8 &&
	    (*part & AP_PART_ONES << 7) == AP_PART_ONES << 7)
		way = ap_cache_oldest_of_8(stamp);
	else
		way = ap_cache_victim(c, p->set);
	old = tag[way];
	tag[way] = line | AP_LINE_VALID | AP_LINE_OWN | dirty;
	ap_cache_note_part(c, p->set, way, ap_cache_part(line));
	stamp[way] = ++m->clock;
	p->way = (int)way;
	return old;
}

static ALWAYS void use(struct ap_mem *m, struct ap_cache *c, const struct line_place *p)
{
	ap_cache_stamps(c, p->set)[p->way] = ++m->clock;
}

static ALWAYS unsigned from_below(struct ap_mem *m, u64 line, unsigned write, u64 pc,
				  struct line_place *p)
{
	u64 *count = m->count, old;

	count[AP_MODEL_L1D_LOAD_MISS + write]++;
	count[AP_MODEL_LOAD_L2_HIT] += !write;
	count[AP_MODEL_L2_LOAD + write]++;
	count[AP_MODEL_L1D_FILL]++;
	old = bring(m, &m->l1d, line, write * AP_LINE_DIRTY, p);
	ap_quick_forget(m, old & m->line_mask);
	if (ap_unlikely(old & AP_LINE_DIRTY)) {
		count[AP_MODEL_L1D_WRITEBACK]++;
		ap_mem_evicted(m, old);
	}
	if (m->l1d.prefetch)
		ap_mem_train(m, line, pc);
	return AP_MEM_L2 | m->cycles[AP_MEM_L2] << 12;
}

/* 0: nothing has happened */
static ALWAYS unsigned data(struct ap_mem *m, u64 address, unsigned write, u64 pc)
{
	u64 line = address & m->line_mask;
	struct ap_tlb *t = &m->tlb[write & m->own_store_tlb];
	u32 entry = ap_tlb_find(t, address >> 12 << 1 | 1);
	unsigned result = m->hit;
	struct line_place p = { .way = -1 };
	bool is_found;

	if (!entry || m->huge_n)
		return 0;
	is_found = find(m, &m->l1d, line, &p);
	t->stamp[entry] = ++m->clock;
	if (!is_found ||
	    (p.way >= 0 && !ap_quick_is_hit(ap_cache_tags(&m->l1d, p.set)[p.way], write)))
		return ap_mem_data_at(m, line, p.set, p.way, entry, write, pc);
	m->count[AP_MODEL_L1D_LOAD + write]++;
	if (p.way >= 0)
		use(m, &m->l1d, &p);
	else
		result = from_below(m, line, write, pc, &p);
	ap_quick_make(m, line, p.set, p.way, entry, write);
	return result;
}

static ALWAYS unsigned code_from_below(struct ap_mem *m, u64 line, struct line_place *p)
{
	u64 old;

	m->count[AP_MODEL_L1I_LOAD_MISS]++;
	m->count[AP_MODEL_L2_CODE]++;
	old = bring(m, &m->l1i, line, 0, p);
	ap_quick_forget_code(m, old & m->line_mask);
	return AP_MEM_L2 | m->cycles[AP_MEM_L2] << 12;
}

static ALWAYS unsigned fetch(struct ap_mem *m, u64 address)
{
	u32 entry = ap_tlb_find(&m->itlb, address >> 12 << 1 | 1);
	u64 line = address & m->line_mask;
	unsigned result = m->code_hit;
	struct line_place p = { .way = -1 };

	if (!entry || m->huge_n || !find(m, &m->l1i, line, &p))
		return 0;
	m->itlb.stamp[entry] = ++m->clock;
	m->count[AP_MODEL_L1I_LOAD]++;
	if (p.way >= 0)
		use(m, &m->l1i, &p);
	else
		result = code_from_below(m, line, &p);
	ap_quick_make_code(m, line, (unsigned)p.way, entry);
	return result;
}

static inline bool goes_straight(const struct ap_mem *m, u64 address, unsigned size)
{
	return m->is_straight && !ap_shared_many(m->shared) &&
	       ap_likely(!m->common.shared || !ap_shared_many(m->common.shared)) &&
	       !((address ^ (address + size - 1)) & m->line_mask);
}

unsigned ap_mem_data_slow(struct ap_mem *m, u64 address, unsigned size, unsigned flags, u64 pc)
{
	unsigned result = 0;

	if (ap_likely(goes_straight(m, address, size) && !(flags & ~AP_MEM_WRITE)))
		result = data(m, address, flags, pc);
	return ap_likely(result) ? result : ap_mem_data_any(m, address, size, flags, pc);
}

unsigned ap_mem_fetch_slow(struct ap_mem *m, u64 address, unsigned size)
{
	unsigned result = 0;

	if (ap_likely(goes_straight(m, address, size)))
		result = fetch(m, address);
	return ap_likely(result) ? result : ap_mem_fetch_any(m, address, size);
}
