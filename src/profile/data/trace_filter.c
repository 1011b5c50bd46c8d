/* SPDX-License-Identifier: MIT */
/*
 * libtraceevent has filters, too, but others: its numbers are never negative, and a field that does
 * not exist is false there and not an error; and its parser of formats faults on some that are
 * wrong.  So the places of fields are read here, and what is made of them is the kernel's
 * (abi/trace_expr.h).
 */
#include "profile/data/trace_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/trace_expr.h"
#include "base/plant.h"
#include "base/str.h"
#include "profile/text/intern.h"

struct ap_raw_filter {
	u32 n;
	struct ap_trace_node node[AP_TRACE_NODES_MAX];
};

/* A number behind "key:" in a line. */
static bool number(const char *line, const char *end, const char *key, u32 *v)
{
	const char *at = memmem(line, (size_t)(end - line), key, strlen(key));
	u64 n;

	if (!at)
		return false;
	at += strlen(key);
	if (!ap_parse_u64(&at, &n) || at > end || n > 0xffff)
		return false;
	*v = (u32)n;
	return true;
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* "TYPE NAME", "TYPE NAME[N]", "__data_loc TYPE[] NAME": the name is its last word. */
static bool is_called(const char *decl, const char *end, const char *name, size_t len)
{
	const char *from;

	while (end > decl && end[-1] == ' ')
		end--;
	if (end > decl && end[-1] == ']') {
		while (end > decl && end[-1] != '[')
			end--;
		end -= end > decl;
	}
	for (from = end; from > decl && is_of_name(from[-1]); from--)
		;
	return (size_t)(end - from) == len && !memcmp(from, name, len);
}

/* Lines of "field:DECLARATION;\toffset:N;\tsize:N;\tsigned:N;", before what says how to print. */
static enum ap_trace_field_kind find(void *arg, const char *name, size_t len,
				     struct ap_trace_field *out)
{
	const char *line = arg, *print = strstr(line, "\nprint fmt:"), *end, *decl, *semi;
	u32 is_signed;

	for (; *line && (!print || line < print); line = end + !!*end) {
		end = line + strcspn(line, "\n");
		decl = memmem(line, (size_t)(end - line), "field:", 6);
		semi = decl ? memchr(decl, ';', (size_t)(end - decl)) : NULL;
		if (!semi || !is_called(decl + 6, semi, name, len))
			continue;
		if (memchr(decl, '[', (size_t)(semi - decl)) ||
		    !number(semi, end, "offset:", &out->offset) ||
		    !number(semi, end, "size:", &out->size) ||
		    !number(semi, end, "signed:", &is_signed) || !out->size)
			return AP_TRACE_FIELD_NO_NUMBER;
		out->is_signed = is_signed;
		return AP_TRACE_FIELD_NUMBER;
	}
	return AP_TRACE_FIELD_NONE;
}

int ap_trace_filter_parse(struct ap_raw_filter **out, const char *format, const char *text,
			  char *why, size_t size)
{
	struct ap_raw_filter *f = ap_profile_calloc(1, sizeof(*f));
	struct ap_str s;

	ap_str_init(&s, why, size);
	*out = NULL;
	if (!strstr(format, "field:"))
		ap_str_add(&s, "the tracepoint's format is not understood");
	else
		f->n = ap_trace_expr_parse(text, find, (void *)format, f->node, AP_TRACE_NODES_MAX,
					   &s);
	AP_PLANT("trace_filter", f->n > 4);
	if (!f->n) {
		free(f);
		return -EINVAL;
	}
	*out = f;
	return 0;
}

void ap_trace_filter_free(struct ap_raw_filter *f)
{
	free(f);
}

bool ap_trace_filter_match(const struct ap_raw_filter *f, const u8 *raw, u32 size)
{
	return ap_trace_expr_match(f->node, f->n, raw, size);
}
