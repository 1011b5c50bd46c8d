/* SPDX-License-Identifier: MIT */
/*
 * Writes a superblock into the cache: optional indirect-branch pad, the instructions, the counter
 * of the final exit, the jump out, then the stubs of the side exits and the literals.
 *
 *	[pad]  insn insn jcc->side0 insn ... [inc final] jmp -> stub1
 *	side0: [inc side0] jmp -> stub0
 *
 * and at the other end of the unit
 *
 *	stub0: mov qword gs:[exit_id], id; jmp unit gate; .quad exit
 *
 * Without counting a side exit's jcc is the patchable link itself.
 */
#include "engine/access/feed.h"
#include "engine/cache/lookup.h"
#include "engine/cache/unit.h"
#include "engine/client.h"
#include "engine/count/lane.h"
#include "engine/count/pmc.h"
#include "engine/emit/emit.h"
#include "engine/emit/fix.h"
#include "engine/runtime/engine.h"
#include "engine/translate/block.h"
#include "engine/translate/frame.h"
#include "engine/translate/kept.h"
#include "engine/translate/sb.h"
#include "engine/translate/ways.h"

struct side {
	u8 *from;		  /* rel32 of the jcc in the block's body */
	struct ap_pmc_jumps slow; /* of rdpmc, instead */
	struct ap_vec vec;
};

/* An instruction has up to five, a counter the most where it is many. */
#define RECS_MAX (5 * AP_BLOCK_INSNS + 16)

/* Where budgets are used up, and what has to be done before the exit's stub. */
struct out {
	struct ap_lane_jumps jumps;
	struct ap_vec vec; /* that the budgets are taken down by */
	const struct ap_exit *x;
	const struct ap_sb_insn *redo;
	bool has_rcx; /* spilled */
	u8 word;      /* of lanes */
};

/* State of one translation; guarded by the process lock like everything here. */
static struct {
	struct ap_emit e;
	struct ap_unit *u;
	struct ap_lits lits;
	struct ap_rec recs[RECS_MAX];
	u8 more[RECS_MAX]; /* of each record */
	u64 jumps[AP_BLOCK_INSNS + 1];
	struct side sides[AP_WALK_JCC + 2];
	struct side guards[AP_BLOCK_GUARDS + 1];
	u32 nrecs, njumps, nsides, nguards;
	struct ap_vec vec; /* of the instructions written so far */
	struct ap_vec final_vec;
	struct ap_ways ways; /* their numbers in an exact profile */
	const u8 *code;	     /* its beginning */
	const struct ap_exit *exits;
	u32 cold;	 /* as in the unit */
	bool count;	 /* at all */
	bool count_more; /* other groups than the base */
	bool count_reps; /* iterations */
	bool feed;	 /* the models are fed */
	bool lanes;	 /* code takes budgets down, */
	bool tests;	 /* and exits that lead to other blocks look whether they are used up */
	struct out outs[AP_WALK_JCC + 4];
	const struct out *near; /* of the link that is written next */
	u32 nouts;
} tr;

static void add_insn(struct ap_vec *vec, const struct ap_sb_insn *in, u64 base)
{
	vec->g[AP_VEC_BASE] += base;
	if (tr.count_more)
		ap_more_add(vec, in->more);
}

static void record(u8 cls, u32 app_len, const u8 *from)
{
	struct ap_rec *r = &tr.recs[tr.nrecs];
	u32 len = (u32)(tr.e.p - from);

	tr.more[tr.nrecs] = 0;
	if (len > 255)
		tr.e.full = true; /* cannot be: the longest sequence is under 100 bytes */
	r->cache_len = (u8)len;
	r->app_len_class = (u8)(cls << 4 | app_len);
	tr.nrecs++;
}

static void record_insn(const struct ap_sb_insn *in, const u8 *from)
{
	record(in->cls, in->i.len, from);
	if (tr.count_more)
		tr.more[tr.nrecs - 1] = in->more;
}

/* What is too long for one record, as where the table of shapes is full, has several. */
static void record_inc(const u8 *from)
{
	u8 *end = tr.e.p;

	for (; end - from > 255; from += 255) {
		tr.e.p = (u8 *)from + 255;
		record(AP_REC_INC, 0, from);
	}
	tr.e.p = end;
	record(AP_REC_INC, 0, from);
}

/*
 * The counters of an exit, and the lanes; x is NULL where nothing needs to be tested.  links_next: the exit's
 * link is written next, and behind it the way out (emit_linkable).
 */
