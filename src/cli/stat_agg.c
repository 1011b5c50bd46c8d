/* SPDX-License-Identifier: MIT */
/*
 * From results of runs to rows.  -r prints the mean and the deviation of that mean, in percent,
 * with the formula that perf has, so that numbers of both tools may stand beside each other.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cgroups.h"
#include "cli/memory.h"
#include "cli/stat.h"
#include "print/escape.h"

void ap_agg_add(struct ap_agg *agg, u64 value)
{
	double delta = (double)value - agg->mean;

	agg->n++;
	agg->last = value;
	agg->mean += delta / agg->n;
	agg->m2 += delta * ((double)value - agg->mean);
}

double ap_agg_stddev(const struct ap_agg *agg)
{
	if (agg->n < 2)
		return 0;
	return sqrt(agg->m2 / (agg->n - 1) / agg->n);
}

double ap_agg_stddev_pct(const struct ap_agg *agg)
{
	return agg->mean > 0 ? 100.0 * ap_agg_stddev(agg) / agg->mean : 0;
}

char *ap_stat_command_title(char *const *argv)
{
	size_t len = 3;
	char *line, *p;
	int i;

	for (i = 0; argv[i]; i++)
		len += AP_ESCAPED * strlen(argv[i]) + 1;
	p = line = ap_xgrow(NULL, len, 1);
	*p++ = '\'';
	for (i = 0; argv[i]; i++) {
		if (i)
			*p++ = ' ';
		p += ap_escape(p, AP_ESCAPED * strlen(argv[i]) + 1, argv[i], strlen(argv[i]));
	}
	strcpy(p, "'");
	return line;
}

const char *ap_stat_row_cgroup(const struct ap_stat *st, const struct ap_stat_row *row)
{
	if (!st->has_cgroups)
		return NULL;
	return row->sel->cgroup ? row->sel->cgroup->name : "";
}

void ap_stat_init(struct ap_stat *st, const struct ap_evlist *list, char *title)
{
	const struct ap_stat_place everywhere = { .cpu = -1 };

	*st = (struct ap_stat){ .title = title, .has_cgroups = list->cgroups != NULL };
	ap_stat_set_places(st, list, AP_STAT_ALL, &everywhere, 1);
}

void ap_stat_set_places(struct ap_stat *st, const struct ap_evlist *list, enum ap_stat_split split,
			const struct ap_stat_place *places, size_t n)
{
	size_t i;

	free(st->place);
	free(st->row);
	st->row = NULL;
	st->split = split;
	st->nplaces = n;
	st->place = ap_xgrow(NULL, n, sizeof(*st->place));
	memcpy(st->place, places, n * sizeof(*places));
	st->nrows = list->n * n;
	if (st->nrows)
		st->row = ap_xgrow(NULL, st->nrows, sizeof(*st->row));
	for (i = 0; i < st->nrows; i++)
		st->row[i] = (struct ap_stat_row){ .sel = &list->sel[i / n],
						   .place = &st->place[i % n] };
}

void ap_stat_fini(struct ap_stat *st)
{
	size_t i;

	for (i = 0; i < st->nnotes; i++)
		free(st->note[i].text);
	free(st->note);
	free(st->row);
	free(st->place);
	free(st->run_ns);
	free(st->title);
	*st = (struct ap_stat){ 0 };
}

/* What it would have been, had it counted all the time: perf's estimate. */
static u64 scaled(struct ap_stat_row *row, const struct ap_stat_reading *r)
{
	if (r->running >= r->enabled || !r->running)
		return r->count;
	row->is_scaled = true;
	return (u64)((double)r->count * (double)r->enabled / (double)r->running + 0.5);
}

static void add_time(struct ap_stat_row *row, const struct ap_stat_times *times)
{
	const u64 ns[] = { times->wall_ns, times->user_ns, times->sys_ns };
	unsigned int index = row->sel->desc->index;

	row->is_open = true;
	if (index != AP_TIME_WALL && !times->has_user_sys)
		return;
	ap_agg_add(&row->agg, ns[index]);
	ap_agg_add(&row->enabled, ns[index]);
	ap_agg_add(&row->running, ns[index]);
}

static void add_row(const struct ap_stat *st, struct ap_stat_row *row,
		    const struct ap_stat_reading *r, const struct ap_stat_times *times)
{
	if (row->sel->why)
		return;
	if (row->sel->desc->from == AP_FROM_TIME) {
		add_time(row, times);
		return;
	}
	row->is_open = r->is_open;
	row->why = r->why;
	row->source = r->source;
	if (!r->is_open || !r->running)
		return;
	ap_agg_add(&row->agg, st->is_unscaled ? r->count : scaled(row, r));
	ap_agg_add(&row->enabled, r->enabled);
	ap_agg_add(&row->running, r->running);
}

void ap_stat_add_note(struct ap_stat *st, const char *text)
{
	size_t i;

	for (i = 0; i < st->nnotes; i++) {
		if (!strcmp(st->note[i].text, text)) {
			st->note[i].times++;
			return;
		}
	}
	st->note = ap_xgrow(st->note, st->nnotes + 1, sizeof(*st->note));
	st->note[st->nnotes++] = (struct ap_stat_note){ .text = ap_xstrdup(text), .times = 1 };
}

void ap_stat_add(struct ap_stat *st, const struct ap_stat_reading *readings,
		 const struct ap_stat_times *times)
{
	size_t i;

	st->runs++;
	for (i = 0; i < st->nrows; i++)
		add_row(st, &st->row[i], &readings[i], times);
	if (st->has_table) {
		st->run_ns = ap_xgrow(st->run_ns, st->runs, sizeof(*st->run_ns));
		st->run_ns[st->runs - 1] = times->wall_ns;
	}
	ap_agg_add(&st->wall, times->wall_ns);
	ap_agg_add(&st->user, times->user_ns);
	ap_agg_add(&st->sys, times->sys_ns);
}

