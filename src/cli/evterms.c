/* SPDX-License-Identifier: MIT */
/*
 * perf's own terms of an event, one row each; see the header.
 */
#include "cli/evterms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/memory.h"

/* A term's value as it was typed, without quotes; of a term without one, len is 0. */
struct term_value {
	const char *p;
	size_t len;
};

static bool is_word(const struct term_value *v, const char *word)
{
	return v->len == strlen(word) && !strncmp(v->p, word, v->len);
}

/* Decimal, or hexadecimal behind 0x, from 1 to max. */
static bool is_number(const struct term_value *v, u64 max, u64 *n)
{
	const char *p = v->p;
	bool is_hex = v->len > 2 && p[0] == '0' && p[1] == 'x';

	p += is_hex ? 2 : 0;
	return v->len && (is_hex ? ap_parse_hex(&p, n) : ap_parse_u64(&p, n)) &&
	       p == v->p + v->len && *n && *n <= max;
}

bool ap_evchain_of(const char *word, size_t len, enum ap_evchain *chain)
{
	static const char *const words[] = { "no", "fp", "dwarf", "lbr" };
	struct term_value v = { word, len };

	for (size_t i = 0; i < AP_ARRAY_SIZE(words); i++) {
		if (is_word(&v, words[i])) {
			*chain = (enum ap_evchain)i;
			return true;
		}
	}
	return false;
}

static bool take_name(struct ap_evterms *t, const struct term_value *v)
{
	free(t->name);
	t->name = v->len ? ap_xstrndup(v->p, v->len) : NULL;
	return t->name;
}

static bool take_period(struct ap_evterms *t, const struct term_value *v)
{
	t->freq = 0;
	return is_number(v, ~0ULL >> 1, &t->period);
}

static bool take_freq(struct ap_evterms *t, const struct term_value *v)
{
	t->period = 0;
	return is_number(v, ~0U, &t->freq);
}

static bool take_time(struct ap_evterms *t, const struct term_value *v)
{
	t->time = is_word(v, "0") ? AP_EVTERM_NO : AP_EVTERM_YES;
	return t->time == AP_EVTERM_NO || is_word(v, "1");
}

static bool take_chain(struct ap_evterms *t, const struct term_value *v)
{
	t->has_chain = true;
	return ap_evchain_of(v->p, v->len, &t->chain);
}

static bool take_stack(struct ap_evterms *t, const struct term_value *v)
{
	u64 n = 0;
	bool ok = is_number(v, AP_EVTERM_STACK_MAX, &n);

	t->stack_size = (u32)AP_ALIGN_UP(n, 8);
	return ok;
}

static bool take_max_stack(struct ap_evterms *t, const struct term_value *v)
{
	u64 n = 0;
	bool ok = is_number(v, 0xffff, &n);

	t->max_stack = (u16)n;
	return ok;
}

static bool take_inherit(struct ap_evterms *t, const struct term_value *v)
{
	t->inherit = AP_EVTERM_YES;
	return !v->len;
}

static bool take_no_inherit(struct ap_evterms *t, const struct term_value *v)
{
	t->inherit = AP_EVTERM_NO;
	return !v->len;
}

/*
 * Of a term that is perf's and not ours there is no function, and the words are what to do instead.
 */
static const struct own {
	const char *name;
	bool (*take)(struct ap_evterms *t, const struct term_value *v);
	const char *needs;
} own[] = {
	{ "name", take_name, "a name" },
	{ "period", take_period, "a number of events, 1 at least" },
	{ "freq", take_freq, "samples per second" },
	{ "time", take_time, "0 or 1" },
	{ "call-graph", take_chain, "fp, dwarf, lbr or no" },
	{ "stack-size", take_stack, "1 to 65528 bytes" },
	{ "max-stack", take_max_stack, "1 to 65535 frames" },
	{ "inherit", take_inherit, "no value" },
	{ "no-inherit", take_no_inherit, "no value" },
	{ "overwrite", NULL, "--overwrite, for all events" },
	{ "no-overwrite", NULL, "no --overwrite, for all events" },
	{ "branch_type", NULL, "-j, for all events" },
	{ "percore", NULL, "nothing here that it could sum: each CPU is a core" },
	{ "aux-output", NULL, "hardware that traces" },
	{ "aux-sample-size", NULL, "hardware that traces" },
	{ "max-events", NULL, "perf trace" },
};

static const struct own *find(const char *term, size_t len)
{
	size_t name = 0;

	while (name < len && term[name] != '=')
		name++;
	for (size_t i = 0; i < AP_ARRAY_SIZE(own); i++)
		if (strlen(own[i].name) == name && !strncmp(own[i].name, term, name))
			return &own[i];
	return NULL;
}

/* Up to the comma that ends it; there are none in quotes. */
static size_t length(const char *term, const char *end)
{
	const char *p;
	char quote = '\0';

	for (p = term; p < end && (quote || *p != ','); p++) {
		if (quote ? *p == quote : *p == '\'' || *p == '"')
			quote = quote ? '\0' : *p;
	}
	return (size_t)(p - term);
}

static struct term_value value_of(const char *term, size_t len)
{
	const char *eq = memchr(term, '=', len);
	struct term_value v = { term + len, 0 };

	if (!eq)
		return v;
	v.p = eq + 1;
	v.len = (size_t)(term + len - v.p);
	if (v.len >= 2 && (*v.p == '\'' || *v.p == '"') && v.p[v.len - 1] == *v.p) {
		v.p++;
		v.len -= 2;
	}
	return v;
}

static int refuse(const char *event, const struct own *o, char *why, size_t size)
{
	snprintf(why, size, "event syntax error: '%s': the term '%s' %s %s", event, o->name,
		 o->take ? "needs" : "is not taken here, it wants", o->needs);
	return -EINVAL;
}

/* The terms from p on; those of a PMU are appended to kept. */
static int take_all(const char *event, const char *p, const char *end, char **kept,
		    struct ap_evterms *terms, char *why, size_t size)
{
	for (;; p++) {
		size_t len = length(p, end);
		const struct own *o = find(p, len);
		struct term_value v = value_of(p, len);
		char *more;

		if (o && (!o->take || !o->take(terms, &v)))
			return refuse(event, o, why, size);
		if (!o) {
			more = ap_xasprintf("%s%s%.*s", *kept, **kept ? "," : "", (int)len, p);
			free(*kept);
			*kept = more;
		}
		p += len;
		if (p >= end)
			return 0;
	}
}

int ap_evterms_take(const char *event, char **rest, struct ap_evterms *terms, char *why,
		    size_t size)
{
	const char *first = strchr(event, '/'), *last = strrchr(event, '/');
	char *kept;
	int ret;

	*terms = (struct ap_evterms){ .time = AP_EVTERM_UNSAID };
	/* a slash of a breakpoint is before its length */
	if (!first || first == last || !strncmp(event, "mem:", 4)) {
		*rest = ap_xstrdup(event);
		return 0;
	}
	kept = ap_xstrdup("");
	ret = take_all(event, first + 1, last, &kept, terms, why, size);
	if (ret)
		free(terms->name);
	else if (*kept)
		*rest = ap_xasprintf("%.*s/%s/%s", (int)(first - event), event, kept, last + 1);
	else
		*rest = ap_xasprintf("%.*s%s%s", (int)(first - event), event,
				     last[1] && last[1] != ':' ? ":" : "", last + 1);
	free(kept);
	return ret;
}
