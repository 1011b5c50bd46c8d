/* SPDX-License-Identifier: MIT */
/*
 * What a record of a piece of code has to hold: the values of the registers that its addresses are
 * made of, each once for all accesses by way of it.  A value is stored as late as it can be, with the
 * record's number, and so together with others; before that only where an instruction replaces it.  push, pop,
 * add, sub, lea and their like only move a value: what it has moved by is known here.
 */
#include "engine/access/feed.h"

#include "base/mem.h"
#include "engine/runtime/engine.h"
#include "model/cost.h"
#include "x86/access.h"
#include "x86/cost.h"

#define SIDES	   (AP_BLOCK_JCC + 2)
#define NO_LINE	   1ULL
#define FAR	   (1LL << 30)
#define GROUP_MAX  14 /* one register is left to hold the log's position, besides rsp */
#define LINE_BYTES 64 /* where code is fetched: of all machines' lines the most common */

/* What a register holds: a word of the record that it had when it was stored, and has moved from. */
struct value {
	u8 word; /* AP_FEED_NO_WORD: none yet */
	bool stored;
	s64 moved;
};

static struct {
	u64 pc;
	struct value reg[16];
	struct ap_feed_op op[AP_FEED_OPS];
	u64 fetch[AP_FEED_FETCHES];
	struct ap_feed_branch branch[AP_FEED_BRANCHES];
	s32 delta[AP_FEED_WORDS];
	u64 line;
	u32 nops, nfetches, nbranches;
	u32 nwords, ninsns, npending;
	struct ap_feed_exit side[SIDES], last;
	u32 nsides, first_side; /* of the piece */
	u32 string_op[2], nstrings;
	struct ap_cost_account cost;
	u16 gone; /* registers that have been replaced */
	/* of the instruction that is planned */
	u16 replaced;
	u8 moved;
	s64 moved_by;
} plan;

static void new_value(u8 r)
{
	plan.reg[r] = (struct value){ .word = AP_FEED_NO_WORD };
}

static void begin_piece(u64 pc)
{
	plan.pc = pc;
	plan.nops = plan.nfetches = plan.nbranches = 0;
	plan.nwords = plan.ninsns = plan.npending = plan.nstrings = 0;
	plan.line = NO_LINE;
	plan.first_side = plan.nsides;
	plan.gone = 0;
	if (ap_feed_has_cycles())
		ap_cost_begin(&plan.cost, ap_feed_machine());
	for (u8 r = 0; r < 16; r++)
		new_value(r);
}

void ap_feed_plan_begin(u64 pc)
{
	plan.nsides = 0;
	begin_piece(pc);
}

bool ap_feed_plan_is_full(void)
{
	return plan.nops + 2 * AP_ACCESS_MAX > AP_FEED_OPS || plan.nfetches + 2 > AP_FEED_FETCHES ||
	       plan.nbranches + 2 > AP_FEED_BRANCHES || plan.nwords + 6 > AP_FEED_WORDS ||
	       plan.npending + 4 > GROUP_MAX;
}

static struct ap_feed_op *add_op(u8 what, u64 pc)
{
	struct ap_feed_op *op = &plan.op[plan.nops++];

	*op = (struct ap_feed_op){ .what = what,
				   .base = AP_FEED_NO_WORD,
				   .index = AP_FEED_NO_WORD,
				   .dst = AP_FEED_NO_WORD,
				   .at = (s32)(s64)(pc - plan.pc) };
	return op;
}

/* --- values */

static u8 word_of(u8 r)
{
	struct value *v = &plan.reg[r];

	if (v->word == AP_FEED_NO_WORD) {
		v->word = (u8)plan.nwords++;
		plan.npending++;
	}
	return v->word;
}

/* Those that are not in the record yet. */
static void collect(struct ap_feed_group *g)
{
	g->n = 0;
	for (u8 r = 0; r < 16; r++) {
		const struct value *v = &plan.reg[r];

		if (v->word == AP_FEED_NO_WORD || v->stored)
			continue;
		g->reg[g->n] = r;
		g->word[g->n++] = v->word;
	}
}

/* They are, as from here. */
static void note_stored(const struct ap_feed_group *g)
{
	for (u32 k = 0; k < g->n; k++) {
		struct value *v = &plan.reg[g->reg[k]];

		v->stored = true;
		plan.delta[v->word] = (s32)-v->moved;
	}
	plan.npending = 0;
}

#define SP 4