static void emit_count_rcx(const struct ap_vec *vec, const struct ap_exit *x, bool links_next)
{
	struct out *o = x ? &tr.outs[tr.nouts] : NULL;
	u32 word = ap_lane_next_word(x);

	if (o) {
		*o = (struct out){ .vec = *vec, .x = x, .has_rcx = true, .word = (u8)word };
		o->jumps.wants_near = links_next;
	}
	ap_emit_gs_store(&tr.e, AP_RCX, AP_T_SPILL_RCX);
	ap_emit_adds_reg(&tr.e, vec, AP_RCX);
	if (tr.lanes)
		ap_lane_emit_rcx(&tr.e, vec, o ? &o->jumps : NULL);
	ap_emit_gs_load(&tr.e, AP_RCX, AP_T_SPILL_RCX);
	tr.near = o && o->jumps.near ? o : NULL;
	tr.nouts += o && o->jumps.n > 0;
}

/* redo: what makes the flags again, or NULL. */
static void emit_count_flags(const struct ap_vec *vec, const struct ap_sb_insn *redo,
			     const struct ap_exit *x)
{
	struct out *o = x ? &tr.outs[tr.nouts] : NULL;
	u32 word = ap_lane_next_word(x);

	if (o)
		*o = (struct out){ .vec = *vec, .x = x, .redo = redo, .word = (u8)word };
	ap_emit_adds_flags(&tr.e, vec);
	if (tr.lanes)
		ap_lane_emit_flags(&tr.e, vec, o ? &o->jumps : NULL);
	if (redo)
		ap_redo_emit(&tr.e, redo);
	tr.nouts += o && o->jumps.n > 0;
}

/* Apart from the blocks, at the unit's far end: a linked exit's stub runs where a budget is used up, or never. */
static void place_stub(struct ap_exit *x)
{
	tr.cold += AP_STUB_SIZE;
	x->stub = tr.u->base + tr.u->size - tr.cold;
}

/*
 * A counter in the middle: the way out is there too, before instruction k.  Its exit is behind the
 * others, as it leads to no block.
 */
static void emit_middle_exit(const struct ap_sb *sb, u32 k, struct ap_exit *x)
{
	x->kind = AP_EXIT_LANE;
	x->target = sb->insns[k].pc;
	x->at = (u32)(tr.e.p - tr.code);
	place_stub(x);
	ap_stub_write_middle(tr.u, x, tr.e.p);
}

/*
 * The final exit's counter, clobbering flags or not; before instruction k, sb->n: at the end.  exits:
 * the final one, and that in the middle.
 */
static void emit_inc(const struct ap_sb *sb, u32 k, struct ap_exit *exits)
{
	bool at_end = k == sb->n;
	bool links = sb->final_kind == AP_EXIT_DIRECT || sb->final_kind == AP_EXIT_IBL;
	const struct ap_exit *x = tr.tests && links ? &exits[at_end ? 0 : 1] : NULL;
	const struct ap_sb_insn *redo = sb->inc_redo ? &sb->insns[sb->inc_redo - 1] : NULL;
	const u8 *from = tr.e.p;

	if (sb->inc_flags_ok)
		emit_count_flags(&tr.final_vec, redo, x);
	else
		emit_count_rcx(&tr.final_vec, x, at_end);
	record_inc(from);
	if (x && !at_end)
		emit_middle_exit(sb, k, &exits[1]);
}

/* The jump to a side exit is its link where nothing is counted; else it leads to the counter for good. */
static void align_side(u32 skip)
{
	if (!tr.count)
		ap_emit_align_rel32(&tr.e, skip);
}

/* jrcxz and loop have only rel8: jump over a jump. */
static u8 *emit_jrcxz(const struct ap_sb_insn *in)
{
	u8 *over, *site;

	ap_emit_bytes(&tr.e, in->bytes, in->i.len - 1);
	ap_emit8(&tr.e, 2);
	ap_emit8(&tr.e, 0xeb);
	over = tr.e.p;
	ap_emit8(&tr.e, 0); /* over alignment and jmp: filled in below */
	align_side(1);
	site = ap_emit_jmp32(&tr.e);
	if (!tr.e.full)
		*over = (u8)(tr.e.p - (over + 1));
	return site;
}

/* --- feeding the models: flags-free, and nothing of the program's that could fault */

