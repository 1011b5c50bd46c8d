/* SPDX-License-Identifier: MIT */
/*
 * The dispatcher: every way out of translated code ends here, and every way in starts here.  It runs
 * on an empty engine stack with the thread's registers in t->regs and never returns.
 */
#include "abi/switches.h"
#include "engine/cache/lookup.h"
#include "engine/cache/region.h"
#include "engine/cache/smc.h"
#include "engine/cache/unit.h"
#include "engine/client.h"
#include "engine/count/profile.h"
#include "engine/dispatch/emulate.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/resident.h"
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
	const struct ap_exit *middle; /* of AP_EXIT_LANE, no client's own */
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

/* By an indirect branch; the block if it is to be made anew. */
static struct ap_block *find_old(struct ap_thread *t)
{
	struct ap_where w;

	if (ap_likely(!ap_ibl_has_old_code()) ||
	    !ap_cache_locate((u64)ap_unit_place(t->branch_id), &w))
		return NULL;
	return w.block && w.block->small ? w.block : NULL;
}

/* By an exit of a block, whose stub says which. */
static void read_direct(struct ap_thread *t, struct leave *l)
{
	struct ap_exit *x = ap_stub_exit(ap_unit_place(t->exit_id));

	*l = (struct leave){ .target = x->target, .kind = x->kind, .special = x->special };
	if (!t->alone)
		l->link = x;
	if (ap_unlikely(l->kind == AP_EXIT_LANE)) {
		l->target = ap_cache_leave_middle(t, x);
		l->begin = x->from->pc;
		l->link = NULL;
		if (ap_clients_own_exit(t, x))
			l->kind = AP_EXIT_DIRECT;
		else
			l->middle = x;
	}
	ap_clients_left_by(t, &(struct ap_way_out){ .x = x });
	if (x->from->probe && x->kind == AP_EXIT_DIRECT) {
		/* The branch in question is the last one; one left earlier is taken to fall through. */
		bool taken = x == &x->from->exits[x->from->nexits - 2];

		ap_hint_set(x->from->last_pc, taken ? AP_HINT_TAKEN : AP_HINT_NOT_TAKEN);
		l->probe = x->from;
		l->link = NULL;
	}
}

static void read_indirect(struct ap_thread *t, struct leave *l)
{
	const u8 *branch = ap_unit_place(t->branch_id);
	struct ap_where w;

	if (ap_unlikely(!is_canonical(t->regs.rip)) && ap_cache_locate((u64)branch, &w)) {
		l->branch = w.app_pc;
		l->lean = w.block->lean;
	}
	l->old = find_old(t);
	ap_clients_left_by(
		t, &(struct ap_way_out){ .branch = branch, .is_to_nowhere = l->branch != 0 });
}

static struct leave read_exit(struct ap_thread *t)
{
	struct leave l = { .kind = (u8)t->exit_kind };
	struct ap_where w;

