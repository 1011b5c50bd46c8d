/* SPDX-License-Identifier: MIT */
/*
 * Jumps of a function.  The disassembler's text tells a direct jump from a reference to data: it has the
 * target itself as its only operand.
 */
#include "tui/flow.h"

#include <stdlib.h>
#include <string.h>

#include "profile/symbols/disasm.h"

/* Where the operand begins, if it is the target itself; else NULL. */
static const char *direct_operand(const struct ap_listing_line *line)
{
	const char *operand;
	char *end;

	if (line->kind != AP_LISTING_CODE || !line->target)
		return NULL;
	operand = ap_disasm_operand(line->text);
	if (strtoull(operand, &end, 16) != line->target || (*end && *end != ' '))
		return NULL;
	return operand;
}

/* The line of the instruction at that address: their addresses rise. */
static u32 line_at(const struct ap_listing *l, const u32 *code, u32 n, u64 vaddr)
{
	u32 lo = 0, hi = n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (l->line[code[mid]].vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && l->line[code[lo]].vaddr == vaddr ? code[lo] : AP_FLOW_NOWHERE;
}

void ap_flow_make(struct ap_flow *f, const struct ap_listing *l)
{
	u32 *code = ap_profile_calloc(l->n + 1, sizeof(u32)), i, n = 0;

	f->n = l->n;
	f->to = ap_profile_calloc(l->n + 1, sizeof(u32));
	f->from = ap_profile_calloc(l->n + 1, sizeof(u32));
	for (i = 0; i < l->n; i++) {
		if (l->line[i].kind == AP_LISTING_CODE)
			code[n++] = i;
	}
	for (i = 0; i < l->n; i++) {
		f->to[i] = AP_FLOW_NOWHERE;
		if (!direct_operand(&l->line[i]) || ap_disasm_is_call(l->line[i].text))
			continue;
		f->to[i] = line_at(l, code, n, l->line[i].target);
		if (f->to[i] != AP_FLOW_NOWHERE)
			f->from[f->to[i]]++;
	}
	free(code);
}

void ap_flow_fini(struct ap_flow *f)
{
	free(f->to);
	free(f->from);
	*f = (struct ap_flow){ 0 };
}

const char *ap_flow_arrow(const struct ap_flow *f, u32 at, u32 i)
{
	u32 to = at < f->n ? f->to[at] : AP_FLOW_NOWHERE;

	if (to == AP_FLOW_NOWHERE || i < (at < to ? at : to) || i > (at < to ? to : at))
		return "   ";
	if (i == to)
		return "+->";
	return i == at ? "+--" : "|  ";
}

bool ap_flow_has_offset(const struct ap_flow *f, const struct ap_listing *l, u32 i,
			enum ap_flow_offsets which)
{
	return which == AP_FLOW_ALL || f->from[i] ||
	       (which == AP_FLOW_CALLS && ap_disasm_is_call(l->line[i].text));
}

void ap_flow_put_short(const struct ap_flow *f, const struct ap_listing *l, u32 i,
		       struct ap_row *out)
{
	const struct ap_listing_line *line = &l->line[i];
	const char *operand = direct_operand(line), *name, *end;
	u32 to = f->to[i];

	if (!operand) {
		ap_row_add(out, AP_TINT_PLAIN, "%s", line->text);
		return;
	}
	ap_row_add(out, AP_TINT_PLAIN, "%.*s", (int)(operand - line->text), line->text);
	name = strchr(operand, '<');
	end = name ? strrchr(name, '>') : NULL;
	if (to != AP_FLOW_NOWHERE)
		ap_row_add(out, AP_TINT_PLAIN, "%c %llx", to > i ? 'v' : '^',
			   (unsigned long long)l->line[to].off);
	else if (end)
		ap_row_add(out, AP_TINT_PLAIN, "%.*s", (int)(end - name) - 1, name + 1);
	else
		ap_row_add(out, AP_TINT_PLAIN, "%s", operand);
}
