/* SPDX-License-Identifier: MIT */
/*
 * Keys of what tracepoints recorded: all of it as text, and single fields.  An entry has them in
 * one word (trace_key.h), so entries with one word are the same by all of these keys.
 */
#include <string.h>

#include "print/escape.h"
#include "profile/data/trace_key.h"
#include "profile/hist/hist_internal.h"

/* Field k of the word, behind its order; NULL: the word is not of a tracepoint. */
static const char *field_at(const struct ap_hist_entry *e, u32 k)
{
	const char *p = e->trace;

	for (; p && k; k--) {
		p = strchr(p, AP_TRACE_KEY_END);
		p = p ? p + 1 : NULL;
	}
	return p;
}

static u64 word_hash(const struct ap_hist_entry *e)
{
	u64 v = (u64)(uintptr_t)e->trace * 0xff51afd7ed558ccdULL;

	return v ^ v >> 33;
}

static bool word_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->trace == b->trace;
}

/* --- all of it, behind the fields */
static const char *text_of(const struct ap_hist_entry *e)
{
	const char *end = e->trace ? strrchr(e->trace, AP_TRACE_KEY_END) : NULL;

	return end ? end + 1 : e->trace ? e->trace : "N/A";
}

static int text_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		     const struct ap_hist_entry *b)
{
	(void)h;
	return strcmp(text_of(a), text_of(b));
}

static u32 text_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	(void)h;
	return ap_escape_width(text_of(e));
}

static int text_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		      size_t size)
{
	(void)h;
	return snprintf(buf, size, "%-.*s", (int)width, text_of(e));
}

/* --- a field: the largest first, as perf has it, and those that do not have it last */
static int field_sort(const struct ap_hist_entry *a, const struct ap_hist_entry *b, u32 k)
{
	const char *of_a = field_at(a, k), *of_b = field_at(b, k);

	if (!of_a || !of_b)
		return !of_a - !of_b;
	return strcmp(of_b, of_a);
}

static u32 field_len(const struct ap_hist_entry *e, u32 k)
{
	const char *p = field_at(e, k);

	return p ? (u32)strcspn(p, "\1") - AP_TRACE_KEY_ORDER : 3;
}

static int field_print(const struct ap_hist_entry *e, u32 k, u32 width, char *buf, size_t size)
{
	const char *p = field_at(e, k);
	u32 len = field_len(e, k);

	return snprintf(buf, size, "%*.*s", (int)width, (int)(len < width ? len : width),
			p ? p + AP_TRACE_KEY_ORDER : "N/A");
}

bool ap_field_is_none(const struct ap_hist_entry *e, u32 k)
{
	const char *p = field_at(e, k);

	return !p || *p == *AP_TRACE_KEY_NONE;
}

#define FIELD(k)                                                                                   \
	static int field##k##_sort(const struct ap_hist *h, const struct ap_hist_entry *a,         \
				   const struct ap_hist_entry *b)                                  \
	{                                                                                          \
		(void)h;                                                                           \
		return field_sort(a, b, k);                                                        \
	}                                                                                          \
	static u32 field##k##_len(const struct ap_hist *h, const struct ap_hist_entry *e)          \
	{                                                                                          \
		(void)h;                                                                           \
		return field_len(e, k);                                                            \
	}                                                                                          \
	static int field##k##_print(const struct ap_hist *h, const struct ap_hist_entry *e,        \
				    u32 width, char *buf, size_t size)                             \
	{                                                                                          \
		(void)h;                                                                           \
		return field_print(e, k, width, buf, size);                                        \
	}

FIELD(0)
FIELD(1)
FIELD(2)
FIELD(3)
FIELD(4)
FIELD(5)
FIELD(6)
FIELD(7)

#define AT(key) [(key)-AP_KEY_TRACED]
/* Without a name: it is found by the field's. */
#define FIELD_OPS(k)                                                                               \
	AT(AP_KEY_FIELD + (k)) = { "",                                                             \
				   "",                                                             \
				   0,                                                              \
				   field##k##_sort,                                                \
				   field##k##_sort,                                                \
				   word_hash,                                                      \
				   word_same,                                                      \
				   field##k##_len,                                                 \
				   field##k##_print }

const struct ap_key_ops ap_keys_trace[] = {
	AT(AP_KEY_TRACE) = { "trace", "Trace output", 0, text_sort, text_sort, word_hash, word_same,
			     text_len, text_print },
	FIELD_OPS(0),
	FIELD_OPS(1),
	FIELD_OPS(2),
	FIELD_OPS(3),
	FIELD_OPS(4),
	FIELD_OPS(5),
	FIELD_OPS(6),
	FIELD_OPS(7),
};
_Static_assert(AP_HIST_FIELDS == 8, "a function of each");
