/* SPDX-License-Identifier: MIT */
/*
 * References and L1: what the inline part of mem.h could not answer.  A reference is translated,
 * then each of its lines looked up; what it met at worst is counted once.
 */
#include "base/mem.h"
#include "model/internal.h"
#include "model/quick.h"
#include "model/shared.h"
#include "model/tlb.h"

size_t ap_mem_bytes(const struct ap_machine *machine)
{
	u32 line = machine->line;
	u64 any;

	return AP_ALIGN_UP(sizeof(struct ap_mem), 64) +
	       ap_cache_init(NULL, NULL, &machine->l1d, line, &any) +
	       ap_cache_init(NULL, NULL, &machine->l1i, line, &any) +
	       ap_cache_init(NULL, NULL, &machine->l2, line, NULL) +
	       (AP_QUICK + AP_QUICK_CODE) * sizeof(struct ap_quick) + ap_mem_tlb_bytes(machine);
}

static void lay_caches(struct ap_mem *m, char **at)
{
	const struct ap_machine *x = &m->machine;

	*at += ap_cache_init(&m->l1d, *at, &x->l1d, x->line, &m->clock);
	*at += ap_cache_init(&m->l1i, *at, &x->l1i, x->line, &m->clock);
	*at += ap_cache_init(&m->l2, *at, &x->l2, x->line, NULL);
	m->quick = (struct ap_quick *)*at;
	*at += AP_QUICK * sizeof(m->quick[0]);
	m->code_quick = (struct ap_quick *)*at;
	*at += AP_QUICK_CODE * sizeof(m->code_quick[0]);
	ap_cache_init(&m->llc, (char *)m->shared + m->shared->llc_offset, &x->llc, x->line, NULL);
	ap_quick_forget_all(m);
}

struct ap_mem *ap_mem_init(void *memory, const struct ap_machine *machine, struct ap_shared *shared,
			   u64 *count, u64 space)
{
	struct ap_mem *m = memory;
	char *at = (char *)memory + AP_ALIGN_UP(sizeof(*m), 64);

	m->machine = *machine;
	m->shared = shared;
	m->count = count;
	m->line_mask = ~(u64)(machine->line - 1);
	m->space = space & m->line_mask;
	lay_caches(m, &at);
	ap_mem_tlb_init(m, &at);
	m->shift = m->l1d.shift;
	m->stamp = m->l1d.clock ? m->l1d.stamp : &m->no_stamp;
	m->code_stamp = m->l1i.clock ? m->l1i.stamp : &m->no_stamp;
	memcpy(m->cycles,
	       (u32[8]){ 0, machine->l1d.latency, machine->l2.latency, machine->llc.latency,
			 machine->snoop, machine->memory, machine->remote, 0 },
	       sizeof(m->cycles));
	m->hit = AP_MEM_L1 | machine->l1d.latency << 12;
	m->code_hit = AP_MEM_L1 | machine->l1i.latency << 12;
	m->core = ap_shared_join(shared, 0);
	m->common.core = AP_NO_CORE;
	m->is_alone = m->l2.ways && m->l2.inclusion != AP_EXCLUSIVE;
	m->is_straight = m->is_alone && ap_mem_may_go_straight(m);
	m->node = machine->nodes > 1 ? m->core % machine->nodes : 0;
	return m;
}

/* --- lines that come */

/* Puts a line in, gives what leaves; set has the way then.  What must leave the table is told. */
static inline u64 insert(struct ap_mem *m, struct ap_cache *c, u32 set, u64 key, int *way,
			 void (*forget)(struct ap_mem *m, u64 line))
{
	u64 *tag = ap_cache_tags(c, set), victim;

	if (c->policy == AP_POLICY_RRIP) /* all of the set may age */
		for (unsigned i = 0; i < c->ways; i++)
			forget(m, tag[i] & m->line_mask);
	*way = (int)ap_cache_victim(c, set);
	victim = tag[*way];
	ap_cache_put(c, set, (unsigned)*way, key);
	if (victim)
		forget(m, victim & m->line_mask);
	return victim;
}