static s64 pushed(const struct ap_insn *i)
{
	return i->flags & AP_INSN_OPSIZE && !(i->rex & 8) ? 2 : 8;
}

/* push, pop and their like: what the stack pointer moves by; 0: it is none, or it is replaced. */
static s64 stack_move(const struct ap_insn *i)
{
	u8 op = i->opcode, reg = i->modrm >> 3 & 7;

	switch (i->kind) {
	case AP_I_CALL:
	case AP_I_CALL_IND:
		return -8;
	case AP_I_RET:
		return 8 + (i->imm_size ? (s64)((u64)i->imm & 0xffff) : 0);
	case AP_I_OTHER:
		break;
	default:
		return 0;
	}
	if (i->flags & (AP_INSN_VEX | AP_INSN_EVEX))
		return 0;
	if (i->map == 1)
		return op == 0xa0 || op == 0xa8 ? -8 : op == 0xa1 || op == 0xa9 ? 8 : 0;
	if (i->map != 0)
		return 0;
	if ((op & 0xf8) == 0x50 || op == 0x68 || op == 0x6a || op == 0x9c ||
	    (op == 0xff && reg == 6))
		return -pushed(i);
	if (op == 0x5c && !(i->rex & 1))
		return 0; /* pop rsp */
	if ((op & 0xf8) == 0x58 || op == 0x9d)
		return pushed(i);
	return 0;
}

/* add, sub of a constant, inc, dec, lea: of 64 bits, one register. */
static s64 arith_move(const struct ap_insn *i, u8 *reg)
{
	u8 op = i->opcode, digit = i->modrm >> 3 & 7, rm = (u8)((i->modrm & 7) | (i->rex & 1) << 3);

	if (i->map != 0 || i->kind != AP_I_OTHER || !(i->rex & 8) ||
	    i->flags & (AP_INSN_VEX | AP_INSN_EVEX))
		return 0;
	if (op == 0x8d) {
		*reg = (u8)(digit | (i->rex & 4) << 1);
		if (i->flags & (AP_INSN_RIP_REL | AP_INSN_ADDR32) || i->modrm < 0x40)
			return 0;
		if (i->flags & AP_INSN_HAS_SIB) {
			if ((i->sib & 0x38) != 0x20 || i->rex & 2)
				return 0;
			rm = (u8)((i->sib & 7) | (i->rex & 1) << 3);
		}
		return rm == *reg ? i->disp : 0;
	}
	if (i->flags & AP_INSN_MEM)
		return 0;
	*reg = rm;
	if ((op == 0x81 || op == 0x83) && (digit == 0 || digit == 5))
		return digit ? -i->imm : i->imm;
	if (op == 0xff && digit < 2)
		return digit ? -1 : 1;
	return 0;
}

/* Registers that get another value than one that has moved. */
static u16 replaced(const struct ap_insn *i, u8 *reg, s64 *by)
{
	u16 moved = 0;

	*by = stack_move(i);
	*reg = SP;
	if (!*by)
		*by = arith_move(i, reg);
	if (*by && *by<FAR && * by> - FAR && plan.reg[*reg].moved + *by < FAR &&
	    plan.reg[*reg].moved + *by > -FAR)
		moved = (u16)(1U << *reg);
	else
		*by = 0;
	return (u16)(i->gpr_write & ~moved);
}

/* --- instructions */

static void plan_fetch(const struct ap_sb_insn *in)
{
	u64 first = in->pc & ~(u64)(LINE_BYTES - 1);
	u64 last = (in->pc + in->i.len - 1) & ~(u64)(LINE_BYTES - 1);

	for (u64 line = first; line <= last; line += LINE_BYTES) {
		if (line == plan.line)
			continue;
		plan.fetch[plan.nfetches++] = line;
		plan.line = line;
	}
}

static u8 what_of(const struct ap_access *a)
{
	if (!(a->flags & AP_ACCESS_WRITE))
		return AP_FEED_LOAD;
	return a->flags & AP_ACCESS_READ ? AP_FEED_UPDATE : AP_FEED_STORE;
}

static s64 moved_of(u8 r)
{
	return plan.reg[r].moved;
}

