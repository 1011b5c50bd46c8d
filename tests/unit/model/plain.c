/* SPDX-License-Identifier: MIT */
/* See plain.h. */
#include <stdlib.h>
#include <string.h>

#include "plain.h"

/* --- one cache */

static void cache_init(struct plain_cache *c, const struct ap_cache_spec *spec, uint32_t line)
{
	c->spec = *spec;
	c->sets = spec->size ? spec->size / spec->ways / line : 0;
	c->lines = calloc(c->sets * spec->ways + 1, sizeof(*c->lines));
	c->right = calloc(c->sets + 1, sizeof(*c->right));
	c->random = calloc(c->sets + 1, sizeof(*c->random));
}

static void cache_fini(struct plain_cache *c)
{
	free(c->lines);
	free(c->right);
	free(c->random);
}

/* The documented hash chooses the slice, the low bits of the line the set in it. */
static int set_of(const struct plain_cache *c, uint64_t number)
{
	int slices = c->spec.slices ? (int)c->spec.slices : 1, sets = c->sets / slices;
	uint64_t x = number;

	if (slices == 1)
		return number % sets;
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15;
	x ^= x >> 29;
	return (int)((x >> 32) * slices >> 32) * sets + number % sets;
}

static struct plain_line *find(struct plain_cache *c, uint64_t number)
{
	for (int i = 0; i < c->sets * (int)c->spec.ways; i++)
		if (c->lines[i].valid && c->lines[i].number == number)
			return &c->lines[i];
	return NULL;
}

static void tree_use(bool *right, int node, int first, int n, int way)
{
	bool in_right = way >= first + n / 2;

	if (n == 1)
		return;
	right[node] = !in_right;
	tree_use(right, 2 * node + in_right, in_right ? first + n / 2 : first, n / 2, way);
}

static int tree_victim(const bool *right, int node, int first, int n)
{
	if (n == 1)
		return first;
	return tree_victim(right, 2 * node + right[node], right[node] ? first + n / 2 : first,
			   n / 2);
}

static void use(struct plain *p, struct plain_cache *c, struct plain_line *l)
{
	int index = l - c->lines, ways = c->spec.ways;

	l->used = ++p->time;
	l->age = 0;
	if (c->spec.policy == AP_POLICY_PLRU)
		tree_use(c->right[index / ways], 1, 0, ways, index % ways);
}

static struct plain_line *oldest_rrip(struct plain_line *set, int ways)
{
	for (;;) {
		for (int i = 0; i < ways; i++)
			if (set[i].age == 3)
				return &set[i];
		for (int i = 0; i < ways; i++)
			set[i].age++;
	}
}

static struct plain_line *victim(struct plain_cache *c, int s)
{
	int ways = c->spec.ways, oldest = 0;
	struct plain_line *set = c->lines + s * ways;
	uint64_t *x = &c->random[s];

	for (int i = 0; i < ways; i++)
		if (!set[i].valid)
			return &set[i];
	switch (c->spec.policy) {
	case AP_POLICY_PLRU:
		return &set[tree_victim(c->right[s], 1, 0, ways)];
	case AP_POLICY_RRIP:
		return oldest_rrip(set, ways);
	case AP_POLICY_RANDOM:
		if (!*x)
			*x = (s + 1) * 0x9e3779b97f4a7c15;
		*x ^= *x << 13;
		*x ^= *x >> 7;
		*x ^= *x << 17;
		return &set[(*x >> 32) * ways >> 32];
	}
	for (int i = 0; i < ways; i++)
		if (set[i].used < set[oldest].used)
			oldest = i;
	return &set[oldest];
}

/* Fills; what was there comes back in old. */
static struct plain_line *put(struct plain *p, struct plain_cache *c, uint64_t number, bool dirty,
			      bool ahead, struct plain_line *old)
{
	struct plain_line *l = victim(c, set_of(c, number));

	*old = *l;
	*l = (struct plain_line){ .valid = true, .number = number, .dirty = dirty, .ahead = ahead };
	use(p, c, l);
	l->age = 2;
	return l;
}

static bool drop(struct plain_cache *c, uint64_t number)
{
	struct plain_line *l = find(c, number);
	bool dirty = l && l->dirty;

	if (l)
		l->valid = false;
	return dirty;
}

/* --- levels */

static void llc_evicted(struct plain *p, const struct plain_line *old)
{
	bool dirty = old->dirty;

	if (!old->valid)
		return;
	if (p->llc.spec.inclusion == AP_INCLUSIVE) {
		dirty |= drop(&p->l1d, old->number);
		dirty |= drop(&p->l1i, old->number);
		dirty |= drop(&p->l2, old->number);
	}
	p->count[AP_MODEL_LLC_WRITEBACK] += dirty;
}

