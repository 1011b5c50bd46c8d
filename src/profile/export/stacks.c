/* SPDX-License-Identifier: MIT */
/*
 * Frames, functions and nodes are found by hash tables of indices, so that a stack that was seen
 * before costs one look-up a frame; a place of a file is resolved once.
 */
#include "profile/export/stacks.h"
#include "profile/symbols/unwind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/record.h"

#define MAX_DEPTH   1024
#define MAX_INLINES 32

/* What a place of a file resolved to: a run of frames, innermost first. */
struct stack_place {
	const struct ap_dso *dso;
	u64 addr;
	const struct ap_symbol *jit; /* whose code was there, where that changes */
	u32 first, n;		     /* in run */
};

struct node_ref {
	u32 event, node;
};

struct ap_stacks_private {
	struct ap_stacks_options options;
	struct ap_table funcs, frames, places, nodes, threads; /* indices + 1 */
	struct stack_place *place;
	u32 *run;
	u32 nplaces, nrun;
	u32 frame_of[MAX_DEPTH]; /* the stack at hand, innermost first */
	u32 depth;
	struct node_ref *all; /* nodes of all events, by number */
	u32 nall;
	bool failed; /* out of memory */
};

static void *grow(struct ap_stacks_private *p, void *array, u32 n, size_t size)
{
	void *more;

	/* at powers of two only */
	if (n & (n - 1) || p->failed)
		return p->failed ? NULL : array;
	more = realloc(array, (n ? (size_t)n * 2 : 1) * size);
	if (!more)
		p->failed = true;
	return more ? more : array;
}

/* The n-th of its kind is made; false: no memory. */
static bool add(struct ap_stacks_private *p, struct ap_table *t, u64 hash, u32 n)
{
	p->failed = p->failed || ap_table_add(t, hash, n + 1ULL);
	return !p->failed;
}

/* --- functions and frames */

static u32 find_func(struct ap_stacks *s, const struct ap_stack_func *f)
{
	u64 hash = ap_hash_ptr(ap_hash_ptr(ap_hash_ptr(1, f->name), f->dso), f->file);
	struct ap_stacks_private *p = s->private;
	const struct ap_table_slot *slot;

	ap_table_each(&p->funcs, hash, slot)
	{
		const struct ap_stack_func *g = &s->func[slot->item - 1];

		if (g->name == f->name && g->dso == f->dso && g->file == f->file)
			return (u32)slot->item - 1;
	}
	s->func = grow(p, s->func, s->nfuncs, sizeof(*s->func));
	if (!add(p, &p->funcs, hash, s->nfuncs))
		return 0;
	s->func[s->nfuncs] = *f;
	return s->nfuncs++;
}

static u32 find_frame(struct ap_stacks *s, const struct ap_stack_frame *f)
{
	u64 hash = ap_hash_mix(ap_hash_mix(ap_hash_mix(ap_hash_mix(2, f->func), f->line), f->depth),
			       f->addr);
	struct ap_stacks_private *p = s->private;
	const struct ap_table_slot *slot;

	ap_table_each(&p->frames, hash, slot)
	{
		const struct ap_stack_frame *g = &s->frame[slot->item - 1];

		if (g->func == f->func && g->line == f->line && g->depth == f->depth &&
		    g->addr == f->addr)
			return (u32)slot->item - 1;
	}
	s->frame = grow(p, s->frame, s->nframes, sizeof(*s->frame));
	if (!add(p, &p->frames, hash, s->nframes))
		return 0;
	s->frame[s->nframes] = *f;
	return s->nframes++;
}

/* --- places */

/* A function nobody knows is called by its file, so that files can be told apart. */
static const char *name_of(struct ap_stacks *s, const struct ap_place *at,
			   const struct ap_symbol *sym)
{
	char text[512];

	if (sym)
		return sym->name;
	if (!at->dso)
		return "[unknown]";
	if (at->dso->name[0] == '[')
		return at->dso->name;
	snprintf(text, sizeof(text), "[%s]", at->dso->name);
	return ap_intern_str(&s->session.symbols.text, text);
}

static void add_run(struct ap_stacks *s, struct stack_place *place, u32 frame)
{
	struct ap_stacks_private *p = s->private;

	p->run = grow(p, p->run, p->nrun, sizeof(*p->run));
	if (p->failed)
		return;
	p->run[p->nrun++] = frame;
	place->n++;
}

/* innermost: of the functions at a place the one whose line it is. */
static void add_function(struct ap_stacks *s, struct stack_place *place, const struct ap_place *at,
			 const struct ap_symbol *sym, u32 depth, bool innermost)
{
	bool by_place = s->private->options.by_place;
	struct ap_stack_func func = { .dso = at->dso };
	struct ap_stack_frame frame = { .depth = depth };
	u32 line = 0;

	func.name = name_of(s, at, sym);
	func.is_kernel = at->cpumode == AP_PERF_RECORD_MISC_KERNEL;
	if (by_place) {
		frame.addr = at->dso ? ap_dso_vaddr(at->dso, at->addr) : at->addr;
		frame.ip = at->ip;
		if (innermost && at->dso && ap_dso_line(at->dso, at->addr, &func.file, &line))
			frame.line = line;
	}
	frame.func = find_func(s, &func);
	add_run(s, place, find_frame(s, &frame));
}

