/* SPDX-License-Identifier: MIT */
/*
 * Enums are written as numbers: what is appended to them later is unknown to this reader, which
 * takes such an event for one of the kernel's.
 */
#include "cli/stat_remarks.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"

/* Errors are written without a decimal point, which locales have different ones of. */
#define ERROR_ONE 1e9
#define ERROR_MAX 1e9 /* per cent */

/* --- writing */

static void line(struct ap_buf *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void line(struct ap_buf *to, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		ap_die("out of memory");
	/* a title has what was typed */
	for (int i = 0; i < n; i++)
		if (text[i] == '\n')
			text[i] = ' ';
	ap_buf_put(to, text, (size_t)n);
	ap_buf_put(to, "\n", 1);
	free(text);
}

static void put_event(struct ap_buf *to, const struct ap_stat_row *row)
{
	const struct ap_event_desc *desc = row->sel->desc;
	const char *why = ap_stat_row_why(row);

	line(to, "event %u %u %u %" PRIx64 " %s", (unsigned int)desc->kind,
	     (unsigned int)desc->from, (unsigned int)row->source, row->sel->kinds, desc->name);
	if (row->sel->is_derived)
		line(to, "derived");
	if (row->is_estimated && row->error >= 0)
		line(to, "error %.0f", fmin(row->error, ERROR_MAX) * ERROR_ONE);
	if (why)
		line(to, "why %s", why);
}

void ap_stat_remarks_put(struct ap_buf *to, const struct ap_stat *st, size_t nevents)
{
	line(to, "title %s", st->title);
	if (st->has_times && !st->of_intervals)
		line(to, "times %.0f %.0f", st->user.mean, st->sys.mean);
	if (st->has_engine)
		line(to, "engine");
	if (st->is_unscaled)
		line(to, "unscaled");
	if (st->is_estimated)
		line(to, "estimated %" PRIu32, st->model_sample);
	for (size_t i = 0; i < nevents; i++)
		put_event(to, &st->row[i * st->nplaces]);
	for (size_t i = 0; i < st->nnotes; i++)
		line(to, "note %s", st->note[i].text);
	ap_buf_put(to, "", 1);
}

/* --- reading */

static bool read_event(struct ap_stat_remarks *r, const char *text)
{
	struct ap_stat_remark e = { .kind = AP_KIND_KERNEL, .error = -1 };
	unsigned int kind, from, source;
	int name = 0;

	if (sscanf(text, "%u %u %u %" SCNx64 " %n", &kind, &from, &source, &e.kinds, &name) != 4 ||
	    !name)
		return false;
	if (kind <= AP_KIND_UNSUPPORTED && from <= AP_FROM_TIME) {
		e.kind = (enum ap_event_kind)kind;
		e.from = (enum ap_event_from)from;
	}
	e.source = (enum ap_source)source;
	e.name = ap_xstrdup(text + name);
	r->event = ap_xgrow(r->event, r->nevents + 1, sizeof(*r->event));
	r->event[r->nevents++] = e;
	return true;
}

static void read_line(struct ap_stat_remarks *r, char *word)
{
	char *rest = word + strcspn(word, " ");

	if (*rest)
		*rest++ = '\0';
	if (!strcmp(word, "title") && !r->title) {
		r->title = ap_xstrdup(rest);
	} else if (!strcmp(word, "times")) {
		r->has_times = sscanf(rest, "%" SCNu64 " %" SCNu64, &r->user_ns, &r->sys_ns) == 2;
	} else if (!strcmp(word, "engine")) {
		r->has_engine = true;
	} else if (!strcmp(word, "unscaled")) {
		r->is_unscaled = true;
	} else if (!strcmp(word, "estimated")) {
		r->model_sample = (u32)strtoul(rest, NULL, 10);
	} else if (!strcmp(word, "event")) {
		(void)read_event(r, rest);
	} else if (!strcmp(word, "derived") && r->nevents) {
		r->event[r->nevents - 1].is_derived = true;
	} else if (!strcmp(word, "error") && r->nevents) {
		r->event[r->nevents - 1].error = (double)strtoull(rest, NULL, 10) / ERROR_ONE;
	} else if (!strcmp(word, "why") && r->nevents && !r->event[r->nevents - 1].why) {
		r->event[r->nevents - 1].why = ap_xstrdup(rest);
	} else if (!strcmp(word, "note")) {
		r->note = ap_xgrow(r->note, r->nnotes + 1, sizeof(*r->note));
		r->note[r->nnotes++] = ap_xstrdup(rest);
	}
}

void ap_stat_remarks_read(struct ap_stat_remarks *r, const char *text)
{
	char *all = ap_xstrdup(text), *save = NULL;

	*r = (struct ap_stat_remarks){ 0 };
	for (char *l = strtok_r(all, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		read_line(r, l);
	free(all);
}

void ap_stat_remarks_fini(struct ap_stat_remarks *r)
{
	for (size_t i = 0; i < r->nevents; i++) {
		free(r->event[i].name);
		free(r->event[i].why);
	}
	for (size_t i = 0; i < r->nnotes; i++)
		free(r->note[i]);
	free(r->event);
	free(r->note);
	free(r->title);
	*r = (struct ap_stat_remarks){ 0 };
}