static void llc_put(struct plain *p, uint64_t number, bool dirty)
{
	struct plain_line *l = find(&p->llc, number), old;

	if (l) {
		l->dirty |= dirty;
	} else if (p->llc.spec.no_allocate && p->llc.spec.inclusion != AP_EXCLUSIVE) {
		p->count[AP_MODEL_LLC_WRITEBACK] += dirty;
	} else {
		put(p, &p->llc, number, dirty, false, &old);
		llc_evicted(p, &old);
	}
}

static unsigned ask_memory(struct plain *p, int kind)
{
	p->count[AP_MODEL_NODE_LOAD + kind]++;
	return AP_MEM_NODE;
}

static unsigned ask_llc(struct plain *p, uint64_t number, int kind, bool *dirty)
{
	struct plain_line *l = find(&p->llc, number), old;
	bool exclusive = p->llc.spec.inclusion == AP_EXCLUSIVE;

	*dirty = false;
	p->count[AP_MODEL_LLC_LOAD + kind]++;
	if (l && exclusive) {
		*dirty = l->dirty;
		l->valid = false;
		return AP_MEM_LLC;
	}
	if (l) {
		use(p, &p->llc, l);
		return AP_MEM_LLC;
	}
	p->count[AP_MODEL_LLC_LOAD_MISS + kind]++;
	if (!exclusive) {
		put(p, &p->llc, number, false, false, &old);
		llc_evicted(p, &old);
	}
	return ask_memory(p, kind);
}

static void l2_put(struct plain *p, uint64_t number, bool dirty, bool ahead)
{
	struct plain_line old;

	put(p, &p->l2, number, dirty, ahead, &old);
	p->count[AP_MODEL_L2_FILL]++;
	if (!old.valid)
		return;
	if (p->l2.spec.inclusion == AP_INCLUSIVE) {
		old.dirty |= drop(&p->l1d, old.number);
		drop(&p->l1i, old.number);
	}
	if (old.dirty) {
		p->count[AP_MODEL_L2_WRITEBACK]++;
		llc_put(p, old.number, true);
	} else if (p->llc.spec.inclusion == AP_EXCLUSIVE) {
		llc_put(p, old.number, false);
	}
}

/* How far ahead: lines, 0 for not. */
static int64_t follow(struct plain_stride *table, uint64_t key, uint64_t number)
{
	struct plain_stride *s = &table[(key ^ key >> 6) % 64];
	int64_t stride = number - s->line;

	if (s->key != key) {
		*s = (struct plain_stride){ key, number, 0, 0 };
		return 0;
	}
	if (stride == 0)
		return 0;
	s->line = number;
	s->seen = stride == s->stride ? s->seen + 1 : 0;
	s->stride = stride;
	return s->seen >= 2 ? stride : 0;
}

static bool one_page(const struct plain *p, uint64_t a, uint64_t b)
{
	return a * p->machine.line / 4096 == b * p->machine.line / 4096;
}

static void l2_ahead(struct plain *p, uint64_t number)
{
	bool dirty;

	p->count[AP_MODEL_L2_PREFETCH]++;
	if (find(&p->l2, number))
		return;
	p->count[AP_MODEL_L2_PREFETCH_MISS]++;
	ask_llc(p, number, AP_MEM_AHEAD, &dirty);
	l2_put(p, number, dirty, true);
}

static void l2_learn(struct plain *p, uint64_t number)
{
	const struct ap_cache_spec *spec = &p->l2.spec;
	int64_t stride;

	if ((spec->prefetch & AP_PREFETCH_NEXT) && one_page(p, number, number + 1))
		l2_ahead(p, number + 1);
	if (!(spec->prefetch & AP_PREFETCH_STRIDE))
		return;
	stride = follow(p->stream, number * p->machine.line / 4096, number);
	for (int n = 1; stride && n <= (int)(spec->degree ? spec->degree : 1); n++) {
		if (!one_page(p, number, number + stride * n))
			return;
		l2_ahead(p, number + stride * n);
	}
}

