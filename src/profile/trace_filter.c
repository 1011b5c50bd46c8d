/* SPDX-License-Identifier: MIT */
/*
 * libtraceevent has filters, too, but others: its numbers are never negative, and a field that does not exist
 * is false there and not an error.  So it says where the fields are, and what is made of them is the kernel's: numbers are compared
 * as what the field is, == != < <= > >= and & (some bit in common), && before ||, ! before what follows.
 */
#include "profile/trace_filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "profile/intern.h"

#define MAX_DEPTH 64
#define MAX_NODES 1024

enum node_kind { NODE_COMPARE, NODE_AND, NODE_OR, NODE_NOT };
enum compare { CMP_EQ, CMP_NE, CMP_LE, CMP_GE, CMP_LT, CMP_GT, CMP_BITS };

struct node {
	enum node_kind kind;
	u32 a, b; /* operands: earlier nodes */
	enum compare compare;
	u32 offset, size;
	bool is_signed;
	u64 value; /* as wide as the field */
};

struct ap_trace_filter {
	u32 n;
	struct node node[MAX_NODES]; /* the last one is the whole */
};

struct parser {
	const char *p;
	struct tep_event *event;
	struct ap_trace_filter *f;
	u32 depth;
	char *why;
	size_t size;
};

static bool fail(struct parser *p, const char *what)
{
	if (!*p->why)
		snprintf(p->why, p->size, "%s at '%s'", what, p->p);
	return false;
}

static void skip_space(struct parser *p)
{
	p->p += strspn(p->p, " \t\n");
}

static bool eat(struct parser *p, const char *word)
{
	skip_space(p);
	if (strncmp(p->p, word, strlen(word)) != 0)
		return false;
	p->p += strlen(word);
	return true;
}

static bool add(struct parser *p, const struct node *node, u32 *at)
{
	if (p->f->n == MAX_NODES)
		return fail(p, "too long");
	*at = p->f->n++;
	p->f->node[*at] = *node;
	return true;
}

/* --- a field and a number */

