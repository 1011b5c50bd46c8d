/* SPDX-License-Identifier: MIT */
/*
 * Code that reads the records of one way (docs/design/feed.md, "Code for ways"): what model/feed.c does, with the way's
 * constants as immediates.  Fetches one after the other; then clusters, if all of them are quick, else operations one
 * after the other.  What is not quick is a call of the models.
 *
 *	rdi: the thread's feed, rsi: its memory, rdx: the record, r8: the clock
 *	r9 to r11, then the red zone: where clusters are in the table of quick lines
 *	rax, rcx: scratch
 *
 * All that it reaches of a thread's memory is at the same distance from rsi in all threads, as one machine's is.
 */
#include "engine/access/feed_code.h"

#define REGS	  3U /* r9 to r11 */
#define FIRST_REG 9
#define CLOCK	  8
#define RED_ZONE  128U
#define FAILS	  2U /* looks at one thing: at the key of loads, and of stores */
#define SLOW_MAX  (FAILS * AP_FEED_OPS)
#define RDI_BASE  7
#define RSI_BASE  6
#define RDX_BASE  2
#define NO_INDEX  0xff

/* Where code leaves for a call of the models, and goes on behind it. */
struct slow {
	u8 *site, *back;
	u32 nth;
};

struct slows {
	struct slow list[SLOW_MAX];
	u32 n;
};
_Static_assert(AP_FEED_FETCHES <= AP_FEED_OPS, "struct slows is of either");

static struct maker {
	struct ap_emit *e;
	const struct ap_feed_way *way;
	const struct ap_mem *m; /* like all others */
	u32 id;
	struct slows fetches, ops;
	u8 *fail[FAILS * AP_FEED_CLUSTERS]; /* of clusters: to the operations */
	u32 nfails;
} maker; /* large, and one at a time */

/* --- instructions */

/* REX op reg, [base + index * 2^scale + disp]; prefix: 0, or 0x0f before op */
static void emit_at(struct ap_emit *e, u8 rex, u8 prefix, u8 op, u8 reg, u8 base, u8 index,
		    u8 scale, s32 disp)
{
	bool is_plain = index == NO_INDEX;
	bool is_near = disp >= -128 && disp < 128;

	rex |= 0x40 | (reg >= 8 ? 4 : 0) | (!is_plain && index >= 8 ? 2 : 0);
	if (rex != 0x40)
		ap_emit8(e, rex);
	if (prefix)
		ap_emit8(e, prefix);
	ap_emit8(e, op);
	ap_emit8(e, (u8)((is_near ? 0x40 : 0x80) | (reg & 7) << 3 | (is_plain ? base : 4)));
	if (!is_plain)
		ap_emit8(e, (u8)(scale << 6 | (index & 7) << 3 | base));
	ap_emit_bytes(e, &disp, is_near ? 1 : 4);
}

/* Those of rsi and of 64 bits */
static void emit_mem(struct ap_emit *e, u8 op, u8 reg, s32 disp)
{
	emit_at(e, 8, 0, op, reg, RSI_BASE, NO_INDEX, 0, disp);
}

static void emit_table(struct ap_emit *e, u8 op, u8 reg, u8 index, u8 scale, s32 disp)
{
	emit_at(e, 8, 0, op, reg, RSI_BASE, index, scale, disp);
}

static void emit_word(struct ap_emit *e, u8 reg, u32 word)
{
	emit_at(e, 8, 0, 0x8b, reg, RDX_BASE, NO_INDEX, 0, (s32)(8 * word));
}

static void emit_add_rax(struct ap_emit *e, u64 by)
{
	static const u8 add_rcx[3] = { 0x48, 0x01, 0xc8 };

	if (!by)
		return;
	if (ap_fits_s32((s64)by)) {
		ap_emit8(e, 0x48);
		ap_emit8(e, 0x05);
		ap_emit32(e, (u32)by);
		return;
	}
	ap_emit_mov_imm64(e, AP_RCX, by);
	ap_emit_bytes(e, add_rcx, 3);
}

