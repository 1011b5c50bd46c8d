/* SPDX-License-Identifier: MIT */
/*
 * The dispatcher: every way out of translated code ends here, and every way in starts here.  It runs
 * on an empty engine stack with the thread's registers in t->regs and never returns.
 */
#include "abi/switches.h"
#include "engine/access/feed.h"
#include "engine/cache/lookup.h"
#include "engine/cache/region.h"
#include "engine/cache/smc.h"
#include "engine/cache/unit.h"
#include "engine/client.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/resident.h"
#include "engine/sample/lane.h"
#include "engine/syscall/taken.h"
#include "engine/thread/still.h"
#include "engine/translate/fixed.h"
#include "engine/translate/heir.h"
#include "engine/translate/sb.h"

/* What a thread brought from the cache, copied while its memory could not be reused yet. */
struct leave {
	struct ap_exit *link;	/* exit to link, valid while epoch == ap_proc.epoch */
	struct ap_block *probe; /* left; valid likewise */
	u64 target;
	u64 branch; /* pc of an indirect branch to what may be no address, 0 unknown */
	u64 begin;  /* of AP_EXIT_LANE: where the block begins whose middle was left */
	struct ap_block *
		old; /* whose branch missed in a table that is not what is used now; valid likewise */
	bool lean;   /* that branch is of a block which counts no branches */
	u8 kind, special;
	const struct ap_exit *middle; /* of AP_EXIT_LANE, not a stop's */
};

/* With 4-level paging, that is; where 5 are in use it takes another look. */
static bool is_canonical(u64 pc)
{
	return (u64)((s64)(pc << 16) >> 16) == pc;
}

/* Does the kernel map user memory above 47 bits? Asked of it, as CPUID cannot say. */
static bool has_5_levels(void)
{
	const u64 high = 1ULL << 50;
	s64 at = ap_sys6(AP_NR_mmap, high, AP_PAGE_SIZE, 0,
			 AP_MAP_PRIVATE | AP_MAP_ANON | AP_MAP_NORESERVE, (u64)-1, 0);

	if (!ap_is_err(at))
		ap_sys2(AP_NR_munmap, (u64)at, AP_PAGE_SIZE);
	return at == (s64)high;
}

static bool is_no_address(u64 pc)
{
	if (is_canonical(pc))
		return false;
	return (u64)((s64)(pc << 7) >> 7) != pc || !has_5_levels();
}

static const u8 *place_of(u32 id)
{
	return ap_units[id >> AP_UNIT_OFF_BITS].base + (id & ((1U << AP_UNIT_OFF_BITS) - 1));
}

/*
 * Out of the middle of a block, behind the final exit's counter: what has not been executed is taken
 * off again.  Returns the pc to go on at: an elided jump there counts as executed.
 */
static u64 read_middle_exit(struct ap_thread *t, const struct ap_exit *x)
{
	struct ap_where w;

	ap_block_locate(x->from, x->at, &w);
	ap_cache_count_partial(t, &w);
	return w.app_pc;
}

/* By an exit that is no middle one, or an indirect branch. */
static void note_passed(struct ap_thread *t, const struct ap_exit *x)
{
	const u8 *last;
	struct ap_where w;

	if (ap_likely(!ap_lanes_passed(t)))
		return;
	last = x ? NULL : place_of(t->branch_id);
	if (x)
		ap_behind_note_exit(t, x);
	else if (ap_cache_locate((u64)last, &w))
		ap_behind_note_branch(t, w.block, last);
}

/* Out of a walked block: by an exit, an indirect branch, or in the middle of it. */
static void note_branches(struct ap_thread *t, const struct ap_exit *x, bool by_branch)
{
	if (ap_likely(!t->walked))
		return;
	if (x || by_branch)
		ap_branches_note(t, t->walked, x, by_branch ? place_of(t->branch_id) : NULL);
	else
		ap_branches_forget(t);
	t->walked = NULL;
}

/* By an indirect branch; the block if it is to be made anew. */
static struct ap_block *find_old(struct ap_thread *t)
{
	struct ap_where w;

	if (ap_likely(!ap_ibl_has_old_code()) || !ap_cache_locate((u64)place_of(t->branch_id), &w))
		return NULL;
	return w.block && w.block->small ? w.block : NULL;
}