static void resolve(struct ap_stacks *s, struct stack_place *place, const struct ap_place *at)
{
	const struct ap_symbol *inlined[MAX_INLINES];
	u32 n = 0;

	place->first = s->private->nrun;
	place->n = 0;
	if (s->private->options.inlines && at->dso && at->sym)
		n = ap_dso_inlines(at->dso, at->sym, at->addr, inlined, MAX_INLINES);
	if (!n)
		add_function(s, place, at, at->sym, 0, true);
	for (u32 i = 0; i < n; i++)
		add_function(s, place, at, inlined[i], n - 1 - i, i == 0);
}

/* By file and place, because mappings come and go. */
static struct stack_place *find_place(struct ap_stacks *s, const struct ap_place *at)
{
	struct ap_stacks_private *p = s->private;
	struct stack_place key = { .dso = at->dso,
				   .addr = at->addr,
				   .jit = at->dso && at->dso->kind == AP_DSO_JIT ? at->sym : NULL };
	u64 hash = ap_hash_ptr(ap_hash_mix(ap_hash_ptr(3, key.dso), key.addr), key.jit);
	const struct ap_table_slot *slot;

	ap_table_each(&p->places, hash, slot)
	{
		struct stack_place *old = &p->place[slot->item - 1];

		if (old->dso == key.dso && old->addr == key.addr && old->jit == key.jit)
			return old;
	}
	resolve(s, &key, at);
	p->place = grow(p, p->place, p->nplaces, sizeof(*p->place));
	if (!add(p, &p->places, hash, p->nplaces))
		return NULL;
	p->place[p->nplaces] = key;
	return &p->place[p->nplaces++];
}

static void push(struct ap_stacks *s, struct ap_profile_thread *thread, u8 cpumode, u64 ip)
{
	struct ap_stacks_private *p = s->private;
	struct stack_place *place;
	struct ap_place at;

	ap_session_resolve(&s->session, thread, cpumode, ip, &at);
	place = find_place(s, &at);
	for (u32 i = 0; place && i < place->n && p->depth < MAX_DEPTH; i++)
		p->frame_of[p->depth++] = p->run[place->first + i];
}

/* --- nodes */

static u32 add_node(struct ap_stacks *s, u32 event, u32 parent, u32 frame)
{
	struct ap_stack_event *ev = &s->event[event];

	ev->node = grow(s->private, ev->node, ev->nnodes, sizeof(*ev->node));
	if (s->private->failed)
		return 0;
	ev->node[ev->nnodes] = (struct ap_stack_node){ .parent = parent, .frame = frame };
	return ev->nnodes++;
}

static u32 find_node(struct ap_stacks *s, u32 event, u32 parent, u32 frame)
{
	u64 hash = ap_hash_mix(ap_hash_mix(ap_hash_mix(4, event), parent), frame);
	struct ap_stacks_private *p = s->private;
	const struct ap_table_slot *slot;
	u32 node;

	ap_table_each(&p->nodes, hash, slot)
	{
		const struct node_ref *ref = &p->all[slot->item - 1];
		const struct ap_stack_node *old = &s->event[ref->event].node[ref->node];

		if (ref->event == event && old->parent == parent && old->frame == frame)
			return ref->node;
	}
	node = add_node(s, event, parent, frame);
	p->all = grow(p, p->all, p->nall, sizeof(*p->all));
	if (!add(p, &p->nodes, hash, p->nall))
		return 0;
	p->all[p->nall++] = (struct node_ref){ event, node };
	return node;
}

static u32 find_thread(struct ap_stacks *s, const struct ap_stack_thread *t)
{
	u64 hash = ap_hash_ptr(ap_hash_mix(ap_hash_mix(5, t->pid), t->tid), t->comm);
	struct ap_stacks_private *p = s->private;
	const struct ap_table_slot *slot;

	ap_table_each(&p->threads, hash, slot)
	{
		const struct ap_stack_thread *u = &s->thread[slot->item - 1];

		if (u->pid == t->pid && u->tid == t->tid && u->comm == t->comm)
			return (u32)slot->item - 1;
	}
	s->thread = grow(p, s->thread, s->nthreads, sizeof(*s->thread));
	if (!add(p, &p->threads, hash, s->nthreads))
		return 0;
	s->thread[s->nthreads] = *t;
	return s->nthreads++;
}

/* --- samples */

