/* SPDX-License-Identifier: MIT */
/*
 * Sums and trees of a finished table cannot be aged exactly, so what is aged are the distinct
 * samples that it was made of.  Those that weigh nothing any more are forgotten: memory is bounded
 * by what differs within the time that a sample is remembered.
 */
#include "profile/hist/live.h"

#include <stdlib.h>
#include <string.h>

#include "profile/text/intern.h"

struct item {
	u64 hash;
	u32 event;
	struct ap_hist_sample s; /* period and count: aged */
	u64 period, count;	 /* since the last refresh */
	struct ap_frame frame[];
};

struct ap_live {
	struct ap_hist_opts opts;
	struct ap_fold *fold;
	struct ap_annotate *notes;
	struct ap_table items;
	struct ap_hist **hist; /* by event */
	u32 nhist;
};

static u64 mix(u64 h, u64 v)
{
	h = (h ^ v) * 0x9fb21c651e98df25ULL;
	return h ^ h >> 32;
}

static u64 hash_of(u32 event, const struct ap_hist_sample *s)
{
	u64 h = mix((u64)(uintptr_t)s->thread, s->place.addr);

	h = mix(h, (u64)(uintptr_t)s->comm ^ event);
	h = mix(h, s->cpu ^ (u64)s->nframes << 32);
	h = mix(mix(h, s->weight), s->time);
	h = mix(h, s->cgroup ^ s->facts.transaction);
	for (u32 i = 0; i < s->nframes; i++)
		h = mix(h, s->frame[i].ip ^ (u64)(uintptr_t)s->frame[i].sym);
	return h;
}

static bool same(const struct item *it, u64 hash, u32 event, const struct ap_hist_sample *s)
{
	const struct ap_hist_sample *o = &it->s;

	if (it->hash != hash || it->event != event || o->thread != s->thread ||
	    o->comm != s->comm || o->place.addr != s->place.addr || o->place.dso != s->place.dso ||
	    o->place.sym != s->place.sym || o->place.cpumode != s->place.cpumode ||
	    o->cpu != s->cpu || o->nframes != s->nframes || o->weight != s->weight ||
	    o->time != s->time || o->cgroup != s->cgroup || o->trace != s->trace ||
	    o->parent != s->parent || o->socket != s->socket ||
	    memcmp(&o->facts, &s->facts, sizeof(o->facts)) != 0)
		return false;
	for (u32 i = 0; i < s->nframes; i++) {
		const struct ap_frame *a = &it->frame[i], *b = &s->frame[i];

		if (a->ip != b->ip || a->dso != b->dso || a->sym != b->sym)
			return false;
	}
	return true;
}

static void take(void *arg, u32 event, const struct ap_hist_sample *s)
{
	struct ap_live *l = arg;
	u64 hash = hash_of(event, s);
	const struct ap_table_slot *slot;
	struct item *it;

	ap_table_each(&l->items, hash, slot)
	{
		it = ap_table_ptr(slot);
		if (same(it, hash, event, s))
			goto found;
	}
	it = ap_profile_calloc(1, sizeof(*it) + s->nframes * sizeof(it->frame[0]));
	it->hash = hash;
	it->event = event;
	it->s = *s;
	it->s.period = it->s.count = 0;
	it->s.place.map = NULL; /* mappings go, and ends of branches are not kept */
	it->s.from = it->s.to = NULL;
	if (s->nframes)
		memcpy(it->frame, s->frame, s->nframes * sizeof(it->frame[0]));
	it->s.frame = it->frame;
	ap_profile_table_add(&l->items, hash, it);
found:
	it->period += s->period;
	it->count += s->count;
}

struct ap_live *ap_live_new(struct ap_profile_session *s, const struct ap_hist_opts *opts,
			    struct ap_annotate *notes)
{
	struct ap_live *l = ap_profile_calloc(1, sizeof(*l));

	l->opts = *opts;
	l->notes = notes;
	l->fold = ap_fold_new(s, opts);
	ap_fold_into(l->fold, take, l);
	ap_fold_annotate(l->fold, notes);
	return l;
}

static void free_hists(struct ap_live *l)
{
	for (u32 i = 0; i < l->nhist; i++)
		ap_hist_free(l->hist[i]);
	free(l->hist);
	l->hist = NULL;
	l->nhist = 0;
}

void ap_live_free(struct ap_live *l)
{
	for (u32 i = 0; i < l->items.room; i++)
		free(ap_table_ptr(&l->items.slot[i]));
	ap_table_fini(&l->items);
	free_hists(l);
	ap_fold_free(l->fold);
	free(l);
}

bool ap_live_sample(struct ap_live *l, const struct ap_data_rec *rec)
{
	return ap_fold_sample(l->fold, rec);
}

static void age_item(struct item *it, enum ap_live_age age)
{
	struct ap_hist_sample *s = &it->s;

	if (age == AP_LIVE_FORGET) {
		s->period = s->count = 0;
	} else if (age == AP_LIVE_FADE) {
		s->period = s->period / 8 * 7 + s->period % 8 * 7 / 8;
		s->count = s->count / 8 * 7 + s->count % 8 * 7 / 8;
	}
	s->period += it->period;
	s->count += it->count;
	it->period = it->count = 0;
}

static void put(struct ap_live *l, const struct item *it)
{
	if (l->nhist <= it->event) {
		l->hist = ap_profile_realloc(l->hist, it->event + 1, sizeof(struct ap_hist *));
		while (l->nhist <= it->event)
			l->hist[l->nhist++] = NULL;
	}
	if (!l->hist[it->event])
		l->hist[it->event] = ap_hist_new(&l->opts);
	ap_hist_add(l->hist[it->event], &it->s);
}

void ap_live_refresh(struct ap_live *l, enum ap_live_age age)
{
	struct ap_table old;

	free_hists(l);
	/* what is new is not aged yet */
	if (l->notes && age != AP_LIVE_KEEP)
		ap_annotate_age(l->notes, age == AP_LIVE_FORGET);
	ap_fold_end(l->fold);
	old = l->items;
	l->items = (struct ap_table){ 0 };
	for (u32 i = 0; i < old.room; i++) {
		struct item *it = ap_table_ptr(&old.slot[i]);

		if (!it)
			continue;
		age_item(it, age);
		if (it->s.period) {
			put(l, it);
			ap_profile_table_add(&l->items, it->hash, it);
		} else {
			free(it);
		}
	}
	ap_table_fini(&old);
	for (u32 i = 0; i < l->nhist; i++) {
		if (l->hist[i])
			ap_hist_finish(l->hist[i]);
	}
}

struct ap_hist *ap_live_hist(const struct ap_live *l, u32 event)
{
	return event < l->nhist ? l->hist[event] : NULL;
}
