/* SPDX-License-Identifier: MIT */
/*
 * read(2): the event's own numbers, those of clones that are gone, and those of clones that live.
 * Nothing is stopped for it.
 */
#include "abi/errno.h"
#include "base/mem.h"
#include "core/internal.h"

struct read_sums {
	u64 count, enabled, running;
};

/* To ask for a task's time may be a system call: the members of a group are read at one moment. */
struct read_moment {
	const struct ap_ctx *ctx;
	u64 now;
};

static u64 entry_size(u64 format)
{
	return 8 + ((format & AP_PERF_FORMAT_ID) ? 8 : 0) +
	       ((format & AP_PERF_FORMAT_LOST) ? 8 : 0);
}

u64 ap_read_size(u64 format, u32 nr_events)
{
	u64 size = ((format & AP_PERF_FORMAT_TOTAL_TIME_ENABLED) ? 8 : 0) +
		   ((format & AP_PERF_FORMAT_TOTAL_TIME_RUNNING) ? 8 : 0);

	if (format & AP_PERF_FORMAT_GROUP)
		return size + 8 + nr_events * entry_size(format);
	return size + entry_size(format);
}

static u64 now_of(struct read_moment *m, const struct ap_ctx *ctx)
{
	if (m->ctx != ctx) {
		m->ctx = ctx;
		m->now = ap_ctx_now(ctx);
	}
	return m->now;
}

static void add_own(struct ap_event *e, struct read_moment *m, struct read_sums *sums)
{
	if (e->ctx)
		ap_event_update(e, now_of(m, e->ctx));
	sums->count += ap_event_own_count(e);
	sums->enabled += e->enabled;
	sums->running += e->running;
}

static void add_event(struct ap_event *e, struct read_moment *m, struct read_sums *sums)
{
	add_own(e, m, sums);
	sums->count += e->child_count;
	sums->enabled += e->child_enabled;
	sums->running += e->child_running;
}

static void sum_event(struct ap_event *e, struct read_moment *m, struct read_sums *sums)
{
	struct read_moment other = { 0 };
	struct ap_list *l;

	memset(sums, 0, sizeof(*sums));
	add_event(e, m, sums);
	ap_list_for_each(l, &e->children)
		add_own(ap_list_entry(l, struct ap_event, child), &other, sums);
}

/* The program's buffer need not be aligned. */
static void put(u8 **p, u64 v)
{
	memcpy(*p, &v, 8);
	*p += 8;
}

static void put_times(u8 **p, u64 format, const struct read_sums *sums)
{
	if (format & AP_PERF_FORMAT_TOTAL_TIME_ENABLED)
		put(p, sums->enabled);
	if (format & AP_PERF_FORMAT_TOTAL_TIME_RUNNING)
		put(p, sums->running);
}

static u64 lost_of(const struct ap_event *e, bool own)
{
	u64 lost = ap_samplers_lost(e);
	struct ap_list *l;

	if (!own)
		ap_list_for_each(l, &e->children)
			lost += ap_samplers_lost(ap_list_entry(l, struct ap_event, child));
	return lost;
}

static void put_tail(u8 **p, u64 format, const struct ap_event *e, bool own)
{
	if (format & AP_PERF_FORMAT_ID)
		put(p, ap_event_opened(e)->id);
	if (format & AP_PERF_FORMAT_LOST)
		put(p, lost_of(e, own));
}

/* Inherited groups are summed member by member, so they must still be the same group. */
static bool same_groups(const struct ap_event *leader)
{
	struct ap_list *l;

	ap_list_for_each(l, &leader->children) {
		const struct ap_event *c = ap_list_entry(l, struct ap_event, child);

		if (c->generation != leader->generation || c->nr_siblings != leader->nr_siblings)
			return false;
	}
	return true;
}

/* own: without clones, whether they live or are gone. */
static void sum_of(struct ap_event *e, struct read_moment *m, struct read_sums *sums, bool own)
{
	if (!own) {
		sum_event(e, m, sums);
		/* its page says so as well: the task may have slept, or ended, unseen */
		if (e->page && e->ctx)
			ap_page_update(e);
		return;
	}
	memset(sums, 0, sizeof(*sums));
	add_own(e, m, sums);
}

/*
 * Sums of several tasks are estimates over all of them; of one that nobody has looked at there is
 * nothing to show.
 */
static bool is_unseen(const struct ap_event *e)
{
	return ap_list_empty(&e->children) && !e->child_enabled && ap_event_is_unseen(e);
}

/*
 * A group has one time for all: what one member has nothing to show of has not run, as counters
 * that do not fit.
 */
static bool has_unseen(const struct ap_event *leader)
{
	struct ap_list *l;

	if (is_unseen(leader))
		return true;
	ap_list_for_each(l, &leader->siblings)
		if (is_unseen(ap_list_entry(l, struct ap_event, sibling)))
			return true;
	return false;
}

static u64 put_group(struct ap_event *leader, u64 format, u8 *p, bool own)
{
	struct read_moment m = { 0 };
	struct read_sums sums;
	struct ap_list *l;
	u8 *start = p;

	sum_of(leader, &m, &sums, own);
	if (has_unseen(leader))
		sums.running = 0;
	put(&p, leader->nr_siblings + 1);
	put_times(&p, format, &sums);
	put(&p, sums.count);
	put_tail(&p, format, leader, own);
	ap_list_for_each(l, &leader->siblings) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, sibling);

		sum_of(e, &m, &sums, own);
		put(&p, sums.count);
		put_tail(&p, format, e, own);
	}
	return (u64)(p - start);
}

static u64 put_one(struct ap_event *e, u64 format, u8 *p, bool own)
{
	struct read_moment m = { 0 };
	struct read_sums sums;
	u8 *start = p;

	sum_of(e, &m, &sums, own);
	if (own) {
		/* as Linux, which leaves out their counts */
		sums.enabled += e->child_enabled;
		sums.running += e->child_running;
	}
	if (is_unseen(e))
		sums.running = 0;
	put(&p, sums.count);
	put_times(&p, format, &sums);
	put_tail(&p, format, e, own);
	return (u64)(p - start);
}

u32 ap_read_own(struct ap_event *e, u64 words[AP_READ_SIZE_MAX / 8])
{
	u64 format = e->attr.read_format;
	u64 n = format & AP_PERF_FORMAT_GROUP ? put_group(e->leader, format, (u8 *)words, true)
					      : put_one(e, format, (u8 *)words, true);

	return (u32)(n / 8);
}

s64 ap_core_read_sample(struct ap_core *core, struct ap_event *e, void *buf, u64 size)
{
	struct ap_event *opened = ap_event_opened(e);

	/* of a cgroup and a CPU there is one event, whose parts the clones are */
	if (opened->cgroup)
		return ap_core_read(core, opened, buf, size);
	if (size < ap_read_size(e->attr.read_format, e->leader->nr_siblings + 1))
		return -AP_ENOSPC;
	return ap_read_own(e, buf) * 8;
}

s64 ap_core_read(struct ap_core *core, struct ap_event *e, void *buf, u64 size)
{
	u64 format = e->attr.read_format;

	(void)core;
	if (e->state == AP_STATE_ERROR)
		return 0;
	if (size < ap_read_size(format, e->leader->nr_siblings + 1))
		return -AP_ENOSPC;
	if (!(format & AP_PERF_FORMAT_GROUP))
		return (s64)put_one(e, format, buf, false);
	if (!same_groups(e->leader))
		return -AP_ECHILD;
	return (s64)put_group(e->leader, format, buf, false);
}
