/* SPDX-License-Identifier: MIT */
/*
 * The fields of a line that are lists by themselves: branches, and what an access of memory met.
 */
#include <stdio.h>
#include <string.h>

#include "profile/hist/data_source.h"
#include "profile/script/script_internal.h"

/* perf's names of the kinds of branches (PERF_BR_*), 0: not told. */
static const char *const kinds[] = { "",	 "COND", "UNCOND",  "IND",    "CALL",
				     "IND_CALL", "RET",	 "SYSCALL", "SYSRET", "COND_CALL",
				     "COND_RET", "ERET", "IRQ",	    "SERROR", "NO_TX" };

static void flags(struct ap_buf *t, u64 v)
{
	u32 kind = (u32)(v >> 20 & 15);
	char how = '-';

	if (v & 2)
		how = 'P';
	else if (v & 1)
		how = 'M';
	ap_text_printf(t, "/%c/%c/%c/%u/%s ", how, v & 4 ? 'X' : '-', v & 8 ? 'A' : '-',
		       (unsigned int)(v >> 4 & 0xffff),
		       kind < AP_ARRAY_SIZE(kinds) ? kinds[kind] : "");
}

static void resolve(struct ap_script *c, struct ap_profile_thread *th, u64 ip, struct ap_place *p)
{
	ap_session_resolve(c->s, th, AP_PERF_RECORD_MISC_USER, ip, p);
	if (!p->dso)
		ap_session_resolve(c->s, th, AP_PERF_RECORD_MISC_KERNEL, ip, p);
}

static void end(struct ap_script *c, struct ap_profile_thread *th, u64 ip, u32 fields)
{
	struct ap_buf *t = &c->text;
	struct ap_place p;

	if (fields & (AP_FIELD_BRSTACKSYM | AP_FIELD_DSO))
		resolve(c, th, ip, &p);
	if (!(fields & AP_FIELD_BRSTACKSYM)) {
		ap_text_str(t, "0x");
		ap_text_hex(t, ip, 0);
	} else if (p.sym) {
		ap_text_name(t, p.sym->name);
		ap_text_str(t, "+0x");
		ap_text_hex(t, p.addr - p.sym->start, 0);
	} else {
		ap_text_str(t, "[unknown]");
	}
	if (fields & AP_FIELD_DSO) {
		ap_text_char(t, '(');
		ap_text_name(t, p.dso ? p.dso->path : "[unknown]");
		ap_text_char(t, ')');
	}
}

void ap_script_branches(struct ap_script *c, struct ap_profile_thread *th,
			const struct ap_sample *s, u32 fields)
{
	u64 i;

	if (fields & AP_FIELD_BRSTACK) /* one form at a time */
		fields &= ~AP_FIELD_BRSTACKSYM;
	for (i = 0; i < s->nbranches; i++) {
		const u8 *b = s->branches + 24 * i;

		if (!(fields & AP_FIELD_BRSTACKSYM))
			ap_text_char(&c->text, ' ');
		end(c, th, ap_get64(b), fields);
		ap_text_char(&c->text, '/');
		end(c, th, ap_get64(b + 8), fields);
		flags(&c->text, ap_get64(b + 16));
	}
}

/* --- where data came from */

void ap_script_data_source(struct ap_script *c, u64 v)
{
	char text[AP_SOURCE_LINE];
	int n = ap_source_line(v, text, sizeof(text));

	/* as wide as the widest so far */
	if (n > c->source_width)
		c->source_width = n;
	ap_text_printf(&c->text, "%-*s", c->source_width, text);
}
