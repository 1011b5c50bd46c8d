/* SPDX-License-Identifier: MIT */
/*
 * Equal samples are counted before they are resolved: most of a profile repeats itself, and the
 * cost of symbols, tables and trees is then that of what is different in it.
 *
 * What waits here resolves later as it would have when it was read, because whoever changes the
 * mappings of a process asks for those that wait first (ap_maps.waiting, ap_session.before_change).
 */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "profile/data/trace_key.h"
#include "profile/hist/annotate.h"
#include "profile/hist/hist_internal.h"
#include "profile/symbols/unwind.h"

#define MAX_WAITING 65536U
#define MAX_BYTES   (16U * 1024 * 1024)
#define MAX_FRAMES  4096U

#define SYSTEM_CALLS "^sys_|^do_page_fault"

struct bucket {
	u64 hash;
	struct ap_profile_thread *thread;
	const char *comm;
	u64 ip, period, count;
	u64 nchain;
	u64 weight, time, cgroup;
	u64 addr, source; /* of a reference to memory */
	u32 latency;
	struct ap_hist_facts facts;
	const char *trace;
	u32 event, cpu;
	s32 socket;
	u8 cpumode;
	bool branch;
	u64 chain[]; /* or where a branch goes from and to, and its flags */
};

struct ap_fold {
	struct ap_profile_session *s;
	struct ap_hist_opts opts;
	struct ap_hist **hist; /* by event */
	u32 nhist;
	ap_fold_fn *into; /* NULL: into hist */
	void *into_arg;
	struct ap_annotate *notes; /* or NULL */
	struct ap_table known;
	struct bucket **waiting;
	u32 n, cap;
	struct ap_arena arena;
	size_t bytes;
	struct ap_buf trace;
	bool by_cpu, by_weight, by_time, by_trace, by_trace_text, by_cgroup, by_parent;
	bool by_socket, by_namespace, by_transaction, by_page, by_data_page, by_phys;
	regex_t parent;
	struct ap_frame frame[MAX_FRAMES];
};

/* Resolves all that waits. */
static void flush(void *arg);

struct ap_fold *ap_fold_new(struct ap_profile_session *s, const struct ap_hist_opts *opts)
{
	struct ap_fold *f = ap_profile_calloc(1, sizeof(*f));
	u32 i;

	f->s = s;
	f->opts = *opts;
	for (i = 0; i < opts->nsort; i++) {
		f->by_socket |= opts->sort[i] == AP_KEY_SOCKET;
		f->by_cpu |= opts->sort[i] == AP_KEY_CPU;
		f->by_namespace |= opts->sort[i] == AP_KEY_CGROUP_ID;
		f->by_transaction |= opts->sort[i] == AP_KEY_TRANSACTION;
		f->by_page |= opts->sort[i] == AP_KEY_CODE_PAGE;
		f->by_data_page |= opts->sort[i] == AP_KEY_DATA_PAGE;
		f->by_phys |= opts->sort[i] == AP_KEY_DATA_PHYS;
		f->by_weight |=
			opts->sort[i] == AP_KEY_WEIGHT || opts->sort[i] == AP_KEY_LOCAL_WEIGHT;
		f->by_time |= opts->sort[i] == AP_KEY_TIME;
		f->by_trace |= opts->sort[i] >= AP_KEY_TRACED && opts->sort[i] <= AP_KEY_FIELD_LAST;
		f->by_trace_text |= opts->sort[i] == AP_KEY_TRACE;
		f->by_cgroup |= opts->sort[i] == AP_KEY_CGROUP;
		f->by_parent |= opts->sort[i] == AP_KEY_PARENT;
	}
	/* whoever gave a pattern has seen that it is one */
	if (f->by_parent && regcomp(&f->parent, opts->parent ? opts->parent : SYSTEM_CALLS,
				    REG_EXTENDED | REG_NOSUB))
		f->by_parent = false;
	s->before_change = flush;
	s->change_arg = f;
	return f;
}

