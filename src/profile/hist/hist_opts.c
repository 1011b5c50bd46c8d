/* SPDX-License-Identifier: MIT */
#include "profile/hist/hist_opts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/hist/hist_internal.h"

void ap_hist_opts_init(struct ap_hist_opts *o)
{
	memset(o, 0, sizeof(*o));
	o->chain = AP_CHAIN_GRAPH;
	o->chain_percent = 0.5;
	o->quantum = 100000000;
}

#define ALL_FIELDS "trace_fields"

static bool append(enum ap_hist_key *list, u32 *n, enum ap_hist_key key)
{
	u32 i;

	for (i = 0; i < *n; i++) {
		if (list[i] == key)
			return true;
	}
	if (*n == AP_HIST_COLUMNS)
		return false;
	list[(*n)++] = key;
	return true;
}

/*
 * A field of a tracepoint, which is a key from now on; false: there is none, or there are too many.
 */
static bool append_field(struct ap_hist_opts *o, const char *name, size_t len,
			 enum ap_hist_key *list, u32 *n)
{
	char field[AP_TRACING_NAME];
	u32 i;

	if (len >= sizeof(field))
		return false;
	memcpy(field, name, len);
	field[len] = '\0';
	for (i = 0; i < o->nfield && strcmp(o->field[i], field); i++)
		;
	if (i == AP_HIST_FIELDS ||
	    (i == o->nfield && !o->any_field && !ap_tracing_has_field(o->tracing, field)))
		return false;
	memcpy(o->field[i], field, len + 1);
	if (i == o->nfield)
		o->nfield++;
	return append(list, n, AP_KEY_FIELD + i);
}

/* All that tracepoints have, as many as can be keys. */
static bool append_fields(struct ap_hist_opts *o, enum ap_hist_key *list, u32 *n)
{
	char field[AP_HIST_FIELDS][AP_TRACING_NAME];
	u32 i, found = ap_tracing_fields(o->tracing, field, AP_HIST_FIELDS);

	if (o->any_field)
		return true;
	for (i = 0; i < found; i++) {
		if (!append_field(o, field[i], strlen(field[i]), list, n))
			break;
	}
	return found;
}

/* A key, or a field; a name with an event's is no key's. */
static bool append_named(struct ap_hist_opts *o, const char *name, size_t len,
			 enum ap_hist_key *list, u32 *n)
{
	enum ap_hist_key key = AP_COL_N;

	if (len == strlen(ALL_FIELDS) && !strncmp(name, ALL_FIELDS, len))
		return append_fields(o, list, n);
	if (!memchr(name, '.', len))
		key = ap_key_find(name, len);
	return key != AP_COL_N ? append(list, n, key) : append_field(o, name, len, list, n);
}

static int parse_list(struct ap_hist_opts *o, const char *text, enum ap_hist_key *list, u32 *n,
		      char *why, size_t size)
{
	size_t len;

	while (*text) {
		len = strcspn(text, ", ");
		if (len && !append_named(o, text, len, list, n)) {
			snprintf(
				why, size,
				"unknown key '%.*s': 'anyperf report --help' has the keys (-s, -F), and a "
				"field of the file's tracepoints is one",
				(int)len, text);
			return -EINVAL;
		}
		text += len;
		text += strspn(text, ", ");
	}
	return 0;
}

static void prepend(enum ap_hist_key *list, u32 *n, enum ap_hist_key key)
{
	u32 i;

	for (i = 0; i < *n; i++) {
		if (list[i] == key)
			return;
	}
	if (*n == AP_HIST_COLUMNS)
		return;
	memmove(list + 1, list, *n * sizeof(*list));
	list[0] = key;
	++*n;
}

/* Ends of branches are known where entries are branches, references where samples are of them. */
static int check_keys(const struct ap_hist_opts *o, const enum ap_hist_key *key, u32 n, char *why,
		      size_t size)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (key[i] >= AP_KEY_MEMORY && key[i] < AP_KEY_N && !o->memory) {
			snprintf(why, size, "'%s' is of references to memory: needs --mem-mode",
				 ap_key_ops(key[i])->name);
			return -EINVAL;
		}
		if (key[i] < AP_KEY_DSO_FROM || key[i] > AP_KEY_CYCLES || o->branches)
			continue;
		snprintf(why, size, "'%s' is of branches, and the file has none (record -b)",
			 ap_key_ops(key[i])->name);
		return -EINVAL;
	}
	return 0;
}

/* A column that would show the same in each line is left out, unless that leaves none. */
static void choose_single(struct ap_hist_opts *o)
{
	u32 i, left = 0;

	memset(o->single, 0, sizeof(o->single));
	if (!o->filter)
		return;
	o->single[AP_KEY_COMM] = ap_filter_single(o->filter->comms);
	o->single[AP_KEY_DSO] = ap_filter_single(o->filter->dsos);
	o->single[AP_KEY_SYM] = ap_filter_single(o->filter->symbols);
	for (i = 0; i < o->ncolumn; i++)
		left += o->column[i] < AP_KEY_N && !o->single[o->column[i]];
	if (!left)
		memset(o->single, 0, sizeof(o->single));
}

int ap_hist_opts_widths(struct ap_hist_opts *o, const char *list)
{
	u32 i;
	char *end;

	for (i = 0; *list && i < AP_HIST_COLUMNS; i++) {
		unsigned long v = strtoul(list, &end, 10);

		if (end == list || (*end && *end != ',') || v > 1000)
			return -EINVAL;
		o->width[i] = (u32)v;
		list = *end ? end + 1 : end;
	}
	return *list ? -EINVAL : 0;
}

