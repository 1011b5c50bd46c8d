/* SPDX-License-Identifier: MIT */
/*
 * Which functions a change is in: instructions by function, as samples of a fixed period give them,
 * of the baseline and of now.  They belong together by name and file, as in diff.c.
 *
 * Samples are a draw.  A function with n of them has n +- sqrt(n), so a difference of a and b
 * samples has an error of sqrt(a + b).  What is smaller than three of these is taken for chance and
 * is not shown.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "print/escape.h"
#include "profile/gate/gate.h"

int ap_gate_add_function(struct ap_gate_counts *g, const struct ap_gate_function *f)
{
	struct ap_gate_function *grown, copy = *f;
	int ret = -ENOMEM;

	/* JSON takes UTF-8 only, so names are compared as they are shown */
	copy.name = ap_escape_dup(f->name);
	copy.file = ap_escape_dup(f->file);
	for (size_t i = 0; i < g->nfunctions && copy.name && copy.file; i++) {
		if (strcmp(g->function[i].name, copy.name) ||
		    strcmp(g->function[i].file, copy.file))
			continue;
		g->function[i].count += f->count;
		ret = 0;
		goto out;
	}
	if (!copy.name || !copy.file)
		goto out;
	grown = realloc(g->function, (g->nfunctions + 1) * sizeof(*grown));
	if (!grown)
		goto out;
	g->function = grown;
	grown[g->nfunctions++] = copy;
	return 0;
out:
	free(copy.name);
	free(copy.file);
	return ret;
}

static int by_name(const struct ap_gate_change *a, const struct ap_gate_change *b)
{
	int r = strcmp(a->name, b->name);

	return r ? r : strcmp(a->file, b->file);
}

static int for_pairs(const void *a, const void *b)
{
	return by_name(a, b);
}

static u64 size_of(const struct ap_gate_change *c)
{
	return c->now > c->before ? c->now - c->before : c->before - c->now;
}

static int by_size(const void *pa, const void *pb)
{
	const struct ap_gate_change *a = pa, *b = pb;

	if (size_of(a) != size_of(b))
		return size_of(a) > size_of(b) ? -1 : 1;
	return by_name(a, b);
}

static void take(struct ap_gate_change *to, const struct ap_gate_counts *g, bool is_now)
{
	for (size_t i = 0; i < g->nfunctions; i++)
		to[i] = (struct ap_gate_change){ .name = g->function[i].name,
						 .file = g->function[i].file,
						 .before = is_now ? 0 : g->function[i].count,
						 .now = is_now ? g->function[i].count : 0 };
}

#define DEVIATIONS 3

static u64 error_of(const struct ap_gate_change *c, u64 period)
{
	double samples = ((double)c->before + (double)c->now) / (double)period;

	return (u64)ceil(DEVIATIONS * sqrt(samples) * (double)period);
}

/* Those that are no chance, in front. */
static size_t drop_noise(struct ap_gate_change *c, size_t n, u64 period)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		c[i].error = error_of(&c[i], period);
		if (size_of(&c[i]) > c[i].error)
			c[kept++] = c[i];
	}
	return kept;
}

int ap_gate_compare_functions(struct ap_gate_result *r, size_t most)
{
	size_t total = r->before->nfunctions + r->now->nfunctions, n = 0;
	struct ap_gate_change *c = calloc(total + 1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	take(c, r->before, false);
	take(c + r->before->nfunctions, r->now, true);
	qsort(c, total, sizeof(*c), for_pairs);
	for (size_t i = 0; i < total; i++) {
		if (n && !by_name(&c[n - 1], &c[i])) {
			c[n - 1].before += c[i].before;
			c[n - 1].now += c[i].now;
		} else {
			c[n++] = c[i];
		}
	}
	n = drop_noise(c, n, r->now->period);
	qsort(c, n, sizeof(*c), by_size);
	r->change = c;
	r->nchanges = n < most ? n : most;
	r->has_functions = true;
	return 0;
}