/* --- L1D */

static void l1d_prefetch(struct ap_mem *m, u64 line)
{
	struct ap_cache *c = &m->l1d;
	u32 set = ap_cache_set(c, line);
	u64 state, victim;
	int way;

	m->count[AP_MODEL_L1D_PREFETCH]++;
	if (ap_cache_find(c, set, line) >= 0)
		return;
	m->count[AP_MODEL_L1D_PREFETCH_MISS]++;
	m->count[AP_MODEL_L1D_FILL]++;
	ap_mem_below(m, line, AP_MEM_AHEAD, &state);
	victim = insert(m, c, set, line | AP_LINE_VALID | AP_LINE_AHEAD | state, &way,
			ap_quick_forget);
	if (victim & AP_LINE_DIRTY)
		m->count[AP_MODEL_L1D_WRITEBACK]++;
	if (victim)
		ap_mem_evicted(m, victim);
}

void ap_mem_train(struct ap_mem *m, u64 line, u64 pc)
{
	struct ap_cache *c = &m->l1d;
	u64 size = 1ULL << c->shift;
	s64 stride;

	if (c->prefetch & AP_PREFETCH_NEXT && ap_same_page(line, line + size))
		l1d_prefetch(m, line + size);
	if (!(c->prefetch & AP_PREFETCH_STRIDE))
		return;
	stride = ap_stride_train(m->stride, pc, line >> c->shift);
	for (unsigned n = 1; stride && n <= c->degree; n++) {
		u64 ahead = line + (u64)stride * n * size;

		if (!ap_same_page(line, ahead))
			break;
		l1d_prefetch(m, ahead);
	}
}

/* A store to a line that may be modified: DIRTY, or through. */
static void l1d_write(struct ap_mem *m, u64 line, u64 *tag)
{
	if (m->l1d.write_through) {
		ap_mem_write_below(m, line);
	} else if (!(*tag & AP_LINE_DIRTY)) {
		*tag |= AP_LINE_DIRTY;
		ap_mem_modified(m, line);
	}
}

static unsigned l1d_hit(struct ap_mem *m, u64 line, u32 set, int way, unsigned flags, u64 pc)
{
	struct ap_cache *c = &m->l1d;
	u64 *tag = ap_cache_use(c, set, way);
	unsigned result = AP_MEM_L1;

	if (*tag & AP_LINE_AHEAD) {
		*tag &= ~(u64)AP_LINE_AHEAD;
		m->count[AP_MODEL_L1D_PREFETCH_USED]++;
		result |= AP_MEM_AHEAD_HIT;
	}
	if (flags && !(*tag & AP_LINE_OWN)) {
		result |= ap_mem_upgrade(m, line);
		*tag |= AP_LINE_OWN;
	}
	if (flags & AP_MEM_WRITE) {
		l1d_write(m, line, tag);
		ap_mem_train_below(m);
	}
	if (result & AP_MEM_AHEAD_HIT)
		ap_mem_train(m, line, pc);
	return result;
}

static int l1d_fill(struct ap_mem *m, u64 line, u32 set, u64 state, unsigned flags)
{
	struct ap_cache *c = &m->l1d;
	int way;
	u64 key = line | AP_LINE_VALID | state, victim;

	if (flags & AP_MEM_WRITE && !c->write_through)
		key |= AP_LINE_DIRTY;
	m->count[AP_MODEL_L1D_FILL]++;
	victim = insert(m, c, set, key, &way, ap_quick_forget);
	if (victim & AP_LINE_DIRTY)
		m->count[AP_MODEL_L1D_WRITEBACK]++;
	if (victim)
		ap_mem_evicted(m, victim);
	if (flags & AP_MEM_WRITE && c->write_through)
		ap_mem_write_below(m, line);
	return way;
}