/* 32 bits: op /digit reg, imm8 */
static void emit_shift(struct ap_emit *e, u8 reg, u32 by)
{
	if (!by)
		return;
	if (reg >= 8)
		ap_emit8(e, 0x41);
	ap_emit8(e, 0xc1);
	ap_emit8(e, (u8)(0xe8 | (reg & 7)));
	ap_emit8(e, (u8)by);
}

static void emit_and(struct ap_emit *e, u8 reg, u32 mask)
{
	if (reg >= 8)
		ap_emit8(e, 0x41);
	ap_emit8(e, 0x81);
	ap_emit8(e, (u8)(0xe0 | (reg & 7)));
	ap_emit32(e, mask);
}

/* mov reg, eax */
static void emit_from_eax(struct ap_emit *e, u8 reg)
{
	if (reg >= 8)
		ap_emit8(e, 0x41);
	ap_emit8(e, 0x89);
	ap_emit8(e, (u8)(0xc0 | (reg & 7)));
}

#define JNE 5
#define JA  7

/* Where the looks of one thing lead that are not quick. */
struct fails {
	u8 *site[FAILS];
	u32 n;
};

static void emit_fail(struct maker *k, struct fails *f, u8 condition)
{
	if (f->n == FAILS)
		k->e->full = true;
	else
		f->site[f->n++] = ap_emit_jcc32(k->e, condition);
}

static s32 offset_of(const struct maker *k, const void *of)
{
	return (s32)((const u8 *)of - (const u8 *)k->m);
}

/* --- looking */

static void look_at_constant(struct maker *k, u64 line, const struct ap_quick *q, u32 t,
			     struct fails *f)
{
	ap_emit_mov_imm64(k->e, AP_RAX, line);
	emit_mem(k->e, 0x39, AP_RAX, offset_of(k, &q->key[t]));
	emit_fail(k, f, JNE);
}

/* The address is known: it has no register's value in it. */
static bool is_constant(const struct ap_feed_cluster *g)
{
	return !g->base && !g->is_more;
}

static u64 constant_of(const struct maker *k, const struct ap_feed_cluster *g)
{
	return g->disp + k->id;
}

static bool is_split(const struct maker *k, const struct ap_feed_cluster *g)
{
	u64 address = constant_of(k, g);

	return is_constant(g) && (address ^ (address + g->span)) & k->m->line_mask;
}

static void emit_address(struct maker *k, const struct ap_feed_cluster *g)
{
	struct ap_emit *e = k->e;

	if (g->base) {
		emit_word(e, AP_RAX, g->base);
		emit_add_rax(e, g->disp);
	} else {
		ap_emit_mov_imm64(e, AP_RAX, constant_of(k, g));
	}
	if (g->seg)
		emit_at(e, 8, 0, 0x03, AP_RAX, RDI_BASE, NO_INDEX, 0,
			(s32)(offsetof(struct ap_feed, seg_base) + 8 * g->seg));
	if (g->index) {
		const u8 lea[4] = { 0x48, 0x8d, 0x04, (u8)(g->scale << 6 | 1 << 3) };

		emit_word(e, AP_RCX, g->index);
		ap_emit_bytes(e, lea, 4);
	}
}

/* rax - key at most room */
static void emit_within(struct maker *k, u8 place, u32 t, u32 room, struct fails *f)
{
	const u8 cmp[4] = { 0x48, 0x83, 0xf8, (u8)room };

	emit_table(k->e, 0x2b, AP_RAX, place, 0, offset_of(k, &k->m->quick->key[t]));
	ap_emit_bytes(k->e, cmp, 4);
	emit_fail(k, f, JA);
}

/* keys: which have to be there, of loads (1), of stores (2); its place in the table to a register */
static void look_at(struct maker *k, const struct ap_feed_cluster *g, u32 keys, u8 place,
		    struct fails *f)
{
	u32 room = (1U << k->m->shift) - 1 - g->span;