	if (t->exit_kind == AP_EXIT_DIRECT) {
		read_direct(t, &l);
	} else if (t->exit_kind == AP_EXIT_IBL) {
		read_indirect(t, &l);
	} else {
		if (t->exit_kind == AP_EXIT_DATA &&
		    ap_cache_locate((u64)ap_unit_place(t->exit_id), &w)) {
			l.target = w.app_pc;
			ap_cache_count_partial(t, &w);
		}
		ap_clients_left_by(t, &(struct ap_way_out){ 0 });
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
	ap_clients_enter(t, b);
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
static void drop_alone(struct ap_thread *t, bool is_next_alone)
{
	ap_clients_left_block(t, is_next_alone);
	if (ap_unlikely(t->alone) && t->epoch == ap_proc.epoch)
		ap_cache_drop_probe(t->alone);
	t->alone = NULL;
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

/* Another thread wants this one to wait outside.  Lock held; dropped where it does not return. */
static void keep_still(struct ap_thread *t, bool by_ibl)
{
	if (ap_likely(!ap_still_is_wanted(t)))
		return;
	ap_lock_drop(&ap_proc.lock);
	ap_still_wait(t);
	run(t, by_ibl);
}

/* What clients say of it; all but AP_ENTRY_GOES_ON and _USE do not return. */
static void obey(struct ap_thread *t, enum ap_verdict verdict, bool by_ibl)
{
	if (verdict == AP_ENTRY_RETRY)
		run(t, by_ibl);
	if (verdict == AP_ENTRY_STEP)
		ap_dispatch_one_shot(t);
	if (verdict == AP_ENTRY_NO_MEMORY)
		no_memory(t);
}

/* The block to go on in.  Lock held. */
static struct ap_block *look_up(struct ap_thread *t, const struct ap_entry *e)
{
	enum ap_verdict verdict = ap_clients_before_entry(t, e);
	struct ap_block *b = NULL;

	obey(t, verdict, e->by_ibl);
	verdict = ap_clients_choose_block(t, e, &b);
	obey(t, verdict, e->by_ibl);
	if (verdict == AP_ENTRY_GOES_ON)
		b = ap_cache_get(t->regs.rip, e->by_ibl);
	if (!b)
		no_memory(t);
	return b;
}

/* The supervisor has changed what it wants of the thread. */
static bool is_asked(struct ap_thread *t)
{
	return __atomic_load_n(&ap_thread_slot(t)->sampler_gen, __ATOMIC_ACQUIRE) != t->sampler_gen;
}

/* Goes on at t->regs.rip: deliver, lock, clients, look up, link, enter. */
AP_NORETURN static void run_from(struct ap_thread *t, const struct leave *l, bool by_ibl)
{
	struct ap_exit *link = l ? l->link : NULL;
	struct ap_entry e = { .by_middle = l && l->kind == AP_EXIT_LANE };
	u32 epoch = t->epoch;
	struct ap_block *b;

	if (ap_unlikely(is_asked(t)))
		ap_clients_asked(t);
	ap_clients_arrive(t);
	if (is_interrupted(t, &by_ibl))
		link = NULL;
	ap_lock_take(&ap_proc.lock);
	drop_alone(t, false);
	heed(t);
	drop_left(l, epoch);
	keep_still(t, by_ibl);
	e.by_ibl = by_ibl;
	e.was_plain = t->plain;
	b = look_up(t, &e);
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
	case AP_SPECIAL_REQUEST:
	case AP_SPECIAL_DATA:
		visit(t, l->target, l->special);
	case AP_SPECIAL_CPUID:
		ap_smc_serialize();
		ap_emulate_cpuid(t, l->target);
		run(t, false);
	case AP_SPECIAL_RANDOM:
		ap_emulate_random(t, l->target);
		run(t, false);
	case AP_SPECIAL_TSC:
		ap_emulate_tsc(t, l->target);
		run(t, false);
	case AP_SPECIAL_RDPMC:
		ap_clients_settle(t);
		ap_emulate_rdpmc(t, l->target);
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
		struct ap_vec vec = { .g = { [AP_VEC_BASE] = ap_indirect_vec(&i) } };

		if (lean)
			vec.g[AP_VEC_BASE] = AP_VEC_ONE(AP_VEC_INSTR);
		ap_more_add(&vec, ap_insn_more(&i, buf));
		ap_count_extra(t, &vec, (u64)-1);
		ap_profile_add(pc, -1);
	}
	t->regs.rip = pc;
	ap_clients_after_exit(t, AP_LEFT_BEFORE);
	ap_signal_general_protection(t);
}

void ap_dispatch(struct ap_thread *t)
{
	struct leave l;

	ap_clients_back(t);
	if (ap_unlikely(t->exit_kind == AP_EXIT_ABANDONED))
		t->exit_kind = AP_EXIT_NONE;
	l = read_exit(t);
	if (ap_unlikely(l.middle)) {
		t->regs.rip = l.target;
		ap_clients_left_middle(t, l.middle);
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
		ap_clients_out_of_middle(t, l.begin);
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
	t->resume = NULL; /* a handler that comes here has left the cache without ap_dispatch */
	t->went_on = NULL;
	ap_clients_left_by(t, &(struct ap_way_out){ 0 });
	set_in_code(t, 0);
	if (__atomic_load_n(&t->pending, __ATOMIC_RELAXED))
		run(t, false);
	ap_clients_arrive_alone(t);
	ap_lock_take(&ap_proc.lock);
	if (ap_still_is_wanted(t)) {
		ap_lock_drop(&ap_proc.lock);
		ap_still_wait(t);
		ap_dispatch_one_shot(t);
	}
	if (ap_unlikely(ap_proc.native)) {
		ap_lock_drop(&ap_proc.lock);
		ap_native_park(t);
	}
	drop_alone(t, true);
	if (!ap_clients_before_entry_alone(t))
		no_memory(t);
	t->alone = ap_cache_one_shot(t->regs.rip);
	if (!t->alone)
		no_memory(t);
	enter_locked(t, t->alone);
}