static bool field_of(struct parser *p, struct node *node)
{
	static const unsigned long no_number =
		TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_STRING | TEP_FIELD_IS_DYNAMIC;
	const struct tep_format_field *field;
	size_t len =
		strspn(p->p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	char name[64];

	if (!len || len >= sizeof(name))
		return fail(p, "a field's name is missing");
	memcpy(name, p->p, len);
	name[len] = '\0';
	field = tep_find_any_field(p->event, name);
	if (!field)
		return fail(p, "no such field of the tracepoint");
	if (field->flags & no_number || field->size < 1 || field->size > 8 ||
	    field->size & (field->size - 1) || field->offset < 0)
		return fail(p, "only numbers can be compared");
	p->p += len;
	node->offset = (u32)field->offset;
	node->size = (u32)field->size;
	node->is_signed = field->flags & TEP_FIELD_IS_SIGNED;
	return true;
}

static const char no_strings[] = "strings are not compared, numbers alone";

static bool comparison(struct parser *p, struct node *node)
{
	static const struct {
		const char *word;
		enum compare compare;
	} words[] = { { "==", CMP_EQ }, { "!=", CMP_NE }, { "<=", CMP_LE }, { ">=", CMP_GE },
		      { "<", CMP_LT },	{ ">", CMP_GT },  { "&", CMP_BITS } };

	skip_space(p);
	for (size_t i = 0; i < AP_ARRAY_SIZE(words) && strncmp(p->p, "&&", 2) != 0; i++) {
		if (!eat(p, words[i].word))
			continue;
		node->compare = words[i].compare;
		return true;
	}
	return fail(p, *p->p == '~' ? no_strings : "one of == != < <= > >= & is missing");
}

static u64 widened(u64 v, const struct node *node)
{
	u32 shift = 64 - 8 * node->size;

	v <<= shift;
	return node->is_signed ? (u64)((s64)v >> shift) : v >> shift;
}

static bool number(struct parser *p, struct node *node)
{
	const char *from;
	bool is_negative;
	char *end;

	is_negative = node->is_signed && eat(p, "-");
	skip_space(p);
	from = p->p;
	if (*from == '"')
		return fail(p, no_strings);
	if (*from < '0' || *from > '9')
		return fail(p,
			    *from == '-' ? "the field is never negative" : "a number is missing");
	errno = 0;
	node->value = strtoull(from, &end, 0);
	if (errno || strspn(end, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))
		return fail(p, "no number");
	p->p = end;
	node->value = widened(is_negative ? -node->value : node->value, node);
	return true;
}

static bool predicate(struct parser *p, u32 *at)
{
	struct node node = { .kind = NODE_COMPARE };

	return field_of(p, &node) && comparison(p, &node) && number(p, &node) && add(p, &node, at);
}

/* --- what they are joined by */

static bool disjunction(struct parser *p, u32 *at);

static bool operand(struct parser *p, u32 *at)
{
	struct node not_this = { .kind = NODE_NOT };
	bool ok;

	if (p->depth == MAX_DEPTH)
		return fail(p, "too deep");
	p->depth++;
	if (eat(p, "!"))
		ok = operand(p, &not_this.a) && add(p, &not_this, at);
	else if (eat(p, "("))
		ok = disjunction(p, at) && (eat(p, ")") || fail(p, "')' is missing"));
	else
		ok = predicate(p, at);
	p->depth--;
	return ok;
}

static bool conjunction(struct parser *p, u32 *at)
{
	struct node both = { .kind = NODE_AND };

	if (!operand(p, at))
		return false;
	while (eat(p, "&&")) {
		both.a = *at;
		if (!operand(p, &both.b) || !add(p, &both, at))
			return false;
	}
	return true;
}

static bool disjunction(struct parser *p, u32 *at)
{
	struct node either = { .kind = NODE_OR };

	if (!conjunction(p, at))
		return false;
	while (eat(p, "||")) {
		either.a = *at;
		if (!conjunction(p, &either.b) || !add(p, &either, at))
			return false;
	}
	return true;
}

static bool parse(struct parser *p)
{
	u32 whole;

	if (!disjunction(p, &whole))
		return false;
	skip_space(p);
	return !*p->p || fail(p, "&& or || is missing");
}

int ap_trace_filter_parse(struct ap_trace_filter **out, const char *format, const char *text,
			  char *why, size_t size)
{
	struct parser p = { .p = text, .why = why, .size = size };
	struct tep_handle *tep = tep_alloc();
	int ret = tep ? 0 : -ENOMEM;

	*why = '\0';
	if (ret) {
		snprintf(why, size, "out of memory");
		return ret;
	}
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(tep, 8);
	tep_parse_event(tep, format, strlen(format), "any");
	p.event = tep_get_first_event(tep);
	p.f = ap_profile_calloc(1, sizeof(*p.f));
	if (!p.event || !parse(&p)) {
		if (!p.event)
			snprintf(why, size, "the tracepoint's format is not understood");
		free(p.f);
		p.f = NULL;
		ret = -EINVAL;
	}
	tep_free(tep);
	*out = p.f;
	return ret;
}

void ap_trace_filter_free(struct ap_trace_filter *f)
{
	free(f);
}

/* --- a sample */

static bool compares(const struct node *node, const u8 *raw, u32 size)
{
	u64 v = 0;
	int order;

	if (node->size > size || node->offset > size - node->size)
		return false;
	memcpy(&v, raw + node->offset, node->size);
	v = widened(v, node);
	if (node->is_signed)
		order = (s64)v < (s64)node->value ? -1 : (s64)v > (s64)node->value;
	else
		order = v < node->value ? -1 : v > node->value;
	switch (node->compare) {
	case CMP_EQ:
		return !order;
	case CMP_NE:
		return order;
	case CMP_LE:
		return order <= 0;
	case CMP_GE:
		return order >= 0;
	case CMP_LT:
		return order < 0;
	case CMP_GT:
		return order > 0;
	case CMP_BITS:
		return v & node->value;
	}
	return false;
}

/* Operands precede what is made of them. */
bool ap_trace_filter_match(const struct ap_trace_filter *f, const u8 *raw, u32 size)
{
	bool is[MAX_NODES];

	for (u32 i = 0; i < f->n; i++) {
		const struct node *node = &f->node[i];

		if (node->kind == NODE_COMPARE)
			is[i] = compares(node, raw, size);
		else if (node->kind == NODE_NOT)
			is[i] = !is[node->a];
		else
			is[i] = node->kind == NODE_AND ? is[node->a] && is[node->b]
						       : is[node->a] || is[node->b];
	}
	return f->n && is[f->n - 1];
}
