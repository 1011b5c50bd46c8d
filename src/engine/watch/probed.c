/* SPDX-License-Identifier: MIT */
/*
 * The kernel puts an int3 into text that has a uprobe, and knows it by its address.  In translated code it would end the program.
 * So the instruction is taken from the file, and the thread goes natively to the program's own address, with a trap behind:
 * there the kernel finds its breakpoint, counts, and executes the instruction.
 *
 * Some instructions the kernel emulates; then the CPU executes the next one as well before it traps.  A thread goes there only
 * where both may be executed natively, and is back where the engine knows which of them were.
 *
 * A return probe has the function return to code of the kernel's, which is executed there and not translated.
 *
 * An int3 that the program or its debugger has put there is not in the file either.  It is one to the kernel as well: the program gets
 * its SIGTRAP.
 */
#include "abi/errno.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/cache/region.h"
#include "engine/cache/smc.h"
#include "engine/client.h"
#include "engine/count/profile.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/resident.h"
#include "engine/runtime/selfmaps.h"
#include "engine/task/task.h"
#include "engine/translate/sb.h"
#include "engine/watch/data.h"
#include "engine/watch/watch.h"

#define INT3	      0xcc
#define PLACES	      64
#define O_CLOEXEC     0x80000
#define O_NONBLOCK    0x800
#define WCLONE	      0x80000000ULL
#define MADV_DONTNEED 4

static const struct ap_client *self;

/* pc 0: none.  first: of the file; INT3 where there is no more than what the program sees.  Written with the lock. */
static struct {
	u64 pc;
	u8 first;
} places[PLACES];
static u32 nplaces, next_place;

static s32 find(u64 pc)
{
	for (u32 i = 0; nplaces && i < PLACES; i++)
		if (__atomic_load_n(&places[i].pc, __ATOMIC_ACQUIRE) == pc)
			return (s32)i;
	return -1;
}

struct look {
	u64 pc;
	struct ap_map map; /* its path is below */
	bool is_found;
	char path[512];
	u8 byte;
};

/* Only private text that cannot be written to has uprobes. */
static bool note_map(const struct ap_map *m, void *arg)
{
	struct look *l = arg;
	struct ap_str s;

	if (l->pc >= m->end)
		return true;
	l->is_found = l->pc >= m->start && m->x && !m->w && !m->shared && m->ino;
	l->map = *m;
	ap_str_init(&s, l->path, sizeof(l->path));
	ap_str_add(&s, m->path);
	return false;
}

static bool read_as(struct look *l, const char *path)
{
	s64 fd = ap_sys3(AP_NR_open, (u64)path, O_CLOEXEC | O_NONBLOCK, 0);
	struct ap_kstat st;
	bool is_read;

	if (ap_is_err(fd))
		return false;
	is_read = !ap_is_err(ap_sys2(AP_NR_fstat, (u64)fd, (u64)&st)) && st.ino == l->map.ino &&
		  ap_sys4(AP_NR_pread64, (u64)fd, (u64)&l->byte, 1,
			  l->map.off + (l->pc - l->map.start)) == 1;
	ap_sys1(AP_NR_close, (u64)fd);
	return is_read;
}

/* By its mapping, which needs a capability, or by a name: it may be unlinked, or another file's by now. */
static bool read_file(struct look *l)
{
	char name[64];
	struct ap_str s;

	ap_str_init(&s, name, sizeof(name));
	ap_str_add(&s, "/proc/self/map_files/");
	ap_str_hex(&s, l->map.start, 1);
	ap_str_add(&s, "-");
	ap_str_hex(&s, l->map.end, 1);
	return read_as(l, name) || read_as(l, "/proc/self/exe") ||
	       (*l->path == '/' && read_as(l, l->path));
}

/* In the child: its page becomes the file's again.  A page that was nobody's file is zero then. */
AP_NORETURN static void tell_byte(u64 pc)
{
	u64 page = pc & AP_PAGE_MASK;
	u8 byte = INT3, other = 0;
	bool is_there = !ap_sys3(AP_NR_madvise, page, AP_PAGE_SIZE, MADV_DONTNEED) &&
			!ap_safe_copy(&byte, (const void *)pc, 1);

	for (u32 k = 0; is_there && k < AP_PAGE_SIZE && !other; k++)
		is_there = !ap_safe_copy(&other, (const void *)(page + k), 1);
	ap_sys1(AP_NR_exit_group, is_there && other ? byte : INT3);
	__builtin_unreachable();
}

/*
 * No name leads to the file (after a chroot, say), but a copy of the task can drop the kernel's copy of the page.  Its exit
 * sends no signal, and wait() does not find it.
 */
