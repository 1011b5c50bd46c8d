/* SPDX-License-Identifier: MIT */
/*
 * Chooses the instructions of a superblock: follows conditional branches the way they went first,
 * elides direct jumps, guesses targets of PLT-like jumps, unrolls loops back to its own head, and stops where control is lost or a limit is
 * met.  Only decides; nothing is emitted here.
 */
#include "engine/translate/sb.h"

#include "engine/cache/region.h"
#include "engine/cache/smc.h"
#include "engine/cache/store.h"
#include "engine/client.h"
#include "engine/emit/fix.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/resident.h"
#include "engine/translate/fixed.h"
#include "engine/translate/kept.h"

#define INT3	      0xcc
#define VSYSCALL_PAGE 0xffffffffff600000ULL
/* Unrolling a loop stops at this many instructions: past it the counter is noise anyway. */
#define UNROLL_INSNS 40
/* Guesses are followed only near the block, where copied RIP-relative operands reach. */
#define FOLLOW_REACH (1LL << 30)
/* What a PLT's jump leads to before it is bound, of whatever form, is mostly right behind it. */
#define BEHIND_JUMP 16

/* Where a block in the making stands. */
struct path {
	u32 max, njcc, nguards;
	bool plt; /* behind a call, before the jump of a PLT's entry */
};

u32 ap_sb_fetch(u64 pc, u8 buf[16])
{
	const struct ap_range *r = ap_region_find(pc);
	u64 n = 15;

	if (!r)
		return 0;
	if (pc + n > r->end) {
		/* Adjacent executable ranges may follow with other attributes. */
		if (!ap_region_find(r->end))
			n = r->end - pc;
	}
	if (ap_resident_copy(buf, pc, n) != 0) {
		n = AP_ALIGN_UP(pc + 1, AP_PAGE_SIZE) - pc;
		if (n >= 15 || ap_resident_copy(buf, pc, n) != 0)
			return 0;
	}
	if (ap_unlikely(*buf == INT3))
		ap_clients_read_int3(pc, buf);
	return (u32)n;
}

#define NO_WINDOW (1ULL << 63)

u32 ap_sb_fetch_near(struct ap_sb *sb, u64 pc, u8 buf[16])
{
	const u64 last = AP_PAGE_SIZE - 16;
	u32 n;

	if (pc - sb->window <= last && ap_safe_copy(buf, (const void *)pc, 16) == 0) {
		if (ap_unlikely(*buf == INT3))
			ap_clients_read_int3(pc, buf);
		return 15;
	}
	n = ap_sb_fetch(pc, buf);
	if (n == 15 && pc % AP_PAGE_SIZE <= last)
		sb->window = pc & AP_PAGE_MASK;
	return n;
}

/*
 * Notes the pages of [pc, pc + len); false where the block must end before it: too many pages, or
 * a page whose changes are not seen, which must be read no earlier than it is about to run.
 */
static bool add_pages(struct ap_sb *sb, u64 pc, u32 len)
{
	u64 first = pc & AP_PAGE_MASK, last = (pc + len - 1) & AP_PAGE_MASK;

	for (u64 page = first;; page = last) {
		u32 k = 0;

		while (k < sb->npages && sb->pages[k] != page)
			k++;
		if (k == sb->npages) {
			if (k == AP_BLOCK_PAGES)
				return false;
			sb->pages[sb->npages++] = page;
			if (!ap_smc_protect(page)) {
				if (sb->n > 0 && !sb->transient)
					return false;
				sb->transient = true;
			}
		}
		if (page == last)
			return true;
	}
}

static void end_direct(struct ap_sb *sb, u64 target)
{
	sb->final_kind = AP_EXIT_DIRECT;
	sb->final_target = target;
}

/* The block cannot go on at pc: an exit that the engine treats, or a plain exit to try again there. */
static void end_special(struct ap_sb *sb, u64 pc, enum ap_special special)
{
	if (sb->n > 0) {
		end_direct(sb, pc);
		return;
	}
	sb->final_kind = AP_EXIT_SPECIAL;
	sb->special = special;
	sb->final_target = pc;
	sb->transient = true;
}