/* flags: WRITE and ATOMIC only; *way: where it is in its set, or -1, and then where it went */
static unsigned data_line(struct ap_mem *m, u64 line, u32 set, int *way, unsigned flags, u64 pc)
{
	unsigned result;
	u64 state;

	if (*way >= 0)
		return l1d_hit(m, line, set, *way, flags, pc);
	if (flags & AP_MEM_WRITE && m->l1d.no_allocate) {
		result = ap_mem_write_below(m, line);
		ap_mem_train_below(m);
		return result;
	}
	result = ap_mem_below(m, line, flags ? AP_MEM_STORE : AP_MEM_LOAD, &state);
	*way = l1d_fill(m, line, set, state, flags);
	ap_mem_train_below(m);
	ap_mem_train(m, line, pc);
	return result;
}

/* cachegrind's way: L1 first, for all lines; if one missed, all of them go below. */
static unsigned data_whole(struct ap_mem *m, u64 first, u64 last, unsigned flags, u64 pc)
{
	struct ap_cache *c = &m->l1d;
	unsigned result = AP_MEM_L1;
	bool missed = false;
	u64 state;

	for (u64 line = first; line <= last; line += m->machine.line) {
		u32 set = ap_cache_set(c, line);
		int way = ap_cache_find(c, set, line);

		if (way >= 0) {
			l1d_hit(m, line, set, way, flags, pc);
			continue;
		}
		missed = true;
		l1d_fill(m, line, set, AP_LINE_OWN, flags);
	}
	for (u64 line = first; missed && line <= last; line += m->machine.line)
		result = ap_mem_worse(
			result, ap_mem_below(m, line, flags ? AP_MEM_STORE : AP_MEM_LOAD, &state));
	return result;
}

/* --- L1I */

/* The way that has the line, which is used, or -1. */
static int code_hit(struct ap_mem *m, u64 line)
{
	struct ap_cache *c = &m->l1i;
	u32 set = ap_cache_set(c, line);
	int way = ap_cache_find(c, set, line);

	if (way >= 0)
		ap_cache_use(c, set, (unsigned)way);
	return way;
}

static int code_fill(struct ap_mem *m, u64 line, u64 state)
{
	struct ap_cache *c = &m->l1i;
	u32 set = ap_cache_set(c, line);
	u64 key = line | AP_LINE_VALID | (state & AP_LINE_OWN), victim;
	int way;

	victim = insert(m, c, set, key, &way, ap_quick_forget_code);
	if (victim)
		ap_mem_evicted(m, victim);
	return way;
}

static unsigned code_below(struct ap_mem *m, u64 line, enum ap_mem_kind kind, u64 *state)
{
	unsigned result = ap_mem_below(m, line, kind, state);

	/* code is not modified where it is fetched from: what was is not lost */
	if (*state & AP_LINE_DIRTY)
		ap_mem_evicted(m, line | AP_LINE_VALID | AP_LINE_DIRTY | AP_LINE_OWN);
	return result;
}

static unsigned code_line(struct ap_mem *m, u64 line, int *way)
{
	u64 next = line + m->machine.line, state;
	unsigned result;

	*way = code_hit(m, line);
	if (*way >= 0)
		return AP_MEM_L1;
	result = code_below(m, line, AP_MEM_CODE, &state);
	*way = code_fill(m, line, state);
	ap_mem_train_below(m);
	if (m->l1i.prefetch & AP_PREFETCH_NEXT && ap_same_page(line, next) &&
	    ap_cache_find(&m->l1i, ap_cache_set(&m->l1i, next), next) < 0) {
		code_below(m, next, AP_MEM_AHEAD, &state);
		code_fill(m, next, state);
	}
	return result;
}

