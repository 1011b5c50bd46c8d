/* SPDX-License-Identifier: MIT */
/*
 * Which of the session's watches are raised in this process the supervisor says, as bits (ap_seg.counters).  Each is 16 bits at
 * an offset in a file, in the first mapping of it that is private and can be written to, as the kernel has it.  It is raised
 * where there is such a mapping, now or later, and lowered there again.  A fork's child has what its parent had raised.
 */
#include "engine/watch/counters.h"

#include "engine/runtime/engine.h"
#include "engine/runtime/selfmaps.h"
#include "engine/task/task.h"

struct counter {
	u64 dev, ino, off; /* of the counter in its file */
	u64 probe;	   /* the probe's offset: each raises it once */
};

static struct {
	struct counter of;
	u64 at; /* 0: not raised */
} raised[AP_WATCH_MAX];

static bool is_wanted(u32 k)
{
	const struct ap_session *s = ap_proc.session;

	return ap_proc.counters & __atomic_load_n(&s->watch_used, __ATOMIC_ACQUIRE) & 1U << k &&
	       s->watch_how[k] & AP_WATCH_COUNTER;
}

static struct counter counter_of(u32 k)
{
	const struct ap_session *s = ap_proc.session;

	return (struct counter){ .dev = s->watch_dev[k],
				 .ino = s->watch_ino[k],
				 .off = s->watch_counter[k],
				 .probe = s->watch[k] };
}

static bool is_same(const struct counter *a, const struct counter *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->off == b->off && a->probe == b->probe;
}

struct look {
	struct counter of;
	u64 at;
};

static bool look_at(const struct ap_map *m, void *arg)
{
	struct look *l = arg;

	if (m->dev != l->of.dev || m->ino != l->of.ino || !m->w || m->shared ||
	    l->of.off - m->off >= m->end - m->start)
		return true;
	l->at = m->start + (l->of.off - m->off);
	return false;
}

static bool add(u64 at, s32 by)
{
	u16 v;

	if (ap_safe_copy(&v, (const void *)at, sizeof(v)))
		return false;
	v = (u16)(v + by);
	return !ap_safe_copy((void *)at, &v, sizeof(v));
}

static void raise(u32 k)
{
	struct look l = { .of = counter_of(k) };

	if (!ap_selfmaps_read(look_at, &l) || !l.at || !add(l.at, 1))
		return;
	raised[k].of = l.of;
	raised[k].at = l.at;
}

void ap_counters_switch(void)
{
	if (ap_proc.seg->mute)
		return;
	ap_proc.counters = __atomic_load_n(&ap_proc.seg->counters, __ATOMIC_ACQUIRE);
	for (u32 k = 0; k < AP_WATCH_MAX; k++) {
		struct counter now = counter_of(k);

		if (raised[k].at && (!is_wanted(k) || !is_same(&now, &raised[k].of))) {
			(void)!add(raised[k].at, -1);
			raised[k].at = 0;
		}
		if (is_wanted(k) && !raised[k].at)
			raise(k);
	}
}

static u64 pages(u64 size)
{
	return AP_ALIGN_UP(size, AP_PAGE_SIZE);
}

/* A move takes along what the page says. */
static bool moves_along(const struct ap_call *c, u64 new, u64 *at)
{
	u64 by = *at - c->a[0];

	if (c->nr != AP_NR_mremap || by >= pages(c->a[1]) || by >= pages(c->a[2]))
		return false;
	*at = new + by;
	return true;
}

/* What was raised in a mapping that is gone is not there any more. */
void ap_counters_mapped(const struct ap_call *c, s64 ret)
{
	bool is_mremap = c->nr == AP_NR_mremap;
	u64 old = c->nr == AP_NR_mmap ? (u64)ret : c->a[0], new = is_mremap ? (u64)ret : old;

	if (!ap_proc.counters || ap_is_err(ret) ||
	    (c->nr != AP_NR_mmap && c->nr != AP_NR_munmap && !is_mremap))
		return;
	ap_lock_take(&ap_proc.lock);
	for (u32 k = 0; k < AP_WATCH_MAX; k++) {
		u64 *at = &raised[k].at;

		if (*at && !moves_along(c, new, at) &&
		    (*at - old < pages(c->a[1]) || (is_mremap && *at - new < pages(c->a[2]))))
			*at = 0;
	}
	if (c->nr != AP_NR_munmap)
		ap_counters_switch();
	ap_lock_drop(&ap_proc.lock);
}
