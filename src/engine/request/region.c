/* SPDX-License-Identifier: MIT */
/*
 * Regions: each thread has a stack of those that are open, with what it had counted when they began; what a call of one has
 * counted is added to a row of the table that all processes of the party share (abi/region.h).
 *
 * Instructions of markers are never in: readings are less all that the thread has executed so far.  A frame says of which segment
 * and thread it is.  A fork's child has its parent's frames, and its counts begin at 0: it takes such a frame away and says nothing,
 * as the call is the parent's.
 */
#include "base/mem.h"
#include "engine/client.h"
#include "engine/count/slot.h"
#include "engine/request/request.h"
#include "engine/runtime/engine.h"
#include "service/hooks.h"
#include "service/service.h"

#define NO_ROW AP_REGION_ROWS
#define SPINS  10000 /* for a claimer to write a name: longer where it was killed */

struct open_region {
	u32 row;
	u32 seg;
	u64 thread; /* its serial */
	u64 again;  /* calls of the same region within this one, and in no other between */
	bool is_within;
	u64 at[AP_REGION_EVENTS];
};

/* The last one has what the thread had counted at its last dump. */
_Static_assert((AP_REGION_DEPTH + 1) * sizeof(struct open_region) <= AP_T_REGIONS_SIZE,
	       "its pages");

static struct open_region *frames_of(const struct ap_thread *t)
{
	return (struct open_region *)((char *)t + AP_T_REGIONS_OFF);
}

/* --- the table */

static struct ap_regions *table; /* once it is mapped it stays */
#define TABLE_SIZE AP_ALIGN_UP(sizeof(struct ap_regions), AP_PAGE_SIZE)

static void say_unmapped(void)
{
	static bool is_said;

	if (!__atomic_exchange_n(&is_said, true, __ATOMIC_RELAXED))
		ap_note2(AP_NOTE_NOT_COUNTED, "not counted: ", ap_proc.seg->comm,
			 ": regions, as their table cannot be mapped");
}

static struct ap_regions *get_table(void)
{
	struct ap_regions *p = __atomic_load_n(&table, __ATOMIC_ACQUIRE), *none = NULL;

