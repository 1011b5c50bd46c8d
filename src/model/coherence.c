/* SPDX-License-Identifier: MIT */
/*
 * What other threads' models do to ours: names that several address spaces agree on, the box of
 * what others took, and telling the directory what we have.
 */
#include "base/mem.h"
#include "model/internal.h"
#include "model/quick.h"
#include "model/shared.h"

u64 ap_mem_outer(const struct ap_mem *m, u64 line)
{
	for (u32 i = 0; i < m->alias_n; i++)
		if (line >= m->alias[i].start && line < m->alias[i].end)
			return line + m->alias[i].delta;
	return line ^ m->space;
}

u64 ap_mem_inner(const struct ap_mem *m, u64 name)
{
	for (u32 i = 0; i < m->alias_n; i++) {
		u64 line = name - m->alias[i].delta;

		if (line >= m->alias[i].start && line < m->alias[i].end)
			return line;
	}
	return name ^ m->space;
}

bool ap_mem_alias(struct ap_mem *m, u64 start, u64 end, u64 delta)
{
	struct ap_alias *a = &m->alias[m->alias_n];

	if (m->alias_n == AP_ALIASES || delta & ~m->line_mask)
		return false;
	*a = (struct ap_alias){ .start = start & m->line_mask, .end = end, .delta = delta };
	m->alias_n++;
	return true;
}

/* Takes a line out of one cache. */
static u64 drop_from(struct ap_cache *c, u64 line)
{
	u32 set = ap_cache_set(c, line);
	int way = c->ways ? ap_cache_find(c, set, line) : -1;
	u64 flags;

	if (way < 0)
		return 0;
	flags = ap_cache_tags(c, set)[way] & AP_LINE_FLAGS;
	ap_cache_remove(c, set, way);
	return flags;
}

u64 ap_mem_drop(struct ap_mem *m, u64 line)
{
	ap_quick_forget(m, line);
	ap_quick_forget_code(m, line);
	return drop_from(&m->l1d, line) | drop_from(&m->l1i, line) | drop_from(&m->l2, line);
}

/* Somebody reads our line: we keep it, shared and clean. */
static void share_in(struct ap_cache *c, u64 line)
{
	u32 set = ap_cache_set(c, line);
	int way = c->ways ? ap_cache_find(c, set, line) : -1;

	if (way >= 0)
		ap_cache_tags(c, set)[way] &= ~(u64)(AP_LINE_OWN | AP_LINE_DIRTY);
}

static bool has(struct ap_cache *c, u64 line, u64 *flags)
{
	u32 set = ap_cache_set(c, line);
	int way = c->ways ? ap_cache_find(c, set, line) : -1;

	if (way >= 0)
		*flags |= ap_cache_tags(c, set)[way] & AP_LINE_FLAGS;
	return way >= 0;
}

void ap_mem_left(struct ap_mem *m, u64 line, bool dirty)
{
	u64 flags = 0;
	bool held;

	if (!m->tracked)
		return;
	held = has(&m->l1d, line, &flags);
	held |= has(&m->l1i, line, &flags);
	held |= has(&m->l2, line, &flags);
	if (held && (!dirty || flags & AP_LINE_DIRTY))
		return;
	ap_dir_leave(m->shared, m->core, ap_mem_outer(m, line), held);
}

unsigned ap_mem_upgrade(struct ap_mem *m, u64 line)
{
	unsigned dir;

	m->count[AP_MODEL_UPGRADE]++;
	if (!m->tracked)
		return 0;
	dir = ap_dir_request(m->shared, m->core, ap_mem_outer(m, line), true);
	return dir & AP_DIR_OTHER ? AP_MEM_HIT_OTHER : 0;
}

/* Calls each private line of a cache; false from it: the line goes. */
static void each_line(struct ap_mem *m, struct ap_cache *c, bool (*f)(struct ap_mem *m, u64 *tag))
{
	for (u32 set = 0; c->ways && set < ap_cache_sets(c); set++) {
		u64 *tag = ap_cache_tags(c, set);

		for (unsigned way = c->ways; way--;)
			if (tag[way] && !f(m, &tag[way]))
				ap_cache_remove(c, set, way);
	}
}

static void each_private_line(struct ap_mem *m, bool (*f)(struct ap_mem *m, u64 *tag))
{
	each_line(m, &m->l1d, f);
	each_line(m, &m->l1i, f);
	each_line(m, &m->l2, f);
	ap_quick_forget_all(m);
}

static bool publish(struct ap_mem *m, u64 *tag)
{
	unsigned dir = ap_dir_publish(m->shared, m->core, ap_mem_outer(m, *tag & m->line_mask),
				      *tag & AP_LINE_DIRTY);

	if (dir & AP_DIR_SHARE)
		*tag &= ~(u64)AP_LINE_OWN;
	return !(dir & AP_DIR_OTHER);
}

static bool compare(struct ap_mem *m, u64 *tag)
{
	u64 state = ap_dir_state(m->shared, m->core, ap_mem_outer(m, *tag & m->line_mask));

	if (!state)
		return false;
	if (!(state & AP_LINE_OWN))
		*tag &= ~(u64)(AP_LINE_OWN | AP_LINE_DIRTY);
	return true;
}

static bool unpublish(struct ap_mem *m, u64 *tag)
{
	ap_dir_leave(m->shared, m->core, ap_mem_outer(m, *tag & m->line_mask), false);
	return true;
}

void ap_mem_poll(struct ap_mem *m)
{
	bool overflow;
	u64 name, line;

	if (m->core == AP_NO_CORE)
		return;
	if (!m->tracked) {
		if (!ap_shared_many(m->shared))
			return;
		m->tracked = 1;
		m->is_alone = m->is_straight = 0;
		each_private_line(m, publish);
		return;
	}
	while (!ap_box_empty(&m->shared->box[m->core]) &&
	       ap_box_take(m->shared, m->core, &name, &overflow)) {
		if (overflow) {
			each_private_line(m, compare);
			continue;
		}
		line = ap_mem_inner(m, name & m->line_mask);
		if (name & AP_LINE_OWN) {
			ap_quick_forget(m, line);
			share_in(&m->l1d, line);
			share_in(&m->l1i, line);
			share_in(&m->l2, line);
		} else if (ap_mem_drop(m, line)) {
			m->count[AP_MODEL_INVALIDATED]++;
		}
	}
}

void ap_mem_fini(struct ap_mem *m)
{
	if (m->core == AP_NO_CORE)
		return;
	if (m->tracked)
		each_private_line(m, unpublish);
	ap_shared_leave(m->shared, m->core);
	m->core = AP_NO_CORE;
	m->tracked = 0;
}
