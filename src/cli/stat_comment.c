/* SPDX-License-Identifier: MIT */
/*
 * What stands behind a row as perf's comment: a rate by the time that was measured beside it, or a
 * ratio to another row of the same place.
 */
#include <stdio.h>
#include <string.h>

#include "abi/raw.h"
#include "cli/stat.h"

#define K(k)	     AP_KIND_BIT(AP_KIND_##k)
#define MISPREDICTED (K(COND_MISS) | K(INDIRECT_MISS) | K(RETURN_MISS))

/*
 * An exact count by a modelled one: the row's tag says exact of the count, so this says what it is
 * itself.
 */
static const char ipc[] = "insn per cycle (modelled)",
		  ipc_estimated[] = "insn per cycle (estimated)";

/* By what is counted: the same whatever name it was asked for by. */
static const struct {
	u64 of, to;
	enum ap_stat_metric_style style;
	const char *what;
} ratios[] = {
	{ K(INSTR), K(CYCLES), AP_METRIC_RATIO, ipc },
	{ K(STALL_FRONT), K(CYCLES), AP_METRIC_PERCENT, "frontend cycles idle" },
	{ K(STALL_BACK), K(CYCLES), AP_METRIC_PERCENT, "backend cycles idle" },
	{ MISPREDICTED, K(BRANCH), AP_METRIC_PERCENT, "of all branches" },
	{ K(LLC_LOAD_MISS) | K(LLC_STORE_MISS) | K(LLC_CODE_MISS),
	  K(LLC_LOAD) | K(LLC_STORE) | K(LLC_CODE), AP_METRIC_PERCENT, "of all cache refs" },
	{ K(L1D_LOAD_MISS), K(LOAD), AP_METRIC_PERCENT, "of all L1-dcache accesses" },
	{ K(L1I_LOAD_MISS), K(L1I_LOAD), AP_METRIC_PERCENT, "of all L1-icache accesses" },
	{ K(LLC_LOAD_MISS), K(LLC_LOAD), AP_METRIC_PERCENT, "of all LL-cache accesses" },
	{ K(DTLB_LOAD_WALK), K(LOAD), AP_METRIC_PERCENT, "of all dTLB cache accesses" },
	{ K(ITLB_WALK), K(L1I_LOAD), AP_METRIC_PERCENT, "of all iTLB cache accesses" },
};

/* Of the same place and cgroup. */
static bool is_beside(const struct ap_stat_row *a, const struct ap_stat_row *b)
{
	return a->place == b->place && a->sel->cgroup == b->sel->cgroup;
}

/* The first clock of that place: perf gives rates only where one was asked for. */
static const struct ap_stat_row *clock_beside(const struct ap_stat *st,
					      const struct ap_stat_row *of)
{
	const struct ap_stat_row *found = NULL;

	for (size_t i = 0; i < st->nrows; i++) {
		const struct ap_stat_row *row = &st->row[i];

		if (!is_beside(row, of) || !ap_event_is_clock(row->sel->desc))
			continue;
		if (row->agg.n)
			return row;
		found = found ? found : row;
	}
	return found;
}

/* Does the row count all of these kinds, and nothing else? */
static bool is_of(const struct ap_stat_row *row, u64 kinds)
{
	return row->sel->kinds == kinds && !row->sel->is_derived;
}

/* That place's row of these kinds, one that has counted if there is any. */
static const struct ap_stat_row *row_of(const struct ap_stat *st, const struct ap_stat_row *of,
					u64 kinds)
{
	const struct ap_stat_row *found = NULL;

	for (size_t i = 0; i < st->nrows; i++) {
		const struct ap_stat_row *row = &st->row[i];

		if (!is_beside(row, of) || !is_of(row, kinds))
			continue;
		if (row->agg.n)
			return row;
		found = found ? found : row;
	}
	return found;
}

/*
 * The models are behind by a log, and by half a gap where they see one part of many: a million
 * instructions for each part.
 */
#define SHORT_OF (1ULL << 20)

bool ap_stat_is_short(const struct ap_stat *st, const struct ap_stat_row *row)
{
	double enough = (double)(SHORT_OF * (st->model_sample > 1 ? 1 + st->model_sample : 1));

	if (!st->of_intervals)
		return false;
	for (size_t i = 0; i < st->nrows; i++) {
		const struct ap_stat_row *other = &st->row[i];
		bool is_insns = is_of(other, K(INSTR));

		/* of other instructions there is one in four or five */
		if (is_beside(other, row) && other->agg.n &&
		    other->sel->desc->kind == AP_KIND_EXACT &&
		    other->agg.mean * (is_insns ? 1 : 4) >= enough)
			return false;
	}
	return true;
}

