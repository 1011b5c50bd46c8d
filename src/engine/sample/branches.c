/* SPDX-License-Identifier: MIT */
/*
 * The last taken branches before a sample.  A walk to a mark goes through the dispatcher block by block,
 * so it knows every branch without any code of its own: where a session wants branches it begins that
 * much earlier, and each block that was left is gone through once more.  What lies before the walk is not
 * known: a sample has fewer branches then, and never others.
 */
#include "base/mem.h"
#include "engine/access/feed.h"
#include "engine/sample/lane.h"
#include "engine/translate/sb.h"

/* How much earlier a walk begins, in counts of the lane: enough for AP_HOOK_BRANCHES in usual code. */
u32 ap_branches_margin(u64 kinds)
{
	if (!ap_branches_are_noted())
		return 0;
	if (kinds & AP_KIND_BIT(AP_KIND_INSTR))
		return 1024;
	if (kinds &
	    (AP_KIND_BIT(AP_KIND_LOAD) | AP_KIND_BIT(AP_KIND_STORE) | AP_KIND_BIT(AP_KIND_MEM)))
		return 512;
	return kinds & (AP_KIND_BIT(AP_KIND_BRANCH) | AP_KIND_BIT(AP_KIND_COND)) ? 128 : 32;
}

static void add(struct ap_lanes *l, u64 from, u64 to, u32 type)
{
	l->branch[l->branch_next++ % AP_HOOK_BRANCHES] =
		(struct ap_hook_branch){ from, to, type, AP_HOOK_BR_NOT_SAID };
	l->nbranches += l->nbranches < AP_HOOK_BRANCHES;
}

void ap_branches_forget(struct ap_thread *t)
{
	ap_thread_lanes(t)->nbranches = 0;
}

static u32 type_of_class(u8 cls)
{
	switch (cls) {
	case AP_REC_JCC_NT:
	case AP_REC_JCC_T:
		return AP_HOOK_BR_COND;
	case AP_REC_JMP:
		return AP_HOOK_BR_JMP;
	case AP_REC_CALL:
		return AP_HOOK_BR_CALL;
	case AP_REC_JMP_IND:
		return AP_HOOK_BR_JMP_IND;
	case AP_REC_CALL_IND:
		return AP_HOOK_BR_CALL_IND;
	default:
		return AP_HOOK_BR_UNKNOWN; /* a final one: looked up when it is asked for */
	}
}

/*
 * b was left by exit x, or where x is NULL by the indirect branch at pc last, to t->regs.rip, or at stop in its code.  A branch may
 * be in a block several times: of the guarded ones that fail the first at its pc is meant, as those before
 * it have not failed and another time round would have been a block of its own.
 */
static void note(struct ap_thread *t, const struct ap_block *b, const struct ap_exit *x,
		 const u8 *last, const u8 *stop)
{
	struct ap_lanes *l = ap_thread_lanes(t);
	u32 side = ap_block_first_side(b), leaves = x ? (u32)(x - b->exits) : b->nexits;
	struct ap_rec_at i;

	if (x && x->special == AP_SPECIAL_RDPMC && leaves + 1 < b->nexits)
		return;
	for (i = ap_rec_begin(b); ap_rec_read(&i); ap_rec_next(&i)) {
		const u8 *code = b->code + i.at;

		if (code == stop && i.size) /* an elided jump is taken with what is before it */
			return;
		if (!x && last >= code && last < code + i.size) {
			add(l, i.pc, t->regs.rip, type_of_class(i.cls));
			return;
		}
		if (ap_rec_is_cond(i.cls) && side++ == leaves) {
			if (i.cls == AP_REC_JCC_NT)
				add(l, i.pc, x->target, AP_HOOK_BR_COND);
			return;
		}
		if (ap_rec_jumps(i.cls))
			add(l, i.pc, *i.jump, type_of_class(i.cls));
	}
}

void ap_branches_note(struct ap_thread *t, const struct ap_block *b, const struct ap_exit *x,
		      const u8 *last)
{
	note(t, b, x, last, x && x->kind == AP_EXIT_LANE ? b->code + x->at : NULL);
}

void ap_branches_note_before(struct ap_thread *t, const struct ap_where *w)
{
	if (t->walked == w->block)
		note(t, w->block, NULL, NULL, w->code);
	else
		ap_branches_forget(t);
	t->walked = NULL;
}

/* What the block, or the log, does not say: the type of a final indirect one, the target of a direct call. */
static void look_up(struct ap_hook_branch *b)
{
	struct ap_insn i;
	u8 buf[16];
	u32 avail = ap_sb_fetch(b->from, buf);

	if (!avail || ap_insn_decode(&i, buf, avail))
		return;
	if (i.kind == AP_I_CALL)
		b->to = ap_insn_target(&i, b->from);
	b->type = i.kind == AP_I_RET	    ? AP_HOOK_BR_RET
		  : i.kind == AP_I_CALL	    ? AP_HOOK_BR_CALL
		  : i.kind == AP_I_CALL_IND ? AP_HOOK_BR_CALL_IND
		  : i.kind == AP_I_JMP_IND  ? AP_HOOK_BR_JMP_IND
					    : AP_HOOK_BR_UNKNOWN;
}

u32 ap_hook_calls(struct ap_hook_branch *b, u32 max)
{
	struct ap_open_call calls[AP_HOOK_BRANCHES];
	struct ap_thread *t = ap_self();
	u32 n;

	ap_lock_take(&ap_proc.lock);
	n = ap_feed_calls(t, calls, max < AP_HOOK_BRANCHES ? max : AP_HOOK_BRANCHES);
	for (u32 k = 0; k < n; k++) {
		b[k] = (struct ap_hook_branch){ .from = calls[k].from, .to = calls[k].to };
		look_up(&b[k]);
	}
	ap_lock_drop(&ap_proc.lock);
	return n;
}

u32 ap_hook_branches(struct ap_hook_branch *b, u32 max)
{
	struct ap_thread *t = ap_self();
	struct ap_lanes *l = ap_thread_lanes(t);
	u32 n = l->nbranches < max ? l->nbranches : max;

	ap_lock_take(&ap_proc.lock);
	for (u32 k = 0; k < n; k++) {
		b[k] = l->branch[(l->branch_next - 1 - k) % AP_HOOK_BRANCHES];
		if (b[k].type == AP_HOOK_BR_UNKNOWN)
			look_up(&b[k]);
	}
	if (t->feed_follows)
		n = ap_feed_tell(t, b, n);
	ap_lock_drop(&ap_proc.lock);
	return n;
}
