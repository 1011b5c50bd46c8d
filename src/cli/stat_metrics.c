/* SPDX-License-Identifier: MIT */
/*
 * Metrics stand in perf's columns: behind the rows as comments without a count, or with
 * --metric-only side by side.  Each says what it is made of: exact where all of its counts are,
 * modelled where one is.
 */
#include "cli/stat_metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"
#include "linux/run/run.h"
#include "print/escape.h"
#include "print/print.h"

#define COLUMN_WIDTH 20 /* perf's */
#define NAME_SIZE    160

/* --- choosing */

static void add(struct ap_stat_metrics *m, const struct ap_metric *metric)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->chosen[i] == metric)
			return;
	m->chosen = ap_xgrow(m->chosen, m->n + 1, sizeof(*m->chosen));
	m->chosen[m->n++] = metric;
}

int ap_stat_metrics_choose(struct ap_stat_metrics *m, const char *names, char *why, size_t size)
{
	size_t len;

	for (; *names; names += len + (names[len] == ',')) {
		const struct ap_metric *one;
		bool any;

		len = strcspn(names, ",");
		one = ap_metric_find(&m->table, names, len);
		any = one != NULL;
		if (one)
			add(m, one);
		for (size_t i = 0; i < m->table.n && !one; i++) {
			if (!ap_metric_is_in(&m->table.v[i], names, len))
				continue;
			any = true;
			add(m, &m->table.v[i]);
		}
		if (any)
			continue;
		snprintf(why, size, "no metric or group '%.*s' ('anyperf list metrics' lists them)",
			 (int)len, names);
		return -EINVAL;
	}
	return 0;
}

static bool has_event(const struct ap_evlist *list, const char *name, size_t len)
{
	for (size_t i = 0; i < list->n; i++)
		if (strlen(list->sel[i].name) == len && !memcmp(list->sel[i].name, name, len))
			return true;
	return false;
}

struct asked_metrics {
	const struct ap_stat_metrics *metrics;
	struct ap_evlist *list;	  /* to add to, */
	const struct ap_stat *st; /* or to take values from: */
	const struct ap_stat_place *place;
	enum ap_event_kind kind; /* of all so far */
	bool is_short;		 /* ap_stat_is_short() of one of them */
	struct {
		bool is_asked, has_counted;
	} exact, modelled;
};

static int machine_number(struct asked_metrics *a, const char *key, size_t len, double *v)
{
	char name[64];

	if (len >= sizeof(name))
		return -EINVAL;
	memcpy(name, key, len);
	name[len] = '\0';
	if (a->kind == AP_KIND_EXACT)
		a->kind = AP_KIND_MODELLED;
	return ap_run_machine_number(a->metrics->run, name, v) ? -EINVAL : 1;
}

static int add_event(void *arg, const char *name, size_t len, double *v)
{
	struct asked_metrics *a = arg;
	char why[400], *event;
	int ret = 0;

	*v = 1;
	if (*name == '#')
		return machine_number(a, name + 1, len - 1, v);
	if (has_event(a->list, name, len))
		return 1;
	event = ap_xasprintf("%.*s", (int)len, name);
	ret = ap_evlist_parse(a->list, event, why, sizeof(why));
	free(event);
	return ret ? -EINVAL : 1;
}

int ap_stat_metrics_events(const struct ap_stat_metrics *m, struct ap_evlist *list, char *why,
			   size_t size)
{
	struct asked_metrics a = { .metrics = m, .list = list };
	double v;
	int ret;

	for (size_t i = 0; i < m->n; i++) {
		ret = ap_metric_value(&m->table, m->chosen[i], add_event, &a, &v, why, size);
		if (ret < 0)
			return ret;
	}
	return 0;
}

void ap_stat_metrics_fini(struct ap_stat_metrics *m)
{
	ap_metrics_fini(&m->table);
	free(m->chosen);
	m->chosen = NULL;
	m->n = 0;
}

/* --- values */

/* A cell: of a metric, or of a row's own comment. */
struct cell {
	const char *name, *unit, *kind;
	char text[NAME_SIZE + 16]; /* the name, where it is a row's */
	double value;
	bool is_there;
};