void ap_stat_restart(struct ap_stat *st)
{
	const struct ap_agg none = { 0 };
	size_t i;

	st->runs = 0;
	st->wall = st->user = st->sys = none;
	for (i = 0; i < st->nrows; i++) {
		st->row[i].agg = st->row[i].enabled = st->row[i].running = none;
		st->row[i].is_scaled = false;
	}
}

void ap_stat_set_estimated(struct ap_stat *st, u32 part)
{
	st->model_sample = part;
	st->is_estimated = true;
	for (size_t i = 0; i < st->nrows; i++)
		st->row[i].error = -1;
	for (size_t i = 0; i < st->nrows; i++)
		st->row[i].is_estimated = true;
}

/* They are of all that one run counted, and of the models alone. */
static void add_errors(struct ap_stat *st, const struct ap_estimate_errors *errors)
{
	if (st->split != AP_STAT_ALL || st->has_cgroups || st->of_intervals || st->is_of_part ||
	    st->runs != 1)
		return;
	for (size_t i = 0; i < st->nrows; i++) {
		struct ap_stat_row *row = &st->row[i];
		u64 kinds = row->sel->desc->kind == AP_KIND_MODELLED ? row->sel->kinds : 0;
		double scale = row->sel->is_in_slots ? errors->slots : 1, sum = 0, part = 0;

		for (kinds &= AP_KINDS_MODEL; kinds; kinds &= kinds - 1) {
			sum += scale * errors->kind[__builtin_ctzll(kinds)];
			part += scale * errors->part[__builtin_ctzll(kinds)];
		}
		if (!row->agg.n || row->agg.mean <= 0)
			continue;
		if (part < row->agg.mean)
			sum = hypot(sum, errors->once * (row->agg.mean - part));
		row->error = 100 * sum / row->agg.mean;
	}
}

double ap_stat_row_error(const struct ap_stat *st, const struct ap_stat_row *row)
{
	bool is_modelled = row->sel->desc->kind == AP_KIND_MODELLED;

	return row->agg.n && is_modelled && row->is_estimated && st->runs == 1 ? row->error : -1;
}

const char *ap_stat_kind_name(enum ap_event_kind kind, bool is_estimated)
{
	return kind == AP_KIND_MODELLED && is_estimated ? "estimated" : ap_event_kind_name(kind);
}

void ap_stat_add_result(struct ap_stat *st, const struct ap_run_result *res)
{
	size_t i;

	for (i = 0; i < res->nnotes; i++)
		ap_stat_add_note(st, res->notes[i].text);
	st->tasks_running = res->tasks_running;
	st->tasks_short += res->tasks_short;
	st->short_by += (u64)res->tasks_short * res->max_short;
	if (!res->model_sample)
		return;
	ap_stat_set_estimated(st, res->model_sample);
	add_errors(st, &res->errors);
}

enum ap_stat_state ap_stat_row_state(const struct ap_stat_row *row)
{
	if (row->agg.n)
		return AP_STAT_COUNTED;
	return row->is_open && !row->sel->why ? AP_STAT_NOT_COUNTED : AP_STAT_NOT_SUPPORTED;
}

const char *ap_stat_row_why(const struct ap_stat_row *row)
{
	if (row->agg.n)
		return NULL;
	if (row->sel->why)
		return row->sel->why;
	if (row->why)
		return row->why;
	if (!row->is_open)
		return "this kernel lets nobody count it";
	if (row->sel->desc->from == AP_FROM_TIME)
		return "not known before the end";
	return row->sel->desc->kind == AP_KIND_KERNEL
		       ? "nothing of the program ran while it was enabled"
		       : "nothing ran under the engine while it was enabled";
}

double ap_stat_row_ran(const struct ap_stat_row *row)
{
	/* what never waited is not left to rounding: 100.0 * m / m is less than 100 for some m */
	if (!row->agg.n || row->running.mean >= row->enabled.mean)
		return 100;
	return 100.0 * row->running.mean / row->enabled.mean;
}

const char *ap_stat_row_tag(const struct ap_stat_row *row)
{
	const struct ap_event_desc *desc = row->sel->desc;

	if (row->agg.n && row->is_scaled)
		return "scaled";
	if (desc->kind == AP_KIND_KERNEL && row->source == AP_SRC_RUSAGE)
		return "rusage";
	if (desc->kind == AP_KIND_KERNEL && row->source == AP_SRC_PROC)
		return "proc";
	if (desc->from == AP_FROM_TIME && desc->index != AP_TIME_WALL)
		return "rusage";
	return ap_stat_kind_name(desc->kind, row->is_estimated);
}

static int by_count(const void *a, const void *b)
{
	const struct ap_stat_row *x = *(const struct ap_stat_row *const *)a;
	const struct ap_stat_row *y = *(const struct ap_stat_row *const *)b;

	if (x->agg.mean != y->agg.mean)
		return x->agg.mean < y->agg.mean ? 1 : -1;
	return (x > y) - (x < y);
}

void ap_stat_order(const struct ap_stat *st, size_t first, const struct ap_stat_row **out)
{
	size_t i;

	for (i = 0; i < st->nplaces; i++)
		out[i] = &st->row[first + i];
	if (st->split == AP_STAT_THREADS)
		qsort(out, st->nplaces, sizeof(struct ap_stat_row *), by_count);
}
