/* SPDX-License-Identifier: MIT */
/*
 * Behind L1: the private second level and the shared last one.  What asks is a request with a kind
 * (AP_MODEL_L2_LOAD + kind counts it); what is evicted comes the other way and is nobody's request.
 * Evictions do not disturb the order of use where the line is already there.
 */
#include "model/internal.h"
#include "model/pages.h"
#include "model/shared.h"

static struct ap_cache *llc_of(struct ap_mem *m, u64 name)
{
	return ap_unlikely(name & AP_NAME_COMMON) ? &m->common_llc : &m->llc;
}

static u32 *llc_lock(struct ap_mem *m, u64 name, u32 set)
{
	struct ap_common side = ap_mem_side(m, name);
	u32 *lock = &side.shared->llc_lock[set % AP_STRIPES];

	ap_model_lock(lock, side.core);
	return lock;
}

static bool is_remote(const struct ap_mem *m, u64 name)
{
	u32 nodes = m->machine.nodes;

	return nodes > 1 && (ap_cache_mix(name >> 12) >> 32) * nodes >> 32 != m->node;
}

static unsigned memory_request(struct ap_mem *m, u64 name, enum ap_mem_kind kind)
{
	m->count[AP_MODEL_NODE_LOAD + kind]++;
	if (!is_remote(m, name))
		return AP_MEM_NODE;
	m->count[AP_MODEL_NODE_LOAD_MISS + kind]++;
	return AP_MEM_REMOTE;
}

/* --- the last level: lines by their common names */

static void llc_evicted(struct ap_mem *m, u64 key)
{
	u64 name = key & m->llc.line_mask;
	struct ap_common side = ap_mem_side(m, name);
	bool dirty = key & AP_LINE_DIRTY;

	if (!key || !side.shared)
		return;
	if (m->llc.inclusion == AP_INCLUSIVE) {
		dirty |= !!(ap_mem_drop_name(m, name) & AP_LINE_DIRTY);
		if (side.tracked)
			dirty |= ap_dir_purge(side.shared, side.core, name);
	}
	if (dirty)
		m->count[AP_MODEL_LLC_WRITEBACK]++;
}

/* A line comes from above; flags: AP_LINE_DIRTY or 0. */
static void llc_put(struct ap_mem *m, u64 line, u64 flags)
{
	u64 name = ap_mem_outer(m, line), victim = 0;
	struct ap_cache *c = llc_of(m, name);
	u32 set = ap_cache_set(c, name);
	u32 *lock = llc_lock(m, name, set);
	int way = ap_cache_find(c, set, name);

	if (way >= 0)
		ap_cache_tags(c, set)[way] |= flags;
	else if (c->inclusion == AP_EXCLUSIVE || !c->no_allocate)
		victim = ap_cache_insert(c, set, name | AP_LINE_VALID | flags);
	else if (flags)
		m->count[AP_MODEL_LLC_WRITEBACK]++;
	ap_model_unlock(lock);
	llc_evicted(m, victim);
}

/* True: it was there.  dir: what the directory said; *state as for ap_mem_below(). */
static bool llc_look(struct ap_mem *m, u64 name, enum ap_mem_kind kind, unsigned dir, u64 *state)
{
	struct ap_cache *c = llc_of(m, name);
	/* a reader makes the owner write back, here */
	u64 dirty = (dir & AP_DIR_HITM) && kind != AP_MEM_STORE ? AP_LINE_DIRTY : 0;
	u64 victim = 0, *tag;
	u32 set = ap_cache_set(c, name);
	u32 *lock = llc_lock(m, name, set);
	int way = ap_cache_find(c, set, name);

	if (way >= 0 && c->inclusion == AP_EXCLUSIVE && !(dir & AP_DIR_SHARE)) {
		*state |= ap_cache_tags(c, set)[way] & AP_LINE_DIRTY;
		ap_cache_remove(c, set, way);
	} else if (way >= 0) {
		tag = ap_cache_use(c, set, way);
		*tag |= dirty;
	} else if (c->inclusion != AP_EXCLUSIVE || dirty) {
		victim = ap_cache_insert(c, set, name | AP_LINE_VALID | dirty);
	}
	ap_model_unlock(lock);
	llc_evicted(m, victim);
	return way >= 0;
}

static unsigned llc_request(struct ap_mem *m, u64 line, enum ap_mem_kind kind, u64 *state)
{
	u64 name = ap_mem_outer(m, line);
	struct ap_common side = ap_mem_side(m, name);
	unsigned dir = 0, result = 0;
	bool hit;

	if (side.tracked)
		dir = ap_dir_request(side.shared, side.core, name, kind == AP_MEM_STORE);
	*state = dir & AP_DIR_SHARE ? 0 : AP_LINE_OWN;
	m->count[AP_MODEL_LLC_LOAD + kind]++;
	hit = llc_look(m, name, kind, dir, state);
	if (ap_unlikely(m->met)) {
		const struct ap_met_page *page = ap_met_note(m->met, name, false);

		/* that its set has room says nothing: what was passed over has filled others */
		hit = hit || ap_met_is_near(m->met, page);
	}
	if (side.tracked && *state & AP_LINE_DIRTY)
		ap_dir_modify(side.shared, side.core, name);
	if (dir & AP_DIR_HITM) {
		m->count[AP_MODEL_HITM]++;
		return AP_MEM_SNOOP | AP_MEM_HITM | AP_MEM_HIT_OTHER;
	}
	if (dir & AP_DIR_OTHER) {
		m->count[AP_MODEL_SNOOP_HIT]++;
		result = AP_MEM_HIT_OTHER;
	}
	if (hit)
		return result | AP_MEM_LLC;
	if (dir & AP_DIR_OTHER)
		return result | AP_MEM_SNOOP;
	m->count[AP_MODEL_LLC_LOAD_MISS + kind]++;
	return memory_request(m, name, kind);
}

