/* SPDX-License-Identifier: MIT */
/*
 * Entries: found by a hash over what the sort keys tell apart.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/hist/hist_internal.h"

struct ap_hist *ap_hist_new(const struct ap_hist_opts *opts)
{
	struct ap_hist *h = ap_profile_calloc(1, sizeof(*h));

	h->opts = *opts;
	return h;
}

void ap_hist_free(struct ap_hist *h)
{
	if (!h)
		return;
	ap_arena_fini(&h->arena);
	ap_chains_fini(&h->chains);
	free(h->entry);
	ap_table_fini(&h->by_key);
	free(h->seen);
	free(h);
}

const struct ap_hist_opts *ap_hist_options(const struct ap_hist *h)
{
	return &h->opts;
}

bool ap_hist_has(const struct ap_hist *h, enum ap_hist_key key)
{
	u32 i;

	for (i = 0; i < h->opts.nsort; i++) {
		if (h->opts.sort[i] == key)
			return true;
	}
	return false;
}

static u64 hash_entry(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	u64 v = 0;
	u32 i;

	for (i = 0; i < h->opts.nsort; i++) {
		if (h->opts.sort[i] < AP_KEY_N)
			v = v * 31 + ap_key_ops(h->opts.sort[i])->hash(e);
	}
	return v ^ v >> 29;
}

static bool same_entry(const struct ap_hist *h, const struct ap_hist_entry *a,
		       const struct ap_hist_entry *b)
{
	u32 i;

	if (a->hash != b->hash)
		return false;
	for (i = 0; i < h->opts.nsort; i++) {
		if (h->opts.sort[i] < AP_KEY_N && !ap_key_ops(h->opts.sort[i])->same(a, b))
			return false;
	}
	return true;
}

/* The entry that is like key; a new one weighs nothing yet. */
static struct ap_hist_entry *find_entry(struct ap_hist *h, const struct ap_hist_entry *key)
{
	const struct ap_table_slot *s;
	struct ap_hist_entry *e;

	ap_table_each(&h->by_key, key->hash, s)
	{
		e = ap_table_ptr(s);
		if (same_entry(h, e, key))
			return e;
	}
	e = ap_arena_get(&h->arena, sizeof(*e));
	*e = *key;
	if (h->opts.chain != AP_CHAIN_NONE)
		e->chain = ap_chain_root(&h->chains);
	ap_profile_table_add(&h->by_key, key->hash, e);
	if (!(h->n & (h->n - 1)))
		h->entry = ap_profile_realloc(h->entry, h->n ? 2 * h->n : 1, sizeof(*h->entry));
	h->entry[h->n++] = e;
	return e;
}

static void set_end_source(struct ap_branch_end *e)
{
	if (e->dso && !ap_dso_line(e->dso, e->addr, &e->file, &e->line))
		e->file = NULL;
}

static void set_source(struct ap_hist *h, struct ap_hist_entry *e, u64 addr)
{
	if (h->opts.branches && ap_hist_has(h, AP_KEY_LINE_FROM))
		set_end_source(&e->from);
	if (h->opts.branches && ap_hist_has(h, AP_KEY_LINE_TO))
		set_end_source(&e->to);
	if ((ap_hist_has(h, AP_KEY_SRCLINE) || ap_hist_has(h, AP_KEY_SRCFILE)) && e->dso &&
	    !ap_dso_line(e->dso, addr, &e->file, &e->line))
		e->file = NULL;
}

static void add_path(struct ap_hist *h, struct ap_hist_entry *e, const struct ap_frame *frame,
		     u32 n, const struct ap_hist_sample *s)
{
	if (!e->chain || !n)
		return;
	ap_chain_add(&h->chains, e->chain, frame, n, s->period, s->count);
	if (n > e->max_depth)
		e->max_depth = n;
}

/* Everybody on the way to the sample, each once, with what it called below it (or above). */
static void add_callers(struct ap_hist *h, struct ap_hist_entry *key, struct ap_hist_entry *self,
			const struct ap_hist_sample *s)
{
	struct ap_hist_entry *e;
	u32 i, k, n = 0;

	if (s->nframes + 1 > h->cap_seen) {
		h->cap_seen = s->nframes + 1;
		h->seen = ap_profile_realloc(h->seen, h->cap_seen, sizeof(struct ap_hist_entry *));
	}
	h->seen[n++] = self;
	for (i = 0; i < s->nframes; i++) {
		const struct ap_frame *f = &s->frame[i];

		key->dso = f->dso;
		key->sym = f->sym;
		key->ip = key->addr = f->ip;
		if (f->dso)
			key->cpumode = f->cpumode == AP_PERF_RECORD_MISC_KERNEL
					       ? AP_PERF_RECORD_MISC_KERNEL
					       : AP_PERF_RECORD_MISC_USER;
		set_source(h, key, f->addr);
		key->hash = hash_entry(h, key);
		for (k = 0; k < n && !same_entry(h, h->seen[k], key); k++)
			;
		if (k < n)
			continue;
		e = find_entry(h, key);
		h->seen[n++] = e;
		e->acc_period += s->period;
		e->acc_n += s->count;
		add_path(h, e, f, s->nframes - i, s);
	}
}