static void plan_access(const struct ap_sb_insn *in, const struct ap_access *a, u8 what)
{
	struct ap_feed_op *op;

	if (a->flags & AP_ACCESS_VSIB)
		return;
	op = add_op(what, in->pc);
	op->size = a->size < 4096 ? (u16)a->size : 4096;
	op->disp = a->disp;
	op->flags = (u8)((a->seg == AP_SEG_FS	? AP_FEED_FS
			  : a->seg == AP_SEG_GS ? AP_FEED_GS
						: 0) |
			 (a->flags & AP_ACCESS_ADDR32 ? AP_FEED_ADDR32 : 0) |
			 (in->i.flags & AP_INSN_LOCK ? AP_FEED_ATOMIC : 0));
	if (a->base == AP_ACCESS_RIP) {
		op->disp += (s64)(in->pc + in->i.len);
	} else if (a->base < 16) {
		op->base = word_of(a->base);
		op->disp += moved_of(a->base);
	}
	if (a->index < 16) {
		op->index = word_of(a->index);
		op->scale = a->scale;
		op->disp += (s64)((u64)moved_of(a->index) << a->scale);
	}
}

/* The last access of an instruction has what all of it takes. */
static u8 string_cost(const struct ap_insn *i, bool writes)
{
	bool is_copy = (i->opcode & ~1) == 0xa4, is_compare = (i->opcode & ~1) == 0xa6;

	if (writes)
		return AP_FEED_BYTES;
	return is_copy || (is_compare && plan.nstrings < 2) ? AP_FEED_FREE : AP_FEED_ELEMENTS;
}

/* Where it begins, and how often: what the count goes down by. */
static void plan_string(const struct ap_sb_insn *in, const struct ap_access *a)
{
	struct ap_feed_op *op;
	bool writes = a->flags & AP_ACCESS_WRITE;

	if (a->base >= 16 || plan.nstrings == 2)
		return;
	plan.string_op[plan.nstrings++] = plan.nops;
	op = add_op(writes ? AP_FEED_STORES : AP_FEED_LOADS, in->pc);
	op->size = (u16)a->size;
	op->base = word_of(a->base);
	op->disp = moved_of(a->base);
	op->index = word_of(AP_RCX);
	op->scale = string_cost(&in->i, writes);
	op->flags = a->flags & AP_ACCESS_ADDR32 ? AP_FEED_ADDR32 : 0;
}

/* Gives how many accesses it has. */
static u32 plan_data(const struct ap_sb_insn *in, struct ap_access *list)
{
	u32 n = ap_insn_accesses(&in->i, in->bytes, list);
	enum ap_flush flush;

	for (u32 k = 0; k < n; k++) {
		if (in->i.flags & AP_INSN_REP)
			plan_string(in, &list[k]);
		else
			plan_access(in, &list[k], what_of(&list[k]));
	}
	flush = n ? AP_FLUSH_NONE : ap_insn_flush(&in->i, in->bytes, list);
	if (flush != AP_FLUSH_NONE)
		plan_access(in, &list[0], flush == AP_FLUSH_KEEPS ? AP_FEED_CLEAN : AP_FEED_FLUSH);
	return n;
}

/* --- cycles */

#define BP 5

/* A name for what is on the stack: so that values are followed through it. */
static u8 cell_of(const struct ap_insn *i, const struct ap_feed_op *op, const struct ap_access *a)
{
	u64 key = (u64)op->disp >> 2;

	if (a->index != AP_ACCESS_NONE || a->seg || i->flags & AP_INSN_REP)
		return 0;
	if (a->base != SP && a->base != BP && a->base != AP_ACCESS_RIP)
		return 0;
	if (a->base < 16 && plan.gone >> a->base & 1)
		return 0;
	return (u8)(AP_PIPE_CELL + (key + a->base * 3U) % AP_PIPE_CELLS);
}

/* An instruction whose operations are those from number `first` on; its access, if it has one alone. */
static void plan_cost(const struct ap_sb_insn *in, u32 first, const struct ap_access *access)
{
	bool is_taken = in->cls == AP_REC_JCC_T || in->cls == AP_REC_JMP ||
			in->cls == AP_REC_CALL || ap_feed_last(in) != AP_FEED_NOTHING;
	u32 number = plan.cost.nloads;
	struct ap_cost c;
	u8 cell = 0;
	u16 waits;

	ap_insn_cost(&in->i, in->bytes, &c);
	if ((c.load || c.store) && first < plan.nops && access)
		cell = cell_of(&in->i, &plan.op[first], access);
	waits = ap_cost_add(&plan.cost, &c, cell, is_taken);
	for (u32 k = first; k < plan.nops; k++) {
		plan.op[k].waits = waits;
		plan.op[k].late = (u16)number;
	}
}