static struct leave read_exit(struct ap_thread *t)
{
	struct leave l = { .kind = (u8)t->exit_kind };
	struct ap_where w;
	const u8 *stub;
	struct ap_exit *x;

	if (t->exit_kind == AP_EXIT_IBL && ap_unlikely(!is_canonical(t->regs.rip)) &&
	    ap_cache_locate((u64)place_of(t->branch_id), &w)) {
		l.branch = w.app_pc;
		l.lean = w.block->lean;
	}
	if (t->exit_kind == AP_EXIT_DATA && ap_cache_locate((u64)place_of(t->exit_id), &w)) {
		l.target = w.app_pc;
		ap_cache_count_partial(t, &w);
	}
	if (t->exit_kind == AP_EXIT_IBL) {
		l.old = find_old(t);
		note_passed(t, NULL);
	}
	if (t->exit_kind != AP_EXIT_DIRECT) {
		note_branches(t, NULL, t->exit_kind == AP_EXIT_IBL && !l.branch);
		return l;
	}
	stub = place_of(t->exit_id);
	x = ap_stub_exit(stub);
	l.link = x;
	l.target = x->target;
	l.kind = x->kind;
	l.special = x->special;
	if (t->alone)
		l.link = NULL;
	if (ap_unlikely(l.kind == AP_EXIT_LANE)) {
		l.target = read_middle_exit(t, x);
		l.begin = x->from->pc;
		l.link = NULL;
		if (ap_stop_is(t, x))
			l.kind = AP_EXIT_DIRECT;
		else
			l.middle = x;
	} else {
		note_passed(t, x);
	}
	note_branches(t, x, false);
	if (x->from->probe && x->kind == AP_EXIT_DIRECT) {
		/* The branch in question is the last one; one left earlier is taken to fall through. */
		bool taken = x == &x->from->exits[x->from->nexits - 2];

		ap_hint_set(x->from->last_pc, taken ? AP_HINT_TAKEN : AP_HINT_NOT_TAKEN);
		l.probe = x->from;
		l.link = NULL;
	}
	return l;
}

static void set_in_code(struct ap_thread *t, u32 v)
{
	__atomic_store_n(&ap_thread_slot(t)->in_code, v, __ATOMIC_RELEASE);
}

AP_NORETURN static void run(struct ap_thread *t, bool by_ibl);

/*
 * Does the session want more of code than it did when this thread looked?  The supervisor tells, then
 * looks at in_code, and waits for whoever is inside; who is not finds it here.
 */
static bool is_outdated(void)
{
	const struct ap_session *s = ap_proc.session;
	bool more_lanes = (s->lane_gen != ap_proc.lane_gen ||
			   (s->nlanes > ap_proc.nlanes && ap_proc.nlanes < AP_LANE_MAX)) &&
			  ap_proc.flags & AP_F_COUNT;

	return (s->watch_gen != ap_proc.watch_gen || s->data_gen != ap_proc.data_gen ||
		s->kinds & AP_KINDS_ALL & ~ap_proc.kinds || more_lanes) &&
	       !ap_proc.seg->mute;
}

/* Enters b, which the caller found under the lock; drops the lock. */
AP_NORETURN static void enter_locked(struct ap_thread *t, struct ap_block *b)
{
	t->entry = (u64)b->code;
	t->epoch = ap_proc.epoch;
	t->last_pc[t->last_block_n++ & 15] = b->pc;
	__atomic_exchange_n(&ap_thread_slot(t)->in_code, 1, __ATOMIC_SEQ_CST);
	if (ap_unlikely(is_outdated())) {
		set_in_code(t, 0);
		t->resume = NULL;
		ap_lock_drop(&ap_proc.lock);
		ap_clients_not_run(t);
		run(t, false);
	}
	if (ap_unlikely(t->resume))
		ap_resume_enter(t);
	ap_lock_drop(&ap_proc.lock);
	ap_gate_enter(t);
}

AP_NORETURN static void no_memory(struct ap_thread *t)
{
	ap_lock_drop(&ap_proc.lock);
	ap_go_native(t, "no memory for translated code");
}

/* Injected trouble: a bug of ours at the worst place, where others wait for the lock. */
static void stress_fault(const struct ap_thread *t)
{
	if (t->last_block_n == ap_proc.session->switches.fault)
		__asm__ volatile("mov %0, (%1)" : : "r"(0), "r"(0x10ULL) : "memory");
}

