/* SPDX-License-Identifier: MIT */
/*
 * libtraceevent has filters, too, but others: its numbers are never negative, and a field that does not exist
 * is false there and not an error.  So it says where the fields are, and what is made of them is the kernel's
 * (abi/trace_expr.h).
 */
#include "profile/trace_filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "abi/trace_expr.h"
#include "profile/intern.h"

struct ap_trace_filter {
	u32 n;
	struct ap_trace_node node[AP_TRACE_NODES_MAX];
};

static enum ap_trace_field_kind find(void *arg, const char *text, size_t len,
				     struct ap_trace_field *out)
{
	static const unsigned long no_number =
		TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_STRING | TEP_FIELD_IS_DYNAMIC;
	const struct tep_format_field *field;
	char name[64];

	if (len >= sizeof(name))
		return AP_TRACE_FIELD_NONE;
	memcpy(name, text, len);
	name[len] = '\0';
	field = tep_find_any_field(arg, name);
	if (!field)
		return AP_TRACE_FIELD_NONE;
	if (field->flags & no_number || field->size < 1 || field->offset < 0)
		return AP_TRACE_FIELD_NO_NUMBER;
	out->offset = (u32)field->offset;
	out->size = (u32)field->size;
	out->is_signed = field->flags & TEP_FIELD_IS_SIGNED;
	return AP_TRACE_FIELD_NUMBER;
}

int ap_trace_filter_parse(struct ap_trace_filter **out, const char *format, const char *text,
			  char *why, size_t size)
{
	struct tep_handle *tep = tep_alloc();
	struct ap_trace_filter *f;
	struct tep_event *event;
	struct ap_str s;

	ap_str_init(&s, why, size);
	*out = NULL;
	if (!tep) {
		ap_str_add(&s, "out of memory");
		return -ENOMEM;
	}
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(tep, 8);
	tep_parse_event(tep, format, strlen(format), "any");
	event = tep_get_first_event(tep);
	f = ap_profile_calloc(1, sizeof(*f));
	if (!event)
		ap_str_add(&s, "the tracepoint's format is not understood");
	else
		f->n = ap_trace_expr_parse(text, find, event, f->node, AP_TRACE_NODES_MAX, &s);
	tep_free(tep);
	if (!f->n) {
		free(f);
		return -EINVAL;
	}
	*out = f;
	return 0;
}

void ap_trace_filter_free(struct ap_trace_filter *f)
{
	free(f);
}

bool ap_trace_filter_match(const struct ap_trace_filter *f, const u8 *raw, u32 size)
{
	return ap_trace_expr_match(f->node, f->n, raw, size);
}
