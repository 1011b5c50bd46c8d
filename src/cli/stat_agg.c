/* SPDX-License-Identifier: MIT */
/*
 * From results of runs to rows.  -r prints the mean and the deviation of that mean, in percent,
 * with the formula that perf has, so that numbers of both tools may stand beside each other.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"
#include "cli/stat.h"

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

static char *join(char *const *argv)
{
	size_t len = 1;
	char *line, *p;
	int i;

	for (i = 0; argv[i]; i++)
		len += strlen(argv[i]) + 1;
	p = line = ap_xgrow(NULL, len, 1);
	*p = 0;
	for (i = 0; argv[i]; i++)
		p = stpcpy(i ? stpcpy(p, " ") : p, argv[i]);
	return line;
}

void ap_stat_init(struct ap_stat *st, const struct ap_evlist *list, char *const *argv)
{
	size_t i;

	*st = (struct ap_stat){ .command = join(argv), .nrows = list->n };
	if (list->n)
		st->row = ap_xgrow(NULL, list->n, sizeof(*st->row));
	for (i = 0; i < list->n; i++)
		st->row[i] = (struct ap_stat_row){ .sel = &list->sel[i] };
}

void ap_stat_fini(struct ap_stat *st)
{
	size_t i;

	for (i = 0; i < st->nnotes; i++)
		free(st->note[i].text);
	free(st->note);
	free(st->row);
	free(st->command);
	*st = (struct ap_stat){ 0 };
}

static void add_row(struct ap_stat_row *row, const struct ap_run_result *res)
{
	const u64 times[] = { res->wall_ns, res->user_ns, res->sys_ns };
	unsigned int index = row->sel->desc->index;

	if (row->sel->why)
		return;
	switch (row->sel->desc->from) {
	case AP_FROM_RAW:
		if (res->counted)
			ap_agg_add(&row->agg, res->raw[index]);
		break;
	case AP_FROM_SW:
		row->source = res->sw_source[index];
		if (row->source != AP_SRC_NONE)
			ap_agg_add(&row->agg, res->sw[index]);
		break;
	case AP_FROM_TIME:
		ap_agg_add(&row->agg, times[index]);
		break;
	case AP_FROM_NOTHING:
		break;
	}
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

void ap_stat_add(struct ap_stat *st, const struct ap_run_result *res)
{
	bool has_clock = res->sw_source[AP_SW_TASK_CLOCK] != AP_SRC_NONE;
	size_t i;

	st->runs++;
	for (i = 0; i < st->nrows; i++)
		add_row(&st->row[i], res);
	ap_agg_add(&st->wall, res->wall_ns);
	ap_agg_add(&st->user, res->user_ns);
	ap_agg_add(&st->sys, res->sys_ns);
	ap_agg_add(&st->running,
		   has_clock ? res->sw[AP_SW_TASK_CLOCK] : res->user_ns + res->sys_ns);
	for (i = 0; i < res->nnotes; i++)
		ap_stat_add_note(st, res->notes[i].text);
	st->tasks_running = res->tasks_running;
	st->tasks_short += res->tasks_short;
	st->short_by += (u64)res->tasks_short * res->max_short;
}

enum ap_stat_state ap_stat_row_state(const struct ap_stat_row *row)
{
	if (row->agg.n)
		return AP_STAT_COUNTED;
	if (!row->sel->why && row->sel->desc->from == AP_FROM_RAW)
		return AP_STAT_NOT_COUNTED;
	return AP_STAT_NOT_SUPPORTED;
}

const char *ap_stat_row_why(const struct ap_stat_row *row)
{
	if (row->agg.n)
		return NULL;
	if (row->sel->why)
		return row->sel->why;
	return row->sel->desc->from == AP_FROM_RAW ? "the command ran without the engine"
						   : "this kernel lets nobody count it";
}

/* The mean of the first clock of the list: perf gives rates only where one was asked for. */
static double clock_ns(const struct ap_stat *st)
{
	size_t i;

	for (i = 0; i < st->nrows; i++) {
		if (st->row[i].agg.n && ap_event_is_clock(st->row[i].sel->desc))
			return st->row[i].agg.mean;
	}
	return 0;
}

struct ap_stat_metric ap_stat_row_metric(const struct ap_stat *st, const struct ap_stat_row *row)
{
	static const char units[] = " KMG";
	struct ap_stat_metric metric = { 0 };
	double ns = clock_ns(st);
	unsigned int u = 0;

	if (!row->agg.n)
		return metric;
	if (ap_event_is_clock(row->sel->desc)) {
		strcpy(metric.what, "CPUs utilized");
		metric.value = st->wall.mean > 0 ? row->agg.mean / st->wall.mean : 0;
		return metric;
	}
	if (ns <= 0 || row->sel->desc->from == AP_FROM_TIME)
		return metric;
	metric.value = row->agg.mean * 1e9 / ns;
	for (; u < 3 && metric.value > 1000; u++)
		metric.value /= 1000;
	if (u)
		metric.what[0] = units[u];
	strcat(metric.what, "/sec");
	return metric;
}