/* What was made for one instruction, or for one run.  Lock held. */
static void drop_alone(struct ap_thread *t)
{
	if (ap_unlikely(t->alone) && t->epoch == ap_proc.epoch)
		ap_cache_drop_probe(t->alone);
	t->alone = NULL;
	if (ap_unlikely(t->nlanes))
		ap_thread_lanes(t)->walk = NULL;
	ap_stop_end(t);
}

static struct ap_block *walk(struct ap_thread *t)
{
	struct ap_block *b = ap_walk_get(t, t->regs.rip);

	if (ap_branches_are_noted()) {
		t->walked = b;
		ap_feed_follow(t);
	}
	if (ap_thread_lanes(t)->point.has_mem)
		ap_feed_follow_data(t);
	ap_thread_lanes(t)->walk = b;
	t->feed_last_pc = b ? b->last_pc : 0;
	return b;
}

/* Where linked code goes on: mostly at a block's beginning. */
static struct ap_block *get(struct ap_thread *t, bool by_ibl)
{
	struct ap_block *b = NULL;

	if (ap_unlikely(t->nlanes) && !by_ibl)
		b = ap_resume_find(t, t->regs.rip);
	return b ? b : ap_cache_get(t->regs.rip, by_ibl);
}

/* Once more from the beginning, so that samplers are armed before anything is fed.  The lock is held. */
AP_NORETURN static void begin_feed(struct ap_thread *t, bool by_ibl)
{
	if (!ap_feed_begin(t))
		no_memory(t);
	ap_lock_drop(&ap_proc.lock);
	run(t, by_ibl);
}

static bool must_begin_feed(struct ap_thread *t, bool stopped)
{
	if (ap_likely(!ap_feed_is_on() && !t->waits.is_on))
		return false;
	if (!ap_feed_lacks(t) || (!t->feed && ap_feed_gap_waits(t, stopped)))
		return false;
	return ap_feed_is_on();
}

/* What others ask of who comes here: to leave the engine, or code that minds more.  Lock held. */
static void heed(struct ap_thread *t)
{
	if (ap_unlikely(ap_proc.native)) {
		ap_lock_drop(&ap_proc.lock);
		ap_native_park(t);
	}
	if (ap_unlikely(__atomic_load_n(&ap_proc.seg->leave, __ATOMIC_RELAXED))) {
		ap_lock_drop(&ap_proc.lock);
		ap_leave_park(t);
	}
	if (ap_unlikely(ap_is_stressed(ap_proc.session, AP_STRESS_FAULT)))
		stress_fault(t);
	if (ap_unlikely(ap_kinds_are_stale()))
		ap_kinds_switch();
	if (ap_unlikely(ap_watches_are_stale()))
		ap_clients_take_over();
	if (ap_unlikely(ap_taken_is_due()))
		ap_taken_look();
}

/* Nothing that was to be entered is kept: where it was outdated, it may be gone with the next flush. */
static void begin_anew(struct ap_thread *t)
{
	t->resume = NULL;
	t->walked = NULL;
	if (ap_unlikely(t->feed_near || t->feed_follows))
		ap_feed_look_here(t);
	if (ap_unlikely(ap_lanes_want(t)))
		ap_lanes_look(t);
}

static void connect(struct ap_exit *link, struct ap_block *b)
{
	if (ap_heir_may_link(link, b) && !b->dead)
		ap_link(link, b);
}

/* A signal or the tracer goes first.  True: then what was left does not lead to where the thread goes on. */
static bool is_interrupted(struct ap_thread *t, bool *by_ibl)
{
	bool is = false;

	if (__atomic_load_n(&t->pending, __ATOMIC_RELAXED)) {
		is = true;
		*by_ibl = false;
		ap_clients_not_run(t);
		ap_signal_deliver(t);
	}
	if (ap_unlikely(t->traced.how & AP_TRACED_LOOK)) {
		is = true;
		ap_traced_look(t);
	}
	return is;
}

/* Of what was left code goes that was made for this time, or that would be made otherwise now.  Lock held. */
static void drop_left(const struct leave *l, u32 epoch)
{
	if (!l || epoch != ap_proc.epoch)
		return;
	if (l->probe) {
		ap_heir_note_hint(l->probe->last_pc);
		ap_cache_drop_probe(l->probe);
	}
	if (ap_unlikely(l->old))
		ap_cache_drop(l->old);
}