/* A piece ends: what is missing of its record, and its number. */
static void emit_feed_exit(u8 last, const struct ap_sb_insn *in, u64 next)
{
	const u8 *from = tr.e.p;

	ap_feed_emit_exit(&tr.e, ap_feed_plan_close(last, in, next));
	record(AP_REC_CHECK, 0, from);
}

/* Before an instruction: what it replaces.  A guess ends the piece, and begins another where it leads. */
static void emit_feed(const struct ap_sb_insn *in)
{
	struct ap_feed_group group;
	const u8 *from = tr.e.p;

	if (ap_likely(!tr.feed))
		return;
	if (ap_feed_plan_is_full())
		emit_feed_exit(AP_FEED_NOTHING, NULL, in->pc);
	from = tr.e.p;
	if (ap_feed_plan_before(in, &group)) {
		ap_feed_emit_store(&tr.e, &group);
		record(AP_REC_CHECK, 0, from);
	}
	if (in->guard)
		emit_feed_exit(ap_feed_last(in), in, in->next);
}

/* At the end; in: the transfer there, or NULL. */
static void emit_feed_final(const struct ap_sb *sb, const struct ap_sb_insn *in)
{
	if (ap_likely(!tr.feed) || !sb->n)
		return;
	if (in)
		emit_feed(in);
	emit_feed_exit(in ? ap_feed_last(in) : AP_FEED_NOTHING, in, 0);
}

static void emit_side(struct ap_sb_insn *in)
{
	struct side *s = &tr.sides[tr.nsides++];
	u8 cond = in->i.cond;

	s->vec = tr.vec;
	if (in->cls == AP_REC_JCC_T)
		cond ^= 1; /* the side exit is the fall-through */
	add_insn(&s->vec, in, ap_rec_vec(in->cls == AP_REC_JCC_T ? AP_REC_JCC_NT : AP_REC_JCC_T));
	s->vec.way = ap_ways_side(&tr.ways, tr.nsides - 1);
	if (in->i.kind == AP_I_JRCXZ) {
		s->from = emit_jrcxz(in);
		return;
	}
	align_side(2);
	s->from = ap_emit_jcc32(&tr.e, cond);
}

static void emit_pmc(struct ap_sb_insn *in)
{
	struct side *s = &tr.sides[tr.nsides++];

	s->vec = tr.vec;
	add_insn(&s->vec, in, ap_rec_vec(in->cls));
	s->vec.way = ap_ways_side(&tr.ways, tr.nsides - 1);
	ap_pmc_emit(&tr.e, in->fl_kept, &s->slow);
}

static void emit_guard(struct ap_sb_insn *in)
{
	struct side *s = &tr.guards[tr.nguards++];

	s->vec = tr.vec;
	add_insn(&s->vec, in, ap_rec_vec(in->cls));
	s->vec.way = ap_ways_guard(&tr.ways, tr.nguards - 1);
	s->from = ap_mangle_guard(&tr.e, in, &tr.lits);
	ap_fixes.anchor++;
}

static void emit_insn(struct ap_sb_insn *in)
{
	const u8 *from = tr.e.p;

	if (tr.feed && in->side)
		ap_feed_plan_side(in);
	if (in->pmc)
		emit_pmc(in);
	else if (in->side)
		emit_side(in);
	else if (in->guard)
		emit_guard(in);
	else
		ap_mangle(&tr.e, in, &tr.lits);
	record_insn(in, from);
}

static void emit_rep(struct ap_sb_insn *in)
{
	bool is_ecx = in->i.flags & AP_INSN_ADDR32;
	const u8 *from = tr.e.p;

	ap_mangle_rep_begin(&tr.e);
	record(is_ecx ? AP_REC_REP_ECX : AP_REC_REP, 0, from);
	emit_insn(in);
	from = tr.e.p;
	ap_mangle_rep_end(&tr.e, is_ecx);
	record(AP_REC_REP_DONE, 0, from);
}

/* Before the counter: who leaves here has counted nothing of the final exit, and all flags. */
static void emit_clients(const struct ap_sb_insn *in)
{
	const u8 *from = tr.e.p;

	ap_clients_emit_before(&tr.e, in);
	if (tr.e.p > from)
		record(AP_REC_CHECK, 0, from);
}

