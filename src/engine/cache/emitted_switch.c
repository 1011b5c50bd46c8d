/* SPDX-License-Identifier: MIT */
/*
 * --stress emitted: each block as it was written, a line in the log, for a comparison of two builds (tools/check-emitted.sh).
 * An address of the engine's differs between builds, so what leads out of a block is told in words that do not: which exit's
 * stub it is, or the program's address.
 */
#include "abi/switches.h"
#include "base/str.h"
#include "engine/cache/unit.h"
#include "engine/runtime/engine.h"
#include "x86/insn.h"

static AP_ROOMY char line[64 << 10]; /* process lock */

static bool is_engines(u64 at)
{
	return at >= AP_PAGE_SIZE && ap_mem_is_ours(at, at + 1);
}

static bool is_in_block(const struct ap_block *b, u64 at)
{
	const u8 *start = b->pad ? b->pad : b->code;

	return at >= (u64)start && at < (u64)(b->code + b->code_len);
}

/* What the instruction at p refers to from where it stands. */
static void add_far(struct ap_str *s, const struct ap_block *b, u64 to)
{
	for (u32 k = 0; k < b->nexits; k++) {
		if (to != (u64)b->exits[k].stub)
			continue;
		ap_str_add(s, "<exit ");
		ap_str_u64(s, k);
		ap_str_char(s, '>');
		return;
	}
	if (to == (u64)(ap_units[b->unit].base + AP_UNIT_GATE)) {
		ap_str_add(s, "<gate>");
	} else if (is_engines(to)) {
		ap_str_add(s, "<engine>");
	} else {
		ap_str_char(s, '<');
		ap_str_hex(s, to, 0);
		ap_str_char(s, '>');
	}
}

static void add_bytes(struct ap_str *s, const u8 *p, u32 n)
{
	for (u32 k = 0; k < n; k++)
		ap_str_hex(s, p[k], 2);
}

static u64 read_field(const u8 *p, u32 size)
{
	u64 v = 0;

	for (u32 k = 0; k < size; k++)
		v |= (u64)p[k] << 8 * k;
	return v;
}

/* A field of 4 or 8 bytes that is an address of the engine's is not told. */
static void add_field(struct ap_str *s, const u8 *p, u32 size)
{
	if (size >= 4 && is_engines(read_field(p, size)))
		ap_str_add(s, "<engine>");
	else
		add_bytes(s, p, size);
}

static void add_insn(struct ap_str *s, const struct ap_block *b, const u8 *p,
		     const struct ap_insn *i)
{
	bool is_branch = i->kind == AP_I_JCC || i->kind == AP_I_JMP || i->kind == AP_I_CALL ||
			 i->kind == AP_I_JRCXZ || i->kind == AP_I_XBEGIN;
	u64 next = (u64)p + i->len, to = next;
	u32 at = 0;

	if (i->flags & AP_INSN_RIP_REL)
		to = next + (u64)i->disp;
	if (is_branch)
		to = next + (u64)i->imm;
	while (at < i->len) {
		if (i->disp_size && at == i->disp_off && i->flags & AP_INSN_RIP_REL &&
		    !is_in_block(b, to)) {
			add_far(s, b, to);
			at += i->disp_size;
		} else if (i->disp_size && at == i->disp_off) {
			add_field(s, p + at, i->disp_size);
			at += i->disp_size;
		} else if (i->imm_size && at == i->imm_off && is_branch && !is_in_block(b, to)) {
			add_far(s, b, to);
			at += i->imm_size;
		} else if (i->imm_size && at == i->imm_off) {
			add_field(s, p + at, i->imm_size);
			at += i->imm_size;
		} else {
			add_bytes(s, p + at, 1);
			at++;
		}
	}
}

/* The literals at the end, which are no instructions: the first one that an instruction refers to. */
static const u8 *find_literals(const struct ap_block *b)
{
	const u8 *p = b->pad ? b->pad : b->code, *end = b->code + b->code_len;
	struct ap_insn i;

	while (p < end) {
		if (ap_insn_decode(&i, p, (size_t)(end - p))) {
			p++;
			continue;
		}
		p += i.len;
		if (i.flags & AP_INSN_RIP_REL && p + i.disp >= p && p + i.disp < end)
			end = p + i.disp;
	}
	return end;
}

static void add_code(struct ap_str *s, const struct ap_block *b)
{
	const u8 *p = b->pad ? b->pad : b->code, *end = b->code + b->code_len;
	const u8 *literals = find_literals(b);
	struct ap_insn i;

	while (p < literals) {
		if (p == b->code && b->pad)
			ap_str_add(s, " code ");
		if (ap_insn_decode(&i, p, (size_t)(end - p)) ||
		    (p < b->code && p + i.len > b->code)) {
			add_bytes(s, p++, 1);
			continue;
		}
		add_insn(s, b, p, &i);
		p += i.len;
	}
	for (; p + 8 <= end; p += 8) {
		ap_str_char(s, ' ');
		add_field(s, p, 8);
	}
}

static void add_exits(struct ap_str *s, const struct ap_block *b)
{
	for (u32 k = 0; k < b->nexits; k++) {
		ap_str_add(s, k ? "," : " exits ");
		ap_str_u64(s, b->exits[k].kind);
		ap_str_char(s, ':');
		ap_str_u64(s, b->exits[k].special);
		ap_str_char(s, ':');
		ap_str_hex(s, b->exits[k].target, 0);
	}
}

/* A page was not in memory, and will be the next time: not told, as each run finds others. */
static bool is_to_fetch(const struct ap_block *b)
{
	return !b->nrecs && b->exits[0].kind == AP_EXIT_SPECIAL &&
	       b->exits[0].special == AP_SPECIAL_FETCH;
}

/* pc, what is said of its instructions, its exits, its code. */
void ap_emitted_note(const struct ap_block *b)
{
	const struct ap_switches *switches = &ap_proc.session->switches;
	struct ap_str s;

	if (!ap_is_stressed(ap_proc.session, AP_STRESS_EMITTED) || !switches->has_log ||
	    is_to_fetch(b))
		return;
	ap_str_init(&s, line, sizeof(line));
	ap_str_u64(&s, ap_self()->tid);
	ap_str_char(&s, ' ');
	ap_str_hex(&s, b->pc, 0);
	ap_str_add(&s, b->plain ? " plain" : "");
	ap_str_add(&s, b->probe ? " probe" : "");
	ap_str_add(&s, " insns ");
	add_bytes(&s, (const u8 *)b->recs, b->nrecs * (u32)sizeof(*b->recs));
	add_exits(&s, b);
	ap_str_add(&s, b->pad ? " pad " : " code ");
	add_code(&s, b);
	ap_str_add(&s, s.cut ? " cut\n" : "\n");
	(void)ap_sys3(AP_NR_write, switches->log, (u64)line, s.len);
}