static void read_chain(struct ap_stacks *s, struct ap_profile_thread *thread,
		       const struct ap_sample *sample)
{
	struct ap_stacks_private *p = s->private;
	u8 cpumode = sample->cpumode;
	bool bad = false;

	p->depth = 0;
	for (u64 i = 0; i < sample->nchain && !bad; i++) {
		u64 word = ap_get64(sample->chain + i * 8);

		if (!ap_chain_marker(word, &cpumode, &bad))
			push(s, thread, cpumode, word);
	}
	if (bad)
		p->depth = 0;
	/* none was taken, or none was left */
	if (!p->depth)
		push(s, thread, sample->cpumode, sample->ip);
}

static void note_time(struct ap_stack_event *ev, u64 time)
{
	if (!time)
		return;
	if (!ev->first_time || time < ev->first_time)
		ev->first_time = time;
	if (time > ev->last_time)
		ev->last_time = time;
}

static void take_sample(struct ap_stacks *s, const struct ap_data_rec *rec)
{
	struct ap_stacks_private *p = s->private;
	struct ap_stack_thread key;
	struct ap_stack_event *ev;
	struct ap_profile_thread *thread;
	struct ap_sample sample;
	u32 node;

	if (!rec->event || ap_sample_parse(rec->event, rec->bytes, &sample)) {
		s->damaged++;
		return;
	}
	ap_session_at(&s->session, rec->event, sample.time);
	thread = ap_session_thread(&s->session, sample.pid, sample.tid);
	ap_unwind_sample(&s->session, thread, rec->event, &sample);
	read_chain(s, thread, &sample);
	key = (struct ap_stack_thread){ thread->pid, thread->tid, thread->comm };
	ev = &s->event[rec->event->index];
	ev->event = rec->event;
	node = find_node(s, rec->event->index, AP_STACKS_ROOT, find_thread(s, &key));
	while (p->depth && !p->failed)
		node = find_node(s, rec->event->index, node, p->frame_of[--p->depth]);
	if (p->failed)
		return;
	ev->node[node].period += sample.period;
	ev->node[node].count++;
	ev->period += sample.period;
	ev->count++;
	note_time(ev, sample.time);
}

/* Events of a stream are known as they come. */
static bool make_events(struct ap_stacks *s, struct ap_data *data)
{
	u32 n = ap_data_nevents(data);
	struct ap_stack_event *more;

	if (n <= s->nevents)
		return true;
	more = realloc(s->event, n * sizeof(*more));
	if (!more)
		return false;
	s->event = more;
	memset(more + s->nevents, 0, (n - s->nevents) * sizeof(*more));
	while (s->nevents < n) {
		s->nevents++;
		add_node(s, s->nevents - 1, AP_STACKS_ROOT, 0);
	}
	return !s->private->failed;
}

static void sum_up(struct ap_stack_event *ev)
{
	for (u32 i = ev->nnodes; i-- > 0;) {
		struct ap_stack_node *node = &ev->node[i];

		node->period_below += node->period;
		node->count_below += node->count;
		if (i == AP_STACKS_ROOT)
			continue;
		ev->node[node->parent].period_below += node->period_below;
		ev->node[node->parent].count_below += node->count_below;
	}
}

int ap_stacks_read(struct ap_stacks *s, struct ap_data *data,
		   const struct ap_stacks_options *options)
{
	struct ap_data_rec rec;
	int ret;

	memset(s, 0, sizeof(*s));
	ap_session_init(&s->session);
	s->private = calloc(1, sizeof(*s->private));
	if (!s->private)
		return -ENOMEM;
	s->private->options = *options;
	s->session.symbols.no_demangle = options->no_demangle;
	s->session.symbols.force = options->force;
	s->session.symbols.complain = options->complain;
	ap_session_build_ids(&s->session, data);
	while ((ret = ap_data_next(data, &rec)) > 0 && !s->private->failed) {
		if (rec.h.type != AP_PERF_RECORD_SAMPLE) {
			ap_session_record(&s->session, &rec);
			continue;
		}
		if (!make_events(s, data))
			s->private->failed = true;
		else
			take_sample(s, &rec);
	}
	if (s->private->failed)
		return -ENOMEM;
	for (u32 i = 0; i < s->nevents; i++) {
		s->event[i].event = ap_data_event(data, i);
		sum_up(&s->event[i]);
	}
	return ret < 0 ? ret : 0;
}

void ap_stacks_fini(struct ap_stacks *s)
{
	struct ap_stacks_private *p = s->private;

	for (u32 i = 0; i < s->nevents; i++)
		free(s->event[i].node);
	free(s->event);
	free(s->func);
	free(s->frame);
	free(s->thread);
	if (p) {
		ap_table_fini(&p->funcs);
		ap_table_fini(&p->frames);
		ap_table_fini(&p->places);
		ap_table_fini(&p->nodes);
		ap_table_fini(&p->threads);
		free(p->place);
		free(p->run);
		free(p->all);
	}
	free(p);
	ap_session_fini(&s->session);
}

u32 ap_stacks_thread(const struct ap_stack_event *ev, u32 node)
{
	while (node != AP_STACKS_ROOT && ev->node[node].parent != AP_STACKS_ROOT)
		node = ev->node[node].parent;
	return node;
}