/* The process has other lanes than the thread keeps, or wants it still.  Lock held; dropped where it does not return. */
static void keep_lanes(struct ap_thread *t, bool by_ibl)
{
	if (ap_still_is_wanted(t)) {
		ap_lock_drop(&ap_proc.lock);
		ap_still_wait(t);
		run(t, by_ibl);
	}
	if (ap_likely(t->nlanes == ap_proc.nlanes &&
		      (!t->nlanes || ap_thread_lanes(t)->gen == ap_proc.lane_gen)))
		return;
	ap_lock_drop(&ap_proc.lock);
	ap_lanes_begin(t);
	run(t, by_ibl);
}

/* The thread's log, before it enters code that writes to it.  Likewise. */
static void keep_feed(struct ap_thread *t, bool by_lane, bool by_ibl)
{
	if (must_begin_feed(t, by_lane))
		begin_feed(t, by_ibl);
	if (ap_unlikely(t->feed) && ap_feed_gap_look(t, by_lane)) {
		ap_lock_drop(&ap_proc.lock);
		run(t, by_ibl); /* which takes the samples, here */
	}
	if (ap_unlikely(ap_feed_is_watched()))
		ap_feed_make_room(t);
	if (ap_feed_must_step(t)) {
		ap_feed_read(t);
		ap_lock_drop(&ap_proc.lock);
		ap_dispatch_one_shot(t);
	}
	if (ap_unlikely(t->feed))
		ap_feed_enter_alone(t, t->feed_near);
	if (ap_unlikely(t->nlanes || t->feed) && !ap_lanes_near(t) && !t->feed_near) {
		ap_branches_forget(t);
		t->feed_follows = false;
	}
}

/*
 * The block that goes on, NULL where there is no memory for it.  Out of the middle of one: what was taken off again may have
 * made the budget good for the same exit.  Likewise.
 */
static struct ap_block *choose(struct ap_thread *t, bool in_middle, bool by_ibl)
{
	if (ap_unlikely((t->nlanes && (ap_lanes_near(t) || in_middle)) || t->feed_near))
		return walk(t);
	if (ap_unlikely(t->nlanes) && !ap_lanes_spread(t)) {
		ap_lock_drop(&ap_proc.lock);
		run(t, by_ibl);
	}
	return get(t, by_ibl);
}

/* Goes on at t->regs.rip. */
AP_NORETURN static void run_from(struct ap_thread *t, const struct leave *l, bool by_ibl)
{
	struct ap_exit *link = l ? l->link : NULL;
	bool by_lane = l && l->kind == AP_EXIT_LANE, in_middle;
	u32 epoch = t->epoch;
	struct ap_block *b;

	begin_anew(t);
	if (is_interrupted(t, &by_ibl))
		link = NULL;
	ap_lock_take(&ap_proc.lock);
	if (ap_unlikely(t->nlanes) && ap_thread_lanes(t)->walk && !ap_lanes_near(t))
		ap_resume_prepare(t);
	drop_alone(t);
	heed(t);
	drop_left(l, epoch);
	keep_lanes(t, by_ibl);
	in_middle = by_lane && !t->plain;
	keep_feed(t, by_lane, by_ibl);
	b = choose(t, in_middle, by_ibl);
	if (!b)
		no_memory(t);
	if (link && !t->resume && epoch == ap_proc.epoch && !link->from->dead)
		connect(link, b);
	else if (!by_ibl)
		ap_heir_note_entry(b, l && l->probe);
	enter_locked(t, b);
}

AP_NORETURN static void run(struct ap_thread *t, bool by_ibl)
{
	run_from(t, NULL, by_ibl);
}

/* iretq to the same privilege: rip, cs, rflags, rsp, ss from the stack. */
AP_NORETURN static void do_iret(struct ap_thread *t, u64 pc)
{
	u64 frame[5];

	t->regs.rip = pc;
	ap_clients_before_alone(t, pc);
	if (ap_safe_copy(frame, (const void *)t->regs.gpr[AP_RSP], sizeof(frame)) != 0 ||
	    (u16)frame[1] != 0x33) /* what is above a selector is nothing */
		ap_go_native(t, "iret to another code segment");
	if (is_no_address(frame[0]))
		ap_signal_general_protection(t);
	t->regs.rip = frame[0];
	t->regs.rflags = (frame[2] & 0x40dd5) | 0x202;
	t->regs.gpr[AP_RSP] = frame[3];
	ap_clients_after_exit(t, AP_LEFT_AFTER);
	ap_smc_serialize();
	run(t, false);
}