/* *learn: L2's prefetchers are to learn of it later. */
static unsigned ask_l2(struct plain *p, uint64_t number, int kind, bool *dirty, bool *learn)
{
	struct plain_line *l = find(&p->l2, number);
	bool exclusive = p->l2.spec.inclusion == AP_EXCLUSIVE;
	unsigned result;

	if (!p->l2.sets)
		return ask_llc(p, number, kind, dirty);
	p->count[AP_MODEL_L2_LOAD + kind]++;
	if (l) {
		use(p, &p->l2, l);
		if (l->ahead && kind != AP_MEM_AHEAD) {
			l->ahead = false;
			*learn = true;
		}
		*dirty = exclusive && l->dirty;
		if (exclusive)
			l->valid = false;
		return AP_MEM_L2;
	}
	p->count[AP_MODEL_L2_LOAD_MISS + kind]++;
	result = ask_llc(p, number, kind, dirty);
	if (!exclusive) {
		l2_put(p, number, *dirty, false);
		*dirty = false;
	}
	if (kind != AP_MEM_AHEAD)
		*learn = true;
	return result;
}

static unsigned write_llc(struct plain *p, uint64_t number)
{
	unsigned result;
	bool dirty;

	if (p->llc.spec.no_allocate && !find(&p->llc, number)) {
		p->count[AP_MODEL_LLC_STORE]++;
		p->count[AP_MODEL_LLC_STORE_MISS]++;
		return ask_memory(p, AP_MEM_STORE);
	}
	result = ask_llc(p, number, AP_MEM_STORE, &dirty);
	llc_put(p, number, true);
	return result;
}

static unsigned write_l2(struct plain *p, uint64_t number, bool *learn)
{
	unsigned result;
	bool dirty;

	if (!p->l2.sets)
		return write_llc(p, number);
	if (p->l2.spec.no_allocate && !find(&p->l2, number)) {
		p->count[AP_MODEL_L2_STORE]++;
		p->count[AP_MODEL_L2_STORE_MISS]++;
		return write_llc(p, number);
	}
	result = ask_l2(p, number, AP_MEM_STORE, &dirty, learn);
	if (find(&p->l2, number))
		find(&p->l2, number)->dirty = true;
	return result;
}

static void l1_evicted(struct plain *p, const struct plain_line *old)
{
	struct plain_line *l = find(&p->l2, old->number);

	if (!old->valid)
		return;
	if (l)
		l->dirty |= old->dirty;
	else if (p->l2.sets &&
		 (p->l2.spec.inclusion == AP_EXCLUSIVE || (old->dirty && !p->l2.spec.no_allocate)))
		l2_put(p, old->number, old->dirty, false);
	else if (old->dirty || (!p->l2.sets && p->llc.spec.inclusion == AP_EXCLUSIVE))
		llc_put(p, old->number, old->dirty);
}

/* --- the first level */

static void l1d_put(struct plain *p, uint64_t number, bool dirty, bool ahead)
{
	struct plain_line old;

	put(p, &p->l1d, number, dirty, ahead, &old);
	p->count[AP_MODEL_L1D_FILL]++;
	if (old.valid && old.dirty)
		p->count[AP_MODEL_L1D_WRITEBACK]++;
	l1_evicted(p, &old);
}

static void l1d_ahead(struct plain *p, uint64_t number)
{
	bool dirty, learn = false;

	p->count[AP_MODEL_L1D_PREFETCH]++;
	if (find(&p->l1d, number))
		return;
	p->count[AP_MODEL_L1D_PREFETCH_MISS]++;
	ask_l2(p, number, AP_MEM_AHEAD, &dirty, &learn);
	l1d_put(p, number, dirty, true);
}

static void l1d_learn(struct plain *p, uint64_t number, uint64_t pc)
{
	const struct ap_cache_spec *spec = &p->l1d.spec;
	int64_t stride;

	if ((spec->prefetch & AP_PREFETCH_NEXT) && one_page(p, number, number + 1))
		l1d_ahead(p, number + 1);
	if (!(spec->prefetch & AP_PREFETCH_STRIDE))
		return;
	stride = follow(p->stride, pc, number);
	for (int n = 1; stride && n <= (int)(spec->degree ? spec->degree : 1); n++) {
		if (!one_page(p, number, number + stride * n))
			return;
		l1d_ahead(p, number + stride * n);
	}
}

static unsigned data_line(struct plain *p, uint64_t number, bool write, uint64_t pc)
{
	const struct ap_cache_spec *spec = &p->l1d.spec;
	struct plain_line *l = find(&p->l1d, number);
	bool dirty, learn = false, first = l && l->ahead;
	unsigned result = AP_MEM_L1;

	if (l) {
		use(p, &p->l1d, l);
		l->ahead = false;
		if (first) {
			p->count[AP_MODEL_L1D_PREFETCH_USED]++;
			result |= AP_MEM_AHEAD_HIT;
		}
		if (write && !spec->write_through)
			l->dirty = true;
	} else if (write && spec->no_allocate) {
		result = write_l2(p, number, &learn);
		if (learn)
			l2_learn(p, number);
		return result;
	} else {
		result = ask_l2(p, number, write ? AP_MEM_STORE : AP_MEM_LOAD, &dirty, &learn);
		l1d_put(p, number, dirty || (write && !spec->write_through), false);
	}
	if (write && spec->write_through)
		write_l2(p, number, &learn);
	if (learn)
		l2_learn(p, number);
	if (!l || first)
		l1d_learn(p, number, pc);
	return result;
}