/* Far branches of two bytes are the kernel's (sysret, sysexit) or of extensions that hardly any system has (enclu, uiret). */
static bool mostly_faults(const struct ap_insn *i)
{
	return (i->kind == AP_I_FAR && i->map != 0) ||
	       (i->kind == AP_I_XBEGIN && !ap_pmc_has(AP_CPU_XBEGIN));
}

/* Reads and decodes the instruction at pc; false where there is none, and the block ends before it. */
static bool read_insn(struct ap_sb *sb, struct ap_sb_insn *in, u64 pc)
{
	u32 avail = ap_sb_fetch_near(sb, pc, in->bytes);
	int err;

	if (avail == 0) {
		end_special(sb, pc, AP_SPECIAL_FETCH);
		return false;
	}
	if (ap_unlikely(in->bytes[0] == INT3) && ap_clients_is_unknown_int3(pc)) {
		end_special(sb, pc, AP_SPECIAL_PROBED);
		return false;
	}
	err = ap_insn_decode_in(&in->i, in->bytes, avail);
	if (err == -AP_ENODATA && avail < 15)
		end_special(sb, pc, AP_SPECIAL_FETCH);
	else if (err != 0 || mostly_faults(&in->i))
		end_special(sb, pc, AP_SPECIAL_UNDEFINED);
	else if (!ap_mangle_supported(&in->i, in->bytes))
		end_special(sb, pc, AP_SPECIAL_UNKNOWN);
	else
		return true;
	return false;
}

static bool has_flags(u64 pc, u32 flags)
{
	const struct ap_range *r = ap_region_find(pc);

	return r && r->flags & flags;
}

#define CPUID 0xa2
#define RDPMC 0x33

/*
 * What the engine answers in the CPU's place: what takes a trip to a hypervisor; and where the session has a PMU of its own,
 * or runs shall be alike.
 */
static enum ap_special special_of(const struct ap_sb_insn *in)
{
	const struct ap_insn *i = &in->i;

	if (i->map != 1 || i->flags & (AP_INSN_VEX | AP_INSN_EVEX))
		return AP_SPECIAL_NONE;
	if (i->opcode == CPUID && !ap_proc.cpuid_faults)
		return AP_SPECIAL_CPUID;
	if (ap_proc.session->flags & AP_F_SERVE && i->opcode == RDPMC)
		return AP_SPECIAL_RDPMC;
	return ap_fixed_special(i, in->bytes, in->pc);
}

/* By an exit of its own, or here. */
static bool serializes(const struct ap_sb_insn *in)
{
	const struct ap_insn *i = &in->i;

	if (i->map != 1 || special_of(in) != AP_SPECIAL_NONE)
		return false;
	return i->opcode == CPUID || (i->opcode == 0x01 && i->modrm == 0xe8);
}

/* Why an instruction is executed alone, by way of the dispatcher. */
static enum ap_special alone_for(struct ap_sb_insn *in)
{
	enum ap_special special = ap_clients_plan_insn(in);

	if (ap_unlikely(special != AP_SPECIAL_NONE))
		return special;
	return serializes(in) ? AP_SPECIAL_SERIALIZE : AP_SPECIAL_NONE;
}

/* The next instruction into sb->insns[n]; false where the block ends before it. */
static bool next_insn(struct ap_sb *sb, u64 pc)
{
	struct ap_sb_insn *in = &sb->insns[sb->n];
	u32 npages;

	if ((pc & AP_PAGE_MASK) == VSYSCALL_PAGE) {
		end_special(sb, pc, AP_SPECIAL_VSYSCALL);
		return false;
	}
	do {
		if (!read_insn(sb, in, pc))
			return false;
		npages = sb->npages;
		if (!add_pages(sb, pc, in->i.len)) {
			end_direct(sb, pc);
			return false;
		}
		/* Another thread may have stored to it until the page was write-protected. */
	} while (sb->npages != npages && has_flags(pc, AP_RANGE_W | AP_RANGE_SHARED));
	in->pc = pc;
	in->cls = AP_REC_PLAIN;
	in->side = in->guard = in->pmc = in->check = false;
	return true;
}