static void emit_body(struct ap_sb *sb, struct ap_exit *exits)
{
	bool indirect = sb->final_kind == AP_EXIT_IBL;
	bool trapped = sb->final_kind == AP_EXIT_SYSCALL || sb->special >= AP_SPECIAL_IRET;
	u32 n = sb->n - (indirect || (trapped && sb->n) ? 1 : 0);

	for (u32 k = 0; k < n; k++) {
		struct ap_sb_insn *in = &sb->insns[k];

		emit_feed(in);
		emit_clients(in);
		if (tr.count && sb->inc_flags_ok && sb->inc_at == k)
			emit_inc(sb, k, exits);
		if (tr.count_reps && in->i.flags & AP_INSN_REP)
			emit_rep(in);
		else
			emit_insn(in);
		if (ap_rec_jumps(in->cls))
			tr.jumps[tr.njumps++] = in->next;
		add_insn(&tr.vec, in, ap_rec_vec(in->cls));
		if (tr.feed && !in->guard)
			ap_feed_plan_after(in);
	}
}

/* Vector of leaving by the final exit; needed before the body is written, for the early counter. */
static struct ap_vec whole_vec(struct ap_sb *sb)
{
	struct ap_vec v = { 0 };

	for (u32 k = 0; k < sb->n; k++) {
		struct ap_sb_insn *in = &sb->insns[k];
		bool is_ibl = k == sb->n - 1 && sb->final_kind == AP_EXIT_IBL;

		if (tr.count_more)
			in->more = ap_insn_more(&in->i, in->bytes);
		add_insn(&v, in, is_ibl ? ap_indirect_vec(&in->i) : ap_rec_vec(in->cls));
	}
	return v;
}

static void emit_stub(struct ap_exit *x)
{
	place_stub(x);
	ap_stub_write(tr.u, x);
}

static void fix_stub(const u8 *site, const struct ap_exit *x)
{
	if (ap_unlikely(ap_fixes.on))
		ap_fix_add(AP_FIX_STUB, site, (u32)(x - tr.exits));
}

/* Straight to the stub: an exit that is never linked. */
static void emit_jmp_stub(struct ap_exit *x)
{
	u8 *site = ap_emit_jmp32(&tr.e);

	fix_stub(site, x);
	emit_stub(x);
	if (!tr.e.full)
		ap_patch_rel32(site, x->stub);
}

/* Behind the link, of a counter that has spilled rcx. */
static void emit_near_out(const struct ap_exit *x)
{
	u8 *site;

	ap_lane_patch_near(&tr.e, &tr.near->jumps);
	ap_emit_gs_load(&tr.e, AP_RCX, AP_T_SPILL_RCX);
	site = ap_emit_jmp32(&tr.e);
	if (!tr.e.full)
		ap_patch_rel32(site, x->stub);
	tr.near = NULL;
}

/* A jmp that is the exit's link, unlinked: to the stub that follows. */
static void emit_linkable(struct ap_exit *x)
{
	ap_emit_align_rel32(&tr.e, 1);
	x->site = ap_emit_jmp32(&tr.e);
	fix_stub(x->site, x);
	emit_stub(x);
	if (!tr.e.full)
		ap_patch_rel32(x->site, x->stub);
	if (tr.near)
		emit_near_out(x);
}

/* Where the table of shapes is full there may be too many for the record of the transfer. */
static bool has_many_adds(const struct ap_vec *vec)
{
	struct ap_adds adds;

	ap_shape_adds(vec, &adds);
	return adds.n + (vec->way != 0) > AP_VEC_FIELDS;
}

/* Before the indirect transfer, apart from it where that is too much for one record. */
static bool emit_early_inc(struct ap_sb *sb, struct ap_exit *exits)
{
	bool here = sb->inc_flags_ok && sb->inc_at == sb->n - 1;
	bool flags_free = !sb->inc_flags_ok &&
			  ((tr.lanes && ap_proc.nlanes > AP_LANE_FUSED) ||
			   ((tr.count_more || ap_proc.direct) && has_many_adds(&tr.final_vec)));

	if (here || flags_free)
		emit_inc(sb, sb->n - 1, exits);
	return here || flags_free;
}