static unsigned code_line(struct plain *p, uint64_t number)
{
	struct plain_line *l = find(&p->l1i, number), old;
	bool dirty, learn = false;
	unsigned result;

	if (l) {
		use(p, &p->l1i, l);
		return AP_MEM_L1;
	}
	result = ask_l2(p, number, AP_MEM_CODE, &dirty, &learn);
	if (dirty)
		l1_evicted(p,
			   &(struct plain_line){ .valid = true, .number = number, .dirty = true });
	put(p, &p->l1i, number, false, false, &old);
	l1_evicted(p, &old);
	if (learn)
		l2_learn(p, number);
	if (!(p->l1i.spec.prefetch & AP_PREFETCH_NEXT) || !one_page(p, number, number + 1) ||
	    find(&p->l1i, number + 1))
		return result;
	ask_l2(p, number + 1, AP_MEM_AHEAD, &dirty, &learn);
	if (dirty)
		l1_evicted(p, &(struct plain_line){
				      .valid = true, .number = number + 1, .dirty = true });
	put(p, &p->l1i, number + 1, false, false, &old);
	l1_evicted(p, &old);
	return result;
}

/* --- TLBs */

static void tlb_init(struct plain_tlb *t, uint32_t entries, uint32_t ways)
{
	t->entries = entries;
	t->ways = ways;
	t->page = calloc(entries + 1, sizeof(uint64_t));
	t->used = calloc(entries + 1, sizeof(uint64_t));
}

static bool tlb_use(struct plain *p, struct plain_tlb *t, uint64_t page, bool fill)
{
	int sets = t->entries ? t->entries / t->ways : 1, oldest = -1;

	for (int i = 0; i < t->entries; i++) {
		if (i / t->ways != (int)(page % sets))
			continue;
		if (t->page[i] == page + 1) {
			t->used[i] = ++p->time;
			return true;
		}
		if (oldest < 0 || t->used[i] < t->used[oldest])
			oldest = i;
	}
	if (fill && t->entries) {
		t->page[oldest] = page + 1;
		t->used[oldest] = ++p->time;
	}
	return false;
}

static int page_walk(struct plain *p, uint64_t address, bool huge)
{
	int steps = 0;

	/* the leaf, then upwards until a cache knows where the next table is */
	for (int level = huge ? 1 : 0; level < 4; level++) {
		steps++;
		if (level < 3 && tlb_use(p, &p->walk[level], address >> (21 + 9 * level), true))
			break;
	}
	return steps;
}

static unsigned translate(struct plain *p, struct plain_tlb *small, struct plain_tlb *big,
			  struct plain_tlb *second, uint64_t address, int *steps)
{
	bool huge = address >= p->huge_start && address < p->huge_end;
	struct plain_tlb *first = huge && big->entries ? big : small;
	/* numbers of large pages are their own: they must not meet small ones */
	uint64_t page = huge ? address >> 21 | 1ULL << 62 : address >> 12;

	if (!first->entries || tlb_use(p, first, page, true))
		return 0;
	if (tlb_use(p, second, page, true))
		return AP_MEM_STLB;
	*steps += page_walk(p, address, huge);
	return AP_MEM_WALK;
}

static void count_tlb(struct plain *p, unsigned *result, int which, int steps)
{
	if (!*result)
		return;
	p->count[AP_MODEL_DTLB_LOAD_MISS + which]++;
	if (*result & AP_MEM_WALK) {
		p->count[AP_MODEL_DTLB_LOAD_WALK + which]++;
		p->count[AP_MODEL_DTLB_LOAD_WALK_STEP + which] += steps;
		*result = AP_MEM_WALK;
	} else {
		p->count[AP_MODEL_DTLB_LOAD_STLB_HIT + which]++;
	}
}

/* --- references */

static unsigned worse(unsigned a, unsigned b)
{
	unsigned high = (a & 7) > (b & 7) ? a & 7 : b & 7;

	return high | ((a | b) & ~7U);
}