void ap_fold_free(struct ap_fold *f)
{
	u32 i;

	for (i = 0; i < f->nhist; i++)
		ap_hist_free(f->hist[i]);
	free(f->hist);
	ap_table_fini(&f->known);
	free(f->waiting);
	ap_buf_fini(&f->trace);
	ap_arena_fini(&f->arena);
	if (f->by_parent)
		regfree(&f->parent);
	f->s->before_change = NULL;
	free(f);
}

static u64 mix(u64 h, u64 v)
{
	h = (h ^ v) * 0x9fb21c651e98df25ULL;
	return h ^ h >> 32;
}

static u64 hash_sample(const struct bucket *key, const u8 *chain)
{
	u64 h = mix((u64)(uintptr_t)key->thread, key->ip), i;

	h = mix(h, (u64)key->event << 40 ^ (u64)key->cpumode << 32 ^ key->cpu);
	h = mix(h, key->nchain);
	if (key->weight | key->time)
		h = mix(mix(h, key->weight), key->time);
	if (key->trace)
		h = mix(h, (u64)(uintptr_t)key->trace);
	if (key->source)
		h = mix(mix(h, key->source), key->addr ^ key->latency);
	if (key->cgroup)
		h = mix(h, key->cgroup);
	if (key->facts.transaction | key->facts.code_page | key->facts.cgroup_ino)
		h = mix(mix(h, key->facts.transaction),
			key->facts.code_page ^ key->facts.cgroup_ino);
	if (key->facts.data_page | key->facts.phys)
		h = mix(mix(h, key->facts.data_page), key->facts.phys);
	for (i = 0; i < key->nchain; i++)
		h = mix(h, ap_get64(chain + 8 * i));
	return h;
}

static bool same(const struct bucket *b, const struct bucket *key, const u8 *chain)
{
	return b->hash == key->hash && b->thread == key->thread && b->comm == key->comm &&
	       b->ip == key->ip && b->event == key->event && b->cpumode == key->cpumode &&
	       b->cpu == key->cpu && b->nchain == key->nchain && b->weight == key->weight &&
	       b->time == key->time && b->trace == key->trace && b->cgroup == key->cgroup &&
	       b->source == key->source && b->addr == key->addr && b->latency == key->latency &&
	       b->socket == key->socket && !memcmp(&b->facts, &key->facts, sizeof(b->facts)) &&
	       (!key->nchain || !memcmp(b->chain, chain, 8 * key->nchain));
}

static struct ap_hist *hist_of(struct ap_fold *f, u32 event)
{
	while (f->nhist <= event) {
		f->hist = ap_profile_realloc(f->hist, event + 1, sizeof(struct ap_hist *));
		f->hist[f->nhist++] = NULL;
	}
	if (!f->hist[event])
		f->hist[event] = ap_hist_new(&f->opts);
	return f->hist[event];
}

/* At whatever level: what was recorded of a branch does not tell. */
static void resolve_end(struct ap_fold *f, const struct bucket *b, u64 ip,
			struct ap_branch_end *end, struct ap_place *place)
{
	ap_session_resolve(f->s, b->thread, AP_PERF_RECORD_MISC_USER, ip, place);
	if (!place->dso)
		ap_session_resolve(f->s, b->thread, AP_PERF_RECORD_MISC_KERNEL, ip, place);
	if (!place->dso)
		place->cpumode = AP_PERF_RECORD_MISC_USER;
	*end = (struct ap_branch_end){ .ip = ip,
				       .addr = place->addr,
				       .dso = place->dso,
				       .sym = place->sym,
				       .cpumode = place->cpumode };
}

static void put(struct ap_fold *f, u32 event, const struct ap_hist_sample *hs)
{
	if (f->into)
		f->into(f->into_arg, event, hs);
	else
		ap_hist_add(hist_of(f, event), hs);
}

static void add_branch(struct ap_fold *f, const struct bucket *b, struct ap_hist_sample *hs)
{
	struct ap_branch_end from, to;
	struct ap_place place;

	resolve_end(f, b, b->chain[0], &from, &place);
	resolve_end(f, b, b->chain[1], &to, &place);
	if (f->opts.known_only && !(from.sym && to.sym))
		return;
	place.cpumode = b->cpumode;
	place.addr = place.ip; /* what perf shows there where no symbol is known */
	hs->place = place;
	hs->from = &from;
	hs->to = &to;
	hs->branch = b->chain[2];
	put(f, b->event, hs);
}

