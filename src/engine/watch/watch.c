/* SPDX-License-Identifier: MIT */
/*
 * Execution breakpoints: at addresses, in files (probes), and at all instructions that lock.  No
 * block goes over a watched instruction: one that begins there only leads here, where the thread
 * counts and then executes it alone.  A code breakpoint fires before its instruction: one that a
 * signal came before is counted when it is reached again.
 *
 * The session's list may change at any time; whose blocks are older has them flushed when it enters
 * the cache, the asking thread first of all.  What the list does not name any more is not counted,
 * wherever its blocks are.
 */
#include "engine/watch/watch.h"
#include "abi/perf.h"
#include "engine/client.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/selfmaps.h"
#include "engine/sample/lane.h"
#include "engine/task/task.h"
#include "engine/translate/sb.h"
#include "engine/watch/counters.h"
#include "engine/watch/data.h"
#include "engine/watch/returns.h"

static const struct ap_client *self;

static bool is_code(u32 k)
{
	const struct ap_session *s = ap_proc.session;

	return __atomic_load_n(&s->watch_used, __ATOMIC_ACQUIRE) & (1U << k) &&
	       AP_WATCH_TYPE(s->watch_how[k]) == AP_HW_BREAKPOINT_X &&
	       !(s->watch_how[k] & AP_WATCH_COUNTER);
}

/* --- probes: code of a file, wherever that is mapped */

/*
 * Places of probes, as they were found when code was translated.  Written with the lock, read at hits without: seq is odd
 * while an entry changes.  The list of probes may have changed since then, so an entry has the place, not which probes are there.
 */
static struct {
	u32 seq;
	struct ap_file_place at;
} found[AP_WATCH_MAX];
static u32 next_found;

static bool find_file(const struct ap_map *m, void *arg)
{
	struct ap_file_place *f = arg;

	if (f->pc >= m->end)
		return true;
	if (f->pc >= m->start) {
		f->dev = m->dev;
		f->ino = m->ino;
		f->off = m->off + (f->pc - m->start);
	}
	return false;
}

/* Of both kinds, entries and returns. */
static u32 probes_of(const struct ap_file_place *f)
{
	const struct ap_session *s = ap_proc.session;
	u32 at = 0;

	for (u32 k = 0; f->ino && k < AP_WATCH_MAX; k++)
		if (is_code(k) && s->watch_how[k] & AP_WATCH_FILE && s->watch[k] == f->off &&
		    s->watch_ino[k] == f->ino && s->watch_dev[k] == f->dev)
			at |= 1U << k;
	return at;
}

/* In a chroot without /proc, or with no descriptor left.  Once in each image of a process.  Process lock held. */
static void say_unknown(void)
{
	static bool is_said;

	if (!is_said)
		ap_note2(AP_NOTE_NOT_COUNTED, "not counted: ", ap_proc.seg->comm,
			 ": probes in its text, as /proc/self/maps cannot be opened");
	is_said = true;
}

/* /proc/self/maps is asked where a probe is at that place in its page; else ino stays 0.  Process lock held. */
static struct ap_file_place place_of(u64 pc)
{
	const struct ap_session *s = ap_proc.session;
	struct ap_file_place f = { .pc = pc };
	bool is_near = false;

	for (u32 k = 0; k < AP_WATCH_MAX && !is_near; k++)
		is_near = is_code(k) && s->watch_how[k] & AP_WATCH_FILE &&
			  !((s->watch[k] ^ pc) & ~AP_PAGE_MASK);
	if (is_near && !ap_selfmaps_read(find_file, &f) && !f.ino)
		say_unknown();
	return f;
}

static bool is_same(const struct ap_file_place *a, const struct ap_file_place *b)
{
	return a->pc == b->pc && a->dev == b->dev && a->ino == b->ino && a->off == b->off;
}

/* Threads at their hits read the entry: one that says the same already stays as it is. */
static void remember(const struct ap_file_place *f, bool is_probed)
{
	u32 i = 0, seq;

	while (i < AP_WATCH_MAX && found[i].at.pc != f->pc)
		i++;
	if (i == AP_WATCH_MAX && !is_probed)
		return;
	if (i == AP_WATCH_MAX)
		i = next_found++ % AP_WATCH_MAX;
	if (is_same(&found[i].at, f))
		return;
	seq = found[i].seq;
	__atomic_store_n(&found[i].seq, seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&found[i].at.pc, f->pc, __ATOMIC_RELAXED);
	__atomic_store_n(&found[i].at.dev, f->dev, __ATOMIC_RELAXED);
	__atomic_store_n(&found[i].at.ino, f->ino, __ATOMIC_RELAXED);
	__atomic_store_n(&found[i].at.off, f->off, __ATOMIC_RELAXED);
	__atomic_store_n(&found[i].seq, seq + 2, __ATOMIC_RELEASE);
}

/* False: it is another place's, or changes. */
static bool recall(u32 i, struct ap_file_place *f)
{
	u32 seq = __atomic_load_n(&found[i].seq, __ATOMIC_ACQUIRE);

	if (seq & 1 || __atomic_load_n(&found[i].at.pc, __ATOMIC_RELAXED) != f->pc)
		return false;
	f->dev = __atomic_load_n(&found[i].at.dev, __ATOMIC_RELAXED);
	f->ino = __atomic_load_n(&found[i].at.ino, __ATOMIC_RELAXED);
	f->off = __atomic_load_n(&found[i].at.off, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&found[i].seq, __ATOMIC_RELAXED) == seq;
}

