/* SPDX-License-Identifier: MIT */
/*
 * The format of cachegrind.out: costs by file, function and line, a column for each event.  Its
 * columns have names of their own;  those of the events that were recorded are written, and no
 * others: what was not counted is not 0.  Costs are those of samples, so they are exact with a
 * period of 1, and multiples of the period otherwise.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "print/print.h"
#include "profile/export/export.h"

#define COLUMNS 13
#define NAMES	4

/* In the order of cachegrind, with the names by which they are recorded. */
static const struct {
	const char *column, *event[NAMES];
} columns[COLUMNS] = {
	{ "Ir", { "instructions" } },
	{ "I1mr", { "L1-icache-load-misses", "l1i-load-misses" } },
	{ "ILmr", { "llc-code-misses" } },
	{ "Dr", { "loads", "L1-dcache-loads" } },
	{ "D1mr", { "L1-dcache-load-misses", "l1d-load-misses", "mem-loads" } },
	{ "DLmr", { "LLC-load-misses", "llc-load-misses" } },
	{ "Dw", { "stores", "L1-dcache-stores" } },
	{ "D1mw", { "L1-dcache-store-misses", "l1d-store-misses", "mem-stores" } },
	{ "DLmw", { "LLC-store-misses" } },
	{ "Bc", { "cond-branches", "conditional-branches" } },
	{ "Bcm", { "cond-branch-misses" } },
	{ "Bi", { "indirect-branches" } },
	{ "Bim", { "indirect-branch-misses" } },
};

/* All but Ir, Dr, Dw, Bc, Bi. */
#define MODELLED 0x15b6U

/* A line's costs. */
struct line_cost {
	u32 func, line;
	u64 weight[COLUMNS];
};

struct line_costs {
	struct line_cost *v;
	size_t n, room;
};

/* Modifiers (":u") are no part of it. */
static bool is_named(const char *event, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(event, name, len) && (!event[len] || event[len] == ':');
}

/* COLUMNS: cachegrind has none of it. */
static u32 column_of(const char *event)
{
	for (u32 c = 0; c < COLUMNS; c++)
		for (u32 k = 0; k < NAMES && columns[c].event[k]; k++)
			if (is_named(event, columns[c].event[k]))
				return c;
	return COLUMNS;
}

static bool add(struct line_costs *costs, const struct ap_stack_frame *frame, u32 column,
		u64 weight)
{
	struct line_cost *v = ap_export_grow(costs->v, costs->n, &costs->room, sizeof(*v));

	if (!v)
		return false;
	costs->v = v;
	costs->v[costs->n] = (struct line_cost){ .func = frame->func, .line = frame->line };
	costs->v[costs->n++].weight[column] = weight;
	return true;
}

static bool collect(const struct ap_export *x, u32 event, u32 column, struct line_costs *costs)
{
	const struct ap_stack_event *ev = &x->stacks->event[event];

	for (u32 i = 1; i < ev->nnodes; i++) {
		const struct ap_stack_node *node = &ev->node[i];

		if (!node->count || ap_stacks_is_thread(ev, i))
			continue;
		if (!add(costs, &x->stacks->frame[node->frame], column, ap_export_self(x, node)))
			return false;
	}
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct line_cost *x = a, *y = b;

	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static void merge(struct line_costs *costs)
{
	size_t n = 0;

	if (costs->n)
		qsort(costs->v, costs->n, sizeof(*costs->v), by_place);
	for (size_t i = 0; i < costs->n; i++) {
		if (!n || by_place(&costs->v[n - 1], &costs->v[i])) {
			costs->v[n++] = costs->v[i];
			continue;
		}
		for (u32 c = 0; c < COLUMNS; c++)
			costs->v[n - 1].weight[c] += costs->v[i].weight[c];
	}
	costs->n = n;
}

/* Numbers of samples do not go by the names of what was sampled. */
static void put_names(const struct ap_export *x, u32 present, FILE *out)
{
	const char *of = x->weight == AP_WEIGHT_PERIOD ? "" : "_samples";

	for (u32 c = 0; c < COLUMNS; c++)
		if (present >> c & 1)
			ap_print(out, " %s%s", columns[c].column, of);
	fputc('\n', out);
}

static void put_weights(const u64 *weight, u32 present, FILE *out)
{
	for (u32 c = 0; c < COLUMNS; c++)
		if (present >> c & 1)
			fprintf(out, " %llu", (unsigned long long)weight[c]);
	fputc('\n', out);
}

static void put(const struct ap_export *x, const struct line_costs *costs, u32 present, FILE *out)
{
	u64 sum[COLUMNS] = { 0 };

	for (size_t i = 0; i < costs->n; i++) {
		const struct line_cost *c = &costs->v[i];
		const struct ap_stack_func *func = &x->stacks->func[c->func];

		if (!i || c[-1].func != c->func)
			ap_print(out, "fl=%s\nfn=%s\n", func->file ? func->file : "???",
				 func->name);
		fprintf(out, "%u", c->line);
		put_weights(c->weight, present, out);
		for (u32 k = 0; k < COLUMNS; k++)
			sum[k] += c->weight[k];
	}
	fputs("summary:", out);
	put_weights(sum, present, out);
}

int ap_export_cachegrind(const struct ap_export *x, FILE *out)
{
	struct line_costs costs = { 0 };
	u32 present = 0;
	bool ok = true;

	for (u32 i = 0; i < x->stacks->nevents && ok; i++) {
		u32 column = column_of(x->stacks->event[i].event->name);

		/* of two names for one thing the first */
		if (column == COLUMNS || present >> column & 1)
			continue;
		present |= 1U << column;
		ok = collect(x, i, column, &costs);
	}
	if (!ok || !present) {
		free(costs.v);
		return ok ? -ENOENT : -ENOMEM;
	}
	merge(&costs);
	ap_print(out, "desc: Written by: anyperf %s, from samples\n", x->version);
	if (present & MODELLED) {
		fputs("desc: Modelled, where anyperf recorded:", out);
		put_names(x, present & MODELLED, out);
	}
	fputs("cmd: ", out);
	ap_print_str(out, x->title);
	fputs("\nevents:", out);
	put_names(x, present, out);
	put(x, &costs, present, out);
	free(costs.v);
	return 0;
}
