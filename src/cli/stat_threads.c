/* SPDX-License-Identifier: MIT */
/*
 * Rows of a command's threads.  A thread is told by the number that the session gives it, as the
 * kernel's come again;  its name is the last that it had.
 */
#include "cli/stat_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"

struct counts {
	u64 count, enabled, running;
};

struct ap_stat_thread {
	u64 task;
	char name[32];
	struct counts *of; /* each event */
};

/* Where it is, or belongs: numbers grow, so that it is mostly the last. */
static size_t find(const struct ap_stat_threads *t, u64 task)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->v[mid].task < task)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void insert(struct ap_stat_threads *t, size_t at, u64 task, size_t nevents)
{
	struct ap_stat_thread *v;

	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 16;
		t->v = ap_xgrow(t->v, t->room, sizeof(*t->v));
	}
	v = &t->v[at];
	memmove(v + 1, v, (t->n - at) * sizeof(*v));
	*v = (struct ap_stat_thread){ .task = task, .of = ap_xgrow(NULL, nevents, sizeof(*v->of)) };
	memset(v->of, 0, nevents * sizeof(*v->of));
	t->n++;
}

void ap_stat_threads_add(struct ap_stat_threads *t, size_t n, size_t sel,
			 const struct ap_client_part *part)
{
	size_t at = find(t, part->task);
	struct ap_stat_thread *v;

	if (at == t->n || t->v[at].task != part->task)
		insert(t, at, part->task, n);
	v = &t->v[at];
	snprintf(v->name, sizeof(v->name), "%.15s-%d", part->comm, (int)part->tid);
	v->of[sel] = (struct counts){ .count = part->count,
				      .enabled = part->enabled,
				      .running = part->running };
}

struct ap_stat_reading *ap_stat_threads_rows(const struct ap_stat_threads *t, struct ap_stat *st,
					     const struct ap_evlist *list,
					     struct ap_stat_reading *of_events)
{
	struct ap_stat_place *places = ap_xgrow(NULL, t->n, sizeof(*places));
	struct ap_stat_reading *rows = ap_xgrow(NULL, list->n * t->n + 1, sizeof(*rows));

	for (size_t k = 0; k < t->n; k++) {
		places[k] = (struct ap_stat_place){ .cpu = -1 };
		snprintf(places[k].thread, sizeof(places[k].thread), "%s", t->v[k].name);
	}
	for (size_t i = 0; i < list->n * t->n; i++) {
		const struct counts *of = &t->v[i % t->n].of[i / t->n];

		rows[i] = of_events[i / t->n];
		rows[i].count = of->count;
		rows[i].enabled = of->enabled;
		rows[i].running = of->running;
	}
	ap_stat_set_places(st, list, AP_STAT_THREADS, places, t->n);
	free(places);
	free(of_events);
	return rows;
}

void ap_stat_threads_fini(struct ap_stat_threads *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].of);
	free(t->v);
	*t = (struct ap_stat_threads){ 0 };
}