static bool is_load(const struct ap_feed_op *op)
{
	return op->what == AP_FEED_LOAD || op->what == AP_FEED_UPDATE || op->what == AP_FEED_LOADS;
}

/* Numbers of loads become what depends on them. */
static void plan_late(void)
{
	for (u32 k = 0; k < plan.nops; k++)
		plan.op[k].late =
			is_load(&plan.op[k]) ? ap_cost_late(&plan.cost, plan.op[k].late) : 0;
}

/* Names of cells hold only as long as what they are relative to. */
static void plan_links(struct ap_feed_way *w)
{
	struct ap_pipe_link links[AP_PIPE_LINKS];
	u64 written = plan.cost.written;
	u32 list[AP_PIPE_LIST], *to;

	if (plan.reg[SP].moved || plan.reg[BP].moved || plan.gone & (1U << SP | 1U << BP))
		plan.cost.written &= (1ULL << AP_PIPE_CELL) - 1;
	w->flow.busy = ap_cost_busy(&plan.cost);
	w->flow.depth = plan.cost.depth;
	ap_pipe_plan(&w->flow, links, ap_cost_links(&plan.cost, links), list);
	plan.cost.written = written;
	w->room = ap_cost_room(&plan.cost, w->ninsns);
	to = w->flow.nlist ? ap_feed_room(w->flow.nlist * sizeof(list[0])) : NULL;
	if (to)
		memcpy(to, list, w->flow.nlist * sizeof(list[0]));
	else
		w->flow.waits = w->flow.leaves = w->flow.late = w->flow.nlate = 0;
	w->flow.list = to;
}

bool ap_feed_plan_before(const struct ap_sb_insn *in, struct ap_feed_group *store)
{
	struct ap_access list[AP_ACCESS_MAX];
	bool needed = false;

	plan.nstrings = 0;
	if (ap_feed_has_data()) {
		u32 first = plan.nops, n;

		plan_fetch(in);
		n = plan_data(in, list);
		if (ap_feed_has_cycles())
			plan_cost(in, first, n == 1 ? &list[0] : NULL);
	}
	plan.replaced = replaced(&in->i, &plan.moved, &plan.moved_by);
	for (u32 gone = plan.replaced; gone; gone &= gone - 1) {
		const struct value *v = &plan.reg[__builtin_ctz(gone)];

		needed |= v->word != AP_FEED_NO_WORD && !v->stored;
	}
	if (!needed)
		return false;
	collect(store);
	note_stored(store);
	return true;
}

u8 ap_feed_last(const struct ap_sb_insn *in)
{
	switch (in->i.kind) {
	case AP_I_RET:
		return AP_FEED_RETURN;
	case AP_I_JMP_IND:
		return AP_FEED_INDIRECT;
	case AP_I_CALL_IND:
		return AP_FEED_CALL_INDIRECT;
	default:
		return AP_FEED_NOTHING;
	}
}

static u8 followed(const struct ap_sb_insn *in)
{
	switch (in->cls) {
	case AP_REC_JCC_NT:
		return AP_FEED_NOT_TAKEN;
	case AP_REC_JCC_T:
		return AP_FEED_TAKEN;
	case AP_REC_JMP:
		return AP_FEED_JUMP;
	case AP_REC_CALL:
		return AP_FEED_CALL;
	default:
		return AP_FEED_NOTHING;
	}
}

static void add_branch(u8 what, const struct ap_sb_insn *in)
{
	if (!ap_feed_has_branches())
		return;
	plan.branch[plan.nbranches++] =
		(struct ap_feed_branch){ .pc = in->pc, .what = what, .len = in->i.len };
}

void ap_feed_plan_after(const struct ap_sb_insn *in)
{
	u8 what = followed(in);

	plan.ninsns++;
	if (plan.moved_by)
		plan.reg[plan.moved].moved += plan.moved_by;
	for (u32 gone = plan.replaced; gone; gone &= gone - 1)
		new_value((u8)__builtin_ctz(gone));
	plan.gone |= plan.replaced;
	for (u32 k = 0; k < plan.nstrings; k++)
		plan.op[plan.string_op[k]].dst = word_of(AP_RCX);
	if (what != AP_FEED_NOTHING)
		add_branch(what, in);
	if (what == AP_FEED_TAKEN || what == AP_FEED_JUMP || what == AP_FEED_CALL)
		plan.line = NO_LINE;
}

/* --- ways out */

