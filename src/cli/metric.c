/* SPDX-License-Identifier: MIT */
/*
 * Reads the file of metrics, and computes formulas from their text: they are short, and are
 * computed once for each row.
 *
 * An event's name may have a minus in it, so that of a difference has blanks around it.
 */
#include "cli/metric.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/plant.h"
#include "cli/memory.h"
#include "files/error.h"
#include "files/in.h"

#define DEPTH_MAX 16 /* of metrics in metrics, and of parentheses */
#define FILE_MAX  (1U << 20)
#define FIELDS	  5

extern const char ap_metrics_text[];

/* --- the file */

static char *field_of(const char *from, const char *to)
{
	while (from < to && isspace((unsigned char)*from))
		from++;
	while (from < to && isspace((unsigned char)to[-1]))
		to--;
	return ap_xasprintf("%.*s", (int)(to - from), from);
}

static void free_metric(struct ap_metric *m)
{
	free(m->name);
	free(m->unit);
	free(m->formula);
	free(m->groups);
	free(m->text);
}

/* A line that is neither empty nor a comment. */
static int parse_line(struct ap_metric_table *t, const char *line, size_t len)
{
	const char *end = line + len, *at = line;
	struct ap_metric m = { 0 };
	char **field[FIELDS] = { &m.name, &m.unit, &m.formula, &m.groups, &m.text };
	unsigned int n = 0;

	while (n < FIELDS) {
		const char *bar = n + 1 < FIELDS ? memchr(at, '|', (size_t)(end - at)) : end;

		if (!bar)
			break;
		*field[n++] = field_of(at, bar);
		at = bar + (bar < end);
	}
	if (n < FIELDS || !*m.name || !*m.formula || strpbrk(m.name, " ,#()|") ||
	    ap_metric_find(t, m.name, strlen(m.name))) {
		free_metric(&m);
		return -EINVAL;
	}
	t->v = ap_xgrow(t->v, t->n + 1, sizeof(*t->v));
	t->v[t->n++] = m;
	return 0;
}

int ap_metrics_parse(struct ap_metric_table *t, const char *text, const char *name, char *why,
		     size_t size)
{
	size_t len, nth = 1;

	for (; *text; text += len + (text[len] == '\n'), nth++) {
		size_t blank = strspn(text, " \t\r");

		len = strcspn(text, "\n");
		if (blank >= len || text[blank] == '#')
			continue;
		if (!parse_line(t, text, len))
			continue;
		snprintf(
			why, size,
			"%s:%zu: needs name | unit | formula | groups | text, with a name of its own",
			name, nth);
		return -EINVAL;
	}
	return 0;
}

int ap_metrics_builtin(struct ap_metric_table *t, char *why, size_t size)
{
	return ap_metrics_parse(t, ap_metrics_text, "metrics.txt", why, size);
}

int ap_metrics_file(struct ap_metric_table *t, const char *path, char *why, size_t size)
{
	int error;
	FILE *f = ap_in_stream(path, 0, &error);
	char *text = f ? ap_xgrow(NULL, FILE_MAX, 1) : NULL;
	size_t n = f ? fread(text, 1, FILE_MAX - 1, f) : 0;
	int ret = -EINVAL;

	if (!f || ferror(f)) {
		snprintf(why, size, "cannot read %s: %s", path, ap_file_error(f ? errno : error));
	} else if (n == FILE_MAX - 1) {
		snprintf(why, size, "%s is too large for a file of metrics", path);
	} else {
		text[n] = '\0';
		ret = ap_metrics_parse(t, text, path, why, size);
	}
	if (f)
		fclose(f);
	free(text);
	return ret;
}

void ap_metrics_fini(struct ap_metric_table *t)
{
	while (t->n)
		free_metric(&t->v[--t->n]);
	free(t->v);
	t->v = NULL;
}

const struct ap_metric *ap_metric_find(const struct ap_metric_table *t, const char *name,
				       size_t len)
{
	for (size_t i = 0; i < t->n; i++)
		if (strlen(t->v[i].name) == len && !strncasecmp(t->v[i].name, name, len))
			return &t->v[i];
	return NULL;
}

bool ap_metric_is_in(const struct ap_metric *m, const char *group, size_t len)
{
	size_t n;

	for (const char *g = m->groups; *g; g += n + (g[n] == ',')) {
		n = strcspn(g, ",");
		if (n == len && !strncasecmp(g, group, len))
			return true;
	}
	return false;
}

/* --- formulas */

/* A metric that is being computed, for the sake of the next one. */
struct metric_level {
	const struct ap_metric *metric;
	const struct metric_level *out;
};

struct formula {
	const struct ap_metric_table *table;
	const char *at;
	ap_metric_ask *ask;
	void *arg;
	unsigned int depth;
	bool is_missing; /* a count is not to be had, or it is divided by nothing */
	const char *bad; /* what is no formula from here on */
	const struct metric_level *in;
	char cycle[200]; /* "a -> b -> a" */
};

