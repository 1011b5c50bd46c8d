/* SPDX-License-Identifier: MIT */
/*
 * A file of our own says what each of its numbers is.  What is in perf's was counted by the kernel,
 * whatever our engine makes of an event of that name; only which ratios are made of it is taken
 * from there.
 */
#include "cli/stat_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"

/* --- records */

static void take_threads(struct ap_stat_file *f, const struct ap_data_rec *rec)
{
	struct ap_stat_file_thread t;

	for (u32 i = 0; ap_thread_map_entry(rec, i, &t.tid, t.comm); i++) {
		f->thread = ap_xgrow(f->thread, f->nthreads + 1, sizeof(*f->thread));
		f->thread[f->nthreads++] = t;
	}
}

static void take_value(struct ap_stat_file *f, const struct ap_data_rec *rec)
{
	struct ap_stat_file_value value;

	/* an id that no event has is none of a counter */
	if (!rec->event || !ap_stat_value_parse(rec, &value.v))
		return;
	value.event = rec->event->index;
	/* twice as much each time: there may be millions */
	if (!(f->nvalues & (f->nvalues - 1)))
		f->value = ap_xgrow(f->value, f->nvalues ? 2 * f->nvalues : 1, sizeof(*f->value));
	f->value[f->nvalues++] = value;
}

static void take_round(struct ap_stat_file *f, const struct ap_data_rec *rec)
{
	struct ap_stat_file_round round = { .end = f->nvalues };

	if (!ap_stat_round_parse(rec, &round.r))
		return;
	f->round = ap_xgrow(f->round, f->nrounds + 1, sizeof(*f->round));
	f->round[f->nrounds++] = round;
}

/* What comes last says most. */
static void take_remarks(struct ap_stat_file *f, const u8 *text, u64 size)
{
	if (!text || !memchr(text, 0, size))
		return;
	ap_stat_remarks_fini(&f->remarks);
	ap_stat_remarks_read(&f->remarks, (const char *)text);
}

static void take_record(struct ap_stat_file *f, const struct ap_data_rec *rec)
{
	switch (rec->h.type) {
	case AP_RECORD_EVENT_UPDATE:
		if (rec->h.size > 24 && ap_get64(rec->bytes + 8) == AP_EVENT_UPDATE_REMARKS)
			take_remarks(f, rec->bytes + 24, rec->h.size - 24U);
		break;
	case AP_RECORD_STAT_CONFIG:
		f->has_config = ap_stat_config_parse(rec, &f->config);
		break;
	case AP_RECORD_THREAD_MAP:
		take_threads(f, rec);
		break;
	case AP_RECORD_STAT:
		take_value(f, rec);
		break;
	case AP_RECORD_STAT_ROUND:
		take_round(f, rec);
		break;
	default:
		break;
	}
}

/* --- events */

/* What we call an event of that name, without its modifiers; a list of one event, or of none. */
static void look_up(const char *name, struct ap_evlist *list)
{
	const char *colon = strrchr(name, ':');
	char why[400];
	char *base;
	int ret;

	if (!ap_evlist_parse(list, name, why, sizeof(why)) || !colon)
		return;
	base = ap_xstrndup(name, (size_t)(colon - name));
	ret = ap_evlist_parse(list, base, why, sizeof(why));
	free(base);
	(void)ret; /* the list is as long as it was */
}

static void describe_foreign(struct ap_evsel *sel, const struct ap_data_event *ev)
{
	struct ap_evlist known = { 0 };

	look_up(ev->name, &known);
	sel->own->name = ev->name;
	sel->own->kind = AP_KIND_KERNEL;
	sel->own->from = AP_FROM_SW;
	sel->own->index = AP_SW_N;
	if (known.n == 1) {
		sel->kinds = known.sel[0].kinds;
		sel->is_derived = known.sel[0].is_derived;
	}
	ap_evlist_fini(&known);
}

static void describe_own(struct ap_evsel *sel, const struct ap_stat_remark *remark)
{
	const struct ap_event_desc *known = ap_event_find(remark->name, strlen(remark->name));

	sel->own->name = remark->name;
	sel->own->kind = remark->kind;
	sel->own->from = remark->from;
	sel->own->index = known ? known->index : AP_SW_N;
	sel->kinds = remark->kinds;
	sel->is_derived = remark->is_derived;
}

static void describe(struct ap_stat_file *f, const struct ap_data_event *ev)
{
	struct ap_evsel sel = { .leader = AP_EVSEL_ALONE, .attr = ev->attr };

	sel.name = ap_xstrdup(ev->name);
	sel.own = ap_xgrow(NULL, 1, sizeof(*sel.own));
	*sel.own = (struct ap_event_desc){ .meaning = "", .unit = ev->unit ? ev->unit : "" };
	if (ev->index < f->remarks.nevents)
		describe_own(&sel, &f->remarks.event[ev->index]);
	else
		describe_foreign(&sel, ev);
	if (!ap_event_is_clock(sel.own) && ev->scale != 1)
		sel.own->scale = ev->scale;
	sel.desc = sel.own;
	f->events.sel = ap_xgrow(f->events.sel, f->events.n + 1, sizeof(*f->events.sel));
	f->events.sel[f->events.n++] = sel;
}

/* Of perf, or of ours, whose numbers are those of perf 6.1. */
static void read_version(struct ap_data *d, char *version, size_t size)
{
	u64 len;
	const u8 *p = ap_data_feature(d, AP_FEAT_VERSION, &len);

	*version = '\0';
	if (p && len > 4)
		snprintf(version, size, "%.*s", (int)(len - 4), (const char *)p + 4);
}

void ap_stat_file_read(struct ap_stat_file *f, struct ap_data *d)
{
	struct ap_data_rec rec;
	char version[64];
	const u8 *text;
	u64 size;

	*f = (struct ap_stat_file){ .config = { .aggr = AP_AGGR_GLOBAL, .scale = 1 } };
	ap_data_unordered(d);
	while (ap_data_next(d, &rec))
		take_record(f, &rec);
	text = ap_data_feature(d, AP_FEAT_REMARKS, &size);
	take_remarks(f, text, size);
	read_version(d, version, sizeof(version));
	f->config.aggr = ap_stat_aggr_of(version, f->config.aggr);
	for (u32 i = 0; i < ap_data_nevents(d); i++)
		describe(f, ap_data_event(d, i));
}

char *ap_stat_file_title(const struct ap_stat_file *f, struct ap_data *d)
{
	u64 size;
	const u8 *p = ap_data_feature(d, AP_FEAT_CMDLINE, &size), *end = p + size;
	char *title = ap_xstrdup("'"), *more;
	u32 n, len;

	if (f->remarks.title) {
		free(title);
		return ap_xstrdup(f->remarks.title);
	}
	for (n = p && size >= 4 ? ap_data_u32(d, p) : 0, p += 4; n && end - p >= 4;
	     n--, p += 4 + len) {
		len = ap_data_u32(d, p);
		if (len > (u64)(end - p) - 4 || !memchr(p + 4, 0, len))
			break;
		more = ap_xasprintf("%s%s%s", title, title[1] ? " " : "", (const char *)p + 4);
		free(title);
		title = more;
	}
	more = ap_xasprintf("%s'", title);
	free(title);
	return more;
}

void ap_stat_file_fini(struct ap_stat_file *f)
{
	free(f->value);
	free(f->round);
	free(f->thread);
	ap_evlist_fini(&f->events);
	ap_stat_remarks_fini(&f->remarks);
}
