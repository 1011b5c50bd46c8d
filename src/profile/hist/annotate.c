/* SPDX-License-Identifier: MIT */
#include "profile/hist/annotate.h"

#include <stdlib.h>
#include <string.h>

struct ap_annotate {
	struct ap_profile_session *s;
	const struct ap_sample_filter *filter; /* or NULL */
	struct ap_table known;		       /* by symbol and event */
	u32 n;
	struct ap_notes **all;
	struct {
		u64 period, count;
	} * total; /* by event */
	u32 ntotal;
};

struct ap_annotate *ap_annotate_new(struct ap_profile_session *s)
{
	struct ap_annotate *a = ap_profile_calloc(1, sizeof(*a));

	a->s = s;
	return a;
}

void ap_annotate_free(struct ap_annotate *a)
{
	u32 i;

	for (i = 0; i < a->n; i++) {
		free(a->all[i]->by_byte);
		free(a->all[i]->n_by_byte);
		free(a->all[i]);
	}
	free(a->all);
	ap_table_fini(&a->known);
	free(a->total);
	free(a);
}

static struct ap_notes *find(const struct ap_annotate *a, const struct ap_symbol *sym, u32 event)
{
	const struct ap_table_slot *s;

	ap_table_each(&a->known, ap_hash_ptr(event, sym), s)
	{
		struct ap_notes *n = ap_table_ptr(s);

		if (n->sym == sym && n->event == event)
			return n;
	}
	return NULL;
}

static struct ap_notes *notes_of(struct ap_annotate *a, const struct ap_place *p, u32 event)
{
	u64 size = p->sym->end - p->sym->start;
	struct ap_notes *n = find(a, p->sym, event);

	if (n)
		return n;
	n = ap_profile_calloc(1, sizeof(*n));
	n->dso = p->dso;
	n->sym = p->sym;
	n->event = event;
	n->by_byte = ap_profile_calloc(size + 1, sizeof(u64));
	n->n_by_byte = ap_profile_calloc(size + 1, sizeof(u64));
	ap_profile_table_add(&a->known, ap_hash_ptr(event, p->sym), n);
	if (!(a->n & (a->n - 1)))
		a->all = ap_profile_realloc(a->all, a->n ? 2 * a->n : 1, sizeof(*a->all));
	a->all[a->n++] = n;
	return n;
}

void ap_annotate_add(struct ap_annotate *a, u32 event, const struct ap_place *p, u64 period,
		     u64 count)
{
	struct ap_notes *n;

	if (!p->sym || p->sym->end - p->sym->start > AP_MAX_FUNCTION)
		return;
	n = notes_of(a, p, event);
	n->period += period;
	n->count += count;
	n->by_byte[p->addr - p->sym->start] += period;
	n->n_by_byte[p->addr - p->sym->start] += count;
}

const struct ap_notes *ap_annotate_find(const struct ap_annotate *a, u32 event,
					const struct ap_symbol *sym)
{
	return find(a, sym, event);
}

static u64 older(u64 *v)
{
	*v = *v / 8 * 7 + *v % 8 * 7 / 8;
	return *v;
}

void ap_annotate_age(struct ap_annotate *a, bool all)
{
	for (u32 i = 0; i < a->n; i++) {
		struct ap_notes *n = a->all[i];
		u64 size = n->sym->end - n->sym->start + 1;

		if (!n->count && !n->period)
			continue;
		n->period = n->count = 0;
		for (u64 k = 0; k < size; k++) {
			if (all)
				n->by_byte[k] = n->n_by_byte[k] = 0;
			n->period += older(&n->by_byte[k]);
			n->count += older(&n->n_by_byte[k]);
		}
	}
}

void ap_annotate_filter(struct ap_annotate *a, const struct ap_sample_filter *filter)
{
	a->filter = filter;
}

bool ap_annotate_sample(struct ap_annotate *a, const struct ap_data_rec *rec)
{
	struct ap_profile_thread *t;
	struct ap_sample s;
	struct ap_place p;

	if (!rec->event)
		return true;
	if (ap_sample_parse(rec->event, rec->bytes, &s))
		return false;
	if (a->filter && !ap_filter_takes(a->filter, &s))
		return true;
	while (a->ntotal <= rec->event->index) {
		a->total = ap_profile_realloc(a->total, a->ntotal + 1, sizeof(*a->total));
		a->total[a->ntotal].period = a->total[a->ntotal].count = 0;
		a->ntotal++;
	}
	a->total[rec->event->index].period += s.period;
	a->total[rec->event->index].count++;
	ap_session_at(a->s, rec->event, s.time);
	t = ap_session_thread(a->s, s.pid, s.tid);
	ap_session_resolve(a->s, t, s.cpumode, s.ip, &p);
	ap_annotate_add(a, rec->event->index, &p, s.period, 1);
	return true;
}

static int by_weight(const void *pa, const void *pb)
{
	const struct ap_notes *a = *(struct ap_notes *const *)pa;
	const struct ap_notes *b = *(struct ap_notes *const *)pb;
	int r;

	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->period != b->period)
		return a->period > b->period ? -1 : 1;
	r = strcmp(a->dso->path, b->dso->path);
	if (!r)
		r = strcmp(a->sym->name, b->sym->name);
	return r ? r : (a->sym->start > b->sym->start) - (a->sym->start < b->sym->start);
}

u32 ap_annotate_finish(struct ap_annotate *a)
{
	u32 i;

	for (i = 0; i < a->n; i++) {
		struct ap_notes *n = a->all[i];

		n->all_period = n->event < a->ntotal ? a->total[n->event].period : n->period;
		n->all_count = n->event < a->ntotal ? a->total[n->event].count : n->count;
	}
	if (a->n)
		qsort(a->all, a->n, sizeof(struct ap_notes *), by_weight);
	return a->n;
}

const struct ap_notes *ap_annotate_get(const struct ap_annotate *a, u32 i)
{
	return a->all[i];
}
