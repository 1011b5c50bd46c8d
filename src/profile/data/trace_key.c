/* SPDX-License-Identifier: MIT */
#include "profile/data/trace_key.h"

#include <stdio.h>

/* What would end a field early becomes a '?'. */
static void add_text(struct ap_buf *t, const char *text)
{
	for (; *text; text++)
		ap_text_char(t, *text == AP_TRACE_KEY_END ? '?' : *text);
}

const char *ap_trace_key(const struct ap_hist_opts *opts, bool has_text, u64 id, u32 cpu,
			 const u8 *raw, u32 size, struct ap_buf *t)
{
	char order_text[AP_TRACE_KEY_ORDER + 1];
	const char *text;
	u64 order = 0;
	u32 i;

	t->size = 0;
	for (i = 0; i < opts->nfield; i++) {
		text = ap_tracing_field(opts->tracing, opts->field[i], id, cpu, raw, size, &order);
		if (text)
			snprintf(order_text, sizeof(order_text), "%016llx",
				 (unsigned long long)order);
		ap_text_add(t, text ? order_text : AP_TRACE_KEY_NONE, AP_TRACE_KEY_ORDER);
		add_text(t, text ? text : "N/A");
		ap_text_char(t, AP_TRACE_KEY_END);
	}
	if (has_text)
		add_text(t, ap_tracing_text(opts->tracing, id, cpu, raw, size));
	ap_text_char(t, '\0');
	return t->data;
}