/* The block ends with this instruction and goes on at next. */
static u64 end_at(struct ap_sb *sb, struct ap_sb_insn *in, u64 next)
{
	in->next = next;
	end_direct(sb, next);
	return 0;
}

/*
 * Each block of a walk costs a crossing, so they go on through calls, loops and more branches, up to the mark.  But
 * the registers behind a walked block are those of a sample of what the models saw in it: of the same function.
 */
static bool goes_far(const struct ap_sb *sb)
{
	return sb->walk && !ap_feed_is_on();
}

/* Whole rounds only: one that is cut off would be a short block of its own, each time. */
static u32 most_unrolled(const struct path *p)
{
	return p->max < UNROLL_INSNS ? p->max : UNROLL_INSNS;
}

/* What the process has seen of it, or else another one. */
static enum ap_hint hint_of(const struct ap_sb *sb, const struct ap_sb_insn *in)
{
	enum ap_hint hint = ap_hint_get(in->pc);

	if (hint == AP_HINT_UNKNOWN && ap_unlikely(sb->is_shared))
		hint = (enum ap_hint)(ap_store_hint(in->pc, in->bytes) % 3);
	return hint;
}

/* A conditional branch: which way does the block go on?  Returns the next pc, 0 to end here. */
static u64 follow_cond(struct ap_sb *sb, struct ap_sb_insn *in, struct path *p)
{
	u64 target = ap_insn_target(&in->i, in->pc);
	u64 next = in->pc + in->i.len;
	enum ap_hint hint = hint_of(sb, in);
	/* Others may write to code that has not run yet: it is read when it is about to. */
	bool foreign = has_flags(in->pc, AP_RANGE_SHARED);
	u32 most = goes_far(sb) ? AP_WALK_JCC : AP_BLOCK_JCC;
	bool full = ++p->njcc >= most || sb->n >= p->max;

	in->side = true;
	in->cls = AP_REC_JCC_NT;
	if (foreign)
		return end_at(sb, in, next);
	if (hint == AP_HINT_UNKNOWN && p->max > 1) {
		sb->probe = true;
		return end_at(sb, in, next);
	}
	if (hint != AP_HINT_TAKEN)
		return full ? end_at(sb, in, next) : next;
	if (in->i.kind != AP_I_JCC)
		return end_at(sb, in, next);
	in->cls = AP_REC_JCC_T; /* the side exit falls through */
	if (goes_far(sb))
		return full ? end_at(sb, in, target) : target;
	if (target == sb->pc) /* a loop: unroll it while it is short */
		full |= sb->n + sb->n / p->njcc > most_unrolled(p);
	else
		full |= target <=
			in->pc; /* the head of another loop, which has a block of its own */
	return full ? end_at(sb, in, target) : target;
}

static bool may_guess(const struct ap_sb *sb, const struct path *p, u64 target)
{
	s64 far = (s64)(target - sb->pc);

	return p->nguards < AP_BLOCK_GUARDS && sb->n < p->max && far < FOLLOW_REACH &&
	       far > -FOLLOW_REACH && ap_region_find(target) && !has_flags(target, AP_RANGE_SHARED);
}

/* What the memory word of a PLT-like transfer holds now; 0 where it is not one. */
static u64 plt_target(const struct ap_sb_insn *in)
{
	u64 at = in->pc + in->i.len + (u64)in->i.disp, target = 0;

	if (in->i.kind == AP_I_RET ||
	    (in->i.flags & (AP_INSN_RIP_REL | AP_INSN_ADDR32)) != AP_INSN_RIP_REL ||
	    ap_resident_copy(&target, at, 8) != 0)
		return 0;
	return target;
}