const char *ap_hist_opts_usual(const struct ap_hist_opts *o)
{
	if (o->memory)
		return "local_weight,mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked,"
		       "local_ins_lat";
	return o->branches ? "comm,dso_from,symbol_from,symbol_to,cycles" : "comm,dso,symbol";
}

int ap_hist_opts_columns(struct ap_hist_opts *o, const char *sort, const char *fields, u32 want,
			 char *why, size_t size)
{
	const char *usual = ap_hist_opts_usual(o);
	enum ap_hist_key key[AP_HIST_COLUMNS], extra[AP_HIST_COLUMNS];
	u32 i, n = 0, nextra = 0;
	int r = 0;

	o->nsort = o->ncolumn = o->nfield = 0;
	if (sort && sort[0] == '+') { /* to the usual ones */
		r = parse_list(o, usual, key, &n, why, size);
		sort++;
	}
	if (fields && fields[0] == '+') { /* likewise */
		r = parse_list(o, fields + 1, extra, &nextra, why, size);
		fields = NULL;
	}
	if (!r && fields)
		r = parse_list(o, fields, o->column, &o->ncolumn, why, size);
	if (!r && (sort || !fields))
		r = parse_list(o, sort ? sort : usual, key, &n, why, size);
	if (!r && o->parent)
		append(key, &n, AP_KEY_PARENT);
	if (!r)
		r = check_keys(o, key, n, why, size);
	if (r)
		return r;
	if (fields) {
		for (i = 0; i < n; i++)
			append(o->sort, &o->nsort, key[i]);
		for (i = 0; i < o->ncolumn; i++)
			append(o->sort, &o->nsort, o->column[i]);
		for (i = 0; i < n; i++)
			append(o->column, &o->ncolumn, key[i]);
		o->sym_first = false;
		choose_single(o);
		return 0;
	}
	for (i = 0; i < n; i++)
		append(o->sort, &o->nsort, key[i]);
	for (i = 0; i < nextra; i++)
		append(o->sort, &o->nsort, extra[i]);
	o->sym_first = sort && n && !nextra && key[0] == AP_KEY_SYM;
	prepend(o->sort, &o->nsort, AP_COL_SELF);
	if (o->children)
		prepend(o->sort, &o->nsort, AP_COL_CHILDREN);
	if (o->children)
		append(o->column, &o->ncolumn, AP_COL_CHILDREN);
	append(o->column, &o->ncolumn, AP_COL_SELF);
	if (want & AP_WANT_MODES) {
		append(o->column, &o->ncolumn, AP_COL_SYS);
		append(o->column, &o->ncolumn, AP_COL_USER);
	}
	if (want & AP_WANT_SAMPLES)
		append(o->column, &o->ncolumn, AP_COL_SAMPLES);
	if (want & AP_WANT_PERIOD)
		append(o->column, &o->ncolumn, AP_COL_PERIOD);
	for (i = 0; i < nextra; i++)
		append(o->column, &o->ncolumn, extra[i]);
	for (i = 0; i < n; i++)
		append(o->column, &o->ncolumn, key[i]);
	choose_single(o);
	return 0;
}

static bool word(struct ap_hist_opts *o, bool *order_set, const char *w, size_t len)
{
	static const struct {
		const char *word;
		int chain, order, value;
	} words[] = {
		{ "none", AP_CHAIN_NONE, -1, -1 },
		{ "graph", AP_CHAIN_GRAPH, -1, -1 },
		{ "fractal", AP_CHAIN_FRACTAL, -1, -1 },
		{ "flat", AP_CHAIN_FLAT, -1, -1 },
		{ "folded", AP_CHAIN_FOLDED, -1, -1 },
		{ "caller", -1, AP_CALLER, -1 },
		{ "callee", -1, AP_CALLEE, -1 },
		{ "percent", -1, -1, AP_VALUE_PERCENT },
		{ "period", -1, -1, AP_VALUE_PERIOD },
		{ "count", -1, -1, AP_VALUE_COUNT },
		{ "function", -1, -1, -1 },
	};
	size_t i;

	for (i = 0; i < AP_ARRAY_SIZE(words); i++) {
		if (strlen(words[i].word) < len || strncmp(words[i].word, w, len))
			continue;
		if (words[i].chain >= 0)
			o->chain = (enum ap_chain_mode)words[i].chain;
		if (words[i].order >= 0) {
			o->order = (enum ap_chain_order)words[i].order;
			*order_set = true;
		}
		if (words[i].value >= 0)
			o->value = (enum ap_chain_value)words[i].value;
		return true;
	}
	return false;
}

int ap_hist_opts_graph(struct ap_hist_opts *o, bool *order_set, const char *how, char *why,
		       size_t size)
{
	bool percent_set = false;
	size_t len;
	char *end;

	for (; *how; how += len + (how[len] == ',')) {
		double v;

		len = strcspn(how, ",");
		if (!len || word(o, order_set, how, len))
			continue;
		errno = 0;
		v = strtod(how, &end);
		if (errno || end != how + len || !(v >= 0) || v > 1e9) {
			snprintf(
				why, size,
				"'%.*s' is none of graph, fractal, flat, folded, none, caller, callee, percent, "
				"period, count, or a number",
				(int)len, how);
			return -EINVAL;
		}
		if (percent_set)
			o->chain_limit = (u32)v;
		else
			o->chain_percent = v;
		percent_set = true;
	}
	return 0;
}