static void set_datum(struct ap_hist_entry *key, const struct ap_place *data)
{
	const struct ap_profile_map *map = data->map;

	key->data = *data;
	key->data.map = NULL; /* maps move while records are read */
	if (map)
		key->mapped = (struct ap_hist_mapped){ map->dev, map->ino, map->prot, map->flags };
}

void ap_hist_add(struct ap_hist *h, const struct ap_hist_sample *s)
{
	struct ap_hist_entry key = { 0 }, *e;

	key.thread = s->thread;
	key.comm = s->comm;
	key.tid = s->thread->tid;
	key.cpu = s->cpu;
	key.socket = s->socket;
	key.facts = s->facts;
	key.dso = s->place.dso;
	key.sym = s->place.sym;
	key.ip = s->place.addr;
	key.cpumode = s->place.cpumode;
	key.hidden = s->hidden;
	key.weight = s->weight;
	key.trace = s->trace;
	key.cgroup = s->cgroup;
	key.cgroup_path = s->cgroup_path;
	key.parent = s->parent;
	key.map_size = s->place.map ? s->place.map->end - s->place.map->start : 0;
	key.time = s->time;
	key.addr = s->place.ip;
	key.source = s->source;
	key.latency = s->latency;
	if (s->data)
		set_datum(&key, s->data);
	if (s->from) {
		key.from = *s->from;
		key.to = *s->to;
		key.branch = s->branch;
	}
	set_source(h, &key, s->place.addr);
	key.hash = hash_entry(h, &key);
	e = find_entry(h, &key);
	e->period += s->period;
	e->n += s->count;
	if (s->place.cpumode == AP_PERF_RECORD_MISC_KERNEL)
		e->sys += s->period;
	else if (s->place.cpumode == AP_PERF_RECORD_MISC_USER)
		e->user += s->period;
	e->acc_period += s->period;
	e->acc_n += s->count;
	h->total += s->period;
	h->samples += s->count;
	add_path(h, e, s->frame, s->nframes, s);
	if (h->opts.children)
		add_callers(h, &key, e, s);
}

/* Nobody's weights, in a place among the others. */
static struct ap_hist_entry *add_empty(struct ap_hist *h, const struct ap_hist_entry *like)
{
	struct ap_hist_entry key = *like;

	key.period = key.sys = key.user = key.n = key.acc_period = key.acc_n = 0;
	key.chain = NULL;
	key.max_depth = 0;
	key.pair = NULL;
	return find_entry(h, &key);
}

void ap_hist_join(struct ap_hist *leader, struct ap_hist *const *member, u32 n)
{
	struct ap_hist_entry *e;
	u32 i, k;

	leader->member = ap_arena_get(&leader->arena, n * sizeof(struct ap_hist *));
	memcpy(leader->member, member, n * sizeof(struct ap_hist *));
	leader->nmember = n;
	for (i = 1; i < n; i++) {
		for (k = 0; member[i] && k < member[i]->n; k++) {
			e = add_empty(leader, member[i]->entry[k]);
			if (!e->pair)
				e->pair = ap_arena_get(&leader->arena,
						       n * sizeof(struct ap_hist_entry *));
			e->pair[i] = member[i]->entry[k];
		}
	}
}

static int cmp_weight(u64 a, u64 b)
{
	return a > b ? -1 : a < b;
}

u64 ap_hist_weight(const struct ap_hist_entry *e, enum ap_hist_key key)
{
	switch (key) {
	case AP_COL_CHILDREN:
		return e->acc_period;
	case AP_COL_SYS:
		return e->sys;
	case AP_COL_USER:
		return e->user;
	case AP_COL_SAMPLES:
		return e->n;
	default:
		return e->period;
	}
}