static u32 known_frames(struct ap_frame *frame, u32 n)
{
	u32 i, k = 0;

	for (i = 0; i < n; i++) {
		if (frame[i].sym)
			frame[k++] = frame[i];
	}
	return k;
}

/* The innermost function of the chain that the pattern names. */
static const struct ap_symbol *find_parent(const struct ap_fold *f, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		const struct ap_symbol *sym = f->frame[i].sym;

		if (sym && !regexec(&f->parent, sym->name, 0, NULL, 0))
			return sym;
	}
	return NULL;
}

static void reverse(struct ap_frame *frame, u32 n)
{
	u32 i;

	for (i = 0; i < n / 2; i++) {
		struct ap_frame t = frame[i];

		frame[i] = frame[n - 1 - i];
		frame[n - 1 - i] = t;
	}
}

static bool has_chains(const struct ap_fold *f)
{
	return f->opts.chain != AP_CHAIN_NONE || f->opts.children;
}

/* As perf does it the first ones are left, which of callers are the outermost. */
static u32 limit_frames(struct ap_fold *f, u32 n)
{
	u32 max = f->opts.max_stack;

	if (!max || n <= max)
		return n;
	if (f->opts.order == AP_CALLER)
		memmove(f->frame, f->frame + (n - max), max * sizeof(f->frame[0]));
	return max;
}

static void find_frames(struct ap_fold *f, const struct bucket *b, struct ap_hist_sample *hs)
{
	hs->frame = f->frame;
	if (b->nchain)
		hs->nframes = ap_session_frames(f->s, b->thread, (const u8 *)b->chain, b->nchain,
						f->opts.inlines, f->frame, MAX_FRAMES);
	hs->nframes = limit_frames(f, hs->nframes);
	if (f->by_parent)
		hs->parent = find_parent(f, hs->nframes);
	hs->hidden |= f->by_parent && f->opts.parents_only && !hs->parent;
	if (!has_chains(f))
		hs->nframes = 0;
	if (f->opts.known_only)
		hs->nframes = known_frames(f->frame, hs->nframes);
	if (f->opts.order == AP_CALLER)
		reverse(f->frame, hs->nframes);
}

static void resolve(struct ap_fold *f, const struct bucket *b)
{
	struct ap_hist_sample hs = { 0 };
	struct ap_place data;

	hs.thread = b->thread;
	hs.comm = b->comm;
	hs.cpu = b->cpu;
	hs.socket = b->socket;
	hs.facts = b->facts;
	hs.period = b->period;
	hs.count = b->count;
	hs.weight = b->weight;
	hs.time = b->time;
	hs.trace = b->trace;
	hs.cgroup = b->cgroup;
	hs.cgroup_path = f->by_cgroup ? ap_session_cgroup(f->s, b->cgroup) : NULL;
	ap_session_resolve(f->s, b->thread, b->cpumode, b->ip, &hs.place);
	if (f->opts.filter)
		hs.hidden = !ap_filter_task(f->opts.filter, b->thread, b->comm) ||
			    !ap_filter_place(f->opts.filter, &hs.place);
	if (f->opts.memory) {
		ap_session_resolve(f->s, b->thread, b->cpumode, b->addr, &data);
		hs.data = &data;
		hs.source = b->source;
		hs.latency = b->latency;
	}
	if (b->branch) {
		add_branch(f, b, &hs);
		return;
	}
	if (f->opts.known_only && !hs.place.sym)
		return;
	find_frames(f, b, &hs);
	if (f->notes && !hs.hidden)
		ap_annotate_add(f->notes, b->event, &hs.place, b->period, b->count);
	put(f, b->event, &hs);
}