static void note_kind(struct asked_metrics *a, const struct ap_stat_row *row)
{
	bool has_counted = row->agg.mean > 0;

	a->is_short |= ap_stat_is_short(a->st, row);
	if (row->sel->desc->kind == AP_KIND_EXACT) {
		a->exact.is_asked = true;
		a->exact.has_counted |= has_counted;
	} else if (row->sel->desc->kind == AP_KIND_MODELLED) {
		a->modelled.is_asked = true;
		a->modelled.has_counted |= has_counted;
	}
}

/* As is_remainder() of stat_comment.c. */
static bool is_remainder(const struct asked_metrics *a)
{
	return a->st->of_intervals && a->exact.is_asked && a->modelled.is_asked &&
	       (a->exact.has_counted != a->modelled.has_counted || a->is_short);
}

static int count_of(void *arg, const char *name, size_t len, double *v)
{
	struct asked_metrics *a = arg;

	if (*name == '#')
		return machine_number(a, name + 1, len - 1, v);
	for (size_t i = 0; i < a->st->nrows; i++) {
		const struct ap_stat_row *row = &a->st->row[i];

		if (row->place != a->place || strlen(row->sel->name) != len ||
		    memcmp(row->sel->name, name, len) != 0)
			continue;
		if (row->sel->desc->kind > a->kind)
			a->kind = row->sel->desc->kind;
		*v = row->agg.mean;
		note_kind(a, row);
		return row->agg.n != 0 && ap_stat_row_state(row) == AP_STAT_COUNTED;
	}
	return 0;
}

static void fill_chosen(const struct ap_stat *st, const struct ap_stat_place *place, size_t i,
			struct cell *c)
{
	const struct ap_metric *m = st->metrics->chosen[i];
	struct asked_metrics a = { .metrics = st->metrics, .st = st, .place = place };
	char why[200];

	*c = (struct cell){ .name = m->name, .unit = m->unit };
	c->is_there = ap_metric_value(&st->metrics->table, m, count_of, &a, &c->value, why,
				      sizeof(why)) > 0 &&
		      !is_remainder(&a);
	if (!strcmp(m->unit, "%"))
		c->value *= 100;
	c->kind = ap_stat_kind_name(a.kind, st->is_estimated);
}

/* The first row of the i-th event that has a column; -1: there are no more. */
static ptrdiff_t event_of_column(const struct ap_stat *st, size_t i)
{
	struct ap_stat_column col;

	for (size_t k = 0; k < st->nrows; k += st->nplaces)
		if (ap_stat_row_column(st, &st->row[k], &col) && !i--)
			return (ptrdiff_t)k;
	return -1;
}

/* A rate is called by its event, and the rest by what it is. */
static void name_column(const struct ap_stat *st, const struct ap_stat_row *row, char *text,
			size_t size)
{
	const char *cgroup = ap_stat_row_cgroup(st, row);
	struct ap_stat_column col;

	if (!ap_stat_row_column(st, row, &col))
		*text = '\0';
	else
		snprintf(text, size, "%s%s%s", *col.what == '/' ? row->sel->name : col.what,
			 cgroup && *cgroup ? " " : "", cgroup ? cgroup : "");
}

/* Of columns of one name the second is "name (2)". */
static void number_column(const struct ap_stat *st, size_t of, struct cell *c)
{
	char other[sizeof(c->text)];
	size_t len = strlen(c->text);
	unsigned int n = 1;

	for (size_t k = 0; k < of; k += st->nplaces) {
		name_column(st, &st->row[k], other, NAME_SIZE);
		n += !strcmp(other, c->text);
	}
	if (n > 1)
		snprintf(c->text + len, sizeof(c->text) - len, " (%u)", n);
}

static bool fill_of_row(const struct ap_stat *st, const struct ap_stat_place *place, size_t i,
			struct cell *c)
{
	ptrdiff_t first = event_of_column(st, i);
	const struct ap_stat_row *row;
	struct ap_stat_column col;

	if (first < 0)
		return false;
	row = &st->row[first + (place - st->place)];
	(void)ap_stat_row_column(st, row, &col);
	*c = (struct cell){ .unit = col.style == AP_METRIC_PERCENT ? "%"
				    : *col.what == '/'		   ? col.what
								   : "",
			    .value = col.value,
			    .is_there = col.is_there,
			    .kind = col.of_model
					    ? ap_stat_kind_name(AP_KIND_MODELLED, st->is_estimated)
					    : ap_stat_row_tag(row) };
	name_column(st, row, c->text, NAME_SIZE);
	number_column(st, (size_t)first, c);
	return true;
}

