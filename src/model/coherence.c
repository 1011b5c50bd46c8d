/* SPDX-License-Identifier: MIT */
/*
 * What other threads' models do to ours: names that several address spaces agree on, the box of
 * what others took, and telling the directory what we have.
 */
#include "base/mem.h"
#include "model/internal.h"
#include "model/quick.h"
#include "model/shared.h"

static u64 name_of(const struct ap_mem *m, const struct ap_names *names, u64 line)
{
	const struct ap_alias *a = names->alias;
	u32 n = names->n, half;

	while (n) {
		half = n / 2;
		if (line >= a[half].end) {
			a += half + 1;
			n -= half + 1;
		} else if (line >= a[half].start) {
			return line + a[half].delta;
		} else {
			n = half;
		}
	}
	return ap_mem_own_name(m, line);
}

u64 ap_mem_outer_common(const struct ap_mem *m, u64 line)
{
	return name_of(m, &m->names, line);
}

u64 ap_mem_inner(const struct ap_mem *m, u64 name, u32 *at)
{
	if (!(name & AP_NAME_COMMON))
		return (*at)++ ? AP_NO_LINE : name ^ m->space;
	while (*at < m->names.n) {
		const struct ap_alias *a = &m->names.alias[(*at)++];
		u64 line = name - a->delta;

		if (line >= a->start && line < a->end)
			return line;
	}
	return AP_NO_LINE;
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

u64 ap_mem_drop_name(struct ap_mem *m, u64 name)
{
	u64 flags = 0, line;

	for (u32 at = 0; (line = ap_mem_inner(m, name, &at)) != AP_NO_LINE;)
		flags |= ap_mem_drop(m, line);
	return flags;
}

/*
 * Its data are in memory, and it stays what it is otherwise; stores are to see that, so it is not
 * quick.
 */
static u64 clean_in(struct ap_cache *c, u64 line)
{
	u32 set = ap_cache_set(c, line);
	int way = c->ways ? ap_cache_find(c, set, line) : -1;
	u64 *tag, flags;

	if (way < 0)
		return 0;
	tag = &ap_cache_tags(c, set)[way];
	flags = *tag & AP_LINE_FLAGS;
	*tag &= ~(u64)AP_LINE_DIRTY;
	return flags;
}

u64 ap_mem_clean_name(struct ap_mem *m, u64 name)
{
	u64 flags = 0, line;

	for (u32 at = 0; (line = ap_mem_inner(m, name, &at)) != AP_NO_LINE;) {
		ap_quick_forget(m, line);
		flags |= clean_in(&m->l1d, line) | clean_in(&m->l2, line);
	}
	return flags;
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
	u64 flags = 0, name;
	struct ap_common side;
	bool held;

	if (!m->tracked && !m->common.tracked)
		return;
	name = ap_mem_outer(m, line);
	side = ap_mem_side(m, name);
	if (!side.tracked)
		return;
	held = has(&m->l1d, line, &flags);
	held |= has(&m->l1i, line, &flags);
	held |= has(&m->l2, line, &flags);
	if (held && (!dirty || flags & AP_LINE_DIRTY))
		return;
	ap_dir_leave(side.shared, side.core, name, held);
}

void ap_mem_modified(struct ap_mem *m, u64 line)
{
	u64 name;
	struct ap_common side;

	if (ap_likely(!m->tracked && !m->common.tracked))
		return;
	name = ap_mem_outer(m, line);
	side = ap_mem_side(m, name);
	if (side.tracked)
		ap_dir_modify(side.shared, side.core, name);
}

unsigned ap_mem_upgrade(struct ap_mem *m, u64 line)
{
	u64 name = ap_mem_outer(m, line);
	struct ap_common side = ap_mem_side(m, name);
	unsigned dir;

	m->count[AP_MODEL_UPGRADE]++;
	if (!side.tracked)
		return 0;
	dir = ap_dir_request(side.shared, side.core, name, true);
	return dir & AP_DIR_OTHER ? AP_MEM_HIT_OTHER : 0;
}

typedef bool visit_line(struct ap_mem *m, u64 *tag, bool common);

/* Calls each private line of a cache; false from it: the line goes. */
static void each_line(struct ap_mem *m, struct ap_cache *c, visit_line *f, bool common)
{
	for (u32 set = 0; c->ways && set < ap_cache_sets(c); set++) {
		u64 *tag = ap_cache_tags(c, set);

		for (unsigned way = c->ways; way--;)
			if (tag[way] && !f(m, &tag[way], common))
				ap_cache_remove(c, set, way);
	}
}

static void each_private_line(struct ap_mem *m, visit_line *f, bool common)
{
	each_line(m, &m->l1d, f, common);
	each_line(m, &m->l1i, f, common);
	each_line(m, &m->l2, f, common);
	ap_quick_forget_all(m);
}

/* One side's lines: those of the names that are common, or the others. */
static bool is_of(u64 name, bool common)
{
	return !(name & AP_NAME_COMMON) == !common;
}

static bool publish(struct ap_mem *m, u64 *tag, bool common)
{
	u64 name = ap_mem_outer(m, *tag & m->line_mask);
	struct ap_common side = ap_mem_side(m, name);
	unsigned dir;

	if (!is_of(name, common))
		return true;
	dir = ap_dir_publish(side.shared, side.core, name, *tag & AP_LINE_DIRTY);
	if (dir & AP_DIR_SHARE)
		*tag &= ~(u64)AP_LINE_OWN;
	return !(dir & AP_DIR_OTHER);
}

static bool compare(struct ap_mem *m, u64 *tag, bool common)
{
	u64 name = ap_mem_outer(m, *tag & m->line_mask), state;
	struct ap_common side = ap_mem_side(m, name);

	if (!is_of(name, common))
		return true;
	state = ap_dir_state(side.shared, side.core, name);
	if (!state)
		return false;
	if (!(state & AP_LINE_OWN))
		*tag &= ~(u64)(AP_LINE_OWN | AP_LINE_DIRTY);
	return true;
}

static bool unpublish(struct ap_mem *m, u64 *tag, bool common)
{
	u64 name = ap_mem_outer(m, *tag & m->line_mask);
	struct ap_common side = ap_mem_side(m, name);

	if (is_of(name, common))
		ap_dir_leave(side.shared, side.core, name, false);
	return true;
}

/* Where its name is another from now on it is another line. */
static bool keeps_name(struct ap_mem *m, u64 *tag, bool common)
{
	u64 line = *tag & m->line_mask, name = ap_mem_outer(m, line);
	struct ap_common side = ap_mem_side(m, name);

	(void)common;
	if (name_of(m, m->next_names, line) == name)
		return true;
	if (side.tracked)
		ap_dir_leave(side.shared, side.core, name, false);
	return false;
}

static void rename_lines(struct ap_mem *m, const struct ap_names *names)
{
	m->next_names = names;
	each_private_line(m, keeps_name, false);
	m->names = *names;
}

static void obey(struct ap_mem *m, u64 what)
{
	u64 name = what & m->line_mask, line;

	if (!(what & AP_LINE_OWN)) {
		if (ap_mem_drop_name(m, name))
			m->count[AP_MODEL_INVALIDATED]++;
		return;
	}
	for (u32 at = 0; (line = ap_mem_inner(m, name, &at)) != AP_NO_LINE;) {
		ap_quick_forget(m, line);
		share_in(&m->l1d, line);
		share_in(&m->l1i, line);
		share_in(&m->l2, line);
	}
}

/* Gives what tracked is from now on. */
static bool look(struct ap_mem *m, const struct ap_common *side, bool common)
{
	bool overflow;
	u64 what;

	if (!side->tracked && !ap_shared_many(side->shared))
		return false;
	if (!side->tracked) {
		m->is_alone = m->is_straight = 0;
		each_private_line(m, publish, common);
		return true;
	}
	while (!ap_box_empty(&side->shared->box[side->core]) &&
	       ap_box_take(side->shared, side->core, &what, &overflow)) {
		if (overflow)
			each_private_line(m, compare, common);
		else if (is_of(what, common))
			obey(m, what);
	}
	return true;
}

void ap_mem_poll(struct ap_mem *m)
{
	struct ap_common own = { m->shared, m->core, m->tracked };

	if (m->core != AP_NO_CORE)
		m->tracked = look(m, &own, false);
	if (m->common.shared)
		m->common.tracked = look(m, &m->common, true);
}

/* --- names in common */

static const struct ap_names none;

static bool join_common(struct ap_mem *m, struct ap_shared *common, u32 owner)
{
	unsigned core = ap_shared_join(common, owner);

	if (core == AP_NO_CORE)
		return false;
	m->common = (struct ap_common){ .shared = common, .core = (u8)core };
	ap_cache_init(&m->common_llc, (char *)common + common->llc_offset, &m->machine.llc,
		      m->machine.line, NULL);
	return true;
}

bool ap_mem_set_names(struct ap_mem *m, struct ap_shared *common, const struct ap_names *names,
		      u32 owner)
{
	bool may = !names->n || m->common.shared || join_common(m, common, owner);

	if (may)
		rename_lines(m, names);
	return may;
}

void ap_mem_forget_names(struct ap_mem *m)
{
	m->names.n = 0;
	m->common = (struct ap_common){ .core = AP_NO_CORE };
}

bool ap_mem_inherit_names(struct ap_mem *m, u32 owner)
{
	struct ap_shared *common = m->common.shared;

	if (!common)
		return true;
	m->common = (struct ap_common){ .core = AP_NO_CORE };
	if (join_common(m, common, owner))
		return true;
	rename_lines(m, &none);
	return false;
}

void ap_mem_fini(struct ap_mem *m)
{
	if (m->common.tracked)
		each_private_line(m, unpublish, true);
	if (m->common.shared)
		ap_shared_leave(m->common.shared, m->common.core);
	ap_mem_forget_names(m);
	if (m->core == AP_NO_CORE)
		return;
	if (m->tracked)
		each_private_line(m, unpublish, false);
	ap_shared_leave(m->shared, m->core);
	m->core = AP_NO_CORE;
	m->tracked = 0;
}