static bool read_in_child(struct look *l)
{
	u64 old = ap_sig_block_all();
	s64 pid = ap_sys5(AP_NR_clone, AP_CLONE_UNTRACED, 0, 0, 0, 0), ret;
	s32 status = -1;

	if (!pid)
		tell_byte(l->pc);
	if (!ap_is_err(pid)) {
		do
			ret = ap_sys4(AP_NR_wait4, (u64)pid, (u64)&status, WCLONE, 0);
		while (ret == -AP_EINTR);
	}
	ap_sig_set_mask(old);
	l->byte = (u8)(status >> 8);
	return !ap_is_err(pid) && ret == pid && !(status & 0x7f);
}

static void remember(u64 pc, u8 first)
{
	next_place = (next_place + 1) % PLACES;
	__atomic_store_n(&places[next_place].pc, 0, __ATOMIC_RELEASE);
	places[next_place].first = first;
	__atomic_store_n(&places[next_place].pc, pc, __ATOMIC_RELEASE);
	nplaces = PLACES;
}

/* The file may be one that a thread of the program has to supply: it is read without the lock. */
static void look_up(u64 pc)
{
	struct look l = { .pc = pc, .byte = INT3 }, again = { .pc = pc };
	const struct ap_range *r;
	bool may, is_same;

	ap_lock_take(&ap_proc.lock);
	r = ap_region_find(pc);
	may = ap_selfmaps_read(note_map, &l) ? l.is_found
					     : r && !(r->flags & (AP_RANGE_W | AP_RANGE_SHARED));
	ap_lock_drop(&ap_proc.lock);
	if (!may || ((!l.is_found || !read_file(&l)) && !read_in_child(&l)))
		l.byte = INT3;
	ap_lock_take(&ap_proc.lock);
	is_same = !ap_selfmaps_read(note_map, &again) ||
		  (again.is_found == l.is_found && again.map.ino == l.map.ino &&
		   again.map.off - again.map.start == l.map.off - l.map.start);
	if (is_same && find(pc) < 0)
		remember(pc, l.byte);
	ap_lock_drop(&ap_proc.lock);
}

static bool is_unknown(u64 pc)
{
	if (ap_proc.seg->mute || find(pc) >= 0)
		return false;
	ap_client_on(self);
	return true;
}

/* An int3 that is the kernel's is the instruction's first byte. */
static void read_int3(u64 pc, u8 *code)
{
	s32 i = find(pc);

	if (i >= 0)
		*code = places[i].first;
}

/* Without the lock it may be gone, which the visit finds. */
static bool is_at(u64 pc)
{
	s32 i = ap_unlikely(nplaces) ? find(pc) : -1;

	return i >= 0 && places[i].first != INT3;
}

/* Code goes, or changes.  Lock held. */
static void forget(u64 start, u64 end)
{
	for (u32 i = 0; ap_unlikely(nplaces) && i < PLACES; i++)
		if (places[i].pc - start < end - start)
			__atomic_store_n(&places[i].pc, 0, __ATOMIC_RELEASE);
}

#define TRACEPOINT	2
#define FIRST_DYNAMIC	6 /* type of a PMU that the kernel has numbered */
#define BPF_LINK_CREATE 28

static bool may_probe(const struct ap_call *c)
{
	u32 type;

	if (c->nr == AP_NR_bpf)
		return c->a[0] == BPF_LINK_CREATE;
	return !ap_safe_copy(&type, (const void *)c->a[0], sizeof(type)) &&
	       (type == TRACEPOINT || type >= FIRST_DYNAMIC);
}

/* By the program: code that is there is read again. */
static void text_changed(const struct ap_call *c, s64 ret)
{
	if (ap_is_err(ret) || ap_proc.seg->mute || !may_probe(c))
		return;
	ap_lock_take(&ap_proc.lock);
	ap_cache_flush();
	ap_lock_drop(&ap_proc.lock);
}

/* --- returns */

static u64 trampoline; /* a page; found once, whoever is first */

static bool find_trampoline(const struct ap_map *m, void *arg)
{
	if (!strcmp(m->path, "[uprobes]"))
		*(u64 *)arg = m->start;
	return !*(u64 *)arg;
}

/* The kernel has functions that are probed return to code of its own, which no one can read.  As far as is known. */
static bool is_trampoline(u64 pc)
{
	return pc - __atomic_load_n(&trampoline, __ATOMIC_RELAXED) < AP_PAGE_SIZE;
}

/*
 * Was it an instruction of that which has led from pc to `to`?  false also where one of the program's has been executed behind it,
 * as the kernel went there in the middle of a step.
 */