static bool fill(const struct ap_stat *st, const struct ap_stat_place *place, size_t i,
		 struct cell *c)
{
	if (!st->metrics->n)
		return fill_of_row(st, place, i, c);
	if (i < st->metrics->n)
		fill_chosen(st, place, i, c);
	return i < st->metrics->n;
}

static const char *name_of(const struct cell *c)
{
	return c->name ? c->name : c->text;
}

/* --- behind the rows */

static void print_line(const struct ap_stat *st, const struct ap_stat_format *fmt,
		       const struct ap_stat_place *place, const struct cell *c, FILE *out)
{
	const char *sep = fmt->separator;
	char label[NAME_SIZE + 32], value[32] = "";

	snprintf(label, sizeof(label), "%s%s%s", c->unit, *c->unit ? " " : "", name_of(c));
	if (c->is_there)
		snprintf(value, sizeof(value), "%.6g", c->value);
	switch (fmt->style) {
	case AP_STAT_TABLE:
		ap_stat_print_place(st, place, out);
		ap_print(out, "%57s# ", "");
		if (!c->is_there)
			ap_print(out, "%8s  %-23s\n", "<none>", name_of(c));
		else if (!strcmp(c->unit, "%"))
			ap_print(out, "%7.2f%% %-23s # %s\n", c->value, name_of(c), c->kind);
		else
			ap_print(out, "%8.3f %-23s # %s\n", c->value, label, c->kind);
		break;
	case AP_STAT_CSV:
		ap_stat_print_csv_place(st, place, sep, out);
		ap_print_fields(out, sep, st->runs > 1 ? "\t\t\t\t\t\t%s\t%s" : "\t\t\t\t\t%s\t%s",
				value, label);
		/* the field of errors, as rows of events have it */
		ap_print_fields(out, sep, st->is_estimated ? "\t\t%s\n" : "\t%s\n",
				c->is_there ? c->kind : "");
		break;
	case AP_STAT_JSON:
		ap_stat_print_json_place(st, place, out);
		ap_print(out,
			 "\"metric-value\" : %s, \"metric-unit\" : ", c->is_there ? value : "null");
		ap_print_json(out, label);
		ap_print(out, ", \"kind\" : \"%s\"}\n", c->is_there ? c->kind : "");
		break;
	}
}

static void print_time(const struct ap_stat_format *fmt, const char *time, FILE *out)
{
	if (fmt->style == AP_STAT_JSON)
		fputc('{', out);
	if (!*time)
		return;
	if (fmt->style == AP_STAT_JSON)
		ap_print(out, "\"interval\" : %s, ", time);
	else
		ap_print_fields(out, fmt->style == AP_STAT_CSV ? fmt->separator : " ", "%s\t",
				time);
}

/* --- side by side */

static int width_of(const struct cell *c)
{
	int len = (int)ap_escape_width(name_of(c)) + (*c->unit ? (int)strlen(c->unit) + 1 : 0);

	return len > COLUMN_WIDTH ? len : COLUMN_WIDTH;
}

enum cell_line { LINE_NAMES, LINE_VALUES, LINE_KINDS };

static void print_cell(const struct ap_stat_format *fmt, enum cell_line line, const struct cell *c,
		       FILE *out)
{
	/* in a table each number has its percent sign */
	bool is_bare = !*c->unit || (fmt->style == AP_STAT_TABLE && !strcmp(c->unit, "%"));
	char text[NAME_SIZE + 32];

	if (line == LINE_NAMES)
		snprintf(text, sizeof(text), "%s%s%s", is_bare ? "" : c->unit, is_bare ? "" : " ",
			 name_of(c));
	else if (line == LINE_KINDS)
		snprintf(text, sizeof(text), "%s", c->kind);
	else if (!c->is_there)
		snprintf(text, sizeof(text), "%s", fmt->style == AP_STAT_CSV ? "" : "<none>");
	else if (fmt->style == AP_STAT_CSV)
		snprintf(text, sizeof(text), "%.6g", c->value);
	else
		snprintf(text, sizeof(text), strcmp(c->unit, "%") ? "%.3f" : "%.1f%%", c->value);
	if (fmt->style == AP_STAT_CSV)
		ap_print_fields(out, fmt->separator, "%s\t", text);
	else
		ap_print(out, "%*s ", width_of(c), text);
}