/* x[1] is of the middle. */
static void emit_indirect(const struct ap_sb *sb, const struct ap_sb_insn *in,
			  const struct ap_vec *vec)
{
	const u8 *from = tr.e.p, *gate = tr.u->base + AP_UNIT_GATE;
	bool leave = sb->alone || sb->walk || (tr.lanes && !tr.tests);
	struct ap_lane_jumps jumps = { 0 };

	ap_mangle_indirect(&tr.e, in, &tr.lits, vec, leave ? gate : NULL, tr.tests ? &jumps : NULL);
	record_insn(in, from);
	for (u32 k = 0; k < jumps.n && !tr.e.full; k++) {
		const u8 *out = tr.e.p;

		ap_lane_emit_rest_reg(&tr.e, vec, jumps.lane[k], AP_RDX);
		ap_mangle_indirect_out(&tr.e, from, gate);
		if (!tr.e.full)
			ap_patch_rel32(jumps.site[k], out);
	}
}

static void emit_final(struct ap_sb *sb, struct ap_exit *x)
{
	bool inc = tr.count && tr.final_vec.g[AP_VEC_BASE] &&
		   !(sb->inc_flags_ok && sb->inc_at < sb->n);

	if (sb->final_kind == AP_EXIT_IBL) {
		struct ap_sb_insn *in = &sb->insns[sb->n - 1];

		/* it may leave here, and what runs again then must not have been logged */
		if (tr.count && tr.final_vec.g[AP_VEC_BASE] && emit_early_inc(sb, x))
			inc = false;
		emit_feed_final(sb, in);
		emit_clients(in);
		emit_indirect(sb, in, inc ? &tr.final_vec : NULL);
		return;
	}
	emit_feed_final(sb, NULL);
	if (inc)
		emit_inc(sb, sb->n, x);
	x->target = sb->final_target;
	x->kind = sb->final_kind;
	x->special = sb->special;
	if (sb->final_kind == AP_EXIT_DIRECT)
		emit_linkable(x);
	else
		emit_jmp_stub(x);
}

/* Of the side exit at instruction k. */
static void emit_side_count(struct ap_sb *sb, const struct ap_exit *x, u32 k,
			    const struct ap_vec *vec)
{
	const struct ap_exit *test = tr.tests ? x : NULL;
	bool dead = false;
	u32 redo = 0;

	/*
	 * First, as it reads no more code: what leaves here does so seldom.  Not behind loop: it changes rcx, which the comparison may
	 * have had.
	 */
	if (sb->insns[k].i.kind == AP_I_JCC)
		redo = ap_redo_find(sb, k);
	if (!redo)
		dead = !sb->probe && !sb->walk && ap_live_at(sb, x->target) == 0;
	if (dead || redo)
		emit_count_flags(vec, redo ? &sb->insns[redo - 1] : NULL, test);
	else
		emit_count_rcx(vec, test, true);
}

/* rdpmc that the dispatcher has to do. */
static void emit_pmc_stub(const struct side *s, const struct ap_sb_insn *in, struct ap_exit *x)
{
	x->kind = AP_EXIT_SPECIAL;
	x->special = AP_SPECIAL_RDPMC;
	x->target = in->pc;
	ap_pmc_emit_slow(&tr.e, in->fl_kept, &s->slow);
	if (in->fl_kept)
		emit_count_rcx(&s->vec, NULL, false);
	else
		emit_count_flags(&s->vec, NULL, NULL);
	emit_jmp_stub(x);
}

static void emit_side_stub(struct ap_sb *sb, const struct side *s, u32 k, struct ap_exit *x)
{
	const struct ap_sb_insn *in = &sb->insns[k];
	u8 *here;

	x->kind = AP_EXIT_DIRECT;
	x->target = in->cls == AP_REC_JCC_T ? in->pc + in->i.len : ap_insn_target(&in->i, in->pc);
	if (!tr.count) {
		x->site = s->from;
		emit_stub(x);
		here = x->stub;
	} else {
		here = tr.e.p;
		if (ap_unlikely(tr.feed))
			ap_feed_emit_exit(&tr.e, ap_feed_plan_exit((u32)(s - tr.sides)));
		emit_side_count(sb, x, k, &s->vec);
		emit_linkable(x);
	}
	if (!tr.e.full)
		ap_patch_rel32(s->from, here);
}

static void emit_side_stubs(struct ap_sb *sb, struct ap_exit *exits)
{
	u32 s = 0;

	ap_fixes.anchor = 0;
	for (u32 k = 0; k < sb->n; k++) {
		ap_fixes.anchor += sb->insns[k].guard;
		if (!sb->insns[k].side)
			continue;
		if (sb->insns[k].pmc)
			emit_pmc_stub(&tr.sides[s], &sb->insns[k], &exits[s]);
		else
			emit_side_stub(sb, &tr.sides[s], k, &exits[s]);
		s++;
	}
}