static void flush(void *arg)
{
	struct ap_fold *f = arg;
	u32 i;

	for (i = 0; i < f->n; i++) {
		resolve(f, f->waiting[i]);
		f->waiting[i]->thread->maps->waiting = 0;
		/* those that have its hash all go */
		ap_table_remove(&f->known, ap_table_find(&f->known, f->waiting[i]->hash));
	}
	f->s->kernel.waiting = 0;
	f->n = 0;
	f->bytes = 0;
	ap_arena_fini(&f->arena);
}

static void add(struct ap_fold *f, struct bucket *key, const u8 *chain)
{
	const struct ap_table_slot *s;
	struct bucket *b;

	key->hash = hash_sample(key, chain);
	ap_table_each(&f->known, key->hash, s)
	{
		b = ap_table_ptr(s);
		if (same(b, key, chain)) {
			b->period += key->period;
			b->count++;
			return;
		}
	}
	if (f->n == MAX_WAITING || f->bytes > MAX_BYTES)
		flush(f);
	if (f->n == f->cap) {
		f->cap = f->cap ? 2 * f->cap : 256;
		f->waiting = ap_profile_realloc(f->waiting, f->cap, sizeof(b));
	}
	b = ap_arena_get(&f->arena, sizeof(*b) + 8 * key->nchain);
	*b = *key;
	b->count = 1;
	if (key->nchain)
		memcpy(b->chain, chain, 8 * key->nchain);
	f->bytes += sizeof(*b) + 8 * key->nchain;
	ap_profile_table_add(&f->known, key->hash, b);
	f->waiting[f->n++] = b;
	key->thread->maps->waiting = 1;
	f->s->kernel.waiting = 1;
}

/* Each branch of a stack counts for itself. */
static void add_branches(struct ap_fold *f, struct bucket *key, const struct ap_sample *s)
{
	struct bucket k;
	u64 i;

	for (i = 0; i < s->nbranches; i++) {
		k = *key;
		k.ip = s->ip;
		k.period = 1;
		k.branch = true;
		k.nchain = 3;
		add(f, &k, s->branches + 24 * i);
	}
}

/* Of the structure that is newer than the word, the first half. */
static u64 weight_of(const struct ap_data_event *ev, const struct ap_sample *s)
{
	return ev->attr.sample_type & AP_PERF_SAMPLE_WEIGHT ? s->weight : s->weight & ~0U;
}

/* What a reference counts for: none is for nothing. */
static u64 price(const struct ap_data_event *ev, const struct ap_sample *s)
{
	u64 weight = weight_of(ev, s);

	return weight ? weight : 1;
}

static void set_reference(struct bucket *key, const struct ap_data_event *ev,
			  const struct ap_sample *s)
{
	key->addr = s->addr;
	key->source = s->data_src;
	if (ev->attr.sample_type & AP_PERF_SAMPLE_WEIGHT_STRUCT)
		key->latency = s->weight >> 32 & 0xffff;
}

/* What keys ask for that few do. */
static void set_facts(const struct ap_fold *f, struct bucket *key, const struct ap_sample *s)
{
	key->socket = f->by_socket && f->opts.topology
			      ? ap_topology_socket(f->opts.topology, s->cpu)
			      : -1;
	if (f->by_transaction)
		key->facts.transaction = s->transaction;
	if (f->by_page)
		key->facts.code_page = s->code_page_size;
	if (f->by_data_page)
		key->facts.data_page = s->data_page_size;
	if (f->by_phys)
		key->facts.phys = s->phys_addr;
	if (f->by_namespace) {
		key->facts.cgroup_dev = key->thread->cgroup_dev;
		key->facts.cgroup_ino = key->thread->cgroup_ino;
	}
}

