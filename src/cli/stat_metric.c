/* SPDX-License-Identifier: MIT */
/*
 * What stands behind a row as perf's comment: a rate by the time that was measured beside it, or a ratio to
 * another row of the same place.
 */
#include <stdio.h>
#include <string.h>

#include "abi/raw.h"
#include "cli/stat.h"

#define K(k)	     AP_KIND_BIT(AP_KIND_##k)
#define MISPREDICTED (K(COND_MISS) | K(INDIRECT_MISS) | K(RETURN_MISS))

/* By what is counted: the same whatever name it was asked for by. */
static const struct {
	u64 of, to;
	enum ap_stat_metric_style style;
	const char *what;
} ratios[] = {
	/* an exact count by a modelled one: the row says exact of the count */
	{ K(INSTR), K(CYCLES), AP_METRIC_RATIO, "insn per cycle (modelled)" },
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

/* The mean of the first clock of that place: perf gives rates only where one was asked for. */
static double clock_ns(const struct ap_stat *st, const struct ap_stat_row *of)
{
	size_t i;

	for (i = 0; i < st->nrows; i++) {
		const struct ap_stat_row *row = &st->row[i];

		if (is_beside(row, of) && row->agg.n && ap_event_is_clock(row->sel->desc))
			return row->agg.mean;
	}
	return 0;
}

/* The mean of that place's row that counts these kinds, 0 if there is none. */
static double mean_of(const struct ap_stat *st, const struct ap_stat_row *of, u64 kinds)
{
	for (size_t i = 0; i < st->nrows; i++) {
		const struct ap_stat_row *row = &st->row[i];

		if (is_beside(row, of) && row->agg.n && row->sel->kinds == kinds)
			return row->agg.mean;
	}
	return 0;
}

static bool find_ratio(const struct ap_stat *st, const struct ap_stat_row *row,
		       struct ap_stat_metric *metric)
{
	for (size_t i = 0; i < AP_ARRAY_SIZE(ratios); i++) {
		double to;

		if (ratios[i].of != row->sel->kinds)
			continue;
		to = mean_of(st, row, ratios[i].to);
		if (to <= 0)
			return false;
		metric->style = ratios[i].style;
		metric->value = row->agg.mean / to;
		if (metric->style == AP_METRIC_PERCENT)
			metric->value *= 100;
		snprintf(metric->what, sizeof(metric->what), "%s", ratios[i].what);
		return true;
	}
	return false;
}

struct ap_stat_metric ap_stat_row_metric(const struct ap_stat *st, const struct ap_stat_row *row)
{
	static const char units[] = " KMG";
	struct ap_stat_metric metric = { 0 };
	double ns = clock_ns(st, row);
	unsigned int u = 0;

	if (!row->agg.n)
		return metric;
	if (ap_event_is_clock(row->sel->desc)) {
		strcpy(metric.what, "CPUs utilized");
		metric.value = st->wall.mean > 0 ? row->agg.mean / st->wall.mean : 0;
		return metric;
	}
	if (find_ratio(st, row, &metric))
		return metric;
	if (ns <= 0 || row->sel->desc->from == AP_FROM_TIME)
		return metric;
	if (row->sel->kinds == K(CYCLES)) {
		strcpy(metric.what, "GHz");
		metric.value = row->agg.mean / ns;
		return metric;
	}
	metric.value = row->agg.mean * 1e9 / ns;
	for (; u < 3 && metric.value > 1000; u++)
		metric.value /= 1000;
	if (u)
		metric.what[0] = units[u];
	strcat(metric.what, "/sec");
	return metric;
}