/* A transaction aborts at once, for no reason that says "retry": the fallback path runs. */
AP_NORETURN static void do_xbegin(struct ap_thread *t, u64 pc)
{
	struct ap_insn i;
	u8 buf[16];
	u32 avail = ap_sb_fetch(pc, buf);

	t->regs.rip = pc;
	if (avail == 0 || ap_insn_decode(&i, buf, avail) != 0)
		run(t, false);
	t->regs.gpr[AP_RAX] = 0;
	t->regs.rip = ap_insn_target(&i, pc);
	run(t, false);
}

/* The three entries of the vsyscall page: the kernel emulates a call of them, and so do we. */
AP_NORETURN static void do_vsyscall(struct ap_thread *t, u64 pc)
{
	static const u16 nr[3] = { 96 /* gettimeofday */, 201 /* time */, 309 /* getcpu */ };
	u64 ret, index = (pc & 0xfff) >> 10;

	t->regs.rip = pc;
	if ((pc & 0x3ff) != 0 || index > 2 ||
	    ap_safe_copy(&ret, (const void *)t->regs.gpr[AP_RSP], 8) != 0) {
		t->native_pc = pc;
		ap_gate_native_fault(t);
	}
	t->regs.gpr[AP_RAX] =
		(u64)ap_rawsys(nr[index], t->regs.gpr[AP_RDI], t->regs.gpr[AP_RSI], 0, 0, 0, 0);
	t->regs.gpr[AP_RSP] += 8;
	t->regs.rip = ret;
	run(t, false);
}

/* An executable page, which is there now.  Beyond it the hardware finds what fails. */
static bool is_executable(u64 pc)
{
	bool yes;

	ap_lock_take(&ap_proc.lock);
	/* the stack grows and some calls make more executable than they say: better ask than run natively */
	yes = ap_region_find(pc) || ap_region_discover(pc);
	if (yes)
		ap_resident_touched(pc);
	ap_lock_drop(&ap_proc.lock);
	return yes;
}

/*
 * The translator could not read the instruction at pc.  It waits for nobody, so the thread brings its page in, as the
 * CPU would, and the next one where the instruction may reach into it.  Returns where it is to be tried again.
 */
static void bring_in(struct ap_thread *t, u64 pc)
{
	u64 next = AP_ALIGN_UP(pc + 1, AP_PAGE_SIZE);
	int ret = ap_touch(pc);

	if (!ret && is_executable(pc)) {
		ret = pc + AP_INSN_MAX <= next ? 0 : ap_touch(next);
		if (!ret && (pc + AP_INSN_MAX <= next || is_executable(next)))
			run(t, false);
	}
	if (ret == -AP_EINTR) /* the signal goes first */
		run(t, false);
}

static bool has_gs_prefix(u64 pc)
{
	static const u8 prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x66, 0x67, 0xf0, 0xf2, 0xf3 };
	u8 buf[16];
	u32 avail;

	ap_lock_take(&ap_proc.lock);
	avail = ap_sb_fetch(pc, buf);
	ap_lock_drop(&ap_proc.lock);
	for (u32 k = 0, p; k < avail; k++) {
		if (buf[k] == 0x65)
			return true;
		for (p = 0; p < sizeof(prefixes) && prefixes[p] != buf[k]; p++)
			;
		if (p == sizeof(prefixes))
			break;
	}
	return false;
}

/*
 * The decoder knows no instruction at pc, and mostly neither does the CPU: programs probe for instructions and catch
 * the fault.  So the CPU executes it, and the program gets its fault.  What does execute is unknown, and is
 * followed no further (ap_sig_resume_trial).  Behind a gs prefix it might store to the engine's memory.
 */
AP_NORETURN static void do_undefined(struct ap_thread *t, u64 pc)
{
	t->regs.rip = pc;
	if (has_gs_prefix(pc))
		ap_go_native(t, "unknown instruction with a gs prefix");
	t->native_pc = pc;
	t->on_trial = AP_TRIAL_UNKNOWN;
	ap_gate_native_step(t);
}

