/* SPDX-License-Identifier: MIT */
/*
 * Samples that are taken behind their instruction.  One that shows no registers needs no stop at its
 * instruction: it is enough to know which that was.  A lane all of whose samplers are so has a margin of one
 * count, so that its budget is below 0 when the mark has been reached, which the exit of the very block finds
 * out.  Then the block's records say which instructions have run, and the budget how long ago the mark was.
 *
 * So whoever leaves translated code with such a budget notes what has run there, while the block is surely
 * there: at an exit, in the middle (ap_cache_count_partial), by an indirect branch.  The service asks for the
 * instruction, and for its frame pointer, with which callchains begin.
 */
#include "engine/cache/cache.h"
#include "engine/cache/lookup.h"
#include "engine/cache/unit.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/resident.h"
#include "engine/sample/lane.h"
#include "engine/translate/frame.h"
#include "engine/translate/sb.h"

#define BIT_RSP (1u << AP_RSP)
#define BIT_RBP (1u << AP_RBP)

/* What ends the list of what has run: an exit, or a place in the code, whose record has run as well or has not. */
struct until {
	const struct ap_exit *x;
	const u8 *code;
	bool has_run;
};

/* A system call, and what else the dispatcher does at the end of a block, is counted there and has no record. */
static void add_trapped(struct ap_passed *p, const struct ap_block *b, const struct until *u)
{
	if (u->x == &b->exits[b->nexits - 1] && p->n + 1 == ap_vec_get(b->final_vec, AP_VEC_INSTR))
		p->pc[p->n++] = u->x->target;
}

static void list(struct ap_passed *p, const struct ap_block *b, const struct until *u)
{
	u32 side = ap_block_first_side(b);
	u32 leaves = u->x ? (u32)(u->x - b->exits) : b->nexits;
	bool at_once = u->x && side && !leaves;
	struct ap_rec_at i;

	p->n = 0;
	for (i = ap_rec_begin(b); ap_rec_read(&i); ap_rec_next(&i)) {
		const u8 *code = b->code + i.at;
		bool is_there = u->code && i.size && u->code >= code && u->code < code + i.size;

		if (p->n == AP_ARRAY_SIZE(p->pc))
			break;
		if (is_there && !u->has_run)
			return;
		if (ap_rec_vec(i.cls))
			p->pc[p->n++] = i.pc;
		if (is_there || at_once || (ap_rec_is_cond(i.cls) && side++ == leaves))
			return;
	}
	add_trapped(p, b, u);
}

static void note(struct ap_thread *t, const struct ap_block *b, const struct until *u)
{
	struct ap_passed *p = &ap_thread_lanes(t)->passed;

	list(p, b, u);
	p->raw = ap_lane_raw(t, 0);
	p->frame = b->frame;
	p->bp = t->regs.gpr[AP_RBP];
	p->sp = t->regs.gpr[AP_RSP];
	p->next = t->regs.rip;
}

void ap_behind_note_exit(struct ap_thread *t, const struct ap_exit *x)
{
	const struct until u = { .x = x };

	note(t, x->from, &u);
}

void ap_behind_note_branch(struct ap_thread *t, const struct ap_block *b, const u8 *last)
{
	const struct until u = { .code = last, .has_run = true };

	note(t, b, &u);
}

void ap_behind_note_middle(struct ap_thread *t, const struct ap_where *w)
{
	const struct until u = { .code = w->code };

	note(t, w->block, &u);
}

void ap_behind_take_back(struct ap_thread *t)
{
	struct ap_passed *p = &ap_thread_lanes(t)->passed;

	p->n -= p->n > 0;
	p->raw--;
}

/* --- the frame pointer, back from behind the block */

struct frame {
	u64 bp, sp;
	bool has_sp;
};

/* add, sub rsp, imm: what it adds. */
static bool adds_to_sp(const struct ap_insn *i, u64 *by)
{
	if (i->map || i->rex != 0x48 || (i->opcode != 0x81 && i->opcode != 0x83))
		return false;
	*by = i->modrm == 0xec ? -(u64)i->imm : (u64)i->imm;
	return i->modrm == 0xc4 || i->modrm == 0xec;
}