/*
 * In an interval: a model's log may be read after the interval in which its instructions were
 * counted.  Nothing of the one beside something of the other is such a remainder, and so is all of
 * a short one: what they say together is not known.
 */
static bool is_remainder(const struct ap_stat *st, const struct ap_stat_row *row,
			 const struct ap_stat_row *to)
{
	bool modelled =
		row->sel->desc->kind == AP_KIND_MODELLED || to->sel->desc->kind == AP_KIND_MODELLED;

	return st->of_intervals && modelled && row->sel->desc->kind != to->sel->desc->kind &&
	       (row->agg.mean == 0 || ap_stat_is_short(st, row));
}

static bool find_ratio(const struct ap_stat *st, const struct ap_stat_row *row,
		       struct ap_stat_column *c)
{
	for (size_t i = 0; i < AP_ARRAY_SIZE(ratios); i++) {
		const struct ap_stat_row *to;

		if (!is_of(row, ratios[i].of))
			continue;
		to = row_of(st, row, ratios[i].to);
		if (!to)
			return false;
		c->style = ratios[i].style;
		c->of_model = ratios[i].what == ipc;
		c->what = c->of_model && to->is_estimated ? ipc_estimated : ratios[i].what;
		c->is_there = row->agg.n && to->agg.n && to->agg.mean > 0;
		c->is_remainder = c->is_there && is_remainder(st, row, to);
		c->is_there &= !c->is_remainder;
		if (c->is_there)
			c->value = row->agg.mean / to->agg.mean;
		if (c->style == AP_METRIC_PERCENT)
			c->value *= 100;
		return true;
	}
	return false;
}

/*
 * Events in a second, where the second is the program's: under the engine it has the engine's work
 * in it, and so have faults and switches.  Not GHz: cycles are a model's.
 */
static bool find_rate(const struct ap_stat *st, const struct ap_stat_row *row,
		      struct ap_stat_column *c)
{
	const struct ap_stat_row *clock = clock_beside(st, row);

	if (st->has_engine || !clock || row->sel->desc->from == AP_FROM_TIME ||
	    row->sel->kinds == K(CYCLES))
		return false;
	c->style = AP_METRIC_RATE;
	c->what = "/sec";
	c->is_there = row->agg.n && clock->agg.n && clock->agg.mean > 0;
	c->value = c->is_there ? row->agg.mean * 1e9 / clock->agg.mean : 0;
	return true;
}

bool ap_stat_row_column(const struct ap_stat *st, const struct ap_stat_row *row,
			struct ap_stat_column *c)
{
	*c = (struct ap_stat_column){ 0 };
	if (ap_event_is_clock(row->sel->desc)) {
		c->what = "CPUs utilized";
		c->is_there = row->agg.n && st->wall.mean > 0;
		c->value = c->is_there ? row->agg.mean / st->wall.mean : 0;
		return true;
	}
	return find_ratio(st, row, c) || find_rate(st, row, c);
}

/* perf scales each rate on its own. */
static void scale(struct ap_stat_metric *metric)
{
	static const char units[] = " KMG";
	unsigned int u = 0;

	for (; u < 3 && metric->value > 1000; u++)
		metric->value /= 1000;
	snprintf(metric->what, sizeof(metric->what), "%.1s/sec", &units[u]);
	if (!u)
		strcpy(metric->what, "/sec");
}

struct ap_stat_metric ap_stat_row_metric(const struct ap_stat *st, const struct ap_stat_row *row)
{
	struct ap_stat_metric metric = { 0 };
	struct ap_stat_column c;

	if (!row->agg.n || !ap_stat_row_column(st, row, &c) || c.is_remainder)
		return metric;
	if (!c.is_there && !ap_event_is_clock(row->sel->desc) &&
	    (!find_rate(st, row, &c) || !c.is_there)) /* behind a row a rate does as well */
		return metric;
	metric.style = c.style;
	metric.value = c.value;
	snprintf(metric.what, sizeof(metric.what), "%s", c.what);
	if (*c.what == '/')
		scale(&metric);
	return metric;
}
