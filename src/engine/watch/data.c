/* SPDX-License-Identifier: MIT */
/*
 * Data watches: the maps that checks look into, and the exact comparison for an instruction that a
 * check did not let pass.  It is counted when it has run, for a data breakpoint is a trap: what faults,
 * or a signal comes before, has not accessed anything.
 */
#include "engine/watch/data.h"

#include "abi/perf.h"
#include "abi/switches.h"
#include "engine/cache/lookup.h"
#include "engine/client.h"
#include "engine/runtime/engine.h"
#include "engine/signal/signal.h"
#include "engine/translate/sb.h"
#include "engine/watch/watch.h"

static const struct ap_client *self;

struct watch {
	u64 addr;
	u32 len;   /* 0: none of data */
	bool both; /* reads as well as writes */
};

static struct watch watch_at(u32 k)
{
	const struct ap_session *s = ap_proc.session;
	u32 how = __atomic_load_n(&s->watch_how[k], __ATOMIC_RELAXED);
	struct watch w = { s->watch[k], AP_WATCH_LEN(how),
			   AP_WATCH_TYPE(how) == AP_HW_BREAKPOINT_RW };

	if (!(__atomic_load_n(&s->watch_used, __ATOMIC_ACQUIRE) >> k & 1) ||
	    AP_WATCH_TYPE(how) == AP_HW_BREAKPOINT_X)
		w.len = 0;
	return w;
}

/* --- the maps */

/* Watches as they are marked in the maps. */
static struct watch marked[AP_WATCH_MAX];

static const u32 reach[2] = { 8, 64 };

/* Can an access of at most so many bytes, that begins there, touch it? */
static bool may_touch(const struct watch *w, u32 size, u16 low)
{
	return w->len && (u16)(low - (u16)(w->addr - (size - 1))) < w->len + size - 1;
}

static void put(const struct watch *w, u32 map, u8 value)
{
	u8 *bytes = ap_low_maps() + map * AP_DATA_MAP;

	for (u32 k = 0; w->len && k < w->len + reach[map] - 1; k++) {
		u16 low = (u16)(w->addr - (reach[map] - 1) + k);
		bool keep = false;

		for (u32 n = 0; !value && n < AP_WATCH_MAX; n++)
			keep |= may_touch(&marked[n], reach[map], low);
		if (!keep)
			__atomic_store_n(&bytes[low], value, __ATOMIC_RELAXED);
	}
}

/* New ones are there before old ones go: other threads look all the time. */
static void mark_all(void)
{
	struct watch old[AP_WATCH_MAX];

	memcpy(old, marked, sizeof(old));
	for (u32 k = 0; k < AP_WATCH_MAX; k++) {
		marked[k] = watch_at(k);
		put(&marked[k], 0, 1);
		put(&marked[k], 1, 1);
	}
	for (u32 k = 0; k < AP_WATCH_MAX; k++) {
		put(&old[k], 0, 0);
		put(&old[k], 1, 0);
	}
}

/* AP_STRESS_CHECKS: one place of 37 looks watched, for as long as no watch near it comes and goes. */
static void mark_some(void)
{
	u8 *bytes = ap_low_maps();

	for (u32 k = 0; k < AP_LOW_MAPS; k += 37)
		bytes[k] = 1;
}

static void low_maps_moved(void)
{
	for (u32 k = 0; k < AP_WATCH_MAX; k++) {
		put(&marked[k], 0, 1);
		put(&marked[k], 1, 1);
	}
	if (ap_proc.data && ap_is_stressed(ap_proc.session, AP_STRESS_CHECKS))
		mark_some();
}

static bool is_any(void)
{
	if (ap_is_stressed(ap_proc.session, AP_STRESS_CHECKS))
		return true;
	for (u32 k = 0; k < AP_WATCH_MAX; k++)
		if (marked[k].len)
			return true;
	return false;
}

void ap_data_forget(void)
{
	bool any = ap_is_stressed(ap_proc.session, AP_STRESS_CHECKS);

	for (u32 k = 0; k < AP_WATCH_MAX; k++)
		any |= watch_at(k).len != 0;
	ap_proc.data &= any;
}

void ap_data_switch(void)
{
	ap_proc.data_gen = __atomic_load_n(&ap_proc.session->data_gen, __ATOMIC_ACQUIRE);
	mark_all();
	if (ap_proc.data || !is_any())
		return;
	ap_client_on(self);
	ap_proc.data = true;
	ap_proc.watch_epoch = ap_proc.epoch + 1;
	if (ap_is_stressed(ap_proc.session, AP_STRESS_CHECKS))
		mark_some();
	ap_cache_flush();
}

/* --- one instruction */

static bool touches(u64 at, u32 size, const struct watch *w)
{
	return w->addr - at < size || at - w->addr < w->len;
}

static void note_string(struct ap_thread *t, const struct ap_insn *i, const struct ap_access *list,
			u32 n, const u64 seg_base[3])
{
	struct ap_data_note *d = &t->data;

	d->is_rep = true;
	d->is_ecx = i->flags & AP_INSN_ADDR32;
	d->rcx = t->regs.gpr[AP_RCX];
	d->nstrings = (u8)n;
	for (u32 k = 0; k < n; k++)
		d->strings[k] = (struct ap_access_string){
			.at = ap_access_address(&list[k], t->regs.gpr, 0, seg_base),
			.size = list[k].size,
			.down = t->regs.rflags & AP_EFL_DF,
			.is_write = list[k].flags & AP_ACCESS_WRITE,
		};
}