/* The other events of a group decide where the first's weights are equal. */
static int cmp_others(const struct ap_hist *h, enum ap_hist_key key, const struct ap_hist_entry *a,
		      const struct ap_hist_entry *b)
{
	int r = 0;
	u32 i;

	for (i = 1; i < h->nmember && !r; i++) {
		const struct ap_hist_entry *ea = a->pair ? a->pair[i] : NULL;
		const struct ap_hist_entry *eb = b->pair ? b->pair[i] : NULL;

		r = cmp_weight(ea ? ap_hist_weight(ea, key) : 0, eb ? ap_hist_weight(eb, key) : 0);
	}
	return r;
}

static int cmp_column(const struct ap_hist *h, enum ap_hist_key key, const struct ap_hist_entry *a,
		      const struct ap_hist_entry *b)
{
	int r;

	if (key < AP_KEY_N)
		return ap_key_ops(key)->sort(h, a, b);
	r = cmp_weight(ap_hist_weight(a, key), ap_hist_weight(b, key));
	if (!r)
		r = cmp_others(h, key, a, b);
	if (key == AP_COL_CHILDREN) {
		if (r || a->thread != b->thread || !a->chain)
			return r;
		/* callers above what they call, where both weigh the same */
		r = a->max_depth < b->max_depth ? -1 : a->max_depth > b->max_depth;
		return h->opts.order == AP_CALLER ? -r : r;
	}
	return r;
}

/* What is not shown does not order either. */
static bool left_out(const struct ap_hist *h, enum ap_hist_key key)
{
	return key < AP_KEY_N && h->opts.single[key];
}

static int by_opts(const void *pa, const void *pb, void *arg)
{
	const struct ap_hist_entry *a = *(struct ap_hist_entry *const *)pa;
	const struct ap_hist_entry *b = *(struct ap_hist_entry *const *)pb;
	const struct ap_hist *h = arg;
	int r = 0;
	u32 i;

	for (i = 0; i < h->opts.nsort && !r; i++) {
		if (!left_out(h, h->opts.sort[i]))
			r = cmp_column(h, h->opts.sort[i], a, b);
	}
	for (i = 0; i < h->opts.nsort && !r; i++) {
		if (h->opts.sort[i] < AP_KEY_N && !left_out(h, h->opts.sort[i]))
			r = ap_key_ops(h->opts.sort[i])->order(h, a, b);
	}
	return r;
}

u64 ap_chain_min(const struct ap_hist *h)
{
	return (u64)((double)ap_hist_total(h) * (h->opts.chain_percent / 100));
}

static void hide(struct ap_hist *h)
{
	const char *part = h->opts.filter ? h->opts.filter->symbol_part : NULL;
	u32 i;

	for (i = 0; i < h->n; i++) {
		struct ap_hist_entry *e = h->entry[i];

		if (part && (!e->sym || !strstr(e->sym->name, part)))
			e->hidden = true;
		h->shown += e->hidden ? 0 : e->period;
		h->shown_samples += e->hidden ? 0 : e->n;
	}
}

void ap_hist_finish(struct ap_hist *h)
{
	u64 min;
	u32 i;

	hide(h);
	min = ap_chain_min(h);
	if (h->n)
		qsort_r(h->entry, h->n, sizeof(struct ap_hist_entry *), by_opts, h);
	for (i = 0; i < h->n; i++) {
		if (h->entry[i]->chain && h->opts.chain < AP_CHAIN_FLAT)
			ap_chain_sort(h->entry[i]->chain, min, &h->opts);
	}
}

u64 ap_hist_total(const struct ap_hist *h)
{
	if (h->base)
		return h->base;
	return h->opts.relative ? h->shown : h->total;
}

void ap_hist_base(struct ap_hist *h, u64 period)
{
	h->base = period;
}

void ap_hist_full_paths(struct ap_hist *h, bool on)
{
	h->opts.full_paths = on;
}

u64 ap_hist_samples(const struct ap_hist *h)
{
	return h->opts.relative ? h->shown_samples : h->samples;
}

/* 1000 itself is not shortened: perf's way. */
u64 ap_hist_short(u64 n, char *unit)
{
	*unit = ' ';
	if (n <= 1000)
		return n;
	*unit = 'K';
	n /= 1000;
	if (n <= 1000)
		return n;
	*unit = 'M';
	return n / 1000;
}

u32 ap_hist_entries(const struct ap_hist *h)
{
	return h->n;
}

const struct ap_hist_entry *ap_hist_entry(const struct ap_hist *h, u32 i)
{
	return h->entry[i];
}

double ap_hist_percent(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	u64 period = h->opts.children ? e->acc_period : e->period;

	u64 total = ap_hist_total(h);

	return total ? 100.0 * (double)period / (double)total : 0.0;
}
