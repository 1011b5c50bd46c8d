/* SPDX-License-Identifier: MIT */
/*
 * Execution breakpoints: at addresses, in files (probes), and at all instructions that lock.  No block goes over a watched instruction: one that begins there only leads
 * here, where the thread counts and then executes it alone.  A code breakpoint fires before its
 * instruction: one that a signal came before is counted when it is reached again.
 *
 * The session's list may change at any time; whose blocks are older has them flushed when it enters
 * the cache, the asking thread first of all.  What the list does not name any more is not counted,
 * wherever its blocks are.
 */
#include "abi/perf.h"
#include "engine/data.h"
#include "engine/engine.h"
#include "engine/selfmaps.h"
#include "engine/task.h"

static bool is_code(u32 k)
{
	const struct ap_session *s = ap_proc.session;

	return __atomic_load_n(&s->watch_used, __ATOMIC_ACQUIRE) & (1U << k) &&
	       AP_WATCH_TYPE(s->watch_how[k]) == AP_HW_BREAKPOINT_X;
}

/* --- probes: code of a file, wherever that is mapped */

/*
 * Where probes were found when code was translated: which of them are at this address.  Written with the lock, read at their hits
 * without: a block that leads to a hit is younger than its entry.
 */
static struct {
	u64 pc;
	u32 mask;
} found[AP_WATCH_MAX];
static u32 next_found;

struct file_place {
	u64 pc, dev, ino, off;
};

static bool find_file(const struct ap_map *m, void *arg)
{
	struct file_place *f = arg;

	if (f->pc >= m->end)
		return true;
	if (f->pc >= m->start) {
		f->dev = m->dev;
		f->ino = m->ino;
		f->off = m->off + (f->pc - m->start);
	}
	return false;
}

/* The probes that are at pc; /proc/self/maps is asked where one is at that place in its page.  Process lock held. */
static u32 probes_at(u64 pc)
{
	const struct ap_session *s = ap_proc.session;
	struct file_place f = { .pc = pc };
	u32 near = 0, at = 0;

	for (u32 k = 0; k < AP_WATCH_MAX; k++)
		if (is_code(k) && s->watch_how[k] & AP_WATCH_FILE &&
		    !((s->watch[k] ^ pc) & ~AP_PAGE_MASK))
			near |= 1U << k;
	if (!near || !ap_selfmaps_read(find_file, &f) || !f.ino)
		return 0;
	for (u32 k = 0; k < AP_WATCH_MAX; k++)
		if (near & (1U << k) && s->watch[k] == f.off && s->watch_ino[k] == f.ino &&
		    s->watch_dev[k] == f.dev)
			at |= 1U << k;
	return at;
}

static void remember(u64 pc, u32 mask)
{
	u32 i = 0;

	while (i < AP_WATCH_MAX && found[i].pc != pc)
		i++;
	if (i == AP_WATCH_MAX) {
		if (!mask)
			return;
		i = next_found++ % AP_WATCH_MAX;
	}
	__atomic_store_n(&found[i].mask, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&found[i].pc, pc, __ATOMIC_RELEASE);
	__atomic_store_n(&found[i].mask, mask, __ATOMIC_RELEASE);
}

/* More places than there is room for: it is looked up again. */
static u32 probes_hit(u64 pc)
{
	u32 mask;

	for (u32 i = 0; i < AP_WATCH_MAX; i++)
		if (__atomic_load_n(&found[i].pc, __ATOMIC_ACQUIRE) == pc)
			return __atomic_load_n(&found[i].mask, __ATOMIC_ACQUIRE);
	ap_lock_take(&ap_proc.lock);
	mask = probes_at(pc);
	ap_lock_drop(&ap_proc.lock);
	return mask;
}

static bool has_probes(void)
{
	for (u32 k = 0; k < AP_WATCH_MAX; k++)
		if (is_code(k) && ap_proc.session->watch_how[k] & AP_WATCH_FILE)
			return true;
	return false;
}

/* --- addresses, and what needs none */

static u32 addresses_at(u64 pc)
{
	const struct ap_session *s = ap_proc.session;
	u32 at = 0;

	for (u32 k = 0; k < AP_WATCH_MAX; k++)
		if (is_code(k) && !(s->watch_how[k] & (AP_WATCH_FILE | AP_WATCH_LOCKED)) &&
		    s->watch[k] == pc)
			at |= 1U << k;
	return at;
}

static u32 of_locked(void)
{
	u32 of = 0;

	for (u32 k = 0; k < AP_WATCH_MAX; k++)
		if (is_code(k) && ap_proc.session->watch_how[k] & AP_WATCH_LOCKED)
			of |= 1U << k;
	return of;
}

bool ap_watch_wants_locked(void)
{
	return ap_unlikely(ap_proc.session->watch_used) && of_locked();
}

bool ap_watch_is_at(u64 pc)
{
	u32 probes = 0;

	if (ap_likely(!ap_proc.session->watch_used))
		return false;
	if (has_probes()) {
		probes = probes_at(pc);
		remember(pc, probes);
	}
	return probes || addresses_at(pc);
}

/* Not under a filter of system calls: new code takes memory. */
void ap_watch_switch(void)
{
	u32 gen = __atomic_load_n(&ap_proc.session->watch_gen, __ATOMIC_ACQUIRE);

	if (ap_proc.seg->mute)
		return;
	if (gen != ap_proc.watch_gen) {
		ap_proc.watch_gen = gen;
		ap_proc.watch_epoch = ap_proc.epoch + 1;
		ap_data_forget();
		ap_cache_flush();
	}
	if (ap_proc.session->data_gen != ap_proc.data_gen || !ap_proc.data)
		ap_data_switch();
	if (!ap_cache_has_older(ap_proc.watch_epoch))
		ap_slot_acknowledge_watches(ap_proc.watch_gen, ap_proc.data_gen);
}

void ap_watch_add(struct ap_thread *t, s32 k, s64 n)
{
	u64 *count = &ap_thread_slot(t)->watch[k];

	__atomic_store_n(count, *count + (u64)n, __ATOMIC_RELAXED);
	if (ap_unlikely(t->sources & 1U << AP_SAMPLE_WATCH) && n > 0)
		t->watched |= 1U << k; /* the registers may not be complete yet */
}

void ap_watch_hit(struct ap_thread *t, u64 pc, bool is_locked)
{
	u32 at = addresses_at(pc) | (is_locked ? of_locked() : 0);

	if (has_probes())
		at |= probes_hit(pc);
	t->watch_hit = at;
	t->watch_pc = pc;
	for (u32 k = 0; k < AP_WATCH_MAX; k++) {
		if (!(at & (1U << k)))
			continue;
		ap_watch_add(t, (s32)k, 1);
		t->watched &= ~(1U << k); /* the caller's, at once */
	}
}

void ap_watch_undo(struct ap_thread *t)
{
	bool is_due = t->regs.rip == t->watch_pc && !t->pend_sync;

	for (u32 k = 0; k < AP_WATCH_MAX; k++)
		if (is_due && t->watch_hit & (1U << k))
			ap_watch_add(t, (s32)k, -1);
	t->watch_hit = 0;
}