/* A store that nobody above keeps. */
static unsigned llc_write(struct ap_mem *m, u64 line)
{
	u64 name = ap_mem_outer(m, line), state;
	struct ap_cache *c = llc_of(m, name);
	unsigned result;
	u32 set, *lock;
	int way = 0;

	if (c->no_allocate) {
		set = ap_cache_set(c, name);
		lock = llc_lock(m, name, set);
		way = ap_cache_find(c, set, name);
		ap_model_unlock(lock);
	}
	if (way < 0) {
		m->count[AP_MODEL_LLC_STORE]++;
		m->count[AP_MODEL_LLC_STORE_MISS]++;
		return memory_request(m, name, AP_MEM_STORE);
	}
	result = llc_request(m, line, AP_MEM_STORE, &state);
	llc_put(m, line, AP_LINE_DIRTY);
	return result;
}

static u64 llc_flush(struct ap_mem *m, u64 name, bool keeps)
{
	struct ap_cache *c = llc_of(m, name);
	u32 set = ap_cache_set(c, name);
	u32 *lock = llc_lock(m, name, set);
	int way = ap_cache_find(c, set, name);
	u64 *tag, flags = 0;

	if (way >= 0) {
		tag = &ap_cache_tags(c, set)[way];
		flags = *tag & AP_LINE_FLAGS;
		if (keeps)
			*tag &= ~(u64)AP_LINE_DIRTY;
		else
			ap_cache_remove(c, set, way);
	}
	ap_model_unlock(lock);
	return flags;
}

void ap_mem_flush(struct ap_mem *m, u64 address, bool keeps)
{
	u64 name = ap_mem_outer(m, address & m->line_mask), flags;
	struct ap_common side;

	ap_mem_poll(m);
	side = ap_mem_side(m, name);
	flags = keeps ? ap_mem_clean_name(m, name) : ap_mem_drop_name(m, name);
	if (side.tracked && keeps && flags)
		ap_dir_leave(side.shared, side.core, name, true);
	if (side.tracked && !keeps && ap_dir_purge(side.shared, side.core, name))
		flags |= AP_LINE_DIRTY;
	flags |= llc_flush(m, name, keeps);
	if (flags & AP_LINE_DIRTY)
		m->count[AP_MODEL_LLC_WRITEBACK]++;
}

/* --- the second level */

static void l2_evicted(struct ap_mem *m, u64 key)
{
	u64 line = key & m->l2.line_mask;

	if (!key)
		return;
	if (m->l2.inclusion == AP_INCLUSIVE)
		key |= ap_mem_drop(m, line) & AP_LINE_DIRTY;
	if (key & AP_LINE_DIRTY) {
		m->count[AP_MODEL_L2_WRITEBACK]++;
		llc_put(m, line, AP_LINE_DIRTY);
	} else if (m->llc.inclusion == AP_EXCLUSIVE) {
		llc_put(m, line, 0);
	}
	ap_mem_left(m, line, key & AP_LINE_DIRTY);
}

static void l2_fill(struct ap_mem *m, u64 key)
{
	m->count[AP_MODEL_L2_FILL]++;
	l2_evicted(m, ap_cache_insert(&m->l2, ap_cache_set(&m->l2, key), key));
}

static void l2_prefetch(struct ap_mem *m, u64 line)
{
	u64 state;

	m->count[AP_MODEL_L2_PREFETCH]++;
	if (ap_cache_find(&m->l2, ap_cache_set(&m->l2, line), line) >= 0)
		return;
	m->count[AP_MODEL_L2_PREFETCH_MISS]++;
	llc_request(m, line, AP_MEM_AHEAD, &state);
	l2_fill(m, line | AP_LINE_VALID | AP_LINE_AHEAD | state);
}

/* A miss of the program's, or the first use of what was prefetched. */
static void l2_learn(struct ap_mem *m, u64 line)
{
	/* not at once: a prefetch might evict the line that L1 is about to have */
	if (m->l2.prefetch)
		m->train = line | 1;
}