/*
 * Mostly there is nothing, and the program gets its fault.  What can be executed and not read is the kernel's, or followed no
 * further (ap_sig_resume_trial).
 */
AP_NORETURN static void try_fetch(struct ap_thread *t, u64 pc)
{
	t->native_pc = pc;
	if (pc >> 47) /* iretq would fault here, with the engine's stack */
		ap_gate_native_fault(t);
	t->on_trial = AP_TRIAL_FETCH;
	ap_gate_native_step(t);
}

/* One instruction, which clients look at. */
AP_NORETURN static void run_alone(struct ap_thread *t, u64 pc)
{
	t->regs.rip = pc;
	ap_clients_before_alone(t, pc);
	ap_dispatch_one_shot(t);
}

/* A client had the instruction lead here. */
AP_NORETURN static void visit(struct ap_thread *t, u64 pc, enum ap_special special)
{
	t->regs.rip = pc;
	if (ap_clients_visit(t, pc, special) == AP_VISIT_RUN)
		run_alone(t, pc);
	t->traced.steps = false; /* it has not been executed */
	run(t, false);
}

AP_NORETURN static void do_special(struct ap_thread *t, const struct leave *l)
{
	switch (l->special) {
	case AP_SPECIAL_FETCH:
		t->regs.rip = l->target;
		if (!ap_clients_is_unreadable(l->target))
			bring_in(t, l->target);
		try_fetch(t, l->target);
	case AP_SPECIAL_UNDEFINED:
		do_undefined(t, l->target);
	case AP_SPECIAL_IRET:
		do_iret(t, l->target);
	case AP_SPECIAL_VSYSCALL:
		do_vsyscall(t, l->target);
	case AP_SPECIAL_XBEGIN:
		do_xbegin(t, l->target);
	case AP_SPECIAL_SERIALIZE:
		t->regs.rip = l->target;
		ap_smc_serialize();
		ap_dispatch_one_shot(t);
	case AP_SPECIAL_WATCH:
	case AP_SPECIAL_LOCKED:
	case AP_SPECIAL_PROBED:
	case AP_SPECIAL_DATA:
		visit(t, l->target, l->special);
	case AP_SPECIAL_CPUID:
		ap_smc_serialize();
		ap_pmc_cpuid(t, l->target);
		run(t, false);
	case AP_SPECIAL_RANDOM:
		ap_fixed_random(t, l->target);
		run(t, false);
	case AP_SPECIAL_TSC:
		ap_fixed_tsc(t, l->target);
		run(t, false);
	case AP_SPECIAL_RDPMC:
		ap_feed_look(t);
		ap_pmc_read(t, l->target);
		run(t, false);
	default:
		t->regs.rip = l->target;
		ap_go_native(t, "unknown instruction");
	}
}

/*
 * The CPU faults on a branch to what is no address: it has not happened, nothing was pushed or
 * popped.  Back to before it, and the fault.
 */
AP_NORETURN static void branch_to_nowhere(struct ap_thread *t, u64 pc, bool lean)
{
	struct ap_insn i;
	u8 buf[16];
	u32 avail;

	ap_lock_take(&ap_proc.lock);
	avail = ap_sb_fetch(pc, buf);
	ap_lock_drop(&ap_proc.lock);
	if (avail == 0 || ap_insn_decode(&i, buf, avail) != 0)
		run(t, true); /* it is gone meanwhile: what is left to show is where it led */
	if (i.kind == AP_I_RET)
		t->regs.gpr[AP_RSP] -= 8 + (i.imm_size ? (u32)i.imm & 0xffff : 0);
	else if (i.kind == AP_I_CALL_IND)
		t->regs.gpr[AP_RSP] += 8;
	if (ap_proc.flags & AP_F_COUNT) {
		struct ap_vec vec = { { [AP_VEC_BASE] = ap_indirect_vec(&i) } };

		if (lean)
			vec.g[AP_VEC_BASE] = AP_VEC_ONE(AP_VEC_INSTR);
		ap_more_add(&vec, ap_insn_more(&i, buf));
		ap_count_extra(t, &vec, (u64)-1);
		ap_behind_take_back(t);
	}
	t->regs.rip = pc;
	ap_clients_after_exit(t, AP_LEFT_BEFORE);
	ap_signal_general_protection(t);
}

