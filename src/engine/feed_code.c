/* SPDX-License-Identifier: MIT */
/*
 * Code that reads the records of one way (docs/design/feed.md, "Code for ways"): what model/feed.c does where all lines are
 * quick, with the way's constants as immediates.  First it looks at all lines, and has done nothing if one
 * is not quick; then it writes what changes.
 *
 *	rdi: the thread's feed, and scratch when all is counted; rsi: its memory; rdx: the record
 *	r8 to r11, then the red zone: where clusters are in the table of quick lines
 *	rax, rcx: scratch; rcx is the clock from when all is known
 *
 * All that it reaches of a thread's memory is at the same distance from rsi in all threads, as one machine's is.
 */
#include "engine/feed_code.h"

#define REGS	  4U /* r8 to r11 */
#define RED_ZONE  128U
#define FAILS_MAX (AP_FEED_FETCHES + 2 * AP_FEED_CLUSTERS)
#define RDI_BASE  7
#define RSI_BASE  6
#define RDX_BASE  2
#define NO_INDEX  0xff

struct maker {
	struct ap_emit *e;
	const struct ap_feed_way *way;
	const struct ap_mem *m; /* like all others */
	u32 id;
	u8 *fail[FAILS_MAX];
	u32 nfails;
};

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

/* movzx eax, word [rsi + index + disp] */
static void emit_half(struct ap_emit *e, u8 index, s32 disp)
{
	emit_at(e, 0, 0x0f, 0xb7, AP_RAX, RSI_BASE, index, 0, disp);
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

static void emit_fail(struct maker *k, u8 condition)
{
	k->fail[k->nfails++] = ap_emit_jcc32(k->e, condition);
}

static s32 offset_of(const struct maker *k, const void *of)
{
	return (s32)((const u8 *)of - (const u8 *)k->m);
}

/* --- looking: to the end if the line is not quick */

#define JNE 5
#define JA  7

static void look_at_constant(struct maker *k, u64 line, const struct ap_quick *q, u32 t)
{
	ap_emit_mov_imm64(k->e, AP_RAX, line);
	emit_mem(k->e, 0x39, AP_RAX, offset_of(k, &q->key[t]));
	emit_fail(k, JNE);
}

static const struct ap_quick *code_entry(const struct maker *k, u64 line)
{
	return ap_quick_of(k->m->code_quick, AP_QUICK_CODE, line, k->m->shift);
}

static void look_at_fetches(struct maker *k)
{
	for (u32 n = 0; n < k->way->nfetches; n++) {
		u64 line = k->way->fetches[n] & k->m->line_mask;

		look_at_constant(k, line, code_entry(k, line), 0);
	}
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

/* Which keys have to be there: of loads, of stores. */
static u32 keys_of(const struct maker *k, const struct ap_feed_cluster *g)
{
	if (k->m->own_store_tlb)
		return g->loads | (u32)g->stores << 1;
	return g->stores ? 2 : 1;
}

/* Of the nth that is not constant. */
static u8 place_of(u32 nth)
{
	return nth < REGS ? (u8)(8 + nth) : AP_RCX;
}

/* mov [rsp + disp], reg or mov reg, [rsp + disp] */
static void emit_red_zone(struct ap_emit *e, u8 op, u8 reg, u32 nth)
{
	const u8 b[4] = { op, (u8)(0x44 | reg << 3), 0x24, (u8) - (4 * (nth - REGS + 1)) };

	ap_emit_bytes(e, b, 4);
}

/* rax - key at most room */
static void emit_within(struct maker *k, u8 place, u32 t, u32 room)
{
	const u8 cmp[4] = { 0x48, 0x83, 0xf8, (u8)room };

	emit_table(k->e, 0x2b, AP_RAX, place, 0, offset_of(k, &k->m->quick->key[t]));
	ap_emit_bytes(k->e, cmp, 4);
	emit_fail(k, JA);
}

static void look_at_cluster(struct maker *k, const struct ap_feed_cluster *g, u32 nth)
{
	u32 keys = keys_of(k, g), room = (1U << k->m->shift) - 1 - g->span;
	u8 place = place_of(nth);

	emit_address(k, g);
	emit_from_eax(k->e, place);
	emit_shift(k->e, place, k->m->shift - AP_QUICK_SHIFT);
	emit_and(k->e, place, (AP_QUICK - 1) << AP_QUICK_SHIFT);
	if (place == AP_RCX)
		emit_red_zone(k->e, 0x89, AP_RCX, nth);
	if (keys != 3) {
		emit_within(k, place, keys >> 1, room);
		return;
	}
	emit_within(k, place, 0, room);
	/* then the other key is the line, too, or not the same */
	emit_table(k->e, 0x8b, AP_RAX, place, 0, offset_of(k, &k->m->quick->key[0]));
	emit_table(k->e, 0x3b, AP_RAX, place, 0, offset_of(k, &k->m->quick->key[1]));
	emit_fail(k, JNE);
}

/* --- using: all are */

/* It is the time of one of an array, whose number the table has. */
static void emit_stamp(struct maker *k, const u64 *stamps)
{
	if (stamps != &k->m->no_stamp)
		emit_table(k->e, 0x89, AP_RCX, AP_RAX, 3, offset_of(k, stamps));
}

static void emit_tick(struct ap_emit *e)
{
	static const u8 inc_rcx[3] = { 0x48, 0xff, 0xc1 };

	ap_emit_bytes(e, inc_rcx, 3);
}

/* movzx eax, word [rsi + disp] */
static void emit_constant_half(struct maker *k, const u16 *half)
{
	emit_at(k->e, 0, 0x0f, 0xb7, AP_RAX, RSI_BASE, NO_INDEX, 0, offset_of(k, half));
}

/* Of lines of one page the last alone says when that was used. */
static void use_fetches(struct maker *k)
{
	const struct ap_feed_way *way = k->way;

	for (u32 n = 0; n < way->nfetches; n++) {
		u64 line = way->fetches[n] & k->m->line_mask;
		const struct ap_quick *q = code_entry(k, line);

		emit_tick(k->e);
		emit_constant_half(k, &q->slot);
		emit_stamp(k, k->m->code_stamp);
		if (n + 1 < way->nfetches && !((way->fetches[n + 1] ^ line) >> 12))
			continue;
		emit_constant_half(k, &q->page[0]);
		emit_stamp(k, k->m->code_page_stamp);
	}
}

static void use_constant(struct maker *k, u64 address, u32 keys)
{
	const struct ap_quick *q = ap_mem_quick(k->m, address);

	emit_constant_half(k, &q->slot);
	emit_stamp(k, k->m->stamp);
	for (u32 t = 0; t < 2; t++) {
		if (!(keys >> t & 1))
			continue;
		emit_constant_half(k, &q->page[t]);
		emit_stamp(k, k->m->page_stamp[t]);
	}
}

static void use_cluster(struct maker *k, u32 keys, u32 nth)
{
	const struct ap_quick *q = k->m->quick;
	u8 place = place_of(nth);

	if (place == AP_RCX) { /* the clock is there now, and the counts are done */
		place = AP_RDI;
		emit_red_zone(k->e, 0x8b, place, nth);
	}
	emit_half(k->e, place, offset_of(k, &q->slot));
	emit_stamp(k, k->m->stamp);
	for (u32 t = 0; t < 2; t++) {
		if (!(keys >> t & 1))
			continue;
		emit_half(k->e, place, offset_of(k, &q->page[t]));
		emit_stamp(k, k->m->page_stamp[t]);
	}
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

/* --- a way */

static bool is_split(const struct maker *k, u64 address, u32 span)
{
	return (address ^ (address + span)) & k->m->line_mask;
}

static bool may_be_quick(const struct maker *k)
{
	const struct ap_feed_way *way = k->way;
	u32 nplaces = 0;

	if (way->nops && !way->nclusters)
		return false;
	for (u32 n = 0; n < way->nclusters; n++) {
		const struct ap_feed_cluster *g = &way->clusters[n];

		if (is_constant(g) && is_split(k, constant_of(k, g), g->span))
			return false;
		nplaces += !is_constant(g);
	}
	return nplaces <= REGS + RED_ZONE / 4;
}

static void look_at_all(struct maker *k)
{
	const struct ap_feed_way *way = k->way;
	u32 nth = 0;

	look_at_fetches(k);
	for (u32 n = 0; n < way->nclusters; n++) {
		const struct ap_feed_cluster *g = &way->clusters[n];
		u32 keys = keys_of(k, g);
		u64 address;

		if (!is_constant(g)) {
			look_at_cluster(k, g, nth++);
			continue;
		}
		address = constant_of(k, g);
		for (u32 t = 0; t < 2; t++)
			if (keys >> t & 1)
				look_at_constant(k, address & k->m->line_mask,
						 ap_mem_quick(k->m, address), t);
	}
}

static void use_all(struct maker *k)
{
	const struct ap_feed_way *way = k->way;
	u32 nth = 0;

	emit_count(k, AP_MODEL_L1I_LOAD, way->nfetches);
	emit_count(k, AP_MODEL_L1D_LOAD, way->nloads);
	emit_count(k, AP_MODEL_L1D_STORE, way->nstores);
	emit_mem(k->e, 0x8b, AP_RCX, offset_of(k, &k->m->clock));
	use_fetches(k);
	for (u32 n = 0; n < way->nclusters; n++) {
		const struct ap_feed_cluster *g = &way->clusters[n];

		emit_tick(k->e);
		if (is_constant(g))
			use_constant(k, constant_of(k, g), keys_of(k, g));
		else
			use_cluster(k, keys_of(k, g), nth++);
	}
	emit_mem(k->e, 0x89, AP_RCX, offset_of(k, &k->m->clock));
}

ap_feed_code ap_feed_code_emit(struct ap_emit *e, const struct ap_feed_way *way, u32 id,
			       const struct ap_mem *like)
{
	static const u8 yes[6] = { 0xb8, 1, 0, 0, 0, 0xc3 }, no[3] = { 0x31, 0xc0, 0xc3 };
	struct maker k = { .e = e, .way = way, .m = like, .id = id };
	u8 *start = e->p;

	if (!may_be_quick(&k))
		return NULL;
	look_at_all(&k);
	use_all(&k);
	ap_emit_bytes(e, yes, sizeof(yes));
	if (e->full)
		return NULL;
	for (u32 n = 0; n < k.nfails; n++)
		ap_patch_rel32(k.fail[n], e->p);
	ap_emit_bytes(e, no, sizeof(no));
	return e->full ? NULL : (ap_feed_code)start;
}