static bool led_to(u64 pc, u64 to)
{
	u64 page = __atomic_load_n(&trampoline, __ATOMIC_RELAXED);

	if (!is_trampoline(pc)) {
		page = 0;
		ap_lock_take(&ap_proc.lock);
		if (!ap_selfmaps_read(find_trampoline, &page))
			page = 0;
		ap_lock_drop(&ap_proc.lock);
		__atomic_store_n(&trampoline, page, __ATOMIC_RELAXED);
	}
	return page && pc - page < AP_PAGE_SIZE && (pc != page || to - page < AP_PAGE_SIZE);
}

/* --- the visit */

struct insn {
	struct ap_insn i;
	u64 pc;
	const u8 *code;
};

/* What was read for a visit: the instruction, then what may follow it where it leads to. */
enum { HERE, NEXT, OTHER };

static bool read_for(struct ap_thread *t, u32 which, u64 pc)
{
	u8 *code = t->probed[which];

	memset(code, 0, sizeof(t->probed[which]));
	return ap_sb_fetch(pc, code) > 0;
}

static bool decode(struct insn *in, const struct ap_thread *t, u32 which, u64 pc)
{
	in->pc = pc;
	in->code = t->probed[which];
	return !ap_insn_decode(&in->i, in->code, AP_INSN_MAX);
}

static bool is_direct(const struct insn *in)
{
	return in->i.kind == AP_I_JMP || in->i.kind == AP_I_CALL;
}

static bool is_cond(const struct insn *in)
{
	return in->i.kind == AP_I_JCC || in->i.kind == AP_I_JRCXZ;
}

static bool is_indirect(const struct insn *in)
{
	return in->i.kind > AP_I_CALL;
}

static u64 target_of(const struct insn *in)
{
	return ap_insn_target(&in->i, in->pc);
}

static u64 next_of(const struct insn *in)
{
	return is_direct(in) ? target_of(in) : in->pc + in->i.len;
}

/* May the CPU execute it with the engine's %gs, and is it the CPU that is to? */
static bool is_plain(const struct insn *in)
{
	static const u8 special[] = {
		0x01, 0x31, 0x33, 0xa2, 0xae, 0xc7
	}; /* of map 1: rdtsc, cpuid, ... */
	const struct ap_insn *i = &in->i;

	if (i->seg == AP_SEG_GS ||
	    i->flags & (AP_INSN_REP | AP_INSN_GS_BASE | AP_INSN_MOV_SEG | AP_INSN_RFLAGS))
		return false;
	if (i->map == 1 && !(i->flags & (AP_INSN_VEX | AP_INSN_EVEX)))
		for (u32 k = 0; k < sizeof(special); k++)
			if (i->opcode == special[k])
				return false;
	return i->kind <= AP_I_RET;
}

/* What follows an instruction that the kernel may have emulated; false: it may not be executed as well. */
static bool may_follow(struct ap_thread *t, u32 which, u64 pc, bool one_way)
{
	struct insn in;

	if (!read_for(t, which, pc) || !decode(&in, t, which, pc) || !is_plain(&in) ||
	    in.code[0] == INT3 || is_at(pc) || ap_watch_is_at(pc))
		return false;
	return !one_way || in.i.kind == AP_I_OTHER;
}

/* Lock held. */
static bool may_visit(struct ap_thread *t, u64 pc)
{
	struct insn in;

	if (!read_for(t, HERE, pc) || !decode(&in, t, HERE, pc) || !is_plain(&in))
		return false;
	if (is_indirect(&in)) /* never emulated */
		return true;
	if (!is_cond(&in))
		return may_follow(t, NEXT, next_of(&in), false);
	return may_follow(t, NEXT, next_of(&in), true) &&
	       may_follow(t, OTHER, target_of(&in), true);
}

/* So much it takes from the stack pointer where the kernel emulates it; nothing else that it emulates changes what addresses are made of. */
static u64 pushed(const struct insn *in)
{
	bool is_push = !in->i.map && (in->i.opcode & 0xf8) == 0x50;

	return is_push || in->i.kind == AP_I_CALL ? sizeof(u64) : 0;
}

static u32 hits_at(struct ap_thread *t, u64 pc, u64 taken)
{
	t->data.is_due = false;
	t->regs.gpr[AP_RSP] -= taken;
	ap_clients_before_alone(t, pc);
	t->regs.gpr[AP_RSP] += taken;
	return t->data.is_due ? t->data.hits : 0;
}

/* Which watched data it is about to access, and what may be executed behind it.  That counts when it is back. */
static void note_data(struct ap_thread *t, u64 pc)
{
	struct ap_data_note own;
	struct insn in;

	t->probed_hits[0] = t->probed_hits[1] = 0;
	if (ap_likely(!ap_proc.data) || !decode(&in, t, HERE, pc))
		return;
	own = (struct ap_data_note){ .pc = pc, .hits = hits_at(t, pc, 0), .is_due = true };
	if (!is_indirect(&in))
		t->probed_hits[0] = hits_at(t, next_of(&in), pushed(&in));
	if (is_cond(&in))
		t->probed_hits[1] = hits_at(t, target_of(&in), 0);
	t->data = own;
}