/* Behind an endbr64, if there is one; *n bytes there. */
static const u8 *skip_endbr64(const u8 *code, u32 *n)
{
	static const u8 endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };

	if (*n < sizeof(endbr64) || memcmp(code, endbr64, sizeof(endbr64)))
		return code;
	*n -= (u32)sizeof(endbr64);
	return code + sizeof(endbr64);
}

/* The way to the dynamic linker of what is not bound yet: [endbr64], push of a number, [bnd] jmp. */
static bool is_lazy_stub(u64 pc)
{
	u8 buf[16];
	u32 n = ap_sb_fetch(pc, buf);
	const u8 *code = skip_endbr64(buf, &n);

	if (n < 8 || code[0] != 0x68)
		return false;
	code += 5;
	code += *code == 0xf2;
	return code[0] == 0xe9 || (code[0] == 0xff && code[1] == 0x25);
}

/* An entry of a PLT: [endbr64], [bnd] jmp [rip + x]. */
static bool is_plt_entry(u64 pc)
{
	u8 buf[16];
	u32 n = ap_sb_fetch(pc, buf);
	const u8 *code = skip_endbr64(buf, &n);

	if (n < 3)
		return false;
	code += *code == 0xf2;
	return code[0] == 0xff && code[1] == 0x25;
}

static u64 follow_indirect(struct ap_sb *sb, struct ap_sb_insn *in, struct path *p)
{
	bool may_follow = in->i.kind != AP_I_CALL_IND || !sb->walk || goes_far(sb);
	u64 target = may_follow ? plt_target(in) : 0;

	if (target && (target - in->pc < BEHIND_JUMP || is_lazy_stub(target))) {
		/* when it comes here again it is bound, and worth a guess; others may be on the way already */
		sb->lazy = sb->walk || ap_hint_get(in->pc) == AP_HINT_MET_TWICE ? 0 : in->pc;
		sb->transient |= sb->lazy != 0;
		target = 0;
	}
	if (!target || !may_guess(sb, p, target)) {
		in->cls = AP_REC_FINAL;
		sb->final_kind = AP_EXIT_IBL;
		return 0;
	}
	in->guard = true;
	ap_fixes.anchor++;
	p->nguards++;
	in->cls = in->i.kind == AP_I_JMP_IND ? AP_REC_JMP_IND : AP_REC_CALL_IND;
	return p->plt ? end_at(sb, in, target) : target;
}

/*
 * Not into the callee: copies of it at each call cost more cache than a jump.  But the jump of a PLT's entry is one
 * instruction, whose copy saves two exits of three.
 */
static u64 follow_call(struct ap_sb *sb, struct ap_sb_insn *in, struct path *p)
{
	u64 target = ap_insn_target(&in->i, in->pc);

	in->cls = AP_REC_CALL;
	if (sb->n >= p->max)
		return end_at(sb, in, target);
	if (goes_far(sb))
		return target;
	p->plt = !sb->walk && !ap_feed_is_on() && !has_flags(target, AP_RANGE_SHARED) &&
		 is_plt_entry(target);
	return p->plt ? target : end_at(sb, in, target);
}

static u64 end_trapped(struct ap_sb *sb, struct ap_sb_insn *in, u8 kind, enum ap_special special)
{
	in->cls = AP_REC_FINAL;
	sb->final_kind = kind;
	sb->special = (u8)special;
	sb->final_target = in->pc;
	return 0;
}

/* The block begins with it, so that all before it is counted. */
static u64 follow_pmc(struct ap_sb *sb, struct ap_sb_insn *in, const struct path *p)
{
	u64 next = in->pc + in->i.len;

	if (sb->n > 1 || p->max == 1 || sb->transient || !(ap_proc.flags & AP_F_COUNT))
		return end_trapped(sb, in, AP_EXIT_SPECIAL, AP_SPECIAL_RDPMC);
	ap_fix_refuse();
	in->side = in->pmc = true;
	in->fl_kept = sb->walk || ap_live_at(sb, next) != 0;
	return next;
}