static bool is_call_or_return(u8 what)
{
	return what == AP_FEED_CALL || what == AP_FEED_CALL_INDIRECT || what == AP_FEED_RETURN;
}

/* Those of the piece so far, and the one that the way ends with; last: AP_FEED_NOTHING, or what in is. */
static void copy_branches(struct ap_feed_way *w, u8 last, const struct ap_sb_insn *in)
{
	u32 n = plan.nbranches;
	struct ap_feed_branch *to;

	if (last != AP_FEED_NOTHING)
		add_branch(last, in);
	to = plan.nbranches ? ap_feed_room(plan.nbranches * sizeof(*to)) : NULL;
	if (to) {
		memcpy(to, plan.branch, plan.nbranches * sizeof(*to));
		for (u32 k = 0; k < plan.nbranches; k++)
			w->has_calls |= is_call_or_return(to[k].what);
		w->branches = to;
		w->nbranches = (u16)plan.nbranches;
	}
	plan.nbranches = n;
}

static void fill(struct ap_feed_exit *x, u8 last, const struct ap_sb_insn *in, u32 ninsns)
{
	struct ap_feed_way *w = &x->way;

	collect(&x->pending);
	*w = (struct ap_feed_way){ .pc = plan.pc,
				   .nops = (u16)plan.nops,
				   .nfetches = (u16)plan.nfetches,
				   .nwords = plan.nwords,
				   .ninsns = ninsns };
	if (ap_feed_has_cycles())
		plan_links(w);
	copy_branches(w, in ? last : AP_FEED_NOTHING, in);
	memcpy(w->delta, plan.delta, sizeof(w->delta));
	for (u32 k = 0; k < x->pending.n; k++)
		w->delta[x->pending.word[k]] = (s32)-plan.reg[x->pending.reg[k]].moved;
}

void ap_feed_plan_side(const struct ap_sb_insn *in)
{
	bool is_taken = in->cls == AP_REC_JCC_T; /* on the way that stays */
	u8 last = in->pmc ? AP_FEED_NOTHING : is_taken ? AP_FEED_NOT_TAKEN : AP_FEED_TAKEN;

	fill(&plan.side[plan.nsides++], last, in, plan.ninsns + !in->pmc);
}

const struct ap_feed_exit *ap_feed_plan_exit(u32 side)
{
	return &plan.side[side];
}

static void describe_clusters(struct ap_feed_way *w, u32 number)
{
	struct ap_feed_cluster clusters[AP_FEED_CLUSTERS], *to;
	u32 n = ap_feed_clusters(w, number, ap_feed_machine()->line, clusters);

	to = n ? ap_feed_room(n * sizeof(clusters[0])) : NULL;
	if (!to)
		return;
	memcpy(to, clusters, n * sizeof(clusters[0]));
	w->clusters = to;
	w->nclusters = (u16)n;
}

/* The lasting description of a way, with the piece's operations and fetches. */
static void describe(struct ap_feed_exit *x, const struct ap_feed_op *ops, const u64 *fetches)
{
	u64 size = offsetof(struct ap_feed_way, delta) + x->way.nwords * sizeof(x->way.delta[0]);
	struct ap_feed_way *w = ops ? ap_feed_alloc(size, &x->id) : NULL;

	if (!w) {
		x->id = 0;
		return;
	}
	x->way.ops = ops;
	x->way.fetches = fetches;
	describe_clusters(&x->way, x->id);
	memcpy(w, &x->way, size);
}

const struct ap_feed_exit *ap_feed_plan_close(u8 last, const struct ap_sb_insn *in, u64 next)
{
	u64 ops_size = plan.nops * sizeof(plan.op[0]);
	u64 size = ops_size + plan.nfetches * sizeof(plan.fetch[0]);
	struct ap_feed_op *ops;
	u64 *fetches = NULL;

	fill(&plan.last, last, in, plan.ninsns + (in != NULL));
	if (ap_feed_has_cycles())
		plan_late();
	ops = ap_feed_room(size ? size : 1);
	if (ops) {
		fetches = (u64 *)((u8 *)ops + ops_size);
		memcpy(ops, plan.op, ops_size);
		memcpy(fetches, plan.fetch, size - ops_size);
	}
	describe(&plan.last, ops, fetches);
	for (u32 k = plan.first_side; k < plan.nsides; k++)
		describe(&plan.side[k], ops, fetches);
	begin_piece(next);
	return &plan.last;
}