	emit_address(k, g);
	emit_from_eax(k->e, place);
	emit_shift(k->e, place, k->m->shift - AP_QUICK_SHIFT);
	emit_and(k->e, place, (AP_QUICK - 1) << AP_QUICK_SHIFT);
	if (keys != 3) {
		emit_within(k, place, keys >> 1, room, f);
		return;
	}
	emit_within(k, place, 0, room, f);
	/* then the other key is the line, too, or not the same */
	emit_table(k->e, 0x8b, AP_RAX, place, 0, offset_of(k, &k->m->quick->key[0]));
	emit_table(k->e, 0x3b, AP_RAX, place, 0, offset_of(k, &k->m->quick->key[1]));
	emit_fail(k, f, JNE);
}

static void look_at_known(struct maker *k, const struct ap_feed_cluster *g, u32 keys,
			  struct fails *f)
{
	u64 address = constant_of(k, g);

	for (u32 t = 0; t < 2; t++)
		if (keys >> t & 1)
			look_at_constant(k, address & k->m->line_mask, ap_mem_quick(k->m, address),
					 t, f);
}

/* --- using */

/* The clock is the time of one of an array, whose number is in rax. */
static void emit_stamp(struct maker *k, const u64 *stamps)
{
	if (stamps != &k->m->no_stamp)
		emit_table(k->e, 0x89, CLOCK, AP_RAX, 3, offset_of(k, stamps));
}

static void emit_tick(struct ap_emit *e)
{
	static const u8 inc_r8[3] = { 0x49, 0xff, 0xc0 };

	ap_emit_bytes(e, inc_r8, 3);
}

/* A line: of the entry in the table that the register says, or of this one. */
struct line {
	u8 place; /* or NO_INDEX */
	const struct ap_quick *q;
};

static struct line at_place(const struct maker *k, u8 place)
{
	return (struct line){ .place = place, .q = k->m->quick };
}

static struct line known_line(const struct maker *k, const struct ap_feed_cluster *g)
{
	return (struct line){ .place = NO_INDEX, .q = ap_mem_quick(k->m, constant_of(k, g)) };
}

static void emit_half(struct maker *k, struct line l, const u16 *half)
{
	emit_at(k->e, 0, 0x0f, 0xb7, AP_RAX, RSI_BASE, l.place, 0, offset_of(k, half));
}

static void use_line(struct maker *k, struct line l)
{
	emit_half(k, l, &l.q->slot);
	emit_stamp(k, k->m->stamp);
}

static void use_page(struct maker *k, struct line l, u32 t)
{
	emit_half(k, l, &l.q->page[t]);
	emit_stamp(k, k->m->page_stamp[t]);
}

/* add qword [rdi + disp], by */
static void emit_count(struct maker *k, u32 model, u32 by)
{
	s32 disp = (s32)(offsetof(struct ap_feed, count) + 8 * model);

	if (!by)
		return;
	emit_at(k->e, 8, 0, by < 128 ? 0x83 : 0x81, 0, RDI_BASE, NO_INDEX, 0, disp);
	ap_emit_bytes(k->e, &by, by < 128 ? 1 : 4);
}

static void emit_end(struct maker *k)
{
	emit_mem(k->e, 0x89, CLOCK, offset_of(k, &k->m->clock));
	ap_emit8(k->e, 0xc3);
}

/* --- what is not quick */

static void add_slow(struct slows *to, struct ap_emit *e, const struct fails *f, u32 nth)
{
	if (to->n + f->n > SLOW_MAX) {
		e->full = true;
		return;
	}
	for (u32 n = 0; n < f->n; n++)
		to->list[to->n++] = (struct slow){ .site = f->site[n], .back = e->p, .nth = nth };
}

typedef void (*call)(struct ap_feed *f, const struct ap_feed_way *way, const u64 *log, u32 nth);