bool ap_fold_sample(struct ap_fold *f, const struct ap_data_rec *rec)
{
	struct bucket key = { 0 };
	struct ap_sample s;

	if (!rec->event)
		return true; /* of an event that the file does not tell of */
	if (ap_sample_parse(rec->event, rec->bytes, &s))
		return false;
	if (f->opts.filter && !ap_filter_takes(f->opts.filter, &s))
		return true;
	hist_of(f, rec->event->index); /* also where all is left out below */
	ap_session_at(f->s, rec->event, s.time);
	key.thread = ap_session_thread(f->s, s.pid, s.tid);
	key.comm = key.thread->comm;
	key.event = rec->event->index;
	key.cpumode = s.cpumode;
	key.cpu = f->by_cpu ? s.cpu : 0;
	key.weight = f->by_weight ? weight_of(rec->event, &s) : 0;
	key.time = f->by_time && f->opts.quantum ? s.time / f->opts.quantum * f->opts.quantum : 0;
	if (f->by_trace && rec->event->attr.type == AP_PERF_TYPE_TRACEPOINT)
		key.trace = ap_intern_str(&f->s->symbols.text,
					  ap_trace_key(&f->opts, f->by_trace_text,
						       rec->event->attr.config, s.cpu, s.raw,
						       s.raw_size, &f->trace));
	set_facts(f, &key, &s);
	if (f->opts.branches) {
		add_branches(f, &key, &s);
		return true;
	}
	if (f->opts.memory)
		set_reference(&key, rec->event, &s);
	key.cgroup = f->by_cgroup ? s.cgroup : 0;
	if (has_chains(f) || f->by_parent)
		ap_unwind_sample(f->s, key.thread, rec->event, &s);
	key.ip = s.ip;
	key.period = f->opts.memory ? price(rec->event, &s) : s.period;
	if (has_chains(f) || f->by_parent)
		key.nchain = s.nchain;
	add(f, &key, s.chain);
	return true;
}

void ap_fold_into(struct ap_fold *f, ap_fold_fn *fn, void *arg)
{
	f->into = fn;
	f->into_arg = arg;
}

void ap_fold_annotate(struct ap_fold *f, struct ap_annotate *notes)
{
	f->notes = notes;
}

void ap_fold_end(struct ap_fold *f)
{
	flush(f);
}

void ap_fold_finish(struct ap_fold *f)
{
	u32 i;

	flush(f);
	for (i = 0; i < f->nhist; i++) {
		if (f->hist[i])
			ap_hist_finish(f->hist[i]);
	}
}

void ap_fold_join(struct ap_fold *f, u32 leader, u32 n)
{
	u32 i;

	for (i = leader; i < leader + n; i++)
		hist_of(f, i);
	ap_hist_join(f->hist[leader], f->hist + leader, n);
}

struct ap_hist *ap_fold_hist(const struct ap_fold *f, u32 event)
{
	return event < f->nhist ? f->hist[event] : NULL;
}

/* A frame, or all functions that were expanded there. */
static u32 expand(const struct ap_place *p, bool inlines, struct ap_frame *out, u32 max)
{
	struct ap_frame f = { p->ip, p->addr, p->dso, p->sym, p->cpumode };
	const struct ap_symbol *fn[64];
	u32 i, n = 0;

	if (!max)
		return 0;
	if (inlines && p->sym && p->dso->kind == AP_DSO_FILE)
		n = ap_dso_inlines(p->dso, p->sym, p->addr, fn, AP_ARRAY_SIZE(fn));
	for (i = 0; i < n && i < max; i++) {
		f.sym = fn[i];
		out[i] = f;
	}
	if (!n)
		out[i++] = f;
	return i;
}

u32 ap_session_frames(struct ap_profile_session *s, struct ap_profile_thread *t, const u8 *chain,
		      u64 n, bool inlines, struct ap_frame *out, u32 max)
{
	u8 mode = AP_PERF_RECORD_MISC_USER;
	struct ap_place place;
	u32 nout = 0;
	bool bad, unwound = false;
	u64 i;

	for (i = 0; i < n; i++) {
		u64 ip = ap_get64(chain + 8 * i);

		if (ap_chain_marker(ip, &mode, &bad)) {
			if (bad)
				return 0;
			unwound = ip == AP_CONTEXT_UNWOUND;
			continue;
		}
		ap_session_resolve(s, t, mode, ip, &place);
		nout += expand(&place, inlines || unwound, out + nout, max - nout);
	}
	return nout;
}