static bool is_call(const struct ap_insn *i)
{
	return i->kind == AP_I_CALL || i->kind == AP_I_CALL_IND;
}

/* How much higher the stack pointer is behind it; false: that cannot be told. */
static bool moves_sp(const struct ap_insn *i, u64 *by)
{
	u8 group = i->opcode & 0xf8;

	if (!(i->gpr_write & BIT_RSP)) {
		*by = 0;
		return true;
	}
	if (adds_to_sp(i, by))
		return true;
	*by = i->kind == AP_I_RET ? 8 + (i->imm_size ? (u64)i->imm & 0xffff : 0) : (u64)-8;
	if (is_call(i) || i->kind == AP_I_RET)
		return true;
	if (i->map || i->flags & AP_INSN_OPSIZE)
		return false;
	if (group == 0x58)
		*by = 8;
	return group == 0x50 || (group == 0x58 && !(i->opcode == 0x5c && !(i->rex & 1))) ||
	       i->opcode == 0x68 || i->opcode == 0x6a;
}

/*
 * f is what it is behind *i, and becomes what it was before it; before: the instruction that ran before it.  In code with
 * frame pointers whoever takes one off the stack has the old one point there.  Elsewhere it stays what it is, as
 * nobody knows better, and a chain has no meaning.
 */
static void undo(struct frame *f, const struct ap_insn *i, const struct ap_insn *before)
{
	u64 by = 0;

	if (ap_frame_is_dropped(i) && f->has_sp)
		f->bp = f->sp - 8;
	else if (ap_frame_is_made(i, before) && f->has_sp)
		(void)!ap_resident_copy(&f->bp, f->sp, sizeof(f->bp));
	f->has_sp &= moves_sp(i, &by);
	f->sp -= by;
}

static bool decode(u64 pc, struct ap_insn *i)
{
	u8 code[16];
	u32 avail = ap_sb_fetch(pc, code);

	return avail && !ap_insn_decode(i, code, avail);
}

/* Behind instruction k. */
static u64 frame_pointer(const struct ap_passed *p, u32 k)
{
	struct frame f = { p->bp, p->sp, true };
	struct ap_insn i, before;
	u32 n = p->n - 1;

	if (p->frame <= k + 1 || k == n) /* it has run before, or nothing has since */
		return p->bp;
	ap_lock_take(&ap_proc.lock);
	for (bool is_there = decode(p->pc[n], &i); is_there && n > k; n--, i = before) {
		is_there = decode(p->pc[n - 1], &before);
		if (is_there)
			undo(&f, &i, &before);
	}
	ap_lock_drop(&ap_proc.lock);
	return f.bp;
}

bool ap_hook_passed(u64 ago, struct ap_hook_passed *at)
{
	struct ap_thread *t = ap_self();
	const struct ap_passed *p = &ap_thread_lanes(t)->passed;
	u32 k;

	if (!p->n || p->raw != ap_lane_raw(t, 0) || ago >= p->n)
		return false;
	k = p->n - 1 - (u32)ago;
	at->pc = p->pc[k];
	at->next = p->next;
	at->bp = frame_pointer(p, k);
	return true;
}

/* --- going on */

void ap_behind_go_on(struct ap_thread *t, const struct ap_exit *x)
{
	struct ap_where w;

	if (t->alone || t->walked || t->stop || t->nprompts || ap_proc.data || ap_feed_is_on())
		return;
	if (ap_lanes_want(t))
		ap_lanes_look(t);
	if (ap_lane_budget(t, 0) < 2 * AP_BLOCK_INSNS)
		return;
	ap_block_locate(x->from, x->at, &w);
	ap_cache_take_back_partial(t, &w);
	if (ap_lanes_share(t)) {
		t->entry = (u64)x->from->code + x->at;
		t->went_on = x;
		ap_gate_enter(t);
	}
	ap_cache_count_partial(t, &w);
}