/* An entry may have made room for another one, where there are more places than entries: then it is looked up again. */
static struct ap_file_place place_hit(u64 pc)
{
	struct ap_file_place f = { .pc = pc };

	for (u32 i = 0; i < AP_WATCH_MAX; i++)
		if (recall(i, &f))
			return f;
	ap_lock_take(&ap_proc.lock);
	f = place_of(pc);
	ap_lock_drop(&ap_proc.lock);
	return f;
}

static u32 returns_of(u32 probes)
{
	u32 of = 0;

	for (u32 left = probes; left; left &= left - 1)
		if (ap_proc.session->watch_how[__builtin_ctz(left)] & AP_WATCH_RETURN)
			of |= left & -left;
	return of;
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

static bool wants_locked(void)
{
	return ap_proc.session->watch_used && of_locked();
}

bool ap_watch_is_at(u64 pc)
{
	struct ap_file_place f;
	u32 probes = 0;

	if (ap_likely(!ap_proc.session->watch_used))
		return false;
	if (has_probes()) {
		f = place_of(pc);
		probes = probes_of(&f);
		remember(&f, probes);
	}
	return probes || addresses_at(pc) || ap_returns_is_at(pc);
}

/* By its prefix, or as xchg does with memory. */
static bool is_locked(const struct ap_insn *i)
{
	bool is_xchg = !i->map && !(i->flags & (AP_INSN_VEX | AP_INSN_EVEX)) &&
		       (i->opcode & 0xfe) == 0x86 && i->modrm < 0xc0;

	return is_xchg || i->flags & AP_INSN_LOCK;
}

static enum ap_special plan_insn(struct ap_sb_insn *in)
{
	bool is_watched = ap_watch_is_at(in->pc);

	if (ap_unlikely(wants_locked()) && is_locked(&in->i))
		return AP_SPECIAL_LOCKED;
	return is_watched ? AP_SPECIAL_WATCH : AP_SPECIAL_NONE;
}

/* Not under a filter of system calls: new code takes memory. */
static void take_over(void)
{
	u32 gen = __atomic_load_n(&ap_proc.session->watch_gen, __ATOMIC_ACQUIRE);

	ap_client_on(self);
	if (ap_proc.seg->mute)
		return;
	/* before it is acknowledged: the supervisor tells of counters first, and waits for that */
	if (ap_counters_are_stale())
		ap_counters_switch();
	if (gen == ap_proc.seg->watch_ack && ap_proc.session->data_gen == ap_proc.seg->data_ack)
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

/* Counts all of them, and takes their samples. */
static void count(struct ap_thread *t, u32 hits, u64 pc, u64 value)
{
	for (u32 at = hits; at; at &= at - 1) {
		ap_watch_add(t, __builtin_ctz(at), 1);
		t->watched &= ~(at & -at);
	}
	t->call_value = value;
	for (u32 at = t->sources & 1U << AP_SAMPLE_WATCH ? hits : 0; at; at &= at - 1)
		ap_lanes_counted(t, AP_SAMPLE_WATCH, (u32)__builtin_ctz(at), pc);
}

/* What returns here has returned, whatever comes before the instruction: it is not taken back. */
static void count_returns(struct ap_thread *t, u64 pc)
{
	struct ap_file_place entry;

	while (ap_unlikely(t->nreturns) && ap_returns_take(t, pc, &entry))
		count(t, returns_of(probes_of(&entry)), pc, entry.pc);
}

static void hit(struct ap_thread *t, u64 pc, bool is_locked)
{
	u32 at = addresses_at(pc) | (is_locked ? of_locked() : 0), returns = 0;
	struct ap_file_place place = { .pc = pc };

	count_returns(t, pc);
	if (has_probes()) {
		place = place_hit(pc);
		at |= probes_of(&place);
		returns = returns_of(at);
	}
	t->watch_hit = at & ~returns;
	t->watch_pc = pc;
	t->return_is_new = 0;
	if (returns)
		ap_returns_enter(t, &place);
	count(t, t->watch_hit, pc, pc);
}

/* It has been executed: nothing of it is taken back any more. */
static void keep(struct ap_thread *t)
{
	t->watch_hit = 0;
	t->return_is_new = 0;
}

/* A signal goes first. */
static void undo(struct ap_thread *t)
{
	bool is_due = t->regs.rip == t->watch_pc && !t->pend_sync;

	for (u32 hit = is_due ? t->watch_hit : 0; hit; hit &= hit - 1)
		ap_watch_add(t, __builtin_ctz(hit), -1);
	if (is_due)
		ap_returns_undo(t);
	keep(t);
}

static enum ap_visit visit(struct ap_thread *t, u64 pc, enum ap_special special)
{
	if (special == AP_SPECIAL_WATCH || special == AP_SPECIAL_LOCKED)
		hit(t, pc, special == AP_SPECIAL_LOCKED);
	return AP_VISIT_RUN;
}

/* A breakpoint on code fires before its instruction, also where that faults. */
static void after_exit(struct ap_thread *t, enum ap_left how)
{
	if (how != AP_LEFT_EITHER)
		keep(t);
}

AP_CLIENT(ap_watch_client)
{
	self = c;
	c->take_over = take_over;
	c->plan_insn = plan_insn;
	c->visit = visit;
	c->after_exit = after_exit;
	c->not_run = undo;
	c->mapped = ap_counters_mapped;
	c->inherit_stack = ap_returns_inherit;
	if (ap_proc.session->watch_used)
		ap_client_on(c);
}