/*
 * The thread is at such an instruction: the CPU and the kernel execute it, and the thread comes back by a signal.  Returns where
 * that cannot be: false, the code is to be read again, as the breakpoint is gone, or is known now; true, the instruction is to be
 * executed without it.
 */
static bool execute(struct ap_thread *t, u64 pc)
{
	u8 byte = 0;
	bool is_there, may;

	ap_lock_take(&ap_proc.lock);
	if (find(pc) < 0) {
		ap_lock_drop(&ap_proc.lock);
		look_up(pc);
		return false;
	}
	is_there = !ap_resident_copy(&byte, pc, 1) && byte == INT3 && is_at(pc);
	if (!is_there) {
		forget(pc, pc + 1);
		ap_cache_invalidate(pc, pc + 1);
	}
	may = is_there && may_visit(t, pc);
	if (is_there && !may && t->traced.how &&
	    ap_smc_may_be_poked(pc)) { /* the tracer wants its SIGTRAP */
		forget(pc, pc + 1);
		ap_cache_invalidate(pc, pc + 1);
		remember(pc, INT3);
		is_there = false;
	}
	ap_lock_drop(&ap_proc.lock);
	if (!may)
		return is_there;
	note_data(t, pc);
	t->native_pc = pc;
	t->on_trial = AP_TRIAL_PROBED;
	ap_gate_native_step(t);
}

static void count(struct ap_thread *t, const struct insn *in, bool is_taken)
{
	u64 base = ap_rec_vec(AP_REC_PLAIN);
	struct ap_vec vec;

	if (!(ap_proc.flags & AP_F_COUNT))
		return;
	if (is_cond(in))
		base = ap_rec_vec(is_taken ? AP_REC_JCC_T : AP_REC_JCC_NT);
	else if (is_direct(in))
		base = ap_rec_vec(in->i.kind == AP_I_CALL ? AP_REC_CALL : AP_REC_JMP);
	else if (is_indirect(in))
		base = ap_indirect_vec(&in->i);
	vec = (struct ap_vec){ .g = { [AP_VEC_BASE] = base } };
	ap_more_add(&vec, ap_insn_more(&in->i, in->code));
	ap_count_extra(t, &vec, 1);
	ap_profile_add(in->pc, 1);
}

/* Has the thread come from this instruction to rip? */
static bool leads_to(const struct insn *in, u64 rip)
{
	return rip == next_of(in) || is_indirect(in) || (is_cond(in) && rip == target_of(in));
}

static bool is_taken_to(const struct insn *in, u64 rip)
{
	return is_cond(in) && rip != next_of(in);
}

/* It is back, with the registers that it has: counts what it has executed.  From the handler as well. */
static void trial_done(struct ap_thread *t)
{
	u64 rip = t->regs.rip;
	struct insn in, next;
	bool by_target = false;

	if (rip == t->native_pc || !decode(&in, t, HERE, t->native_pc))
		return;
	if (leads_to(&in, rip)) {
		count(t, &in, is_taken_to(&in, rip));
		return;
	}
	if (is_cond(&in))
		by_target = !decode(&next, t, NEXT, next_of(&in)) || !leads_to(&next, rip);
	if (!decode(&next, t, by_target ? OTHER : NEXT, by_target ? target_of(&in) : next_of(&in)))
		return;
	t->data.more_hits = t->probed_hits[by_target];
	count(t, &in, by_target);
	count(t, &next, is_taken_to(&next, rip));
}

/* A breakpoint of the session's at the same place has been counted by now. */
static enum ap_visit visit(struct ap_thread *t, u64 pc, enum ap_special special)
{
	if (special == AP_SPECIAL_PROBED)
		return execute(t, pc) ? AP_VISIT_RUN : AP_VISIT_RETRY;
	if (special != AP_SPECIAL_DATA && is_at(pc))
		(void)execute(t, pc);
	return AP_VISIT_RUN;
}

static enum ap_special plan_insn(struct ap_sb_insn *in)
{
	return is_at(in->pc) ? AP_SPECIAL_PROBED : AP_SPECIAL_NONE;
}

AP_CLIENT(ap_probed_client)
{
	self = c;
	c->text_changed = text_changed;
	c->plan_insn = plan_insn;
	c->is_unknown_int3 = is_unknown;
	c->read_int3 = read_int3;
	c->drop = forget;
	c->visit = visit;
	c->is_unreadable = is_trampoline;
	c->led_to = led_to;
	c->trial_done = trial_done;
}