static void print_cells(const struct ap_stat *st, const struct ap_stat_format *fmt,
			enum cell_line line, const struct ap_stat_place *place, FILE *out)
{
	struct cell c;

	for (size_t i = 0; fill(st, place, i, &c); i++)
		print_cell(fmt, line, &c, out);
	fputc('\n', out);
}

/* What stands before the cells of an object already. */
static bool is_place_key(const char *name)
{
	return !strcmp(name, "interval") || !strcmp(name, "cpu") || !strcmp(name, "thread");
}

static void print_json_cells(const struct ap_stat *st, const struct ap_stat_place *place, FILE *out)
{
	char key[NAME_SIZE + 32];
	struct cell c;

	for (size_t i = 0; fill(st, place, i, &c); i++) {
		snprintf(key, sizeof(key), "%s%s", name_of(&c),
			 is_place_key(name_of(&c)) ? " (metric)" : "");
		fputs(i ? ", " : "", out);
		ap_print_json(out, key);
		fprintf(out, c.is_there ? " : {\"value\" : %.6g" : " : {\"value\" : null", c.value);
		fputs(", \"unit\" : ", out);
		ap_print_json(out, c.unit);
		ap_print(out, ", \"kind\" : \"%s\"}", c.is_there ? c.kind : "");
	}
	fputs("}\n", out);
}

/* What stands under the time and the place, of lines that are of neither. */
static void print_blank(const struct ap_stat *st, const struct ap_stat_format *fmt,
			const char *time, enum cell_line line, FILE *out)
{
	if (fmt->style == AP_STAT_CSV) {
		fputs(line == LINE_KINDS ? "# " : "", out);
		if (*time)
			ap_print_fields(out, fmt->separator, "\t");
		if (st->split != AP_STAT_ALL)
			ap_print_fields(out, fmt->separator, "\t");
		if (ap_stat_is_of_parts(st->split))
			ap_print_fields(out, fmt->separator, "\t");
	} else {
		ap_print(out, "%*s", ap_stat_place_width(st) + (*time ? (int)strlen(time) + 1 : 0),
			 "");
	}
}

static void print_only(const struct ap_stat *st, const struct ap_stat_format *fmt, const char *time,
		       bool head, FILE *out)
{
	for (size_t i = 0; i < st->nplaces; i++) {
		const struct ap_stat_place *place = &st->place[i];

		if (!i && head && fmt->style != AP_STAT_JSON) {
			print_blank(st, fmt, time, LINE_NAMES, out);
			print_cells(st, fmt, LINE_NAMES, place, out);
			print_blank(st, fmt, time, LINE_KINDS, out);
			print_cells(st, fmt, LINE_KINDS, place, out);
		}
		print_time(fmt, time, out);
		if (fmt->style == AP_STAT_JSON) {
			ap_stat_print_json_place(st, place, out);
			print_json_cells(st, place, out);
			continue;
		}
		if (fmt->style == AP_STAT_CSV)
			ap_stat_print_csv_place(st, place, fmt->separator, out);
		else
			ap_stat_print_place(st, place, out);
		print_cells(st, fmt, LINE_VALUES, place, out);
	}
}

bool ap_stat_has_columns(const struct ap_stat *st)
{
	return st->metrics->n || (st->nrows && event_of_column(st, 0) >= 0);
}

void ap_stat_print_metrics(const struct ap_stat *st, const struct ap_stat_format *fmt,
			   const char *time, bool head, FILE *out)
{
	struct cell c;

	if (!st->metrics || !st->nrows)
		return;
	if (st->metrics->only) {
		if (ap_stat_has_columns(st))
			print_only(st, fmt, time, head, out);
		return;
	}
	for (size_t i = 0; i < st->metrics->n; i++) {
		for (size_t k = 0; k < st->nplaces; k++) {
			fill_chosen(st, &st->place[k], i, &c);
			print_time(fmt, time, out);
			print_line(st, fmt, &st->place[k], &c, out);
		}
	}
}