unsigned plain_data(struct plain *p, uint64_t address, unsigned size, bool write, uint64_t pc)
{
	uint64_t last = address + size - 1, line = p->machine.line;
	bool own = write && p->dtlb_store.entries;
	unsigned result = 0, level;
	int steps = 0;

	for (uint64_t page = address / 4096; page <= last / 4096; page++)
		result |= translate(p, own ? &p->dtlb_store : &p->dtlb,
				    own ? &p->dtlb_store : &p->dtlb_2m, &p->stlb, page * 4096,
				    &steps);
	count_tlb(p, &result, write, steps);
	for (uint64_t n = address / line; n <= last / line; n++)
		result = worse(result, data_line(p, n, write, pc));
	p->count[write ? AP_MODEL_L1D_STORE : AP_MODEL_L1D_LOAD]++;
	if (address / line != last / line) {
		result |= AP_MEM_SPLIT;
		p->count[write ? AP_MODEL_SPLIT_STORE : AP_MODEL_SPLIT_LOAD]++;
	}
	if (address / 4096 != last / 4096) {
		result |= AP_MEM_PAGES;
		p->count[write ? AP_MODEL_PAGE_SPLIT_STORE : AP_MODEL_PAGE_SPLIT_LOAD]++;
	}
	level = result & 7;
	if (level > AP_MEM_L1)
		p->count[write ? AP_MODEL_L1D_STORE_MISS : AP_MODEL_L1D_LOAD_MISS]++;
	if (write && level >= AP_MEM_NODE)
		p->count[AP_MODEL_STORE_LLC_MISS]++;
	if (!write && level == AP_MEM_L2)
		p->count[AP_MODEL_LOAD_L2_HIT]++;
	if (!write && level > AP_MEM_L2) {
		p->count[AP_MODEL_LOAD_L2_MISS] += !!p->l2.sets;
		p->count[level == AP_MEM_LLC ? AP_MODEL_LOAD_LLC_HIT : AP_MODEL_LOAD_LLC_MISS]++;
	}
	return result;
}

unsigned plain_fetch(struct plain *p, uint64_t address, unsigned size)
{
	uint64_t last = address + size - 1, line = p->machine.line;
	unsigned result = 0;
	int steps = 0;

	for (uint64_t page = address / 4096; page <= last / 4096; page++)
		result |= translate(p, &p->itlb, &p->itlb_2m,
				    p->istlb.entries ? &p->istlb : &p->stlb, page * 4096, &steps);
	count_tlb(p, &result, 2, steps);
	for (uint64_t n = address / line; n <= last / line; n++)
		result = worse(result, code_line(p, n));
	p->count[AP_MODEL_L1I_LOAD]++;
	if ((result & 7) > AP_MEM_L1)
		p->count[AP_MODEL_L1I_LOAD_MISS]++;
	if ((result & 7) >= AP_MEM_NODE)
		p->count[AP_MODEL_CODE_LLC_MISS]++;
	return result;
}

void plain_init(struct plain *p, const struct ap_machine *x)
{
	const uint32_t walk[3] = { x->walk_pde, x->walk_pdpte, x->walk_pml4e };

	memset(p, 0, sizeof(*p));
	p->machine = *x;
	cache_init(&p->l1i, &x->l1i, x->line);
	cache_init(&p->l1d, &x->l1d, x->line);
	cache_init(&p->l2, &x->l2, x->line);
	cache_init(&p->llc, &x->llc, x->line);
	tlb_init(&p->dtlb, x->dtlb.entries, x->dtlb.ways);
	tlb_init(&p->dtlb_store, x->dtlb_store.entries, x->dtlb_store.ways);
	tlb_init(&p->dtlb_2m, x->dtlb_2m.entries, x->dtlb_2m.ways);
	tlb_init(&p->itlb, x->itlb.entries, x->itlb.ways);
	tlb_init(&p->itlb_2m, x->itlb_2m.entries, x->itlb_2m.ways);
	tlb_init(&p->stlb, x->stlb.entries, x->stlb.ways);
	tlb_init(&p->istlb, x->istlb.entries, x->istlb.ways);
	for (int i = 0; i < 3; i++)
		tlb_init(&p->walk[i], walk[i], walk[i]);
}

void plain_fini(struct plain *p)
{
	struct plain_tlb *t[] = { &p->dtlb, &p->dtlb_store, &p->dtlb_2m, &p->itlb,    &p->itlb_2m,
				  &p->stlb, &p->istlb,	    &p->walk[0], &p->walk[1], &p->walk[2] };

	cache_fini(&p->l1i);
	cache_fini(&p->l1d);
	cache_fini(&p->l2);
	cache_fini(&p->llc);
	for (unsigned i = 0; i < AP_ARRAY_SIZE(t); i++) {
		free(t[i]->page);
		free(t[i]->used);
	}
}