void ap_mem_train_below(struct ap_mem *m)
{
	struct ap_cache *c = &m->l2;
	u64 line = m->train & m->line_mask, size = 1ULL << c->shift;
	s64 stride;

	if (!m->train)
		return;
	m->train = 0;
	if (c->prefetch & AP_PREFETCH_NEXT && ap_same_page(line, line + size))
		l2_prefetch(m, line + size);
	if (!(c->prefetch & AP_PREFETCH_STRIDE))
		return;
	stride = ap_stride_train(m->stream, line >> 12, line >> c->shift);
	for (unsigned n = 1; stride && n <= c->degree; n++) {
		u64 ahead = line + (u64)stride * n * size;

		if (!ap_same_page(line, ahead))
			break;
		l2_prefetch(m, ahead);
	}
}

static unsigned l2_hit(struct ap_mem *m, u64 line, u32 set, int way, enum ap_mem_kind kind,
		       u64 *state)
{
	struct ap_cache *c = &m->l2;
	u64 *tag = ap_cache_use(c, set, way);
	unsigned result = AP_MEM_L2;
	bool first = *tag & AP_LINE_AHEAD && kind != AP_MEM_AHEAD;

	if (kind == AP_MEM_STORE) {
		if (!(*tag & AP_LINE_OWN))
			result |= ap_mem_upgrade(m, line);
		else if (!(*tag & AP_LINE_DIRTY))
			ap_mem_modified(m, line);
		*tag |= AP_LINE_OWN;
	}
	if (first)
		*tag &= ~(u64)AP_LINE_AHEAD;
	*state = *tag & AP_LINE_OWN;
	if (c->inclusion == AP_EXCLUSIVE) {
		*state = *tag & (AP_LINE_OWN | AP_LINE_DIRTY);
		ap_cache_remove(c, set, tag - ap_cache_tags(c, set));
	}
	if (first)
		l2_learn(m, line);
	return result;
}

static void expect_name(struct ap_mem *m, u64 name)
{
	struct ap_cache *c = llc_of(m, name);

	ap_cache_expect(c, ap_cache_set(c, name));
}

/* L2 misses: the last level will be asked for the line, and be given what leaves L2. */
static void expect(struct ap_mem *m, u64 line, u32 set)
{
	u64 victim = ap_cache_tags(&m->l2, set)[ap_cache_victim_hint(&m->l2, set)] & m->line_mask;

	expect_name(m, ap_mem_outer(m, line));
	expect_name(m, ap_mem_outer(m, victim));
}

unsigned ap_mem_below(struct ap_mem *m, u64 line, enum ap_mem_kind kind, u64 *state)
{
	struct ap_cache *c = &m->l2;
	unsigned result;
	u32 set;
	int way;

	if (!c->ways)
		return llc_request(m, line, kind, state);
	m->count[AP_MODEL_L2_LOAD + kind]++;
	set = ap_cache_set(c, line);
	way = ap_cache_find(c, set, line);
	if (way >= 0)
		return l2_hit(m, line, set, way, kind, state);
	m->count[AP_MODEL_L2_LOAD_MISS + kind]++;
	expect(m, line, set);
	result = llc_request(m, line, kind, state);
	if (c->inclusion != AP_EXCLUSIVE) {
		l2_fill(m, line | AP_LINE_VALID | *state);
		*state &= ~(u64)AP_LINE_DIRTY;
	}
	if (kind != AP_MEM_AHEAD)
		l2_learn(m, line);
	return result;
}

unsigned ap_mem_write_below(struct ap_mem *m, u64 line)
{
	struct ap_cache *c = &m->l2;
	unsigned result;
	u64 state;
	u32 set;
	int way;

	if (!c->ways)
		return llc_write(m, line);
	set = ap_cache_set(c, line);
	if (c->no_allocate && ap_cache_find(c, set, line) < 0) {
		m->count[AP_MODEL_L2_STORE]++;
		m->count[AP_MODEL_L2_STORE_MISS]++;
		return llc_write(m, line);
	}
	result = ap_mem_below(m, line, AP_MEM_STORE, &state);
	way = ap_cache_find(c, set, line);
	if (way >= 0)
		ap_cache_tags(c, set)[way] |= AP_LINE_DIRTY;
	return result;
}

void ap_mem_evicted(struct ap_mem *m, u64 key)
{
	struct ap_cache *c = &m->l2;
	u64 line = key & m->line_mask, flags = key & (AP_LINE_OWN | AP_LINE_DIRTY);
	u32 set;
	int way;

	/* of a line that is our own L2, where it has it, knows that */
	if (ap_likely(m->is_alone && !(flags & AP_LINE_DIRTY)))
		return;
	if (c->ways) {
		set = ap_cache_set(c, line);
		way = ap_cache_find(c, set, line);
		if (way >= 0) {
			ap_cache_tags(c, set)[way] |= flags;
			return;
		}
		if (c->inclusion == AP_EXCLUSIVE || (flags & AP_LINE_DIRTY && !c->no_allocate)) {
			l2_fill(m, line | AP_LINE_VALID | flags);
			return;
		}
	}
	if (flags & AP_LINE_DIRTY)
		llc_put(m, line, AP_LINE_DIRTY);
	else if (!c->ways && m->llc.inclusion == AP_EXCLUSIVE)
		llc_put(m, line, 0);
	ap_mem_left(m, line, flags & AP_LINE_DIRTY);
}
