/* SPDX-License-Identifier: MIT */
/*
 * From text to nodes: a conjunction's operands precede it, so that a matcher goes through them
 * once.
 */
#include "abi/trace_expr.h"

#include "base/mem.h"

#define MAX_DEPTH 64

struct parser {
	const char *p;
	ap_trace_find *find;
	void *arg;
	struct ap_trace_node *nodes;
	u32 n, max, depth;
	struct ap_str *why;
};

static bool fail(struct parser *p, const char *what)
{
	if (p->why->len)
		return false;
	ap_str_add(p->why, what);
	ap_str_add(p->why, " at '");
	ap_str_add(p->why, p->p);
	ap_str_char(p->why, '\'');
	return false;
}

static void skip_space(struct parser *p)
{
	while (*p->p == ' ' || *p->p == '\t' || *p->p == '\n')
		p->p++;
}

static bool is_of_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool eat(struct parser *p, const char *word)
{
	size_t len = strlen(word);

	skip_space(p);
	if (strncmp(p->p, word, len) != 0)
		return false;
	p->p += len;
	return true;
}

static bool add(struct parser *p, const struct ap_trace_node *node, u16 *at)
{
	if (p->n == p->max)
		return fail(p, "too long");
	*at = (u16)p->n++;
	p->nodes[*at] = *node;
	return true;
}

/* --- a field and a number */

static bool field_of(struct parser *p, struct ap_trace_node *node)
{
	struct ap_trace_field field = { 0 };
	size_t len = 0;

	while (is_of_word(p->p[len]))
		len++;
	if (!len)
		return fail(p, "a field's name is missing");
	switch (p->find(p->arg, p->p, len, &field)) {
	case AP_TRACE_FIELD_NONE:
		return fail(p, "no such field of the tracepoint");
	case AP_TRACE_FIELD_NO_NUMBER:
		return fail(p, "only numbers can be compared");
	case AP_TRACE_FIELD_NUMBER:
		break;
	}
	if (!field.size || field.size > 8 || field.size & (field.size - 1) || field.offset > 0xffff)
		return fail(p, "only numbers can be compared");
	p->p += len;
	node->a = (u16)field.offset;
	node->size = (u8)field.size;
	node->is_signed = field.is_signed;
	return true;
}

static const char no_strings[] = "strings are not compared, numbers alone";

static bool comparison(struct parser *p, struct ap_trace_node *node)
{
	static const struct {
		char word[3];
		u8 op;
	} words[] = { { "==", AP_TRACE_EQ }, { "!=", AP_TRACE_NE }, { "<=", AP_TRACE_LE },
		      { ">=", AP_TRACE_GE }, { "<", AP_TRACE_LT },  { ">", AP_TRACE_GT },
		      { "&", AP_TRACE_BITS } };

	skip_space(p);
	for (size_t i = 0; i < AP_ARRAY_SIZE(words) && strncmp(p->p, "&&", 2) != 0; i++) {
		if (!eat(p, words[i].word))
			continue;
		node->op = words[i].op;
		return true;
	}
	return fail(p, *p->p == '~' ? no_strings : "one of == != < <= > >= & is missing");
}

static bool is_octal(const char *s)
{
	for (; is_of_word(*s); s++)
		if (*s < '0' || *s > '7')
			return false;
	return true;
}

/* Decimal, 0x and, with a leading 0, octal: as the kernel reads them.  *end is behind it. */
static bool number_at(const char *s, const char **end, u64 *v)
{
	*v = 0;
	*end = s;
	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		*end = s + 2;
		return ap_parse_hex(end, v) && !is_of_word(**end);
	}
	if (s[0] != '0')
		return ap_parse_u64(end, v) && !is_of_word(**end);
	if (!is_octal(s))
		return false;
	for (; is_of_word(**end); (*end)++) {
		if (*v >> 61)
			return false;
		*v = *v * 8 + (u64)(**end - '0');
	}
	return true;
}

static bool number(struct parser *p, struct ap_trace_node *node)
{
	const char *end;
	bool is_negative;
	u64 v;

	is_negative = node->is_signed && eat(p, "-");
	skip_space(p);
	if (*p->p == '"' || *p->p == '\'')
		return fail(p, no_strings);
	if (*p->p < '0' || *p->p > '9')
		return fail(p,
			    *p->p == '-' ? "the field is never negative" : "a number is missing");
	if (!number_at(p->p, &end, &v))
		return fail(p, "no number");
	p->p = end;
	node->value = ap_trace_widened(is_negative ? -v : v, node->size, node->is_signed);
	return true;
}

static bool predicate(struct parser *p, u16 *at)
{
	struct ap_trace_node node = { 0 };

	return field_of(p, &node) && comparison(p, &node) && number(p, &node) && add(p, &node, at);
}

/* --- what they are joined by */

static bool disjunction(struct parser *p, u16 *at);

static bool operand(struct parser *p, u16 *at)
{
	struct ap_trace_node not_this = { .op = AP_TRACE_NOT };
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

static bool conjunction(struct parser *p, u16 *at)
{
	struct ap_trace_node both = { .op = AP_TRACE_AND };

	if (!operand(p, at))
		return false;
	while (eat(p, "&&")) {
		both.a = *at;
		if (!operand(p, &both.b) || !add(p, &both, at))
			return false;
	}
	return true;
}

static bool disjunction(struct parser *p, u16 *at)
{
	struct ap_trace_node either = { .op = AP_TRACE_OR };

	if (!conjunction(p, at))
		return false;
	while (eat(p, "||")) {
		either.a = *at;
		if (!conjunction(p, &either.b) || !add(p, &either, at))
			return false;
	}
	return true;
}

u32 ap_trace_expr_parse(const char *text, ap_trace_find *find, void *arg,
			struct ap_trace_node *nodes, u32 max, struct ap_str *why)
{
	struct parser p = { .p = text,
			    .find = find,
			    .arg = arg,
			    .nodes = nodes,
			    .max = max < AP_TRACE_NODES_MAX ? max : AP_TRACE_NODES_MAX,
			    .why = why };
	u16 whole;

	if (!disjunction(&p, &whole))
		return 0;
	skip_space(&p);
	if (*p.p)
		return (void)fail(&p, "&& or || is missing"), 0;
	return p.n;
}