/*
 * Left linked code because a word of a lane is used up, with no mark near: shares the budget out anew and
 * goes on as if it had not left.  In the middle of a block more has been counted than t->regs say; those are made good
 * where the gate does not let it in.
 */
static void go_on(struct ap_thread *t)
{
	const u8 *stub = place_of(t->exit_id);
	bool middle;
	const u8 *to = ap_stub_way_on(stub, &middle);
	struct ap_exit *x = ap_stub_exit(stub);

	if (t->alone || t->walked || t->stop || t->nprompts || t->feed_near || t->feed_hits ||
	    ap_proc.data || !to)
		return;
	if (!middle && ap_lanes_passed(t)) {
		t->regs.rip = x->target;
		ap_behind_note_exit(t, x);
		ap_lanes_look(t);
	}
	if (!ap_lanes_share(t))
		return;
	ap_clients_after_exit(t, AP_LEFT_AFTER);
	t->entry = (u64)to;
	t->went_on = x;
	ap_gate_enter(t);
}

/* The gate was not passed, since a signal waits; x: by which the thread had left, if it was to go on there. */
static void abandon(struct ap_thread *t, const struct ap_exit *x)
{
	if (x)
		t->regs.rip = x->kind == AP_EXIT_LANE ? read_middle_exit(t, x) : x->target;
	if (t->resume)
		ap_resume_undo(t);
	t->exit_kind = AP_EXIT_NONE;
}

void ap_dispatch(struct ap_thread *t)
{
	const struct ap_exit *went_on = t->went_on;
	struct leave l;

	t->went_on = NULL;
	if (ap_unlikely(t->exit_kind == AP_EXIT_ABANDONED))
		abandon(t, went_on);
	t->resume = NULL;
	if (ap_unlikely(t->nlanes) && t->exit_kind == AP_EXIT_DIRECT)
		go_on(t);
	l = read_exit(t);
	if (ap_unlikely(l.middle) && ap_thread_lanes(t)->lane[0].behind) {
		t->regs.rip = l.target;
		ap_behind_go_on(t, l.middle);
	}
	set_in_code(t, 0);
	if (ap_unlikely(l.branch) && is_no_address(t->regs.rip))
		branch_to_nowhere(t, l.branch, l.lean);
	ap_clients_after_exit(t, l.kind == AP_EXIT_NONE ? AP_LEFT_EITHER : AP_LEFT_AFTER);
	switch (l.kind) {
	case AP_EXIT_DIRECT:
		t->regs.rip = l.target;
		run_from(t, &l, false);
	case AP_EXIT_IBL:
		run_from(t, &l, true);
	case AP_EXIT_LANE:
		t->regs.rip = l.target;
		ap_feed_begin_calls(t, l.begin);
		run_from(t, &l, false);
	case AP_EXIT_SYSCALL:
		t->regs.rip = l.target;
		ap_syscall(t, l.target);
		run(t, false);
	case AP_EXIT_SPECIAL:
		do_special(t, &l);
	case AP_EXIT_DATA:
		run_alone(t, l.target);
	default:
		run(t, false);
	}
}

void ap_dispatch_one_shot(struct ap_thread *t)
{
	struct ap_block *b;

	t->resume = NULL; /* a handler that comes here has left the cache without ap_dispatch */
	t->went_on = NULL;
	note_branches(t, NULL, false);
	set_in_code(t, 0);
	if (__atomic_load_n(&t->pending, __ATOMIC_RELAXED))
		run(t, false);
	if (ap_lanes_passed(t)) /* by what ran before it */
		ap_lanes_look(t);
	ap_lock_take(&ap_proc.lock);
	if (ap_still_is_wanted(t)) {
		ap_lock_drop(&ap_proc.lock);
		ap_still_wait(t);
		ap_dispatch_one_shot(t);
	}
	if (ap_unlikely(t->nlanes))
		ap_walk_alone(t, t->regs.rip);
	if (ap_unlikely(ap_proc.native)) {
		ap_lock_drop(&ap_proc.lock);
		ap_native_park(t);
	}
	drop_alone(t);
	if (must_begin_feed(t, false) && !ap_feed_begin(t))
		no_memory(t);
	b = ap_cache_one_shot(t->regs.rip);
	if (!b)
		no_memory(t);
	t->alone = b;
	if (ap_unlikely(t->nlanes) && ap_branches_are_noted())
		t->walked = b;
	enter_locked(t, b);
}