static unsigned code_whole(struct ap_mem *m, u64 first, u64 last)
{
	unsigned result = AP_MEM_L1;
	bool missed = false;
	u64 state;

	for (u64 line = first; line <= last; line += m->machine.line) {
		if (code_hit(m, line) >= 0)
			continue;
		missed = true;
		code_fill(m, line, AP_LINE_OWN);
	}
	for (u64 line = first; missed && line <= last; line += m->machine.line)
		result = ap_mem_worse(result, code_below(m, line, AP_MEM_CODE, &state));
	return result;
}

/* --- references */

static inline unsigned cycles_of(const struct ap_mem *m, unsigned result, unsigned stlb,
				 unsigned steps)
{
	const struct ap_machine *x = &m->machine;
	u32 cycles = m->cycles[AP_MEM_LEVEL(result)];

	if (!(result & (AP_MEM_STLB | AP_MEM_WALK | AP_MEM_SPLIT)))
		return cycles;
	cycles += steps * x->walk_step;
	if (result & AP_MEM_STLB)
		cycles += stlb;
	if (result & AP_MEM_PAGES)
		cycles += x->pipe.page_split;
	else if (result & AP_MEM_SPLIT)
		cycles += x->pipe.split;
	return cycles;
}

static inline void poll(struct ap_mem *m)
{
	if (ap_unlikely(ap_mem_is_asked(&(struct ap_common){ m->shared, m->core, m->tracked }) ||
			(m->common.shared && ap_mem_is_asked(&m->common))))
		ap_mem_poll(m);
}

/* Loads that L1D does not have, by the level that answered. */
static void count_answer(struct ap_mem *m, unsigned level, u64 n)
{
	u64 *count = m->count;

	if (level == AP_MEM_L2) {
		count[AP_MODEL_LOAD_L2_HIT] += n;
		return;
	}
	if (m->l2.ways)
		count[AP_MODEL_LOAD_L2_MISS] += n;
	count[level <= AP_MEM_SNOOP ? AP_MODEL_LOAD_LLC_HIT : AP_MODEL_LOAD_LLC_MISS] += n;
}

void ap_mem_count_no_answer(struct ap_mem *m, unsigned result)
{
	count_answer(m, AP_MEM_LEVEL(result), -1ULL);
}

static void count_data(struct ap_mem *m, unsigned result, unsigned write)
{
	unsigned level = AP_MEM_LEVEL(result);
	u64 *count = m->count;

	count[AP_MODEL_L1D_LOAD + write]++;
	if (result & AP_MEM_SPLIT)
		count[AP_MODEL_SPLIT_LOAD + write]++;
	if (result & AP_MEM_PAGES)
		count[AP_MODEL_PAGE_SPLIT_LOAD + write]++;
	if (level == AP_MEM_L1)
		return;
	count[AP_MODEL_L1D_LOAD_MISS + write]++;
	if (write) {
		count[AP_MODEL_STORE_LLC_MISS] += level >= AP_MEM_NODE;
		return;
	}
	if (result & AP_MEM_HITM)
		count[AP_MODEL_HITM_LOAD]++;
	count_answer(m, level, 1);
}

/* A reference over several lines, or no reference. */
static unsigned data_full(struct ap_mem *m, u64 address, unsigned size, unsigned flags, u64 pc)
{
	u64 first = address & m->line_mask, last = (address + size - 1) & m->line_mask;
	unsigned write = flags & AP_MEM_WRITE, result, steps = 0;
	struct ap_cache *c = &m->l1d;
	u32 entry;

	if (flags & AP_MEM_PREFETCH) {
		l1d_prefetch(m, first);
		return AP_MEM_L1;
	}
	result = AP_MEM_L1 | ap_mem_translate(m, address, size, write, &steps, &entry);
	result |= AP_MEM_SPLIT | (ap_same_page(first, last) ? 0 : AP_MEM_PAGES);
	if (m->machine.whole_split)
		result = ap_mem_worse(result, data_whole(m, first, last, flags, pc));
	else
		for (u64 line = first; line <= last; line += m->machine.line) {
			u32 set = ap_cache_set(c, line);
			int way = ap_cache_find(c, set, line);

			result = ap_mem_worse(result, data_line(m, line, set, &way, flags, pc));
		}
	count_data(m, result, write);
	return result | cycles_of(m, result, m->stlb.latency, steps) << 12;
}