/* What the block does after the instruction just added.  Returns the next pc, 0 to end. */
static u64 follow(struct ap_sb *sb, struct ap_sb_insn *in, struct path *p)
{
	u64 next = in->pc + in->i.len;
	u64 target = ap_insn_target(&in->i, in->pc);
	enum ap_special special;

	switch (in->i.kind) {
	case AP_I_JCC:
	case AP_I_JRCXZ:
		return follow_cond(sb, in, p);
	case AP_I_JMP:
		in->cls = AP_REC_JMP;
		return target;
	case AP_I_CALL:
		return follow_call(sb, in, p);
	case AP_I_JMP_IND:
	case AP_I_CALL_IND:
	case AP_I_RET:
		return follow_indirect(sb, in, p);
	case AP_I_SYSCALL:
		return end_trapped(sb, in, AP_EXIT_SYSCALL, AP_SPECIAL_NONE);
	case AP_I_IRET:
		return end_trapped(sb, in, AP_EXIT_SPECIAL, AP_SPECIAL_IRET);
	case AP_I_XBEGIN:
		return end_trapped(sb, in, AP_EXIT_SPECIAL, AP_SPECIAL_XBEGIN);
	case AP_I_UD:
		end_direct(sb, next);
		return 0;
	default:
		special = special_of(in);
		if (special == AP_SPECIAL_RDPMC)
			return follow_pmc(sb, in, p);
		return special == AP_SPECIAL_NONE ? next
						  : end_trapped(sb, in, AP_EXIT_SPECIAL, special);
	}
}

/* Code with a log, or for one run, is nobody else's. */
static bool may_be_kept(const struct ap_sb *sb)
{
	return ap_unlikely(ap_store_is_there()) && !sb->alone && !sb->plain && !ap_feed_is_on() &&
	       ap_stored_may_be();
}

static void build(struct ap_sb *sb, u64 pc, u32 max_insns)
{
	struct path p = { .max = max_insns };
	u64 cur = pc;

	sb->pc = pc;
	sb->n = 0;
	sb->npages = 0;
	sb->window = NO_WINDOW;
	sb->transient = false;
	sb->probe = false;
	sb->lazy = 0;
	sb->special = AP_SPECIAL_NONE;
	for (;;) {
		struct ap_sb_insn *in = &sb->insns[sb->n];
		enum ap_special alone;
		u64 next;

		if (sb->n >= max_insns) {
			end_direct(sb, cur);
			break;
		}
		if (!next_insn(sb, cur))
			break;
		if (sb->n && special_of(in) == AP_SPECIAL_RDPMC) {
			end_direct(sb, cur);
			break;
		}
		alone = sb->alone ? AP_SPECIAL_NONE : alone_for(in);
		if (alone != AP_SPECIAL_NONE) {
			bool lasts = !sb->transient;

			end_special(sb, cur, alone);
			sb->transient = !lasts;
			break;
		}
		sb->n++;
		next = follow(sb, in, &p);
		if (next == 0)
			break;
		in->next = next;
		cur = next;
		/* What it stores may be code that follows. */
		if (sb->transient && !in->guard && (in->i.flags & AP_INSN_MEM_WRITE)) {
			end_direct(sb, cur);
			break;
		}
	}
	ap_live_place_inc(sb);
}

void ap_sb_build_new(struct ap_sb *sb, u64 pc, u32 max_insns)
{
	sb->is_shared = max_insns == AP_BLOCK_INSNS && may_be_kept(sb);
	sb->walk = sb->is_stored = false;
	ap_fix_begin(sb->is_shared && ap_stored_is_wanted(pc));
	build(sb, pc, max_insns);
}

void ap_sb_build(struct ap_sb *sb, u64 pc, u32 max_insns)
{
	if (max_insns == AP_BLOCK_INSNS && may_be_kept(sb) && ap_stored_find(sb, pc))
		return;
	ap_sb_build_new(sb, pc, max_insns);
}

void ap_sb_build_walk(struct ap_sb *sb, u64 pc, u32 max_insns)
{
	sb->walk = true;
	sb->is_stored = sb->is_shared = false;
	ap_fix_begin(false);
	build(sb, pc, max_insns);
}