static void emit_guard_fails(const struct ap_sb *sb)
{
	u32 g = 0;

	for (u32 k = 0; k < sb->n; k++) {
		u8 *here = tr.e.p;

		if (!sb->insns[k].guard)
			continue;
		ap_fixes.anchor = (u8)g;
		ap_mangle_guard_fail(&tr.e, &sb->insns[k], tr.guards[g].from,
				     tr.count ? &tr.guards[g].vec : NULL, tr.tests);
		if (!tr.e.full)
			ap_patch_rel32(tr.guards[g].from, here);
		g++;
	}
}

/* What has to be done between a jump and its exit's stub. */
static const u8 *emit_out(const struct out *o, u32 lane)
{
	bool rest = ap_lane_has_rest(&o->vec, lane);
	const u8 *here = tr.e.p;
	u8 *site;

	if (!rest && !o->redo && !o->has_rcx)
		return o->x->stub;
	ap_lane_use_word(o->word);
	if (rest && o->has_rcx)
		ap_lane_emit_rest_reg(&tr.e, &o->vec, lane, AP_RCX);
	else if (rest)
		ap_lane_emit_rest_flags(&tr.e, &o->vec, lane);
	if (o->redo)
		ap_redo_emit(&tr.e, o->redo);
	else if (o->has_rcx)
		ap_emit_gs_load(&tr.e, AP_RCX, AP_T_SPILL_RCX);
	site = ap_emit_jmp32(&tr.e);
	if (!tr.e.full)
		ap_patch_rel32(site, o->x->stub);
	return here;
}

/* To the stubs, as if nothing had been linked. */
static void emit_outs(void)
{
	for (u32 k = 0; k < tr.nouts; k++) {
		const struct ap_lane_jumps *jumps = &tr.outs[k].jumps;

		for (u32 j = 0; j < jumps->n && !tr.e.full; j++) {
			const u8 *here = emit_out(&tr.outs[k], jumps->lane[j]);

			if (!tr.e.full)
				ap_patch_rel32(jumps->site[j], here);
		}
	}
}

/* Can the block be kept, and stopped in its middle? */
static bool may_stop(const struct ap_sb *sb)
{
	return tr.lanes && sb->walk && sb->n > 1 && !sb->transient && !sb->probe;
}

/* The exit that a stop leads to (stop.c), behind the others. */
static void emit_stop(struct ap_exit *x)
{
	*x = (struct ap_exit){ .kind = AP_EXIT_LANE };
	emit_stub(x);
}

/* Aligned, as the program may run with EFLAGS.AC set. */
static void emit_literals(void)
{
	if (tr.lits.n)
		ap_emit_align(&tr.e, 8);
	for (u32 k = 0; k < tr.lits.n; k++) {
		u8 *at = tr.e.p;

		if (ap_unlikely(ap_fixes.on))
			ap_fix_add(AP_FIX_ABS64, at, ap_fixes.lit_anchor[k]);
		ap_emit64(&tr.e, tr.lits.lit[k].value);
		if (!tr.e.full)
			ap_patch_rel32(tr.lits.lit[k].disp, at);
	}
}

/* The lasting description of what was written. */
static struct ap_block *block_new(const struct ap_sb *sb, struct ap_exit *exits)
{
	u8 *const *sites;
	u32 all_sites = ap_ibl_sites(&sites);
	const struct ap_block_parts parts = {
		.pages = sb->pages,
		.jumps = tr.jumps,
		.recs = tr.recs,
		.more = tr.count_more ? tr.more : NULL,
		.npages = sb->npages,
		.njumps = tr.njumps,
		.nrecs = tr.nrecs,
		.nsites = all_sites <= AP_IBL_SITES ? all_sites : 0,
	};
	struct ap_block *b = ap_block_new(&parts, exits, tr.nsides + 1);

	if (!b)
		return NULL;
	for (u32 k = 0; k < parts.nsites; k++)
		ap_block_sites(b)[k] = (u16)(sites[k] - tr.code);
	for (u32 k = 0; k < b->nexits + (tr.lanes ? 1U : 0); k++)
		exits[k].from = b;
	b->pc = sb->pc;
	b->code = (u8 *)(u64)tr.code;
	b->plain = sb->plain;
	b->lean = ap_proc.carry && !ap_counts_branches();
	b->final_vec = tr.count ? tr.final_vec.g[AP_VEC_BASE] : 0;
	b->first_part = tr.ways.first_part;
	b->probe = sb->probe;
	b->small = all_sites > 0;
	b->frame = tr.lanes ? ap_sb_frame(sb) : 0;
	b->last_pc = sb->n ? sb->insns[sb->n - 1].pc : 0;
	return b;
}