	if (ap_likely(p))
		return p;
	p = ap_proc.seg->mute ? NULL : ap_hook_map_shared(AP_REGIONS_OFF, TABLE_SIZE);
	if (!p) {
		say_unmapped();
		return NULL;
	}
	if (__atomic_compare_exchange_n(&table, &none, p, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return p;
	ap_hook_unmap(p, TABLE_SIZE);
	return none;
}

bool ap_regions_move(void)
{
	return !table || !ap_slot_map_file(table, TABLE_SIZE, AP_REGIONS_OFF);
}

void ap_regions_each(void (*fn)(void *at, u64 size))
{
	if (table)
		fn(table, TABLE_SIZE);
}

static void add(u64 *word, u64 n)
{
	__atomic_fetch_add(word, n, __ATOMIC_RELAXED);
}

static void raise(u64 *word, u64 to)
{
	u64 is = __atomic_load_n(word, __ATOMIC_RELAXED);

	while (is < to && !__atomic_compare_exchange_n(word, &is, to, true, __ATOMIC_RELAXED,
						       __ATOMIC_RELAXED))
		;
}

/* Its name is there, or will never be: whoever claimed it was killed. */
static bool is_ready(const struct ap_region_row *row)
{
	for (u32 i = 0; i < SPINS; i++) {
		if (__atomic_load_n(&row->state, __ATOMIC_ACQUIRE) == AP_REGION_READY)
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

static bool claim_row(struct ap_region_row *row, const char *name)
{
	u32 none = AP_REGION_FREE;

	if (__atomic_load_n(&row->state, __ATOMIC_ACQUIRE) != AP_REGION_FREE ||
	    !__atomic_compare_exchange_n(&row->state, &none, AP_REGION_CLAIMED, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	memcpy(row->name, name, AP_REGION_NAME);
	__atomic_store_n(&row->state, AP_REGION_READY, __ATOMIC_RELEASE);
	return true;
}

static u32 row_of(struct ap_regions *all, const char name[AP_REGION_NAME])
{
	u32 at = ap_region_home(name);

	for (u32 i = 0; i < AP_REGION_ROWS; i++, at = (at + 1) % AP_REGION_ROWS) {
		struct ap_region_row *row = &all->row[at];

		if (claim_row(row, name) ||
		    (is_ready(row) && !memcmp(row->name, name, AP_REGION_NAME)))
			return at;
	}
	add(&all->too_many, 1);
	return NO_ROW;
}

/* Behind its end are zeros.  Byte by byte: the next page may not be there. */
static bool read_name(struct ap_regions *all, u64 from, const char *prefix,
		      char name[AP_REGION_NAME])
{
	u32 n = 0;

	memset(name, 0, AP_REGION_NAME);
	while (*prefix)
		name[n++] = *prefix++;
	for (; n < AP_REGION_NAME; n++) {
		if (ap_safe_copy(&name[n], (const void *)from++, 1))
			break;
		if (!name[n])
			return true;
	}
	add(&all->unreadable, 1);
	return false;
}

/* --- what a thread has counted */

static void read_counts(struct ap_thread *t, u64 at[AP_REGION_EVENTS])
{
	const struct ap_session *s = ap_proc.session;
	u32 n = s->nregion_events < AP_REGION_EVENTS ? s->nregion_events : AP_REGION_EVENTS;

	ap_clients_settle(t);
	ap_service_readings(s->region_kinds, n, at);
	for (u32 i = 0; i < n; i++)
		if (s->region_kinds[i] & AP_KIND_BIT(AP_KIND_INSTR))
			at[i] -= t->region_markers;
}

static bool is_own(const struct ap_thread *t, const struct open_region *f)
{
	return f->seg == ap_proc.seg_index && f->thread == t->serial;
}

static void take_name(struct ap_thread *t, struct open_region *f)
{
	f->seg = ap_proc.seg_index;
	f->thread = t->serial;
}

/* To the row, from what was there at the beginning to now. */
static void add_call(struct ap_region_row *row, const u64 from[], const u64 to[])
{
	const u32 n = ap_proc.session->nregion_events;

	for (u32 i = 0; i < n && i < AP_REGION_EVENTS; i++) {
		add(&row->sum[i], to[i] - from[i]);
		raise(&row->least[i], ~(to[i] - from[i]));
	}
}

/* --- the stack */

static bool is_open(const struct ap_thread *t, u32 row)
{
	for (u32 i = 0; i < t->nregions; i++)
		if (frames_of(t)[i].row == row && is_own(t, &frames_of(t)[i]))
			return true;
	return false;
}

static void begin_region(struct ap_thread *t, struct ap_regions *all, u32 row)
{
	struct open_region *f = frames_of(t) + t->nregions, *top = f - 1;

	if (!t->regions_beyond && row != NO_ROW && t->nregions && top->row == row &&
	    is_own(t, top)) {
		top->again++;
		add(&all->row[row].begun, 1);
		return;
	}
	if (t->nregions == AP_REGION_DEPTH) {
		t->regions_beyond++;
		add(&all->too_deep, 1);
		return;
	}
	f->row = row;
	f->again = 0;
	f->is_within = row != NO_ROW && is_open(t, row);
	take_name(t, f);
	t->nregions++;
	if (row != NO_ROW)
		add(&all->row[row].begun, 1);
	read_counts(t, f->at);
}

/* Of the innermost one. */
static void end_call(struct ap_thread *t, struct ap_regions *all, struct open_region *f)
{
	struct ap_region_row *row = &all->row[f->row];
	u64 now[AP_REGION_EVENTS];

	if (!is_own(t, f) && !f->again)
		return;
	if (f->again || f->is_within) {
		add(&row->within, 1);
	} else {
		read_counts(t, now);
		add_call(row, f->at, now);
	}
	add(&row->ended, 1);
}

/* What is open within it was left some other way, and is not counted. */
static void end_region(struct ap_thread *t, struct ap_regions *all, u32 row, bool must_be_open)
{
	u32 i = t->nregions;

	if (t->regions_beyond) {
		t->regions_beyond--;
		return;
	}
	while (i && frames_of(t)[i - 1].row != row)
		i--;
	if (!i) {
		if (must_be_open && row != NO_ROW)
			add(&all->row[row].unbegun, 1);
		return;
	}
	t->nregions = i;
	if (row != NO_ROW)
		end_call(t, all, &frames_of(t)[i - 1]);
	if (row != NO_ROW && frames_of(t)[i - 1].again)
		frames_of(t)[i - 1].again--;
	else
		t->nregions--;
}

void ap_regions_inherit(struct ap_thread *child, const struct ap_thread *parent)
{
	memcpy(frames_of(child), frames_of(parent), parent->nregions * sizeof(struct open_region));
	child->nregions = parent->nregions;
	child->regions_beyond = parent->regions_beyond;
}

/* --- callgrind's and cachegrind's */

static u32 own_row(struct ap_regions *all, const char *text)
{
	char name[AP_REGION_NAME] = { 0 };

	for (u32 i = 0; text[i] && i < AP_REGION_NAME - 1; i++)
		name[i] = text[i];
	return row_of(all, name);
}

/* Once more while it is open, or an end while it is not, changes nothing, as with valgrind. */
static void set_open(struct ap_thread *t, struct ap_regions *all, const char *text, bool on)
{
	u32 row = own_row(all, text);

	if (row == NO_ROW)
		return;
	if (!on)
		end_region(t, all, row, false);
	else if (!is_open(t, row))
		begin_region(t, all, row);
}

/* Before the first one all is since the thread's beginning, or since that of the fork's child. */
static void end_dump(struct ap_thread *t, struct ap_regions *all, u32 row)
{
	struct open_region *last = frames_of(t) + AP_REGION_DEPTH;
	u64 now[AP_REGION_EVENTS];

	if (!t->has_dumped || !is_own(t, last))
		memset(last->at, 0, sizeof(last->at));
	read_counts(t, now);
	if (row != NO_ROW) {
		add(&all->row[row].begun, 1);
		add_call(&all->row[row], last->at, now);
		add(&all->row[row].ended, 1);
	}
	memcpy(last->at, now, sizeof(now));
	take_name(t, last);
	t->has_dumped = true;
}

static void callgrind(struct ap_thread *t, struct ap_regions *all, const struct ap_request_words *r)
{
	static const char collected[] = "(collected)", instrumented[] = "(instrumented)";
	char name[AP_REGION_NAME];

	switch (r->number & 0xffff) {
	case AP_CALLGRIND_DUMP:
		end_dump(t, all, own_row(all, "(dump)"));
		return;
	case AP_CALLGRIND_DUMP_AT:
		if (read_name(all, r->arg[0], "(dump) ", name))
			end_dump(t, all, row_of(all, name));
		return;
	case AP_CALLGRIND_ZERO:
		end_dump(t, all, NO_ROW);
		return;
	case AP_CALLGRIND_TOGGLE:
		set_open(t, all, collected, !is_open(t, own_row(all, collected)));
		return;
	case AP_CALLGRIND_START:
	case AP_CALLGRIND_STOP:
		set_open(t, all, instrumented, (r->number & 0xffff) == AP_CALLGRIND_START);
		return;
	}
}

static void own(struct ap_thread *t, struct ap_regions *all, const struct ap_request_words *r)
{
	u32 what = r->number & 0xffff;
	char name[AP_REGION_NAME];
	u32 row;

	if (what > AP_OWN_END || !read_name(all, r->at + r->arg[0], "", name))
		return;
	row = row_of(all, name);
	if (what == AP_OWN_BEGIN)
		begin_region(t, all, row);
	else
		end_region(t, all, row, true);
}

bool ap_request_region(struct ap_thread *t, const struct ap_request_words *r)
{
	u64 tool = r->number & ~0xffffULL;
	bool is_cachegrind = tool == AP_REQUEST_TOOL('C', 'G');
	bool is_callgrind = tool == AP_REQUEST_TOOL('C', 'T');
	struct ap_regions *all;

	if (!is_cachegrind && !is_callgrind && tool != AP_REQUEST_TOOL('A', 'P'))
		return false;
	if (!ap_proc.session->nregion_events)
		return true;
	t->region_markers += r->markers;
	all = get_table();
	if (!all)
		return true;
	if (is_callgrind)
		callgrind(t, all, r);
	else if (is_cachegrind && (r->number & 0xffff) <= AP_CACHEGRIND_STOP)
		set_open(t, all, "(cachegrind)", (r->number & 0xffff) == AP_CACHEGRIND_START);
	else if (!is_cachegrind)
		own(t, all, r);
	return true;
}