static const u8 *emit_call(struct maker *k, call helper)
{
	static const u8 save[4] = { 0x57, 0x56, 0x52, 0x51 }; /* push rdi, rsi, rdx, rcx */
	static const u8 load[6] = { 0xff, 0xd0, 0x59, 0x5a, 0x5e, 0x5f }; /* call rax; pop ... */
	const u8 *start = k->e->p;

	emit_mem(k->e, 0x89, CLOCK, offset_of(k, &k->m->clock));
	ap_emit_bytes(k->e, save, sizeof(save));
	ap_emit_mov_imm64(k->e, AP_RSI, (u64)k->way);
	ap_emit_mov_imm64(k->e, AP_RAX, (u64)helper);
	ap_emit_bytes(k->e, load, sizeof(load));
	emit_mem(k->e, 0x8b, CLOCK, offset_of(k, &k->m->clock));
	ap_emit8(k->e, 0xc3);
	return start;
}

static void emit_slow(struct maker *k, const struct slows *list, call helper)
{
	struct ap_emit *e = k->e;
	const u8 *to = list->n ? emit_call(k, helper) : NULL;

	for (u32 n = 0; n < list->n && !e->full; n++) {
		const struct slow *s = &list->list[n];
		u8 *at;

		ap_patch_rel32(s->site, e->p);
		ap_emit_mov_imm64(e, AP_RCX, s->nth);
		ap_emit8(e, 0xe8);
		ap_emit32(e, 0);
		at = e->p;
		ap_emit_jmp32(e);
		if (e->full)
			return;
		ap_patch_rel32(at - 4, to);
		ap_patch_rel32(e->p - 4, s->back);
	}
}

/* --- fetches */

/* Of lines of one page the last alone says when that was used: nothing asks before. */
static void run_fetches(struct maker *k)
{
	const struct ap_feed_way *way = k->way;

	for (u32 n = 0; n < way->nfetches; n++) {
		u64 line = way->fetches[n] & k->m->line_mask;
		struct line l = { NO_INDEX,
				  ap_quick_of(k->m->code_quick, AP_QUICK_CODE, line, k->m->shift) };
		struct fails f = { .n = 0 };

		look_at_constant(k, line, l.q, 0, &f);
		emit_tick(k->e);
		emit_half(k, l, &l.q->slot);
		emit_stamp(k, k->m->code_stamp);
		if (n + 1 == way->nfetches || (way->fetches[n + 1] ^ line) >> 12) {
			emit_half(k, l, &l.q->page[0]);
			emit_stamp(k, k->m->code_page_stamp);
		}
		add_slow(&k->fetches, k->e, &f, n);
	}
	emit_count(k, AP_MODEL_L1I_LOAD, way->nfetches);
}

/* --- clusters: all looks, then all uses */

static bool runs_in_clusters(const struct maker *k)
{
	const struct ap_feed_way *way = k->way;
	u32 nplaces = 0;

	if (!ap_feed_in_clusters(way))
		return false;
	for (u32 n = 0; n < way->nclusters; n++) {
		if (is_split(k, &way->clusters[n]))
			return false;
		nplaces += !is_constant(&way->clusters[n]);
	}
	return nplaces <= REGS + RED_ZONE / 4;
}

static u32 keys_of(const struct maker *k, const struct ap_feed_cluster *g)
{
	if (k->m->own_store_tlb)
		return g->loads | (u32)g->stores << 1;
	return g->stores ? 2 : 1;
}

/* Of the nth that is not constant; rcx is on its way to the red zone, or from there. */
static u8 place_of(u32 nth)
{
	return nth < REGS ? (u8)(FIRST_REG + nth) : AP_RCX;
}

/* mov [rsp + disp], ecx or mov ecx, [rsp + disp] */
static void emit_red_zone(struct ap_emit *e, u8 op, u32 nth)
{
	const u8 b[4] = { op, 0x4c, 0x24, (u8) - (4 * (nth - REGS + 1)) };

	if (nth >= REGS)
		ap_emit_bytes(e, b, 4);
}