void ap_data_note(struct ap_thread *t, const struct ap_access *a, u64 at, u32 size)
{
	for (u32 k = 0; k < AP_WATCH_MAX; k++) {
		struct watch w = watch_at(k);

		if (w.len && (w.both || a->flags & AP_ACCESS_WRITE) && touches(at, size, &w))
			t->data.hits |= 1U << k;
	}
}

/* xsave and its like: all that the CPU has enabled.  It is asked once, a virtual machine's host answers in some 20 us. */
static u32 size_of(const struct ap_access *a)
{
	static u32 known; /* threads that race find the same */
	u32 size = __atomic_load_n(&known, __ATOMIC_RELAXED), eax, ecx, edx;

	if (!(a->flags & AP_ACCESS_OPEN))
		return a->size;
	if (!size) {
		__asm__ volatile("cpuid"
				 : "=a"(eax), "=b"(size), "=c"(ecx), "=d"(edx)
				 : "a"(0xd), "c"(0));
		__atomic_store_n(&known, size, __ATOMIC_RELAXED);
	}
	return size;
}

static void ask_cpu(void)
{
	ap_vector_ask();
	(void)size_of(&(struct ap_access){ .flags = AP_ACCESS_OPEN });
}

/* What will it touch? */
static void before_alone(struct ap_thread *t, u64 pc)
{
	u64 seg_base[3] = { 0, 0, t->app_gs_base };
	struct ap_access list[AP_ACCESS_MAX];
	struct ap_insn i;
	u8 code[16];
	u32 n, avail;

	if (!ap_proc.data)
		return;
	ap_lock_take(&ap_proc.lock);
	avail = ap_sb_fetch(pc, code);
	ap_lock_drop(&ap_proc.lock);
	if (!avail || ap_insn_decode(&i, code, avail) != 0)
		return;
	n = ap_insn_accesses(&i, code, list);
	if (!n)
		return;
	if (i.seg == AP_SEG_FS)
		seg_base[AP_SEG_FS] = ap_thread_fs_base(t);
	t->data = (struct ap_data_note){ .pc = pc, .is_due = true };
	if (i.flags & AP_INSN_REP) {
		note_string(t, &i, list, n, seg_base);
		return;
	}
	for (u32 k = 0; k < n; k++) {
		u64 at = ap_access_address(&list[k], t->regs.gpr, pc + i.len, seg_base);

		if (list[k].flags & (AP_ACCESS_MASKED | AP_ACCESS_VSIB))
			ap_data_look_vector(t, &list[k], &i, code, at);
		else
			ap_data_note(t, &list[k], at, size_of(&list[k]));
	}
}

static void settle_string(struct ap_thread *t)
{
	const struct ap_data_note *d = &t->data;
	u64 done = d->rcx - t->regs.gpr[AP_RCX];

	if (d->is_ecx)
		done = (u32)done;
	for (u32 k = 0; k < AP_WATCH_MAX; k++) {
		struct watch w = watch_at(k);
		u64 n;

		if (!w.len)
			continue;
		n = ap_access_iterations(d->strings, d->nstrings, done, w.addr, w.len, w.both);
		if (n)
			ap_watch_add(t, (s32)k, (s64)n);
	}
}

/*
 * has_run: by a way out that says so; else it has where its pc has moved on, or, of a rep instruction, as often as rcx
 * says.
 */
static void settle(struct ap_thread *t, bool has_run)
{
	struct ap_data_note *d = &t->data;

	if (ap_likely(!d->is_due))
		return;
	d->is_due = false;
	if (d->is_rep) {
		settle_string(t);
		return;
	}
	for (u32 k = 0; (has_run || t->regs.rip != d->pc) && k < AP_WATCH_MAX; k++)
		if ((d->hits | d->more_hits) >> k & 1)
			ap_watch_add(t, (s32)k, (d->hits >> k & 1) + (d->more_hits >> k & 1));
}

static void after_exit(struct ap_thread *t, enum ap_left how)
{
	settle(t, how == AP_LEFT_AFTER);
}

static void not_run(struct ap_thread *t)
{
	settle(t, false);
}

static enum ap_special plan_insn(struct ap_sb_insn *in)
{
	enum ap_check_kind kind = ap_proc.data ? ap_check_kind(&in->i, in->bytes) : AP_CHECK_NONE;

	in->check = kind == AP_CHECK_INLINE;
	return kind == AP_CHECK_ALONE ? AP_SPECIAL_DATA : AP_SPECIAL_NONE;
}

AP_CLIENT(ap_data_client)
{
	self = c;
	c->ask_cpu = ask_cpu;
	c->plan_insn = plan_insn;
	c->emit_begin = ap_check_begin;
	c->emit_before = ap_check_before;
	c->emit_end = ap_check_end;
	c->low_maps_moved = low_maps_moved;
	c->before_alone = before_alone;
	c->after_exit = after_exit;
	c->not_run = not_run;
}