static double sum_of(struct formula *f);

static void skip(struct formula *f)
{
	f->at += strspn(f->at, " \t");
}

static bool accepts(struct formula *f, char c)
{
	skip(f);
	if (*f->at != c)
		return false;
	f->at++;
	return true;
}

static double fail(struct formula *f, const char *at)
{
	if (!f->bad)
		f->bad = at;
	return 0;
}

/* From m on to m again; innermost last, which is where the list begins. */
static void say_cycle(struct formula *f, const struct ap_metric *m)
{
	const struct metric_level *by[DEPTH_MAX + 1];
	size_t n = 0, len;

	for (const struct metric_level *l = f->in; l && n < AP_ARRAY_SIZE(by); l = l->out) {
		by[n++] = l;
		if (l->metric == m)
			break;
	}
	f->cycle[0] = '\0';
	while (n--) {
		len = strlen(f->cycle);
		snprintf(f->cycle + len, sizeof(f->cycle) - len, "%.40s -> ", by[n]->metric->name);
	}
	len = strlen(f->cycle);
	snprintf(f->cycle + len, sizeof(f->cycle) - len, "%.40s", m->name);
}

static double of_metric(struct formula *f, const struct ap_metric *m)
{
	const struct metric_level level = { m, f->in };
	const char *behind = f->at;
	double v;

	for (const struct metric_level *l = f->in; l && !f->bad; l = l->out) {
		if (l->metric != m)
			continue;
		say_cycle(f, m);
		return fail(f, m->name);
	}
	f->in = &level;
	f->at = m->formula;
	v = sum_of(f);
	skip(f);
	if (*f->at)
		fail(f, f->at);
	f->at = behind;
	f->in = level.out;
	return v;
}

static double of_two(struct formula *f, bool is_max)
{
	double a = sum_of(f), b;

	if (!accepts(f, ','))
		return fail(f, f->at);
	b = sum_of(f);
	if (!accepts(f, ')'))
		return fail(f, f->at);
	return is_max == (a > b) ? a : b;
}

static double of_name(struct formula *f)
{
	const char *name = f->at;
	size_t len = strcspn(name, " \t(),*/+");
	const struct ap_metric *m;
	double v = 0;
	int ret;

	f->at += len;
	if (len == 3 && *f->at == '(' && (!strncmp(name, "min", 3) || !strncmp(name, "max", 3))) {
		f->at++;
		return of_two(f, name[1] == 'a');
	}
	m = ap_metric_find(f->table, name, len);
	if (m)
		return of_metric(f, m);
	ret = len ? f->ask(f->arg, name, len, &v) : -EINVAL;
	if (ret < 0)
		return fail(f, name);
	f->is_missing |= !ret;
	return v;
}

static double factor(struct formula *f)
{
	double v;
	char *end;

	skip(f);
	if (++f->depth > DEPTH_MAX) {
		v = fail(f, f->at);
	} else if (accepts(f, '(')) {
		AP_PLANT("metrics", f->depth > 4);
		v = sum_of(f);
		if (!accepts(f, ')'))
			fail(f, f->at);
	} else if (isdigit((unsigned char)*f->at)) {
		v = strtod(f->at, &end);
		f->at = end;
	} else {
		v = of_name(f);
	}
	f->depth--;
	return v;
}

static double product_of(struct formula *f)
{
	double v = factor(f), by;

	while (!f->bad) {
		if (accepts(f, '*')) {
			v *= factor(f);
		} else if (accepts(f, '/')) {
			by = factor(f);
			f->is_missing |= by == 0;
			v = by != 0 ? v / by : 0;
		} else {
			break;
		}
	}
	return v;
}

static double sum_of(struct formula *f)
{
	double v = product_of(f);

	while (!f->bad) {
		if (accepts(f, '+'))
			v += product_of(f);
		else if (accepts(f, '-'))
			v -= product_of(f);
		else
			break;
	}
	return v;
}

int ap_metric_value(const struct ap_metric_table *t, const struct ap_metric *m, ap_metric_ask *ask,
		    void *arg, double *v, char *why, size_t size)
{
	struct formula f = { .table = t, .at = "", .ask = ask, .arg = arg };

	*v = of_metric(&f, m);
	if (*f.cycle) {
		snprintf(why, size, "metric '%s' needs itself: %s", m->name, f.cycle);
		return -EINVAL;
	}
	if (f.bad) {
		snprintf(why, size, "metric '%s': there is no event, metric or number at '%.40s'",
			 m->name, *f.bad ? f.bad : "the formula's end");
		return -EINVAL;
	}
	if (!isfinite(*v))
		return 0;
	return !f.is_missing;
}