unsigned ap_mem_data_at(struct ap_mem *m, u64 line, u32 set, int way, u32 entry, unsigned write,
			u64 pc)
{
	unsigned result = data_line(m, line, set, &way, write, pc);

	ap_quick_make(m, line, set, way, entry, write);
	count_data(m, result, write);
	return result | cycles_of(m, result, 0, 0) << 12;
}

/* A 4 KB page is in the first TLB, which uses it. */
static bool known_page(struct ap_mem *m, u64 page, unsigned t, u32 *entry)
{
	*entry = 0;
	if (!m->tlb[t].ways)
		return true;
	if (!m->huge_n)
		*entry = ap_tlb_use(&m->tlb[t], page << 1 | 1);
	return *entry;
}

unsigned ap_mem_data_any(struct ap_mem *m, u64 address, unsigned size, unsigned flags, u64 pc)
{
	struct ap_cache *c = &m->l1d;
	unsigned write = flags & AP_MEM_WRITE, result = AP_MEM_L1, steps = 0;
	u64 line = address & m->line_mask;
	u32 set = address >> c->shift & c->set_mask, entry;
	int way;

	poll(m);
	if (flags & AP_MEM_PREFETCH || (address ^ (address + size - 1)) & m->line_mask)
		return data_full(m, address, size, flags, pc);
	if (!known_page(m, address >> 12, write & m->own_store_tlb, &entry))
		result |= ap_mem_translate(m, address, 1, write, &steps, &entry);
	way = ap_cache_find(c, set, line);
	if (result == AP_MEM_L1 && way >= 0 && !(flags & AP_MEM_ATOMIC) &&
	    ap_quick_is_hit(ap_cache_tags(c, set)[way], write)) {
		ap_cache_use(c, set, (unsigned)way);
		ap_quick_make(m, line, set, way, entry, write);
		m->count[AP_MODEL_L1D_LOAD + write]++;
		return m->hit;
	}
	result = ap_mem_worse(result, data_line(m, line, set, &way, flags, pc));
	ap_quick_make(m, line, set, way, entry, write);
	count_data(m, result, write);
	return result | cycles_of(m, result, m->stlb.latency, steps) << 12;
}

unsigned ap_mem_fetch_any(struct ap_mem *m, u64 address, unsigned size)
{
	u64 first = address & m->line_mask, last = (address + size - 1) & m->line_mask;
	const struct ap_tlb *second = m->istlb.ways ? &m->istlb : &m->stlb;
	unsigned result, steps = 0;
	u32 entry;
	int way = 0;

	poll(m);
	result = AP_MEM_L1 | ap_mem_translate_code(m, address, size, &steps, &entry);
	if (first != last && m->machine.whole_split)
		result = ap_mem_worse(result, code_whole(m, first, last));
	else
		for (u64 line = first; line <= last; line += m->machine.line)
			result = ap_mem_worse(result, code_line(m, line, &way));
	if (first == last)
		ap_quick_make_code(m, first, (unsigned)way, entry);
	m->count[AP_MODEL_L1I_LOAD]++;
	m->count[AP_MODEL_L1I_LOAD_MISS] += AP_MEM_LEVEL(result) > AP_MEM_L1;
	m->count[AP_MODEL_CODE_LLC_MISS] += AP_MEM_LEVEL(result) >= AP_MEM_NODE;
	if (AP_MEM_LEVEL(result) == AP_MEM_L1)
		steps = steps * m->machine.walk_step +
			(result & AP_MEM_STLB ? second->latency : 0) + m->l1i.latency;
	else
		steps = cycles_of(m, result, second->latency, steps);
	return result | steps << 12;
}