static void reset(struct ap_sb *sb, struct ap_unit *u, u32 nexits)
{
	tr.u = u;
	u8 *end = u->base + u->size - u->cold - nexits * AP_STUB_SIZE;

	tr.e = (struct ap_emit){ u->base + u->used, end, end <= u->base + u->used };
	tr.cold = u->cold;
	tr.lits.n = tr.nrecs = tr.njumps = tr.nsides = tr.nguards = 0;
	ap_clients_emit_begin();
	tr.vec = (struct ap_vec){ 0 };
	tr.count = ap_proc.flags & AP_F_COUNT;
	tr.count_reps = tr.count && ap_proc.kinds & AP_KIND_BIT(AP_KIND_REP_ITER);
	tr.count_more =
		tr.count &&
		ap_proc.kinds & ~(AP_KINDS_BASE | AP_KIND_BIT(AP_KIND_REP_ITER) | AP_KINDS_MODEL);
	tr.lanes = tr.count && ap_proc.nlanes;
	tr.feed = tr.count && ap_feed_is_on() && !sb->plain;
	ap_ibl_choose(sb->plain);
	if (tr.feed)
		ap_feed_plan_begin(sb->pc);
	tr.tests = tr.lanes && !sb->walk && !sb->transient && !sb->probe;
	tr.nouts = 0;
	tr.near = NULL;
	tr.final_vec = whole_vec(sb);
	tr.final_vec.way = ap_ways_take(sb, tr.count, &tr.ways);
}

static u32 count_sides(const struct ap_sb *sb)
{
	u32 n = 0;

	for (u32 k = 0; k < sb->n; k++)
		n += sb->insns[k].side;
	return n;
}

static void write_all(struct ap_sb *sb, struct ap_exit *exits, u32 nsides)
{
	emit_body(sb, &exits[nsides]);
	emit_final(sb, &exits[nsides]);
	emit_side_stubs(sb, exits);
	emit_guard_fails(sb);
	ap_clients_emit_end(&tr.e, tr.u);
	emit_outs();
	if (may_stop(sb))
		emit_stop(&exits[nsides + 1]);
	emit_literals();
}

static struct ap_block *write_block(struct ap_sb *sb, bool with_pad)
{
	struct ap_unit *u = ap_unit_for(sb->pc); /* may flush: before anything is allocated */
	void *mark = ap_heap_mark();
	u32 nsides = count_sides(sb);
	u32 nexits = nsides + 1 + (ap_proc.nlanes > 0); /* the last one: in the middle */
	struct ap_exit *exits = ap_heap_alloc(nexits * sizeof(*exits));
	struct ap_block *b;
	u8 *pad = NULL;

	if (!u || !exits)
		return NULL;
	reset(sb, u, nexits);
	if (with_pad)
		pad = ap_ibl_emit_pad(&tr.e, sb->pc);
	else
		ap_emit_align(&tr.e, 16);
	tr.code = tr.e.p;
	ap_fixes.anchor = 0;
	tr.exits = exits;
	write_all(sb, exits, nsides);
	if (tr.e.full)
		return NULL;
	b = block_new(sb, exits);
	if (!b)
		return NULL;
	b->pad = pad;
	ap_block_place(b, u, tr.e.p, tr.cold, mark);
	return b;
}

struct ap_block *ap_translate(struct ap_sb *sb, bool with_pad)
{
	struct ap_block *b = ap_unlikely(sb->is_stored) ? ap_stored_write(sb, with_pad) : NULL;

	if (b)
		return b;
	if (ap_unlikely(sb->is_stored))
		ap_sb_build_new(sb, sb->pc, AP_BLOCK_INSNS);
	b = write_block(sb, with_pad);
	if (ap_unlikely(ap_fixes.on) && b) {
		ap_keep(sb, b);
		b = ap_stored_swap(sb, b, with_pad);
	} else if (ap_unlikely(sb->is_shared) && b) {
		ap_stored_note_made(sb);
	}
	ap_fixes.on = false;
	return b;
}

void ap_translate_undo(struct ap_block *b)
{
	ap_block_undo(b);
}