static void look_at_clusters(struct maker *k)
{
	u32 nth = 0;

	for (u32 n = 0; n < k->way->nclusters; n++) {
		const struct ap_feed_cluster *g = &k->way->clusters[n];
		struct fails f = { .n = 0 };

		if (is_constant(g)) {
			look_at_known(k, g, keys_of(k, g), &f);
		} else {
			look_at(k, g, keys_of(k, g), place_of(nth), &f);
			emit_red_zone(k->e, 0x89, nth++);
		}
		for (u32 i = 0; i < f.n; i++)
			k->fail[k->nfails++] = f.site[i];
	}
}

static void use_clusters(struct maker *k)
{
	u32 nth = 0;

	for (u32 n = 0; n < k->way->nclusters; n++) {
		const struct ap_feed_cluster *g = &k->way->clusters[n];
		u32 keys = keys_of(k, g);
		struct line l;

		if (is_constant(g)) {
			l = known_line(k, g);
		} else {
			emit_red_zone(k->e, 0x8b, nth);
			l = at_place(k, place_of(nth++));
		}
		emit_tick(k->e);
		use_line(k, l);
		for (u32 t = 0; t < 2; t++)
			if (keys >> t & 1)
				use_page(k, l, t);
	}
}

static void run_clusters(struct maker *k)
{
	look_at_clusters(k);
	use_clusters(k);
	emit_count(k, AP_MODEL_L1D_LOAD, k->way->nloads);
	emit_count(k, AP_MODEL_L1D_STORE, k->way->nstores);
	emit_end(k);
	for (u32 n = 0; n < k->nfails && !k->e->full; n++)
		ap_patch_rel32(k->fail[n], k->e->p);
}

/* --- operations, one by one */

static void use_op(struct maker *k, struct line l, u32 keys)
{
	emit_tick(k->e);
	if (keys == 3) { /* the load, then the store */
		if (k->m->own_store_tlb)
			use_page(k, l, 0);
		emit_tick(k->e);
	}
	use_line(k, l);
	use_page(k, l, keys >> 1);
}

static void run_op(struct maker *k, u32 nth)
{
	const struct ap_feed_op *op = &k->way->ops[nth];
	struct ap_feed_cluster g = ap_feed_cluster_of(k->way, op, k->id);
	u32 keys = g.loads | (u32)g.stores << 1;
	struct fails f = { .n = 0 };

	if (!ap_feed_may_be_quick(op, k->m->machine.line) || is_split(k, &g)) {
		f.site[f.n++] = ap_emit_jmp32(k->e);
	} else if (is_constant(&g)) {
		look_at_known(k, &g, keys, &f);
		use_op(k, known_line(k, &g), keys);
	} else {
		look_at(k, &g, keys, FIRST_REG, &f);
		use_op(k, at_place(k, FIRST_REG), keys);
	}
	add_slow(&k->ops, k->e, &f, nth);
}

static void run_ops(struct maker *k)
{
	u32 loads = 0, stores = 0;

	for (u32 n = 0; n < k->way->nops; n++) {
		const struct ap_feed_op *op = &k->way->ops[n];

		run_op(k, n);
		if (!ap_feed_may_be_quick(op, k->m->machine.line))
			continue;
		loads += op->what != AP_FEED_STORE;
		stores += op->what != AP_FEED_LOAD;
	}
	emit_count(k, AP_MODEL_L1D_LOAD, loads);
	emit_count(k, AP_MODEL_L1D_STORE, stores);
	emit_end(k);
}

ap_feed_code ap_feed_code_emit(struct ap_emit *e, const struct ap_feed_way *way, u32 id,
			       const struct ap_mem *like)
{
	struct maker *k = &maker;
	u8 *start = e->p;

	k->e = e;
	k->way = way;
	k->id = id;
	k->m = like;
	k->fetches.n = k->ops.n = k->nfails = 0;
	emit_mem(e, 0x8b, CLOCK, offset_of(k, &like->clock));
	run_fetches(k);
	if (runs_in_clusters(k))
		run_clusters(k);
	run_ops(k);
	emit_slow(k, &k->fetches, ap_feed_slow_fetch);
	emit_slow(k, &k->ops, ap_feed_slow_op);
	return e->full ? NULL : (ap_feed_code)start;
}
